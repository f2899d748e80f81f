use super::*;
use etherparse::{IcmpEchoHeader, Icmpv4Header, Icmpv4Slice, Icmpv4Type};
use proptest::prelude::*;

fn repr() -> impl Strategy<Value = Repr> {
    let kind = prop_oneof![Just(Kind::EchoRequest), Just(Kind::EchoReply)];
    (kind, any::<u16>(), any::<u16>()).prop_map(|(kind, ident, seq)| Repr { kind, ident, seq })
}

fn emit(repr: &Repr, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xa5; HEADER_LEN];
    repr.emit(&mut bytes, payload);
    bytes.extend_from_slice(payload);
    bytes
}

fn parse(bytes: &[u8], elided: u32, integrity: Integrity) -> Result<Repr, Error> {
    Repr::parse(&Packet::new_checked(bytes, elided)?, integrity)
}

#[test]
fn damage_and_other_messages_are_refused() {
    let repr = Repr { kind: Kind::EchoRequest, ident: 1, seq: 2 };
    let mut bytes = emit(&repr, b"odd");
    assert_eq!(parse(&bytes[..7], 9, Integrity::Intact), Err(Error::Truncated));
    assert_eq!(parse(&bytes, 0, Integrity::Corrupt), Err(Error::Checksum));
    bytes[0] = 3;
    assert_eq!(parse(&bytes, 0, Integrity::Intact), Err(Error::Checksum));
    assert_eq!(parse(&bytes, 0, Integrity::Offloaded), Err(Error::Malformed));
    bytes[..2].copy_from_slice(&[8, 1]);
    assert_eq!(parse(&bytes, 0, Integrity::Offloaded), Err(Error::Malformed));
}

proptest! {
    #[test]
    fn round_trip_and_elided_zeros(
        repr in repr(),
        payload in prop::collection::vec(any::<u8>(), 0..100),
        zeros in 0usize..100,
    ) {
        let bytes = emit(&repr, &payload);
        let packet = Packet::new_checked(&bytes, zeros as u32).unwrap();
        prop_assert_eq!(packet.payload(), &payload[..]);
        prop_assert_eq!(packet.payload_len(), payload.len() + zeros);
        prop_assert_eq!(Repr::parse(&packet, Integrity::Intact), Ok(repr));
        let real = emit(&repr, &[&payload[..], &vec![0; zeros]].concat());
        prop_assert_eq!(&real[..bytes.len()], &bytes[..]);
    }

    #[test]
    fn etherparse_reads_and_writes_the_same(
        repr in repr(),
        payload in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let bytes = emit(&repr, &payload);
        let echo = IcmpEchoHeader { id: repr.ident, seq: repr.seq };
        let kind = match repr.kind {
            Kind::EchoRequest => Icmpv4Type::EchoRequest(echo),
            Kind::EchoReply => Icmpv4Type::EchoReply(echo),
        };
        let theirs = Icmpv4Slice::from_slice(&bytes).unwrap();
        prop_assert_eq!(theirs.icmp_type(), kind.clone());
        prop_assert_eq!(theirs.payload(), &payload[..]);
        let header = Icmpv4Header::with_checksum(kind, &payload);
        prop_assert_eq!(&header.to_bytes()[..], &bytes[..HEADER_LEN]);
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..20),
        elided: u32,
    ) {
        let _ = parse(&bytes, elided, Integrity::Intact);
        let _ = parse(&bytes, elided, Integrity::Offloaded);
    }
}
