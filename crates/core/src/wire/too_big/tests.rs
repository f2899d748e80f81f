use super::*;
use etherparse::{Icmpv4Header, Icmpv4Type, Icmpv6Header, Icmpv6Type, icmpv4};
use proptest::prelude::*;

const V4: Addresses =
    Addresses::V4 { src: Ipv4Addr::new(10, 0, 0, 1), dst: Ipv4Addr::new(10, 0, 0, 2) };

fn v6() -> Addresses {
    let [src, dst] = [1, 2].map(|n| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, n));
    Addresses::V6 { src, dst }
}

const PORTS_AND_SEQ: [u8; 8] = [0x13, 0x88, 0, 80, 1, 2, 3, 4];

fn message_v4(mtu: u16) -> Vec<u8> {
    let mut quoted = vec![0; ipv4::HEADER_LEN];
    quoted[0] = 0x45;
    quoted[9] = 6;
    quoted[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    quoted.extend_from_slice(&PORTS_AND_SEQ);
    let header = icmpv4::DestUnreachableHeader::FragmentationNeeded { next_hop_mtu: mtu };
    let header = Icmpv4Header::with_checksum(Icmpv4Type::DestinationUnreachable(header), &quoted);
    [&header.to_bytes()[..], &quoted].concat()
}

fn message_v6(mtu: u32) -> Vec<u8> {
    let Addresses::V6 { src, dst } = v6() else { unreachable!() };
    let mut quoted = vec![0; ipv6::HEADER_LEN];
    quoted[0] = 0x60;
    quoted[6] = 6;
    quoted[8..24].copy_from_slice(&src.octets());
    quoted[24..].copy_from_slice(&dst.octets());
    quoted.extend_from_slice(&PORTS_AND_SEQ);
    let kind = Icmpv6Type::PacketTooBig { mtu };
    let header = Icmpv6Header::with_checksum(kind, src.octets(), dst.octets(), &quoted).unwrap();
    [&header.to_bytes()[..], &quoted].concat()
}

#[test]
fn what_a_router_says_is_read() {
    let told = |addresses, mtu| TooBig {
        mtu,
        addresses,
        src_port: 5000,
        dst_port: 80,
        seq: SeqNumber(0x0102_0304),
    };
    let v4 = message_v4(1400);
    assert!(is_one(&V4, &v4) && !is_one(&v6(), &v4));
    assert_eq!(parse(&V4, &v4, 0, Integrity::Intact), Ok(told(V4, 1400)));
    let longer = message_v6(70_000);
    assert!(is_one(&v6(), &longer) && !is_one(&V4, &longer));
    assert_eq!(parse(&v6(), &longer, 0, Integrity::Intact), Ok(told(v6(), 70_000)));
}

#[test]
fn damage_and_other_quotes_are_refused() {
    for (addresses, good, protocol_at) in [(V4, message_v4(1400), 17), (v6(), message_v6(1400), 14)]
    {
        let read = |bytes: &[u8], integrity| parse(&addresses, bytes, 0, integrity);
        assert_eq!(read(&good, Integrity::Corrupt), Err(Error::Checksum));
        let mut bad = good.clone();
        bad[4] ^= 1;
        assert_eq!(read(&bad, Integrity::Intact), Err(Error::Checksum));
        bad = good.clone();
        bad[protocol_at] = 17;
        assert_eq!(read(&bad, Integrity::Offloaded), Err(Error::Malformed));
        bad = good.clone();
        bad[1] ^= 1;
        assert_eq!(read(&bad, Integrity::Offloaded), Err(Error::Malformed));
        for len in 0..good.len() {
            assert_eq!(read(&good[..len], Integrity::Offloaded), Err(Error::Truncated), "{len}");
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..90),
        elided: u32,
    ) {
        for addresses in [V4, v6()] {
            let _ = parse(&addresses, &bytes, elided, Integrity::Intact);
            let _ = parse(&addresses, &bytes, elided, Integrity::Offloaded);
        }
    }
}
