use super::*;
use etherparse::{IcmpEchoHeader, Icmpv6Header, Icmpv6Slice, Icmpv6Type};
use proptest::prelude::*;

const SRC: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
const DST: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);

fn repr() -> impl Strategy<Value = Repr> {
    let kind = prop_oneof![Just(Kind::EchoRequest), Just(Kind::EchoReply)];
    (kind, any::<u16>(), any::<u16>()).prop_map(|(kind, ident, seq)| Repr { kind, ident, seq })
}

fn message(repr: &Repr, payload: &[u8], elided: u32) -> Vec<u8> {
    let mut bytes = vec![0xa5; HEADER_LEN];
    emit(repr, &mut bytes, payload, elided, SRC, DST);
    bytes.extend_from_slice(payload);
    bytes
}

fn read(bytes: &[u8], elided: u32, integrity: Integrity) -> Result<Repr, Error> {
    parse(&Packet::new_checked(bytes, elided)?, SRC, DST, integrity)
}

#[test]
fn damage_and_other_messages_are_refused() {
    let repr = Repr { kind: Kind::EchoRequest, ident: 1, seq: 2 };
    let mut bytes = message(&repr, b"odd", 0);
    assert_eq!(read(&bytes, 0, Integrity::Corrupt), Err(Error::Checksum));
    let packet = Packet::new_checked(&bytes, 0).unwrap();
    assert_eq!(parse(&packet, SRC, SRC, Integrity::Intact), Err(Error::Checksum));
    bytes[0] = 135;
    assert_eq!(read(&bytes, 0, Integrity::Intact), Err(Error::Checksum));
    assert_eq!(read(&bytes, 0, Integrity::Offloaded), Err(Error::Malformed));
}

proptest! {
    #[test]
    fn round_trip_and_elided_zeros(
        repr in repr(),
        payload in prop::collection::vec(any::<u8>(), 0..100),
        zeros in 0usize..100,
    ) {
        let bytes = message(&repr, &payload, zeros as u32);
        prop_assert_eq!(read(&bytes, zeros as u32, Integrity::Intact), Ok(repr));
        let real = message(&repr, &[&payload[..], &vec![0; zeros]].concat(), 0);
        prop_assert_eq!(&real[..bytes.len()], &bytes[..]);
    }

    #[test]
    fn etherparse_reads_and_writes_the_same(
        repr in repr(),
        payload in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let bytes = message(&repr, &payload, 0);
        let echo = IcmpEchoHeader { id: repr.ident, seq: repr.seq };
        let kind = match repr.kind {
            Kind::EchoRequest => Icmpv6Type::EchoRequest(echo),
            Kind::EchoReply => Icmpv6Type::EchoReply(echo),
        };
        let slice = Icmpv6Slice::from_slice(&bytes).unwrap();
        prop_assert_eq!(slice.icmp_type(), kind);
        let theirs =
            Icmpv6Header::with_checksum(kind, SRC.octets(), DST.octets(), &payload).unwrap();
        prop_assert_eq!(&theirs.to_bytes()[..], &bytes[..HEADER_LEN]);
    }
}
