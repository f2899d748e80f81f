//! What bonds over tunnels need: `reorder`, `monitor`, `cipher`, who listens and who is heard.

use super::{LinkFacts, one_way};
use crate::diagnostic::{Problem, Problems};
use crate::model::{Bond, End, Link, LinkKind, Trunk};
use crate::reader::{self, Section, Taken, Unfit};
use crate::tree::{Node, Table, Value};
use std::net::SocketAddr;
use trunkline_core::bond::trunk::{Monitor, Reorder};
use trunkline_core::time::Duration;

/// The longest a packet is held for its predecessors, unless the plan says otherwise.
const REORDER_MAX: Duration = Duration::from_millis(100);
/// What every link under IPv6 carries (RFC 8200, 5).
const IPV6_MTU_MIN: u16 = 1280;
const CIPHERS_LATER: [&str; 3] = ["auto", "aes-256-gcm", "chacha20-poly1305"];

/// What a bond has beside its members because they are tunnels.
pub(super) struct Facts {
    pub(super) is_udp: bool,
    pub(super) trunk: Trunk,
    pub(super) reorder: Reorder,
    pub(super) monitor: Monitor,
    pub(super) traffic: Option<Duration>,
}

/// Reads the keys of a bond that tunnels need. `members` are those whose tables could be read.
pub(super) fn of_bond(
    s: &mut Section<'_>,
    members: &[LinkFacts],
    problems: &mut Problems,
) -> Facts {
    let is_udp = members.iter().any(|link| link.kind == Some(LinkKind::Udp));
    let is_trunk = |link: &&LinkFacts| link.trunk == Trunk::On;
    let trunks = members.iter().filter(is_trunk).count();
    if trunks > 0 && trunks < members.len() {
        let place = s.node("members").map_or(s.place, |node| node.place);
        let message = "some members have `trunk = true` and some have not";
        let problem = Problem::new(place, s.key("members"), message);
        problems.push(problem.accepted(["all of a bond's links with `trunk = true`, or none"]));
    }
    let trunk = if trunks > 0 { Trunk::On } else { Trunk::Off };
    let default = match trunk {
        Trunk::On => Reorder::PerFlow { max: REORDER_MAX },
        Trunk::Off => Reorder::Off,
    };
    let reorder = s.or(problems, "reorder", default, reorder(trunk));
    let (monitor, traffic) = match trunk {
        Trunk::On => (monitor(s, problems), None),
        Trunk::Off => (Monitor::default(), one_way::traffic(s, members, problems)),
    };
    cipher(s, is_udp, problems);
    Facts { is_udp, trunk, reorder, monitor, traffic }
}

/// `"off"`, `"per-flow"` or `{ mode, max }`.
fn reorder(trunk: Trunk) -> impl Fn(&Node) -> Taken<Reorder> {
    move |node| {
        let form = "\"off\" or { mode = \"per-flow\", max = \"100ms\" }";
        let list = [("off", Reorder::Off), ("per-flow", Reorder::PerFlow { max: REORDER_MAX })];
        let one = |node: &Node| reader::choice(&list, &[])(node);
        let reorder = match &node.value {
            Value::Table(table) => {
                let unknown = table.entries.iter().find(|e| e.key != "mode" && e.key != "max");
                if let Some(entry) = unknown {
                    return Err(Unfit::new(format!("has an unknown key `{}`", entry.key), form));
                }
                let mode = table.node("mode").ok_or_else(|| Unfit::new("has no `mode`", form))?;
                match (one(mode)?, table.node("max")) {
                    (Reorder::PerFlow { .. }, Some(max)) => {
                        Reorder::PerFlow { max: reader::some_time(max)? }
                    }
                    (Reorder::Off, Some(_)) => {
                        return Err(Unfit::new("is off: `max` says nothing", "\"off\""));
                    }
                    (mode, None) => mode,
                }
            }
            _ => one(node)?,
        };
        match (reorder, trunk) {
            (Reorder::PerFlow { .. }, Trunk::Off) => {
                Err(Unfit::new("needs sequences: `trunk = true` on every member", "\"off\""))
            }
            _ => Ok(reorder),
        }
    }
}

/// `{ probe, down_after, up_after }`.
fn monitor(s: &mut Section<'_>, problems: &mut Problems) -> Monitor {
    let mut monitor = Monitor::default();
    if let Some(mut s) = s.section(problems, "monitor") {
        monitor.probe = s.or(problems, "probe", monitor.probe, reader::some_time);
        monitor.down_after = s.or(problems, "down_after", monitor.down_after, reader::some_time);
        monitor.up_after = s.or(problems, "up_after", monitor.up_after, reader::duration);
        if !monitor.is_sound() {
            let place = s.node("down_after").map_or(s.place, |node| node.place);
            let message = "`down_after` is not longer than `probe`";
            let problem = Problem::new(place, s.key("down_after"), message);
            let found = monitor.down_after.to_string();
            problems.push(problem.found(found).accepted([format!("more than {}", monitor.probe)]));
        }
        s.finish(problems);
    }
    monitor
}

/// That a tunnel is in clear has to be said.
fn cipher(s: &mut Section<'_>, is_udp: bool, problems: &mut Problems) {
    let place = s.place;
    let cipher = s.node("cipher").is_some();
    s.opt(problems, "cipher", reader::choice(&[("none", ())], &CIPHERS_LATER));
    if is_udp && !cipher {
        let message =
            "`cipher` is missing: what a tunnel carries goes in clear only when you say so";
        let problem = Problem::new(place, s.key("cipher"), message);
        problems.push(problem.accepted(["cipher = \"none\""]));
    }
}

/// An address and port to listen on.
pub(super) fn listen(node: &Node) -> Taken<SocketAddr> {
    let text = reader::text(node)?;
    let address = text.parse::<SocketAddr>().ok().filter(|address| address.port() > 0);
    let form = "\"0.0.0.0:4500\" or \"[::]:4500\"";
    address.ok_or_else(|| Unfit::new("is no address with a port", form))
}

/// Who is heard on each tunnel, and that somebody can begin.
pub(super) fn check(
    links: &[Link],
    bonds: &[Bond],
    ends: &[End],
    root: &Table,
    problems: &mut Problems,
) {
    let nodes = root.node("link").and_then(Node::as_array).unwrap_or_default();
    for bond in bonds {
        let udp = |i: &&usize| links.get(**i).is_some_and(|link| link.kind == LinkKind::Udp);
        for position in bond.members.iter().filter(udp) {
            if let Some(node) = nodes.get(*position) {
                check_link(&links[*position], node, bond, ends, problems);
            }
        }
        if bond.members.iter().any(|position| udp(&position)) {
            check_ipv6_room(bond, ends, root, problems);
        }
    }
}

/// The kernel gives no IPv6 address to a device with less.
fn check_ipv6_room(bond: &Bond, ends: &[End], root: &Table, problems: &mut Problems) {
    let has_ipv6 = |end: &&End| {
        bond.ends.contains(&end.name) && end.address.iter().any(|address| address.ip.is_ipv6())
    };
    let table = root.table("bond").and_then(|bonds| bonds.node(&bond.name));
    let (Some(end), Some(node)) = (ends.iter().find(has_ipv6), table) else {
        return;
    };
    if bond.mtu < IPV6_MTU_MIN {
        let message = format!(
            "the bond's MTU {} is too small for the IPv6 address of `{}`",
            bond.mtu, end.name
        );
        let place = node.as_table().and_then(|t| t.node("mtu")).unwrap_or(node).place;
        let problem = Problem::new(place, format!("bond.{}.mtu", bond.name), message);
        let forms = [format!("at least {IPV6_MTU_MIN}"), "addresses of IPv4 only".to_owned()];
        problems.push(problem.found(bond.mtu.to_string()).accepted(forms));
    }
}

fn check_link(link: &Link, node: &Node, bond: &Bond, ends: &[End], problems: &mut Problems) {
    let remotes = [0, 1].map(|side| {
        let end = &bond.ends[side];
        let remote = link.at.iter().find(|at| at.end == *end).and_then(|at| at.remote);
        // One that is there and no address has been told already.
        let at = node.as_table().and_then(|table| table.table("at"));
        let is_there = at.and_then(|at| at.table(end)).is_some_and(|t| t.node("remote").is_some());
        if remote.is_none() && !is_there {
            let key = format!("link.{}.at.{end}.remote", link.name);
            let message =
                format!("`at.{end}.remote` is missing: in clear only listed remotes are heard");
            let form = format!("at.{end} = {{ remote = \"192.0.2.1:4500\" }}");
            problems.push(Problem::new(node.place, key, message).accepted([form]));
        }
        remote
    });
    let [Some(first), Some(second)] = remotes else {
        return;
    };
    if first.ip.is_ipv4() != second.ip.is_ipv4() {
        let message = format!("the remotes of `{}` are of IPv4 and of IPv6", link.name);
        let problem = Problem::new(node.place, format!("link.{}.at", link.name), message);
        problems.push(problem.accepted(["both of one kind"]));
    }
    for (side, remote) in [(0, second), (1, first)] {
        let end = ends.iter().find(|end| end.name == bond.ends[side]);
        let listens = end.is_some_and(|end| end.listen.is_some());
        if remote.port.is_some() && !listens {
            let name = &bond.ends[side];
            let message = format!("`{name}` is sent to at a port, but listens nowhere");
            let problem = Problem::new(node.place, format!("end.{name}.listen"), message);
            let form = format!("[end.{name}] with listen = \"0.0.0.0:4500\"");
            problems.push(problem.accepted([form]));
        }
    }
    if first.port.is_none() && second.port.is_none() {
        let message = format!("neither end of `{}` can begin: no remote has a port", link.name);
        let problem = Problem::new(node.place, format!("link.{}.at", link.name), message);
        problems.push(problem.accepted(["a port in the remote of one end"]));
    }
}
