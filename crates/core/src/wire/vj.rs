//! Van Jacobson's compression of TCP/IP headers on a serial line (RFC 1144; RFC 1332, 4 for PPP).
//!
//! A line in order and almost without loss is what it needs: a header is told as its difference from the
//! one before it. A packet that is lost spoils the next ones of its connection until one is sent whole,
//! as every retransmission is; so packets that are spread over several lines cannot be compressed.
//!
//! Deviations: segments with ECE, CWR or reserved bits, and packets whose length is not what they say,
//! stay as they are, for the compressed form has no place for either. An urgent bit of the header before
//! does not survive the two special encodings. As with the RFC, whoever restores a header fills in a right
//! IP checksum; damage from before the line is left to TCP's, which covers all that is not constant but
//! the identification.

mod compress;
mod decompress;
#[cfg(test)]
mod tests;

pub use compress::{Compressed, Compressor};
pub use decompress::{Counters, Decompressor, Restored};

use super::ppp::{Protocol, control::SlotCompression};
use super::{Error, checksum::Checksum, ipv4, tcp};

/// Connections kept unless both ends agree on another number.
pub const SLOTS: u8 = 16;
/// Bytes of both headers, all options included.
pub const HEADERS_LEN_MAX: usize = 60 + tcp::HEADER_LEN_MAX;
/// A compressed header at its longest: change mask, slot, checksum and five changes of three bytes.
pub const COMPRESSED_LEN_MAX: usize = 1 + 1 + 2 + 5 * 3;
/// A compressed header of the next segment of a bulk transfer: change mask and checksum.
pub const COMPRESSED_LEN_MIN: usize = 3;

/// Bits of the change mask.
mod mask {
    pub(super) const CONNECTION: u8 = 0x40;
    pub(super) const IDENT: u8 = 0x20;
    pub(super) const PUSH: u8 = 0x10;
    pub(super) const SEQUENCE: u8 = 0x08;
    pub(super) const ACK: u8 = 0x04;
    pub(super) const WINDOW: u8 = 0x02;
    pub(super) const URGENT: u8 = 0x01;
    /// What is left in front of the special encodings.
    pub(super) const SPECIAL: u8 = SEQUENCE | ACK | WINDOW | URGENT;
    /// Sequence and acknowledgment advance by what the segment before carried: echoed typing.
    pub(super) const ECHOED: u8 = SEQUENCE | WINDOW | URGENT;
    /// The sequence advances by what the segment before carried: a transfer in one direction.
    pub(super) const ONE_WAY: u8 = SPECIAL;
}

/// Offsets of both headers' fields.
mod at {
    pub(super) const TOTAL_LEN: usize = 2;
    pub(super) const IDENT: usize = 4;
    pub(super) const FRAGMENT: usize = 6;
    pub(super) const PROTOCOL: usize = 9;
    pub(super) const CHECKSUM: usize = 10;
    pub(super) const ADDRESSES: usize = 12;
    /// From the beginning of the TCP header.
    pub(super) const SEQUENCE: usize = 4;
    pub(super) const ACK: usize = 8;
    pub(super) const OFFSET: usize = 12;
    pub(super) const FLAGS: usize = 13;
    pub(super) const WINDOW: usize = 14;
    pub(super) const TCP_CHECKSUM: usize = 16;
    pub(super) const URGENT: usize = 18;
}

/// What a packet has become on the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A packet as it was.
    Ip,
    /// A TCP packet with its slot in place of the protocol.
    UncompressedTcp,
    /// A change mask and what has changed, in place of both headers.
    CompressedTcp,
}

impl Kind {
    /// What PPP calls it.
    pub const fn protocol(self) -> Protocol {
        match self {
            Kind::Ip => Protocol::IPV4,
            Kind::UncompressedTcp => Protocol::VJ_UNCOMPRESSED,
            Kind::CompressedTcp => Protocol::VJ_COMPRESSED,
        }
    }

    /// What is set in the first byte of a packet on a SLIP line, which has no other place for it
    /// (RFC 1144, A.2): IPv4's version and header length stand there, or the change mask.
    pub const fn slip_bits(self) -> u8 {
        match self {
            Kind::Ip => 0,
            Kind::UncompressedTcp => 0x70,
            Kind::CompressedTcp => 0x80,
        }
    }
}

/// The headers of the last segment of a connection.
#[derive(Clone, Copy)]
struct Headers {
    bytes: [u8; HEADERS_LEN_MAX],
    ip_len: u8,
    tcp_len: u8,
}

impl Headers {
    const EMPTY: Headers = Headers { bytes: [0; HEADERS_LEN_MAX], ip_len: 0, tcp_len: 0 };

    /// The headers of a packet of TCP over IPv4, if both are whole.
    fn of(packet: &[u8]) -> Option<Headers> {
        let first = *packet.first()?;
        let ip_len = usize::from(first & 0x0f) * 4;
        if first >> 4 != 4 || ip_len < ipv4::HEADER_LEN {
            return None;
        }
        let tcp_len = usize::from(packet.get(ip_len + at::OFFSET)? >> 4) * 4;
        if tcp_len < tcp::HEADER_LEN_MIN {
            return None;
        }
        let held = packet.get(..ip_len + tcp_len)?;
        let mut headers =
            Headers { ip_len: ip_len as u8, tcp_len: tcp_len as u8, ..Headers::EMPTY };
        headers.bytes[..held.len()].copy_from_slice(held);
        Some(headers)
    }

    fn len(&self) -> usize {
        usize::from(self.ip_len) + usize::from(self.tcp_len)
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    fn tcp(&self, at: usize) -> usize {
        usize::from(self.ip_len) + at
    }

    fn tcp_u16(&self, at: usize) -> u16 {
        self.u16(self.tcp(at))
    }

    fn tcp_u32(&self, at: usize) -> u32 {
        let at = self.tcp(at);
        u32::from_be_bytes([
            self.bytes[at],
            self.bytes[at + 1],
            self.bytes[at + 2],
            self.bytes[at + 3],
        ])
    }

    fn set_u16(&mut self, at: usize, value: u16) {
        self.bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
    }

    fn set_tcp_u16(&mut self, at: usize, value: u16) {
        self.set_u16(self.tcp(at), value);
    }

    fn add_tcp_u32(&mut self, at: usize, more: u32) {
        let value = self.tcp_u32(at).wrapping_add(more);
        let at = self.tcp(at);
        self.bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }

    fn flags(&self) -> u8 {
        self.bytes[self.tcp(at::FLAGS)]
    }

    fn set_flags(&mut self, flags: u8) {
        let at = self.tcp(at::FLAGS);
        self.bytes[at] = flags;
    }

    fn addresses(&self) -> &[u8] {
        &self.bytes[at::ADDRESSES..ipv4::HEADER_LEN]
    }

    fn ip_options(&self) -> &[u8] {
        &self.bytes[ipv4::HEADER_LEN..usize::from(self.ip_len)]
    }

    fn tcp_options(&self) -> &[u8] {
        &self.bytes[self.tcp(tcp::HEADER_LEN_MIN)..self.len()]
    }

    /// Bytes the segment carried, as its length says.
    fn payload_len(&self) -> u32 {
        u32::from(self.u16(at::TOTAL_LEN)).saturating_sub(self.len() as u32)
    }

    /// Fills in the checksum of the IP header.
    fn seal(&mut self) {
        self.set_u16(at::CHECKSUM, 0);
        let mut checksum = Checksum::new();
        checksum.add_bytes(&self.bytes[..usize::from(self.ip_len)]);
        self.set_u16(at::CHECKSUM, checksum.finish());
    }
}
