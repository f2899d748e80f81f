//! A half-duplex Ethernet cable with machines that take each frame a while to read.

use crate::Context;
use crate::bond::{Bond, BondConfig, IngressConfig, MemberConfig, Mode, Ways};
use crate::frame::{Burst, Frame, LinkId};
use crate::host::{
    ArpReplies, Asking, CardConfig, Event, Host, InterfaceId, NetworkConfig, NetworkStats, Subnet,
};
use crate::link::Outcome;
use crate::link::csma::{Csma, Layout};
use crate::link::framing::{Framer, Framing, Header};
use crate::queue::Limit;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::BitRate;
use crate::wire::ethernet::{HEADER_LEN, MTU, View};
use crate::wire::mac::MacAddress;
use std::collections::VecDeque;
use std::net::Ipv4Addr;

pub const RATE: BitRate = BitRate::from_bps(10_000_000);
const FRAMING: Framing = Framing { header: Header::EthernetFrame, ..Framing::PLAIN };
const PROPAGATION: Duration = Duration::from_micros(5);
/// Frames that wait for a machine's processor: 4.2BSD's `ipintrq` and the drivers' rings hold about as many.
const INPUT_FRAMES: usize = 50;

/// One station of the cable: a host and the link it is plugged in with.
struct Station {
    host: usize,
    link: LinkId,
    mac: MacAddress,
    framer: Framer,
    handed: VecDeque<Frame>,
    sending: Option<Frame>,
    bytes: u64,
}

/// What a machine has not read yet.
#[derive(Default)]
struct Input {
    waiting: VecDeque<(LinkId, Frame)>,
    done_at: Option<Instant>,
    lost: u64,
}

/// Machines and the cables between them; more than one where a machine has several cards.
pub struct Net {
    pub now: Instant,
    pub cx: Context,
    pub hosts: Vec<Host>,
    cables: Vec<Csma>,
    /// By cable.
    stations: Vec<Vec<Station>>,
    inputs: Vec<Input>,
    /// How long a machine takes for a frame.
    service: Duration,
    /// Frames that got through, by cable.
    pub frames_sent: Vec<u64>,
}

/// The network that all cables of a test are in.
pub fn address(cable: u8, station: u8) -> Ipv4Addr {
    Ipv4Addr::new(128, 8, cable, station)
}

impl Net {
    pub fn new(cables: usize, service: Duration) -> Net {
        let rng = Rng::new(11);
        let cable = |i: usize| {
            let layout = Layout::Star(PROPAGATION);
            Csma::new(RATE, layout, rng.fork(&i.to_string()))
        };
        Net {
            now: Instant::ZERO,
            cx: Context::new(),
            hosts: Vec::new(),
            cables: (0..cables).map(cable).collect(),
            stations: (0..cables).map(|_| Vec::new()).collect(),
            inputs: Vec::new(),
            service,
            frames_sent: vec![0; cables],
        }
    }

    pub fn add_host(&mut self, config: NetworkConfig) -> usize {
        let mut host = Host::new(Rng::new(self.hosts.len() as u64));
        host.join(config);
        self.hosts.push(host);
        self.inputs.push(Input::default());
        self.hosts.len() - 1
    }

    /// Plugs a host into a cable. Its address there ends in its number and one.
    pub fn plug(
        &mut self,
        host: usize,
        cable: usize,
        (prefix, asking, replies): (u8, Asking, ArpReplies),
    ) -> InterfaceId {
        let link = LinkId(cable as u16);
        let ingress = IngressConfig::DropTail(Limit::Packets(4));
        let mtu = MTU + HEADER_LEN as u16;
        let config = BondConfig { ingress, ..BondConfig::new(Mode::ActiveBackup, mtu) };
        let own = address(cable as u8, host as u8 + 1);
        let bond = Bond::new(Instant::ZERO, config);
        let id = self.hosts[host].attach(bond, own, Ipv4Addr::UNSPECIFIED, &[link]);
        let mac = MacAddress::local((cable * 1000 + host) as u32);
        let subnet = Subnet::new(own, prefix).expect("a prefix");
        self.hosts[host].plug(id, CardConfig { mac, subnet, asking, replies });
        let member = MemberConfig {
            link,
            rate: RATE,
            weight: RATE,
            direction: Ways::Both,
            delay: Duration::ZERO,
            queue: Limit::Packets(4),
            priority: 0,
            framing: FRAMING,
        };
        self.hosts[host].with_bond(self.now, &mut self.cx, id, |bond, cx| {
            bond.enslave(Instant::ZERO, cx, member).expect("the bond is empty");
        });
        self.stations[cable].push(Station {
            host,
            link,
            mac,
            framer: Framer::new(FRAMING),
            handed: VecDeque::new(),
            sending: None,
            bytes: 0,
        });
        id
    }

    pub fn lost(&self) -> u64 {
        self.inputs.iter().map(|input| input.lost).sum()
    }

    pub fn stats(&self, host: usize) -> NetworkStats {
        self.hosts[host].network_stats()
    }

    pub fn events(&mut self, host: usize) -> Vec<Event> {
        std::iter::from_fn(|| self.hosts[host].poll_event()).collect()
    }

    /// Lets `span` pass.
    pub fn pass(&mut self, span: Duration) {
        let until = self.now + span;
        loop {
            (0..self.hosts.len()).for_each(|host| self.serve(host));
            let timers = self.hosts.iter_mut().filter_map(Host::next_deadline);
            let media = self.cables.iter().filter_map(Csma::next_finish);
            let inputs = self.inputs.iter().filter_map(|input| input.done_at);
            let next = timers.chain(media).chain(inputs).min();
            let Some(at) = next.filter(|at| *at <= until) else { break };
            self.now = self.now.max(at);
            self.step();
        }
        self.now = until;
        let held: usize = self.hosts.iter().map(Host::held_frames).sum();
        let on_cables = self.stations.iter().flatten();
        let on_cables: usize =
            on_cables.map(|s| s.handed.len() + usize::from(s.sending.is_some())).sum();
        let waiting: usize = self.inputs.iter().map(|input| input.waiting.len()).sum();
        assert_eq!(self.cx.frames.live(), held + on_cables + waiting, "a frame leaked");
    }

    fn step(&mut self) {
        let now = self.now;
        for host in &mut self.hosts {
            if host.next_deadline().is_some_and(|at| at <= now) {
                host.handle_timeout(now, &mut self.cx);
            }
        }
        for cable in 0..self.cables.len() {
            while let Some((slot, outcome)) = self.cables[cable].poll_finished(now) {
                self.finished(cable, usize::from(slot), outcome);
            }
        }
        for host in 0..self.hosts.len() {
            if self.inputs[host].done_at.is_some_and(|at| at <= now) {
                if let Some((link, frame)) = self.inputs[host].waiting.pop_front() {
                    self.hosts[host].handle_frame(now, &mut self.cx, link, frame);
                }
                let more = !self.inputs[host].waiting.is_empty();
                self.inputs[host].done_at = more.then(|| now + self.service);
            }
        }
    }

    fn finished(&mut self, cable: usize, slot: usize, outcome: Outcome) {
        let station = &mut self.stations[cable][slot];
        let frame = station.sending.take().expect("it was sending");
        let len = self.cx.frames.len(frame) as u64;
        station.bytes += len;
        if outcome == Outcome::Sent {
            self.frames_sent[cable] += 1;
            let dst = View::new_checked(self.cx.frames.bytes(frame)).expect("a header").dst();
            for to in 0..self.stations[cable].len() {
                let other = &self.stations[cable][to];
                if to != slot && (dst == other.mac || dst.is_broadcast()) {
                    let copy = self.cx.frames.duplicate(frame);
                    let (host, link) = (other.host, other.link);
                    self.arrive(host, link, copy);
                }
            }
        }
        self.cx.frames.remove(frame);
        let station = &mut self.stations[cable][slot];
        if station.handed.is_empty() {
            let (host, link, bytes) = (station.host, station.link, station.bytes);
            station.bytes = 0;
            self.hosts[host].handle_transmitted(self.now, &mut self.cx, link, bytes);
        }
    }

    fn arrive(&mut self, host: usize, link: LinkId, frame: Frame) {
        let input = &mut self.inputs[host];
        if input.waiting.len() >= INPUT_FRAMES {
            input.lost += 1;
            return self.cx.frames.remove(frame);
        }
        input.waiting.push_back((link, frame));
        input.done_at = input.done_at.or(Some(self.now + self.service));
    }

    fn serve(&mut self, host: usize) {
        for cable in 0..self.cables.len() {
            for slot in 0..self.stations[cable].len() {
                let station = &mut self.stations[cable][slot];
                if station.host != host || station.sending.is_some() {
                    continue;
                }
                if station.handed.is_empty() {
                    let mut burst = Burst::new();
                    let link = station.link;
                    self.hosts[host].poll_transmit(self.now, &mut self.cx, link, &mut burst);
                    station.handed.extend(burst.frames);
                }
                let Some(frame) = station.handed.pop_front() else { continue };
                let (bytes, elided) = (self.cx.frames.bytes(frame), self.cx.frames.elided(frame));
                let bits = station.framer.wire_bits(bytes, elided);
                station.sending = Some(frame);
                self.cables[cable].start(self.now, slot as u16, bits);
            }
        }
    }
}

/// A card of a host that keeps all rules, or none.
pub const CAREFUL: (u8, Asking, ArpReplies) = (24, Asking::RFC_1122, ArpReplies::Own);
pub const CARELESS: (u8, Asking, ArpReplies) = (24, Asking::BSD_4_2, ArpReplies::Own);

impl Net {
    /// Sends a datagram of zeros from a port.
    pub fn send(&mut self, host: usize, port: u16, to: Ipv4Addr, to_port: u16, len: u32) {
        let to = std::net::SocketAddrV4::new(to, to_port);
        let sent =
            self.hosts[host].send_datagram(self.now, &mut self.cx, (port, to), b"x", len - 1);
        sent.expect("a way there");
    }

    /// Sends everybody on a cable a datagram.
    pub fn send_all(&mut self, host: usize, id: InterfaceId, port: u16, payload: &[u8]) {
        let to = self.hosts[host].broadcast_address(id).expect("a card");
        let to = std::net::SocketAddrV4::new(to, port);
        let (now, cx) = (self.now, &mut self.cx);
        let sent = self.hosts[host].send_datagram_by(now, cx, id, (port, to), payload, 0);
        sent.expect("an address");
    }

    /// The lengths of the datagrams that wait at a port.
    pub fn take(&mut self, host: usize, port: u16) -> Vec<usize> {
        let mut lens = Vec::new();
        while let Some(got) = self.hosts[host].receive_datagram(&mut self.cx, port, |_, _| ()) {
            lens.push(got.len);
        }
        lens
    }

    /// For how long somebody has sent, collisions included.
    pub fn busy(&self, cable: usize) -> Duration {
        self.cables[cable].counters(self.now).busy
    }
}
