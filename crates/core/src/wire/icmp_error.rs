//! ICMP errors: "destination unreachable", "time exceeded" (RFC 792; RFC 1122, 3.2.2; RFC 1191, 4).
//!
//! Deviations: no other error is read or sent. Of the datagram that caused it the header and eight bytes
//! are quoted, as RFC 792 has it, and not more, as RFC 1812 would like.

use super::checksum::Checksum;
use super::{Error, Integrity, ipv4};

#[cfg(test)]
mod tests;

/// Bytes before the quotation.
pub const HEADER_LEN: usize = 8;
/// Bytes after the quoted header (RFC 792).
pub const QUOTED_LEN: usize = 8;
/// The longest message: a quoted header may have options.
pub const LEN_MAX: usize = HEADER_LEN + 60 + QUOTED_LEN;

const UNREACHABLE: u8 = 3;
const TIME_EXCEEDED: u8 = 11;
const NET: u8 = 0;
const HOST: u8 = 1;
const PROTOCOL: u8 = 2;
const PORT: u8 = 3;
const FRAGMENTATION_NEEDED: u8 = 4;
const IN_TRANSIT: u8 = 0;
const IN_REASSEMBLY: u8 = 1;

/// What went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Kind {
    /// A router knows no way to the network.
    NetUnreachable,
    /// The host does not answer on its network.
    HostUnreachable,
    /// The host does not speak the protocol.
    ProtocolUnreachable,
    /// Nobody listens there.
    PortUnreachable,
    /// Too long for the next link, and not to be cut.
    FragmentationNeeded {
        /// What the link takes, in bytes; 0 from routers older than RFC 1191.
        mtu: u16,
    },
    /// It made more hops than it may.
    HopsExceeded,
    /// Not all fragments came in time.
    ReassemblyExceeded,
}

impl Kind {
    /// Type and code.
    const fn numbers(self) -> [u8; 2] {
        match self {
            Kind::NetUnreachable => [UNREACHABLE, NET],
            Kind::HostUnreachable => [UNREACHABLE, HOST],
            Kind::ProtocolUnreachable => [UNREACHABLE, PROTOCOL],
            Kind::PortUnreachable => [UNREACHABLE, PORT],
            Kind::FragmentationNeeded { .. } => [UNREACHABLE, FRAGMENTATION_NEEDED],
            Kind::HopsExceeded => [TIME_EXCEEDED, IN_TRANSIT],
            Kind::ReassemblyExceeded => [TIME_EXCEEDED, IN_REASSEMBLY],
        }
    }

    const fn from_numbers(numbers: [u8; 2], mtu: u16) -> Option<Kind> {
        Some(match numbers {
            [UNREACHABLE, NET] => Kind::NetUnreachable,
            [UNREACHABLE, HOST] => Kind::HostUnreachable,
            [UNREACHABLE, PROTOCOL] => Kind::ProtocolUnreachable,
            [UNREACHABLE, PORT] => Kind::PortUnreachable,
            [UNREACHABLE, FRAGMENTATION_NEEDED] => Kind::FragmentationNeeded { mtu },
            [TIME_EXCEEDED, IN_TRANSIT] => Kind::HopsExceeded,
            [TIME_EXCEEDED, IN_REASSEMBLY] => Kind::ReassemblyExceeded,
            _ => return None,
        })
    }
}

/// Whether an ICMP message is an error or an answer to nothing: about such nobody complains (RFC 1122,
/// 3.2.2).
pub fn is_error(message: &[u8]) -> bool {
    /// Unreachable, source quench, redirect, time exceeded, parameter problem.
    const ERRORS: [u8; 5] = [UNREACHABLE, 4, 5, TIME_EXCEEDED, 12];
    message.first().is_none_or(|kind| ERRORS.contains(kind))
}

/// A view of a message whose length has been checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    header: &'a [u8; HEADER_LEN],
    quoted: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Checks the length of a message.
    ///
    /// # Errors
    /// [`Error::Truncated`] when the header or the quotation is not in memory.
    pub fn new_checked(bytes: &'a [u8]) -> Result<Packet<'a>, Error> {
        let (header, quoted) = bytes.split_first_chunk().ok_or(Error::Truncated)?;
        match quoted.len() >= ipv4::HEADER_LEN {
            true => Ok(Packet { header, quoted }),
            false => Err(Error::Truncated),
        }
    }

    /// The beginning of the packet that caused it.
    pub const fn quoted(&self) -> &'a [u8] {
        self.quoted
    }

    fn verifies(&self) -> bool {
        let mut checksum = Checksum::new();
        checksum.add_words(self.header);
        checksum.add_bytes(self.quoted);
        checksum.finish() == 0
    }
}

/// What a header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Repr {
    /// What went wrong.
    pub kind: Kind,
}

impl Repr {
    /// Verifies and reads a header.
    ///
    /// # Errors
    /// [`Error::Checksum`] when the checksum does not verify or `integrity` says it cannot;
    /// [`Error::Malformed`] for any other type or code.
    pub fn parse(packet: &Packet<'_>, integrity: Integrity) -> Result<Repr, Error> {
        integrity.accepts(|| packet.verifies())?;
        let [kind, code, _, _, _, _, m0, m1] = *packet.header;
        let kind = Kind::from_numbers([kind, code], u16::from_be_bytes([m0, m1]));
        kind.map(|kind| Repr { kind }).ok_or(Error::Malformed)
    }

    /// Writes a message about `packet` into `buf` and answers its length: the packet's header and the
    /// first bytes behind it are quoted, as far as there are some.
    ///
    /// # Panics
    /// When `buf` is shorter than [`LEN_MAX`].
    pub fn emit(&self, buf: &mut [u8; LEN_MAX], packet: &[u8]) -> usize {
        let header_len = packet.first().map_or(0, |byte| usize::from(byte & 0x0f) * 4);
        let quoted = &packet[..packet.len().min(header_len + QUOTED_LEN)];
        let len = HEADER_LEN + quoted.len();
        let [kind, code] = self.kind.numbers();
        let mtu = match self.kind {
            Kind::FragmentationNeeded { mtu } => mtu,
            _ => 0,
        };
        let [m0, m1] = mtu.to_be_bytes();
        buf[..HEADER_LEN].copy_from_slice(&[kind, code, 0, 0, 0, 0, m0, m1]);
        buf[HEADER_LEN..len].copy_from_slice(quoted);
        let mut checksum = Checksum::new();
        checksum.add_bytes(&buf[..len]);
        buf[2..4].copy_from_slice(&checksum.finish().to_be_bytes());
        len
    }
}
