//! Header compression (RFC 1144): whatever comes over the line is survived, and what is compressed comes
//! out as it was.

use trunkline_core::wire::ipv4;
use trunkline_core::wire::ppp::control::SlotCompression;
use trunkline_core::wire::vj::{Compressor, Decompressor, Kind};

const SLOTS: u8 = 3;

/// Reads the input as packets behind a byte of length each: once as they come from a line, once as they
/// go onto one.
pub fn vj(input: &[u8]) {
    let mut strange = Decompressor::new(SLOTS);
    let mut compressor = Compressor::new(SLOTS, SlotCompression::Allowed);
    let mut decompressor = Decompressor::new(SLOTS);
    let mut rest = input;
    while let Some((&len, tail)) = rest.split_first() {
        let (packet, tail) = tail.split_at(tail.len().min(usize::from(len)));
        rest = tail;
        let elided = u32::from(len >> 6);
        for kind in [Kind::CompressedTcp, Kind::UncompressedTcp, Kind::Ip] {
            if let Ok(restored) = strange.decompress(kind, packet, elided) {
                assert!(restored.replaced <= packet.len());
            }
        }
        let mut packet = packet.to_vec();
        seal(&mut packet);
        let compressed = compressor.compress(&packet, 0);
        let line = [compressed.header(), &packet[compressed.replaced..]].concat();
        assert!(line.len() <= packet.len(), "it never grows");
        let restored = decompressor.decompress(compressed.kind, &line, 0).expect("its own packet");
        assert_eq!([restored.header(), &line[restored.replaced..]].concat(), packet);
    }
}

/// Fills in the checksum of an IPv4 header without options, which whoever restores it would.
fn seal(packet: &mut [u8]) {
    let Some(header) = packet.first_chunk_mut::<{ ipv4::HEADER_LEN }>() else { return };
    let len = usize::from(header[0] & 0x0f) * 4;
    let Some(header) = packet.get_mut(..len).filter(|_| len >= ipv4::HEADER_LEN) else { return };
    header[10..12].fill(0);
    let sum: u32 =
        header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    header[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}
