//! `[[lab.switch]]` and `[[lab.host]]`: full-duplex Ethernet, and hosts on segments.

use super::port_group::{self, Plugged};
use super::queue::{Place as QueuePlace, queue};
use super::{Scope, cpu, etiquette, station, topology};
use crate::diagnostic::{Problem, Problems, nearest};
use crate::model::{Bond, Discipline, Link, Segment};
use crate::network::{
    self, Cable, Learning, Machine, Memory, Plug, PortClass, PortGroup, PortQueue, Router, Switch,
    Waiting,
};
use crate::reader::{self, Section, Taken, Unfit};
use crate::source::Place;
use crate::tree::{Node, Value};
use trunkline_core::queue::shared::Alpha;
use trunkline_core::queue::{Limit, Sharing};
use trunkline_core::time::Duration;
use trunkline_core::units::BitRate;
use trunkline_core::wire::mac::MacAddress;

const POLICIES: [(&str, ()); 1] = [("dynamic-threshold", ())];
const SHARINGS: [(&str, Sharing); 2] = [("drr", Sharing::Drr), ("strict", Sharing::Strict)];

/// What Ethernet carries without jumbo frames, and the most that cards and switches take.
const MTU: u16 = 1500;
const MTU_MAX: i128 = 9216;
/// What a port holds where nothing is said.
const PORT_BYTES: u64 = 1_000_000;
/// A class's turn: a jumbo frame's packet.
const QUANTUM: u32 = 9000;
/// Parts of one that `alpha` is read in.
const ALPHA_PARTS: f64 = 1_000_000.0;

/// The switches and machines of a plan.
#[derive(Default)]
pub(super) struct Network {
    pub(super) switches: Vec<Switch>,
    pub(super) machines: Vec<Machine>,
    /// The names of the segments.
    pub(super) segments: Vec<String>,
    /// Positions of the bonds that lead to a switch.
    pub(super) plugged: Vec<usize>,
    /// What joins segments.
    pub(super) routers: Vec<Router>,
    /// Whether a switch or machine was left out because it is wrong.
    pub(super) is_partial: bool,
}

pub(super) fn network(
    s: &mut Section<'_>,
    scope: &mut Scope,
    segments: &[Segment],
    (links, bonds): (&[Link], &[Bond]),
    problems: &mut Problems,
) -> Network {
    let sections = s.sections(problems, "switch");
    let names: Vec<String> = sections
        .iter()
        .filter_map(|s| Some(s.table().node("name")?.as_text()?.to_owned()))
        .collect();
    let names_of_segments = segments.iter().map(|segment| segment.name.clone()).collect();
    let mut network = Network { segments: names_of_segments, ..Network::default() };
    let routers = etiquette::routers(s, scope, segments, problems);
    network.routers.clone_from(&routers.list);
    let (mut places, mut rates, mut group_places) = (Vec::new(), Vec::new(), Vec::new());
    let (place, count) = (sections.first().map_or(s.place, |s| s.place), sections.len());
    let told = problems.len();
    for section in sections {
        let place = section.table().node("link").map_or(section.place, |node| node.place);
        if let Some((switch, rate, groups)) =
            switch(section, (&names, &network.segments), scope, problems)
        {
            network.switches.push(switch);
            places.push(place);
            rates.push(rate);
            group_places.push(groups);
        }
    }
    let is_sound = problems.len() == told;
    let told = problems.len();
    network.is_partial =
        network.switches.len() < count || routers.is_partial() || scope.lacks_bonds;
    if network.switches.len() == count {
        topology::loops(&network.switches, &places, problems);
    }
    topology::bond_ends(bonds, scope, (&network.segments, &routers.names), problems);
    let plugged = port_group::plugged((&names, &network.switches), (links, bonds), scope, problems);
    network.plugged = plugged.iter().map(|bond| bond.cards.bond).collect();
    if is_sound {
        port_group::strays(&network.switches, bonds, scope, problems);
    }
    network.is_partial |= !is_sound || problems.len() > told;
    let lacks = network.is_partial;
    let known = Known { names: &names, rates: &rates, plugged: &plugged, routers: &routers, lacks };
    hosts(s, (&mut network, segments), (&known, bonds), scope, problems);
    for bond in &plugged {
        let is_known = |kind| kind == "host" || lacks;
        if scope.names.iter().any(|named| is_known(named.kind) && named.name == bond.name) {
            continue;
        }
        scope.claim("host", &bond.name, place, problems);
        network.is_partial |= bond.cable.is_none();
        network.machines.extend(bond.machine());
    }
    scope.lacks_ports = network.is_partial;
    if !network.is_partial {
        port_group::check(&network.switches, &group_places, &plugged, bonds, scope, problems);
    }
    let machines = network.machines.iter();
    scope.ports = machines.filter_map(|m| network::port_name(&network.switches, m)).collect();
    network
}

/// Reads the hosts that are described.
fn hosts(
    s: &mut Section<'_>,
    (network, segments): (&mut Network, &[Segment]),
    (known, bonds): (&Known<'_>, &[Bond]),
    scope: &mut Scope,
    problems: &mut Problems,
) {
    for section in s.sections(problems, "host") {
        let is_plugged =
            known.plugged.iter().any(|bond| Some(bond.name.as_str()) == section.table().name());
        if !is_plugged && !known.lacks && cpu::is_end(&section, bonds) {
            cpu::end(section, scope, problems);
            continue;
        }
        let machine = machine(section, (network, segments), known, scope, problems);
        network.is_partial |= machine.is_none();
        network.machines.extend(machine);
    }
}

/// What a port's rate was said to be, if it was.
type PortRate = Option<BitRate>;

/// What is known when hosts are read.
struct Known<'k> {
    /// The names of all switches.
    names: &'k [String],
    /// The rates they say.
    rates: &'k [PortRate],
    /// The bonds that lead to them.
    plugged: &'k [Plugged],
    routers: &'k etiquette::Routers,
    /// Whether a switch, a router or a bond was left out because it is wrong.
    lacks: bool,
}

fn switch(
    mut s: Section<'_>,
    (names, segments): (&[String], &[String]),
    scope: &mut Scope,
    problems: &mut Problems,
) -> Option<(Switch, PortRate, Vec<Place>)> {
    let name = super::lab::name(&mut s, "switch", scope, problems);
    let memory = s.section(problems, "buffer").map(|s| memory(s, problems));
    let room = memory.flatten().map_or(PORT_BYTES, |memory| memory.bytes);
    let port = s.section(problems, "port");
    let (queue, rate) = match port {
        Some(section) => port_of(section, Limit::Bytes(room), problems),
        None => (PortQueue::One(drop_tail(Limit::Bytes(room))), None),
    };
    let why = "a switch has one way towards the root of its tree. A second makes a loop";
    let link = link(&mut s, &format!("{why}: {}", topology::LOOP), problems);
    let uplink = link.map(|s| cable(s, (names, segments), Side::Switch, problems));
    let learning = match s.or(problems, "learning", false, reader::flag) {
        true => Learning::Learns,
        false => Learning::Known,
    };
    let groups = port_group::groups(&mut s, scope, problems);
    s.node("count");
    s.finish(problems);
    let (groups, places): (Vec<PortGroup>, Vec<Place>) = groups.into_iter().unzip();
    let uplink = match uplink {
        Some(cable) => Some(cable?),
        None => None,
    };
    let memory = memory.flatten();
    Some((Switch { name: name?, memory, queue, learning, uplink, groups }, rate, places))
}

const fn drop_tail(limit: Limit) -> Waiting {
    Waiting { limit, discipline: Discipline::DropTail }
}

/// `{ total, policy, alpha }`.
fn memory(mut s: Section<'_>, problems: &mut Problems) -> Option<Memory> {
    let bytes = s.req(problems, "total", "\"4MB\"", reader::size(10_000, 1 << 40));
    s.or(problems, "policy", (), reader::choice(&POLICIES, &[]));
    let one = Alpha::new(1, 1);
    let alpha = s.opt(problems, "alpha", alpha).or(one);
    s.finish(problems);
    Some(Memory { bytes: bytes?, alpha: alpha? })
}

/// From a thousandth to a thousand, as vendors offer it.
fn alpha(node: &Node) -> Taken<Alpha> {
    let value = reader::number(node)?;
    let unfit = || Unfit::new("is out of range", "a number from 0.001 to 1000");
    if !(0.001..=1000.0).contains(&value) {
        return Err(unfit());
    }
    Alpha::new((value * ALPHA_PARTS) as u32, ALPHA_PARTS as u32).ok_or_else(unfit)
}

/// `port = { rate, queue }` or `{ rate, classes, between }`.
fn port_of(mut s: Section<'_>, limit: Limit, problems: &mut Problems) -> (PortQueue, PortRate) {
    let rate = s.opt(problems, "rate", reader::rate);
    let classes = s.sections(problems, "classes");
    let sharing = s.or(problems, "between", Sharing::Drr, reader::choice(&SHARINGS, &[]));
    let is_both = s.node("queue").is_some() && s.node("classes").is_some();
    if is_both {
        let problem = Problem::new(s.place, s.key("queue"), "a port has a `queue` or `classes`");
        problems.push(problem.accepted(["one of both"]));
    }
    if s.node("classes").is_none() {
        if let Some(node) = s.node("between") {
            let message = "`between` says who of several `classes` sends next";
            let problem = Problem::new(node.place, s.key("between"), message);
            problems.push(problem.accepted(["no `between` without `classes`"]));
        }
        let (limit, discipline) = queue(limit, QueuePlace::Network, &mut s, problems);
        s.finish(problems);
        return (PortQueue::One(Waiting { limit, discipline }), rate);
    }
    let last = classes.len().saturating_sub(1);
    let place = s.place;
    let key = s.key("classes");
    let classes: Vec<PortClass> = classes
        .into_iter()
        .enumerate()
        .filter_map(|(i, s)| class(s, limit, i == last, problems))
        .collect();
    if classes.is_empty() && problems.is_empty() {
        let problem = Problem::new(place, key, "there are no classes");
        problems.push(problem.accepted(["classes = [{ dscp = \"any\", queue = { … } }]"]));
    }
    s.finish(problems);
    (PortQueue::Classes { classes, sharing }, rate)
}

/// `{ dscp, quantum, queue }`; the last class takes what is left.
fn class(
    mut s: Section<'_>,
    limit: Limit,
    is_last: bool,
    problems: &mut Problems,
) -> Option<PortClass> {
    let dscps = s.req(problems, "dscp", "[1] or \"any\"", dscps(is_last));
    let quantum = s.or(problems, "quantum", QUANTUM, reader::size(64, 1 << 24));
    let (limit, discipline) = queue(limit, QueuePlace::Network, &mut s, problems);
    s.finish(problems);
    Some(PortClass { dscps: dscps?, quantum, queue: Waiting { limit, discipline } })
}

fn dscps(is_last: bool) -> impl Fn(&Node) -> Taken<Vec<u8>> {
    move |node| {
        let form = "a list of codepoints from 0 to 63 such as [1], and \"any\" for the last class";
        match (&node.value, is_last) {
            (Value::Text(text), true) if text == "any" => Ok(Vec::new()),
            (Value::Text(text), false) if text == "any" => {
                Err(Unfit::new("is \"any\" before the last class: those behind get nothing", form))
            }
            (Value::Array(_), true) => {
                Err(Unfit::new("of the last class leaves packets nowhere to go", "\"any\""))
            }
            (Value::Array(nodes), false) if !nodes.is_empty() => {
                let codepoint = |node| reader::whole::<u8>(0, 63)(node);
                nodes.iter().map(codepoint).collect()
            }
            _ => Err(Unfit::new("is no list of codepoints", form)),
        }
    }
}

/// The only `link` of a machine or switch.
fn link<'t>(s: &mut Section<'t>, why: &str, problems: &mut Problems) -> Option<Section<'t>> {
    let several = |node: &&Node| node.as_array().is_some_and(|nodes| nodes.len() > 1);
    let Some(node) = s.node("link").filter(several) else {
        return s.section(problems, "link");
    };
    let problem = Problem::new(node.place, s.key("link"), format!("several `link`s: {why}"));
    problems.push(problem.accepted(["link = { … }, once"]));
    None
}

/// Whose cable it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Switch,
    Host,
}

/// `link = { to, rate, delay, jitter, mtu }` of a machine or a switch, which leads to one of `switches`. Without
/// `to` it is not known what else it needs.
fn cable(
    mut s: Section<'_>,
    (switches, segments): (&[String], &[String]),
    side: Side,
    problems: &mut Problems,
) -> Option<Cable> {
    let to = s.req(problems, "to", "\"SWITCH\"", |node| {
        let name = reader::text(node)?;
        switches.iter().position(|known| *known == name).ok_or_else(|| {
            let (what, accepted) = match side {
                Side::Host => ("no switch and no segment", [switches, segments].concat()),
                Side::Switch if segments.contains(&name) => {
                    ("a segment: the `link` of a switch leads to a switch", switches.to_vec())
                }
                Side::Switch => ("no switch", switches.to_vec()),
            };
            let nearest = nearest(&name, &accepted);
            Unfit { message: format!("\"{name}\" is {what}"), accepted, nearest }
        })
    });
    let rate = match to {
        Some(_) => s.req(problems, "rate", "\"10gbit\"", reader::rate),
        None => s.opt(problems, "rate", reader::rate),
    };
    let delay = s.or(problems, "delay", Duration::ZERO, reader::duration);
    let jitter = s.or(problems, "jitter", Duration::ZERO, reader::duration);
    let mtu = s.or(problems, "mtu", MTU, reader::whole(super::link::MTU_MIN, MTU_MAX));
    for key in station::KEYS.iter().filter(|_| to.is_none() && side == Side::Host) {
        s.node(key);
    }
    s.finish(problems);
    Some(Cable { to: to?, rate: rate?, delay, jitter, mtu })
}

fn machine(
    mut s: Section<'_>,
    (network, segments): (&Network, &[Segment]),
    known: &Known<'_>,
    scope: &mut Scope,
    problems: &mut Problems,
) -> Option<Machine> {
    let name = super::lab::name(&mut s, "host", scope, problems);
    let place = s.node("link").map_or(s.place, |node| node.place);
    let key = s.key("link");
    let mac = s.opt(problems, "mac", mac);
    let bond = known.plugged.iter().find(|bond| Some(&bond.name) == name.as_ref());
    let link =
        link(&mut s, &topology::two_defaults("a host has one card and not several"), problems);
    let plug = match (link, bond) {
        (Some(section), None) => plug(section, known.names, &network.segments, problems),
        (None, Some(bond)) => bond.cable.map(Plug::Cable),
        (Some(_), Some(_)) => {
            let why = "a bond leads from this host to a switch, and `link` is a second way";
            let message = topology::two_defaults(why);
            let problem = Problem::new(place, key.as_str(), message);
            problems.push(problem.accepted(["no `link`", "a bond between hosts only"]));
            None
        }
        (None, None) if s.node("link").is_some() || known.lacks => None,
        (None, None) => {
            let problem = Problem::new(s.place, s.key("link"), "`link` is missing");
            let forms = [
                "link = { to = \"SWITCH\", rate = \"10gbit\", delay = \"5us\" }",
                "link = { to = \"SEGMENT\" }",
            ];
            problems.push(problem.accepted(forms));
            None
        }
    };
    let behaviour = etiquette::host(&mut s, plug.as_ref(), (segments, known.routers), problems);
    s.node("count");
    cpu::cpu(&mut s, scope, problems);
    s.finish(problems);
    let bond = bond.map(|bond| bond.cards.clone());
    let machine = Machine { name: name?, plug: plug?, bond, mac, network: behaviour };
    let Plug::Cable(cable) = machine.plug else { return Some(machine) };
    let port = known.rates.get(cable.to).filter(|_| !network.is_partial).copied().flatten();
    if let Some(rate) = port.filter(|rate| *rate != cable.rate) {
        let message = "a cable has one rate at both ends: that of the switch's port is another";
        let problem = Problem::new(place, key, message);
        let found = format!("{} bit/s", cable.rate.as_bps());
        problems.push(problem.found(found).accepted([format!("{} bit/s", rate.as_bps())]));
    }
    if let Some(switch) = network.switches.get(cable.to).filter(|_| !network.is_partial) {
        check_marks(switch, &cable, place, problems);
    }
    Some(machine)
}

/// The address of one card.
fn mac(node: &Node) -> Taken<MacAddress> {
    let unfit = |message| Unfit::new(message, "six bytes such as \"00:0e:0c:00:00:01\"");
    let mac =
        MacAddress::parse(&reader::text(node)?).ok_or_else(|| unfit("is no Ethernet address"))?;
    match mac.is_group() {
        true => Err(unfit("is the address of a group, not of one card")),
        false => Ok(mac),
    }
}

/// `link` of a machine: a cable to a switch, or a segment.
fn plug(
    s: Section<'_>,
    switches: &[String],
    segments: &[String],
    problems: &mut Problems,
) -> Option<Plug> {
    let to = s.table().node("to").and_then(Node::as_text);
    match segments.iter().position(|segment| to == Some(segment)) {
        Some(at) => Some(Plug::Station(station::station(s, at, (MTU, MTU_MAX), problems))),
        None => cable(s, (switches, segments), Side::Host, problems).map(Plug::Cable),
    }
}

/// A threshold in packets, of a queue that is limited in bytes, has to be reached before that is full.
fn check_marks(switch: &Switch, cable: &Cable, place: Place, problems: &mut Problems) {
    for queue in switch.queue.queues() {
        let Waiting { limit: Limit::Bytes(limit), discipline } = queue else { continue };
        let Discipline::StepEcn { mark: Limit::Packets(mark) } = discipline else { continue };
        let most = limit / u64::from(cable.mtu);
        if u64::from(*mark) >= most {
            let message = format!(
                "{mark} packets of {} bytes do not fit the queue of `{}`: `mark` is never reached",
                cable.mtu, switch.name
            );
            let problem = Problem::new(place, format!("lab.switch.{}.port", switch.name), message);
            let range = format!("a `mark` from 1p to {}p, or a larger `limit`", most.max(2) - 1);
            problems.push(problem.found(format!("{mark}p")).accepted([range]));
        }
    }
}
