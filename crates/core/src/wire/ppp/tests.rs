use super::control::*;
use super::*;
use crate::wire::Error;
use proptest::prelude::*;
use std::net::Ipv4Addr;

const SHORT: Agreed = Agreed { accm: 0, address: Field::Compressed, protocol: Field::Compressed };

fn encoded(protocol: Protocol, information: &[u8], agreed: Agreed) -> Vec<u8> {
    let mut out = Vec::new();
    encode(protocol, information, agreed, Line::Idle, &mut out);
    out
}

fn decode(decoder: &mut Decoder, bytes: &[u8]) -> Vec<(Protocol, Vec<u8>)> {
    let mut frames = Vec::new();
    decoder.feed(bytes, |protocol, information| frames.push((protocol, information.to_vec())));
    frames
}

fn with_fcs(body: &[u8]) -> Vec<u8> {
    let mut fcs = Fcs::new();
    fcs.add(body);
    [body, &fcs.finish()].concat()
}

/// A frame whose bytes need no escape, as it stands between two flags.
fn raw(body: &[u8]) -> Vec<u8> {
    [&[FLAG][..], &with_fcs(body), &[FLAG]].concat()
}

/// Bytes among which flags, escapes and control characters are frequent.
fn bytes(len_max: usize) -> impl Strategy<Value = Vec<u8>> {
    let special = prop_oneof![Just(FLAG), Just(ESCAPE), 0u8..0x21, Just(FLAG ^ FLIP), Just(0xff)];
    prop::collection::vec(prop_oneof![any::<u8>(), special], 0..len_max)
}

fn agreed() -> impl Strategy<Value = Agreed> {
    let field = || prop_oneof![Just(Field::Full), Just(Field::Compressed)];
    let accm = prop_oneof![Just(0), Just(u32::MAX), any::<u32>()];
    (accm, field(), field()).prop_map(|(accm, address, protocol)| Agreed {
        accm,
        address,
        protocol,
    })
}

fn protocol() -> impl Strategy<Value = Protocol> {
    prop::sample::select(vec![
        Protocol::IPV4,
        Protocol::VJ_COMPRESSED,
        Protocol::VJ_UNCOMPRESSED,
        Protocol::IPV6,
        Protocol::IPCP,
        Protocol::LCP,
    ])
}

#[test]
fn the_check_sequence_is_that_of_x25() {
    let mut fcs = Fcs::new();
    fcs.add(b"123456789");
    assert_eq!(fcs.finish(), 0x906e_u16.to_le_bytes());
    assert!(Fcs::verifies(&with_fcs(b"123456789")));
    assert!(!Fcs::verifies(&with_fcs(b"123456789")[1..]));
}

#[test]
fn an_lcp_frame_keeps_to_the_default() {
    // RFC 1662's own example of a Configure-Request's first bytes: flag, FF, 7D 23, C0 21.
    for agreed in [Agreed::DEFAULT, SHORT] {
        let line = encoded(Protocol::LCP, &[1, 1, 0, 4], agreed);
        let expected = [FLAG, 0xff, ESCAPE, 0x23, 0xc0, 0x21, ESCAPE, 0x21, ESCAPE, 0x21];
        assert_eq!(line[..expected.len()], expected);
        assert_eq!(line[expected.len()..][..3], [ESCAPE, 0x20, ESCAPE]);
    }
}

#[test]
fn fields_are_left_out_as_agreed() {
    let sizes = |protocol, information: &[u8]| encoded(protocol, information, SHORT).len();
    assert_eq!(sizes(Protocol::IPV4, &[0x45; 40]), 2 + 1 + 40 + 2);
    assert_eq!(sizes(Protocol::IPCP, &[0x45; 40]), 2 + 2 + 40 + 2);
    let mut two = Vec::new();
    encode(Protocol::IPV4, &[0x45; 40], SHORT, Line::Idle, &mut two);
    encode(Protocol::IPV4, &[0x46; 40], SHORT, Line::Busy, &mut two);
    assert_eq!(two.iter().filter(|byte| **byte == FLAG).count(), 3);
    assert_eq!(decode(&mut Decoder::default(), &two).len(), 2);
}

#[test]
fn what_is_no_frame_is_counted_and_the_next_one_arrives() {
    let mut decoder = Decoder::new(8, 0);
    let good = encoded(Protocol::IPV4, b"12345678", SHORT);
    let line = [
        &raw(b"!")[..],
        &[FLAG, 0x21, b'x', ESCAPE, FLAG],
        &[FLAG, 0x21, b'x', b'y', b'z', FLAG],
        &raw(b"\x21123456789"),
        &raw(&[b'!'; 99]),
        &raw(b"\x40\x42\x44"),
        &good,
    ]
    .concat();
    assert_eq!(decode(&mut decoder, &line), [(Protocol::IPV4, b"12345678".to_vec())]);
    let counters = Counters {
        frames: 1,
        too_long: 2,
        aborted: 1,
        too_short: 1,
        damaged: 1,
        malformed: 1,
        removed: 0,
    };
    assert_eq!(decoder.counters(), counters);
}

#[test]
fn control_characters_the_line_put_in_are_taken_out() {
    let agreed = Agreed { accm: 1 << 0x11 | 1 << 0x13, ..SHORT };
    let line = encoded(Protocol::IPV4, &[0x11, 0x45, 0x13, 0x45], agreed);
    let noisy: Vec<u8> = line.iter().flat_map(|byte| [0x13, *byte]).collect();
    let mut decoder = Decoder::new(MRU, agreed.accm);
    assert_eq!(decode(&mut decoder, &noisy), [(Protocol::IPV4, vec![0x11, 0x45, 0x13, 0x45])]);
    assert_eq!(decoder.counters().removed, line.len() as u64);
    decoder.set_accm(0);
    assert!(decode(&mut decoder, &noisy).is_empty());
}

#[test]
fn options_stand_as_the_rfc_draws_them() {
    let mut data = Vec::new();
    let options = [
        LcpOption::Mru(1524),
        LcpOption::Accm(0x000a_0000),
        LcpOption::Magic(0x1234_5678),
        LcpOption::ProtocolCompression,
        LcpOption::AddressCompression,
        LcpOption::Other(RawOption { kind: 13, data: &[6] }),
    ];
    options.iter().for_each(|option| option.emit(&mut data).unwrap());
    let expected =
        [1, 4, 0x05, 0xf4, 2, 6, 0, 0x0a, 0, 0, 5, 6, 0x12, 0x34, 0x56, 0x78, 7, 2, 8, 2, 13, 3, 6];
    assert_eq!(data, expected);
    let read: Vec<_> =
        Options::new(&data).map(|option| LcpOption::parse(option.unwrap()).unwrap()).collect();
    assert_eq!(read, options);

    let mut data = Vec::new();
    let options = [
        IpcpOption::VanJacobson { slot_max: 15, slots: SlotCompression::Allowed },
        IpcpOption::Address(Ipv4Addr::new(192, 0, 2, 7)),
        IpcpOption::Other(RawOption { kind: 129, data: &[192, 0, 2, 1] }),
    ];
    options.iter().for_each(|option| option.emit(&mut data).unwrap());
    let expected = [2, 6, 0, 0x2d, 15, 1, 3, 6, 192, 0, 2, 7, 129, 6, 192, 0, 2, 1];
    assert_eq!(data, expected);
    let read: Vec<_> =
        Options::new(&data).map(|option| IpcpOption::parse(option.unwrap()).unwrap()).collect();
    assert_eq!(read, options);
}

#[test]
fn a_wrong_length_is_an_error_and_the_last_word() {
    let read = |data: &'static [u8]| Options::new(data).collect::<Vec<_>>();
    assert_eq!(read(&[7, 2, 1, 1, 7, 2]).last(), Some(&Err(Error::Malformed)));
    assert_eq!(read(&[7, 2, 1, 9, 7, 2]).last(), Some(&Err(Error::Truncated)));
    assert_eq!(read(&[7, 2, 1]).last(), Some(&Err(Error::Truncated)));
    let short = RawOption { kind: 1, data: &[5] };
    assert_eq!(LcpOption::parse(short), Err(Error::Malformed));
    let short = RawOption { kind: 2, data: &[0, 0x2d, 15] };
    assert_eq!(IpcpOption::parse(short), Err(Error::Malformed));
    let long = RawOption { kind: 1, data: &[0; 254] };
    assert_eq!(long.emit(&mut Vec::new()), Err(Error::Malformed));
}

#[test]
fn a_control_packet_ends_where_its_length_says() {
    let packet = Packet { code: Code::ECHO_REQUEST, identifier: 9, data: &[1, 2] };
    let mut bytes = Vec::new();
    packet.emit(&mut bytes).unwrap();
    assert_eq!(bytes, [9, 9, 0, 6, 1, 2]);
    bytes.push(99);
    assert_eq!(Packet::parse(&bytes), Ok(packet));
    assert_eq!(Packet::parse(&bytes[..5]), Err(Error::Truncated));
    assert_eq!(Packet::parse(&[1, 1, 0, 3]), Err(Error::Malformed));
}

proptest! {
    #[test]
    fn round_trip_in_any_pieces(
        frames in prop::collection::vec((protocol(), bytes(60)), 0..6),
        agreed in agreed(),
        piece in 1usize..20,
    ) {
        let mut line = Vec::new();
        let mut before = Line::Idle;
        for (protocol, information) in &frames {
            encode(*protocol, information, agreed, before, &mut line);
            before = Line::Busy;
        }
        prop_assert!(line.iter().all(|byte| *byte >= 0x20 || agreed.accm >> byte & 1 == 0));
        let mut decoder = Decoder::new(60, agreed.accm);
        let mut read = Vec::new();
        for bytes in line.chunks(piece) {
            read.extend(decode(&mut decoder, bytes));
        }
        // One byte of protocol and nothing else is too short for a frame.
        let is_whole = |(protocol, information): &(Protocol, Vec<u8>)| {
            agreed.header(*protocol).1 + information.len() >= 2
        };
        let sent: Vec<_> = frames.into_iter().filter(is_whole).collect();
        prop_assert_eq!(read, sent);
    }

    #[test]
    fn arbitrary_bytes_in_any_pieces_read_the_same(
        line in bytes(200),
        piece in 1usize..20,
        mru in 0usize..40,
        accm: u32,
    ) {
        let mut whole = Decoder::new(mru, accm);
        let mut pieces = Decoder::new(mru, accm);
        let expected = decode(&mut whole, &line);
        let mut read = Vec::new();
        for bytes in line.chunks(piece) {
            read.extend(decode(&mut pieces, bytes));
        }
        prop_assert!(expected.iter().all(|(_, information)| information.len() <= mru));
        prop_assert_eq!(read, expected);
        prop_assert_eq!(pieces.counters(), whole.counters());
    }

    #[test]
    fn one_damaged_bit_never_passes(
        information in bytes(40),
        bit in 0usize..8,
        place in any::<prop::sample::Index>(),
    ) {
        let mut line = encoded(Protocol::IPV4, &information, Agreed::DEFAULT);
        let at = 1 + place.index(line.len() - 2);
        line[at] ^= 1 << bit;
        for (_, read) in decode(&mut Decoder::default(), &line) {
            prop_assert!(read != information || line[at] < 0x20);
        }
    }
}
