//! SLIP framing (RFC 1055): any line noise is survived, and what is encoded comes out as it was.

use trunkline_core::wire::slip::{Decoder, PACKET_LEN_MAX, encode, expansion};

/// Reads the input once as the bytes of a line and once as a packet.
pub fn slip(input: &[u8]) {
    let whole = decode(input.chunks(input.len().max(1)));
    let (left, right) = input.split_at(input.len() / 2);
    assert_eq!(decode([left, right].into_iter()), whole, "pieces make no difference");
    assert_eq!(decode(input.chunks(1)), whole, "nor do single bytes");
    assert!(whole.iter().all(|packet| (1..=PACKET_LEN_MAX).contains(&packet.len())));

    let mut line = Vec::new();
    encode(input, &mut line);
    assert_eq!(line.len(), input.len() + expansion(input) + 2);
    let mut decoder = Decoder::new(input.len());
    let mut packets = Vec::new();
    decoder.feed(&line, |packet| packets.push(packet.to_vec()));
    if input.is_empty() {
        assert!(packets.is_empty(), "packets of no bytes are ignored");
    } else {
        assert_eq!(packets, [input]);
    }
}

fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let mut decoder = Decoder::default();
    let mut packets = Vec::new();
    for piece in pieces {
        decoder.feed(piece, |packet| packets.push(packet.to_vec()));
    }
    assert_eq!(decoder.counters().packets, packets.len() as u64);
    packets
}
