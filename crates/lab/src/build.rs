//! From a plan to a world.

use crate::apps::attempts::Attempts;
use crate::apps::messages::Messages;
use crate::apps::requests::Requests;
use crate::apps::streams::Streams;
use crate::apps::web::Web;
use crate::apps::{App, bulk::Bulk, ping::Ping};
use crate::cabling::{fabric, place, wire_of};
use crate::cpu::Machine;
use crate::fabric::address::address_of;
use crate::look::Looks;
use crate::one_way;
use crate::queueing::queue_of;
use crate::services::{to_host, to_segment};
use crate::world::{Fault, Lane, Link, Links, World};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use trunkline_core::Context;
use trunkline_core::bond::{Bond, trunk};
use trunkline_core::frame::LinkId;
use trunkline_core::host::{Host, InterfaceId};
use trunkline_core::link::channel::{Channel, ChannelConfig, Clocking};
use trunkline_core::link::{Chip, Csma, Medium, Pacer, ReceiveRing};
use trunkline_core::queue::Limit;
use trunkline_core::rng::Rng;
use trunkline_core::time::{Duration, Instant};
use trunkline_core::trace::Direction;
use trunkline_core::units::BitRate;
use trunkline_plan::model::{self, Discipline, LinkKind, Plan, Route};

/// The port the first flow's receiver listens on; the others follow by one.
pub(crate) const FIRST_PORT: u16 = 5001;
/// Packets that wait in a bond of plain lines before its scheduler. Connections are asked for more only
/// while there is room, so their standing queue is here and short.
const INGRESS: Limit = Limit::Packets(4);

/// The world of a plan; all its randomness comes from `seed`.
pub fn world(plan: &Plan, seed: u64) -> World {
    // A plan that draws nothing runs the same whatever the seed: initial sequence numbers, whose bytes a
    // framing may have to escape, are no reason to differ.
    let rng = Rng::new(if plan.has_randomness() { seed } else { 0 });
    let mut cx = Context::new();
    let between_hosts = |index: &usize| plan.machine_of(*index).is_none();
    let bonds: Vec<usize> = (0..plan.bonds.len()).filter(between_hosts).collect();
    let names = host_names(plan, &bonds);
    let mut hosts: Vec<Host> =
        names.iter().map(|name| Host::new(rng.fork("host").fork(name))).collect();
    let host_of = |name: &str| names.iter().position(|known| *known == name).unwrap_or(0);
    let mut links: Vec<Option<Link>> = plan.links.iter().map(|_| None).collect();
    let addresses = addresses(plan);
    for &index in &bonds {
        let bond = &plan.bonds[index];
        let ends = [host_of(&bond.ends[0]), host_of(&bond.ends[1])];
        let interfaces = attach(plan, index, addresses[index], &ends, &mut hosts, &rng);
        one_way::filter_ways(plan, bond, &mut hosts, ends, interfaces);
        for &member in &bond.members {
            let lanes = lanes(plan, (index, member), ends, interfaces, &rng);
            let medium = medium_of(plan, member);
            let skip = plan.links[member].header_len() as usize;
            links[member] = Some(Link { lanes, medium, up: true, dark: false, skip });
        }
    }
    let fabric = fabric(plan, &mut hosts, &host_of, &mut cx, &rng);
    let mut media = media(plan, &rng);
    place(plan, &fabric, &mut media);
    let mut world = World::new(hosts, Links::new(links), media, cx);
    world.fabric = fabric;
    let looks = plan.lab.groups.iter();
    world.looks = looks.map(|group| Looks::new(group.flows.clone(), group.interval)).collect();
    for &member in bonds.iter().flat_map(|index| &plan.bonds[*index].members) {
        world.enslave(member);
    }
    for slow in &plan.lab.slow {
        let machine = Machine::new(&slow.name, slow.costs.clone(), plan.lab.warmup);
        world.slow_down(host_of(&slow.name), machine);
    }
    world.faults = plan.lab.faults.iter().map(fault).collect();
    add_flows(&mut world, plan, &host_of, &addresses, &rng);
    world
}

/// Makes the applications of all flows. `host_of` says which host a name is.
fn add_flows(
    world: &mut World,
    plan: &Plan,
    host_of: &dyn Fn(&str) -> usize,
    addresses: &[[IpAddr; 2]],
    rng: &Rng,
) {
    for (index, flow) in plan.lab.flows.iter().enumerate() {
        match &flow.route {
            Route::Bond { bond, direction } => {
                let hosts = [host_of(&flow.from), host_of(&flow.to)];
                let sender = direction.sender();
                let ips = [sender, 1 - sender].map(|end| addresses[*bond][end]);
                add_flow(world, plan, index, ips, hosts);
            }
            Route::Switches { from, to } => {
                let host = |machine: usize| host_of(&plan.lab.machines[machine].name);
                let senders: Vec<(usize, usize)> = from.iter().map(|m| (*m, host(*m))).collect();
                let app = switched(world, plan, index, &senders, (*to, host(*to)), rng);
                world.apps.push(app);
            }
            Route::Segment { from, segment } => {
                let host = |machine: usize| host_of(&plan.lab.machines[machine].name);
                let senders: Vec<(usize, usize)> = from.iter().map(|m| (*m, host(*m))).collect();
                let port = FIRST_PORT + index as u16;
                let app = to_segment(world, plan, (index, port), &senders, *segment, rng);
                world.apps.push(app);
            }
        }
    }
}

/// The names of all hosts, each once: the ends of these bonds, then the machines at switches and segments,
/// then routers.
fn host_names<'a>(plan: &'a Plan, bonds: &[usize]) -> Vec<&'a str> {
    let ends = bonds.iter().flat_map(|index| &plan.bonds[*index].ends);
    let machines = plan.lab.machines.iter().map(|machine| &machine.name);
    let routers = plan.lab.routers.iter().map(|router| &router.name);
    let mut names: Vec<&str> = Vec::new();
    for name in ends.chain(machines).chain(routers).map(String::as_str) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The chips, then the Ethernet segments, then the cables.
fn media(plan: &Plan, rng: &Rng) -> Vec<Medium> {
    let chips = plan.lab.chips.iter().map(|chip| Medium::Chip(Chip::new(chip.rate)));
    let segment = |segment: &model::Segment| {
        let rng = rng.fork("segment").fork(&segment.name);
        Medium::Cable(Box::new(Csma::new(segment.rate, segment.layout, rng)))
    };
    let cables = one_way::cables(plan).filter_map(|link| one_way::medium(plan, link));
    chips.chain(plan.lab.segments.iter().map(segment)).chain(cables).collect()
}

/// The position among [`media`] of what a link shares with others.
fn medium_of(plan: &Plan, link: usize) -> Option<usize> {
    let chips = plan.lab.chips.iter().map(|chip| &chip.links);
    let segments = plan.lab.segments.iter().map(|segment| &segment.links);
    let shared = plan.lab.chips.len() + plan.lab.segments.len();
    let cable = || one_way::cables(plan).position(|cable| cable == link);
    let shares = chips.chain(segments).position(|links| links.contains(&link));
    shares.or_else(|| cable().map(|position| shared + position))
}

fn fault(fault: &model::Fault) -> Fault {
    Fault {
        link: fault.link,
        kind: fault.kind,
        down_at: Instant::ZERO + fault.down_at,
        up_at: fault.up_at().map(|at| Instant::ZERO + at),
    }
}

/// The addresses of every bond's two ends: the plan's, or some of our own choosing that nobody has. They
/// are of IPv4, except where the plan gives an end of the bond none of that but one of IPv6.
fn addresses(plan: &Plan) -> Vec<[IpAddr; 2]> {
    let mut taken: BTreeSet<IpAddr> =
        plan.ends.iter().flat_map(|end| &end.address).map(|address| address.ip).collect();
    let of_bond = |bond: usize| {
        let given = |version| [0, 1].map(|end| given_address(plan, bond, end, version));
        let [v4, v6] = [given(Version::V4), given(Version::V6)];
        let lacks_v4 = |end: usize| v4[end].is_none() && v6[end].is_some();
        let (version, given) = match lacks_v4(0) || lacks_v4(1) {
            true => (Version::V6, v6),
            false => (Version::V4, v4),
        };
        [0, 1].map(|end| given[end].unwrap_or_else(|| free(version, bond, end, &mut taken)))
    };
    (0..plan.bonds.len()).map(of_bond).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    V4,
    V6,
}

/// The plan's first address of a version for a bond's end. An end of several bonds has it at its first bond
/// only: an address is that of one interface.
fn given_address(plan: &Plan, bond: usize, end: usize, version: Version) -> Option<IpAddr> {
    let name = &plan.bonds[bond].ends[end];
    let first = plan.bonds.iter().position(|b| b.ends.contains(name)) == Some(bond);
    let described = plan.ends.iter().find(|e| e.name == *name).filter(|_| first)?;
    let ips = described.address.iter().map(|address| address.ip);
    ips.into_iter().find(|ip| ip.is_ipv4() == (version == Version::V4))
}

/// The first address from 10.0.BOND.1 or fd00::BOND:1 (the second end: 2) on that nobody has. It is
/// taken then.
fn free(version: Version, bond: usize, end: usize, taken: &mut BTreeSet<IpAddr>) -> IpAddr {
    let place = end as u32 + 1;
    let nth = |n: u32| match version {
        Version::V4 => {
            let first = u32::from(Ipv4Addr::new(10, 0, 0, 0)) + ((bond as u32) << 8) + place;
            IpAddr::from(Ipv4Addr::from(first.wrapping_add(n)))
        }
        Version::V6 => {
            let net = u128::from(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, bond as u16, 0));
            IpAddr::from(Ipv6Addr::from(net + u128::from(place) + u128::from(n)))
        }
    };
    let mut free = (0..).map(nth);
    free.find(|ip| taken.insert(*ip)).expect("a plan lists fewer addresses than there are")
}

/// Gives both hosts of a bond their interface to it.
fn attach(
    plan: &Plan,
    index: usize,
    addresses: [IpAddr; 2],
    ends: &[usize; 2],
    hosts: &mut [Host],
    rng: &Rng,
) -> [InterfaceId; 2] {
    let bond = &plan.bonds[index];
    let links: Vec<LinkId> = bond.members.iter().map(|m| LinkId(*m as u16)).collect();
    [0, 1].map(|end| {
        let mut epochs = rng.fork("epoch").fork(&bond.name).fork(&bond.ends[end]);
        let config = plan.bond_config(index, end, epochs.next_u32(), INGRESS);
        let bond = Bond::new(Instant::ZERO, config);
        let (here, there) = (addresses[end], addresses[1 - end]);
        hosts[ends[end]].attach(bond, here, there, &links)
    })
}

/// Both directions of a member of a bond, the one up first.
fn lanes(
    plan: &Plan,
    (bond, member): (usize, usize),
    ends: [usize; 2],
    interfaces: [InterfaceId; 2],
    rng: &Rng,
) -> [Lane; 2] {
    let link = &plan.links[member];
    [0, 1].map(|lane| {
        let config = plan.member_config(bond, member, lane, trunk::MEMBER_QUEUE);
        let channel = channel(plan, plan.bonds[bond].mtu, member, lane, rng);
        let (from, to) = (ends[lane], ends[1 - lane]);
        let ring = link.ring.filter(|_| link.carries_from(lane));
        let mut lane = Lane::new(channel, pacer(link, lane), from, to, interfaces[lane], config);
        lane.ring = ring.map(ReceiveRing::new);
        lane
    })
}

/// Bits per second in one direction: lane 0 runs up.
fn rate(rates: model::Rates, lane: usize) -> BitRate {
    if lane == 0 { rates.up } else { rates.down }
}

fn channel(plan: &Plan, mtu: u16, member: usize, lane: usize, rng: &Rng) -> Channel {
    let link = &plan.links[member];
    let shares = medium_of(plan, member).is_some();
    let config = ChannelConfig {
        link: LinkId(member as u16),
        direction: if lane == 0 { Direction::Up } else { Direction::Down },
        rate: rate(link.lab.rate.unwrap_or(link.rate), lane),
        framing: link.framing,
        clocking: match link.modem_config() {
            Some(modem) => Clocking::Modem(modem),
            None if shares => Clocking::Chip,
            None => Clocking::Own,
        },
        wire: wire_of(link),
        queue: (link.lab.rate.is_some() || link.lab.modem.is_some()).then_some(link.lab.queue),
    };
    let rng = rng.fork("link").fork(&link.name).fork(["up", "down"][lane]);
    let limit = link.lab.queue.at_rate(config.rate);
    let queue = match link.lab.discipline {
        Discipline::DropTail => None,
        discipline => Some(queue_of(discipline, limit, config.rate, mtu, &rng)),
    };
    let channel = one_way::channel(Channel::new(config, rng), link, lane);
    match queue {
        Some(queue) => channel.with_queue(queue),
        None => channel,
    }
}

/// A line's or a card's transmitter tells its sender when a frame is out. A network, and the queue in front
/// of a modem, tell nobody: what they are given is counted out at a rate, as on a machine.
fn pacer(link: &model::Link, lane: usize) -> Option<Pacer> {
    let tells = match link.kind {
        LinkKind::Serial | LinkKind::Device => link.lab.modem.is_none(),
        LinkKind::Ethernet => link.lab.rate.is_none(),
        LinkKind::Cable => true,
        LinkKind::Udp => false,
    };
    (!tells).then(|| {
        let (rate, framing) = link.pace(lane);
        Pacer::new(rate, framing)
    })
}

/// Makes a flow's application. It sends from the first of `hosts`, and of their addresses, to the second.
fn add_flow(
    world: &mut World,
    plan: &Plan,
    index: usize,
    [own, peer]: [IpAddr; 2],
    hosts: [usize; 2],
) {
    let flow = &plan.lab.flows[index];
    let app = match &flow.app {
        model::App::Bulk(bulk) => {
            let port = FIRST_PORT + index as u16;
            world.hosts[hosts[1]].listen(port, flow.tcp.clone());
            world.observer.watch(port);
            let remote = SocketAddr::new(peer, port);
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
        model::App::Web(web) => {
            let port = FIRST_PORT + index as u16;
            world.hosts[hosts[0]].listen(port, flow.tcp.clone());
            let (remote, times) = (SocketAddr::new(own, port), [flow.start, plan.lab.warmup]);
            App::Web(Box::new(Web::new(*web, hosts, flow.tcp.clone(), remote, times)))
        }
        other => unreachable!("the plan lets no {other:?} run over a bond"),
    };
    world.apps.push(app);
}

/// When a machine among the senders of a flow starts.
fn start_of(
    plan: &Plan,
    flow: &model::Flow,
    senders: &[(usize, usize)],
    machine: usize,
    rng: &Rng,
) -> Duration {
    let mut rng = rng.fork(&plan.lab.machines[machine].name);
    let place = senders.iter().position(|(sender, _)| *sender == machine).unwrap_or(0);
    let jitter = Duration::from_nanos(rng.between(0, flow.start_jitter.as_nanos()));
    flow.start + flow.stagger * place as u64 + jitter
}

/// The application of a flow over switches. Machines come with their hosts.
fn switched(
    world: &mut World,
    plan: &Plan,
    index: usize,
    senders: &[(usize, usize)],
    (to, receiver): (usize, usize),
    rng: &Rng,
) -> App {
    let flow = &plan.lab.flows[index];
    let port = FIRST_PORT + index as u16;
    let at = |machine: usize| SocketAddr::new(address_of(plan, machine).into(), port);
    let (tcp, warmup, remote) = (&flow.tcp, plan.lab.warmup, at(to));
    let rng = rng.fork("flow").fork(&flow.name);
    let start = |machine: usize| start_of(plan, flow, senders, machine, &rng);
    let times = [start(senders[0].0), warmup];
    let hosts: Vec<usize> = senders.iter().map(|(_, host)| *host).collect();
    match &flow.app {
        model::App::Ping(ping) => {
            let (machine, host) = senders[0];
            let peer = address_of(plan, to).into();
            App::Ping(Ping::new(*ping, [host, receiver], peer, index as u16, start(machine)))
        }
        model::App::Bulk(bulk) => {
            world.hosts[receiver].listen(port, tcp.clone());
            let one = |(machine, host): &(usize, usize)| {
                Bulk::new(*bulk, [*host, receiver], tcp.clone(), remote, start(*machine), warmup)
            };
            App::Streams(streams(plan, senders, one, port))
        }
        model::App::Requests(requests) => {
            let server = |(machine, host): &(usize, usize)| {
                world.hosts[*host].listen(port, tcp.clone());
                (*host, at(*machine), Instant::ZERO + start(*machine))
            };
            let servers: Vec<_> = senders.iter().map(server).collect();
            let requests = Requests::new(*requests, receiver, tcp.clone(), &servers, warmup);
            App::Requests(Box::new(requests))
        }
        model::App::Web(web) => {
            let (machine, host) = senders[0];
            world.hosts[host].listen(port, tcp.clone());
            App::Web(Box::new(Web::new(*web, [host, receiver], tcp.clone(), at(machine), times)))
        }
        model::App::Attempts(attempts) => {
            world.hosts[receiver].listen(port, tcp.clone());
            let attempts = Attempts::new(*attempts, hosts, receiver, tcp.clone(), remote, times);
            App::Attempts(Box::new(attempts))
        }
        model::App::Messages(messages) => {
            world.hosts[receiver].listen(port, tcp.clone());
            let rng = rng.fork("messages");
            let (messages, tcp) = (*messages, tcp.clone());
            App::Messages(Box::new(Messages::new(
                messages, hosts, receiver, tcp, remote, times, rng,
            )))
        }
        _ => to_host(world, plan, (index, port), hosts, (to, receiver), (times[0], &rng)),
    }
}

/// Files from several machines, by machine and host, of which each is as `one` says.
fn streams(
    plan: &Plan,
    senders: &[(usize, usize)],
    one: impl Fn(&(usize, usize)) -> Bulk,
    port: u16,
) -> Streams {
    let addresses = senders.iter().map(|(machine, _)| address_of(plan, *machine).into());
    Streams::new(senders.iter().map(one).collect(), addresses.collect(), port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_plan::Document;

    /// A plan of `bonds` bonds with one line each, from the end `hub` to ends of their own.
    fn star(bonds: usize, more: &str) -> Plan {
        let mut text = format!(
            "name = \"star\"\n[[link]]\nname = \"line\"\ncount = {bonds}\nkind = \"serial\"\nrate = \"1mbit\"\n"
        );
        for i in 0..bonds {
            text += &format!("[bond.b{i}]\nends = [\"hub\", \"e{i}\"]\nmembers = [\"line{i}\"]\n");
            text += &format!("[[lab.flow]]\nname = \"f{i}\"\nfrom = \"hub\"\nto = \"e{i}\"\n");
            text += "app = { kind = \"bulk\", bytes = \"10KB\" }\n";
        }
        let document = Document::parse("star.toml", text + more, &|_| Err(String::new()));
        let experiment = document.expect("TOML").experiment().expect("an experiment");
        experiment.plan(0, None).unwrap_or_else(|d| panic!("{d}"))
    }

    fn completes(plan: &Plan) {
        let ended = world(plan, 1).run(Duration::from_secs(600));
        assert_eq!(ended, crate::world::Ended::Complete);
    }

    #[test]
    fn addresses_of_our_own_choosing_avoid_the_plans_and_each_other() {
        let plan = star(
            3,
            "[end.e1]\naddress = [\"10.0.0.1/24\"]\n[end.e2]\naddress = [\"10.0.1.1/24\", \"10.0.0.2/24\"]\n",
        );
        let all: Vec<[String; 2]> =
            addresses(&plan).iter().map(|pair| pair.map(|ip| ip.to_string())).collect();
        let expected =
            [["10.0.0.3", "10.0.0.4"], ["10.0.1.2", "10.0.0.1"], ["10.0.2.1", "10.0.1.1"]];
        assert_eq!(all, expected);
        completes(&plan);
    }

    #[test]
    fn ends_with_ipv6_addresses_only_speak_ipv6() {
        let plan = star(
            3,
            "[end.e0]\naddress = [\"fd00::9/64\"]\n[end.e1]\naddress = [\"fd00:0:0:1::1/64\"]\n\
             [end.e2]\naddress = [\"10.9.9.9/24\", \"fd00:0:0:2::1/64\"]\n",
        );
        let all: Vec<[String; 2]> =
            addresses(&plan).iter().map(|pair| pair.map(|ip| ip.to_string())).collect();
        let expected =
            [["fd00::1", "fd00::9"], ["fd00::1:1", "fd00:0:0:1::1"], ["10.0.2.1", "10.9.9.9"]];
        assert_eq!(all, expected);
        completes(&plan);
    }

    #[test]
    fn an_end_takes_as_many_bonds_as_a_plan_may_give_it() {
        completes(&star(trunkline_plan::model::BONDS_PER_END_MAX, ""));
    }
}
