//! pcapng blocks (draft-ietf-opsawg-pcapng): section header, interface description, enhanced packet.
//!
//! Little-endian, times in nanoseconds. A capture is one section header, then a description of every
//! interface (numbered from 0 in order of description), then packets.

use crate::time::Instant;

#[cfg(test)]
mod tests;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const VERSION: (u16, u16) = (1, 0);
const SECTION_LEN_UNKNOWN: u64 = u64::MAX;

const OPTION_END: u16 = 0;
const OPTION_IF_NAME: u16 = 2;
const OPTION_USER_APPL: u16 = 4;
const OPTION_IF_TSRESOL: u16 = 9;

/// Times count in 10^-9 s.
const TSRESOL_NANOS: u8 = 9;

/// What an interface's packets start with, by its assigned number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// Ethernet: a frame starts with its destination address.
    pub const ETHERNET: LinkType = LinkType(1);
    /// No link header: a frame starts with the IPv4 or IPv6 header.
    pub const RAW_IP: LinkType = LinkType(101);
}

/// Appends the block that starts a capture.
pub fn section_header(out: &mut Vec<u8>) {
    block(out, SECTION_HEADER, |out| {
        put_u32(out, BYTE_ORDER_MAGIC);
        put_u16(out, VERSION.0);
        put_u16(out, VERSION.1);
        out.extend_from_slice(&SECTION_LEN_UNKNOWN.to_le_bytes());
        option(out, OPTION_USER_APPL, b"trunkline");
        option(out, OPTION_END, &[]);
    });
}

/// Appends the description of the next interface. A `name` beyond 65535 bytes is left out: the format
/// cannot hold it.
pub fn interface_description(out: &mut Vec<u8>, name: &str, link_type: LinkType) {
    block(out, INTERFACE_DESCRIPTION, |out| {
        put_u16(out, link_type.0);
        put_u16(out, 0);
        put_u32(out, 0);
        option(out, OPTION_IF_NAME, name.as_bytes());
        option(out, OPTION_IF_TSRESOL, &[TSRESOL_NANOS]);
        option(out, OPTION_END, &[]);
    });
}

/// Appends a packet of `len` bytes of which the first `bytes` were captured, seen on the interface with
/// number `interface` at `at`.
pub fn enhanced_packet(out: &mut Vec<u8>, interface: u32, at: Instant, bytes: &[u8], len: u32) {
    let nanos = at.as_nanos();
    block(out, ENHANCED_PACKET, |out| {
        put_u32(out, interface);
        put_u32(out, (nanos >> 32) as u32);
        put_u32(out, nanos as u32);
        put_u32(out, bytes.len() as u32);
        put_u32(out, len);
        out.extend_from_slice(bytes);
        pad(out, bytes.len());
    });
}

/// Writes a block's type, its body and its length on both sides of the body.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    put_u32(out, kind);
    put_u32(out, 0);
    body(out);
    let len = (out.len() - start + 4) as u32;
    out[start + 4..start + 8].copy_from_slice(&len.to_le_bytes());
    put_u32(out, len);
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let Ok(len) = u16::try_from(value.len()) else {
        return;
    };
    put_u16(out, code);
    put_u16(out, len);
    out.extend_from_slice(value);
    pad(out, value.len());
}

/// Fills up to a multiple of four after `len` bytes.
fn pad(out: &mut Vec<u8>, len: usize) {
    out.extend_from_slice(&[0; 3][..len.next_multiple_of(4) - len]);
}

fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}
