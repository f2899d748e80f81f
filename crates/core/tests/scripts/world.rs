//! One host in virtual time, and what its peer knows of it.

use crate::packet::{self, Packet, SYN};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use trunkline_core::Context;
use trunkline_core::bond::{Bond, BondConfig, MemberConfig, Mode, Ways};
use trunkline_core::frame::{Burst, LinkId};
use trunkline_core::host::{ConnectionId, Event, Host};
use trunkline_core::link::Framing;
use trunkline_core::queue::Limit;
use trunkline_core::rng::Rng;
use trunkline_core::tcp::{Config, Connection, Profile};
use trunkline_core::time::{Duration, Instant};
use trunkline_core::units::BitRate;

const LINK: LinkId = LinkId(0);
/// The host's address, and its peer's.
const ENDS_V4: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2))];
const ENDS_V6: [IpAddr; 2] = [
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2)),
];
/// Where the host listens, and the peer's port in flow 0.
pub const PORT: u16 = 80;
pub const PEER_PORT: u16 = 5000;
/// More than this at once, or timers that expire at once, is a loop without end.
const TURNS_MAX: usize = 20_000;

/// What a run varies and no script may depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    pub header_prediction: bool,
    /// The peer's first sequence number.
    pub peer_iss: u32,
    /// The host's comes from this.
    pub seed: u64,
}

/// What the peer keeps of one conversation.
#[derive(Clone, Debug)]
pub struct Flow {
    pub local_port: u16,
    pub peer_port: u16,
    /// The host's first sequence number, once its SYN was seen.
    pub iss: Option<u32>,
    pub peer_iss: u32,
    pub id: Option<ConnectionId>,
    pub written: usize,
    pub read: usize,
    /// The window field of the peer's last packet.
    pub window: u16,
    /// Whether the host's SYN and the peer's had timestamps.
    pub stamped: [bool; 2],
    /// The last timestamp the host sent.
    pub stamp: u32,
    pub events: Vec<String>,
}

/// A packet that left.
#[derive(Clone, Debug)]
pub struct Sent {
    pub at: Instant,
    pub flow: usize,
    pub packet: Packet,
}

pub struct World {
    /// The addresses spoken with: the host's, and its peer's.
    pub ends: [IpAddr; 2],
    pub now: Instant,
    pub cx: Context,
    pub host: Host,
    pub config: Config,
    pub variant: Variant,
    pub sent: VecDeque<Sent>,
    /// The bytes of the packet sent last.
    pub last: Vec<u8>,
    pub flows: Vec<Flow>,
    pub current: usize,
}

impl World {
    pub fn new(variant: Variant) -> World {
        let mut cx = Context::new();
        let mut bond = Bond::new(Instant::ZERO, BondConfig::new(Mode::Earliest, 65_000));
        // So fast that what may leave leaves at once.
        let rate = BitRate::from_bps(10_000_000_000);
        let member = MemberConfig {
            link: LINK,
            rate,
            weight: rate,
            direction: Ways::Both,
            delay: Duration::ZERO,
            queue: Limit::Packets(1000),
            priority: 0,
            framing: Framing::PLAIN,
        };
        bond.enslave(Instant::ZERO, &mut cx, member).expect("the bond is empty");
        let mut host = Host::new(Rng::new(variant.seed));
        let interface = host.attach(bond, ENDS_V4[0], ENDS_V4[1], &[LINK]);
        host.set_addresses(interface, ENDS_V6[0], ENDS_V6[1]);
        let mut config = Config::new(Profile::Modern, 1500);
        config.header_prediction = variant.header_prediction;
        let mut world = World {
            ends: ENDS_V4,
            now: Instant::ZERO,
            cx,
            host,
            config,
            variant,
            sent: VecDeque::new(),
            last: Vec::new(),
            flows: Vec::new(),
            current: 0,
        };
        world.choose_flow(0, None);
        world
    }

    /// From here on the peer speaks IPv6.
    pub fn speak_v6(&mut self) {
        self.ends = ENDS_V6;
    }

    /// Turns to the flow of this number; it is made when it is new.
    pub fn choose_flow(&mut self, number: u16, iss: Option<u32>) {
        let peer_port = PEER_PORT.wrapping_add(number);
        let known = self.flows.iter().position(|flow| flow.peer_port == peer_port);
        self.current = known.unwrap_or(self.flows.len());
        if known.is_none() {
            self.flows.push(Flow {
                local_port: PORT,
                peer_port,
                iss: None,
                peer_iss: self.variant.peer_iss,
                id: None,
                written: 0,
                read: 0,
                window: u16::MAX,
                stamped: [false; 2],
                stamp: 0,
                events: Vec::new(),
            });
        }
        if let Some(iss) = iss {
            let flow = self.flow();
            flow.peer_iss = flow.peer_iss.wrapping_add(iss);
            flow.iss = None;
            flow.stamped = [false; 2];
            flow.read = 0;
            flow.written = 0;
        }
    }

    pub fn flow(&mut self) -> &mut Flow {
        &mut self.flows[self.current]
    }

    pub fn id(&self) -> Result<ConnectionId, String> {
        self.flows[self.current].id.ok_or_else(|| "there is no connection".to_owned())
    }

    pub fn connection(&self) -> Result<&Connection, String> {
        let id = self.id()?;
        self.host.connection(id).ok_or_else(|| "the connection is forgotten".to_owned())
    }

    pub fn connect(&mut self) -> Result<(), String> {
        let remote = SocketAddr::new(self.ends[1], self.flow().peer_port);
        let config = self.config.clone();
        let opened = self.host.connect(self.now, &mut self.cx, config, remote);
        let id = opened.map_err(|error| format!("connect: {error:?}"))?;
        let connection = self.host.connection(id).ok_or("connect gave no connection")?;
        let local_port = connection.tuple().local.port();
        let flow = self.flow();
        (flow.id, flow.local_port, flow.iss) = (Some(id), local_port, None);
        self.settle()
    }

    /// Bytes arrive from the link.
    pub fn arrive(&mut self, bytes: &[u8]) -> Result<(), String> {
        let frame = self.cx.frames.insert(bytes, 0);
        self.host.handle_frame(self.now, &mut self.cx, LINK, frame);
        self.settle()
    }

    /// Lets time pass, and happen what is due in it, the end included.
    pub fn run_until(&mut self, until: Instant) -> Result<(), String> {
        for _ in 0..TURNS_MAX {
            let next = self.host.next_deadline().filter(|at| *at <= until);
            let Some(at) = next else {
                self.now = self.now.max(until);
                return Ok(());
            };
            self.now = self.now.max(at);
            self.host.handle_timeout(self.now, &mut self.cx);
            self.settle()?;
        }
        Err(format!("timers expire without end at {}", self.now))
    }

    /// Takes what the host sends and says until it is silent.
    pub fn settle(&mut self) -> Result<(), String> {
        let mut burst = Burst::new();
        for _ in 0..TURNS_MAX {
            self.take_events();
            burst.clear();
            self.host.poll_transmit(self.now, &mut self.cx, LINK, &mut burst);
            if burst.is_empty() {
                self.host.check_invariants();
                return self.count_frames();
            }
            let mut packets = Vec::new();
            for frame in std::mem::take(&mut burst.frames) {
                let elided = self.cx.frames.elided(frame) as usize;
                let bytes = self.cx.frames.bytes(frame).to_vec();
                self.cx.frames.remove(frame);
                let len = (bytes.len() + elided) as u64;
                self.host.handle_transmitted(self.now, &mut self.cx, LINK, len);
                packets.push((bytes, elided));
            }
            for (bytes, elided) in packets {
                if elided > 0 {
                    return Err("a packet leaves bytes out that were written".to_owned());
                }
                self.note(bytes)?;
            }
        }
        Err(format!("packets leave without end at {}", self.now))
    }

    fn count_frames(&self) -> Result<(), String> {
        let (live, held) = (self.cx.frames.live(), self.host.held_frames());
        if live == held { Ok(()) } else { Err(format!("{live} frames live, {held} held: a leak")) }
    }

    fn take_events(&mut self) {
        while let Some(event) = self.host.poll_event() {
            let (id, text) = match event {
                Event::Accepted(id) => (id, "accepted".to_owned()),
                Event::Tcp(id, event) => (id, format!("{event:?}").to_lowercase()),
                _ => continue,
            };
            let tuple = self.host.connection(id).map(Connection::tuple);
            let index = self.flows.iter().position(|flow| match tuple {
                Some(tuple) => {
                    let ports = (tuple.local.port(), tuple.remote.port());
                    ports == (flow.local_port, flow.peer_port)
                }
                None => flow.id == Some(id),
            });
            let Some(index) = index else {
                continue;
            };
            let flow = &mut self.flows[index];
            if text == "accepted" {
                flow.id = Some(id);
            }
            flow.events.push(text);
        }
    }

    /// A packet left: the flow it belongs to learns from it.
    fn note(&mut self, bytes: Vec<u8>) -> Result<(), String> {
        if packet::is_icmp(&bytes) {
            return Ok(());
        }
        let (packet, src, dst) = Packet::decode(&bytes)?;
        if [src, dst] != self.ends {
            return Err(format!("a packet leaves from {src} to {dst}"));
        }
        let ports = (packet.src_port, packet.dst_port);
        let flow = self.flows.iter().position(|f| (f.local_port, f.peer_port) == ports);
        let index = flow.ok_or(format!("a packet leaves from port {} to {}", ports.0, ports.1))?;
        let flow = &mut self.flows[index];
        if packet.flags & SYN != 0 && flow.iss.is_none() {
            flow.iss = Some(packet.seq);
        }
        let options = packet::read_options(&packet.options, 0)?;
        for option in &options {
            if let packet::Opt::Stamps(Some(value), _) = option {
                flow.stamp = *value;
            }
        }
        if packet.flags & SYN != 0 {
            flow.stamped[0] = options.iter().any(|o| matches!(o, packet::Opt::Stamps(..)));
        }
        self.sent.push_back(Sent { at: self.now, flow: index, packet });
        self.last = bytes;
        Ok(())
    }
}

/// The byte at a place of the stream the host sends, or of the one it receives.
pub fn host_byte(place: usize) -> u8 {
    (place * 7 + place / 251 + 1) as u8
}
pub fn peer_byte(place: usize) -> u8 {
    (place * 11 + place / 241 + 100) as u8
}
