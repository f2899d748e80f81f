//! `trunk` and `lag` of a `[[lab.switch]]`, and the bonds that lead from a host to one.
//!
//! A bond one of whose ends is a switch is plugged in there: its other end is a host at that switch, with as
//! many cards as the bond has members. The switch's ports behind them are a group with a hash of its own;
//! only an `active-backup` bond does without.

use super::topology::{LOOP, two_defaults};
use super::{Scope, all};
use crate::diagnostic::{Problem, Problems};
use crate::model::{Bond, Link, LinkKind, Segment};
use crate::network::{self, Cable, Cards, HostNetwork, Machine, Plug, PortGroup, Switch};
use crate::reader::{self, Section};
use crate::source::Place;
use trunkline_core::bond::{HashPolicy, Mode};

/// A bond that leads from a host to a switch.
pub(super) struct Plugged {
    /// The host.
    pub(super) name: String,
    /// Its first card's cable; none where a link of the bond is wrong.
    pub(super) cable: Option<Cable>,
    pub(super) cards: Cards,
    switch: usize,
}

impl Plugged {
    /// The host, where the plan does not describe it.
    pub(super) fn machine(&self) -> Option<Machine> {
        let network = HostNetwork::default();
        let (name, bond) = (self.name.clone(), Some(self.cards.clone()));
        self.cable.map(|cable| Machine { name, plug: Plug::Cable(cable), bond, mac: None, network })
    }
}

/// The groups of one switch, and where each stands.
pub(super) fn groups(
    s: &mut Section<'_>,
    scope: &Scope,
    problems: &mut Problems,
) -> Vec<(PortGroup, Place)> {
    let mut groups = Vec::new();
    for key in ["trunk", "lag"] {
        let is_one = s.node(key).is_some_and(|node| node.as_array().is_none());
        let sections = match is_one {
            true => s.section(problems, key).into_iter().collect(),
            false => s.sections(problems, key),
        };
        groups.extend(sections.into_iter().filter_map(|s| group(s, scope, problems)));
    }
    groups
}

/// `{ members, hash }`.
fn group(mut s: Section<'_>, scope: &Scope, problems: &mut Problems) -> Option<(PortGroup, Place)> {
    let place = s.place;
    let key = s.key("members");
    let links = match s.node("members") {
        Some(node) => scope.resolve_links(node, &key, problems),
        None => {
            let problem = Problem::new(place, key, "`members` is missing");
            problems.push(problem.accepted(["members = [\"LINK\", …], those of a bond"]));
            Vec::new()
        }
    };
    let policies = HashPolicy::ALL.map(|policy| (policy.name(), policy));
    let later = ["encap2+3", "encap3+4", "vlan+srcmac"];
    let hash = s.or(problems, "hash", HashPolicy::Layer2, reader::choice(&policies, &later));
    if let Some(node) = s.node("lacp") {
        let message = "LACP's machines are not in this version: `trunk` and `lag` are a static group \
                       with the same hash";
        let problem = Problem::new(node.place, s.key("lacp"), message);
        problems.push(problem.found(node.value.to_string()).accepted(["no `lacp`"]));
    }
    s.finish(problems);
    let links: Vec<usize> = links.into_iter().map(|(link, _)| link).collect();
    (!links.is_empty()).then_some((PortGroup { links, hash }, place))
}

/// The bonds that lead to one of the switches with these names.
pub(super) fn plugged(
    (names, switches): (&[String], &[Switch]),
    (links, bonds): (&[Link], &[Bond]),
    scope: &Scope,
    problems: &mut Problems,
) -> Vec<Plugged> {
    let mut list: Vec<Plugged> = Vec::new();
    for (index, bond) in bonds.iter().enumerate() {
        let at = [0, 1].map(|end| names.iter().position(|name| *name == bond.ends[end]));
        let key = format!("bond.{}.ends", bond.name);
        let mut refuse = |message: String, form: &str| {
            let problem = Problem::new(scope.place_of_bond(&bond.name), key.as_str(), message);
            problems.push(problem.found(bond.ends.join(" and ")).accepted([form]));
        };
        let (end, switch) = match at {
            [None, None] => continue,
            [Some(first), Some(second)] => {
                let known = (switches.len() == names.len()).then_some(switches);
                let are_joined = known
                    .is_some_and(|all| network::root(all, first) == network::root(all, second));
                refuse(between_switches(bond, are_joined), BETWEEN_FORM);
                continue;
            }
            [None, Some(switch)] => (0, switch),
            [Some(switch), None] => (1, switch),
        };
        let name = bond.ends[end].clone();
        if list.iter().any(|other| other.name == name) {
            let message = two_defaults(&format!("two bonds lead from `{name}` to switches"));
            refuse(message, "one bond of all its cards");
            continue;
        }
        let cards = Cards { bond: index, end, links: bond.members.clone() };
        let members: Vec<Option<&Link>> =
            bond.members.iter().map(|link| links.get(*link)).collect();
        let cable = all(members).and_then(|members| {
            cable(bond, &members, switch).map_err(|message| refuse(message, FORM)).ok()
        });
        list.push(Plugged { name, cable, cards, switch });
    }
    list
}

const BETWEEN_FORM: &str = "`link` of the lower switch, or a host at one end";

/// Why a bond does not join two switches, which may be in one tree already.
fn between_switches(bond: &Bond, are_joined: bool) -> String {
    let [first, second] = &bond.ends;
    match are_joined {
        true => format!(
            "bond `{}` makes a second way between the switches `{first}` and `{second}`, a loop: {LOOP}",
            bond.name
        ),
        false => format!("bond `{}` joins two switches, which only a `link` does", bond.name),
    }
}

/// What a link to a switch is like.
const FORM: &str =
    "links of kind \"ethernet\" with one rate for both ways, no `direction` and no lab.rate";

/// The cable of a bond's first card, or why there is none.
fn cable(bond: &Bond, members: &[&Link], switch: usize) -> Result<Cable, String> {
    // A bond that carries one way only is refused as such.
    let carries = |end: usize| members.iter().any(|link| link.carries_from(end));
    for link in members {
        let what = match link {
            link if link.kind != LinkKind::Ethernet => "is no ethernet link",
            link if link.lab.rate.is_some() => "has a network in front of it (lab.rate)",
            link if link.rate.up != link.rate.down => "is not as fast one way as the other",
            link if link.direction.is_some() && carries(0) && carries(1) => {
                "carries one way only: a cable to a switch carries both"
            }
            _ => continue,
        };
        return Err(format!(
            "bond `{}` leads to a switch, and link `{}` {what}",
            bond.name, link.name
        ));
    }
    let first = members.first().ok_or_else(|| "a bond has members".to_owned())?;
    let (rate, lab) = (first.rate.up, &first.lab);
    Ok(Cable { to: switch, rate, delay: lab.delay, jitter: lab.jitter, mtu: bond.mtu })
}

/// Tells of bonds whose links are a group of ports at a switch, and whose ends are no switches.
pub(super) fn strays(switches: &[Switch], bonds: &[Bond], scope: &Scope, problems: &mut Problems) {
    for bond in bonds {
        let is_switch = |end: &String| switches.iter().any(|switch| switch.name == *end);
        if bond.ends.iter().any(is_switch) {
            continue;
        }
        let has_group =
            |switch: &&Switch| switch.groups.iter().any(|group| is_of(group, &bond.members));
        let Some(switch) = switches.iter().find(has_group) else { continue };
        let message = format!(
            "the links of bond `{}` are ports of `{}`, but the bond does not lead to that switch",
            bond.name, switch.name
        );
        let problem = Problem::new(
            scope.place_of_bond(&bond.name),
            format!("bond.{}.ends", bond.name),
            message,
        );
        let form = format!("ends = [\"HOST\", \"{}\"]", switch.name);
        problems.push(problem.found(bond.ends.join(" and ")).accepted([form]));
    }
}

/// Whether a group is of just these links.
fn is_of(group: &PortGroup, links: &[usize]) -> bool {
    group.links.len() == links.len() && group.links.iter().all(|link| links.contains(link))
}

/// What ports, bonds and segments cannot be together. `places` are those of the groups of each switch.
pub(super) fn check(
    switches: &[Switch],
    places: &[Vec<Place>],
    plugged: &[Plugged],
    bonds: &[Bond],
    scope: &Scope,
    problems: &mut Problems,
) {
    let mut wrong: Vec<usize> = Vec::new();
    let has_members = |group: &PortGroup, bond: &Plugged| is_of(group, &bond.cards.links);
    for (index, (switch, places)) in switches.iter().zip(places).enumerate() {
        for (group, place) in switch.groups.iter().zip(places) {
            let leads = |bond: &&Plugged| bond.switch == index && has_members(group, bond);
            if !plugged.iter().any(|bond| leads(&bond)) {
                let message = format!(
                    "the members of a group at `{}` are not those of one bond that leads there",
                    switch.name
                );
                let key = format!("lab.switch.{}.trunk.members", switch.name);
                let form = format!("[bond.NAME] with ends = [\"HOST\", \"{}\"]", switch.name);
                problems.push(Problem::new(*place, key, message).accepted([form]));
                wrong.push(index);
            }
        }
    }
    for plugged in plugged.iter().filter(|plugged| !wrong.contains(&plugged.switch)) {
        let (bond, switch) = (&bonds[plugged.cards.bond], &switches[plugged.switch]);
        let needs_none = bond.mode[plugged.cards.end] == Mode::ActiveBackup;
        let has_group = switch.groups.iter().any(|group| has_members(group, plugged));
        if !has_group && !needs_none && bond.members.len() > 1 {
            let message = format!(
                "bond `{}` sends over several ports of `{}`, which does not know that they are one",
                bond.name, switch.name
            );
            let key = format!("lab.switch.{}.trunk", switch.name);
            let forms =
                ["trunk = { members = […], hash = \"layer2\" }", "mode = \"active-backup\""];
            problems
                .push(Problem::new(scope.place_of_bond(&bond.name), key, message).accepted(forms));
        }
    }
}

/// A link of a segment leads to no switch.
pub(super) fn check_segments(
    machines: &[Machine],
    segments: &[Segment],
    links: &[Link],
    place: Place,
    problems: &mut Problems,
) {
    let cards = machines.iter().filter_map(|machine| machine.bond.as_ref());
    for link in cards.flat_map(|cards| &cards.links) {
        if let Some(segment) = segments.iter().find(|segment| segment.links.contains(link)) {
            let name = links.get(*link).map_or("", |link| link.name.as_str());
            let message =
                format!("link `{name}` leads to a switch, and is on segment `{}`", segment.name);
            let key = format!("lab.segment.{}.links", segment.name);
            problems.push(Problem::new(place, key, message).found(name).accepted(["one of both"]));
        }
    }
}
