//! What cannot be joined as the plan says: loops of switches, bonds that end where none can, and hosts with
//! two default routes.

use super::Scope;
use crate::diagnostic::{Problem, Problems};
use crate::model::{BONDS_PER_END_MAX, Bond, End, Lab, Segment};
use crate::network::{Machine, Plug, Resolution, Router, Switch, reach};
use crate::source::Place;
use crate::tree::Table;
use std::net::IpAddr;
use trunkline_core::host::ROUTES_MAX;

/// Why no two ways may lead from one switch to another.
pub(super) const LOOP: &str =
    "a broadcast would go round for ever, for there is no spanning tree here";
/// Why a host may not have two default routes.
const WHICH: &str = "nothing says which one a packet takes";

/// What is wrong with a host that has two default routes because of `what`.
pub(super) fn two_defaults(what: &str) -> String {
    format!("{what}, two default routes: {WHICH}")
}

/// Switches that reach themselves over their uplinks, each loop once. `places` are those of the `link`s.
pub(super) fn loops(switches: &[Switch], places: &[Place], problems: &mut Problems) {
    for (start, place) in places.iter().enumerate().take(switches.len()) {
        let mut circle = vec![start];
        let mut at = switches[start].uplink.map(|cable| cable.to);
        while let Some(next) = at.filter(|next| *next != start && circle.len() <= switches.len()) {
            circle.push(next);
            at = switches[next].uplink.map(|cable| cable.to);
        }
        // It is told at the first of its switches.
        if at != Some(start) || circle.iter().any(|switch| *switch < start) {
            continue;
        }
        let names: Vec<String> =
            circle.iter().map(|switch| format!("`{}`", switches[*switch].name)).collect();
        let what = match names.split_last() {
            Some((_, [])) | None => format!("the `link` of {} leads to itself, a loop", names[0]),
            Some((last, others)) => {
                format!("{} and {last} are in a loop of switches", others.join(", "))
            }
        };
        let key = format!("lab.switch.{}.link", switches[start].name);
        let problem = Problem::new(*place, key, format!("{what}: {LOOP}"));
        problems.push(problem.accepted(["a tree: one switch without `link`"]));
    }
}

/// Bonds join hosts with each other and with switches, not with what has these names.
pub(super) fn bond_ends(
    bonds: &[Bond],
    scope: &Scope,
    (segments, routers): (&[String], &[String]),
    problems: &mut Problems,
) {
    for (bond, end) in bonds.iter().flat_map(|bond| bond.ends.iter().map(move |end| (bond, end))) {
        let (message, form) = if segments.contains(end) {
            let form = format!("link = {{ to = \"{end}\" }} at a [[lab.host]]");
            (format!("`{end}` is a segment: no bond leads to one"), form)
        } else if routers.contains(end) {
            let message = format!("`{end}` is a router, which has cards on segments only");
            (message, "the name of a host of its own".to_owned())
        } else {
            continue;
        };
        let key = format!("bond.{}.ends", bond.name);
        let problem = Problem::new(scope.place_of_bond(&bond.name), key, message);
        problems.push(problem.found(end).accepted([form]));
    }
}

/// Segments that routers join are not more than a host has routes, nor those of one router more than it takes
/// cards.
pub(super) fn room(
    routers: &[Router],
    places: &[Place],
    segments: &[Segment],
    problems: &mut Problems,
) {
    let mut seen: Vec<usize> = Vec::new();
    for (router, place) in routers.iter().zip(places) {
        let joined = reach(routers, router.segments[0]);
        let (message, most) = if router.segments.len() > BONDS_PER_END_MAX {
            let message = format!("`{}` has {} cards", router.name, router.segments.len());
            (message, format!("at most {BONDS_PER_END_MAX} segments"))
        } else if joined.len() > ROUTES_MAX && !seen.contains(&router.segments[0]) {
            let name = &segments[router.segments[0]].name;
            let message = format!("{} segments are joined with `{name}`", joined.len());
            (message, format!("at most {ROUTES_MAX} segments that routers join"))
        } else {
            continue;
        };
        seen.extend(joined);
        let key = format!("lab.router.{}.segments", router.name);
        problems.push(Problem::new(*place, key, message).accepted([most]));
    }
}

/// Ends that would have a default route over each of several bonds.
pub(super) fn defaults_of_ends(
    ends: &[End],
    bonds: &[Bond],
    root: &Table,
    problems: &mut Problems,
) {
    for end in ends.iter().filter(|end| end.routes.iter().any(|route| route.prefix == 0)) {
        let own: Vec<String> =
            bonds_of(bonds, &end.name).map(|b| format!("bond `{}`", b.name)).collect();
        if own.len() > 1 {
            problems.push(of_end(end, root, &format!("over {}", own.join(" and "))));
        }
    }
}

/// Machines that have a default route, and another over a bond they are an end of; and machines with more
/// bonds and cards than a host takes.
pub(super) fn defaults_of_machines(
    (ends, bonds): (&[End], &[Bond]),
    lab: &Lab,
    (scope, root): (&Scope, &Table),
    problems: &mut Problems,
) {
    let has_default = |end: &&End| end.routes.iter().any(|to| to.prefix == 0 && to.ip.is_ipv4());
    for machine in lab.machines.iter().filter(|machine| machine.bond.is_none()) {
        let own: Vec<&Bond> = bonds_of(bonds, &machine.name).collect();
        let end = ends.iter().filter(has_default).find(|end| end.name == machine.name);
        if let (Some(end), [bond], Some(card)) = (end, &own[..], default_of(machine, lab)) {
            problems.push(of_end(end, root, &format!("by {card} and over bond `{}`", bond.name)));
        }
        if let Some(last) = own.get(BONDS_PER_END_MAX - 1) {
            let message = format!("`{}` is an end of too many bonds beside its card", machine.name);
            let (place, key) =
                (scope.place_of_bond(&last.name), format!("bond.{}.ends", last.name));
            let most = format!("at most {} beside `link`", BONDS_PER_END_MAX - 1);
            problems.push(Problem::new(place, key, message).found(&machine.name).accepted([most]));
        }
    }
}

/// What a machine sends by that is for nobody it knows.
fn default_of(machine: &Machine, lab: &Lab) -> Option<String> {
    match machine.plug {
        Plug::Cable(cable) => Some(format!("its card at switch `{}`", lab.switches[cable.to].name)),
        Plug::Station(station) => match lab.segments[station.segment].resolution {
            Resolution::Known => {
                Some(format!("its card on segment `{}`", lab.segments[station.segment].name))
            }
            Resolution::Arp => {
                machine.network.gateway.map(|at| format!("its gateway `{}`", lab.routers[at].name))
            }
        },
    }
}

fn of_end(end: &End, root: &Table, which: &str) -> Problem {
    let message = format!("`{}` has two default routes, {which}: {WHICH}", end.name);
    let key = format!("end.{}.routes", end.name);
    let everything = |ip: IpAddr| if ip.is_ipv4() { "0.0.0.0/0" } else { "::/0" };
    let found = end.routes.iter().find(|to| to.prefix == 0).map_or("", |to| everything(to.ip));
    let problem = Problem::new(place_of_routes(root, &end.name), key, message);
    problem.found(found).accepted(["one default route", "networks such as \"10.1.0.0/16\""])
}

fn bonds_of<'b>(bonds: &'b [Bond], end: &str) -> impl Iterator<Item = &'b Bond> {
    bonds.iter().filter(move |bond| bond.ends.iter().any(|name| name == end))
}

/// Where an end's `routes` stand.
fn place_of_routes(root: &Table, end: &str) -> Place {
    let table = root.table("end").and_then(|ends| ends.table(end));
    table.and_then(|table| table.node("routes")).map_or(Place::default(), |node| node.place)
}
