use super::*;
use crate::wire::checksum::ones_complement_sum;
use etherparse::{Ipv4Header, Ipv4HeaderSlice};
use proptest::prelude::*;

fn repr() -> impl Strategy<Value = Repr> {
    (
        (any::<u32>(), any::<u32>(), any::<u8>(), 0u8..64, 0u8..4),
        (any::<u16>(), any::<bool>(), any::<u8>(), 0..=PAYLOAD_LEN_MAX),
    )
        .prop_map(|((src, dst, protocol, dscp, ecn), (ident, df, ttl, payload_len))| Repr {
            src: Ipv4Addr::from_bits(src),
            dst: Ipv4Addr::from_bits(dst),
            protocol: Protocol(protocol),
            dscp,
            ecn: Ecn::from_bits(ecn),
            ident,
            dont_fragment: df,
            ttl,
            payload_len,
        })
}

fn sample() -> [u8; 28] {
    let mut bytes = [0u8; 28];
    let repr = Repr {
        src: Ipv4Addr::new(10, 0, 0, 1),
        dst: Ipv4Addr::new(10, 0, 0, 2),
        protocol: Protocol::UDP,
        dscp: 0,
        ecn: Ecn::Ect0,
        ident: 7,
        dont_fragment: true,
        ttl: 64,
        payload_len: 8,
    };
    repr.emit(&mut bytes);
    bytes
}

#[test]
fn padding_is_cut_elided_bytes_first() {
    let mut bytes = sample().to_vec();
    let whole = Packet::new_checked(&bytes, 100).unwrap();
    assert_eq!((whole.payload().len(), whole.payload_elided()), (8, 0));
    bytes.extend_from_slice(&[0xaa; 18]);
    let padded = Packet::new_checked(&bytes, 0).unwrap();
    assert_eq!((padded.payload().len(), padded.payload_elided()), (8, 0));
    let cut = Packet::new_checked(&bytes[..23], 9).unwrap();
    assert_eq!((cut.payload().len(), cut.payload_elided()), (3, 5));
    assert_eq!(Packet::new_checked(&bytes[..23], 4), Err(Error::Truncated));
    assert_eq!(Packet::new_checked(&bytes[..19], 99), Err(Error::Truncated));
}

#[test]
fn contradictions_are_malformed() {
    let with = |at: usize, value: u8| {
        let mut bytes = sample();
        bytes[at] = value;
        Packet::new_checked(&bytes, 0).map(|_| ())
    };
    assert_eq!(with(0, 0x65), Err(Error::Malformed));
    assert_eq!(with(0, 0x44), Err(Error::Malformed));
    assert_eq!(with(0, 0x4f), Err(Error::Malformed));
    assert_eq!(with(3, 19), Err(Error::Malformed));
    assert_eq!(with(3, 29), Err(Error::Truncated));
}

#[test]
fn fragments_and_damage_are_refused() {
    for (at, bits) in [(6, 0x20u8), (6, 0x10), (7, 0x01)] {
        let mut bytes = sample();
        bytes[at] |= bits;
        let damaged = Packet::new_checked(&bytes, 0).unwrap();
        assert_eq!(Repr::parse(&damaged), Err(Error::Checksum));
        bytes[10..12].fill(0);
        let checksum = !ones_complement_sum(&bytes[..HEADER_LEN]);
        bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
        let fragment = Packet::new_checked(&bytes, 0).unwrap();
        assert_eq!(Repr::parse(&fragment), Err(Error::Malformed));
    }
}

proptest! {
    #[test]
    fn round_trip(repr in repr()) {
        let mut bytes = [0xa5; HEADER_LEN + 3];
        repr.emit(&mut bytes);
        prop_assert_eq!(&bytes[HEADER_LEN..], [0xa5; 3]);
        let packet = Packet::new_checked(&bytes[..HEADER_LEN], repr.payload_len.into()).unwrap();
        prop_assert_eq!(packet.payload_elided(), u32::from(repr.payload_len));
        prop_assert_eq!(Repr::parse(&packet), Ok(repr));
    }

    #[test]
    fn etherparse_reads_and_writes_the_same(repr in repr(), words in 0usize..=10) {
        let mut bytes = [0u8; HEADER_LEN];
        repr.emit(&mut bytes);
        let theirs = Ipv4HeaderSlice::from_slice(&bytes).unwrap();
        prop_assert_eq!(theirs.source_addr(), repr.src);
        prop_assert_eq!(theirs.destination_addr(), repr.dst);
        prop_assert_eq!(theirs.protocol().0, repr.protocol.0);
        prop_assert_eq!(theirs.dcp().value(), repr.dscp);
        prop_assert_eq!(theirs.ecn().value(), repr.ecn as u8);
        prop_assert_eq!(theirs.identification(), repr.ident);
        prop_assert_eq!(theirs.dont_fragment(), repr.dont_fragment);
        prop_assert_eq!(theirs.ttl(), repr.ttl);
        prop_assert_eq!(usize::from(theirs.total_len()), HEADER_LEN + usize::from(repr.payload_len));
        let mut header: Ipv4Header = theirs.to_header();
        prop_assert_eq!(header.calc_header_checksum(), theirs.header_checksum());

        let options = vec![1u8; words * 4];
        header.options = options.as_slice().try_into().unwrap();
        let total = (HEADER_LEN + options.len() + usize::from(repr.payload_len)).min(0xffff);
        header.total_len = total as u16;
        header.header_checksum = header.calc_header_checksum();
        let bytes = header.to_bytes();
        let packet = Packet::new_checked(&bytes, 0xffff).unwrap();
        prop_assert_eq!(packet.header_len(), HEADER_LEN + options.len());
        let payload_len = (total - packet.header_len()) as u16;
        prop_assert_eq!(Repr::parse(&packet), Ok(Repr { payload_len, ..repr }));
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..80),
        elided in prop_oneof![Just(0u32), Just(u32::MAX), any::<u32>()],
        plausible: bool,
    ) {
        if plausible && bytes.len() > 3 {
            bytes[0] = 0x40 | bytes[0] & 0x0f;
            bytes[2] = 0;
        }
        if let Ok(packet) = Packet::new_checked(&bytes, elided) {
            let len = packet.header_len() + packet.payload().len() + packet.payload_elided() as usize;
            prop_assert_eq!(len, usize::from(packet.total_len()));
            let _ = Repr::parse(&packet);
        }
    }
}

proptest! {
    #[test]
    fn fragments_are_read_as_they_were_emitted(
        repr in repr(),
        offset in 0..0x2000u16,
        more in any::<bool>(),
        bytes in 0..200u16,
    ) {
        let part = Fragment { offset: offset * 8, more };
        let payload_len = if more { bytes / 8 * 8 } else { bytes };
        let repr = Repr { payload_len, ..repr };
        let mut header = [0; HEADER_LEN];
        repr.emit_fragment(part, &mut header);
        let packet = Packet::new_checked(&header, u32::from(payload_len)).expect("a whole header");
        let fits = u32::from(part.offset) + u32::from(payload_len) <= u32::from(PAYLOAD_LEN_MAX);
        let expected = if fits { Ok((repr, part)) } else { Err(Error::Malformed) };
        prop_assert_eq!(Repr::parse_fragment(&packet), expected);
        let peer = Ipv4HeaderSlice::from_slice(&header).expect("a whole header");
        prop_assert_eq!(peer.fragments_offset().byte_offset(), part.offset);
        prop_assert_eq!(peer.more_fragments(), more);
    }

    #[test]
    fn a_hop_taken_off_is_like_a_header_written_anew(repr in repr()) {
        let mut header = [0; HEADER_LEN];
        repr.emit(&mut header);
        let before = header;
        let left = take_hop(&mut header);
        if repr.ttl < 2 {
            prop_assert_eq!((left, header), (None, before));
        } else {
            let mut anew = [0; HEADER_LEN];
            Repr { ttl: repr.ttl - 1, ..repr }.emit(&mut anew);
            prop_assert_eq!(left, Some(repr.ttl - 1));
            prop_assert_eq!(&header[..10], &anew[..10]);
            // The two ways to write zero, and nothing else, may differ.
            let sums = [&header, &anew].map(|h| u16::from_be_bytes([h[10], h[11]]));
            prop_assert_eq!(sums[0] % 0xffff, sums[1] % 0xffff);
        }
    }
}

#[test]
fn a_middle_fragment_of_an_odd_length_is_malformed() {
    let mut bytes = sample();
    let (repr, _) = Repr::parse_fragment(&Packet::new_checked(&bytes, 0).unwrap()).unwrap();
    for (payload_len, more, sound) in [(8, true, true), (7, true, false), (7, false, true)] {
        Repr { payload_len, ..repr }.emit_fragment(Fragment { offset: 8, more }, &mut bytes);
        let packet = Packet::new_checked(&bytes, 0).unwrap();
        assert_eq!(Repr::parse_fragment(&packet).is_ok(), sound);
    }
    assert_eq!(take_hop(&mut bytes[..19]), None);
}
