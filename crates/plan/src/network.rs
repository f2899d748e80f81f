//! Machines, switches, segments and the cables between them, as values: the part of [`crate::model`] that Ethernet
//! needs.

use crate::discipline::Discipline;
use trunkline_core::bond::HashPolicy;
use trunkline_core::host::{ArpReplies, Form, Forwarding, Rules};
use trunkline_core::link::framing::{Framing, Header};
use trunkline_core::link::{Layout, Recovery};
use trunkline_core::queue::shared::Alpha;
use trunkline_core::queue::{Limit, Sharing};
use trunkline_core::time::Duration;
use trunkline_core::units::BitRate;
use trunkline_core::wire::mac::MacAddress;

/// What a cable carries: untagged Ethernet frames.
pub const ETHERNET: Framing = Framing { header: Header::Ethernet, ..Framing::PLAIN };

/// The same where frames have their own Ethernet header.
pub const ETHERNET_FRAME: Framing = Framing { header: Header::EthernetFrame, ..Framing::PLAIN };

/// A machine with an Ethernet card, or with several that are a bond.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    /// Unique among machines.
    pub name: String,
    /// What it is plugged in with.
    pub plug: Plug,
    /// The bond of its cards, where it has several: `plug` is then the cable of the first.
    pub bond: Option<Cards>,
    /// Its Ethernet address, the same on all its cards; without one it follows from its place.
    pub mac: Option<MacAddress>,
    /// How it behaves where stations ask each other for addresses.
    pub network: HostNetwork,
}

/// The cards of a machine that are a bond; all lead to one switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cards {
    /// Position of the bond in the plan.
    pub bond: usize,
    /// Which of the bond's ends the machine is, 0 or 1.
    pub end: usize,
    /// Positions of the links in the plan, in order of enslaving; never empty.
    pub links: Vec<usize>,
}

/// How a host behaves on a network of many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostNetwork {
    /// What it does about broadcasts.
    pub rules: Rules,
    /// The form it sends, and without the rule for both all it understands.
    pub form: Form,
    /// Whether it passes on what is not for it.
    pub forwarding: Forwarding,
    /// For whom it answers questions for addresses.
    pub replies: ArpReplies,
    /// The router, by its position, that has whatever is not for its own segment. Without one its ways follow from
    /// the plan.
    pub gateway: Option<usize>,
}

/// How the stations of a segment come to know each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Resolution {
    /// They do from the start, and frames carry no Ethernet header of their own.
    #[default]
    Known,
    /// They ask (RFC 826).
    Arp,
}

/// A router with a card on each of some segments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Router {
    /// Unique among routers.
    pub name: String,
    /// Positions of its segments, two at least.
    pub segments: Vec<usize>,
}

/// What a machine's card is plugged in with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plug {
    /// A full-duplex cable to a switch.
    Cable(Cable),
    /// A half-duplex segment, of which it is a station.
    Station(Station),
}

/// A station of a half-duplex segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Station {
    /// Position of the segment.
    pub segment: usize,
    /// Largest packet in bytes.
    pub mtu: u16,
    /// The time its receiver needs after a frame, where it needs some.
    pub recovery: Option<Recovery>,
}

/// A half-duplex Ethernet. Each end of each of its links is a station, and so is each machine on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Unique among segments.
    pub name: String,
    /// Bits per second.
    pub rate: BitRate,
    /// How far apart stations are.
    pub layout: Layout,
    /// Positions in [`crate::model::Plan::links`].
    pub links: Vec<usize>,
    /// How its machines come to know each other.
    pub resolution: Resolution,
}

impl Machine {
    /// The cable to its switch, if it is at one.
    pub const fn cable(&self) -> Option<&Cable> {
        match &self.plug {
            Plug::Cable(cable) => Some(cable),
            Plug::Station(_) => None,
        }
    }

    /// What it is on its segment, if it is on one.
    pub const fn station(&self) -> Option<&Station> {
        match &self.plug {
            Plug::Cable(_) => None,
            Plug::Station(station) => Some(station),
        }
    }

    /// Largest packet in bytes.
    pub const fn mtu(&self) -> u16 {
        match self.plug {
            Plug::Cable(Cable { mtu, .. }) | Plug::Station(Station { mtu, .. }) => mtu,
        }
    }
}

/// Where a machine is in the network: machines at one place reach each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    /// A tree of switches, by its root.
    Tree(usize),
    /// A segment.
    Segment(usize),
}

/// Where a machine is. Segments that routers join are one place, called by its first.
pub fn home(switches: &[Switch], routers: &[Router], machine: &Machine) -> Home {
    match machine.plug {
        Plug::Cable(cable) => Home::Tree(root(switches, cable.to)),
        Plug::Station(station) => {
            Home::Segment(reach(routers, station.segment).into_iter().min().unwrap_or_default())
        }
    }
}

/// The segments that are reached from one, itself first, the nearer before the farther.
pub fn reach(routers: &[Router], from: usize) -> Vec<usize> {
    let mut found = vec![from];
    let mut next = 0;
    while let Some(at) = found.get(next).copied() {
        next += 1;
        for router in routers.iter().filter(|router| router.segments.contains(&at)) {
            for segment in &router.segments {
                if !found.contains(segment) {
                    found.push(*segment);
                }
            }
        }
    }
    found
}

/// A full-duplex cable, seen from the machine or the switch that is plugged in with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cable {
    /// Position of the switch at its other end.
    pub to: usize,
    /// Bits per second in each direction.
    pub rate: BitRate,
    /// One-way propagation delay.
    pub delay: Duration,
    /// Up to this much more on the way to the switch, drawn evenly for each packet; never reorders.
    pub jitter: Duration,
    /// Largest packet in bytes.
    pub mtu: u16,
}

/// A switch with a queue before each port's transmitter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Switch {
    /// Unique among switches.
    pub name: String,
    /// The memory all ports share; each has its own where there is none.
    pub memory: Option<Memory>,
    /// What waits at each port.
    pub queue: PortQueue,
    /// How it comes to know which port leads where.
    pub learning: Learning,
    /// The cable to the next switch towards the root of the tree.
    pub uplink: Option<Cable>,
    /// Ports that lead to one machine together.
    pub groups: Vec<PortGroup>,
}

/// Ports of a switch that are one towards a machine: a static trunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortGroup {
    /// Positions of the links behind these ports, in the plan.
    pub links: Vec<usize>,
    /// What names the port a packet leaves by.
    pub hash: HashPolicy,
}

/// How a switch comes to know which port leads to which machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Learning {
    /// It knows from the start, as one that has heard from all of them.
    Known,
    /// It sees who sends from where, and sends to all ports what is for somebody it has not heard from.
    Learns,
}

/// Memory that the ports of a switch share by dynamic thresholds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// Its size.
    pub bytes: u64,
    /// The share of what is free that one port may fill.
    pub alpha: Alpha,
}

/// What waits at a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PortQueue {
    /// One queue for everything.
    One(Waiting),
    /// A queue for each class of packets.
    Classes {
        /// The classes; the last takes what no other lists.
        classes: Vec<PortClass>,
        /// Who sends next.
        sharing: Sharing,
    },
}

/// A queue before a transmitter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// What it holds.
    pub limit: Limit,
    /// Who may wait there, and how.
    pub discipline: Discipline,
}

/// Packets with certain codepoints and their queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortClass {
    /// The codepoints; empty in the last class, which takes the rest.
    pub dscps: Vec<u8>,
    /// Bytes per turn where classes take turns.
    pub quantum: u32,
    /// Its queue.
    pub queue: Waiting,
}

impl PortQueue {
    /// All its queues.
    pub fn queues(&self) -> impl Iterator<Item = &Waiting> {
        let (one, classes) = match self {
            PortQueue::One(queue) => (Some(queue), &[][..]),
            PortQueue::Classes { classes, .. } => (None, classes.as_slice()),
        };
        one.into_iter().chain(classes.iter().map(|class| &class.queue))
    }
}

/// What a port is called: the switch, and the machine behind it. The ports of a bond's cards are called as its
/// links.
pub fn port_name(switches: &[Switch], machine: &Machine) -> Option<String> {
    if machine.bond.is_some() {
        return None;
    }
    Some(format!("{}.{}", switches.get(machine.cable()?.to)?.name, machine.name))
}

/// The root of the tree a switch is in.
pub fn root(switches: &[Switch], of: usize) -> usize {
    let mut at = of;
    // A plan has no loops; the bound holds before that is known.
    for _ in 0..switches.len() {
        match switches[at].uplink {
            Some(cable) => at = cable.to,
            None => break,
        }
    }
    at
}
