//! The plan as values: what a checked file means, in the core's own types.
//!
//! Names are resolved to positions, defaults are filled in, units are converted. Nothing here reads
//! text; the schema builds these values.

mod bond;
mod one_way;
mod service;

use crate::cpu::SlowHost;
pub use crate::discipline::Discipline;
pub use crate::network::Segment;
use crate::network::{self, Machine, Router, Switch};
pub use one_way::{Cable, Others, OthersTo};
pub use service::{Heartbeat, Rip, Rpc};
use std::net::{IpAddr, SocketAddr};
use trunkline_core::bond::Mode;
use trunkline_core::bond::trunk::{Monitor, Reorder as Order};
use trunkline_core::host::ReversePath;
use trunkline_core::link::ReceiveRingConfig;
use trunkline_core::link::framing::{Framing, HeaderCompression, LineCoding};
use trunkline_core::link::modem::{Blocks, ModemConfig};
use trunkline_core::queue::Limit;
use trunkline_core::tcp::config::Config;
use trunkline_core::time::Duration;
use trunkline_core::units::{BitRate, Ratio};
use trunkline_core::wire::{ipv4, tcp, vj};

/// One runnable plan: every placeholder filled, every name resolved.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The plan's name, as `name` at the top of the file.
    pub name: String,
    /// Links in order of enslaving.
    pub links: Vec<Link>,
    /// Bonds in the order they are written.
    pub bonds: Vec<Bond>,
    /// The ends that are described; every end of a bond is here, with defaults when it has no table.
    pub ends: Vec<End>,
    /// What only virtual time needs.
    pub lab: Lab,
}

/// A link between the two ends of the bond it is a member of.
#[derive(Clone, PartialEq, Debug)]
pub struct Link {
    /// Unique among links.
    pub name: String,
    /// What it is made of.
    pub kind: LinkKind,
    /// Bits per second on the line, start and stop bits included, per direction.
    pub rate: Rates,
    /// What the bond is told of its rate; the upward rate unless the plan says otherwise.
    pub weight: BitRate,
    /// Largest packet in bytes, when the link has a limit of its own; with a tunnel's headers around it.
    pub mtu: Option<u16>,
    /// The one way it carries; none where it carries both.
    pub direction: Option<Direction>,
    /// Whether packets carry our header.
    pub trunk: Trunk,
    /// What a packet costs on the wire.
    pub framing: Framing,
    /// How virtual time treats it.
    pub lab: LinkLab,
    /// What a cable and its modem are; every link of kind `cable` has it, and no other.
    pub cable: Option<Cable>,
    /// The receiving end's card, where its host has to read it.
    pub ring: Option<ReceiveRingConfig>,
    /// What the link is at each end, in the order written.
    pub at: Vec<LinkAt>,
}

/// The kinds of link this version knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkKind {
    /// A serial line: a tty, a modem.
    Serial,
    /// A tunnel: each packet in a UDP datagram.
    Udp,
    /// An Ethernet cable: full duplex and its own, or a segment's.
    Ethernet,
    /// A point-to-point interface that is there already.
    Device,
    /// A channel of a cable television network, one way.
    Cable,
}

/// Whether a link's packets carry our header with sequences (`trunk` in the plan).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trunk {
    /// They go as they are.
    Off,
    /// They do: both ends are ours.
    On,
}

/// The rates of a link's two directions; up runs from a bond's first end to its second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rates {
    /// From the bond's first end.
    pub up: BitRate,
    /// Towards the bond's first end.
    pub down: BitRate,
}

/// A link's wire and queue in virtual time; the same for both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkLab {
    /// One-way propagation delay.
    pub delay: Duration,
    /// Largest extra delay, drawn evenly per frame; never reorders by itself.
    pub jitter: Duration,
    /// What waits in front of the transmitter.
    pub queue: Limit,
    /// What becomes of it there.
    pub discipline: Discipline,
    /// Share of frames lost.
    pub loss: Ratio,
    /// Share of frames delivered twice.
    pub duplicate: Ratio,
    /// Frames held back so that later ones overtake.
    pub reorder: Reorder,
    /// Share of frames damaged.
    pub corrupt: Ratio,
    /// What the network really carries, where that is not the link's rate.
    pub rate: Option<Rates>,
    /// The modems at its ends, where it has some.
    pub modem: Option<Modem>,
}

/// A pair of modems; the line between them has the link's rate and its framing's line coding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Modem {
    /// Speed of the port between computer and modem.
    pub dte: BitRate,
    /// How fast packets come to the queue in front of the port.
    pub feed: BitRate,
    /// Blocks, where the modems correct errors.
    pub blocks: Option<Blocks>,
    /// What compression leaves of the link's payload, in millionths.
    pub payload_ppm: u32,
    /// Bytes a modem holds before it stops the port.
    pub buffer: u32,
}

/// Reordering on a wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reorder {
    /// Share of frames held back.
    pub ratio: Ratio,
    /// For how long.
    pub delay: Duration,
}

/// What a link is on the machine at one end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinkAt {
    /// The end's name.
    pub end: String,
    /// The serial device.
    pub tty: Option<String>,
    /// Speed between computer and modem, in bits per second.
    pub baud: Option<u32>,
    /// Flow control between computer and modem.
    pub flow: Option<FlowControl>,
    /// The network device the link is bound to.
    pub device: Option<String>,
    /// Where the other end is heard from and sent to.
    pub remote: Option<Remote>,
}

/// The other end of a tunnel, as it is seen from one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remote {
    /// Its address.
    pub ip: IpAddr,
    /// Its port; none where only it can begin, from a port of its choice.
    pub port: Option<u16>,
}

/// Flow control on a tty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowControl {
    /// None.
    None,
    /// The RTS and CTS wires.
    RtsCts,
    /// XON and XOFF characters.
    XonXoff,
}

/// Bonds of one end at most: a host of the core has deadlines for so many interfaces.
pub const BONDS_PER_END_MAX: usize = 64;

/// Several links made one.
#[derive(Clone, PartialEq, Debug)]
pub struct Bond {
    /// Unique among bonds.
    pub name: String,
    /// The two ends; "up" runs from the first to the second.
    pub ends: [String; 2],
    /// Positions in [`Plan::links`], in order of enslaving; never empty.
    pub members: Vec<usize>,
    /// The scheduler of each end, as `ends`.
    pub mode: [Mode; 2],
    /// Largest packet in bytes.
    pub mtu: u16,
    /// How many members EQL takes (`max_slaves`).
    pub max_slaves: u16,
    /// Whether members carry our header: all or none.
    pub trunk: Trunk,
    /// Whether a trunk puts flows back into order.
    pub reorder: Order,
    /// How a trunk watches its paths.
    pub monitor: Monitor,
    /// How long a member that only receives may be silent before it is held for down.
    pub traffic: Option<Duration>,
}

/// One end of a bond on its machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// Unique among ends.
    pub name: String,
    /// The device programs see.
    pub device: Option<String>,
    /// What kind of device that is.
    pub kind: EndKind,
    /// Addresses of the device.
    pub address: Vec<Address>,
    /// Networks that are reached over the device.
    pub routes: Vec<Address>,
    /// What it asks of the way a packet has come.
    pub rp_filter: ReversePath,
    /// Where tunnels are listened for.
    pub listen: Option<SocketAddr>,
}

/// What programs see of an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndKind {
    /// An IP device.
    Tun,
    /// An Ethernet device.
    Tap,
    /// No device, only routes.
    Route,
}

/// An address with the length of its network's prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// Bits of the prefix.
    pub prefix: u8,
}

/// The part of a plan only virtual time needs.
#[derive(Clone, PartialEq, Debug)]
pub struct Lab {
    /// Where all randomness comes from.
    pub seed: u64,
    /// When the run ends at the latest.
    pub duration: Duration,
    /// Time not counted in rates, from the start.
    pub warmup: Duration,
    /// How many runs with different seeds.
    pub runs: u32,
    /// What flows.
    pub flows: Vec<Flow>,
    /// UART chips several lines share.
    pub chips: Vec<Chip>,
    /// Half-duplex Ethernet that links and machines share.
    pub segments: Vec<Segment>,
    /// Links that go down and come back.
    pub faults: Vec<Fault>,
    /// Full-duplex switches.
    pub switches: Vec<Switch>,
    /// Machines at switches and on segments.
    pub machines: Vec<Machine>,
    /// Routers between segments.
    pub routers: Vec<Router>,
    /// Hosts and routers that take time for what they do.
    pub slow: Vec<SlowHost>,
    /// Flows that are looked at together.
    pub groups: Vec<Group>,
    /// What must hold afterwards.
    pub expects: Vec<Expect>,
}

/// Something that sends from one end of a bond to the other, or from machines to one over switches.
#[derive(Clone, PartialEq, Debug)]
pub struct Flow {
    /// Unique among flows.
    pub name: String,
    /// The end that sends, or what stands for the machines that do.
    pub from: String,
    /// The other end.
    pub to: String,
    /// What joins the two.
    pub route: Route,
    /// When it starts.
    pub start: Duration,
    /// Up to this much later, drawn evenly for each sender.
    pub start_jitter: Duration,
    /// How much later each sender starts than the one before it.
    pub stagger: Duration,
    /// What it does.
    pub app: App,
    /// The transport of both ends; unused by [`App::Ping`].
    pub tcp: Config,
}

/// What joins the two ends of a flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Route {
    /// A bond.
    Bond {
        /// Position in [`Plan::bonds`].
        bond: usize,
        /// Whether the sender is the bond's first or second end.
        direction: Direction,
    },
    /// Switches, or a segment.
    Switches {
        /// Positions in [`Lab::machines`] of the senders; never empty.
        from: Vec<usize>,
        /// Position of the receiver.
        to: usize,
    },
    /// To everybody on a segment.
    Segment {
        /// Positions in [`Lab::machines`] of the senders, all on it; never empty.
        from: Vec<usize>,
        /// Position in [`Lab::segments`].
        segment: usize,
    },
}

impl Flow {
    /// The bond it goes over, and which way; none over switches.
    pub const fn bond(&self) -> Option<(usize, Direction)> {
        match self.route {
            Route::Bond { bond, direction } => Some((bond, direction)),
            Route::Switches { .. } | Route::Segment { .. } => None,
        }
    }
}

/// Flows that are looked at together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Unique among groups.
    pub name: String,
    /// Positions in [`Lab::flows`].
    pub flows: Vec<usize>,
    /// How long one look at their rates is.
    pub interval: Duration,
}

/// A direction over a bond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the bond's first end to its second.
    Up,
    /// From the bond's second end to its first.
    Down,
}

impl Direction {
    /// The position in [`Bond::ends`] of the end that sends.
    pub const fn sender(self) -> usize {
        match self {
            Direction::Up => 0,
            Direction::Down => 1,
        }
    }
}

/// What a flow does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum App {
    /// One file in one direction.
    Bulk(Bulk),
    /// ICMP echo.
    Ping(Ping),
    /// One asks, many answer.
    Requests(Requests),
    /// Connections opened in a fixed rhythm.
    Attempts(Attempts),
    /// Messages of drawn sizes at drawn times.
    Messages(Messages),
    /// Datagrams of drawn sizes at a rate.
    Datagrams(Datagrams),
    /// Pages, one after the other.
    Web(Web),
    /// Calls of a server by datagrams.
    Rpc(Rpc),
    /// Routes told to everybody.
    Rip(Rip),
    /// Signs of life among the members of a cluster.
    Heartbeat(Heartbeat),
}

/// The receiver of a flow loads web pages from its sender, over connections that stay open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Web {
    /// Bytes of the page itself.
    pub page: u64,
    /// How many objects it shows, which are asked for once it is there.
    pub objects: u32,
    /// Bytes of each.
    pub object: u64,
    /// Connections at a time at most.
    pub connections: u32,
    /// Bytes of a request.
    pub request: u32,
    /// From the end of a page to the begin of the next.
    pub think: Duration,
    /// How many pages; `None` goes on.
    pub count: Option<u32>,
}

/// The receiver of a flow asks all its senders, over connections that stay open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Requests {
    /// Bytes of a request.
    pub request: u32,
    /// Bytes of an answer.
    pub response: u64,
    /// Whether the next round waits until all have answered; else each is asked again at once.
    pub barrier: bool,
    /// From the begin of a round to that of the next, if that has ended; at once without.
    pub interval: Option<Duration>,
    /// How many rounds, or answers of each where there are no rounds; `None` goes on.
    pub count: Option<u32>,
}

/// Connections opened in a fixed rhythm and closed again. Nobody sends a SYN twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attempts {
    /// From one attempt to the next.
    pub interval: Duration,
    /// How long an answer is waited for.
    pub patience: Duration,
    /// How many; `None` goes on until the run ends.
    pub count: Option<u32>,
}

/// Messages, each on a connection of its own from a sender that is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Messages {
    /// The smallest and the largest, in bytes; the logarithm is drawn evenly between them.
    pub bytes: [u64; 2],
    /// The mean time between two, drawn from an exponential distribution.
    pub interval: Duration,
}

/// Datagrams, each from a sender that is drawn or whose turn it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagrams {
    /// Bytes of payload, each as likely as the others; never empty.
    pub sizes: Vec<u32>,
    /// Bits of payload per second, of all senders together.
    pub rate: BitRate,
    /// When the next is due.
    pub spacing: Spacing,
}

/// The times between datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spacing {
    /// Drawn from an exponential distribution, and the sender is drawn too.
    Poisson,
    /// All the same, and the senders take turns.
    Constant,
}

impl Datagrams {
    /// The mean time between two.
    pub fn interval(&self) -> Duration {
        let bits: u64 = self.sizes.iter().map(|size| 8 * u64::from(*size)).sum();
        self.rate.time_for_bits(bits) / (self.sizes.len() as u64).max(1)
    }
}

/// One file in one direction, as FTP or iperf send it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bulk {
    /// How much; `None` sends until its time is over.
    pub bytes: Option<u64>,
    /// How long; `None` is until the run ends.
    pub lasts: Option<Duration>,
    /// Bytes per write to the socket.
    pub write: u32,
    /// What the file holds.
    pub content: Content,
    /// What the stop-watch measures.
    pub clock: Clock,
    /// Time on the stop-watch before the first byte may go.
    pub start_cost: Duration,
}

/// What a file holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// Zeros that exist in length only.
    Zeros,
    /// Real bytes of a pattern, each checked at the other end.
    Pattern,
}

/// When a stop-watch runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// At the receiver, from the first byte to the last.
    FirstToLastByte,
    /// At the sender, from the connection being open until the last write has returned: what is
    /// still in the send buffer is not counted.
    LastWrite,
}

/// ICMP echo in a fixed rhythm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ping {
    /// From one request to the next.
    pub interval: Duration,
    /// Bytes of ICMP payload.
    pub size: u16,
    /// How many; `None` goes on until the run ends.
    pub count: Option<u32>,
    /// Type of service: codepoint and ECN field.
    pub tos: u8,
}

/// A UART chip whose lines share a capacity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chip {
    /// Unique among chips.
    pub name: String,
    /// Sum of bits per second over its lines, as they count on the line; `None` is no limit.
    pub rate: Option<BitRate>,
    /// Positions in [`Plan::links`].
    pub links: Vec<usize>,
}

/// A link that goes down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Position in [`Plan::links`].
    pub link: usize,
    /// When it goes down, from the start.
    pub down_at: Duration,
    /// Whether the ends notice.
    pub kind: FaultKind,
    /// How long it stays down; `None` is for good.
    pub up_after: Option<Duration>,
}

impl Fault {
    /// When it is up again, from the start; `None` is never.
    pub fn up_at(&self) -> Option<Duration> {
        self.up_after.map(|after| self.down_at + after)
    }
}

/// What a fault looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// Both ends lose the carrier.
    Carrier,
    /// Everything is lost, and nobody is told.
    Blackhole,
}

/// A condition on a metric after the run.
#[derive(Clone, PartialEq, Debug)]
pub struct Expect {
    /// The metric, such as `ftp.goodput`.
    pub what: String,
    /// The metric or link fact it is divided by, such as `modem0.rate`.
    pub of: Option<String>,
    /// Smallest value that passes.
    pub min: Option<f64>,
    /// Largest value that passes.
    pub max: Option<f64>,
}

impl Lab {
    /// What the ports towards machines are called.
    pub fn port_names(&self) -> impl Iterator<Item = String> {
        self.machines.iter().filter_map(|machine| network::port_name(&self.switches, machine))
    }
}

impl Plan {
    /// The machine whose cards a bond is made of, where that leads to a switch.
    pub fn machine_of(&self, bond: usize) -> Option<usize> {
        let is_its = |cards: &network::Cards| cards.bond == bond;
        self.lab.machines.iter().position(|machine| machine.bond.as_ref().is_some_and(is_its))
    }

    /// The position of the link with this name.
    pub fn link(&self, name: &str) -> Option<usize> {
        self.links.iter().position(|l| l.name == name)
    }

    /// Whether a run depends on its seed.
    pub fn has_randomness(&self) -> bool {
        let is_drawn = |f: &Flow| {
            let draws =
                matches!(f.app, App::Messages(_) | App::Datagrams(_) | App::Rpc(_) | App::Rip(_));
            draws || !f.start_jitter.is_zero()
        };
        let uplinks = self.lab.switches.iter().filter_map(|switch| switch.uplink.as_ref());
        let mut cables = self.lab.machines.iter().filter_map(Machine::cable).chain(uplinks);
        let red = |queue: &network::Waiting| matches!(queue.discipline, Discipline::Red { .. });
        let mut queues = self.lab.switches.iter().flat_map(|switch| switch.queue.queues());
        !self.lab.segments.is_empty()
            || self.links.iter().any(|l| l.lab.has_randomness())
            || cables.any(|cable| !cable.jitter.is_zero())
            || queues.any(red)
            || self.lab.flows.iter().any(is_drawn)
    }
}

impl Link {
    /// Bytes our header adds to a packet.
    pub const fn header_len(&self) -> u64 {
        match self.trunk {
            Trunk::Off => 0,
            Trunk::On => trunkline_core::wire::trunk::HEADER_LEN as u64,
        }
    }

    /// Thousandths of a bit that a packet of `len` bytes takes on the line in the mean, with all headers.
    pub const fn mean_wire_millibits(&self, len: u64) -> u64 {
        self.framing.mean_wire_millibits(len + self.header_len())
    }

    /// How fast a sender at this end, 0 or 1, is to hand packets over, and how they count: a modem's are
    /// taken by the queue in front of it.
    pub const fn pace(&self, end: usize) -> (BitRate, Framing) {
        match (self.lab.modem, end) {
            (Some(modem), _) => (modem.feed, Framing::PLAIN),
            (None, 0) => (self.rate.up, self.framing),
            (None, _) => (self.rate.down, self.framing),
        }
    }

    /// What the core is told of the link's modems.
    pub fn modem_config(&self) -> Option<ModemConfig> {
        let Modem { dte, blocks, payload_ppm, buffer, .. } = self.lab.modem?;
        Some(ModemConfig { dte, line: self.framing.line, blocks, payload_ppm, buffer })
    }

    /// Thousandths of a bit that a TCP segment takes in the mean on a line of this rate, with everything
    /// around it, when one follows the other; `header` is the length of its IP and TCP headers. Where a
    /// modem's port is slower than its line, what the line could have carried meanwhile.
    pub fn mean_segment_millibits(&self, rate: BitRate, payload: u64, header: u64) -> u64 {
        let header = match self.framing.compression {
            HeaderCompression::VanJacobson if header == PLAIN_HEADERS => {
                vj::COMPRESSED_LEN_MIN as u64
            }
            HeaderCompression::VanJacobson | HeaderCompression::Off => header,
        };
        let Some(modem) = self.modem_config() else {
            return self.mean_wire_millibits(payload + header);
        };
        let millibytes =
            |len| self.framing.mean_wire_millibits(len) / self.framing.line.bits_per_byte();
        let (held, all) = (millibytes(header), millibytes(header + payload));
        let on_line = modem.mean_line_millibits(held, all - held) / 1000;
        let on_port = LineCoding::Async8n1.bits_per_byte() * all;
        let meanwhile =
            u128::from(on_port) * u128::from(rate.as_bps()) / u128::from(modem.dte.as_bps());
        on_line.max(meanwhile as u64)
    }
}

/// Bytes of the headers of IPv4 and TCP without options, the only ones whose changes are told.
const PLAIN_HEADERS: u64 = (ipv4::HEADER_LEN + tcp::HEADER_LEN_MIN) as u64;

impl LinkLab {
    /// Whether every frame that arrives does so once and in its turn.
    pub fn keeps_order(&self) -> bool {
        self.duplicate.is_zero() && self.reorder.ratio.is_zero()
    }

    /// Whether anything on this wire is drawn.
    pub fn has_randomness(&self) -> bool {
        let drawn = [self.loss, self.duplicate, self.reorder.ratio, self.corrupt];
        let red = matches!(self.discipline, Discipline::Red { .. });
        red || !self.jitter.is_zero() || drawn.iter().any(|r| !r.is_zero())
    }
}
