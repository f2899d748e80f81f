//! Floods, cookies and ports that are used again.

use super::*;
use crate::frame::Burst;
use crate::host::tests::{ADDRESSES, LINK, Pair};
use crate::rng::Rng;
use crate::tcp::config::{EcnMode, Keepalive, Profile};
use crate::tcp::{Data, Event as TcpEvent, State};
use crate::time::Duration;
use crate::wire::tcp::{Options, Repr, Timestamps};
use std::net::SocketAddr;

const BACKLOG: u16 = 8;

fn config() -> Config {
    Config { backlog: BACKLOG, ..Config::new(Profile::Modern, 1500) }
}

fn remote() -> SocketAddr {
    SocketAddr::from((ADDRESSES[1], 80))
}

fn connect(pair: &mut Pair, config: Config) -> ConnectionId {
    pair.hosts[0].connect(pair.now, &mut pair.cx, config, remote()).expect("a free port")
}

/// SYNs of clients that never answer: what comes back to them is lost.
fn flood(pair: &mut Pair, n: usize) {
    for _ in 0..n {
        let client = connect(pair, config());
        let mut burst = Burst::new();
        pair.hosts[0].poll_transmit(pair.now, &mut pair.cx, LINK, &mut burst);
        pair.hosts[0].forget(&mut pair.cx, client);
        for frame in burst.frames {
            let len = pair.cx.frames.len(frame) as u64;
            pair.hosts[0].handle_transmitted(pair.now, &mut pair.cx, LINK, len);
            pair.hosts[1].handle_frame(pair.now, &mut pair.cx, LINK, frame);
        }
        let mut lost = Burst::new();
        pair.hosts[1].poll_transmit(pair.now, &mut pair.cx, LINK, &mut lost);
        for frame in lost.frames {
            let len = pair.cx.frames.len(frame) as u64;
            pair.cx.frames.remove(frame);
            pair.hosts[1].handle_transmitted(pair.now, &mut pair.cx, LINK, len);
        }
    }
}

fn connections(pair: &Pair) -> usize {
    pair.hosts[1].connections.iter().flatten().count()
}

fn accepted(pair: &mut Pair) -> Vec<ConnectionId> {
    let told = |event| match event {
        Event::Accepted(id) => Some(id),
        _ => None,
    };
    pair.events(1).into_iter().filter_map(told).collect()
}

#[test]
fn without_cookies_a_flood_is_dropped_beyond_the_backlog_and_forgotten_in_the_end() {
    let mut pair = Pair::new();
    pair.hosts[1].listen(80, Config { syn_cookies: false, ..config() });
    flood(&mut pair, usize::from(BACKLOG) + 10);
    assert_eq!(connections(&pair), usize::from(BACKLOG));
    assert_eq!(pair.cx.work.dropped(DropReason::QueueFull), 10);
    assert_eq!(pair.hosts[1].listen_stats(), ListenStats { overflows: 10, ..Default::default() });
    assert!(accepted(&mut pair).is_empty(), "nobody is told of what is half open");
    pair.pass(Duration::from_secs(300));
    assert_eq!(connections(&pair), 0);
    let client = connect(&mut pair, config());
    pair.settle();
    assert_eq!(accepted(&mut pair).len(), 1);
    assert!(pair.events(0).contains(&Event::Tcp(client, TcpEvent::Connected)));
}

#[test]
fn a_cookie_opens_a_connection_with_all_it_would_have_had() {
    let mut pair = Pair::new();
    pair.now = Instant::from_nanos(5_123_456_789_000);
    pair.hosts[1].listen(80, config());
    flood(&mut pair, usize::from(BACKLOG) + 10);
    assert_eq!(connections(&pair), usize::from(BACKLOG), "a cookie keeps nothing");
    pair.events(0);
    let client = connect(&mut pair, Config { ecn: EcnMode::On, ..config() });
    pair.settle();
    assert_eq!(pair.events(0), [Event::Tcp(client, TcpEvent::Connected)]);
    let [server] = accepted(&mut pair)[..] else { panic!("one connection") };
    let stats = pair.hosts[1].listen_stats();
    assert_eq!((stats.cookies_sent, stats.cookies_accepted), (11, 1));
    let [near, far] = [(0, client), (1, server)]
        .map(|(host, id)| pair.hosts[host].connection(id).expect("is there").snapshot());
    assert_eq!(near.mss, 1448);
    assert_eq!(far.mss, near.mss);
    assert!(far.snd_wnd > 65_535, "windows are scaled");
    let now = pair.now;
    assert_eq!(pair.hosts[0].write(now, &mut pair.cx, client, Data::Elided(100_000)), 100_000);
    pair.pass(Duration::from_secs(1));
    assert_eq!(pair.hosts[1].connection(server).expect("is there").readable(), 100_000);
    let near = pair.hosts[0].connection(client).expect("is there").snapshot();
    assert!(near.snd_wnd > 65_535, "both ways");
    for (host, id) in [(0, client), (1, server)] {
        let tokens = pair.hosts[host].connection(id).expect("is there").tokens().to_string();
        assert!(tokens.contains("sack") && tokens.contains("ecn"), "{tokens}");
    }
}

#[test]
fn a_peer_without_timestamps_gets_a_plain_connection_by_its_cookie() {
    let mut pair = Pair::new();
    pair.now = Instant::from_nanos(70_000_000_000);
    pair.hosts[1].listen(80, config());
    flood(&mut pair, usize::from(BACKLOG));
    let ecn = EcnMode::On;
    let plain = Config { timestamps: false, eifel: false, mss: Some(1000), ecn, ..config() };
    let client = connect(&mut pair, plain);
    pair.settle();
    let [server] = accepted(&mut pair)[..] else { panic!("one connection") };
    for (host, id) in [(0, client), (1, server)] {
        let tokens = pair.hosts[host].connection(id).expect("is there").tokens().to_string();
        assert!(!tokens.contains("sack") && !tokens.contains("ecn"), "{tokens}");
    }
    let far = pair.hosts[1].connection(server).expect("is there").snapshot();
    assert_eq!((far.mss, far.snd_wnd), (536, 65_535), "the largest size that can be told");
    let now = pair.now;
    pair.hosts[0].write(now, &mut pair.cx, client, Data::Elided(100_000));
    pair.settle();
    assert!(pair.hosts[1].connection(server).expect("is there").readable() > 60_000);
}

fn tuple() -> Tuple {
    Tuple { local: remote(), remote: SocketAddr::from((ADDRESSES[0], 5000)) }
}

fn segment(repr: Repr) -> Segment {
    let (payload_offset, payload_len) = (0, 0);
    Segment { repr, ecn: crate::wire::ipv4::Ecn::NotEct, payload_offset, payload_len }
}

#[test]
fn cookies_are_proven_for_two_steps_of_the_clock_and_for_nobody_else() {
    let jar = cookie::Jar::new(&Rng::new(1));
    let at = |secs| Instant::ZERO + Duration::from_secs(secs);
    let options = Options { mss: Some(1300), ..Options::default() };
    let irs = SeqNumber(77);
    let syn = segment(Repr { seq: irs, flags: Flags::SYN, options, ..Repr::default() });
    let cookie = jar.cookie(at(1000), &tuple(), &syn);
    let ack = |seq, ack| segment(Repr { seq, ack, flags: Flags::ACK, ..Repr::default() });
    let back = ack(irs + 1, cookie + 1);
    let open = |secs, back: &Segment| jar.open(at(secs), &tuple(), &config(), back);
    let read = open(1001, &back).expect("is ours");
    assert_eq!((read.repr.seq, read.repr.options.mss), (irs, Some(1220)));
    assert!(open(1000 + 64, &back).is_some());
    assert!(open(1000 + 128, &back).is_none(), "too late");
    assert!(open(1001, &ack(irs + 2, cookie + 1)).is_none(), "another first sequence number");
    assert!(open(1001, &ack(irs + 1, cookie + 2)).is_none());
    assert!(open(1001, &ack(irs + 1, cookie + 1 + (1 << 24))).is_none(), "a larger size");
    let other = Tuple { remote: SocketAddr::from((ADDRESSES[0], 5001)), ..tuple() };
    assert!(jar.open(at(1001), &other, &config(), &back).is_none());
    let strange = cookie::Jar::new(&Rng::new(2));
    assert!(strange.open(at(1001), &tuple(), &config(), &back).is_none());
}

#[test]
fn the_timestamp_of_a_cookie_carries_what_the_syn_offered() {
    let jar = cookie::Jar::new(&Rng::new(1));
    let now = Instant::from_nanos(900_000_000_000);
    for (window_scale, sack_permitted, ecn) in
        [(None, false, false), (Some(0), true, true), (Some(14), true, false)]
    {
        let flags = if ecn { Flags::SYN | Flags::ECE | Flags::CWR } else { Flags::SYN };
        let stamps = Timestamps { value: 5, echo: 0 };
        let timestamps = Some(stamps);
        let options = Options { window_scale, sack_permitted, timestamps, ..Options::default() };
        let syn = segment(Repr { seq: SeqNumber(9), flags, options, ..Repr::default() });
        let answer = cookie::answer(now, &config(), &syn);
        assert!(answer.stamped_at <= now);
        assert!(now - answer.stamped_at < Duration::from_millis(64));
        let back = segment(Repr {
            seq: SeqNumber(10),
            ack: jar.cookie(now, &tuple(), &syn) + 1,
            flags: Flags::ACK,
            options: Options {
                timestamps: Some(Timestamps {
                    value: 6,
                    echo: crate::tcp::stamp(answer.stamped_at),
                }),
                ..Options::default()
            },
            ..Repr::default()
        });
        let read = jar.open(now, &tuple(), &config(), &back).expect("is ours").repr;
        assert_eq!(read.options.window_scale, window_scale);
        assert_eq!(read.options.sack_permitted, sack_permitted);
        assert_eq!(read.flags.contains(Flags::ECE), ecn);
    }
}

#[test]
fn an_acknowledgment_out_of_nowhere_is_reset_even_while_cookies_are_out() {
    let mut pair = Pair::new();
    pair.hosts[1].listen(80, config());
    flood(&mut pair, usize::from(BACKLOG) + 1);
    let stray = Repr {
        src_port: 5000,
        dst_port: 80,
        ack: SeqNumber(0x1234_5678),
        flags: Flags::ACK,
        ..Repr::default()
    };
    let id = pair.hosts[0].interface_of(LINK).expect("is attached");
    let from = Tuple { local: tuple().remote, remote: remote() };
    pair.hosts[0].post_segment(&mut pair.cx, id, from, &stray);
    let now = pair.now;
    pair.hosts[0].pump(now, &mut pair.cx, id);
    pair.settle();
    assert_eq!(pair.hosts[1].listen_stats().cookies_refused, 1);
    assert!(accepted(&mut pair).is_empty());
}

#[test]
fn connections_nobody_fetches_stop_the_listener() {
    let mut pair = Pair::new();
    pair.hosts[1].listen(80, config());
    for _ in 0..BACKLOG + 3 {
        connect(&mut pair, config());
        pair.settle();
    }
    assert_eq!(connections(&pair), usize::from(BACKLOG));
    assert_eq!(accepted(&mut pair).len(), usize::from(BACKLOG));
    pair.pass(Duration::from_secs(2));
    assert_eq!(accepted(&mut pair).len(), 3, "their SYNs were sent again");
}

/// A connection whose server end waits in TIME-WAIT, and the port its client had.
fn closed(pair: &mut Pair, config: Config) -> (ConnectionId, u16) {
    pair.hosts[1].listen(80, config.clone());
    let client = connect(pair, config);
    pair.settle();
    let [server] = accepted(pair)[..] else { panic!("one connection") };
    let now = pair.now;
    pair.hosts[1].close(now, &mut pair.cx, server);
    pair.settle();
    let now = pair.now;
    pair.hosts[0].close(now, &mut pair.cx, client);
    pair.settle();
    let state = pair.hosts[1].connection(server).expect("is there").state();
    assert_eq!(state, State::TimeWait);
    let port = pair.hosts[0].connection(client).expect("is there").tuple().local.port();
    pair.hosts[0].forget(&mut pair.cx, client);
    (server, port)
}

#[test]
fn a_newer_timestamp_opens_a_connection_in_place_of_one_in_time_wait() {
    let mut pair = Pair::new();
    let (old, port) = closed(&mut pair, config());
    pair.events(0);
    pair.events(1);
    pair.now += Duration::from_millis(10);
    pair.hosts[0].next_port = port;
    let client = connect(&mut pair, config());
    pair.settle();
    assert_eq!(pair.events(0), [Event::Tcp(client, TcpEvent::Connected)]);
    let [new] = accepted(&mut pair)[..] else { panic!("one connection") };
    assert_ne!(new, old);
    let state = pair.hosts[1].connection(old).expect("is there").state();
    assert_eq!(state, State::Closed);
    pair.hosts[1].forget(&mut pair.cx, old);
    let now = pair.now;
    pair.hosts[0].write(now, &mut pair.cx, client, Data::Bytes(b"anew"));
    pair.settle();
    assert_eq!(pair.hosts[1].connection(new).expect("is there").readable(), 4);
}

#[test]
fn an_old_syn_leaves_time_wait_alone() {
    let mut pair = Pair::new();
    let (old, port) = closed(&mut pair, config());
    let last = pair.hosts[1].connection(old).expect("is there").newest_of_peer();
    for (value, later, opens) in [(last.1 - 1, 5, false), (last.1, 0, false), (last.1, 5, true)] {
        let stamps = Timestamps { value, echo: 0 };
        let options = Options { timestamps: Some(stamps), ..Options::default() };
        let syn = Repr {
            src_port: port,
            seq: last.0 + later,
            flags: Flags::SYN,
            options,
            ..Repr::default()
        };
        let slot = pair.hosts[1].slot_mut(old).expect("is there");
        assert_eq!(slot.connection.give_way(&segment(syn)).is_some(), opens, "{value} {later}");
    }
}

#[test]
fn a_peer_that_has_forgotten_the_connection_is_found_by_keepalive() {
    let mut pair = Pair::new();
    let keepalive = Keepalive { idle: Duration::from_secs(60), ..Keepalive::default() };
    pair.hosts[1].listen(80, config());
    let client = connect(&mut pair, Config { keepalive: Some(keepalive), ..config() });
    pair.settle();
    let [server] = accepted(&mut pair)[..] else { panic!("one connection") };
    pair.hosts[1].forget(&mut pair.cx, server);
    pair.events(0);
    pair.pass(Duration::from_secs(59));
    assert_eq!(pair.events(0), []);
    pair.pass(Duration::from_secs(2));
    assert_eq!(pair.events(0), [Event::Tcp(client, TcpEvent::Reset)]);
}
