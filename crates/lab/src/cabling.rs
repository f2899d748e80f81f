//! From a plan's machines and switches to a fabric.

use crate::build::wire_of;
use crate::fabric::group::{Group, Plug, mac_of};
use crate::fabric::{Buffers, Cable, End, FIRST_ADDRESS, Fabric, Switch};
use crate::queueing::queue_of;
use std::net::Ipv4Addr;
use trunkline_core::Context;
use trunkline_core::bond::{Bond, BondConfig, IngressConfig, MemberConfig, Mode};
use trunkline_core::frame::LinkId;
use trunkline_core::host::Host;
use trunkline_core::link::WireConfig;
use trunkline_core::link::channel::{Channel, ChannelConfig, Clocking};
use trunkline_core::queue::{Class, Classes, DscpSet, Limit, Queue, SharedBuffer};
use trunkline_core::rng::Rng;
use trunkline_core::time::{Duration, Instant};
use trunkline_core::trace::Direction;
use trunkline_core::units::BitRate;
use trunkline_plan::model::Plan;
use trunkline_plan::network::{self, Cards, ETHERNET, Machine, PortQueue};

/// Packets that wait in a machine before its card; its connections are asked for more only while there
/// is room.
const BEFORE_CARD: Limit = Limit::Packets(4);
/// Packets the card has been given and not sent.
const CARD: Limit = Limit::Packets(4);

/// The address of a machine.
pub(crate) fn address(machine: usize) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(FIRST_ADDRESS) + machine as u32)
}

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
        let host = host_of(&machine.name);
        let address = address(position);
        match &machine.bond {
            None => {
                let (cable, link) = plugging.machine(host, machine);
                cards[host].push(cable);
                attach(&mut hosts[host], machine, address, link, cx);
            }
            Some(bond) => {
                cards[host] = plugging.bond(host, machine.cable, bond);
                attach_bond(plan, &mut hosts[host], bond, address, cx, rng);
            }
        }
    }
    for (below, switch) in switches.iter().enumerate() {
        if let Some(cable) = switch.uplink {
            plugging.uplink(below, cable, &switch.name);
        }
    }
    let Plugging { mut fabric, cables_of, .. } = plugging;
    let mac = |(at, machine): (usize, &Machine)| machine.mac.unwrap_or(mac_of(address(at)));
    fabric.macs = machines.iter().enumerate().map(mac).collect();
    for (index, cables) in cables_of.into_iter().enumerate() {
        let of_machine = |m: usize| cards[host_of(&machines[m].name)].as_slice();
        let port = |m: usize| port_to(plan, &fabric, &cables, index, (m, of_machine(m)));
        let ports = (0..machines.len()).map(port).collect();
        let buffers = buffers(plan, &fabric, &cables, index, rng);
        let groups = groups(plan, &fabric, index);
        fabric.switches.push(Switch::new(buffers, cables, ports, groups, plan.lab.warmup));
    }
    fabric.cards = cards;
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
        let plugs = vec![None; plan.links.len()];
        let fabric = Fabric { plugs, ..Fabric::default() };
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
        LinkId((self.plan.links.len() + self.fabric.cables.len() / 2) as u16)
    }

    /// A machine with one card.
    fn machine(&mut self, host: usize, machine: &Machine) -> (usize, LinkId) {
        let (cable, link) = (machine.cable, self.link());
        let far = self.port(cable.to, self.fabric.cables.len() + 1);
        let ways = [Direction::Up, Direction::Down].map(|way| config(&cable, link, way));
        (self.plug(End::Host(host), far, ways, &machine.name), link)
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
            let plug = Plug { host, cable, switch, port, up: true, dark: false };
            self.fabric.plugs[position] = Some(plug);
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

/// The groups of a switch: one for each bond that leads there, with the hash the plan gives it.
fn groups(plan: &Plan, fabric: &Fabric, switch: usize) -> Vec<Group> {
    let here = plan.lab.machines.iter().filter(|machine| machine.cable.to == switch);
    let group = |cards: &Cards| {
        let has_them = |group: &&network::PortGroup| group.links.contains(&cards.links[0]);
        let given = plan.lab.switches[switch].groups.iter().find(has_them);
        let ports = cards.links.iter().filter_map(|link| fabric.plug(*link)).map(|plug| plug.port);
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

/// A machine's card: a bond of one member that everything leaves by.
fn attach(host: &mut Host, machine: &Machine, address: Ipv4Addr, link: LinkId, cx: &mut Context) {
    let cable = machine.cable;
    let ingress = IngressConfig::DropTail(BEFORE_CARD);
    let config = BondConfig { ingress, ..BondConfig::new(Mode::ActiveBackup, cable.mtu) };
    let bond = Bond::new(Instant::ZERO, config);
    let id = host.attach(bond, address, Ipv4Addr::UNSPECIFIED, &[link]);
    host.set_default_route(id);
    let member = MemberConfig {
        link,
        rate: cable.rate,
        weight: cable.rate,
        delay: cable.delay,
        queue: CARD,
        priority: 0,
        framing: ETHERNET,
    };
    let enslaved =
        host.with_bond(Instant::ZERO, cx, id, |bond, cx| bond.enslave(Instant::ZERO, cx, member));
    assert!(enslaved.is_ok(), "a card has a rate, and room for it");
}

/// The port of a switch that leads to a machine with these cards: its own, that of the switch below that has it, or the
/// uplink.
fn port_to(
    plan: &Plan,
    fabric: &Fabric,
    cables: &[usize],
    switch: usize,
    (machine, cards): (usize, &[usize]),
) -> Option<u16> {
    let switches = &plan.lab.switches;
    let home = plan.lab.machines[machine].cable.to;
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
        // A cable's way back is right behind it.
        (End::Host(_), None) => cards.contains(&(*cable - 1)),
        _ => false,
    };
    cables.iter().position(leads).map(|port| port as u16)
}

/// The queues of a switch's ports, in its own memory or each in its own.
fn buffers(plan: &Plan, fabric: &Fabric, cables: &[usize], index: usize, rng: &Rng) -> Buffers {
    let switch = &plan.lab.switches[index];
    let mtu = plan.lab.machines.iter().map(|m| m.cable.mtu).max().unwrap_or(0);
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
