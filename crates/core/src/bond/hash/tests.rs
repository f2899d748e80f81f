use super::*;

const fn mac(last: u8) -> MacAddress {
    MacAddress([0, 0x0e, 0x0c, 0, 0, last])
}

/// A packet of IPv4 from 10.0.0.1 to 10.0.0.2 that carries `upper`.
fn packet(protocol: u8, fragment: u16, upper: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 20 + upper.len() as u8, 0, 0, 0, 0, 64, protocol, 0, 0];
    bytes[6..8].copy_from_slice(&fragment.to_be_bytes());
    bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend(upper);
    bytes
}

/// Ports 49152 to 5001, and more of a header.
const PORTS: [u8; 8] = [0xc0, 0x00, 0x13, 0x89, 0, 0, 0, 1];

fn hash(policy: HashPolicy, dst: u8, packet: &[u8]) -> u32 {
    policy.hash(&HashInputs::of_packet(mac(1), mac(dst), packet))
}

#[test]
fn layer2_is_the_last_bytes_and_the_type() {
    let tcp = packet(6, 0, &PORTS);
    assert_eq!(hash(HashPolicy::Layer2, 2, &tcp), 0x803);
    assert_eq!(hash(HashPolicy::Layer2, 3, &tcp), 0x802);
    let choose = |dst| {
        let frame = HashInputs::of_packet(mac(1), mac(dst), &tcp);
        [2, 0].map(|count| HashPolicy::Layer2.choose(&frame, count))
    };
    assert_eq!(choose(2), [Some(1), None]);
    assert_eq!(choose(3), [Some(0), None]);
}

#[test]
fn cards_an_even_number_apart_share_one_of_two_links() {
    let tcp = packet(6, 0, &PORTS);
    let ports = [1, 3, 5, 2, 4, 6].map(|src| {
        let frame = HashInputs::of_packet(mac(src), mac(0x40), &tcp);
        HashPolicy::Layer2.choose(&frame, 2)
    });
    assert_eq!(ports, [1, 1, 1, 0, 0, 0].map(Some));
}

#[test]
fn layer2_and_3_folds_the_addresses_in() {
    // 0x0100000a ^ 0x0200000a = 0x03000000; with 0x803 folded by 16 and by 8 bits.
    assert_eq!(hash(HashPolicy::Layer23, 2, &packet(6, 0, &PORTS)), 0x0303_0b08);
}

#[test]
fn layer3_and_4_takes_ports_and_drops_the_last_bit() {
    // 0x891300c0 ^ 0x03000000, folded, without its last bit; cards do not matter.
    let tcp = packet(6, 0, &PORTS);
    assert_eq!(hash(HashPolicy::Layer34, 2, &tcp), 0x454c_ccac);
    assert_eq!(hash(HashPolicy::Layer34, 3, &tcp), 0x454c_ccac);
    assert_eq!(hash(HashPolicy::Layer34, 2, &packet(17, 0, &PORTS)), 0x454c_ccac);
}

#[test]
fn fragments_and_other_protocols_have_no_ports() {
    // 0x03000000 folded: the addresses alone.
    let bare = 0x0303_0303 >> 1;
    for (protocol, fragment) in [(6, 0x2000), (6, 0x0001), (17, 0x00b9), (47, 0)] {
        let packet = packet(protocol, fragment, &PORTS);
        assert_eq!(hash(HashPolicy::Layer34, 2, &packet), bare, "{protocol} {fragment:#x}");
    }
    assert_eq!(hash(HashPolicy::Layer34, 2, &packet(6, 0, &[0xc0])), bare, "cut off");
    // "Do not fragment" is no fragment.
    assert_eq!(hash(HashPolicy::Layer34, 2, &packet(6, 0x4000, &PORTS)), 0x454c_ccac);
}

#[test]
fn an_echo_and_its_answer_hash_by_their_identifier() {
    let echo =
        |kind, ident| hash(HashPolicy::Layer34, 2, &packet(1, 0, &[kind, 0, 0, 0, 0, ident, 0, 1]));
    assert_eq!(echo(8, 5), echo(0, 5));
    assert_ne!(echo(8, 5), echo(8, 6));
    // "Unreachable" has no identifier.
    assert_eq!(echo(3, 5), echo(3, 6));
}

#[test]
fn ipv6_addresses_are_folded_to_32_bits() {
    let mut bytes = [0; 48];
    bytes[0] = 0x60;
    bytes[5] = 8;
    bytes[6] = 6;
    bytes[8] = 0xfd;
    bytes[23] = 1;
    bytes[24] = 0xfd;
    bytes[39] = 2;
    bytes[40..].copy_from_slice(&PORTS);
    let frame = HashInputs::of_packet(mac(1), mac(2), &bytes);
    assert_eq!(HashPolicy::Layer2.hash(&frame), 0x86dd ^ 3);
    // The prefixes cancel out; what differs is the last byte, the highest of the last word.
    assert_eq!(HashPolicy::Layer34.hash(&frame), 0x454c_ccac);
    assert_eq!(HashPolicy::Layer23.hash(&frame), fold(0x0300_0000 ^ 0x86dd ^ 3));
}

#[test]
fn what_is_no_ip_hashes_by_its_cards() {
    let frame =
        HashInputs { src: mac(1), dst: mac(2), ethertype: 0x0806, packet: &[0, 1, 8, 0, 6, 4] };
    for policy in HashPolicy::ALL {
        assert_eq!(policy.hash(&frame), 0x805, "{}", policy.name());
        let cut = HashInputs { ethertype: ETHERTYPE_IPV4, packet: &[0x45], ..frame };
        assert_eq!(policy.hash(&cut), 0x803, "{}", policy.name());
    }
}
