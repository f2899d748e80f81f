use super::*;
use etherparse::{ArpOperation, ArpPacketSlice};
use proptest::prelude::*;

fn repr() -> impl Strategy<Value = Repr> {
    let operation = prop_oneof![Just(Operation::Request), Just(Operation::Reply)];
    let end = || any::<([u8; 6], u32)>().prop_map(|(m, i)| (MacAddress(m), Ipv4Addr::from_bits(i)));
    (operation, end(), end()).prop_map(|(operation, sender, target)| Repr {
        operation,
        sender,
        target,
    })
}

proptest! {
    #[test]
    fn what_is_emitted_is_read_again(repr in repr(), filling in 0..30usize) {
        let mut bytes = vec![0; LEN + filling];
        repr.emit(&mut bytes);
        let packet = Packet::new_checked(&bytes).expect("a whole packet");
        prop_assert_eq!(Repr::parse(&packet), repr);
        let peer = ArpPacketSlice::from_slice(&bytes[..LEN]).expect("a whole packet");
        let expected = match repr.operation {
            Operation::Request => ArpOperation::REQUEST,
            Operation::Reply => ArpOperation::REPLY,
        };
        prop_assert_eq!(peer.operation(), expected);
        prop_assert_eq!(peer.sender_hw_addr(), repr.sender.0.0);
        prop_assert_eq!(peer.sender_protocol_addr(), repr.sender.1.octets());
        prop_assert_eq!(peer.target_hw_addr(), repr.target.0.0);
        prop_assert_eq!(peer.target_protocol_addr(), repr.target.1.octets());
        for cut in 0..LEN {
            prop_assert_eq!(Packet::new_checked(&bytes[..cut]), Err(Error::Truncated));
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(packet) = Packet::new_checked(&bytes) {
            let mut again = [0; LEN];
            Repr::parse(&packet).emit(&mut again);
            prop_assert_eq!(&again[..], &bytes[..LEN]);
        }
    }
}

#[test]
fn other_hardware_protocols_and_operations_are_refused() {
    let known = (MacAddress::local(1), Ipv4Addr::new(10, 0, 0, 1));
    let repr = Repr { operation: Operation::Request, sender: known, target: known };
    let mut good = [0; LEN];
    repr.emit(&mut good);
    for at in 0..8 {
        let mut bytes = good;
        bytes[at] ^= 0x10;
        assert_eq!(Packet::new_checked(&bytes), Err(Error::Malformed), "byte {at}");
    }
}
