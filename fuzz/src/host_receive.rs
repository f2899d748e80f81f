//! A whole host on two Ethernets that is given any frames at any times: it listens, has UDP sockets, may
//! be a router and may lack any of the rules. Nothing panics, its invariants hold, every frame is somewhere,
//! and no frame makes it send more than a packet's worth.

use crate::host_frames::{BOUND, CARDS, Heard, LISTENS, frame};
use crate::script::Script;
use std::net::{Ipv4Addr, SocketAddrV4};
use trunkline_core::Context;
use trunkline_core::bond::{Bond, BondConfig, IngressConfig, MemberConfig, Mode, Ways};
use trunkline_core::frame::{Burst, LinkChange, LinkId};
use trunkline_core::host::{
    ArpReplies, Asking, CardConfig, Event, Form, Forwarding, Host, NetworkConfig, Rule, Rules,
    Subnet,
};
use trunkline_core::link::framing::{Framing, Header};
use trunkline_core::queue::Limit;
use trunkline_core::rng::Rng;
use trunkline_core::tcp::{self, Config, Data, Profile};
use trunkline_core::time::{Duration, Instant};
use trunkline_core::units::BitRate;
use trunkline_core::wire::ethernet::HEADER_LEN;

/// The second network takes shorter packets.
const MTUS: [u16; 2] = [1500, 576];
/// A packet of 65535 bytes in pieces of the shorter, and what was waiting for room or an address.
const SENT_MAX: usize = 119 + 16;
/// Frames that may lie in a host: pieces of 64 packets, sockets, and what waits for 1024 addresses or a card.
const HELD_MAX: usize = 64 * 128 + 2 * 256 + 2 * (1024 * 4 + 256) + 1024;
/// The bytes that the host answers with at most: it echoes what it reads.
const READ_MAX: usize = 2_000;
/// Reassembly and every question are over by then.
const LATER: Duration = Duration::from_secs(300);

/// Feeds a host what the input says.
pub fn host_receive(input: &[u8]) {
    let mut script = Script(input);
    let mut bed = Bed::new(&mut script);
    while !script.0.is_empty() {
        bed.step(&mut script);
        bed.check();
    }
    bed.end();
}

struct Bed {
    cx: Context,
    host: Host,
    now: Instant,
    heard: Heard,
    last: Vec<u8>,
}

impl Bed {
    fn new(script: &mut Script<'_>) -> Bed {
        let (rules, manners) = (script.byte(), script.byte());
        let all = Rule::ALL.into_iter().enumerate();
        let kept = all.filter(|(at, _)| rules >> at & 1 == 0).map(|(_, rule)| rule);
        let rules = kept.fold(Rules::BSD_4_2, Rules::with);
        let either = |bit: u8| manners >> bit & 1 == 0;
        let mut host = Host::new(Rng::new(u64::from(manners)));
        host.join(NetworkConfig {
            rules,
            form: if either(0) { Form::Ones } else { Form::Zeros },
            forwarding: if either(1) { Forwarding::Off } else { Forwarding::On },
            reassembly: Duration::from_secs(30),
        });
        let mut cx = Context::new();
        let asking = if either(2) { Asking::RFC_1122 } else { Asking::BSD_4_2 };
        let replies = if either(3) { ArpReplies::Own } else { ArpReplies::Everybody };
        for card in 0..CARDS.len() {
            plug(&mut host, &mut cx, card, (asking, replies));
        }
        host.listen(
            LISTENS,
            Config::new(Profile::ALL[usize::from(manners >> 4) % Profile::ALL.len()], MTUS[0]),
        );
        for port in BOUND {
            host.bind(port).expect("the port is free");
        }
        Bed { cx, host, now: Instant::ZERO, heard: Heard::default(), last: Vec::new() }
    }

    fn step(&mut self, script: &mut Script<'_>) {
        match script.byte() % 16 {
            0 => self.pass(Duration::from_micros(u64::from(script.near()) * 100)),
            1 => self.pass(Duration::from_millis(u64::from(script.near()).min(100_000))),
            2 => {
                let len = usize::from(script.byte());
                let bytes = script.bytes(len).to_vec();
                self.give(script.byte(), &bytes);
            }
            3 => {
                let at = usize::from(script.byte()) % self.last.len().max(1);
                let mut again = self.last.clone();
                if let Some(byte) = again.get_mut(at) {
                    *byte ^= script.byte();
                }
                self.give(0, &again);
            }
            4 => self.send(script),
            5 => {
                let change = [LinkChange::Down, LinkChange::Up][usize::from(script.byte() % 2)];
                let link = LinkId(u16::from(script.byte() % 2));
                self.host.handle_link(self.now, &mut self.cx, link, change);
                self.drain();
            }
            _ => {
                let card = script.byte() / 192;
                let bytes = frame(script, &self.heard, card);
                self.give(card, &bytes);
                self.last = bytes;
            }
        }
    }

    /// A frame comes in at a card; what the host sends about it is bounded.
    fn give(&mut self, card: u8, bytes: &[u8]) {
        let frame = self.cx.frames.insert(bytes, 0);
        let link = LinkId(u16::from(card % 2));
        self.host.handle_frame(self.now, &mut self.cx, link, frame);
        let sent = self.drain();
        assert!(sent <= SENT_MAX, "{sent} frames about one");
        self.run();
    }

    /// Sends a datagram to somebody, or everybody.
    fn send(&mut self, script: &mut Script<'_>) {
        let to = Ipv4Addr::new(10, script.byte() % 3, 0, script.byte());
        let way = (BOUND[0], SocketAddrV4::new(to, 9));
        // There is a way to two of three.
        let _no_route = self.host.send_datagram(
            self.now,
            &mut self.cx,
            way,
            b"ping",
            script.near().min(60_000),
        );
        self.drain();
    }

    fn pass(&mut self, span: Duration) {
        self.now += span;
        self.host.handle_timeout(self.now, &mut self.cx);
        self.drain();
    }

    /// Takes all that both cards may send; answers how many frames.
    fn drain(&mut self) -> usize {
        let (mut sent, mut burst) = (0, Burst::new());
        loop {
            let before = sent;
            for link in [0, 1].map(LinkId) {
                burst.clear();
                self.host.poll_transmit(self.now, &mut self.cx, link, &mut burst);
                let mut bytes = 0;
                for frame in &burst.frames {
                    bytes += self.cx.frames.len(*frame) as u64;
                    self.heard.note(self.cx.frames.bytes(*frame), self.cx.frames.elided(*frame));
                    self.cx.frames.remove(*frame);
                    sent += 1;
                }
                if bytes > 0 {
                    self.host.handle_transmitted(self.now, &mut self.cx, link, bytes);
                }
            }
            if sent == before {
                return sent;
            }
        }
    }

    /// The programs: what they read from a connection they write again, and datagrams they take.
    fn run(&mut self) {
        while let Some(event) = self.host.poll_event() {
            let (now, cx) = (self.now, &mut self.cx);
            match event {
                Event::Tcp(id, tcp::Event::Readable) => {
                    let read = self.host.read(now, cx, id, READ_MAX, |_| ());
                    self.host.write(now, cx, id, Data::Elided(read));
                }
                Event::Tcp(id, tcp::Event::PeerClosed) => self.host.close(now, cx, id),
                Event::Tcp(id, tcp::Event::Closed | tcp::Event::Reset) => self.host.forget(cx, id),
                Event::Datagram(port) => {
                    self.host.receive_datagram(cx, port, |_, _| ());
                }
                _ => {}
            }
        }
        self.drain();
    }

    fn check(&self) {
        self.host.check_invariants();
        let held = self.host.held_frames();
        assert_eq!(self.cx.frames.live(), held, "every frame is in the host");
        assert!(held <= HELD_MAX, "{held} frames in the host");
    }

    /// Nothing is left once all that waits has been given up.
    fn end(&mut self) {
        for link in [0, 1].map(LinkId) {
            self.host.handle_link(self.now, &mut self.cx, link, LinkChange::Up);
        }
        self.drain();
        self.run();
        for _ in 0..4 {
            self.pass(LATER);
            self.run();
        }
        self.check();
    }
}

/// Gives the host one of its cards.
fn plug(host: &mut Host, cx: &mut Context, card: usize, manners: (Asking, ArpReplies)) {
    let (mac, address) = CARDS[card];
    let link = LinkId(card as u16);
    let ingress = IngressConfig::DropTail(Limit::Packets(4));
    let mtu = MTUS[card] + HEADER_LEN as u16;
    let config = BondConfig { ingress, ..BondConfig::new(Mode::ActiveBackup, mtu) };
    let bond = Bond::new(Instant::ZERO, config);
    let id = host.attach(bond, address, Ipv4Addr::UNSPECIFIED, &[link]);
    let subnet = Subnet::new(address, 24).expect("a prefix");
    host.plug(id, CardConfig { mac, subnet, asking: manners.0, replies: manners.1 });
    let rate = BitRate::from_bps(10_000_000);
    let member = MemberConfig {
        link,
        rate,
        weight: rate,
        direction: Ways::Both,
        delay: Duration::ZERO,
        queue: Limit::Packets(4),
        priority: 0,
        framing: Framing { header: Header::EthernetFrame, ..Framing::PLAIN },
    };
    host.with_bond(Instant::ZERO, cx, id, |bond, cx| {
        bond.enslave(Instant::ZERO, cx, member).expect("the bond is empty");
    });
}
