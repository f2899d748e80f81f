//! The routing information protocol, version 1 (RFC 1058).
//!
//! Deviations: entries of other families than IP are skipped when read (3.4.2: they are of no interest).

use super::Error;
use std::net::Ipv4Addr;

#[cfg(test)]
mod tests;

/// The UDP port of those who speak it.
pub const PORT: u16 = 520;
/// The metric of what cannot be reached (3.3).
pub const INFINITY: u32 = 16;
/// Entries of the largest datagram, which has 512 bytes (3.1).
pub const ENTRIES_MAX: usize = 25;
/// Bytes before the entries.
pub const HEADER_LEN: usize = 4;
/// Bytes of an entry.
pub const ENTRY_LEN: usize = 20;
/// Bytes of the largest datagram.
pub const LEN_MAX: usize = HEADER_LEN + ENTRIES_MAX * ENTRY_LEN;

const REQUEST: u8 = 1;
const RESPONSE: u8 = 2;
const VERSION: u8 = 1;
const FAMILY_IP: u16 = 2;

/// What a datagram is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Command {
    /// Please tell routes.
    Request,
    /// Routes, asked for or not.
    Response,
}

/// A destination and how far it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Entry {
    /// A network, a subnet, a host, or 0.0.0.0 for what nobody else has.
    pub destination: Ipv4Addr,
    /// Hops, 1 to 16.
    pub metric: u32,
}

/// A view of a datagram's payload whose lengths and fields have been checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    command: Command,
    entries: &'a [[u8; ENTRY_LEN]],
}

impl<'a> Packet<'a> {
    /// Checks the payload of a datagram.
    ///
    /// # Errors
    /// [`Error::Truncated`] without a whole header or with half an entry; [`Error::Malformed`] for other
    /// versions and commands, more entries than there may be, fields that are not zero where they must be,
    /// and metrics out of range.
    pub fn new_checked(bytes: &'a [u8]) -> Result<Packet<'a>, Error> {
        let (header, rest) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(Error::Truncated)?;
        let command = match *header {
            [REQUEST, VERSION, 0, 0] => Command::Request,
            [RESPONSE, VERSION, 0, 0] => Command::Response,
            _ => return Err(Error::Malformed),
        };
        let (entries, []) = rest.as_chunks() else {
            return Err(Error::Truncated);
        };
        let is_sound = |entry: &[u8; ENTRY_LEN]| {
            let metric = u32::from_be_bytes([entry[16], entry[17], entry[18], entry[19]]);
            let is_ip = u16::from_be_bytes([entry[0], entry[1]]) == FAMILY_IP;
            let zeros = entry[2..4] == [0; 2] && entry[8..16] == [0; 8];
            !is_ip || (zeros && (1..=INFINITY).contains(&metric))
        };
        match entries.len() <= ENTRIES_MAX && entries.iter().all(is_sound) {
            true => Ok(Packet { command, entries }),
            false => Err(Error::Malformed),
        }
    }

    /// Request or response.
    pub const fn command(&self) -> Command {
        self.command
    }

    /// The entries about IP.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + use<'a> {
        let is_ip = |entry: &&[u8; ENTRY_LEN]| entry[..2] == FAMILY_IP.to_be_bytes();
        self.entries.iter().filter(is_ip).map(|entry| Entry {
            destination: Ipv4Addr::new(entry[4], entry[5], entry[6], entry[7]),
            metric: u32::from_be_bytes([entry[16], entry[17], entry[18], entry[19]]),
        })
    }
}

/// What a datagram says.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Repr {
    /// Request or response.
    pub command: Command,
    /// At most [`ENTRIES_MAX`].
    pub entries: Vec<Entry>,
}

impl Repr {
    /// Reads a datagram.
    pub fn parse(packet: &Packet<'_>) -> Repr {
        Repr { command: packet.command(), entries: packet.entries().collect() }
    }

    /// Bytes it takes.
    pub fn len(&self) -> usize {
        HEADER_LEN + self.entries.len() * ENTRY_LEN
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Writes the payload of a datagram into the first [`Repr::len`] bytes of `buf`.
    ///
    /// # Panics
    /// When `buf` is shorter than that, or there are more entries than a datagram may have.
    pub fn emit(&self, buf: &mut [u8]) {
        assert!(self.entries.len() <= ENTRIES_MAX, "routes beyond a datagram go into the next");
        let (header, rest) = buf[..self.len()].split_at_mut(HEADER_LEN);
        let command = match self.command {
            Command::Request => REQUEST,
            Command::Response => RESPONSE,
        };
        header.copy_from_slice(&[command, VERSION, 0, 0]);
        for (bytes, entry) in rest.as_chunks_mut::<ENTRY_LEN>().0.iter_mut().zip(&self.entries) {
            bytes.fill(0);
            bytes[..2].copy_from_slice(&FAMILY_IP.to_be_bytes());
            bytes[4..8].copy_from_slice(&entry.destination.octets());
            bytes[16..].copy_from_slice(&entry.metric.to_be_bytes());
        }
    }
}
