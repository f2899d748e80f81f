use super::*;
use etherparse::{UdpHeader, UdpSlice};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn addresses() -> impl Strategy<Value = Addresses> {
    prop_oneof![
        any::<(u32, u32)>().prop_map(|(src, dst)| Addresses::V4 {
            src: Ipv4Addr::from_bits(src),
            dst: Ipv4Addr::from_bits(dst),
        }),
        any::<(u128, u128)>().prop_map(|(src, dst)| Addresses::V6 {
            src: Ipv6Addr::from_bits(src),
            dst: Ipv6Addr::from_bits(dst),
        }),
    ]
}

fn repr() -> impl Strategy<Value = Repr> {
    any::<(u16, u16)>().prop_map(|(src_port, dst_port)| Repr { src_port, dst_port })
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..100)
}

const V4: Addresses =
    Addresses::V4 { src: Ipv4Addr::new(10, 0, 0, 1), dst: Ipv4Addr::new(10, 0, 0, 2) };
const V6: Addresses = Addresses::V6 { src: Ipv6Addr::LOCALHOST, dst: Ipv6Addr::LOCALHOST };
const PORTS: Repr = Repr { src_port: 7, dst_port: 9 };

fn emit(repr: &Repr, payload: &[u8], elided: u32, addresses: &Addresses) -> Vec<u8> {
    let mut bytes = vec![0xa5; HEADER_LEN];
    repr.emit(&mut bytes, payload, elided, addresses);
    bytes.extend_from_slice(payload);
    bytes
}

fn parse(bytes: &[u8], elided: u32, addresses: &Addresses) -> Result<Repr, Error> {
    Repr::parse(&Packet::new_checked(bytes, elided)?, addresses, Integrity::Intact)
}

#[test]
fn no_checksum_is_accepted_over_ipv4_only() {
    for (addresses, expected) in [(V4, Ok(PORTS)), (V6, Err(Error::Checksum))] {
        let mut bytes = emit(&PORTS, b"abc", 0, &addresses);
        bytes[6..8].fill(0);
        assert_eq!(parse(&bytes, 0, &addresses), expected);
    }
}

#[test]
fn a_checksum_of_zero_is_sent_as_all_ones() {
    for addresses in [V4, V6] {
        // A payload that completes the sum of the rest to all ones.
        let rest = emit(&PORTS, &[0, 0], 0, &addresses);
        let bytes = emit(&PORTS, &[rest[6], rest[7]], 0, &addresses);
        assert_eq!(bytes[6..8], [0xff, 0xff]);
        assert_eq!(parse(&bytes, 0, &addresses), Ok(PORTS));
    }
}

#[test]
fn lengths_are_checked() {
    let mut bytes = emit(&PORTS, b"abcde", 0, &V4);
    assert_eq!(parse(&bytes[..7], 99, &V4), Err(Error::Truncated));
    assert_eq!(parse(&bytes[..10], 2, &V4), Err(Error::Truncated));
    bytes.extend_from_slice(b"padding");
    assert_eq!(Packet::new_checked(&bytes, 0).unwrap().payload(), b"abcde");
    assert_eq!(parse(&bytes, 0, &V4), Ok(PORTS));
    bytes[5] = 7;
    assert_eq!(parse(&bytes, 0, &V4), Err(Error::Malformed));
}

#[test]
fn integrity_decides_about_the_checksum() {
    let mut bytes = emit(&PORTS, b"abcde", 0, &V6);
    let with = |bytes: &[u8], integrity| {
        Repr::parse(&Packet::new_checked(bytes, 0).unwrap(), &V6, integrity)
    };
    assert_eq!(with(&bytes, Integrity::Corrupt), Err(Error::Checksum));
    bytes[9] ^= 1;
    assert_eq!(with(&bytes, Integrity::Intact), Err(Error::Checksum));
    assert_eq!(with(&bytes, Integrity::Offloaded), Ok(PORTS));
}

#[test]
fn addresses_are_of_one_family() {
    let (v4, v6) = (IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST));
    assert_eq!(Addresses::new(v6, v6), Some(V6));
    assert!(matches!(Addresses::new(v4, v4), Some(Addresses::V4 { .. })));
    assert_eq!(Addresses::new(v4, v6), None);
}

proptest! {
    #[test]
    fn round_trip_and_elided_zeros(
        repr in repr(),
        payload in payload(),
        zeros in 0usize..100,
        addresses in addresses(),
    ) {
        let bytes = emit(&repr, &payload, zeros as u32, &addresses);
        let packet = Packet::new_checked(&bytes, zeros as u32).unwrap();
        prop_assert_eq!(packet.payload(), &payload[..]);
        prop_assert_eq!(packet.payload_len(), payload.len() + zeros);
        prop_assert_eq!(Repr::parse(&packet, &addresses, Integrity::Intact), Ok(repr));
        let real = emit(&repr, &[&payload[..], &vec![0; zeros]].concat(), 0, &addresses);
        prop_assert_eq!(&real[..bytes.len()], &bytes[..]);
    }

    #[test]
    fn damage_is_found(
        payload in payload(),
        addresses in addresses(),
        at: prop::sample::Index,
        bit in 0u8..8,
    ) {
        let mut bytes = emit(&PORTS, &payload, 0, &addresses);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        // A damaged length may cut the payload, and a damaged checksum may say that there is none.
        prop_assume!(bytes[6..8] != [0, 0]);
        prop_assert!(parse(&bytes, 0, &addresses).is_err());
    }

    #[test]
    fn etherparse_reads_and_writes_the_same(
        repr in repr(),
        payload in payload(),
        addresses in addresses(),
    ) {
        let bytes = emit(&repr, &payload, 0, &addresses);
        let theirs = UdpSlice::from_slice(&bytes).unwrap();
        prop_assert_eq!(theirs.source_port(), repr.src_port);
        prop_assert_eq!(theirs.destination_port(), repr.dst_port);
        prop_assert_eq!(theirs.payload(), &payload[..]);
        let mut header = UdpHeader { checksum: 0, ..theirs.to_header() };
        header.checksum = match addresses {
            Addresses::V4 { src, dst } => {
                header.calc_checksum_ipv4_raw(src.octets(), dst.octets(), &payload).unwrap()
            }
            Addresses::V6 { src, dst } => {
                header.calc_checksum_ipv6_raw(src.octets(), dst.octets(), &payload).unwrap()
            }
        };
        prop_assert_eq!(&header.to_bytes()[..], &bytes[..HEADER_LEN]);
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..20),
        elided: u32,
        addresses in addresses(),
    ) {
        let _ = parse(&bytes, elided, &addresses);
    }
}
