use super::*;
use etherparse::{EtherType as PeerType, Ethernet2Header};
use proptest::prelude::*;

fn mac() -> impl Strategy<Value = MacAddress> {
    any::<[u8; 6]>().prop_map(MacAddress)
}

fn repr() -> impl Strategy<Value = Repr> {
    let tag = prop::option::of((0..VLAN_RESERVED, 0..8u8).prop_map(|(v, p)| Tag::new(v, p)));
    let kind = (TYPE_MIN..).prop_filter("is a tag", |kind| *kind != TAG.0);
    (mac(), mac(), tag, kind).prop_map(|(dst, src, tag, kind)| {
        let tag = tag.flatten();
        Repr { dst, src, tag, ether_type: EtherType(kind) }
    })
}

proptest! {
    #[test]
    fn what_is_emitted_is_read_again(repr in repr(), payload in prop::collection::vec(any::<u8>(), 0..60)) {
        let mut bytes = vec![0xa5; repr.header_len()];
        repr.emit(&mut bytes);
        bytes.extend_from_slice(&payload);
        let view = View::new_checked(&bytes).expect("a whole header");
        prop_assert_eq!(Repr::parse(&view), repr);
        prop_assert_eq!(view.payload(), &payload[..]);
        prop_assert_eq!(view.header_len(), repr.header_len());
        for cut in 0..repr.header_len() {
            prop_assert_eq!(View::new_checked(&bytes[..cut]), Err(Error::Truncated));
        }
    }

    #[test]
    fn another_implementation_reads_the_same(repr in repr().prop_map(|r| Repr { tag: None, ..r })) {
        let mut bytes = [0; HEADER_LEN];
        repr.emit(&mut bytes);
        let (peer, _) = Ethernet2Header::from_slice(&bytes).expect("a header");
        prop_assert_eq!(peer.destination, repr.dst.0);
        prop_assert_eq!(peer.source, repr.src.0);
        prop_assert_eq!(peer.ether_type, PeerType(repr.ether_type.0));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(view) = View::new_checked(&bytes) {
            let repr = Repr::parse(&view);
            let mut again = vec![0; repr.header_len()];
            repr.emit(&mut again);
            // The drop eligibility bit is part of the tag, so nothing is lost.
            prop_assert_eq!(&again[..], &bytes[..view.header_len()]);
        }
    }
}

#[test]
fn lengths_second_tags_and_the_last_vlan_are_refused() {
    let frame = |rest: &[u8]| [&[2; 12], rest].concat();
    for rest in [
        &[0x05, 0xdc, 0xaa, 0xaa][..],
        &[0x81, 0, 0, 1, 0x81, 0, 0, 2],
        &[0x81, 0, 0x0f, 0xff, 8, 0],
        &[0x81, 0, 0, 1, 0, 46],
    ] {
        assert_eq!(View::new_checked(&frame(rest)), Err(Error::Malformed), "{rest:x?}");
    }
    assert_eq!(View::new_checked(&frame(&[0x81, 0, 0, 1])), Err(Error::Truncated));
    assert_eq!((Tag::new(4095, 0), Tag::new(1, 8)), (None, None));
}

#[test]
fn addresses_say_whose_they_are() {
    assert!(MacAddress::BROADCAST.is_broadcast() && MacAddress::BROADCAST.is_group());
    assert!(!MacAddress::local(0x0102_0304).is_group());
    assert_eq!(MacAddress::local(0x0102_0304).to_string(), "02:00:01:02:03:04");
}
