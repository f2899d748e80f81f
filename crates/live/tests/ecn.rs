//! Congestion marks across a bond (RFC 6040): what a packet says is said outside, what happens outside is
//! said in the packet. Case by case over loopback, then end to end over an emulated path that marks.

#[allow(dead_code, reason = "what other tests of the emulator need")]
mod testbed;

use std::io::IoSlice;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc;
use testbed::Testbed;
use trunkline_core::bond::trunk::{self, Monitor, Reorder};
use trunkline_core::bond::{BondConfig, MemberConfig, Mode, Ways};
use trunkline_core::frame::LinkId;
use trunkline_core::link::{Framing, Header};
use trunkline_core::queue::Limit;
use trunkline_core::time::{Duration, Instant};
use trunkline_core::units::BitRate;
use trunkline_core::wire::ipv4::{self, Ecn, Protocol};
use trunkline_core::wire::trunk::{BucketSeq, Kind, Record, Repr, Turn};
use trunkline_live::Error;
use trunkline_live::apply::up;
use trunkline_live::control::{Request, ask};
use trunkline_live::driver::{Driver, Source};
use trunkline_live::reactor::Reactor;
use trunkline_live::setup::{BondSetup, LinkSetup, Remote, Role};
use trunkline_live::state::control_path;
use trunkline_live::sys::epoll::{Epoll, Interest};
use trunkline_live::sys::tun::{Tun, VNET_HEADER_BYTES};
use trunkline_live::sys::udp::{Destination, Inbox, UdpSocket};
use trunkline_plan::model::Address;

const CODEPOINTS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
/// The longest a test waits for what has been sent over loopback or an idle path.
const PATIENCE_NANOS: u64 = 20_000_000_000;

/// Whether packets have our header in front.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Carriage {
    Plain,
    Trunk,
}

fn setup(end: &str, listen: Option<SocketAddr>, remote: Remote, kind: Carriage) -> BondSetup {
    let rate = BitRate::from_bps(50_000_000);
    let host = if end == "home" { 1 } else { 2 };
    let address = Address { ip: format!("10.99.0.{host}").parse().unwrap(), prefix: 30 };
    let trunk = (kind == Carriage::Trunk).then(|| trunk::Config {
        local_index: 1,
        peer_index: 1,
        epoch: host,
        reorder: Reorder::PerFlow { max: Duration::from_millis(100) },
        monitor: Monitor { down_after: Duration::from_secs(5), ..Monitor::default() },
    });
    let member = MemberConfig {
        link: LinkId(0),
        rate,
        weight: rate,
        direction: Ways::Both,
        delay: Duration::ZERO,
        queue: Limit::Packets(64),
        priority: 0,
        framing: Framing { header: Header::UdpIpv4, ..Framing::PLAIN },
    };
    BondSetup {
        name: "ecn0".into(),
        end: end.into(),
        device: "ecn0".into(),
        addresses: vec![address],
        routes: Vec::new(),
        listen,
        bond: BondConfig { trunk, ..BondConfig::new(Mode::Earliest, 1400) },
        links: vec![LinkSetup {
            name: "path1".into(),
            member,
            device: None,
            remote,
            role: Role::Member,
        }],
    }
}

fn packet(ecn: Ecn) -> [u8; ipv4::HEADER_LEN] {
    let repr = ipv4::Repr {
        src: [192, 0, 2, 1].into(),
        dst: [192, 0, 2, 2].into(),
        protocol: Protocol::UDP,
        dscp: 46,
        ecn,
        ident: 1,
        dont_fragment: false,
        ttl: 64,
        payload_len: 0,
    };
    let mut bytes = [0; ipv4::HEADER_LEN];
    repr.emit(&mut bytes);
    bytes
}

/// Waits until a socket has something; whether it had in time.
fn has_something(socket: &UdpSocket, nanos: u64) -> bool {
    let mut epoll = Epoll::new().expect("a descriptor");
    epoll.add(socket, 0, Interest::Read).expect("a socket can be waited for");
    let mut tokens = Vec::new();
    epoll.wait(Some(nanos), &mut tokens).expect("it waits");
    !tokens.is_empty()
}

/// One end over loopback, with its far end and its programs in this test's hands.
struct Bench {
    driver: Driver,
    now: Instant,
    programs: Tun,
    far: UdpSocket,
    to_driver: Destination,
    path_seq: u32,
}

impl Bench {
    fn new(kind: Carriage) -> Bench {
        let free = || {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port on loopback");
            socket.local_addr().expect("bound")
        };
        let (listen, remote) = (free(), free());
        let far = UdpSocket::open(None, remote).expect("the port is free");
        let (device, programs) = Tun::pair().expect("two descriptors");
        let remote = Remote { ip: remote.ip(), port: Some(remote.port()) };
        let setup = setup("home", Some(listen), remote, kind);
        let driver = Driver::new(Instant::ZERO, setup, device).expect("a socket");
        let to_driver = Destination { to: listen, from: None };
        Bench { driver, now: Instant::ZERO, programs, far, to_driver, path_seq: 0 }
    }

    fn turn(&mut self) {
        self.now += Duration::from_millis(5);
        self.driver.turn(self.now);
    }

    /// The ECN field outside the datagram that a packet of the programs leaves in.
    fn outside(&mut self, inner: Ecn) -> u8 {
        self.turn();
        let mut inbox = Inbox::new();
        // Probes of the trunk's own.
        while self.far.receive(&mut inbox).expect("an open socket") > 0 {}
        self.programs.write(&packet(inner)).expect("room");
        self.driver.handle_ready(self.now, Source::Tun).expect("an open pair");
        self.turn();
        loop {
            assert!(has_something(&self.far, PATIENCE_NANOS), "a datagram has left");
            self.far.receive(&mut inbox).expect("an open socket");
            let ends_in_packet = |payload: &[u8]| payload.ends_with(&packet(inner));
            let found = inbox.datagrams().find(|datagram| ends_in_packet(datagram.payload));
            if let Some(datagram) = found {
                return datagram.ecn;
            }
        }
    }

    /// Sends a datagram to the driver and lets it read that.
    fn give(&mut self, outer: Ecn, datagram: &[u8]) {
        let before = self.driver.paths()[0].stats.rx_datagrams;
        let parts = [IoSlice::new(datagram)];
        let sent = self.far.send(self.to_driver, outer as u8, &parts, datagram.len());
        sent.expect("loopback takes it");
        while self.driver.paths()[0].stats.rx_datagrams == before {
            self.driver.handle_ready(self.now, Source::Socket(0)).expect("an open socket");
        }
        self.turn();
    }

    fn header(&mut self, kind: Kind) -> Vec<u8> {
        self.path_seq += 1;
        Repr { receiver: 1, path_seq: self.path_seq, kind, timestamp: 0 }.emit().into()
    }

    /// The packet the programs get, if they get one.
    fn delivered(&mut self) -> Option<Vec<u8>> {
        let mut buffer = [0; 2048];
        let len = self.programs.read(&mut buffer).expect("an open pair")?;
        Some(buffer[VNET_HEADER_BYTES..len].to_vec())
    }
}

#[test]
fn what_a_packet_says_is_said_outside() {
    for kind in [Carriage::Plain, Carriage::Trunk] {
        let mut bench = Bench::new(kind);
        for inner in CODEPOINTS {
            assert_eq!(bench.outside(inner), inner as u8, "{kind:?}");
        }
    }
}

#[test]
fn what_happens_outside_is_said_in_the_packet() {
    for kind in [Carriage::Plain, Carriage::Trunk] {
        let mut bench = Bench::new(kind);
        for inner in CODEPOINTS {
            for outer in CODEPOINTS {
                let expected = match (inner, outer) {
                    (Ecn::NotEct, Ecn::Ce) => None,
                    (Ecn::Ect0 | Ecn::Ect1, Ecn::Ce) => Some(Ecn::Ce),
                    (Ecn::Ect0, Ecn::Ect1) => Some(Ecn::Ect1),
                    _ => Some(inner),
                };
                let mut datagram = Vec::new();
                if kind == Carriage::Trunk {
                    let seq = BucketSeq::new(bench.path_seq);
                    datagram = bench.header(Kind::Data(Turn { bucket: 9, seq }));
                }
                datagram.extend_from_slice(&packet(inner));
                bench.give(outer, &datagram);
                let expected = expected.map(|ecn| packet(ecn).to_vec());
                // A place in its flow that stays empty is waited for; then nothing comes.
                (0..40).for_each(|_| bench.turn());
                assert_eq!(bench.delivered(), expected, "{inner:?} in {outer:?}, {kind:?}");
                assert_eq!(bench.delivered(), None);
            }
        }
        assert_eq!(bench.driver.stats.ce_unheard, 1);
        assert_eq!(bench.driver.paths()[0].stats.rx_ce, 4);
    }
}

/// Records whose first bytes look like a packet that does not know ECN.
#[test]
fn a_mark_changes_nothing_in_a_trunks_own_datagrams() {
    let mut bench = Bench::new(Carriage::Trunk);
    for epoch in [0x4500_0000, 0x6000_0000, 0x4502_0000] {
        let mut probe = bench.header(Kind::Probe);
        probe.extend_from_slice(&Record { epoch, ..Record::default() }.emit());
        bench.give(Ecn::Ce, &probe);
    }
    assert_eq!(bench.driver.stats.ce_unheard, 0);
    assert_eq!(bench.driver.paths()[0].stats.rx_ce, 3);
    assert_eq!(bench.driver.cx.work.drops.iter().sum::<u64>(), 0);
}

/// Brings an end up in this thread's namespace and runs it until it is told to go down.
fn run(setup: BondSetup, ready: mpsc::Sender<PathBuf>) {
    let again = setup.clone();
    let read = Box::new(move || Ok::<_, Error>(again.clone()));
    let path = control_path(&setup.name);
    let running = up(setup, "a test".into(), read).expect("it comes up");
    let reactor = Reactor::new(vec![running]).expect("descriptors");
    ready.send(path).expect("the test waits");
    reactor.run().expect("it runs");
}

/// What arrives at the far end of the bond, as (codepoint when sent, codepoint now), until no more comes.
fn arrivals(socket: &UdpSocket) -> Vec<(u8, u8)> {
    let (mut inbox, mut seen) = (Inbox::new(), Vec::new());
    let mut nanos = PATIENCE_NANOS;
    while has_something(socket, nanos) {
        nanos = 1_000_000_000;
        socket.receive(&mut inbox).expect("an open socket");
        for datagram in inbox.datagrams() {
            let packets = datagram.payload.chunks(datagram.segment_bytes);
            seen.extend(packets.map(|payload| (payload[0], datagram.ecn)));
        }
    }
    seen
}

#[test]
fn marks_of_a_queue_on_the_path_reach_the_far_program() {
    if let Some(reason) = testbed::missing() {
        println!("not run: {reason}");
        return;
    }
    let mut testbed = Testbed::new(1);
    testbed.emulate(1, "--rate 5mbit --queue 1000p --mark 4p --delay 1ms");
    let (sender, ready) = mpsc::channel();
    let ends: Vec<_> = [("home", "10.77.1.2", Some(4500)), ("server", "10.77.1.1", None)]
        .map(|(end, ip, port)| {
            let listen = (end == "server").then(|| "0.0.0.0:4500".parse().unwrap());
            let remote = Remote { ip: ip.parse().unwrap(), port };
            let (setup, sender) = (setup(end, listen, remote, Carriage::Trunk), sender.clone());
            testbed.on(end, move || run(setup, sender))
        })
        .into();
    drop(sender);
    let controls = [ready.recv().expect("an end is up"), ready.recv().expect("both are")];
    let to: SocketAddr = "10.99.0.2:7000".parse().unwrap();
    let (bound, is_bound) = mpsc::channel();
    let receiver = testbed.on("server", move || {
        let socket = UdpSocket::open(None, to).expect("the address is there");
        bound.send(()).expect("the test waits");
        arrivals(&socket)
    });
    is_bound.recv().expect("the receiver is there");
    let sender = testbed.on("home", move || {
        let socket = UdpSocket::open(None, "10.99.0.1:0".parse().unwrap()).expect("an address");
        let destination = Destination { to, from: None };
        for round in 0..300 {
            let ecn = CODEPOINTS[round % 3] as u8;
            let payload = [ecn; 1000];
            socket.send(destination, ecn, &[IoSlice::new(&payload)], payload.len()).expect("room");
        }
    });
    sender.join().expect("all sent");
    let seen = receiver.join().expect("received");
    let count =
        |sent: Ecn, now: Ecn| seen.iter().filter(|pair| **pair == (sent as u8, now as u8)).count();
    let total = |sent: Ecn| seen.iter().filter(|(was, _)| *was == sent as u8).count();
    for capable in [Ecn::Ect0, Ecn::Ect1] {
        assert_eq!(total(capable), 100, "nothing capable is lost: {seen:?}");
        assert_eq!(count(capable, capable) + count(capable, Ecn::Ce), 100);
        assert!(count(capable, Ecn::Ce) > 50, "{} marked", count(capable, Ecn::Ce));
    }
    // The queue drops what it cannot mark; what it lets pass is as it was.
    assert!(total(Ecn::NotEct) < 100, "the queue was never long");
    assert_eq!(count(Ecn::NotEct, Ecn::NotEct), total(Ecn::NotEct));
    for control in controls {
        let (done, mut rest) = ask(&control, &Request::Down {}).expect("it answers");
        assert_eq!(done.code, 0);
        std::io::copy(&mut rest, &mut std::io::sink()).expect("it goes down");
    }
    ends.into_iter().for_each(|end| end.join().expect("it has run"));
}
