use super::*;
use etherparse::{Icmpv4Slice, Icmpv4Type};
use proptest::prelude::*;

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::NetUnreachable),
        Just(Kind::HostUnreachable),
        Just(Kind::ProtocolUnreachable),
        Just(Kind::PortUnreachable),
        any::<u16>().prop_map(|mtu| Kind::FragmentationNeeded { mtu }),
        Just(Kind::HopsExceeded),
        Just(Kind::ReassemblyExceeded),
    ]
}

proptest! {
    #[test]
    fn what_is_emitted_is_read_again(
        kind in kind(),
        words in 5..16u8,
        rest in prop::collection::vec(any::<u8>(), 67..120),
    ) {
        let packet = [&[0x40 | words], &rest[..]].concat();
        let mut buf = [0xa5; LEN_MAX];
        let len = Repr { kind }.emit(&mut buf, &packet);
        let read = Packet::new_checked(&buf[..len]).expect("a whole message");
        prop_assert_eq!(Repr::parse(&read, Integrity::Intact), Ok(Repr { kind }));
        prop_assert_eq!(read.quoted(), &packet[..usize::from(words) * 4 + QUOTED_LEN]);
        prop_assert_eq!(Repr::parse(&read, Integrity::Corrupt), Err(Error::Checksum));
        prop_assert!(is_error(&buf[..len]));
        let peer = Icmpv4Slice::from_slice(&buf[..len]).expect("a whole message");
        let unreachable = matches!(peer.icmp_type(), Icmpv4Type::DestinationUnreachable(_));
        let exceeded = matches!(peer.icmp_type(), Icmpv4Type::TimeExceeded(_));
        prop_assert!(unreachable || exceeded);
    }

    #[test]
    fn a_flipped_bit_is_seen(kind in kind(), at in 0..36usize, bit in 0..8u8) {
        let mut packet = [7; 28];
        packet[0] = 0x45;
        let mut buf = [0; LEN_MAX];
        let len = Repr { kind }.emit(&mut buf, &packet);
        buf[at] ^= 1 << bit;
        let read = Packet::new_checked(&buf[..len]).expect("a whole message");
        prop_assert_eq!(Repr::parse(&read, Integrity::Intact), Err(Error::Checksum));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Ok(packet) = Packet::new_checked(&bytes) {
            let _any = Repr::parse(&packet, Integrity::Offloaded);
        }
        let mut buf = [0; LEN_MAX];
        Repr { kind: Kind::HopsExceeded }.emit(&mut buf, &bytes);
    }
}

#[test]
fn an_echo_is_no_error_and_a_redirect_is_one() {
    assert!(!is_error(&[8, 0]) && !is_error(&[0, 0]));
    assert!(is_error(&[5, 1]) && is_error(&[]));
}
