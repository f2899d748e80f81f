//! `[[link]]`: one line between the two ends of a bond.

use super::queue::{Place, queue};
use super::{LinkFacts, Scope, one_way, serial};
use crate::diagnostic::{Problem, Problems};
use crate::model::{
    Cable, Discipline, FlowControl, Link, LinkAt, LinkKind, LinkLab, Rates, Remote, Reorder, Trunk,
};
use crate::quantity::RATE_FORM;
use crate::reader::{self, Section, Taken, Unfit};
use crate::tree::{Node, Table, Value};
use std::net::SocketAddr;
use trunkline_core::link::ReceiveRingConfig;
use trunkline_core::link::framing::{Framing, Header, HeaderCompression, Payload};
use trunkline_core::queue::Limit;
use trunkline_core::time::Duration;
use trunkline_core::units::{BitRate, Ratio};

const KINDS: [(&str, LinkKind); 5] = [
    ("serial", LinkKind::Serial),
    ("udp", LinkKind::Udp),
    ("ethernet", LinkKind::Ethernet),
    ("device", LinkKind::Device),
    ("cable", LinkKind::Cable),
];
const PAYLOADS: [(&str, Payload); 3] =
    [("random", Payload::Random), ("text", Payload::Text), ("zeros", Payload::Zeros)];
const FLOWS: [(&str, FlowControl); 3] = [
    ("rtscts", FlowControl::RtsCts),
    ("xonxoff", FlowControl::XonXoff),
    ("none", FlowControl::None),
];

/// Smallest MTU an IPv4 link may have (RFC 791).
pub(super) const MTU_MIN: i128 = 68;
/// The largest datagram with its headers that every path takes: Ethernet's.
const UDP_MTU: u16 = 1500;
/// The longest packet in an Ethernet frame.
const ETHERNET_MTU: u16 = 1500;

pub(super) fn link(mut s: Section<'_>, scope: &mut Scope, problems: &mut Problems) -> Option<Link> {
    let name_place = s.node("name").map_or(s.place, |n| n.place);
    let name = s.req(problems, "name", "\"…\"", reader::name);
    if let Some(name) = &name {
        scope.links.push(name.clone());
        scope.claim("link", name, name_place, problems);
    }
    let kind = s.req(problems, "kind", "\"serial\"", reader::choice(&KINDS, &[]));
    let rate = s.req(problems, "rate", "\"28.8kbit\" or { up = \"…\", down = \"…\" }", rates);
    let weight = s.opt(problems, "weight", reader::rate);
    let mtu = s.opt(problems, "mtu", reader::whole(MTU_MIN, 65_535));
    let trunk = s.or(problems, "trunk", Trunk::Off, trunk(kind));
    let direction = one_way::direction(&mut s, kind, trunk, problems);
    s.node("lab");
    let at = link_at(&mut s, problems);
    let mut framing = match kind {
        Some(LinkKind::Udp) => datagrams(&mut s, &at, problems),
        Some(LinkKind::Ethernet) => {
            no_choice("an ethernet", &mut s, problems);
            Framing { header: Header::Ethernet, ..Framing::PLAIN }
        }
        Some(LinkKind::Cable) => {
            no_choice("a cable", &mut s, problems);
            Framing { header: Header::Cells, ..Framing::PLAIN }
        }
        _ => {
            let payload =
                s.or(problems, "payload", Payload::Random, reader::choice(&PAYLOADS, &[]));
            match kind {
                // What an interface puts around packets is its own affair, unless the plan says it.
                Some(LinkKind::Device) if s.node("framing").is_none() => {
                    Framing { payload, ..Framing::PLAIN }
                }
                _ => serial::framing(&mut s, payload, problems),
            }
        }
    };
    let mut extra = Extra::default();
    let lab = link_lab(&mut s, (kind, trunk), &mut framing, &mut extra, problems);
    let mtu = mtu.or(match kind {
        Some(LinkKind::Udp) => Some(UDP_MTU),
        Some(LinkKind::Ethernet | LinkKind::Cable) => Some(ETHERNET_MTU),
        Some(LinkKind::Serial | LinkKind::Device) | None => None,
    });
    if name.is_some() {
        let room = mtu.map(|mtu| room(mtu, trunk, framing));
        let carried = lab.rate.or(rate).filter(|rates| rates.up == rates.down);
        let has_modem = lab.modem.is_some();
        let rate = carried.map(|rates| rates.up);
        scope.facts.push(LinkFacts { kind, rate, has_modem, trunk, direction, room });
    }
    s.node("count");
    s.later(&["dial"]);
    s.finish(problems);
    let rate = rate?;
    Some(Link {
        name: name?,
        kind: kind?,
        weight: weight.unwrap_or(rate.up),
        rate,
        mtu,
        direction,
        trunk,
        framing,
        lab,
        cable: extra.cable,
        ring: extra.ring,
        at,
    })
}

/// One rate for both directions, or one for each.
fn rates(node: &Node) -> Taken<Rates> {
    let Value::Table(table) = &node.value else {
        if node.as_text() == Some("auto") {
            return Err(Unfit::new("\"auto\" is not in this version", RATE_FORM));
        }
        return reader::rate(node).map(|rate| Rates { up: rate, down: rate });
    };
    let form = "{ up = \"…\", down = \"…\" }";
    let one = |key: &str| -> Taken<BitRate> {
        let node = table.node(key);
        let node = node.ok_or_else(|| Unfit::new(format!("has no `{key}`"), form))?;
        reader::rate(node).map_err(|u| Unfit::new(format!("`{key}` {}", u.message), RATE_FORM))
    };
    let rates = Rates { up: one("up")?, down: one("down")? };
    match table.entries.iter().find(|e| e.key != "up" && e.key != "down") {
        Some(entry) => Err(Unfit::new(format!("has an unknown key `{}`", entry.key), form)),
        None => Ok(rates),
    }
}

/// Our header needs both ends to be ours: tunnels can have it.
fn trunk(kind: Option<LinkKind>) -> impl Fn(&Node) -> Taken<Trunk> {
    move |node| match (reader::flag(node)?, kind) {
        (false, _) => Ok(Trunk::Off),
        (true, Some(LinkKind::Serial)) => {
            Err(Unfit::new("= true is not in this version for a serial link", "false"))
        }
        (true, Some(LinkKind::Device)) => {
            Err(Unfit::new("= true is not in this version for a device", "false"))
        }
        (true, Some(LinkKind::Cable)) => {
            Err(Unfit::new("= true needs a link that carries both ways", "false"))
        }
        (true, Some(LinkKind::Ethernet)) => {
            Err(Unfit::new("= true is not in this version for an ethernet link", "false"))
        }
        (true, _) => Ok(Trunk::On),
    }
}

/// What is left of a link's MTU for a packet.
fn room(mtu: u16, trunk: Trunk, framing: Framing) -> u16 {
    let outer = match framing.header {
        Header::UdpIpv4 | Header::UdpIpv6 => framing.header.len(),
        Header::None
        | Header::Slip
        | Header::Ppp(_)
        | Header::Ethernet
        | Header::EthernetFrame
        | Header::Cells => 0,
    };
    let ours = if trunk == Trunk::On { trunkline_core::wire::trunk::HEADER_LEN } else { 0 };
    mtu.saturating_sub(outer as u16 + ours as u16)
}

/// A link whose framing follows from its kind.
fn no_choice(kind: &str, s: &mut Section<'_>, problems: &mut Problems) {
    for key in ["framing", "payload"] {
        if let Some(entry) = s.table().entry(key) {
            let message = format!("{kind} link has no `{key}`");
            let problem = Problem::new(entry.place, s.key(key), message);
            problems.push(problem.found(entry.node.value.to_string()).accepted(["no such key"]));
        }
    }
    s.node("framing");
    s.node("payload");
}

/// The framing of a tunnel: nothing to choose, its remotes say which IP is outside.
fn datagrams(s: &mut Section<'_>, at: &[LinkAt], problems: &mut Problems) -> Framing {
    no_choice("a udp", s, problems);
    let is_ipv6 = at.iter().any(|at| at.remote.is_some_and(|remote| remote.ip.is_ipv6()));
    let header = if is_ipv6 { Header::UdpIpv6 } else { Header::UdpIpv4 };
    Framing { header, ..Framing::PLAIN }
}

/// What `lab` has besides for some kinds.
#[derive(Default)]
struct Extra {
    cable: Option<Cable>,
    ring: Option<ReceiveRingConfig>,
}

fn link_lab(
    s: &mut Section<'_>,
    (kind, trunk): (Option<LinkKind>, Trunk),
    framing: &mut Framing,
    extra: &mut Extra,
    problems: &mut Problems,
) -> LinkLab {
    let mut lab = LinkLab {
        delay: Duration::ZERO,
        jitter: Duration::ZERO,
        queue: Limit::Packets(20),
        discipline: Discipline::DropTail,
        loss: Ratio::ZERO,
        duplicate: Ratio::ZERO,
        reorder: Reorder { ratio: Ratio::ZERO, delay: Duration::ZERO },
        corrupt: Ratio::ZERO,
        rate: None,
        modem: None,
    };
    let is_cable = kind == Some(LinkKind::Cable);
    let section = s.section(problems, "lab");
    let Some(mut s) = section else {
        let empty = Table::default();
        let mut none = Section::new(&empty, s.place, s.key("lab"));
        extra.cable = is_cable.then(|| one_way::cable(&mut none, problems));
        return lab;
    };
    lab.delay = s.or(problems, "delay", lab.delay, reader::duration);
    lab.jitter = s.or(problems, "jitter", lab.jitter, reader::duration);
    lab.loss = s.or(problems, "loss", lab.loss, reader::ratio);
    lab.duplicate = s.or(problems, "duplicate", lab.duplicate, reader::ratio);
    lab.corrupt = s.or(problems, "corrupt", lab.corrupt, reader::ratio);
    if let Some(mut s) = s.section(problems, "reorder") {
        let ratio = s.req(problems, "ratio", "\"1%\"", reader::ratio);
        let delay = s.req(problems, "delay", "\"50ms\"", reader::some_time);
        s.finish(problems);
        if let (Some(ratio), Some(delay)) = (ratio, delay) {
            lab.reorder = Reorder { ratio, delay };
        }
    }
    match kind {
        Some(LinkKind::Udp | LinkKind::Ethernet) => lab.rate = s.opt(problems, "rate", rates),
        Some(LinkKind::Cable) => {
            extra.cable = Some(one_way::cable(&mut s, problems));
            extra.ring = one_way::ring(&mut s, problems);
        }
        _ => {
            lab.modem = serial::modem(&mut s, framing, problems);
            s.later(&["rate"]);
        }
    }
    let place = match lab.rate.is_some() && trunk == Trunk::Off || lab.modem.is_some() {
        true => Place::Network,
        false => Place::Bond,
    };
    if framing.compression == HeaderCompression::VanJacobson && !lab.keeps_order() {
        let message = "header compression (framing.vj) needs a line that keeps its order: each header \
                       is told as its difference from the one before";
        let problem = Problem::new(s.place, &s.path, message);
        problems.push(problem.accepted(["no duplicate or reorder", "vj = false"]));
    }
    (lab.queue, lab.discipline) = queue(lab.queue, place, &mut s, problems);
    s.finish(problems);
    lab
}

fn link_at(s: &mut Section<'_>, problems: &mut Problems) -> Vec<LinkAt> {
    let Some(table) = s.section(problems, "at") else {
        return Vec::new();
    };
    let mut list = Vec::new();
    for (end, mut s) in table.named(problems) {
        let tty = s.opt(problems, "tty", reader::text);
        let baud = s.opt(problems, "baud", reader::whole(50, 4_000_000));
        let flow = s.opt(problems, "flow", reader::choice(&FLOWS, &[]));
        let device = s.opt(problems, "device", reader::text);
        let remote = s.opt(problems, "remote", remote);
        s.finish(problems);
        list.push(LinkAt { end, tty, baud, flow, device, remote });
    }
    list
}

/// An address with or without a port.
fn remote(node: &Node) -> Taken<Remote> {
    let form = "\"192.0.2.1:4500\", \"[2001:db8::1]:4500\", or an address alone";
    let text = reader::text(node)?;
    let whole = text.parse::<SocketAddr>().ok().filter(|address| address.port() > 0);
    let whole = whole.map(|address| Remote { ip: address.ip(), port: Some(address.port()) });
    let alone = || text.parse().ok().map(|ip| Remote { ip, port: None });
    let remote = whole.or_else(alone).ok_or_else(|| Unfit::new("is no address", form))?;
    match remote.ip.is_unspecified() || remote.ip.is_multicast() {
        true => Err(Unfit::new("is not the address of one machine", form)),
        false => Ok(remote),
    }
}
