//! From a plan to a world.

use crate::apps::{App, bulk::Bulk, ping::Ping};
use crate::pacer::Pacer;
use crate::world::{Fault, Lane, Link, World};
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use trunkline_core::Context;
use trunkline_core::bond::{Bond, BondConfig, MemberConfig, trunk};
use trunkline_core::frame::LinkId;
use trunkline_core::host::{Host, InterfaceId};
use trunkline_core::link::Chip;
use trunkline_core::link::channel::{Channel, ChannelConfig, Clocking};
use trunkline_core::link::wire::WireConfig;
use trunkline_core::queue::Limit;
use trunkline_core::rng::Rng;
use trunkline_core::time::{Duration, Instant};
use trunkline_core::trace::Direction;
use trunkline_plan::model::{self, LinkKind, Plan};

/// The port the first flow's receiver listens on; the others follow by one.
pub(crate) const FIRST_PORT: u16 = 5001;
/// Packets that wait in a bond before its scheduler. Connections are asked for more only while there
/// is room, so their standing queue is here and short.
const INGRESS: Limit = Limit::Packets(4);

/// The world of a plan; all its randomness comes from `seed`.
pub fn world(plan: &Plan, seed: u64) -> World {
    let rng = Rng::new(seed);
    let mut cx = Context::new();
    let names: Vec<&str> =
        plan.bonds.iter().flat_map(|b| b.ends.iter().map(String::as_str)).collect();
    let mut unique: Vec<&str> = Vec::new();
    for name in names {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    let mut hosts: Vec<Host> =
        unique.iter().map(|name| Host::new(rng.fork("host").fork(name))).collect();
    let host_of = |name: &str| unique.iter().position(|known| *known == name).unwrap_or(0);
    let mut links: Vec<Option<Link>> = plan.links.iter().map(|_| None).collect();
    for (index, bond) in plan.bonds.iter().enumerate() {
        let ends = [host_of(&bond.ends[0]), host_of(&bond.ends[1])];
        let interfaces = attach(plan, index, &ends, &mut hosts, &rng);
        for &member in &bond.members {
            let lanes = [0, 1].map(|lane| {
                let config = member_config(plan, bond, member, lane);
                let channel = channel(plan, member, lane, &rng);
                let pacer = pacer(&plan.links[member], lane);
                Lane::new(channel, pacer, ends[lane], ends[1 - lane], interfaces[lane], config)
            });
            for lane in &lanes {
                hosts[lane.from].with_bond(Instant::ZERO, &mut cx, lane.interface, |bond, cx| {
                    // The plan allows no more members than the bond takes.
                    let _refused = bond.enslave(Instant::ZERO, cx, lane.member);
                });
            }
            let chip = plan.lab.chips.iter().position(|chip| chip.links.contains(&member));
            let skip = plan.links[member].header_len() as usize;
            links[member] = Some(Link { lanes, chip, up: true, dark: false, skip });
        }
    }
    let links = links.into_iter().flatten().collect();
    let chips = plan.lab.chips.iter().map(|chip| Chip::new(chip.rate)).collect();
    let mut world = World::new(hosts, links, chips, cx);
    world.faults = plan.lab.faults.iter().map(fault).collect();
    for (index, flow) in plan.lab.flows.iter().enumerate() {
        let hosts = [host_of(&flow.from), host_of(&flow.to)];
        add_flow(&mut world, plan, index, flow, hosts);
    }
    world
}

fn fault(fault: &model::Fault) -> Fault {
    let down_at = Instant::ZERO + fault.down_at;
    let kind = fault.kind;
    Fault { link: fault.link, kind, down_at, up_at: fault.up_after.map(|after| down_at + after) }
}

/// The address of a bond's end: the plan's first IPv4 address, or one of our own choosing.
fn address(plan: &Plan, bond: usize, end: usize) -> Ipv4Addr {
    let name = &plan.bonds[bond].ends[end];
    let given = plan.ends.iter().find(|e| e.name == *name).and_then(|e| {
        e.address.iter().find_map(|a| match a.ip {
            IpAddr::V4(ip) => Some(ip),
            IpAddr::V6(_) => None,
        })
    });
    // An end of several bonds has one address in the plan: it can be that of its first bond only.
    let first = plan.bonds.iter().position(|b| b.ends.contains(name)) == Some(bond);
    given.filter(|_| first).unwrap_or(Ipv4Addr::new(10, 0, bond as u8, 1 + end as u8))
}

fn attach(
    plan: &Plan,
    index: usize,
    ends: &[usize; 2],
    hosts: &mut [Host],
    rng: &Rng,
) -> [InterfaceId; 2] {
    let bond = &plan.bonds[index];
    let links: Vec<LinkId> = bond.members.iter().map(|m| LinkId(*m as u16)).collect();
    [0, 1].map(|end| {
        let mut epochs = rng.fork("epoch").fork(&bond.name).fork(&bond.ends[end]);
        let config = BondConfig {
            trunk: plan.trunk_config(index, end, epochs.next_u32()),
            mode: bond.mode[end],
            mtu: bond.mtu,
            max_slaves: bond.max_slaves,
            ingress: INGRESS,
        };
        let bond = Bond::new(Instant::ZERO, config);
        let (here, there) = (address(plan, index, end), address(plan, index, 1 - end));
        hosts[ends[end]].attach(bond, here, there, &links)
    })
}

/// Bits per second in one direction: lane 0 runs up.
fn rate(rates: model::Rates, lane: usize) -> trunkline_core::units::BitRate {
    if lane == 0 { rates.up } else { rates.down }
}

fn member_config(plan: &Plan, bond: &model::Bond, member: usize, lane: usize) -> MemberConfig {
    let link = &plan.links[member];
    // What a tunnel's path is like, its bond has to find out.
    let (delay, queue) = match link.kind {
        LinkKind::Serial => (link.lab.delay, link.lab.queue),
        LinkKind::Udp => (Duration::ZERO, trunk::MEMBER_QUEUE),
    };
    MemberConfig {
        link: LinkId(member as u16),
        rate: rate(link.rate, lane),
        weight: link.weight,
        delay,
        queue,
        priority: -(bond.members.iter().position(|m| *m == member).unwrap_or(0) as i32),
        framing: link.framing,
    }
}

fn channel(plan: &Plan, member: usize, lane: usize, rng: &Rng) -> Channel {
    let link = &plan.links[member];
    let on_chip = plan.lab.chips.iter().any(|chip| chip.links.contains(&member));
    let config = ChannelConfig {
        link: LinkId(member as u16),
        direction: if lane == 0 { Direction::Up } else { Direction::Down },
        rate: rate(link.lab.rate.unwrap_or(link.rate), lane),
        framing: link.framing,
        clocking: if on_chip { Clocking::Chip } else { Clocking::Own },
        wire: WireConfig {
            delay: link.lab.delay,
            jitter: link.lab.jitter,
            loss: link.lab.loss,
            duplication: link.lab.duplicate,
            reorder: link.lab.reorder.ratio,
            reorder_delay: link.lab.reorder.delay,
            corruption: link.lab.corrupt,
        },
        queue: link.lab.rate.map(|_| link.lab.queue),
    };
    Channel::new(config, rng.fork("link").fork(&link.name).fork(["up", "down"][lane]))
}

/// Where the network carries another rate than the link is told, frames are paced at the link's rate into
/// the network's queue; elsewhere the network's transmitter is the pacer.
fn pacer(link: &model::Link, lane: usize) -> Option<Pacer> {
    link.lab.rate.map(|_| Pacer::new(rate(link.rate, lane), link.framing))
}

fn add_flow(world: &mut World, plan: &Plan, index: usize, flow: &model::Flow, hosts: [usize; 2]) {
    let peer = address(plan, flow.bond, 1 - flow.direction.sender());
    let app = match &flow.app {
        model::App::Bulk(bulk) => {
            let port = FIRST_PORT + index as u16;
            world.hosts[hosts[1]].listen(port, flow.tcp.clone());
            world.observer.watch(port);
            let remote = SocketAddrV4::new(peer, port);
            let warmup = plan.lab.warmup;
            App::Bulk(Box::new(Bulk::new(
                *bulk,
                hosts,
                flow.tcp.clone(),
                remote,
                flow.start,
                warmup,
            )))
        }
        model::App::Ping(ping) => {
            App::Ping(Ping::new(*ping, hosts, peer, index as u16, flow.start))
        }
    };
    world.apps.push(app);
}
