use super::*;
use etherparse::{IpNumber, Ipv6FlowLabel, Ipv6Header, Ipv6HeaderSlice};
use proptest::prelude::*;

fn repr() -> impl Strategy<Value = Repr> {
    // Protocols that are no extension headers, known and unknown ones.
    let next = prop::sample::select(&[6u8, 17, 58, 59, 50, 99, 253][..]);
    (
        (any::<u128>(), any::<u128>(), next, 0u8..64, 0u8..4),
        (0u32..1 << 20, any::<u8>(), any::<u16>()),
    )
        .prop_map(
            |((src, dst, next_header, dscp, ecn), (flow_label, hop_limit, payload_len))| Repr {
                src: Ipv6Addr::from_bits(src),
                dst: Ipv6Addr::from_bits(dst),
                next_header: Protocol(next_header),
                dscp,
                ecn: Ecn::from_bits(ecn),
                flow_label,
                hop_limit,
                payload_len,
            },
        )
}

/// A packet whose fixed header announces `next` and whose payload is `payload`.
fn packet(next: u8, payload: &[u8]) -> Vec<u8> {
    let repr = Repr {
        src: Ipv6Addr::LOCALHOST,
        dst: Ipv6Addr::UNSPECIFIED,
        next_header: Protocol(next),
        dscp: 0,
        ecn: Ecn::Ect0,
        flow_label: 0,
        hop_limit: 64,
        payload_len: payload.len() as u16,
    };
    let mut bytes = vec![0; HEADER_LEN];
    repr.emit(&mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

/// Protocol, number of bytes and whether it is a fragment.
fn upper(next: u8, payload: &[u8]) -> Result<(u8, usize, bool), Error> {
    let bytes = packet(next, payload);
    let upper = Packet::new_checked(&bytes, 0)?.upper()?;
    Ok((upper.protocol.0, upper.bytes.len(), upper.fragment))
}

#[test]
fn padding_is_cut_elided_bytes_first() {
    let mut bytes = packet(17, &[1; 8]);
    let whole = Packet::new_checked(&bytes, 100).unwrap();
    assert_eq!((whole.payload().len(), whole.payload_elided(), whole.total_len()), (8, 0, 48));
    bytes.extend_from_slice(&[0xaa; 18]);
    assert_eq!(Packet::new_checked(&bytes, 0).unwrap().payload(), [1; 8]);
    let cut = Packet::new_checked(&bytes[..43], 9).unwrap();
    assert_eq!((cut.payload().len(), cut.payload_elided(), cut.total_len()), (3, 5, 48));
    assert_eq!(Packet::new_checked(&bytes[..43], 4), Err(Error::Truncated));
    assert_eq!(Packet::new_checked(&bytes[..39], 99), Err(Error::Truncated));
    bytes[0] = 0x40;
    assert_eq!(Packet::new_checked(&bytes, 0), Err(Error::Malformed));
}

#[test]
fn extension_headers_are_walked_to_what_they_hide() {
    assert_eq!(upper(17, &[0; 8]), Ok((17, 8, false)));
    // Hop-by-hop, then destination options of 16 bytes, then TCP.
    let options = [&[60, 0, 1, 4, 0, 0, 0, 0][..], &[6, 1], &[0; 14], &[7; 20]].concat();
    assert_eq!(upper(0, &options), Ok((6, 20, false)));
    // An authentication header counts in other units.
    let authenticated = [&[17, 4][..], &[0; 22], &[7; 8]].concat();
    assert_eq!(upper(51, &authenticated), Ok((17, 8, false)));
    // The first fragment goes on, a later one does not, one alone is none.
    let fragment = |offset_and_flag: u16| {
        let [high, low] = offset_and_flag.to_be_bytes();
        upper(44, &[&[17, 0, high, low, 0, 0, 0, 9][..], &[7; 8]].concat())
    };
    assert_eq!(fragment(0), Ok((17, 8, false)));
    assert_eq!(fragment(1), Ok((17, 8, true)));
    assert_eq!(fragment(185 << 3), Ok((17, 8, true)));
}

#[test]
fn extension_headers_that_contradict_themselves_are_refused() {
    let late_hop_by_hop = [&[0, 0, 1, 4, 0, 0, 0, 0][..], &[6, 0, 1, 4, 0, 0, 0, 0]].concat();
    assert_eq!(upper(60, &late_hop_by_hop), Err(Error::Malformed));
    assert_eq!(upper(60, &[6, 1, 0, 0, 0, 0, 0, 0]), Err(Error::Truncated));
    assert_eq!(upper(43, &[6]), Err(Error::Truncated));
    assert_eq!(upper(44, &[6, 0, 0, 0]), Err(Error::Truncated));
}

fn theirs(repr: &Repr) -> Ipv6Header {
    Ipv6Header {
        traffic_class: repr.dscp << 2 | repr.ecn as u8,
        flow_label: Ipv6FlowLabel::try_new(repr.flow_label).unwrap(),
        payload_length: repr.payload_len,
        next_header: IpNumber(repr.next_header.0),
        hop_limit: repr.hop_limit,
        source: repr.src.octets(),
        destination: repr.dst.octets(),
    }
}

proptest! {
    #[test]
    fn round_trip(repr in repr()) {
        let mut bytes = [0xa5; HEADER_LEN];
        repr.emit(&mut bytes);
        let packet = Packet::new_checked(&bytes, u32::from(repr.payload_len)).unwrap();
        prop_assert_eq!(Repr::parse(&packet), Ok(repr));
        prop_assert_eq!((packet.src(), packet.dst()), (repr.src, repr.dst));
        prop_assert_eq!((packet.next_header(), packet.ecn()), (repr.next_header, repr.ecn));
        prop_assert_eq!(packet.total_len(), HEADER_LEN + usize::from(repr.payload_len));
    }

    #[test]
    fn etherparse_reads_and_writes_the_same(repr in repr()) {
        let mut bytes = [0xa5; HEADER_LEN];
        repr.emit(&mut bytes);
        prop_assert_eq!(theirs(&repr).to_bytes(), bytes);
        prop_assert_eq!(Ipv6HeaderSlice::from_slice(&bytes).unwrap().to_header(), theirs(&repr));
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        mut bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0), Just(60), Just(44)], 0..120),
        elided: u32,
        plausible: bool,
    ) {
        if plausible && bytes.len() > 6 {
            bytes[0] = 0x60;
            bytes[4] = 0;
        }
        if let Ok(packet) = Packet::new_checked(&bytes, elided) {
            let len = packet.payload().len() + packet.payload_elided() as usize;
            prop_assert_eq!(HEADER_LEN + len, packet.total_len());
            let _ = Repr::parse(&packet);
        }
    }
}
