//! Packets in pieces, over routers, and what is said about those that do not arrive.

use super::cable::{CAREFUL, Net, address};
use crate::host::broadcast::Subnet;
use crate::host::{Forwarding, InterfaceId, NetworkConfig, ReversePath, Route, Rules};
use crate::time::Duration;
use crate::work::DropReason;
use std::net::Ipv4Addr;

const SECOND: Duration = Duration::from_secs(1);

fn default_route(gateway: Ipv4Addr, interface: InterfaceId) -> Route {
    Route { to: Subnet::ALL, gateway: Some(gateway), interface, metric: 1 }
}

/// Host 0 on cable 0, host 1 on cable 1, and host 2, a router between them.
fn routed(rules: Rules) -> Net {
    let mut net = Net::new(2, Duration::ZERO);
    for host in 0..2 {
        net.add_host(NetworkConfig::default());
        let id = net.plug(host, host, CAREFUL);
        let route = default_route(address(host as u8, 3), id);
        net.hosts[host].add_route(route).expect("is the first");
        net.hosts[host].bind(7).expect("is free");
    }
    let forwarding = Forwarding::On;
    net.add_host(NetworkConfig { rules, forwarding, ..NetworkConfig::default() });
    net.plug(2, 0, CAREFUL);
    net.plug(2, 1, CAREFUL);
    net
}

#[test]
fn a_router_joins_two_cables() {
    let mut net = routed(Rules::RFC_1122);
    net.send(0, 7, address(1, 2), 7, 100);
    net.pass(SECOND);
    assert_eq!((net.take(1, 7), net.stats(2).forwarded), (vec![100], 1));
    net.send(1, 7, address(0, 1), 7, 9000);
    net.pass(SECOND);
    assert_eq!((net.take(0, 7), net.stats(2).forwarded), (vec![9000], 8));
    assert_eq!((net.stats(1).fragmented, net.stats(0).reassembled), (1, 1));
}

#[test]
fn a_broadcast_stays_on_its_cable() {
    for rules in [Rules::RFC_1122, Rules::BSD_4_2] {
        let mut net = routed(rules);
        net.hosts[2].bind(7).expect("is free");
        net.send_all(0, InterfaceId(0), 7, b"hello");
        net.pass(SECOND);
        // The router takes the form for what it is.
        assert_eq!((net.frames_sent[0], net.frames_sent[1], net.stats(2).forwarded), (1, 0, 0));
    }
}

#[test]
fn sources_are_told_what_cannot_be_delivered() {
    let mut net = routed(Rules::RFC_1122);
    net.send(0, 7, address(1, 2), 9, 100);
    net.pass(SECOND);
    assert_eq!((net.stats(1).errors_sent, net.stats(0).errors_received), (1, 1));
    net.send(0, 7, Ipv4Addr::new(99, 0, 0, 1), 9, 100);
    net.pass(SECOND);
    assert_eq!((net.stats(2).errors_sent, net.stats(0).errors_received), (1, 2));
    // Errors are not answered, and nor is what went to everybody.
    net.send_all(0, InterfaceId(0), 9, b"hello");
    net.pass(SECOND);
    let errors: Vec<u64> = (0..3).map(|host| net.stats(host).errors_sent).collect();
    assert_eq!(errors, [0, 1, 1]);
}

#[test]
fn two_routers_that_trust_each_other_pass_a_packet_until_its_hops_are_used_up() {
    let mut net = Net::new(1, Duration::ZERO);
    for host in 0..3u8 {
        let forwarding = if host == 0 { Forwarding::Off } else { Forwarding::On };
        net.add_host(NetworkConfig { forwarding, ..NetworkConfig::default() });
        let id = net.plug(host.into(), 0, CAREFUL);
        let next = address(0, [2, 3, 2][usize::from(host)]);
        net.hosts[usize::from(host)].add_route(default_route(next, id)).expect("is the first");
    }
    net.send(0, 7, Ipv4Addr::new(99, 0, 0, 1), 9, 100);
    net.pass(SECOND * 5);
    assert_eq!(net.cx.work.dropped(DropReason::HopsExceeded), 1);
    assert_eq!(net.stats(1).forwarded + net.stats(2).forwarded, 63);
    assert_eq!(net.stats(0).errors_received, 1);
}

#[test]
fn a_packet_whose_answer_would_go_another_way_is_not_taken() {
    for (mode, taken, stranger) in
        [(ReversePath::Off, 1, 1), (ReversePath::Loose, 1, 0), (ReversePath::Strict, 0, 0)]
    {
        // Host 0 has two cards and knows host 1 on the first; host 1 sends by the second.
        let mut net = Net::new(2, Duration::ZERO);
        net.add_host(NetworkConfig::default());
        net.plug(0, 0, CAREFUL);
        let second = net.plug(0, 1, CAREFUL);
        net.hosts[0].set_reverse_path(second, mode);
        net.hosts[0].bind(7).expect("is free");
        net.add_host(NetworkConfig { forwarding: Forwarding::On, ..NetworkConfig::default() });
        net.plug(1, 1, CAREFUL);
        net.add_host(NetworkConfig::default());
        let id = net.plug(2, 1, CAREFUL);
        // What host 2 sends has the addresses of others.
        for (from, expected) in [(address(0, 2), taken), ([99, 0, 0, 1].into(), stranger)] {
            net.hosts[2].set_addresses(id, from, Ipv4Addr::UNSPECIFIED);
            net.send(2, 7, address(1, 1), 7, 100);
            net.pass(SECOND);
            assert_eq!(net.take(0, 7).len(), expected, "{mode:?} {from}");
        }
        let dropped = net.cx.work.dropped(DropReason::ReversePath);
        assert_eq!(dropped as usize, 2 - taken - stranger);
    }
}

#[test]
fn a_packet_of_which_a_piece_is_lost_is_complained_of() {
    let mut net = Net::new(1, Duration::from_millis(20));
    for host in 0..2 {
        net.add_host(NetworkConfig::default());
        net.plug(host, 0, CAREFUL);
        net.hosts[host].bind(7).expect("is free");
    }
    // The machine needs 20 ms for each, and has room for 50: the last of the second are lost. The first
    // finds out where it is; of one in many pieces not all would wait for that.
    net.send(0, 7, address(0, 2), 7, 100);
    net.pass(SECOND);
    net.send(0, 7, address(0, 2), 7, 60_000);
    net.send(0, 7, address(0, 2), 7, 60_000);
    net.pass(SECOND * 100);
    assert!(net.lost() > 0);
    assert_eq!(net.take(1, 7).len(), 2);
    assert_eq!((net.stats(1).errors_sent, net.stats(0).errors_received), (1, 1));
    assert!(net.cx.work.dropped(DropReason::Unfinished) > 0);
}
