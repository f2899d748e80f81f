//! What a router says of a packet that its next link does not take: ICMP "fragmentation needed" (RFC 792,
//! RFC 1191, 4) and ICMPv6 "packet too big" (RFC 4443, 3.2), as far as they quote a TCP segment.
//!
//! Deviations: none is ever sent, since every link of ours takes all packets of its bond.

use super::checksum::Checksum;
use super::ip::Addresses;
use super::ipv4::{self, Protocol};
use super::{Error, Integrity, ipv6};
use crate::seq::SeqNumber;
use std::net::{Ipv4Addr, Ipv6Addr};

#[cfg(test)]
mod tests;

const UNREACHABLE: u8 = 3;
const FRAGMENTATION_NEEDED: u8 = 4;
const PACKET_TOO_BIG: u8 = 2;
/// Bytes before the packet quoted.
const HEADER_LEN: usize = 8;

/// The message, and the segment it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooBig {
    /// What the link takes, in bytes; 0 from routers older than RFC 1191.
    pub mtu: u32,
    /// Of the packet quoted: we are its source.
    pub addresses: Addresses,
    /// Its source port.
    pub src_port: u16,
    /// Its destination port.
    pub dst_port: u16,
    /// Its sequence number.
    pub seq: SeqNumber,
}

/// Whether an ICMP message is one of these, by its type.
pub fn is_one(addresses: &Addresses, message: &[u8]) -> bool {
    match addresses {
        Addresses::V4 { .. } => message.starts_with(&[UNREACHABLE]),
        Addresses::V6 { .. } => message.starts_with(&[PACKET_TOO_BIG]),
    }
}

/// Reads a message of `bytes` followed by `elided` zero bytes from a packet with these addresses.
///
/// # Errors
/// [`Error::Checksum`] when the checksum does not verify or `integrity` says it cannot;
/// [`Error::Malformed`] for other types and codes, and where no TCP segment is quoted;
/// [`Error::Truncated`] when too little of it is.
pub fn parse(
    addresses: &Addresses,
    bytes: &[u8],
    elided: u32,
    integrity: Integrity,
) -> Result<TooBig, Error> {
    let (header, quoted) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(Error::Truncated)?;
    let word = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    match addresses {
        Addresses::V4 { .. } => {
            integrity.accepts(|| verifies(Checksum::new(), bytes))?;
            if header[..2] != [UNREACHABLE, FRAGMENTATION_NEEDED] {
                return Err(Error::Malformed);
            }
            quoted_v4(word & 0xffff, quoted)
        }
        Addresses::V6 { .. } => {
            let len = (bytes.len() as u32).saturating_add(elided);
            let sum = addresses.pseudo_header(Protocol::ICMPV6, len);
            integrity.accepts(|| verifies(sum, bytes))?;
            if header[..2] != [PACKET_TOO_BIG, 0] {
                return Err(Error::Malformed);
            }
            quoted_v6(word, quoted)
        }
    }
}

fn verifies(mut sum: Checksum, bytes: &[u8]) -> bool {
    // Elided zeros come last and are no part of the sum.
    sum.add_bytes(bytes);
    sum.finish() == 0
}

/// The packet is cut off, so its own lengths and checksums say nothing.
fn quoted_v4(mtu: u32, packet: &[u8]) -> Result<TooBig, Error> {
    let fixed = packet.first_chunk::<{ ipv4::HEADER_LEN }>().ok_or(Error::Truncated)?;
    let header_len = usize::from(fixed[0] & 0x0f) * 4;
    if fixed[0] >> 4 != 4 || header_len < ipv4::HEADER_LEN || fixed[9] != Protocol::TCP.0 {
        return Err(Error::Malformed);
    }
    let address = |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]);
    let addresses = Addresses::V4 { src: address(12), dst: address(16) };
    segment(mtu, addresses, packet.get(header_len..).unwrap_or_default())
}

fn quoted_v6(mtu: u32, packet: &[u8]) -> Result<TooBig, Error> {
    let (fixed, upper) =
        packet.split_first_chunk::<{ ipv6::HEADER_LEN }>().ok_or(Error::Truncated)?;
    // We send no extension headers.
    if fixed[0] >> 4 != 6 || fixed[6] != Protocol::TCP.0 {
        return Err(Error::Malformed);
    }
    let address = |at: usize| {
        let octets: [u8; 16] = std::array::from_fn(|i| fixed[at + i]);
        Ipv6Addr::from(octets)
    };
    segment(mtu, Addresses::V6 { src: address(8), dst: address(24) }, upper)
}

fn segment(mtu: u32, addresses: Addresses, upper: &[u8]) -> Result<TooBig, Error> {
    let [s0, s1, d0, d1, q0, q1, q2, q3] = *upper.first_chunk::<8>().ok_or(Error::Truncated)?;
    Ok(TooBig {
        mtu,
        addresses,
        src_port: u16::from_be_bytes([s0, s1]),
        dst_port: u16::from_be_bytes([d0, d1]),
        seq: SeqNumber(u32::from_be_bytes([q0, q1, q2, q3])),
    })
}
