use super::*;
use crate::wire::checksum::ones_complement_sum;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};

fn v4(protocol: u8, ecn: Ecn, payload: &[u8]) -> Vec<u8> {
    let repr = ipv4::Repr {
        src: Ipv4Addr::new(10, 0, 0, 1),
        dst: Ipv4Addr::new(10, 0, 0, 2),
        protocol: Protocol(protocol),
        dscp: 46,
        ecn,
        ident: 7,
        dont_fragment: true,
        ttl: 64,
        payload_len: payload.len() as u16,
    };
    let mut bytes = vec![0; ipv4::HEADER_LEN];
    repr.emit(&mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

fn v6(protocol: u8, ecn: Ecn, payload: &[u8]) -> Vec<u8> {
    let repr = ipv6::Repr {
        src: Ipv6Addr::LOCALHOST,
        dst: Ipv6Addr::from_bits(99),
        next_header: Protocol(protocol),
        dscp: 46,
        ecn,
        flow_label: 0xabcde,
        hop_limit: 64,
        payload_len: payload.len() as u16,
    };
    let mut bytes = vec![0; ipv6::HEADER_LEN];
    repr.emit(&mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

type Build = fn(u8, Ecn, &[u8]) -> Vec<u8>;

#[test]
fn a_flow_is_told_by_its_ports_and_by_nothing_behind_them() {
    for build in [v4 as Build, v6] {
        for protocol in [6, 17] {
            let hash = |payload: &[u8]| flow_hash(&build(protocol, Ecn::NotEct, payload));
            let one = hash(&[1, 2, 3, 4, 5, 6, 7, 8]);
            assert_eq!(one, hash(&[1, 2, 3, 4, 9, 9, 9, 9, 9]));
            assert_ne!(one, hash(&[1, 2, 3, 5, 5, 6, 7, 8]));
            assert_ne!(one, hash(&[2, 2, 3, 4, 5, 6, 7, 8]));
        }
        assert_ne!(
            flow_hash(&build(6, Ecn::NotEct, &[1, 2, 3, 4])),
            flow_hash(&build(17, Ecn::NotEct, &[1, 2, 3, 4]))
        );
        assert_eq!(
            flow_hash(&build(6, Ecn::NotEct, &[1, 2, 3, 4])),
            flow_hash(&build(6, Ecn::Ce, &[1, 2, 3, 4]))
        );
        // A protocol without ports is one flow between two addresses.
        assert_eq!(
            flow_hash(&build(47, Ecn::NotEct, &[1, 2, 3, 4])),
            flow_hash(&build(47, Ecn::NotEct, &[4, 3, 2, 1]))
        );
    }
}

#[test]
fn echoes_are_told_by_their_identifier() {
    for (build, protocol, request, unreachable) in [(v4 as Build, 1u8, 8u8, 3u8), (v6, 58, 128, 1)]
    {
        let hash = |kind: u8, ident: u8, seq: u8| {
            flow_hash(&build(protocol, Ecn::NotEct, &[kind, 0, seq, seq, 0, ident, 0, seq]))
        };
        assert_eq!(hash(request, 1, 1), hash(request, 1, 2));
        assert_ne!(hash(request, 1, 1), hash(request, 2, 1));
        assert_eq!(hash(unreachable, 1, 1), hash(unreachable, 2, 1));
    }
}

#[test]
fn all_fragments_are_of_one_flow() {
    let whole = v4(17, Ecn::NotEct, &[1, 2, 3, 4, 0, 0, 0, 0]);
    let mut first = whole.clone();
    first[6] = 0x20;
    let mut later = v4(17, Ecn::NotEct, &[5, 6, 7, 8]);
    later[7] = 1;
    assert_eq!(flow_hash(&first), flow_hash(&later));
    assert_ne!(flow_hash(&first), flow_hash(&whole));

    let part = |offset_and_flag: u8, payload: &[u8]| {
        let header = [17, 0, 0, offset_and_flag, 0, 0, 0, 9];
        v6(44, Ecn::NotEct, &[&header[..], payload].concat())
    };
    let first = flow_hash(&part(1, &[1, 2, 3, 4, 0, 0, 0, 0]));
    assert_eq!(first, flow_hash(&part(8, &[5, 6])));
    assert_ne!(first, flow_hash(&part(0, &[1, 2, 3, 4, 0, 0, 0, 0])));
}

#[test]
fn options_do_not_hide_the_ports() {
    let mut with_options = v4(6, Ecn::NotEct, &[1, 1, 1, 0, 1, 2, 3, 4]);
    with_options[0] = 0x46;
    let plain = v4(6, Ecn::NotEct, &[1, 2, 3, 4]);
    assert_eq!(flow_hash(&with_options), flow_hash(&plain));
    let extended = v6(60, Ecn::NotEct, &[6, 0, 1, 4, 0, 0, 0, 0, 1, 2, 3, 4]);
    assert_eq!(flow_hash(&extended), flow_hash(&v6(6, Ecn::NotEct, &[1, 2, 3, 4])));
}

#[test]
fn neighbouring_ports_spread_over_buckets() {
    let buckets: BTreeSet<u32> = (0..1000u16)
        .map(|port| {
            let [high, low] = port.to_be_bytes();
            flow_hash(&v4(6, Ecn::NotEct, &[200, high, low, 80])) % 1024
        })
        .collect();
    // A thousand balls in 1024 boxes fill 1024 (1 - 1/e) = 639 of them.
    assert!(buckets.len() > 590, "{} buckets", buckets.len());
}

#[test]
fn only_capable_packets_are_marked() {
    for build in [v4 as Build, v6] {
        for (ecn, marked) in [
            (Ecn::NotEct, Marked::NotCapable),
            (Ecn::Ect0, Marked::Marked),
            (Ecn::Ect1, Marked::Marked),
            (Ecn::Ce, Marked::Marked),
        ] {
            let mut bytes = build(6, ecn, &[1, 2, 3, 4]);
            assert_eq!(dscp_ecn(&bytes), Some((46, ecn)));
            assert_eq!(set_ce(&mut bytes), marked);
            let after = if ecn == Ecn::NotEct { Ecn::NotEct } else { Ecn::Ce };
            assert_eq!(bytes, build(6, after, &[1, 2, 3, 4]));
        }
    }
    assert_eq!(set_ce(&mut [0x45, 2, 0]), Marked::NotCapable);
    assert_eq!((dscp_ecn(&[]), dscp_ecn(&[0x12, 0xff])), (None, None));
    assert_eq!((flow_hash(&[]), flow_hash(&[0x12, 0xff])), (0, 0));
}

/// The table of RFC 6040, 4.2, row by row: inner not-ECT, ECT(1), ECT(0), CE under the same outside.
#[test]
fn what_happened_outside_is_repeated_inside() {
    use Ecn::{Ce, Ect0, Ect1, NotEct};
    let table = [
        (NotEct, [Some(NotEct), Some(NotEct), Some(NotEct), None]),
        (Ect1, [Some(Ect1), Some(Ect1), Some(Ect1), Some(Ce)]),
        (Ect0, [Some(Ect0), Some(Ect1), Some(Ect0), Some(Ce)]),
        (Ce, [Some(Ce); 4]),
    ];
    for build in [v4 as Build, v6] {
        for (inner, row) in table {
            for (outer, after) in [NotEct, Ect1, Ect0, Ce].into_iter().zip(row) {
                let mut bytes = build(6, inner, &[1, 2, 3, 4]);
                let verdict = decapsulate(&mut bytes, outer);
                let passes =
                    [Decapsulated::Unheard, Decapsulated::Passed][after.is_some() as usize];
                assert_eq!(verdict, passes, "{inner:?} in {outer:?}");
                assert_eq!(bytes, build(6, after.unwrap_or(inner), &[1, 2, 3, 4]));
            }
        }
    }
    assert_eq!(decapsulate(&mut [], Ce), Decapsulated::Passed);
    assert_eq!(decapsulate(&mut [0x45, 2, 0], Ce), Decapsulated::Passed);
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic_and_marking_changes_no_flow(
        mut bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(60)], 0..100),
        version in prop::sample::select(&[0x45u8, 0x46, 0x4f, 0x40, 0x60, 0x6f][..]),
        plausible: bool,
    ) {
        if plausible && !bytes.is_empty() {
            bytes[0] = version;
        }
        let hash = flow_hash(&bytes);
        let codepoint = dscp_ecn(&bytes).map(|(dscp, _)| dscp);
        set_ce(&mut bytes);
        prop_assert_eq!(flow_hash(&bytes), hash);
        prop_assert_eq!(dscp_ecn(&bytes).map(|(dscp, _)| dscp), codepoint);
    }

    #[test]
    fn a_marked_ipv4_header_verifies(ident: u16, ttl: u8, src: u32, dst: u32, ect in 1u8..3) {
        let repr = ipv4::Repr {
            src: Ipv4Addr::from_bits(src),
            dst: Ipv4Addr::from_bits(dst),
            protocol: Protocol::UDP,
            dscp: 0,
            ecn: Ecn::from_bits(ect),
            ident,
            dont_fragment: false,
            ttl,
            payload_len: 0,
        };
        let mut bytes = [0; ipv4::HEADER_LEN];
        repr.emit(&mut bytes);
        prop_assert_eq!(set_ce(&mut bytes), Marked::Marked);
        prop_assert_eq!(ones_complement_sum(&bytes), 0xffff);
    }
}
