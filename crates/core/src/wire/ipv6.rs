//! IPv6 (RFC 8200, RFC 2474, RFC 3168).
//!
//! Extension headers are walked, not read: only as far as it takes to find what the packet carries or
//! to say that they contradict themselves. Deviations: none is ever sent, jumbograms (RFC 2675) are
//! malformed.

use std::net::Ipv6Addr;

use super::Error;
use super::ipv4::{Ecn, Protocol};

#[cfg(test)]
mod tests;

/// Bytes of the fixed header, the only one that is sent.
pub const HEADER_LEN: usize = 40;

/// Bits of a flow label.
pub const FLOW_LABEL_BITS: u32 = 20;
const FLOW_LABEL_MASK: u32 = (1 << FLOW_LABEL_BITS) - 1;

/// The smallest MTU a link may have for IPv6, in bytes.
pub const MTU_MIN: u16 = 1280;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;
const MOBILITY: u8 = 135;
const HOST_IDENTITY: u8 = 139;
const SHIM6: u8 = 140;

/// The fragment offset and the flag that more follow, in the second word of a fragment header.
const FRAGMENT_PART: u16 = 0xfff9;

/// What a packet carries beyond its extension headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Upper<'a> {
    /// What it is.
    pub protocol: Protocol,
    /// Its bytes that are in memory.
    pub bytes: &'a [u8],
    /// Whether it is a part of a larger packet; then ports may be missing.
    pub fragment: bool,
}

/// A view of a packet whose lengths have been checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    fixed: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
    elided: u32,
}

impl<'a> Packet<'a> {
    /// Checks version and length of a packet of `bytes` followed by `elided` zero bytes. What is beyond
    /// the payload length is link padding and cut off.
    ///
    /// # Errors
    /// [`Error::Truncated`] when the fixed header is not in memory or the payload length promises more
    /// than is there; [`Error::Malformed`] for another version.
    #[inline]
    pub fn new_checked(bytes: &'a [u8], elided: u32) -> Result<Packet<'a>, Error> {
        let (fixed, rest) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(Error::Truncated)?;
        if fixed[0] >> 4 != 6 {
            return Err(Error::Malformed);
        }
        let payload_len = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
        let payload = &rest[..rest.len().min(payload_len)];
        let missing = (payload_len - payload.len()) as u32;
        if missing > elided {
            return Err(Error::Truncated);
        }
        Ok(Packet { fixed, payload, elided: missing })
    }

    /// The part of the payload that is in memory, extension headers included.
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
    pub fn total_len(&self) -> usize {
        HEADER_LEN + self.payload.len() + self.elided as usize
    }

    /// The source address.
    #[inline]
    pub fn src(&self) -> Ipv6Addr {
        Ipv6Addr::from_octets(*self.fixed[8..].first_chunk().expect("32 bytes"))
    }

    /// The destination address.
    #[inline]
    pub fn dst(&self) -> Ipv6Addr {
        Ipv6Addr::from_octets(*self.fixed.last_chunk().expect("16 bytes"))
    }

    /// What follows the fixed header: an extension header or what the packet carries.
    #[inline]
    pub fn next_header(&self) -> Protocol {
        Protocol(self.fixed[6])
    }

    /// The traffic class: DSCP and ECN.
    #[inline]
    pub fn traffic_class(&self) -> u8 {
        self.fixed[0] << 4 | self.fixed[1] >> 4
    }

    /// The congestion codepoint.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.traffic_class())
    }

    /// What the packet carries beyond its extension headers.
    ///
    /// # Errors
    /// [`Error::Malformed`] when a hop-by-hop header is not the first; [`Error::Truncated`] when an
    /// extension header is not whole or not in memory.
    pub fn upper(&self) -> Result<Upper<'a>, Error> {
        let mut next = self.fixed[6];
        let mut bytes = self.payload;
        let mut fragment = false;
        let mut is_first = true;
        loop {
            let len = match next {
                HOP_BY_HOP if !is_first => return Err(Error::Malformed),
                HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | MOBILITY | HOST_IDENTITY | SHIM6 => {
                    8 + usize::from(*bytes.get(1).ok_or(Error::Truncated)?) * 8
                }
                AUTHENTICATION => 8 + usize::from(*bytes.get(1).ok_or(Error::Truncated)?) * 4,
                FRAGMENT => 8,
                _ => return Ok(Upper { protocol: Protocol(next), bytes, fragment }),
            };
            let (header, rest) = bytes.split_at_checked(len).ok_or(Error::Truncated)?;
            if next == FRAGMENT {
                let part = u16::from_be_bytes([header[2], header[3]]) & FRAGMENT_PART;
                fragment |= part != 0;
                // What follows the header of a later fragment is payload and no header.
                if part >> 3 != 0 {
                    let protocol = Protocol(header[0]);
                    return Ok(Upper { protocol, bytes: rest, fragment });
                }
            }
            next = header[0];
            bytes = rest;
            is_first = false;
        }
    }
}

/// What a fixed header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Repr {
    /// Source address.
    pub src: Ipv6Addr,
    /// Destination address.
    pub dst: Ipv6Addr,
    /// What follows the fixed header.
    pub next_header: Protocol,
    /// Differentiated services codepoint, six bits.
    pub dscp: u8,
    /// Congestion codepoint.
    pub ecn: Ecn,
    /// Flow label, twenty bits.
    pub flow_label: u32,
    /// Hops the packet may still take.
    pub hop_limit: u8,
    /// Bytes after the fixed header, elided ones included.
    pub payload_len: u16,
}

impl Repr {
    /// Reads a fixed header and checks the extension headers behind it.
    ///
    /// # Errors
    /// Those of [`Packet::upper`].
    pub fn parse(packet: &Packet<'_>) -> Result<Repr, Error> {
        packet.upper()?;
        let [first, second, third, fourth, ..] = *packet.fixed;
        Ok(Repr {
            src: packet.src(),
            dst: packet.dst(),
            next_header: packet.next_header(),
            dscp: packet.traffic_class() >> 2,
            ecn: packet.ecn(),
            flow_label: u32::from_be_bytes([first, second, third, fourth]) & FLOW_LABEL_MASK,
            hop_limit: packet.fixed[7],
            payload_len: u16::from_be_bytes([packet.fixed[4], packet.fixed[5]]),
        })
    }

    /// Writes the fixed header into the first [`HEADER_LEN`] bytes of `buf`.
    ///
    /// # Panics
    /// When `buf` is shorter than that.
    #[inline]
    pub fn emit(&self, buf: &mut [u8]) {
        debug_assert!(self.dscp < 64 && self.flow_label <= FLOW_LABEL_MASK);
        let traffic_class = u32::from(self.dscp << 2 | self.ecn as u8);
        let lead = 6 << 28 | traffic_class << 20 | self.flow_label & FLOW_LABEL_MASK;
        let buf = &mut buf[..HEADER_LEN];
        buf[..4].copy_from_slice(&lead.to_be_bytes());
        buf[4..6].copy_from_slice(&self.payload_len.to_be_bytes());
        buf[6] = self.next_header.0;
        buf[7] = self.hop_limit;
        buf[8..24].copy_from_slice(&self.src.octets());
        buf[24..].copy_from_slice(&self.dst.octets());
    }
}
