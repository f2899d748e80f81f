//! Who is where, on a cable.

use super::cable::{CAREFUL, CARELESS, Net, address};
use crate::host::{Echo, Event, NetworkConfig};
use crate::tcp::config::{Config, Profile};
use crate::tcp::{self, Data};
use crate::time::Duration;
use crate::work::DropReason;
use std::net::SocketAddr;

const SECOND: Duration = Duration::from_secs(1);

fn pair() -> Net {
    let mut net = Net::new(1, Duration::ZERO);
    for host in 0..3 {
        net.add_host(NetworkConfig::default());
        net.plug(host, 0, CAREFUL);
        net.hosts[host].bind(7).expect("is free");
    }
    net
}

#[test]
fn a_neighbour_is_asked_for_once_and_then_known_to_both() {
    let mut net = pair();
    net.send(0, 7, address(0, 2), 7, 100);
    net.pass(SECOND);
    assert_eq!(net.frames_sent[0], 3, "a question, an answer, a datagram");
    assert_eq!(net.take(1, 7), [100]);
    net.send(1, 7, address(0, 1), 7, 200);
    net.send(0, 7, address(0, 2), 7, 300);
    net.pass(SECOND);
    assert_eq!((net.frames_sent[0], net.take(0, 7), net.take(1, 7)), (5, vec![200], vec![300]));
    assert_eq!(net.stats(2).broadcasts_received, 1, "the third heard the question");
}

#[test]
fn who_does_not_answer_is_given_up() {
    let mut net = pair();
    net.send(0, 7, address(0, 99), 7, 100);
    net.pass(SECOND * 10);
    assert_eq!((net.frames_sent[0], net.stats(0).arp_requests_sent), (3, 3));
    assert_eq!(net.cx.work.dropped(DropReason::Unresolved), 1);
}

#[test]
fn connections_and_echoes_find_their_way_too() {
    let mut net = pair();
    let config = Config::new(Profile::Modern, 1500);
    net.hosts[1].listen(80, config.clone());
    let remote = SocketAddr::from((address(0, 2), 80));
    let client = net.hosts[0].connect(net.now, &mut net.cx, config, remote).expect("a way");
    net.pass(SECOND);
    assert_eq!(net.events(0), [Event::Tcp(client, tcp::Event::Connected)]);
    net.hosts[0].write(net.now, &mut net.cx, client, Data::Elided(20_000));
    net.pass(SECOND * 5);
    assert!(net.events(1).iter().any(|e| matches!(e, Event::Tcp(_, tcp::Event::Readable))));
    let peer = address(0, 3).into();
    let echo = Echo { peer, ident: 1, seq: 2, payload_len: 56, tos: 0 };
    net.hosts[0].send_echo(net.now, &mut net.cx, echo);
    net.pass(SECOND);
    assert_eq!(net.events(0).last(), Some(&Event::EchoReply(echo)));
}

#[test]
fn a_host_that_does_not_wait_asks_with_every_packet() {
    let mut net = Net::new(1, Duration::ZERO);
    net.add_host(NetworkConfig::default());
    net.plug(0, 0, CARELESS);
    for _ in 0..5 {
        net.send(0, 7, address(0, 99), 7, 100);
    }
    net.pass(SECOND * 10);
    assert_eq!(net.frames_sent[0], 5);
}
