use super::*;
use etherparse::{TcpHeader, TcpHeaderSlice, TcpOptionElement};
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

const SRC: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const DST: Ipv4Addr = Ipv4Addr::new(192, 168, 7, 9);

fn options() -> impl Strategy<Value = Options> {
    let edges = prop::collection::vec((any::<u32>(), any::<u32>()), 0..6);
    (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), edges, any::<Option<(u32, u32)>>())
        .prop_map(|(mss, window_scale, sack_permitted, edges, timestamps)| {
            let mut sack = SackBlocks::new();
            for (left, right) in edges {
                sack.push(SeqNumber(left), SeqNumber(right));
            }
            Options {
                mss,
                window_scale,
                sack_permitted,
                sack,
                timestamps: timestamps.map(|(value, echo)| Timestamps { value, echo }),
            }
        })
}

fn repr() -> impl Strategy<Value = Repr> {
    (any::<(u16, u16, u32, u32, u8, u16, u16)>(), prop_oneof![Just(Options::default()), options()])
        .prop_map(|((src_port, dst_port, seq, ack, flags, window, urgent), options)| Repr {
            src_port,
            dst_port,
            seq: SeqNumber(seq),
            ack: SeqNumber(ack),
            flags: Flags(flags),
            window,
            urgent,
            options,
        })
}

/// What is left of the options once the SACK blocks that do not fit are gone.
fn as_sent(repr: &Repr) -> Repr {
    let mut sent = *repr;
    let room = sack_room(&repr.options);
    sent.options.sack = SackBlocks::new();
    for (left, right) in repr.options.sack.iter().take(room) {
        sent.options.sack.push(left, right);
    }
    sent
}

fn sack_room(options: &Options) -> usize {
    let others = Options { sack: SackBlocks::new(), ..*options };
    (40 - others.len()).saturating_sub(4) / 8
}

fn emit(repr: &Repr, payload: &[u8], elided: u32) -> Vec<u8> {
    let mut bytes = vec![0xa5; repr.header_len()];
    repr.emit(&mut bytes, payload, elided, SRC, DST);
    bytes.extend_from_slice(payload);
    bytes
}

fn parse(bytes: &[u8], elided: u32, integrity: Integrity) -> Result<Repr, Error> {
    Repr::parse(&Packet::new_checked(bytes, elided)?, SRC, DST, integrity)
}

fn with_options(bytes: &[u8]) -> Result<Options, Error> {
    let mut segment = emit(&Repr::default(), &[], 0);
    segment.extend_from_slice(bytes);
    segment.resize(segment.len().next_multiple_of(4), 0);
    segment[12] = (segment.len() as u8 / 4) << 4;
    parse(&segment, 0, Integrity::Offloaded).map(|repr| repr.options)
}

#[test]
fn flags_are_readable() {
    assert_eq!(format!("{:?}", Flags::SYN | Flags::ACK), "SYN|ACK");
    assert_eq!(format!("{:?}", Flags::NONE), "-");
    assert!((Flags::FIN | Flags::ACK).contains(Flags::ACK));
    assert!(!Flags::FIN.contains(Flags::FIN | Flags::ACK));
    assert!(Flags::FIN.intersects(Flags::FIN | Flags::ACK));
}

#[test]
fn timestamps_take_twelve_bytes_in_the_usual_layout() {
    let repr = Repr {
        options: Options {
            timestamps: Some(Timestamps { value: 1, echo: 2 }),
            ..Options::default()
        },
        ..Repr::default()
    };
    let bytes = emit(&repr, &[], 0);
    assert_eq!(bytes[20..], [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
}

#[test]
fn excess_sack_blocks_are_left_out() {
    let mut options = Options::default();
    for n in 0..6 {
        options.sack.push(SeqNumber(n * 10), SeqNumber(n * 10 + 5));
    }
    assert_eq!(options.sack.len(), SACK_BLOCKS_MAX);
    assert_eq!(options.len(), 36);
    options.timestamps = Some(Timestamps { value: 1, echo: 2 });
    assert_eq!(options.len(), 40);
    let repr = Repr { options, ..Repr::default() };
    let read = parse(&emit(&repr, &[], 0), 0, Integrity::Intact).unwrap();
    assert_eq!(read.options.sack.len(), 3);
    assert!(read.options.sack.iter().eq(options.sack.iter().take(3)));
}

#[test]
fn strange_options() {
    let empty = Ok(Options::default());
    assert_eq!(with_options(&[]), empty);
    assert_eq!(with_options(&[1, 1, 1, 0]), empty);
    assert_eq!(with_options(&[0, 2, 4, 5]), empty);
    assert_eq!(with_options(&[254, 6, 1, 2, 3, 4]), empty);
    assert_eq!(with_options(&[30, 2, 3, 3, 77]).map(|o| o.window_scale), Ok(Some(77)));
    for malformed in [
        &[2u8, 0, 0, 0][..],
        &[2, 1, 0, 0],
        &[2, 3, 0, 0],
        &[254, 5, 0, 0],
        &[1, 1, 1, 8],
        &[5, 2, 1, 1],
        &[5, 6, 1, 1, 1, 1],
        &[1, 1, 8, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ] {
        assert_eq!(with_options(malformed), Err(Error::Malformed), "{malformed:?}");
    }
}

#[test]
fn lengths_are_checked() {
    let mut bytes = emit(&Repr::default(), b"abc", 0);
    assert_eq!(Packet::new_checked(&bytes[..19], 99), Err(Error::Truncated));
    bytes[12] = 0x40;
    assert_eq!(Packet::new_checked(&bytes, 0), Err(Error::Malformed));
    bytes[12] = 0x60;
    assert_eq!(Packet::new_checked(&bytes, 99), Err(Error::Truncated));
}

#[test]
fn integrity_decides_about_the_checksum() {
    let mut bytes = emit(&Repr::default(), b"abc", 5);
    assert!(parse(&bytes, 5, Integrity::Intact).is_ok());
    assert_eq!(parse(&bytes, 6, Integrity::Intact), Err(Error::Checksum));
    assert_eq!(parse(&bytes, 5, Integrity::Corrupt), Err(Error::Checksum));
    bytes[21] ^= 1;
    assert_eq!(parse(&bytes, 5, Integrity::Intact), Err(Error::Checksum));
    assert!(parse(&bytes, 5, Integrity::Offloaded).is_ok());
}

/// The options in the order they are sent, as the other implementation names them.
fn elements(options: &Options) -> Vec<TcpOptionElement> {
    let mut elements = Vec::new();
    if let Some(mss) = options.mss {
        elements.push(TcpOptionElement::MaximumSegmentSize(mss));
    }
    if options.sack_permitted {
        elements.push(TcpOptionElement::SelectiveAcknowledgementPermitted);
    }
    if let Some(Timestamps { value, echo }) = options.timestamps {
        elements.push(TcpOptionElement::Timestamp(value, echo));
    }
    if let Some(shift) = options.window_scale {
        elements.push(TcpOptionElement::WindowScale(shift));
    }
    let mut blocks = options.sack.iter().map(|(left, right)| (left.0, right.0));
    if let Some(first) = blocks.next() {
        let more = [blocks.next(), blocks.next(), blocks.next()];
        elements.push(TcpOptionElement::SelectiveAcknowledgement(first, more));
    }
    elements
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..64)
}

proptest! {
    #[test]
    fn round_trip(repr in repr(), payload in payload(), elided in 0u32..2000) {
        let bytes = emit(&repr, &payload, elided);
        prop_assert_eq!(repr.header_len() % 4, 0);
        prop_assert!(repr.header_len() <= HEADER_LEN_MAX);
        let packet = Packet::new_checked(&bytes, elided).unwrap();
        prop_assert_eq!(packet.header_len(), repr.header_len());
        prop_assert_eq!(packet.payload(), &payload[..]);
        prop_assert_eq!(packet.payload_len(), payload.len() + elided as usize);
        prop_assert_eq!((packet.src_port(), packet.dst_port()), (repr.src_port, repr.dst_port));
        let read = Repr::parse(&packet, SRC, DST, Integrity::Intact);
        prop_assert_eq!(read, Ok(as_sent(&repr)));
    }

    #[test]
    fn elided_zeros_equal_real_zeros(repr in repr(), payload in payload(), zeros in 0usize..300) {
        let elided = emit(&repr, &payload, zeros as u32);
        let real = emit(&repr, &[&payload[..], &vec![0; zeros]].concat(), 0);
        prop_assert_eq!(&real[..elided.len()], &elided[..]);
        prop_assert!(parse(&real, 0, Integrity::Intact).is_ok());
    }

    #[test]
    fn both_option_parsers_agree(value: u32, echo: u32) {
        let aligned = [&[1, 1, 8, 10][..], &value.to_be_bytes(), &echo.to_be_bytes()].concat();
        let shifted = [&[8, 10][..], &value.to_be_bytes(), &echo.to_be_bytes(), &[1, 1]].concat();
        prop_assert_eq!(with_options(&aligned), with_options(&shifted));
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..100),
        kind in 0u8..10,
        elided: u32,
    ) {
        if bytes.len() > 22 {
            bytes[20] = kind;
            bytes[21] &= 15;
        }
        for integrity in [Integrity::Intact, Integrity::Corrupt, Integrity::Offloaded] {
            let _ = parse(&bytes, elided, integrity);
        }
    }

    #[test]
    fn what_is_read_is_what_would_be_sent(bytes in prop::collection::vec(0u8..12, 20..60)) {
        if let Ok(read) = parse(&bytes, 0, Integrity::Offloaded) {
            prop_assert_eq!(parse(&emit(&read, &[], 0), 0, Integrity::Intact), Ok(as_sent(&read)));
        }
    }

    #[test]
    fn etherparse_reads_the_same(repr in repr(), payload in payload()) {
        let bytes = emit(&repr, &payload, 0);
        let theirs = TcpHeaderSlice::from_slice(&bytes).unwrap();
        prop_assert_eq!(theirs.source_port(), repr.src_port);
        prop_assert_eq!(theirs.destination_port(), repr.dst_port);
        prop_assert_eq!(theirs.sequence_number(), repr.seq.0);
        prop_assert_eq!(theirs.acknowledgment_number(), repr.ack.0);
        prop_assert_eq!(theirs.window_size(), repr.window);
        prop_assert_eq!(theirs.urgent_pointer(), repr.urgent);
        let flags = [
            theirs.fin(), theirs.syn(), theirs.rst(), theirs.psh(),
            theirs.ack(), theirs.urg(), theirs.ece(), theirs.cwr(),
        ];
        let flags = flags.iter().enumerate().fold(0, |bits, (n, &set)| bits | u8::from(set) << n);
        prop_assert_eq!(Flags(flags), repr.flags);
        prop_assert!(!theirs.ns());
        let checksum = theirs.calc_checksum_ipv4_raw(SRC.octets(), DST.octets(), &payload);
        prop_assert_eq!(checksum, Ok(theirs.checksum()));
        let options: Result<Vec<_>, _> = theirs
            .options_iterator()
            .filter(|option| *option != Ok(TcpOptionElement::Noop))
            .collect();
        prop_assert_eq!(options, Ok(elements(&as_sent(&repr).options)));
    }

    #[test]
    fn reads_what_etherparse_writes(
        (repr, order) in repr()
            .prop_map(|repr| as_sent(&repr))
            .prop_flat_map(|repr| (Just(repr), Just(elements(&repr.options)).prop_shuffle())),
        payload in payload(),
    ) {
        let bits = repr.flags;
        let mut theirs = TcpHeader {
            acknowledgment_number: repr.ack.0,
            fin: bits.contains(Flags::FIN),
            syn: bits.contains(Flags::SYN),
            rst: bits.contains(Flags::RST),
            psh: bits.contains(Flags::PSH),
            ack: bits.contains(Flags::ACK),
            urg: bits.contains(Flags::URG),
            ece: bits.contains(Flags::ECE),
            cwr: bits.contains(Flags::CWR),
            urgent_pointer: repr.urgent,
            ..TcpHeader::new(repr.src_port, repr.dst_port, repr.seq.0, repr.window)
        };
        theirs.set_options(&order).unwrap();
        theirs.checksum = theirs
            .calc_checksum_ipv4_raw(SRC.octets(), DST.octets(), &payload)
            .unwrap();
        let bytes = [&theirs.to_bytes()[..], &payload].concat();
        prop_assert_eq!(parse(&bytes, 0, Integrity::Intact), Ok(repr));
    }

    #[test]
    fn over_ipv6_the_checksum_covers_the_longer_addresses(
        repr in repr(),
        payload in payload(),
        zeros in 0usize..100,
    ) {
        let [src, dst] = [1, 2].map(|n| Ipv6Addr::new(0xfd00, 0, 0, 0xbeef, 0, 0, 0, n));
        let mut bytes = vec![0xa5; repr.header_len()];
        repr.emit(&mut bytes, &payload, zeros as u32, src, dst);
        bytes.extend_from_slice(&payload);
        let packet = Packet::new_checked(&bytes, zeros as u32).unwrap();
        let read = Repr::parse(&packet, src, dst, Integrity::Intact);
        prop_assert_eq!(read, Ok(as_sent(&repr)));
        bytes.resize(bytes.len() + zeros, 0);
        let theirs = TcpHeaderSlice::from_slice(&bytes).unwrap();
        let body = &bytes[repr.header_len()..];
        let checksum = theirs.calc_checksum_ipv6_raw(src.octets(), dst.octets(), body);
        prop_assert_eq!(checksum, Ok(theirs.checksum()));
    }
}
