//! Two hosts over one perfect link, driven by hand.

use super::*;
use crate::bond::{BondConfig, MemberConfig, Mode, Ways};
use crate::link::Framing;
use crate::queue::Limit;
use crate::tcp::config::{Config, Profile};
use crate::tcp::{Chunk, Data};
use crate::time::Duration;
use crate::units::BitRate;
use crate::wire::icmp;
use crate::wire::ip::Addresses;
use crate::wire::ipv4::Protocol;
use std::net::{SocketAddr, SocketAddrV4};

pub(super) const LINK: LinkId = LinkId(0);
pub(super) const ADDRESSES: [Ipv4Addr; 2] =
    [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
pub(super) const ADDRESSES_V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2)];

pub(super) struct Pair {
    pub now: Instant,
    pub cx: Context,
    pub hosts: [Host; 2],
}

impl Pair {
    pub fn new() -> Self {
        let mut cx = Context::new();
        let hosts = [0, 1].map(|end| {
            let mut bond = Bond::new(Instant::ZERO, BondConfig::new(Mode::Earliest, 1500));
            let member = MemberConfig {
                link: LINK,
                rate: BitRate::from_bps(1_000_000),
                weight: BitRate::from_bps(1_000_000),
                direction: Ways::Both,
                delay: Duration::ZERO,
                queue: Limit::Packets(10),
                priority: 0,
                framing: Framing::PLAIN,
            };
            bond.enslave(Instant::ZERO, &mut cx, member).expect("the bond is empty");
            let mut host = Host::new(Rng::new(end as u64));
            let id = host.attach(bond, ADDRESSES[end], ADDRESSES[1 - end], &[LINK]);
            host.set_addresses(id, ADDRESSES_V6[end], ADDRESSES_V6[1 - end]);
            host
        });
        Pair { now: Instant::ZERO, cx, hosts }
    }

    /// Carries frames both ways until nothing moves, a millisecond per exchange.
    pub fn settle(&mut self) {
        let mut burst = Burst::new();
        loop {
            let mut moved = false;
            for from in 0..2 {
                burst.clear();
                self.hosts[from].poll_transmit(self.now, &mut self.cx, LINK, &mut burst);
                for frame in burst.frames.drain(..) {
                    moved = true;
                    let len = self.cx.frames.len(frame) as u64;
                    self.hosts[from].handle_transmitted(self.now, &mut self.cx, LINK, len);
                    self.hosts[1 - from].handle_frame(self.now, &mut self.cx, LINK, frame);
                }
                self.hosts[from].check_invariants();
            }
            if !moved {
                return;
            }
            self.now += Duration::from_millis(1);
        }
    }

    /// Lets time pass, with everything that is due.
    pub fn pass(&mut self, span: Duration) {
        let until = self.now + span;
        loop {
            self.settle();
            let next = self.hosts.iter_mut().filter_map(Host::next_deadline).min();
            let Some(at) = next.filter(|at| *at <= until) else {
                break;
            };
            self.now = self.now.max(at);
            for host in &mut self.hosts {
                host.handle_timeout(self.now, &mut self.cx);
            }
        }
        self.now = self.now.max(until);
    }

    pub fn events(&mut self, host: usize) -> Vec<Event> {
        std::iter::from_fn(|| self.hosts[host].poll_event()).collect()
    }
}

#[test]
fn a_connection_carries_bytes_both_ways_and_ends() {
    let mut pair = Pair::new();
    let config = Config::new(Profile::Modern, 1500);
    pair.hosts[1].listen(80, config.clone());
    let remote = SocketAddrV4::new(ADDRESSES[1], 80);
    let client = pair.hosts[0].connect(pair.now, &mut pair.cx, config, remote).expect("a route");
    pair.settle();
    assert_eq!(pair.events(0), [Event::Tcp(client, tcp::Event::Connected)]);
    let accepted = pair.events(1);
    let Event::Accepted(server) = accepted[0] else { panic!("{accepted:?}") };

    let written = pair.hosts[0].write(pair.now, &mut pair.cx, client, Data::Bytes(b"hello"));
    assert_eq!(written, 5);
    pair.settle();
    assert_eq!(pair.events(1), [Event::Tcp(server, tcp::Event::Readable)]);
    let mut got = Vec::new();
    pair.hosts[1].read(pair.now, &mut pair.cx, server, 100, |chunk| {
        if let Chunk::Bytes(bytes) = chunk {
            got.extend_from_slice(bytes);
        }
    });
    assert_eq!(got, b"hello");

    pair.hosts[0].close(pair.now, &mut pair.cx, client);
    pair.settle();
    assert_eq!(pair.events(1), [Event::Tcp(server, tcp::Event::PeerClosed)]);
    pair.hosts[1].close(pair.now, &mut pair.cx, server);
    pair.settle();
    assert!(pair.events(1).contains(&Event::Tcp(server, tcp::Event::Closed)));
    pair.hosts[1].forget(&mut pair.cx, server);
    assert!(pair.hosts[1].connection(server).is_none());
    assert_eq!(pair.cx.frames.live(), 0);
}

#[test]
fn both_versions_of_ip_reach_their_connections() {
    let mut pair = Pair::new();
    let config = Config::new(Profile::Modern, 1500);
    pair.hosts[1].listen(80, config.clone());
    let clients = [IpAddr::from(ADDRESSES[1]), IpAddr::from(ADDRESSES_V6[1])].map(|ip| {
        let remote = SocketAddr::new(ip, 80);
        pair.hosts[0].connect(pair.now, &mut pair.cx, config.clone(), remote).expect("a route")
    });
    pair.settle();
    let connected = |id| Event::Tcp(id, tcp::Event::Connected);
    assert_eq!(pair.events(0), clients.map(connected));
    let accepted = pair.events(1).into_iter().filter_map(|event| match event {
        Event::Accepted(id) => Some(id),
        _ => None,
    });
    let servers: Vec<ConnectionId> = accepted.collect();
    for (i, client) in clients.into_iter().enumerate() {
        pair.hosts[0].write(pair.now, &mut pair.cx, client, Data::Elided(100 * (i + 1)));
        pair.settle();
        let mine = pair.hosts[1].connection(servers[i]).expect("is there");
        assert_eq!(mine.readable(), 100 * (i + 1));
        let remote = mine.tuple().remote.ip();
        assert_eq!(remote.is_ipv6(), i == 1, "{remote}");
    }
    let far = SocketAddr::new(IpAddr::from(ADDRESSES_V6[1]), 81);
    let refused = pair.hosts[0].connect(pair.now, &mut pair.cx, config, far).expect("a route");
    pair.events(0);
    pair.settle();
    assert_eq!(pair.events(0), [Event::Tcp(refused, tcp::Event::Reset)]);
}

#[test]
fn an_echo_over_ipv6_comes_back_with_its_numbers() {
    let mut pair = Pair::new();
    let echo = Echo { peer: ADDRESSES_V6[1].into(), ident: 7, seq: 3, payload_len: 56, tos: 0 };
    pair.hosts[0].send_echo(pair.now, &mut pair.cx, echo);
    pair.settle();
    assert_eq!(pair.events(0), [Event::EchoReply(echo)]);
    assert_eq!(pair.cx.work.drops.iter().sum::<u64>(), 0);
}

#[test]
fn fragments_and_strangers_over_ipv6_are_counted_drops() {
    let mut pair = Pair::new();
    let addresses = Addresses::V6 { src: ADDRESSES_V6[1], dst: ADDRESSES_V6[1] };
    let mut stray = [0; 60];
    pair.hosts[1].emit_ip(&mut stray, addresses, (Protocol::TCP, 0), 20);
    let addresses = Addresses::V6 { src: ADDRESSES_V6[1], dst: ADDRESSES_V6[0] };
    let mut fragment = [0; 68];
    pair.hosts[1].emit_ip(&mut fragment, addresses, (Protocol(44), 0), 28);
    fragment[40..44].copy_from_slice(&[6, 0, 0, 1]);
    let mut udp = [0; 48];
    pair.hosts[1].emit_ip(&mut udp, addresses, (Protocol::UDP, 0), 8);
    for packet in [&stray[..], &fragment[..], &fragment[..50], &udp[..]] {
        let frame = pair.cx.frames.insert(packet, 0);
        pair.hosts[0].handle_frame(pair.now, &mut pair.cx, LINK, frame);
    }
    assert_eq!(pair.cx.work.dropped(DropReason::NotForUs), 2);
    assert_eq!(pair.cx.work.dropped(DropReason::Malformed), 2);
    assert_eq!(pair.cx.frames.live(), 0);
}

#[test]
fn a_segment_for_nobody_is_answered_with_a_reset() {
    let mut pair = Pair::new();
    let config = Config::new(Profile::Modern, 1500);
    let remote = SocketAddrV4::new(ADDRESSES[1], 81);
    let client = pair.hosts[0].connect(pair.now, &mut pair.cx, config, remote).expect("a route");
    pair.settle();
    assert_eq!(pair.events(0), [Event::Tcp(client, tcp::Event::Reset)]);
    assert_eq!(pair.cx.work.dropped(crate::work::DropReason::NoConnection), 1);
}

#[test]
fn a_connection_given_up_resets_the_peer_and_its_number_is_given_again() {
    let mut pair = Pair::new();
    let config = Config::new(Profile::Modern, 1500);
    pair.hosts[1].listen(80, config.clone());
    let remote = SocketAddrV4::new(ADDRESSES[1], 80);
    let connect = |pair: &mut Pair| {
        let (now, config) = (pair.now, config.clone());
        pair.hosts[0].connect(now, &mut pair.cx, config, remote).expect("a route")
    };
    let client = connect(&mut pair);
    pair.settle();
    let accepted = pair.events(1);
    let Event::Accepted(server) = accepted[0] else { panic!("{accepted:?}") };

    let written = pair.hosts[0].write(pair.now, &mut pair.cx, client, Data::Bytes(b"lost"));
    assert_eq!(written, 4);
    pair.hosts[0].abort(pair.now, &mut pair.cx, client);
    pair.hosts[0].forget(&mut pair.cx, client);
    assert!(pair.hosts[0].connection(client).is_none());
    pair.settle();
    assert_eq!(pair.events(0), [], "nothing is told of what was forgotten");
    assert!(pair.events(1).contains(&Event::Tcp(server, tcp::Event::Reset)));
    pair.hosts[1].forget(&mut pair.cx, server);

    assert_eq!(connect(&mut pair), client, "the number is free again");
    pair.settle();
    assert_eq!(pair.events(0), [Event::Tcp(client, tcp::Event::Connected)]);
    assert_eq!(pair.events(1)[0], Event::Accepted(server));
    pair.hosts.iter().for_each(Host::check_invariants);
}

#[test]
fn an_echo_comes_back_with_its_numbers() {
    let mut pair = Pair::new();
    let echo = Echo { peer: ADDRESSES[1].into(), ident: 7, seq: 3, payload_len: 56, tos: 6 };
    pair.hosts[0].send_echo(pair.now, &mut pair.cx, echo);
    pair.settle();
    assert_eq!(pair.events(0), [Event::EchoReply(echo)]);
    let nowhere = Echo { peer: Ipv4Addr::new(9, 9, 9, 9).into(), ..echo };
    pair.hosts[0].send_echo(pair.now, &mut pair.cx, nowhere);
    pair.settle();
    assert_eq!(pair.events(0), []);
}

#[test]
fn the_data_of_a_request_comes_back() {
    let mut pair = Pair::new();
    let (message, payload_len) =
        (icmp::Repr { kind: icmp::Kind::EchoRequest, ident: 7, seq: 3 }, 15);
    let addresses = Addresses::V4 { src: ADDRESSES[0], dst: ADDRESSES[1] };
    let mut packet = [0; 35];
    pair.hosts[0].emit_ip(&mut packet, addresses, (Protocol::ICMP, 0), payload_len);
    packet[28..].copy_from_slice(b"as sent");
    message.emit(&mut packet[20..28], b"as sent");
    let frame = pair.cx.frames.insert(&packet, 0);
    pair.hosts[1].handle_frame(pair.now, &mut pair.cx, LINK, frame);
    let mut burst = Burst::new();
    pair.hosts[1].poll_transmit(pair.now, &mut pair.cx, LINK, &mut burst);
    let [reply] = burst.frames[..] else { panic!("one reply") };
    assert_eq!(pair.cx.frames.bytes(reply)[28..], *b"as sent");
    pair.hosts[0].handle_frame(pair.now, &mut pair.cx, LINK, reply);
    let echo = Echo { peer: ADDRESSES[1].into(), ident: 7, seq: 3, payload_len: 7, tos: 0 };
    assert_eq!(pair.events(0), [Event::EchoReply(echo)]);
}

#[test]
fn what_has_no_peer_goes_by_the_default_route() {
    let mut pair = Pair::new();
    let config = Config::new(Profile::Modern, 1500);
    let far = SocketAddrV4::new(Ipv4Addr::new(9, 9, 9, 9), 80);
    let refused = pair.hosts[0].connect(pair.now, &mut pair.cx, config.clone(), far);
    assert_eq!(refused, Err(ConnectError::NoRoute));
    let only = pair.hosts[0].interface_of(LINK).expect("is attached");
    pair.hosts[0].set_default_route(only);
    let opened = pair.hosts[0].connect(pair.now, &mut pair.cx, config, far);
    assert!(opened.is_ok());
    pair.settle();
    assert_eq!(pair.cx.work.dropped(DropReason::NotForUs), 1, "the SYN crossed the link");
}

#[test]
fn a_port_that_is_listened_at_no_more_resets() {
    let mut pair = Pair::new();
    let config = Config::new(Profile::Modern, 1500);
    let remote = SocketAddrV4::new(ADDRESSES[1], 80);
    pair.hosts[1].listen(80, config.clone());
    pair.hosts[1].stop_listening(80);
    let client = pair.hosts[0].connect(pair.now, &mut pair.cx, config, remote).expect("a route");
    pair.settle();
    assert_eq!(pair.events(0), [Event::Tcp(client, tcp::Event::Reset)]);
}

#[test]
fn what_is_not_for_us_is_a_counted_drop() {
    let mut pair = Pair::new();
    let junk = pair.cx.frames.insert(&[0x45, 1, 2], 0);
    pair.hosts[0].handle_frame(pair.now, &mut pair.cx, LINK, junk);
    let stray = pair.cx.frames.insert(&[0; 40], 0);
    pair.hosts[0].handle_frame(pair.now, &mut pair.cx, LinkId(9), stray);
    assert_eq!(pair.cx.work.dropped(crate::work::DropReason::NotForUs), 1);
    assert_eq!(pair.cx.work.drops.iter().sum::<u64>(), 2);
    assert_eq!(pair.cx.frames.live(), 0);
}

#[test]
fn nobody_connects_to_many() {
    let mut pair = Pair::new();
    let config = Config::new(Profile::Modern, 1500);
    let only = pair.hosts[0].interface_of(LINK).expect("is attached");
    pair.hosts[0].set_default_route(only);
    for address in [Ipv4Addr::BROADCAST, Ipv4Addr::new(224, 0, 0, 1), Ipv4Addr::UNSPECIFIED] {
        let remote = SocketAddrV4::new(address, 80);
        let refused = pair.hosts[0].connect(pair.now, &mut pair.cx, config.clone(), remote);
        assert_eq!(refused, Err(ConnectError::NoRoute));
    }
}

#[test]
fn what_comes_after_the_end_is_refused_and_the_next_connection_stays() {
    let mut pair = Pair::new();
    let config = Config::new(Profile::Modern, 1500);
    pair.hosts[1].listen(80, config.clone());
    let remote = SocketAddrV4::new(ADDRESSES[1], 80);
    let client = pair.hosts[0].connect(pair.now, &mut pair.cx, config.clone(), remote);
    pair.settle();
    let Event::Accepted(first) = pair.events(1)[0] else { panic!("accepted") };
    // The server gives up unheard; the client's next segment finds nobody.
    pair.hosts[1].abort(pair.now, &mut pair.cx, first);
    let mut lost = Burst::new();
    pair.hosts[1].poll_transmit(pair.now, &mut pair.cx, LINK, &mut lost);
    for frame in lost.frames {
        pair.hosts[1].handle_transmitted(pair.now, &mut pair.cx, LINK, 40);
        pair.cx.frames.remove(frame);
    }
    let client = client.expect("a route");
    pair.hosts[0].write(pair.now, &mut pair.cx, client, Data::Bytes(b"hello"));
    pair.settle();
    assert!(pair.events(0).contains(&Event::Tcp(client, tcp::Event::Reset)));
    assert_eq!(pair.cx.work.dropped(DropReason::NoConnection), 1);
    // The same port again, while neither end has forgotten.
    pair.hosts[0].next_port = EPHEMERAL_PORT_FIRST;
    pair.hosts[0].forget(&mut pair.cx, client);
    let again = pair.hosts[0].connect(pair.now, &mut pair.cx, config, remote).expect("a route");
    pair.settle();
    pair.hosts[1].forget(&mut pair.cx, first);
    pair.hosts[0].write(pair.now, &mut pair.cx, again, Data::Bytes(b"hello"));
    pair.settle();
    let readable = |event: &Event| matches!(event, Event::Tcp(_, tcp::Event::Readable));
    assert!(pair.events(1).iter().any(readable));
}
