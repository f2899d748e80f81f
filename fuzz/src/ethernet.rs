//! Ethernet frames and what they carry besides TCP (RFC 894, 826, 791, 792, 1058): any bytes are survived,
//! and what is read is written as it was.

use trunkline_core::wire::ethernet::{EtherType, Repr, View};
use trunkline_core::wire::ip::Addresses;
use trunkline_core::wire::ipv4::{self, Protocol};
use trunkline_core::wire::{Integrity, arp, icmp_error, rip, udp};

/// Reads the input once as a frame and once as each packet and message that a frame may carry.
pub fn ethernet(input: &[u8]) {
    arp(input);
    rip(input);
    ip(input);
    icmp(input);
    let Ok(view) = View::new_checked(input) else { return };
    let repr = Repr::parse(&view);
    let mut header = vec![0; repr.header_len()];
    repr.emit(&mut header);
    assert_eq!(header, input[..view.header_len()]);
    assert_eq!(view.header_len() + view.payload().len(), input.len());
    match repr.ether_type {
        EtherType::ARP => arp(view.payload()),
        EtherType::IPV4 => ip(view.payload()),
        _ => {}
    }
}

fn arp(input: &[u8]) {
    let Ok(packet) = arp::Packet::new_checked(input) else { return };
    let mut again = [0; arp::LEN];
    arp::Repr::parse(&packet).emit(&mut again);
    assert_eq!(again, input[..arp::LEN]);
}

fn rip(input: &[u8]) {
    let Ok(packet) = rip::Packet::new_checked(input) else { return };
    let repr = rip::Repr::parse(&packet);
    assert!(repr.entries.iter().all(|entry| (1..=rip::INFINITY).contains(&entry.metric)));
    let mut again = vec![0; repr.len()];
    repr.emit(&mut again);
    let read = rip::Packet::new_checked(&again).expect("was just written");
    assert_eq!(rip::Repr::parse(&read), repr);
}

fn ip(input: &[u8]) {
    let Ok(packet) = ipv4::Packet::new_checked(input, 0) else { return };
    let Ok((repr, part)) = ipv4::Repr::parse_fragment(&packet) else { return };
    let mut header = [0; ipv4::HEADER_LEN];
    repr.emit_fragment(part, &mut header);
    let again = ipv4::Packet::new_checked(&header, repr.payload_len.into()).expect("was written");
    assert_eq!(ipv4::Repr::parse_fragment(&again), Ok((repr, part)));
    let before = repr.ttl;
    let mut hopped = input.to_vec();
    match ipv4::take_hop(&mut hopped) {
        None => assert!(before < 2 && hopped == input),
        Some(left) => {
            assert_eq!(left, before - 1);
            let again = ipv4::Packet::new_checked(&hopped, 0).expect("lengths are the same");
            assert!(ipv4::Repr::parse_fragment(&again).is_ok(), "the checksum still verifies");
        }
    }
    let addresses = Addresses::V4 { src: repr.src, dst: repr.dst };
    match repr.protocol {
        Protocol::ICMP => icmp(packet.payload()),
        Protocol::UDP => {
            let Ok(datagram) = udp::Packet::new_checked(packet.payload(), 0) else { return };
            if udp::Repr::parse(&datagram, &addresses, Integrity::Intact).is_ok() {
                rip(datagram.payload());
            }
        }
        _ => {}
    }
}

fn icmp(input: &[u8]) {
    let Ok(packet) = icmp_error::Packet::new_checked(input) else { return };
    let Ok(repr) = icmp_error::Repr::parse(&packet, Integrity::Offloaded) else { return };
    let mut buf = [0; icmp_error::LEN_MAX];
    let len = repr.emit(&mut buf, packet.quoted());
    // What is quoted may say that its header is shorter than one can be.
    let Ok(again) = icmp_error::Packet::new_checked(&buf[..len]) else { return };
    assert_eq!(icmp_error::Repr::parse(&again, Integrity::Intact), Ok(repr));
}
