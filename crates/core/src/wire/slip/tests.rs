use super::*;
use proptest::prelude::*;

fn encoded(packet: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encode(packet, &mut out);
    out
}

fn decode(decoder: &mut Decoder, bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    decoder.feed(bytes, |packet| packets.push(packet.to_vec()));
    packets
}

/// Bytes among which END, ESC and their codes are frequent.
fn bytes(len_max: usize) -> impl Strategy<Value = Vec<u8>> {
    let special = prop_oneof![Just(END), Just(ESC), Just(ESC_END), Just(ESC_ESC)];
    prop::collection::vec(prop_oneof![any::<u8>(), special], 0..len_max)
}

#[test]
fn the_bytes_of_the_rfc() {
    let line = encoded(&[1, END, 2, ESC, ESC_END]);
    assert_eq!(line, [END, 1, ESC, ESC_END, 2, ESC, ESC_ESC, ESC_END, END]);
    assert_eq!(encoded(&[]), [END, END]);
    assert_eq!(expansion(&[1, END, 2, ESC, ESC_END]), 2);
}

#[test]
fn a_leading_end_flushes_noise() {
    let mut decoder = Decoder::default();
    let line = [&[0x7f, 0x33][..], &encoded(b"packet")].concat();
    assert_eq!(decode(&mut decoder, &line), [&[0x7f, 0x33][..], b"packet"]);
    assert_eq!(decoder.counters().packets, 2);
}

#[test]
fn too_long_packets_are_counted_and_the_next_one_arrives() {
    let mut decoder = Decoder::new(4);
    let line = [encoded(b"12345"), encoded(b"1234"), encoded(&[b'x'; 99]), encoded(&[END; 4])];
    let packets = decode(&mut decoder, &line.concat());
    assert_eq!(packets, [&b"1234"[..], &[END; 4]]);
    let counters = decoder.counters();
    assert_eq!((counters.packets, counters.too_long), (2, 2));
}

#[test]
fn a_limit_of_1006_by_default() {
    let mut decoder = Decoder::default();
    let line = [encoded(&[7; 1006]), encoded(&[7; 1007])].concat();
    assert_eq!(decode(&mut decoder, &line), [vec![7; 1006]]);
}

#[test]
fn violations_keep_the_byte_but_never_the_boundary() {
    let mut decoder = Decoder::default();
    assert_eq!(decode(&mut decoder, &[1, ESC, 9, 2, END]), [[1, 9, 2]]);
    assert_eq!(decode(&mut decoder, &[1, ESC, END, 2, END]), [[2]]);
    let counters = decoder.counters();
    assert_eq!((counters.unknown_escape, counters.cut_escape), (1, 1));
}

proptest! {
    #[test]
    fn round_trip_in_any_pieces(
        packets in prop::collection::vec(bytes(60), 0..6),
        piece in 1usize..20,
    ) {
        let mut line = Vec::new();
        for packet in &packets {
            let before = line.len();
            encode(packet, &mut line);
            prop_assert_eq!(line.len() - before, packet.len() + expansion(packet) + 2);
        }
        let mut decoder = Decoder::default();
        let mut read = Vec::new();
        for bytes in line.chunks(piece) {
            read.extend(decode(&mut decoder, bytes));
        }
        let sent: Vec<_> = packets.into_iter().filter(|packet| !packet.is_empty()).collect();
        prop_assert_eq!(read, sent);
    }

    #[test]
    fn arbitrary_bytes_in_any_pieces_read_the_same(
        line in bytes(200),
        piece in 1usize..20,
        len_max in 0usize..40,
    ) {
        let mut whole = Decoder::new(len_max);
        let mut pieces = Decoder::new(len_max);
        let expected = decode(&mut whole, &line);
        let mut read = Vec::new();
        for bytes in line.chunks(piece) {
            read.extend(decode(&mut pieces, bytes));
        }
        prop_assert!(expected.iter().all(|packet| (1..=len_max).contains(&packet.len())));
        prop_assert_eq!(read, expected);
        prop_assert_eq!(pieces.counters(), whole.counters());
        decode(&mut pieces, &[END]);
        prop_assert_eq!(decode(&mut pieces, &[END, 1, END]).len(), usize::from(len_max > 0));
    }
}
