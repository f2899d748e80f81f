//! What the two versions of IP share: a packet's addresses, and what can be told of it without taking it
//! apart, its flow and its congestion codepoint, for packets that pass through and belong to somebody else.
//!
//! Nothing here refuses a packet: what is not understood is one flow, without codepoints.

use super::checksum::{Checksum, incremental_update};
use super::ipv4::{self, Ecn, Protocol};
use super::ipv6;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[cfg(test)]
mod tests;

/// "More fragments" and the offset of an IPv4 header.
const FRAGMENT: u16 = 0x3fff;

/// The addresses of the packet around what it carries, whose checksum covers them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Addresses {
    /// Of an IPv4 packet.
    V4 {
        /// Source.
        src: Ipv4Addr,
        /// Destination.
        dst: Ipv4Addr,
    },
    /// Of an IPv6 packet.
    V6 {
        /// Source.
        src: Ipv6Addr,
        /// Destination.
        dst: Ipv6Addr,
    },
}

impl Addresses {
    /// The two addresses; none when they are not of one version.
    #[inline]
    pub const fn new(src: IpAddr, dst: IpAddr) -> Option<Addresses> {
        match (src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => Some(Addresses::V4 { src, dst }),
            (IpAddr::V6(src), IpAddr::V6(dst)) => Some(Addresses::V6 { src, dst }),
            _ => None,
        }
    }

    /// The source.
    pub const fn src(&self) -> IpAddr {
        match *self {
            Addresses::V4 { src, .. } => IpAddr::V4(src),
            Addresses::V6 { src, .. } => IpAddr::V6(src),
        }
    }

    /// The destination.
    pub const fn dst(&self) -> IpAddr {
        match *self {
            Addresses::V4 { dst, .. } => IpAddr::V4(dst),
            Addresses::V6 { dst, .. } => IpAddr::V6(dst),
        }
    }

    /// Bytes of the IP header of such a packet, without options and extensions.
    #[inline]
    pub const fn header_len(&self) -> usize {
        match self {
            Addresses::V4 { .. } => ipv4::HEADER_LEN,
            Addresses::V6 { .. } => ipv6::HEADER_LEN,
        }
    }

    /// The checksum of the pseudo-header of `len` bytes of this protocol.
    #[inline]
    pub(super) fn pseudo_header(&self, protocol: Protocol, len: u32) -> Checksum {
        match *self {
            Addresses::V4 { src, dst } => Checksum::pseudo_header(src, dst, protocol.0, len),
            Addresses::V6 { src, dst } => Checksum::pseudo_header_v6(src, dst, protocol.0, len),
        }
    }
}

/// A hash of the packet's flow: addresses, protocol, and ports or the identifier of an ICMP echo.
/// Fragments hash by addresses alone, since only the first has ports. What is no IP packet hashes to 0.
pub fn flow_hash(bytes: &[u8]) -> u32 {
    match bytes.first().map(|byte| byte >> 4) {
        Some(4) => flow_hash_v4(bytes),
        Some(6) => flow_hash_v6(bytes),
        _ => 0,
    }
}

fn flow_hash_v4(bytes: &[u8]) -> u32 {
    let Some(fixed) = bytes.first_chunk::<{ ipv4::HEADER_LEN }>() else {
        return 0;
    };
    let mut hash = FlowHash::new();
    hash.add(&fixed[12..]);
    if u16::from_be_bytes([fixed[6], fixed[7]]) & FRAGMENT == 0 {
        let header_len = (usize::from(fixed[0] & 0x0f) * 4).max(ipv4::HEADER_LEN);
        let upper = bytes.get(header_len..).unwrap_or_default();
        hash.add_upper(Protocol(fixed[9]), upper);
    }
    hash.finish()
}

fn flow_hash_v6(bytes: &[u8]) -> u32 {
    let Some(fixed) = bytes.first_chunk::<{ ipv6::HEADER_LEN }>() else {
        return 0;
    };
    let mut hash = FlowHash::new();
    hash.add(&fixed[8..]);
    // Bytes beyond memory are zeros like any others; only headers are looked at.
    let packet = ipv6::Packet::new_checked(bytes, u32::MAX);
    if let Ok(upper) = packet.and_then(|packet| packet.upper())
        && !upper.fragment
    {
        hash.add_upper(upper.protocol, upper.bytes);
    }
    hash.finish()
}

/// FNV-1a over whole words with a final mixing (the one of MurmurHash3), so that all bits depend on all.
struct FlowHash(u64);

impl FlowHash {
    const fn new() -> Self {
        FlowHash(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for word in bytes.as_chunks::<4>().0 {
            self.add_word(u32::from_be_bytes(*word));
        }
    }

    fn add_word(&mut self, word: u32) {
        self.0 = (self.0 ^ u64::from(word)).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 ^= self.0 >> 32;
    }

    /// The protocol and whatever tells flows of it apart.
    fn add_upper(&mut self, protocol: Protocol, upper: &[u8]) {
        self.add_word(u32::from(protocol.0));
        match protocol {
            Protocol::TCP | Protocol::UDP => {
                self.add(upper.get(..4).unwrap_or_default());
            }
            Protocol::ICMP if matches!(upper.first(), Some(0 | 8)) => self.add_ident(upper),
            Protocol::ICMPV6 if matches!(upper.first(), Some(128 | 129)) => self.add_ident(upper),
            _ => {}
        }
    }

    /// The identifier of an echo, which request and reply share.
    fn add_ident(&mut self, echo: &[u8]) {
        if let Some(&[high, low]) = echo.get(4..6).and_then(|ident| ident.first_chunk()) {
            self.add_word(u32::from_be_bytes([0, 0, high, low]));
        }
    }

    const fn finish(self) -> u32 {
        let mut hash = self.0;
        hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        (hash ^ hash >> 33) as u32
    }
}

/// The packet's differentiated services codepoint and congestion codepoint; none when it is no IP packet.
pub fn dscp_ecn(bytes: &[u8]) -> Option<(u8, Ecn)> {
    let tos = match *bytes.first_chunk::<2>()? {
        [first, second] if first >> 4 == 4 => second,
        [first, second] if first >> 4 == 6 => first << 4 | second >> 4,
        _ => return None,
    };
    Some((tos >> 2, Ecn::from_bits(tos)))
}

/// Whether a packet could be marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Marked {
    /// It now says "congestion experienced", or did before.
    Marked,
    /// Its transport does not know ECN, or it is no IP packet: nothing was changed.
    NotCapable,
}

/// Marks a packet with "congestion experienced" if its transport allows it (RFC 3168, 5), and keeps the
/// checksum of an IPv4 header right.
pub fn set_ce(bytes: &mut [u8]) -> Marked {
    match dscp_ecn(bytes) {
        None | Some((_, Ecn::NotEct)) => return Marked::NotCapable,
        Some((_, Ecn::Ce)) => return Marked::Marked,
        Some((_, Ecn::Ect0 | Ecn::Ect1)) => {}
    }
    set_ecn(bytes, Ecn::Ce)
}

/// What becomes of a packet that was taken out of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Decapsulated {
    /// It goes on, changed where the outer header tells of something.
    Passed,
    /// The outer header says "congestion experienced", and its transport would not hear that from it: it
    /// has to be dropped.
    Unheard,
}

/// Repeats in a packet what has happened to the outer header on its way (RFC 6040, 4.2). What is no IP
/// packet passes.
pub fn decapsulate(bytes: &mut [u8], outer: Ecn) -> Decapsulated {
    let Some((_, inner)) = dscp_ecn(bytes) else {
        return Decapsulated::Passed;
    };
    match (inner, outer) {
        (Ecn::NotEct, Ecn::Ce) => return Decapsulated::Unheard,
        (Ecn::Ect0, Ecn::Ect1) | (Ecn::Ect0 | Ecn::Ect1, Ecn::Ce) => {
            // A header that is cut off is nobody's to mark, and whoever gets it will refuse it.
            let _cut_off = set_ecn(bytes, outer);
        }
        _ => {}
    }
    Decapsulated::Passed
}

/// Writes the congestion codepoint of a packet of either version.
fn set_ecn(bytes: &mut [u8], ecn: Ecn) -> Marked {
    if bytes[0] >> 4 == 6 {
        bytes[1] = bytes[1] & !0x30 | (ecn as u8) << 4;
        return Marked::Marked;
    }
    let Some(fixed) = bytes.first_chunk_mut::<{ ipv4::HEADER_LEN }>() else {
        return Marked::NotCapable;
    };
    let old = u16::from_be_bytes([fixed[0], fixed[1]]);
    fixed[1] = fixed[1] & !3 | ecn as u8;
    let new = u16::from_be_bytes([fixed[0], fixed[1]]);
    let checksum = u16::from_be_bytes([fixed[10], fixed[11]]);
    fixed[10..12].copy_from_slice(&incremental_update(checksum, old, new).to_be_bytes());
    Marked::Marked
}
