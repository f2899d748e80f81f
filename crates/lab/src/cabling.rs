//! From a plan's machines, switches and segments to a fabric.

use crate::card::{BEFORE_CARD, CARD, Card};
use crate::etiquette;
use crate::fabric::address::address;
use crate::fabric::group::{Group, Jack, mac_of};
use crate::fabric::segment::{Segment, Station as Tap, slot};
use crate::fabric::{Buffers, Cable, End, Fabric, Switch};
use crate::queueing::queue_of;
use std::net::Ipv4Addr;
use trunkline_core::Context;
use trunkline_core::bond::Bond;
use trunkline_core::frame::LinkId;
use trunkline_core::host::Host;
use trunkline_core::link::channel::{Channel, ChannelConfig, Clocking};
use trunkline_core::link::{Layout, Medium, Receiver, WireConfig};
use trunkline_core::queue::{Class, Classes, DscpSet, Queue, SharedBuffer};
use trunkline_core::rng::Rng;
use trunkline_core::time::{Duration, Instant};
use trunkline_core::trace::Direction;
use trunkline_core::units::BitRate;
use trunkline_core::wire::ethernet;
use trunkline_plan::model::{self, Plan};
use trunkline_plan::network::{
    self, Cards, ETHERNET, HostNetwork, Learning, Machine, PortQueue, Resolution, Station,
};

/// Gives every machine its cards, and plugs all cables in. `host_of` says which host a name is.
pub(crate) fn fabric(
    plan: &Plan,
    hosts: &mut [Host],
    host_of: &dyn Fn(&str) -> usize,
    cx: &mut Context,
    rng: &Rng,
) -> Fabric {
    let machines = &plan.lab.machines;
    let switches = &plan.lab.switches;
    let mut plugging = Plugging::new(plan, rng);
    let mut cards = vec![Vec::new(); hosts.len()];
    for (position, machine) in machines.iter().enumerate() {
        let Some(cable) = machine.cable() else { continue };
        let host = host_of(&machine.name);
        let address = address(position);
        if let Some(bond) = &machine.bond {
            cards[host] = plugging.bond(host, *cable, bond);
            attach_bond(plan, &mut hosts[host], bond, address, cx, rng);
            continue;
        }
        let (index, link) = plugging.machine(host, *cable, &machine.name);
        cards[host].push(index);
        let facts =
            Card { link, rate: cable.rate, delay: cable.delay, mtu: cable.mtu, framing: ETHERNET };
        attach(&mut hosts[host], facts, address, cx);
    }
    for (below, switch) in switches.iter().enumerate() {
        if let Some(cable) = switch.uplink {
            plugging.uplink(below, cable, &switch.name);
        }
    }
    let Plugging { mut fabric, cables_of, .. } = plugging;
    let mac = |(at, machine): (usize, &Machine)| machine.mac.unwrap_or(mac_of(address(at)));
    fabric.macs = machines.iter().enumerate().map(mac).collect();
    fabric.cards = cards;
    stations(plan, hosts, host_of, &mut fabric, cx, rng);
    for (index, cables) in cables_of.into_iter().enumerate() {
        let host = |machine: usize| host_of(&machines[machine].name);
        let learning = switches[index].learning;
        let known = |m: usize| match learning {
            Learning::Known => port_to(plan, &fabric, &cables, index, m, host(m)),
            Learning::Learns => None,
        };
        let ports = (0..machines.len()).map(known).collect();
        let buffers = buffers(plan, &fabric, &cables, index, rng);
        let groups = groups(plan, &fabric, index);
        let warmup = plan.lab.warmup;
        fabric.switches.push(Switch::new(buffers, cables, ports, learning, groups, warmup));
    }
    fabric
}

/// A fabric whose cables are being plugged in.
struct Plugging<'p> {
    plan: &'p Plan,
    rng: &'p Rng,
    fabric: Fabric,
    /// The outgoing cables of each switch's ports.
    cables_of: Vec<Vec<usize>>,
}

impl<'p> Plugging<'p> {
    fn new(plan: &'p Plan, rng: &'p Rng) -> Plugging<'p> {
        let jacks = vec![None; plan.links.len()];
        let fabric = Fabric { jacks, ..Fabric::default() };
        Plugging { plan, rng, fabric, cables_of: vec![Vec::new(); plan.lab.switches.len()] }
    }

    /// The next port of a switch, for a cable it sends into.
    fn port(&mut self, switch: usize, cable: usize) -> End {
        self.cables_of[switch].push(cable);
        End::Port { switch, port: self.cables_of[switch].len() - 1 }
    }

    /// Plugs a cable in: the way there, and the way back behind it. Answers where the first is.
    fn plug(&mut self, near: End, far: End, ways: [ChannelConfig; 2], name: &str) -> usize {
        let rng = self.rng.fork("cable").fork(name);
        let index = self.fabric.cables.len();
        let [up, down] = ways.map(|config| (config, config.link));
        let up = Cable::new(Channel::new(up.0, rng.fork("up")), near, far, up.1);
        let down = Cable::new(Channel::new(down.0, rng.fork("down")), far, near, down.1);
        self.fabric.cables.extend([up, down]);
        index
    }

    /// A number for a cable that is no link of the plan.
    fn link(&self) -> LinkId {
        LinkId((self.plan.links.len() + self.fabric.nameless_cables()) as u16)
    }

    /// A machine with one card.
    fn machine(&mut self, host: usize, cable: network::Cable, name: &str) -> (usize, LinkId) {
        let link = self.link();
        let far = self.port(cable.to, self.fabric.cables.len() + 1);
        let ways = [Direction::Up, Direction::Down].map(|way| config(&cable, link, way));
        (self.plug(End::Host(host), far, ways, name), link)
    }

    /// A machine whose cards are a bond. `first` is the cable of the first; answers them all.
    fn bond(&mut self, host: usize, first: network::Cable, cards: &Cards) -> Vec<usize> {
        let plug = |&position: &usize| {
            let link = &self.plan.links[position];
            let (switch, index) = (first.to, self.fabric.cables.len());
            let far = self.port(switch, index + 1);
            let port = self.cables_of[switch].len() - 1;
            let ways = [Direction::Up, Direction::Down].map(|direction| ChannelConfig {
                rate: link.rate.up,
                wire: wire_of(link),
                ..config(&first, LinkId(position as u16), direction)
            });
            let cable = self.plug(End::Host(host), far, ways, &link.name);
            let member = self.plan.member_config(cards.bond, position, cards.end, CARD);
            let jack = Jack { host, cable, switch, port, up: true, dark: false, member };
            self.fabric.jacks[position] = Some(jack);
            cable
        };
        cards.links.iter().map(plug).collect()
    }

    /// The cable from a switch to the next towards the root.
    fn uplink(&mut self, below: usize, cable: network::Cable, name: &str) {
        let (link, index) = (self.link(), self.fabric.cables.len());
        let far = self.port(cable.to, index + 1);
        let near = self.port(below, index);
        let ways = [Direction::Up, Direction::Down].map(|way| config(&cable, link, way));
        self.plug(near, far, ways, name);
    }
}

fn config(cable: &network::Cable, link: LinkId, direction: Direction) -> ChannelConfig {
    // What a switch sends keeps its pace; a machine's stack and card do not.
    let jitter = if direction == Direction::Up { cable.jitter } else { Duration::ZERO };
    ChannelConfig {
        link,
        direction,
        rate: cable.rate,
        framing: ETHERNET,
        clocking: Clocking::Own,
        wire: WireConfig { delay: cable.delay, jitter, ..WireConfig::default() },
        queue: None,
    }
}

/// Gives every machine on a segment its card. The segments' media come after the chips.
fn stations(
    plan: &Plan,
    hosts: &mut [Host],
    host_of: &dyn Fn(&str) -> usize,
    fabric: &mut Fabric,
    cx: &mut Context,
    rng: &Rng,
) {
    let chips = plan.lab.chips.len();
    let segments = plan.lab.segments.iter().enumerate();
    fabric.segments =
        segments.map(|(i, s)| Segment::new(chips + i, s.rate, s.resolution)).collect();
    let (before, nameless) = (fabric.cables.len(), fabric.nameless_cables());
    for (position, machine) in plan.lab.machines.iter().enumerate() {
        let Some(station) = machine.station() else { continue };
        let host = host_of(&machine.name);
        let rng = rng.fork("cable").fork(&machine.name);
        let taps = Taps { plan, before, nameless, rng };
        let card = tap(&taps, fabric, host, position, *station);
        match plan.lab.segments[station.segment].resolution {
            Resolution::Known => attach(&mut hosts[host], card, address(position), cx),
            Resolution::Arp => {
                hosts[host].join(etiquette::config(&machine.network));
                let own = etiquette::card(&machine.network, station.segment, position);
                etiquette::plug(&mut hosts[host], card, own, cx);
            }
        }
    }
    for (nth, router) in plan.lab.routers.iter().enumerate() {
        let host = host_of(&router.name);
        hosts[host].join(etiquette::router());
        for segment in &router.segments {
            let name = rng.fork("router").fork(&router.name).fork(&segment.to_string());
            let taps = Taps { plan, before, nameless, rng: name };
            let number = plan.lab.machines.len() + nth;
            let station = Station { segment: *segment, mtu: ethernet::MTU, recovery: None };
            let card = tap(&taps, fabric, host, number, station);
            let own = etiquette::card(&HostNetwork::default(), *segment, number);
            etiquette::plug(&mut hosts[host], card, own, cx);
        }
    }
    etiquette::routes(plan, hosts, host_of);
}

/// What it takes to plug a card into a segment.
struct Taps<'p> {
    plan: &'p Plan,
    /// Cables to switches: they come first. Some are links of the plan, and some are not.
    before: usize,
    nameless: usize,
    rng: Rng,
}

/// Plugs a card into a segment, as the station of this number.
fn tap(taps: &Taps<'_>, fabric: &mut Fabric, host: usize, number: usize, station: Station) -> Card {
    let Taps { plan, before, nameless, rng } = taps;
    let segment = &plan.lab.segments[station.segment];
    let index = fabric.cables.len();
    let link = LinkId((plan.links.len() + nameless + index - before) as u16);
    let receiver = station.recovery.map(|recovery| Receiver::new(recovery, rng.fork("receiver")));
    let delay = segment.layout.propagation();
    let wire = WireConfig { delay, ..WireConfig::default() };
    let (rate, clocking) = (segment.rate, Clocking::Chip);
    let direction = Direction::Up;
    let framing = fabric.segments[station.segment].framing();
    let config = ChannelConfig { link, direction, rate, framing, clocking, wire, queue: None };
    let channel = Channel::new(config, rng.fork("up"));
    let to = End::Segment(station.segment);
    fabric.cables.push(Cable::new(channel, End::Host(host), to, link));
    fabric.cards[host].push(index);
    let taker = Tap { host, link, cable: index, receiver };
    fabric.segments[station.segment].join(number, taker);
    Card { link, rate, delay, mtu: station.mtu, framing }
}

/// Stands the stations of every bus along it, at equal distances: those of links, then those of machines.
pub(crate) fn place(plan: &Plan, fabric: &Fabric, media: &mut [Medium]) {
    for (segment, taps) in plan.lab.segments.iter().zip(&fabric.segments) {
        let (Layout::Bus(length), Medium::Cable(cable)) = (segment.layout, &mut media[taps.medium])
        else {
            continue;
        };
        let of_links = segment.links.iter().flat_map(|link| [2 * link, 2 * link + 1]);
        let cards = taps.stations.iter().map(|station| slot(plan.links.len(), station.cable));
        let slots: Vec<u16> = of_links.map(|slot| slot as u16).chain(cards).collect();
        let last = slots.len().saturating_sub(1).max(1) as u64;
        for (slot, nth) in slots.into_iter().zip(0..) {
            cable.place(slot, Duration::from_nanos(length.as_nanos() * nth / last));
        }
    }
}

/// A machine's card: a bond of one member that everything leaves by.
fn attach(host: &mut Host, card: Card, address: Ipv4Addr, cx: &mut Context) {
    let id = card.attach(host, card.mtu, address, cx);
    host.set_default_route(id);
}

/// The wire of a link; both ways are the same.
pub(crate) const fn wire_of(link: &model::Link) -> WireConfig {
    WireConfig {
        delay: link.lab.delay,
        jitter: link.lab.jitter,
        loss: link.lab.loss,
        duplication: link.lab.duplicate,
        reorder: link.lab.reorder.ratio,
        reorder_delay: link.lab.reorder.delay,
        corruption: link.lab.corrupt,
    }
}

/// The groups of a switch: one for each bond that leads there, with the hash the plan gives it.
fn groups(plan: &Plan, fabric: &Fabric, switch: usize) -> Vec<Group> {
    let is_here = |machine: &&Machine| machine.cable().is_some_and(|cable| cable.to == switch);
    let here = plan.lab.machines.iter().filter(is_here);
    let group = |cards: &Cards| {
        let has_them = |group: &&network::PortGroup| group.links.contains(&cards.links[0]);
        let given = plan.lab.switches[switch].groups.iter().find(has_them);
        let ports = cards.links.iter().filter_map(|link| fabric.jack(*link)).map(|jack| jack.port);
        Group::new(ports, given.map(|group| group.hash))
    };
    here.filter_map(|machine| machine.bond.as_ref()).map(group).collect()
}

/// A machine's cards as the bond they are.
fn attach_bond(
    plan: &Plan,
    host: &mut Host,
    cards: &Cards,
    address: Ipv4Addr,
    cx: &mut Context,
    rng: &Rng,
) {
    let (index, end) = (cards.bond, cards.end);
    let bond = &plan.bonds[index];
    let mut epochs = rng.fork("epoch").fork(&bond.name).fork(&bond.ends[end]);
    let config = plan.bond_config(index, end, epochs.next_u32(), BEFORE_CARD);
    let links: Vec<LinkId> = cards.links.iter().map(|link| LinkId(*link as u16)).collect();
    let bond = Bond::new(Instant::ZERO, config);
    let id = host.attach(bond, address, Ipv4Addr::UNSPECIFIED, &links);
    host.set_default_route(id);
    for &link in &cards.links {
        let member = plan.member_config(index, link, end, CARD);
        // An EQL bond that is full refuses; the link then stays outside.
        let _full = host
            .with_bond(Instant::ZERO, cx, id, |bond, cx| bond.enslave(Instant::ZERO, cx, member));
    }
}

/// The port of a switch that leads to a machine: its own, that of the switch below that has it, or the
/// uplink.
fn port_to(
    plan: &Plan,
    fabric: &Fabric,
    cables: &[usize],
    switch: usize,
    machine: usize,
    host: usize,
) -> Option<u16> {
    let switches = &plan.lab.switches;
    let home = plan.lab.machines[machine].cable()?.to;
    if network::root(switches, home) != network::root(switches, switch) {
        return None;
    }
    // The switch on the way from the machine to the root that is just below this one, if it is on it.
    let mut below = None;
    let mut at = Some(home);
    while let Some(current) = at.filter(|current| *current != switch) {
        below = Some(current);
        at = switches[current].uplink.map(|cable| cable.to);
    }
    let uplink = switches[switch].uplink.map(|cable| cable.to);
    let next = match (at, below) {
        (None, _) => uplink,
        (Some(_), below) => below,
    };
    let leads = |cable: &usize| match (fabric.cables[*cable].to, next) {
        (End::Port { switch, .. }, Some(next)) => switch == next,
        (End::Host(at), None) => at == host,
        _ => false,
    };
    cables.iter().position(leads).map(|port| port as u16)
}

/// The queues of a switch's ports, in its own memory or each in its own.
fn buffers(plan: &Plan, fabric: &Fabric, cables: &[usize], index: usize, rng: &Rng) -> Buffers {
    let switch = &plan.lab.switches[index];
    let mtu = plan.lab.machines.iter().map(Machine::mtu).max().unwrap_or(0);
    let queues = cables.iter().map(|cable| {
        let rate = fabric.cables[*cable].channel.config().rate;
        let rng = rng.fork("switch").fork(&switch.name).fork(&cable.to_string());
        port_queue(&switch.queue, rate, mtu, &rng)
    });
    match switch.memory {
        None => Buffers::Own(queues.collect()),
        Some(memory) => {
            Buffers::Shared(SharedBuffer::new(memory.bytes, memory.alpha, queues.collect()))
        }
    }
}

fn port_queue(queue: &PortQueue, rate: BitRate, mtu: u16, rng: &Rng) -> Queue {
    let one = |waiting: &network::Waiting| {
        queue_of(waiting.discipline, waiting.limit.at_rate(rate), rate, mtu, rng)
    };
    match queue {
        PortQueue::One(waiting) => one(waiting),
        PortQueue::Classes { classes, sharing } => {
            let class = |class: &network::PortClass| Class {
                dscps: DscpSet::of(&class.dscps),
                quantum: class.quantum,
                queue: one(&class.queue),
            };
            Queue::Classes(Classes::new(classes.iter().map(class).collect(), *sharing))
        }
    }
}
