//! Which flow a packet belongs to, as a hash of addresses, protocol and ports (the hash inputs of
//! `xmit_hash_policy = layer3+4`). Fragments have no ports and go by their addresses.

/// Hash of a packet's flow; all packets that are not IP are one flow.
pub fn flow_hash(packet: &[u8]) -> u32 {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => ipv4(packet),
        Some(6) => ipv6(packet),
        _ => None,
    }
    .unwrap_or(0)
}

const TCP: u8 = 6;
const UDP: u8 = 17;
const IPV6_HEADER: usize = 40;
/// More fragments, or an offset (RFC 791).
const FRAGMENT: u16 = 0x3fff;

fn ipv4(packet: &[u8]) -> Option<u32> {
    let header = usize::from(packet[0] & 15) * 4;
    let protocol = *packet.get(9)?;
    let fragment = u16::from_be_bytes(*packet.get(6..)?.first_chunk()?) & FRAGMENT;
    let hash = mix(hash_of(packet.get(12..20)?), u32::from(protocol));
    let ports = if fragment == 0 { ports(protocol, packet.get(header..)) } else { None };
    Some(mix(hash, ports.unwrap_or(0)))
}

fn ipv6(packet: &[u8]) -> Option<u32> {
    let protocol = *packet.get(6)?;
    let hash = mix(hash_of(packet.get(8..IPV6_HEADER)?), u32::from(protocol));
    Some(mix(hash, ports(protocol, packet.get(IPV6_HEADER..)).unwrap_or(0)))
}

fn ports(protocol: u8, segment: Option<&[u8]>) -> Option<u32> {
    let words = segment?.first_chunk().map(|b| u32::from_be_bytes(*b));
    words.filter(|_| matches!(protocol, TCP | UDP))
}

fn hash_of(bytes: &[u8]) -> u32 {
    bytes.as_chunks().0.iter().fold(0, |hash, word| mix(hash, u32::from_be_bytes(*word)))
}

/// One step of a multiplicative hash; the last shift brings the high bits down, where they are used.
fn mix(hash: u32, word: u32) -> u32 {
    let mixed = (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b1);
    mixed ^ mixed >> 15
}

#[cfg(test)]
mod tests {
    use super::*;

    fn udp4(ports: [u8; 4]) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 32, 0, 1, 0, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet.extend(ports);
        packet
    }

    #[test]
    fn ports_tell_flows_apart_and_ids_do_not() {
        let packet = udp4([0, 1, 0, 2]);
        let mut later = packet.clone();
        later[5] = 9;
        assert_eq!(flow_hash(&packet), flow_hash(&later));
        assert_ne!(flow_hash(&packet), flow_hash(&udp4([0, 3, 0, 2])));
        let mut fragment = packet.clone();
        fragment[6] = 0x20;
        let mut other = udp4([0, 3, 0, 2]);
        other[6] = 0x20;
        assert_eq!(flow_hash(&fragment), flow_hash(&other));
    }

    #[test]
    fn ipv6_is_hashed_and_anything_else_is_one_flow() {
        let mut packet = vec![0x60; 44];
        packet[6] = TCP;
        let first = flow_hash(&packet);
        packet[43] = 1;
        assert_ne!(first, flow_hash(&packet));
        for len in 0..packet.len() {
            let _ = flow_hash(&packet[..len]);
        }
        assert_eq!((flow_hash(&[]), flow_hash(&[0x45]), flow_hash(b"hello")), (0, 0, 0));
    }
}
