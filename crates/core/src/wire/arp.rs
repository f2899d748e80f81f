//! Address resolution for IPv4 over Ethernet (RFC 826).
//!
//! Deviations: other hardware and other protocols are refused.

use super::Error;
use super::ethernet::EtherType;
use super::mac::MacAddress;
use std::net::Ipv4Addr;

#[cfg(test)]
mod tests;

/// Bytes of a packet.
pub const LEN: usize = 28;

const HARDWARE_ETHERNET: u16 = 1;
const HARDWARE_LEN: u8 = 6;
const PROTOCOL_LEN: u8 = 4;
/// Hardware, protocol and the lengths of their addresses: the same in every packet.
const KIND: [u8; 6] = {
    let [h0, h1] = HARDWARE_ETHERNET.to_be_bytes();
    let [p0, p1] = EtherType::IPV4.0.to_be_bytes();
    [h0, h1, p0, p1, HARDWARE_LEN, PROTOCOL_LEN]
};
const REQUEST: u16 = 1;
const REPLY: u16 = 2;

/// Which of the two packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Operation {
    /// Who has the target's address?
    Request,
    /// The sender has it.
    Reply,
}

/// A view of a packet whose length and kind have been checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    operation: Operation,
    sender: &'a [u8; 10],
    target: &'a [u8; 10],
}

impl<'a> Packet<'a> {
    /// Checks the packet that `bytes` begin with; what is beyond it fills up a short frame.
    ///
    /// # Errors
    /// [`Error::Truncated`] when it is not in memory, [`Error::Malformed`] when it is not about IPv4 over
    /// Ethernet, or neither request nor reply.
    pub fn new_checked(bytes: &'a [u8]) -> Result<Packet<'a>, Error> {
        let bytes = bytes.first_chunk::<LEN>().ok_or(Error::Truncated)?;
        let (kind, rest) = bytes.split_at(KIND.len());
        let operation = match u16::from_be_bytes([rest[0], rest[1]]) {
            REQUEST => Operation::Request,
            REPLY => Operation::Reply,
            _ => return Err(Error::Malformed),
        };
        let (sender, target) = rest[2..].split_first_chunk().ok_or(Error::Truncated)?;
        let target = target.first_chunk().ok_or(Error::Truncated)?;
        match kind == KIND {
            true => Ok(Packet { operation, sender, target }),
            false => Err(Error::Malformed),
        }
    }

    /// Request or reply.
    pub const fn operation(&self) -> Operation {
        self.operation
    }

    /// Who sends it.
    pub fn sender(&self) -> (MacAddress, Ipv4Addr) {
        addresses(self.sender)
    }

    /// Who is asked for, or told.
    pub fn target(&self) -> (MacAddress, Ipv4Addr) {
        addresses(self.target)
    }
}

fn addresses(bytes: &[u8; 10]) -> (MacAddress, Ipv4Addr) {
    let [a, b, c, d, e, f, g, h, i, j] = *bytes;
    (MacAddress([a, b, c, d, e, f]), Ipv4Addr::new(g, h, i, j))
}

/// What a packet says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Repr {
    /// Request or reply.
    pub operation: Operation,
    /// Both addresses of who sends it.
    pub sender: (MacAddress, Ipv4Addr),
    /// Both addresses of who is asked for, or told. The hardware's is what a request asks for.
    pub target: (MacAddress, Ipv4Addr),
}

impl Repr {
    /// Reads a packet.
    pub fn parse(packet: &Packet<'_>) -> Repr {
        Repr { operation: packet.operation(), sender: packet.sender(), target: packet.target() }
    }

    /// Writes the packet into the first [`LEN`] bytes of `buf`.
    ///
    /// # Panics
    /// When `buf` is shorter than that.
    pub fn emit(&self, buf: &mut [u8]) {
        let buf = &mut buf[..LEN];
        let operation = match self.operation {
            Operation::Request => REQUEST,
            Operation::Reply => REPLY,
        };
        buf[..6].copy_from_slice(&KIND);
        buf[6..8].copy_from_slice(&operation.to_be_bytes());
        for (at, (mac, ip)) in [(8, self.sender), (18, self.target)] {
            buf[at..at + 6].copy_from_slice(&mac.0);
            buf[at + 6..at + 10].copy_from_slice(&ip.octets());
        }
    }
}
