//! ICMPv6 echo request and reply (RFC 4443, 4): the messages of ICMP with other numbers, under a checksum
//! that covers the addresses too.
//!
//! Deviations: no other message is read or sent; neighbours are not looked for, since every link of ours
//! has two ends.

use super::checksum::Checksum;
use super::icmp::{HEADER_LEN, Kind, Packet, Repr};
use super::ipv4::Protocol;
use super::{Error, Integrity};
use std::net::Ipv6Addr;

#[cfg(test)]
mod tests;

const ECHO_REQUEST: u8 = 128;
const ECHO_REPLY: u8 = 129;

/// Verifies and reads a header.
///
/// # Errors
/// [`Error::Checksum`] when the checksum does not verify or `integrity` says it cannot;
/// [`Error::Malformed`] for any other type or code.
pub fn parse(
    packet: &Packet<'_>,
    src: Ipv6Addr,
    dst: Ipv6Addr,
    integrity: Integrity,
) -> Result<Repr, Error> {
    integrity.accepts(|| {
        let len = (HEADER_LEN + packet.payload_len()) as u32;
        let mut checksum = Checksum::pseudo_header_v6(src, dst, Protocol::ICMPV6.0, len);
        // Elided zeros come last and are no part of the sum.
        checksum.add_words(packet.header);
        checksum.add_bytes(packet.payload());
        checksum.finish() == 0
    })?;
    Repr::read(packet, ECHO_REQUEST, ECHO_REPLY)
}

/// Writes the header into the first [`HEADER_LEN`] bytes of `buf`, with a checksum that covers the
/// addresses, `payload` and `elided` zero bytes after it.
///
/// # Panics
/// When `buf` is shorter than the header.
pub fn emit(
    repr: &Repr,
    buf: &mut [u8],
    payload: &[u8],
    elided: u32,
    src: Ipv6Addr,
    dst: Ipv6Addr,
) {
    let kind = match repr.kind {
        Kind::EchoRequest => ECHO_REQUEST,
        Kind::EchoReply => ECHO_REPLY,
    };
    let len = ((HEADER_LEN + payload.len()) as u32).saturating_add(elided);
    let header = u64::from(kind) << 56 | u64::from(repr.ident) << 16 | u64::from(repr.seq);
    let mut checksum = Checksum::pseudo_header_v6(src, dst, Protocol::ICMPV6.0, len);
    checksum.add_u64(header);
    checksum.add_bytes(payload);
    let header = header | u64::from(checksum.finish()) << 32;
    buf[..HEADER_LEN].copy_from_slice(&header.to_be_bytes());
}
