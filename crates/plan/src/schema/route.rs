//! `from`, `to` and `bond` of a flow: which way its packets go.

use super::network::Network;
use crate::diagnostic::{Problem, Problems, nearest};
use crate::model::{Bond, Direction, Route};
use crate::network::{Plug, home, reach};
use crate::overlay::matches_glob;
use crate::reader::{self, Section, Taken, Unfit};
use crate::source::Place;
use crate::tree::Node;

/// Where a flow can begin and end.
pub(super) struct Ends<'p> {
    pub(super) bonds: &'p [Bond],
    pub(super) network: &'p Network,
}

impl Ends<'_> {
    /// The ends of bonds and the machines, each once.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let ends = self.between_hosts().flat_map(|(_, bond)| &bond.ends);
        let machines = self.network.machines.iter().map(|machine| &machine.name);
        for name in ends.chain(machines).chain(&self.network.segments) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// The bonds that lead to no switch, with their positions.
    fn between_hosts(&self) -> impl Iterator<Item = (usize, &Bond)> {
        let bonds = self.bonds.iter().enumerate();
        bonds.filter(|(index, _)| !self.network.plugged.contains(index))
    }

    /// The positions of the machines a name or a pattern stands for.
    fn machines(&self, pattern: &str) -> Vec<usize> {
        let machines = self.network.machines.iter().enumerate();
        machines.filter(|(_, m)| matches_glob(pattern, &m.name)).map(|(i, _)| i).collect()
    }

    /// Whether something may be missing from it: then nothing is said of what is not there.
    fn is_partial(&self) -> bool {
        self.network.is_partial
    }

    /// The smallest MTU between machines.
    fn mtu(&self, machines: impl Iterator<Item = usize>) -> u16 {
        let mtus = machines.map(|i| self.network.machines[i].mtu());
        let uplinks = self.network.switches.iter().filter_map(|s| s.uplink).map(|c| c.mtu);
        mtus.chain(uplinks).min().unwrap_or(u16::MAX)
    }
}

/// The way of a flow, as it is called in the plan and as it is.
pub(super) struct Way {
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) route: Option<Route>,
}

pub(super) fn way(s: &mut Section<'_>, ends: &Ends<'_>, problems: &mut Problems) -> Way {
    let from = s.req(problems, "from", "\"END\"", end(ends, Many::Allowed));
    let to = s.req(problems, "to", "\"END\"", end(ends, Many::Refused));
    let route =
        from.as_deref().zip(to.as_deref()).and_then(|(f, t)| route(s, f, t, ends, problems));
    Way { from, to, route }
}

/// The MTU of a route.
pub(super) fn mtu(route: &Route, ends: &Ends<'_>) -> Option<u16> {
    match route {
        Route::Bond { bond, .. } => ends.bonds.get(*bond).map(|bond| bond.mtu),
        Route::Switches { from, to } => Some(ends.mtu(from.iter().chain([to]).copied())),
        Route::Segment { from, .. } => Some(ends.mtu(from.iter().copied())),
    }
}

/// Whether a name may be a pattern for several.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Many {
    Allowed,
    Refused,
}

/// The name of an end of some bond, or of a machine; or a pattern for machines.
fn end<'p>(ends: &'p Ends<'p>, many: Many) -> impl Fn(&Node) -> Taken<String> + 'p {
    let names = ends.names();
    move |node| {
        let written = reader::text(node)?;
        if many == Many::Allowed && written.contains('*') && !ends.machines(&written).is_empty() {
            return Ok(written);
        }
        let name = if written.contains('*') { written } else { reader::name(node)? };
        if names.contains(&name) || ends.is_partial() {
            return Ok(name);
        }
        let what = match (ends.network.machines.is_empty(), many) {
            (true, _) => "is no end of a bond",
            (false, Many::Refused) if name.contains('*') => "is not the name of one host",
            (false, _) => "is no host and no end of a bond",
        };
        Err(Unfit {
            message: format!("\"{name}\" {what}"),
            accepted: names.clone(),
            nearest: nearest(&name, &names),
        })
    }
}

/// The one bond that joins two ends, or the switches between machines.
fn route(
    s: &mut Section<'_>,
    from: &str,
    to: &str,
    ends: &Ends<'_>,
    problems: &mut Problems,
) -> Option<Route> {
    let wanted = s.opt(problems, "bond", reader::name);
    let over = over_bond(wanted.as_deref(), from, to, ends);
    if over.is_some() {
        return over;
    }
    let place = s.node("to").map_or(s.place, |n| n.place);
    let machines = (ends.machines(from), ends.machines(to));
    if let Some(segment) = ends.network.segments.iter().position(|name| name == to)
        && wanted.is_none()
    {
        return to_segment(s, (from, machines.0), segment, place, ends, problems);
    }
    if let (senders, [receiver]) = (machines.0, &machines.1[..])
        && !senders.is_empty()
        && wanted.is_none()
    {
        return over_switches(s, senders, *receiver, place, ends, problems);
    }
    if !ends.is_partial() {
        let message = match ends.network.machines.is_empty() {
            true => format!("no bond joins `{from}` and `{to}`"),
            false => format!(
                "there is no path from `{from}` to `{to}`: no bond joins them, and \
                              not both are hosts at switches"
            ),
        };
        let pairs: Vec<String> = ends.between_hosts().map(|(_, b)| b.ends.join(" and ")).collect();
        let problem = Problem::new(place, s.key("to"), message).found(to);
        problems.push(problem.accepted(pairs));
    }
    None
}

fn over_bond(wanted: Option<&str>, from: &str, to: &str, ends: &Ends<'_>) -> Option<Route> {
    ends.between_hosts().find_map(|(i, bond)| {
        let [first, second] = &bond.ends;
        let direction = match (from, to) {
            (f, t) if f == first && t == second => Direction::Up,
            (f, t) if f == second && t == first => Direction::Down,
            _ => return None,
        };
        let route = Route::Bond { bond: i, direction };
        wanted.is_none_or(|wanted| wanted == bond.name).then_some(route)
    })
}

/// Every sender has to reach the receiver.
fn over_switches(
    s: &Section<'_>,
    senders: Vec<usize>,
    to: usize,
    place: Place,
    ends: &Ends<'_>,
    problems: &mut Problems,
) -> Option<Route> {
    let Network { switches, machines, routers, .. } = ends.network;
    let from: Vec<usize> = senders.into_iter().filter(|sender| *sender != to).collect();
    if from.is_empty() {
        let message = format!("`{}` would send to itself", machines[to].name);
        let problem = Problem::new(place, s.key("to"), message);
        problems.push(problem.found(&machines[to].name).accepted(["another host"]));
        return None;
    }
    // Who is where follows from all switches and routers.
    if ends.is_partial() {
        return None;
    }
    let at = |machine: usize| home(switches, routers, &machines[machine]);
    if let Some(apart) = from.iter().copied().find(|sender| at(*sender) != at(to)) {
        let problem = apart_from(apart, to, ends.network, place, s.key("to"));
        problems.push(problem);
        return None;
    }
    Some(Route::Switches { from, to })
}

/// Every sender has to be on the segment.
fn to_segment(
    s: &Section<'_>,
    (name, from): (&str, Vec<usize>),
    segment: usize,
    place: Place,
    ends: &Ends<'_>,
    problems: &mut Problems,
) -> Option<Route> {
    let Network { machines, segments, .. } = ends.network;
    let is_there = |machine: &usize| {
        machines[*machine].station().is_some_and(|station| station.segment == segment)
    };
    if !from.is_empty() && from.iter().all(is_there) {
        return Some(Route::Segment { from, segment });
    }
    if ends.is_partial() {
        return None;
    }
    let stranger = from.into_iter().find(|machine| !is_there(machine));
    let name = stranger.map_or(name, |machine| &machines[machine].name);
    let message = format!("`{name}` is not on the segment `{}`", segments[segment]);
    let problem = Problem::new(place, s.key("to"), message).found(&segments[segment]);
    problems.push(problem.accepted([format!("link = {{ to = \"{}\" }}", segments[segment])]));
    None
}

/// Two machines that nothing joins.
fn apart_from(from: usize, to: usize, network: &Network, place: Place, key: String) -> Problem {
    let Network { switches, machines, segments, routers, .. } = network;
    let names = [from, to].map(|machine| machines[machine].name.as_str());
    let places = [from, to].map(|machine| match machines[machine].plug {
        Plug::Cable(cable) => ("switch", switches[cable.to].name.as_str()),
        Plug::Station(station) => ("segment", segments[station.segment].as_str()),
    });
    let [(kind, first), (other, second)] = places;
    let (where_they_are, form) = match (kind, other) {
        ("switch", "switch") => (
            format!("at the switches `{first}` and `{second}`"),
            format!("hosts at one switch, or link = {{ to = \"{second}\", … }} at `{first}`"),
        ),
        _ => (
            format!("at the {kind} `{first}` and the {other} `{second}`"),
            format!("link = {{ to = \"{second}\", … }} at both"),
        ),
    };
    let gateway =
        machines[from].network.gateway.zip(machines[from].station()).map(|(at, station)| {
            let list = reach(routers, station.segment).into_iter().skip(1);
            let list: Vec<String> =
                list.map(|segment| format!("`{}`", segments[segment])).collect();
            format!(": the gateway `{}` leads to {} only", routers[at].name, list.join(", "))
        });
    let message = format!(
        "there is no path from `{}` to `{}`: they are {where_they_are}, which nothing joins{}",
        names[0],
        names[1],
        gateway.unwrap_or_default()
    );
    Problem::new(place, key, message).found(names[1]).accepted([form])
}
