use super::*;
use proptest::prelude::*;

fn subnet(address: &str, prefix: u8) -> Subnet {
    Subnet::new(address.parse().expect("an address"), prefix).expect("a prefix")
}

#[test]
fn everybody_has_three_addresses_in_each_form() {
    let net = subnet("128.8.10.7", 24);
    for (address, form) in [
        ("255.255.255.255", Some(Form::Ones)),
        ("128.8.255.255", Some(Form::Ones)),
        ("128.8.10.255", Some(Form::Ones)),
        ("0.0.0.0", Some(Form::Zeros)),
        ("128.8.0.0", Some(Form::Zeros)),
        ("128.8.10.0", Some(Form::Zeros)),
        ("128.8.11.255", None),
        ("128.8.10.7", None),
        ("128.9.255.255", None),
    ] {
        assert_eq!(net.form_of(address.parse().expect("an address")), form, "{address}");
    }
    assert_eq!(subnet("10.1.2.3", 8).broadcast(Form::Zeros), Ipv4Addr::new(10, 0, 0, 0));
    assert_eq!(subnet("192.0.2.9", 24).broadcast(Form::Ones), Ipv4Addr::new(192, 0, 2, 255));
}

#[test]
fn two_hosts_on_a_link_have_no_broadcast_of_their_own() {
    for prefix in [31, 32] {
        let net = subnet("10.0.0.1", prefix);
        assert_eq!(net.form_of(Ipv4Addr::new(10, 0, 0, 1)), None);
        assert_eq!(net.form_of(Ipv4Addr::new(10, 0, 0, 0)), None);
        assert_eq!(net.form_of(Ipv4Addr::BROADCAST), Some(Form::Ones));
    }
    assert_eq!(Subnet::new(Ipv4Addr::LOCALHOST, 33), None);
}

#[test]
fn rules_are_on_or_off_one_by_one() {
    for rule in Rule::ALL {
        assert!(Rules::RFC_1122.has(rule) && !Rules::BSD_4_2.has(rule));
        let one = Rules::BSD_4_2.with(rule);
        assert!(Rule::ALL.into_iter().all(|other| one.has(other) == (other == rule)));
    }
}

proptest! {
    #[test]
    fn a_network_holds_its_broadcasts_and_no_address_more(
        address in any::<u32>(),
        other in any::<u32>(),
        prefix in 0..=32u8,
    ) {
        let net = Subnet::new(Ipv4Addr::from_bits(address), prefix).expect("a prefix");
        for form in [Form::Ones, Form::Zeros] {
            prop_assert!(net.contains(net.broadcast(form)));
            if prefix < 31 {
                prop_assert_eq!(net.form_of(net.broadcast(form)), Some(form));
                prop_assert_ne!(net.broadcast(form), net.broadcast(form.other()));
            }
        }
        prop_assert!(net.contains(net.network()));
        let mask = if prefix == 0 { 0 } else { u32::MAX << (32 - prefix) };
        let other = Ipv4Addr::from_bits(other);
        prop_assert_eq!(net.contains(other), other.to_bits() & mask == address & mask);
    }
}
