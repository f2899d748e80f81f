use super::*;
use proptest::prelude::*;

fn repr() -> impl Strategy<Value = Repr> {
    let command = prop_oneof![Just(Command::Request), Just(Command::Response)];
    let entry = (any::<u32>(), 1..=INFINITY).prop_map(|(destination, metric)| Entry {
        destination: Ipv4Addr::from_bits(destination),
        metric,
    });
    let entries = prop::collection::vec(entry, 0..=ENTRIES_MAX);
    (command, entries).prop_map(|(command, entries)| Repr { command, entries })
}

proptest! {
    #[test]
    fn what_is_emitted_is_read_again(repr in repr()) {
        let mut bytes = vec![0xa5; repr.len()];
        repr.emit(&mut bytes);
        let packet = Packet::new_checked(&bytes).expect("a whole datagram");
        prop_assert_eq!(Repr::parse(&packet), repr.clone());
        for cut in (0..bytes.len()).filter(|cut| *cut < HEADER_LEN || cut % ENTRY_LEN != HEADER_LEN) {
            prop_assert_eq!(Packet::new_checked(&bytes[..cut]), Err(Error::Truncated));
        }
    }

    #[test]
    fn no_bytes_make_it_panic(
        command in 0..4u8,
        rest in prop::collection::vec(prop_oneof![Just(0), Just(2), any::<u8>()], 0..90),
    ) {
        let bytes = [&[command, VERSION, 0, 0], &rest[..]].concat();
        if let Ok(packet) = Packet::new_checked(&bytes) {
            prop_assert!(packet.entries().all(|entry| (1..=INFINITY).contains(&entry.metric)));
            let repr = Repr::parse(&packet);
            let mut again = vec![0; repr.len()];
            repr.emit(&mut again);
            prop_assert!(repr.len() < bytes.len() || again == bytes);
        }
    }
}

#[test]
fn a_datagram_of_another_form_is_refused() {
    let repr = Repr {
        command: Command::Response,
        entries: vec![Entry { destination: Ipv4Addr::new(128, 8, 0, 0), metric: 1 }],
    };
    let mut good = vec![0; repr.len()];
    repr.emit(&mut good);
    // Version, command, both fields that must be zero, and the metric.
    for (at, value) in [(0, 3), (1, 2), (2, 1), (6, 1), (12, 1), (19, 1), (23, 0), (23, 17)] {
        let mut bytes = good.clone();
        bytes[at] = value;
        assert_eq!(Packet::new_checked(&bytes), Err(Error::Malformed), "byte {at}");
    }
    // Another family may look as it likes, and says nothing.
    let mut other = good.clone();
    other[5] = 9;
    other[23] = 99;
    assert_eq!(Packet::new_checked(&other).expect("is sound").entries().count(), 0);
    let many = [&good[..HEADER_LEN], &good[HEADER_LEN..].repeat(ENTRIES_MAX + 1)].concat();
    assert_eq!(Packet::new_checked(&many), Err(Error::Malformed));
}
