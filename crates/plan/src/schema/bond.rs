//! `[bond.NAME]` and `[end.NAME]`.

use super::link::MTU_MIN;
use super::topology::two_defaults;
use super::{LinkFacts, Scope, default_end, one_way, tunnel};
use crate::diagnostic::{Problem, Problems};
use crate::model::{Address, Bond, End, EndKind, Link};
use crate::reader::{self, Section, Taken, Unfit};
use crate::tree::{Node, Table};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use trunkline_core::bond::Mode;

const MODES_LATER: [&str; 5] =
    ["balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"];
const END_KINDS: [(&str, EndKind); 3] =
    [("tun", EndKind::Tun), ("tap", EndKind::Tap), ("route", EndKind::Route)];
const BOND_LATER: [&str; 11] = [
    "repair",
    "redundancy",
    "xmit_hash_policy",
    "lacp_rate",
    "ad_select",
    "min_links",
    "miimon",
    "updelay",
    "downdelay",
    "arp_interval",
    "primary",
];
const END_LATER: [&str; 5] = ["private_key", "psk", "peer_key", "metrics", "drop_privileges"];

/// EQL's own default (`EQL_DEFAULT_MTU`); others take Ethernet's.
const MTU_EQL: u16 = 576;
const MTU_OTHERS: u16 = 1500;
/// EQL's default `max_slaves`.
const MAX_SLAVES: u16 = 4;

pub(super) fn bond(
    name: String,
    mut s: Section<'_>,
    scope: &mut Scope,
    problems: &mut Problems,
) -> Option<Bond> {
    reader::check_name(&name, &s, problems);
    scope.claim("bond", &name, s.place, problems);
    let place = s.node("ends").map_or(s.place, |node| node.place);
    scope.bond_places.push((name.clone(), place));
    let ends = s.req(problems, "ends", "[\"home\", \"isp\"]", ends_pair);
    let members = members(&mut s, scope, problems);
    let mode = s.or(problems, "mode", Mode::Earliest, mode);
    let modes = modes(&mut s, ends.as_ref(), mode, problems);
    let is_eql = modes.iter().any(|m| matches!(m, Mode::Eql | Mode::EqlEarly));
    let facts: Vec<LinkFacts> =
        members.iter().filter_map(|i| scope.facts.get(*i)).copied().collect();
    let tunnel = tunnel::of_bond(&mut s, &facts, problems);
    let room = facts.iter().filter_map(|link| link.room).min();
    let default_mtu = match room {
        Some(room) if tunnel.is_udp => room,
        _ if is_eql => MTU_EQL,
        _ => MTU_OTHERS,
    };
    let mtu = s.or(problems, "mtu", default_mtu, reader::whole(MTU_MIN, 65_535));
    let max_slaves = s.or(problems, "max_slaves", MAX_SLAVES, reader::whole(1, 1024));
    if is_eql && members.len() > usize::from(max_slaves) {
        let message = format!("{} members, but EQL takes {max_slaves}", members.len());
        let problem = Problem::new(s.place, s.key("max_slaves"), message);
        problems.push(problem.accepted([format!("max_slaves = {}", members.len())]));
    }
    s.later(&BOND_LATER);
    s.finish(problems);
    if members.is_empty() {
        return None;
    }
    let tunnel::Facts { trunk, reorder, monitor, traffic, .. } = tunnel;
    let (ends, mode) = (ends?, modes);
    Some(Bond { name, ends, members, mode, mtu, max_slaves, trunk, reorder, monitor, traffic })
}

fn ends_pair(node: &Node) -> Taken<[String; 2]> {
    let unfit = |message: &str| Unfit::new(message, "[\"FIRST\", \"SECOND\"], two different names");
    let nodes = node.as_array().ok_or_else(|| unfit("is not an array"))?;
    let [first, second] = nodes else {
        return Err(unfit("are not two"));
    };
    let pair = [reader::name(first)?, reader::name(second)?];
    if pair[0] == pair[1] { Err(unfit("are the same")) } else { Ok(pair) }
}

fn members(s: &mut Section<'_>, scope: &Scope, problems: &mut Problems) -> Vec<usize> {
    let key = s.key("members");
    let form = "members = [\"LINK\", …], at least one";
    let Some(node) = s.node("members") else {
        problems.push(Problem::new(s.place, key, "`members` is missing").accepted([form]));
        return Vec::new();
    };
    if node.as_array().is_some_and(<[Node]>::is_empty) {
        let problem = Problem::new(node.place, key, "the bond has no members");
        problems.push(problem.found("[]").accepted([form]));
        return Vec::new();
    }
    scope.resolve_links(node, &key, problems).into_iter().map(|(link, _)| link).collect()
}

fn mode(node: &Node) -> Taken<Mode> {
    let list = Mode::ALL.map(|m| (m.name(), m));
    reader::choice(&list, &MODES_LATER)(node)
}

/// The scheduler of each end: the bond's, or that of `at.END`.
fn modes(
    s: &mut Section<'_>,
    ends: Option<&[String; 2]>,
    mode_of_both: Mode,
    problems: &mut Problems,
) -> [Mode; 2] {
    let mut modes = [mode_of_both; 2];
    let Some(table) = s.section(problems, "at") else {
        return modes;
    };
    for (end, mut s) in table.named(problems) {
        let own = s.opt(problems, "mode", mode);
        s.later(&BOND_LATER);
        let side = ends.and_then(|pair| pair.iter().position(|e| *e == end));
        match (side, ends) {
            (Some(side), _) => modes[side] = own.unwrap_or(mode_of_both),
            (None, Some(pair)) => problems.push(no_end(&s, &end, pair)),
            (None, None) => (),
        }
        s.finish(problems);
    }
    modes
}

fn no_end(s: &Section<'_>, end: &str, ends: &[String]) -> Problem {
    let message = format!("`{end}` is not an end");
    Problem::new(s.place, &s.path, message).names(end, ends)
}

/// The ends with a table, then those the bonds name without one.
pub(super) fn ends(
    sections: Vec<(String, Section<'_>)>,
    bonds: &[Bond],
    problems: &mut Problems,
) -> Vec<End> {
    let mut used: Vec<String> = Vec::new();
    for name in bonds.iter().flat_map(|b| &b.ends) {
        if !used.contains(name) {
            used.push(name.clone());
        }
    }
    let mut list: Vec<End> = Vec::new();
    for (name, mut s) in sections {
        reader::check_name(&name, &s, problems);
        if !bonds.is_empty() && !used.contains(&name) {
            problems.push(no_end(&s, &name, &used));
        }
        let device = s.opt(problems, "device", device);
        let kind = s.or(problems, "type", EndKind::Tun, reader::choice(&END_KINDS, &[]));
        let address = s.or(problems, "address", Vec::new(), |node| own_addresses(node, &list));
        let routes = s.or(problems, "routes", Vec::new(), |node| routes(node, &address));
        let rp_filter = one_way::rp_filter(&mut s, kind, problems);
        let listen = s.opt(problems, "listen", tunnel::listen);
        s.later(&END_LATER);
        s.finish(problems);
        list.push(End { name, device, kind, address, routes, rp_filter, listen });
    }
    for name in used {
        if !list.iter().any(|e| e.name == name) {
            list.push(default_end(&name));
        }
    }
    list
}

/// A device name as Linux takes it.
fn device(node: &Node) -> Taken<String> {
    let text = reader::text(node)?;
    let fits = (1..=15).contains(&text.len()) && !text.contains(['/', ' ']) && text.is_ascii();
    if fits {
        Ok(text)
    } else {
        Err(Unfit::new("is not a device name", "1 to 15 characters such as \"eql0\""))
    }
}

const ADDRESS_FORM: &str = "[\"10.1.1.1/30\"]: addresses with their prefix length";

fn addresses(node: &Node) -> Taken<Vec<Address>> {
    let nodes = node.as_array().ok_or_else(|| Unfit::new("is not an array", ADDRESS_FORM))?;
    nodes.iter().map(address).collect()
}

/// Addresses no other end has.
fn own_addresses(node: &Node, ends: &[End]) -> Taken<Vec<Address>> {
    let own = addresses(node)?;
    let mut others = ends.iter().flat_map(|e| &e.address);
    match others.find(|a| own.iter().any(|b| a.ip == b.ip)) {
        Some(taken) => {
            let message = format!("holds {}, which another end has", taken.ip);
            Err(Unfit::new(message, "addresses of its own"))
        }
        None => Ok(own),
    }
}

fn address(node: &Node) -> Taken<Address> {
    with_prefix(node).ok_or_else(|| {
        Unfit::new(format!("holds `{}`, which is no address", node.value), ADDRESS_FORM)
    })
}

/// `IP/BITS`
fn with_prefix(node: &Node) -> Option<Address> {
    let (ip, prefix) = node.as_text()?.split_once('/')?;
    let ip: IpAddr = ip.parse().ok()?;
    let prefix: u8 = prefix.parse().ok()?;
    let bits = if ip.is_ipv4() { 32 } else { 128 };
    (prefix <= bits).then_some(Address { ip, prefix })
}

const ROUTES_FORM: &str = "[\"10.1.0.0/16\"] or [\"default\"]: networks with their prefix length";

/// Networks, each once. `"default"` is everything, in the versions of IP the end has addresses of.
fn routes(node: &Node, own: &[Address]) -> Taken<Vec<Address>> {
    let nodes = node.as_array().ok_or_else(|| Unfit::new("is not an array", ROUTES_FORM))?;
    let mut list: Vec<Address> = Vec::new();
    for node in nodes {
        let found = match node.as_text() {
            Some("default") => defaults(own)?,
            _ => vec![network(node)?],
        };
        for route in found {
            if list.contains(&route) && route.prefix == 0 {
                return Err(Unfit::new(two_defaults("says everything twice"), "\"default\" once"));
            }
            if list.contains(&route) {
                let Address { ip, prefix } = route;
                return Err(Unfit::new(format!("holds {ip}/{prefix} twice"), "each network once"));
            }
            list.push(route);
        }
    }
    Ok(list)
}

fn defaults(own: &[Address]) -> Taken<Vec<Address>> {
    let everything: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    let known = |ip: &IpAddr| own.iter().any(|a| a.ip.is_ipv4() == ip.is_ipv4());
    let found = everything.into_iter().filter(known).map(|ip| Address { ip, prefix: 0 });
    let found: Vec<Address> = found.collect();
    match found.is_empty() {
        true => Err(Unfit::new("holds \"default\", but the end has no address", ADDRESS_FORM)),
        false => Ok(found),
    }
}

/// A network: beyond its prefix there is nothing.
fn network(node: &Node) -> Taken<Address> {
    let unfit = |what: &str| Unfit::new(format!("holds `{}`, {what}", node.value), ROUTES_FORM);
    let route = with_prefix(node).ok_or_else(|| unfit("which is no network"))?;
    let host_bits = match route.ip {
        IpAddr::V4(ip) => u128::from(ip.to_bits()) << 96,
        IpAddr::V6(ip) => ip.to_bits(),
    };
    match host_bits.checked_shl(route.prefix.into()).unwrap_or(0) {
        0 => Ok(route),
        _ => Err(unfit("which has bits beyond its prefix")),
    }
}

/// What members and their bond cannot be together.
pub(super) fn check_members(
    links: &[Link],
    bonds: &[Bond],
    facts: &[LinkFacts],
    root: &Table,
    problems: &mut Problems,
) {
    let mut owner: Vec<Option<&Bond>> = vec![None; links.len()];
    for bond in bonds {
        let key = format!("bond.{}", bond.name);
        let entry = root.table("bond").and_then(|t| t.entry(&bond.name));
        let table = entry.and_then(|e| e.node.as_table());
        let place_of = |key: &str| table.and_then(|t| t.node(key)).or(entry.map(|e| &e.node));
        let Some(members) = place_of("members").map(|n| n.place) else {
            continue;
        };
        for link in bond.members.iter().filter_map(|i| links.get(*i).map(|l| (*i, l))) {
            let (position, link) = link;
            if let Some(other) = owner[position].replace(bond) {
                let message = format!("link `{}` is a member of `{}` too", link.name, other.name);
                let problem = Problem::new(members, format!("{key}.members"), message);
                problems.push(problem.found(&link.name).accepted(["each link in one bond"]));
            }
            if let Some(message) = one_way::spread_headers(links, link, bond) {
                let problem = Problem::new(members, format!("{key}.members"), message);
                let accepted = ["vj = false on its members", "mode = \"active-backup\""];
                problems.push(problem.found(&link.name).accepted(accepted));
            }
            if let Some(mtu) = facts[position].room.filter(|room| *room < bond.mtu) {
                let place = place_of("mtu").map_or(members, |n| n.place);
                let message =
                    format!("the bond's MTU {} is above what link `{}` takes", bond.mtu, link.name);
                let problem = Problem::new(place, format!("{key}.mtu"), message);
                problems
                    .push(problem.found(bond.mtu.to_string()).accepted([format!("at most {mtu}")]));
            }
        }
    }
    check_link_ends(links, &owner, root, problems);
}

/// `at.NAME` of a link names an end of the link's bond.
fn check_link_ends(links: &[Link], owner: &[Option<&Bond>], root: &Table, problems: &mut Problems) {
    let nodes = root.node("link").and_then(Node::as_array).unwrap_or_default();
    for ((link, bond), node) in links.iter().zip(owner).zip(nodes) {
        let Some((bond, at)) = bond.zip(node.as_table().and_then(|t| t.table("at"))) else {
            continue;
        };
        for entry in at.entries.iter().filter(|e| !bond.ends.contains(&e.key)) {
            let message = format!("`{}` is not an end of bond `{}`", entry.key, bond.name);
            let problem =
                Problem::new(entry.place, format!("link.{}.at.{}", link.name, entry.key), message);
            problems.push(problem.names(&entry.key, &bond.ends));
        }
    }
}
