//! IPv4 (RFC 791, RFC 2474, RFC 3168).
//!
//! Deviations: options are skipped and never sent. [`Repr::parse`] refuses fragments: they are for whoever
//! puts them together, who reads them with [`Repr::parse_fragment`].

use std::net::Ipv4Addr;

use super::Error;
use super::checksum::{Checksum, incremental_update};

#[cfg(test)]
mod tests;

/// Bytes of a header without options, the only kind that is sent.
pub const HEADER_LEN: usize = 20;

/// The largest payload one packet can carry, in bytes.
pub const PAYLOAD_LEN_MAX: u16 = u16::MAX - HEADER_LEN as u16;

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;

/// Explicit congestion notification, the two low bits of the former TOS byte (RFC 3168, 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Ecn {
    /// The transport does not know ECN.
    #[default]
    NotEct = 0,
    /// ECN-capable transport, codepoint 01.
    Ect1 = 1,
    /// ECN-capable transport, codepoint 10.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// The codepoint in the two low bits of `tos`.
    #[inline]
    pub const fn from_bits(tos: u8) -> Ecn {
        match tos & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
}

/// What a packet carries, by its assigned number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Protocol(pub u8);

impl Protocol {
    /// Internet Control Message Protocol.
    pub const ICMP: Protocol = Protocol(1);
    /// Transmission Control Protocol.
    pub const TCP: Protocol = Protocol(6);
    /// User Datagram Protocol.
    pub const UDP: Protocol = Protocol(17);
    /// Internet Control Message Protocol for IPv6.
    pub const ICMPV6: Protocol = Protocol(58);
}

/// Which part of its packet a fragment is (RFC 791, 3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Fragment {
    /// Where its payload begins in the packet's, in bytes: a multiple of eight.
    pub offset: u16,
    /// Whether more of the packet follows.
    pub more: bool,
}

impl Fragment {
    /// A whole packet.
    pub const WHOLE: Fragment = Fragment { offset: 0, more: false };

    /// Whether it is the whole packet, and no fragment.
    #[inline]
    pub const fn is_whole(&self) -> bool {
        self.offset == 0 && !self.more
    }

    const fn from_bits(bits: u16) -> Fragment {
        Fragment { offset: (bits & FRAGMENT_OFFSET) * 8, more: bits & MORE_FRAGMENTS != 0 }
    }

    const fn bits(self) -> u16 {
        let more = if self.more { MORE_FRAGMENTS } else { 0 };
        (self.offset / 8) | more
    }
}

/// A view of a packet whose lengths have been checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    fixed: &'a [u8; HEADER_LEN],
    options: &'a [u8],
    payload: &'a [u8],
    elided: u32,
}

impl<'a> Packet<'a> {
    /// Checks version and lengths of a packet of `bytes` followed by `elided` zero bytes. What is
    /// beyond the total length is link padding and cut off.
    ///
    /// # Errors
    /// [`Error::Truncated`] when the header is not in memory or the total length promises more than is
    /// there; [`Error::Malformed`] for another version or lengths that contradict each other.
    #[inline]
    pub fn new_checked(bytes: &'a [u8], elided: u32) -> Result<Packet<'a>, Error> {
        let (fixed, rest) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(Error::Truncated)?;
        if fixed[0] >> 4 != 4 {
            return Err(Error::Malformed);
        }
        let header_len = usize::from(fixed[0] & 0x0f) * 4;
        let total_len = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
        if header_len < HEADER_LEN || total_len < header_len {
            return Err(Error::Malformed);
        }
        let (options, rest) =
            rest.split_at_checked(header_len - HEADER_LEN).ok_or(Error::Truncated)?;
        let payload_len = total_len - header_len;
        let payload = &rest[..rest.len().min(payload_len)];
        let missing = (payload_len - payload.len()) as u32;
        if missing > elided {
            return Err(Error::Truncated);
        }
        Ok(Packet { fixed, options, payload, elided: missing })
    }

    /// Bytes of the header, options included.
    #[inline]
    pub fn header_len(&self) -> usize {
        HEADER_LEN + self.options.len()
    }

    /// The part of the payload that is in memory.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Zero bytes of the payload that follow [`Packet::payload`] and are not in memory.
    #[inline]
    pub fn payload_elided(&self) -> u32 {
        self.elided
    }

    /// Length of the whole packet in bytes, elided ones included.
    #[inline]
    pub fn total_len(&self) -> u16 {
        u16::from_be_bytes([self.fixed[2], self.fixed[3]])
    }

    /// The source address; not covered by any check before [`Repr::parse`].
    #[inline]
    pub fn src(&self) -> Ipv4Addr {
        let [.., a, b, c, d, _, _, _, _] = *self.fixed;
        Ipv4Addr::new(a, b, c, d)
    }

    /// The destination address; not covered by any check before [`Repr::parse`].
    #[inline]
    pub fn dst(&self) -> Ipv4Addr {
        let [.., a, b, c, d] = *self.fixed;
        Ipv4Addr::new(a, b, c, d)
    }

    /// What the packet carries.
    #[inline]
    pub fn protocol(&self) -> Protocol {
        Protocol(self.fixed[9])
    }

    /// The congestion codepoint.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.fixed[1])
    }

    /// Which part of its packet it is; not covered by any check before [`Repr::parse_fragment`].
    #[inline]
    pub fn fragment(&self) -> Fragment {
        Fragment::from_bits(u16::from_be_bytes([self.fixed[6], self.fixed[7]]))
    }

    #[inline]
    fn verifies(&self) -> bool {
        let mut checksum = Checksum::new();
        checksum.add_words(self.fixed);
        checksum.add_words(self.options);
        checksum.finish() == 0
    }
}

/// What a header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repr {
    /// Source address.
    pub src: Ipv4Addr,
    /// Destination address.
    pub dst: Ipv4Addr,
    /// What the packet carries.
    pub protocol: Protocol,
    /// Differentiated services codepoint, six bits (RFC 2474).
    pub dscp: u8,
    /// Congestion codepoint.
    pub ecn: Ecn,
    /// Identification.
    pub ident: u16,
    /// Whether routers must not fragment the packet.
    pub dont_fragment: bool,
    /// Hops the packet may still take.
    pub ttl: u8,
    /// Bytes after the header, at most [`PAYLOAD_LEN_MAX`].
    pub payload_len: u16,
}

impl Repr {
    /// Verifies and reads a header. Options are skipped.
    ///
    /// # Errors
    /// [`Error::Checksum`] when the header checksum does not verify; [`Error::Malformed`] for a fragment.
    #[inline]
    pub fn parse(packet: &Packet<'_>) -> Result<Repr, Error> {
        match Repr::parse_fragment(packet)? {
            (repr, Fragment::WHOLE) => Ok(repr),
            _ => Err(Error::Malformed),
        }
    }

    /// Verifies and reads a header that may be a fragment's, and tells which. Options are skipped.
    ///
    /// # Errors
    /// [`Error::Checksum`] when the header checksum does not verify; [`Error::Malformed`] for a fragment
    /// that is not a multiple of eight bytes and not the last, or reaches beyond the longest packet.
    #[inline]
    pub fn parse_fragment(packet: &Packet<'_>) -> Result<(Repr, Fragment), Error> {
        if !packet.verifies() {
            return Err(Error::Checksum);
        }
        let fixed = packet.fixed;
        let fragment = packet.fragment();
        let payload_len = packet.payload.len() as u16 + packet.elided as u16;
        let is_odd = fragment.more && !payload_len.is_multiple_of(8);
        if is_odd || u32::from(fragment.offset) + u32::from(payload_len) > PAYLOAD_LEN_MAX.into() {
            return Err(Error::Malformed);
        }
        let repr = Repr {
            src: packet.src(),
            dst: packet.dst(),
            protocol: packet.protocol(),
            dscp: fixed[1] >> 2,
            ecn: packet.ecn(),
            ident: u16::from_be_bytes([fixed[4], fixed[5]]),
            dont_fragment: u16::from_be_bytes([fixed[6], fixed[7]]) & DONT_FRAGMENT != 0,
            ttl: fixed[8],
            payload_len,
        };
        Ok((repr, fragment))
    }

    /// Writes the header with its checksum into the first [`HEADER_LEN`] bytes of `buf`.
    ///
    /// # Panics
    /// When `buf` is shorter than that.
    #[inline]
    pub fn emit(&self, buf: &mut [u8]) {
        self.emit_fragment(Fragment::WHOLE, buf);
    }

    /// [`Repr::emit`] for a part of a packet.
    #[inline]
    pub fn emit_fragment(&self, part: Fragment, buf: &mut [u8]) {
        debug_assert!(self.payload_len <= PAYLOAD_LEN_MAX && self.dscp < 64);
        let tos = self.dscp << 2 | self.ecn as u8;
        let total_len = self.payload_len.saturating_add(HEADER_LEN as u16);
        let fragment = part.bits() | if self.dont_fragment { DONT_FRAGMENT } else { 0 };
        let lead = 0x45 << 56
            | u64::from(tos) << 48
            | u64::from(total_len) << 32
            | u64::from(self.ident) << 16
            | u64::from(fragment);
        let hop = u32::from(self.ttl) << 24 | u32::from(self.protocol.0) << 16;
        let addrs = u64::from(self.src.to_bits()) << 32 | u64::from(self.dst.to_bits());

        // Summed in registers: reading back what was just stored in other widths would stall.
        let mut checksum = Checksum::new();
        checksum.add_u64(lead);
        checksum.add_u32(hop);
        checksum.add_u64(addrs);
        let hop = hop | u32::from(checksum.finish());

        let buf = &mut buf[..HEADER_LEN];
        buf[..8].copy_from_slice(&lead.to_be_bytes());
        buf[8..12].copy_from_slice(&hop.to_be_bytes());
        buf[12..].copy_from_slice(&addrs.to_be_bytes());
    }
}

/// Takes one hop off what a packet may still make and keeps its checksum right (RFC 1624). Answers what is
/// left; none, and nothing is changed, where that would be less than one or there is no header.
pub fn take_hop(bytes: &mut [u8]) -> Option<u8> {
    let fixed = bytes.first_chunk_mut::<HEADER_LEN>()?;
    let left = fixed[8].checked_sub(1).filter(|left| *left > 0)?;
    let old = u16::from_be_bytes([fixed[8], fixed[9]]);
    fixed[8] = left;
    let new = u16::from_be_bytes([left, fixed[9]]);
    let checksum = u16::from_be_bytes([fixed[10], fixed[11]]);
    fixed[10..12].copy_from_slice(&incremental_update(checksum, old, new).to_be_bytes());
    Some(left)
}
