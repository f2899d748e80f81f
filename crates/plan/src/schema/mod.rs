//! The grammar of a plan: which keys there are, what they mean, and what cannot be together.
//!
//! Every function reads one kind of table and tells all that is wrong with it; a plan is handed out
//! only when nothing was. Names of the design that this version does not have are known, so that they
//! are refused as what they are.

mod app;
mod bond;
mod cc;
mod cpu;
mod datagrams;
mod etiquette;
mod group;
mod lab;
mod link;
mod network;
mod one_way;
mod port_group;
mod queue;
mod route;
mod segment;
mod serial;
mod service;
mod station;
mod tcp;
mod topology;
mod tunnel;

use crate::cpu::SlowHost;
use crate::diagnostic::{Problem, Problems};
use crate::model::{BONDS_PER_END_MAX, Bond, Direction, End, Link, LinkKind, Plan, Trunk};
use crate::overlay::matches_glob;
use crate::reader::{self, Section};
use crate::source::Place;
use crate::tree::{Node, Table};
use std::collections::BTreeMap;
use trunkline_core::host::ReversePath;
use trunkline_core::units::BitRate;

/// Tables of an experiment beside its plan; [`crate::experiment`] reads them.
pub(crate) const EXPERIMENT_KEYS: [&str; 3] = ["published", "sweep", "include"];
/// The same inside `[lab]`.
pub(crate) const EXPERIMENT_LAB_KEYS: [&str; 5] =
    ["parameters", "rows", "variant", "toggle", "figure"];

/// A name that was given, and where.
struct Named {
    kind: &'static str,
    name: String,
    place: Place,
}

/// What a bond has to know of a link.
#[derive(Clone, Copy)]
struct LinkFacts {
    kind: Option<LinkKind>,
    /// What its transmitters send at, both ways the same.
    rate: Option<BitRate>,
    /// Whether modems are at its ends.
    has_modem: bool,
    trunk: Trunk,
    /// The one way it carries.
    direction: Option<Direction>,
    /// The largest packet it takes, where it has a limit.
    room: Option<u16>,
}

/// What is known while a plan is read: every name given so far, also of tables that are wrong.
#[derive(Default)]
struct Scope {
    links: Vec<String>,
    /// Of the same links.
    facts: Vec<LinkFacts>,
    names: Vec<Named>,
    /// What the ports of switches are called: `SWITCH.HOST`.
    ports: Vec<String>,
    /// Whether there may be more because what is behind them is wrong.
    lacks_ports: bool,
    /// Hosts with a cost table, and the names of all that say `cpu`, wrong ones too.
    slow: Vec<SlowHost>,
    with_cpu: Vec<String>,
    /// Where each bond says its ends, by its name.
    bond_places: Vec<(String, Place)>,
    /// Whether bonds were left out because one is wrong.
    lacks_bonds: bool,
}

impl Scope {
    /// Takes a name that metrics are addressed by: links, bonds, hosts, switches, flows, groups and
    /// chips share one space.
    fn claim(&mut self, kind: &'static str, name: &str, place: Place, problems: &mut Problems) {
        if let Some(first) = self.names.iter().find(|n| n.name == name) {
            let message = match first.kind == kind {
                true => format!("duplicate name `{name}`: another {kind} has it already"),
                false => format!("duplicate name `{name}`: a {} has it already", first.kind),
            };
            let problem = Problem::new(place.max(first.place), format!("{kind}.{name}"), message);
            problems.push(problem.found(name).accepted(["a name of its own"]));
        }
        self.names.push(Named { kind, name: name.to_owned(), place });
    }

    /// Where a bond says its ends.
    fn place_of_bond(&self, name: &str) -> Place {
        let found = self.bond_places.iter().find(|(known, _)| known == name);
        found.map_or(Place::default(), |(_, place)| *place)
    }

    /// The links an array of names and globs stands for, in order of enslaving for each glob.
    fn resolve_links(
        &self,
        node: &Node,
        key: &str,
        problems: &mut Problems,
    ) -> Vec<(usize, Place)> {
        let Some(nodes) = node.as_array() else {
            problems.push(reader::wrong_type(node, key, "an array of link names"));
            return Vec::new();
        };
        let mut chosen: Vec<(usize, Place)> = Vec::new();
        for node in nodes {
            let Some(pattern) = node.as_text() else {
                problems.push(reader::wrong_type(node, key, "a link's name"));
                continue;
            };
            let fits = |i: &usize| matches_glob(pattern, &self.links[*i]);
            let found: Vec<usize> = (0..self.links.len()).filter(fits).collect();
            if found.is_empty() {
                let message = format!("there is no link `{pattern}`");
                problems.push(Problem::new(node.place, key, message).names(pattern, &self.links));
            }
            for link in found {
                if chosen.iter().any(|(l, _)| *l == link) {
                    let message = format!("link `{}` is named twice", self.links[link]);
                    let problem = Problem::new(node.place, key, message);
                    problems.push(problem.found(pattern).accepted(["each link once"]));
                } else {
                    chosen.push((link, node.place));
                }
            }
        }
        chosen
    }
}

/// Builds the plan a filled tree describes.
pub(crate) fn plan(root: &Table, place: Place, problems: &mut Problems) -> Option<Plan> {
    if root.entries.is_empty() {
        let problem = Problem::new(place, "", "the plan is empty");
        problems.push(problem.accepted(["name = \"…\" with [[link]], [bond.NAME] and [lab]"]));
        return None;
    }
    let mut scope = Scope::default();
    let mut top = Section::new(root, place, "");
    let name = top.req(problems, "name", "\"…\"", reader::name);
    let link_sections = top.sections(problems, "link");
    let links = link_sections.into_iter().map(|s| link::link(s, &mut scope, problems)).collect();
    let links: Option<Vec<Link>> = all(links);

    let told = problems.len();
    let bond_sections = match top.section(problems, "bond") {
        Some(table) => table.named(problems),
        None => Vec::new(),
    };
    let hosts = root.table("lab").and_then(|lab| lab.node("host"));
    let has_hosts = hosts.is_some_and(|hosts| hosts.as_array().is_none_or(|all| !all.is_empty()));
    if bond_sections.is_empty() && !has_hosts && problems.len() == told {
        let place = root.entry("bond").map_or(place, |entry| entry.place);
        let problem = Problem::new(place, "bond", "the plan has no bond");
        let forms = ["[bond.NAME] with ends and members", "[[lab.host]] at a [[lab.switch]]"];
        problems.push(problem.accepted(forms));
    }
    scope.lacks_bonds = problems.len() > told;
    let mut bonds = Vec::with_capacity(bond_sections.len());
    let mut taken = BTreeMap::new();
    for (name, section) in bond_sections {
        let place = section.place;
        let bond = bond::bond(name, section, &mut scope, problems);
        if let Some(bond) = &bond {
            check_room(&mut taken, bond, place, problems);
        }
        bonds.push(bond);
    }
    let bonds = all(bonds);
    scope.lacks_bonds |= bonds.is_none();
    let parts = bonds.as_deref().unwrap_or_default();

    let end_sections = top.section(problems, "end").map(|t| t.named(problems));
    let ends = bond::ends(end_sections.unwrap_or_default(), parts, problems);
    if let (Some(links), Some(bonds)) = (&links, &bonds) {
        bond::check_members(links, bonds, &scope.facts, root, problems);
        tunnel::check(links, bonds, &ends, root, problems);
        one_way::check(links, bonds, root, problems);
    }
    let lab = top.section(problems, "lab");
    let known = (links.as_deref().unwrap_or_default(), parts);
    let lab = lab::lab(lab, place, &mut scope, known, problems);
    for key in EXPERIMENT_KEYS {
        top.node(key);
    }
    top.later(&["peer", "output", "report"]);
    top.finish(problems);

    topology::defaults_of_ends(&ends, parts, root, problems);
    if let Some(lab) = &lab {
        topology::defaults_of_machines((&ends, parts), lab, (&scope, root), problems);
    }
    if let (Some(links), Some(lab)) = (&links, &lab) {
        cpu::check(&lab.slow, links, parts, root, problems);
    }
    let plan = Plan { name: name?, links: links?, bonds: bonds?, ends, lab: lab? };
    check_runs(root, &plan, problems);
    problems.is_empty().then_some(plan)
}

/// Counts a bond at its ends and tells when it is one too many.
fn check_room(
    taken: &mut BTreeMap<String, usize>,
    bond: &Bond,
    place: Place,
    problems: &mut Problems,
) {
    for end in &bond.ends {
        let bonds = taken.entry(end.clone()).or_default();
        *bonds += 1;
        if *bonds == BONDS_PER_END_MAX + 1 {
            let message = format!("`{end}` is an end of too many bonds");
            let problem = Problem::new(place, format!("bond.{}.ends", bond.name), message);
            problems.push(problem.found(end).accepted([format!("at most {BONDS_PER_END_MAX}")]));
        }
    }
}

/// All of a list, or nothing.
fn all<T>(list: Vec<Option<T>>) -> Option<Vec<T>> {
    list.into_iter().collect()
}

/// Several runs of a plan in which nothing is drawn would all be the same.
fn check_runs(root: &Table, plan: &Plan, problems: &mut Problems) {
    let runs = root.table("lab").and_then(|t| t.entry("runs"));
    if let Some(entry) = runs
        && plan.lab.runs > 1
        && !plan.has_randomness()
    {
        let message = "`runs` without randomness: every run would be the same";
        let problem = Problem::new(entry.place, "lab.runs", message);
        let accepted = ["no `runs`", "a link with lab.loss, jitter, duplicate, reorder or corrupt"];
        problems.push(problem.found(entry.node.value.to_string()).accepted(accepted));
    }
}

/// Every end of a bond has a value, with defaults when the plan has no table for it.
fn default_end(name: &str) -> End {
    End {
        name: name.to_owned(),
        device: None,
        kind: crate::model::EndKind::Tun,
        address: Vec::new(),
        routes: Vec::new(),
        rp_filter: ReversePath::Off,
        listen: None,
    }
}
