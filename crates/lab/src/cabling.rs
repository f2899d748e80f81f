//! From a plan's machines, switches and segments to a fabric.

use crate::card::Card;
use crate::etiquette;
use crate::fabric::address::address;
use crate::fabric::segment::{Segment, Station as Tap, slot};
use crate::fabric::{Buffers, Cable, End, Fabric, Switch};
use crate::queueing::queue_of;
use std::net::Ipv4Addr;
use trunkline_core::Context;
use trunkline_core::frame::LinkId;
use trunkline_core::host::Host;
use trunkline_core::link::channel::{Channel, ChannelConfig, Clocking};
use trunkline_core::link::{Layout, Medium, Receiver, WireConfig};
use trunkline_core::queue::{Class, Classes, DscpSet, Queue, SharedBuffer};
use trunkline_core::rng::Rng;
use trunkline_core::time::Duration;
use trunkline_core::trace::Direction;
use trunkline_core::units::BitRate;
use trunkline_core::wire::ethernet;
use trunkline_plan::model::Plan;
use trunkline_plan::network::{
    self, ETHERNET, HostNetwork, Learning, Machine, PortQueue, Resolution, Station,
};

/// Gives every machine its card, and plugs all cables in. `host_of` says which host a name is.
pub(crate) fn fabric(
    plan: &Plan,
    hosts: &mut [Host],
    host_of: &dyn Fn(&str) -> usize,
    cx: &mut Context,
    rng: &Rng,
) -> Fabric {
    let mut fabric = Fabric::default();
    let machines = &plan.lab.machines;
    let switches = &plan.lab.switches;
    let mut cables_of: Vec<Vec<usize>> = vec![Vec::new(); switches.len()];
    let mut plug =
        |cable: network::Cable, name: &str, from: Option<usize>, below: Option<usize>| {
            let index = fabric.cables.len();
            let link = LinkId((plan.links.len() + index / 2) as u16);
            let rng = rng.fork("cable").fork(name);
            let far = End::Port { switch: cable.to, port: cables_of[cable.to].len() };
            cables_of[cable.to].push(index + 1);
            let near = match (from, below) {
                (Some(host), _) => End::Host(host),
                (None, below) => {
                    let switch = below.unwrap_or(cable.to);
                    cables_of[switch].push(index);
                    End::Port { switch, port: cables_of[switch].len() - 1 }
                }
            };
            let channel =
                |direction, label| Channel::new(config(&cable, link, direction), rng.fork(label));
            fabric.cables.push(Cable::new(channel(Direction::Up, "up"), near, far, link));
            fabric.cables.push(Cable::new(channel(Direction::Down, "down"), far, near, link));
            (index, link)
        };
    let mut cards = vec![Vec::new(); hosts.len()];
    for (position, machine) in machines.iter().enumerate() {
        let Some(cable) = machine.cable() else { continue };
        let host = host_of(&machine.name);
        let (index, link) = plug(*cable, &machine.name, Some(host), None);
        cards[host].push(index);
        let facts =
            Card { link, rate: cable.rate, delay: cable.delay, mtu: cable.mtu, framing: ETHERNET };
        attach(&mut hosts[host], facts, address(position), cx);
    }
    for (below, switch) in switches.iter().enumerate() {
        if let Some(cable) = switch.uplink {
            plug(cable, &switch.name, None, Some(below));
        }
    }
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
        fabric.switches.push(Switch::new(buffers, cables, ports, learning, plan.lab.warmup));
    }
    fabric
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
    let before = fabric.cables.len();
    for (position, machine) in plan.lab.machines.iter().enumerate() {
        let Some(station) = machine.station() else { continue };
        let host = host_of(&machine.name);
        let taps = Taps { plan, before, rng: rng.fork("cable").fork(&machine.name) };
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
            let taps = Taps { plan, before, rng: name };
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
    /// Cables to switches: they come first.
    before: usize,
    rng: Rng,
}

/// Plugs a card into a segment, as the station of this number.
fn tap(taps: &Taps<'_>, fabric: &mut Fabric, host: usize, number: usize, station: Station) -> Card {
    let Taps { plan, before, rng } = taps;
    let segment = &plan.lab.segments[station.segment];
    let index = fabric.cables.len();
    let link = LinkId((plan.links.len() + before / 2 + index - before) as u16);
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
