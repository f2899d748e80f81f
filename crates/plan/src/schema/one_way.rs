//! Links that carry one way: `direction`, the cable of a cable modem, who could not answer, and whether a
//! path is up that nothing can be asked over.

use super::LinkFacts;
use crate::diagnostic::{Problem, Problems};
use crate::model::{Bond, Cable, Direction, EndKind, Link, LinkKind, Others, OthersTo, Trunk};
use crate::reader::{self, Section, Taken, Unfit};
use crate::tree::{Node, Table};
use trunkline_core::bond::Mode;
use trunkline_core::host::ReversePath;
use trunkline_core::link::tuner::PIDS_MAX;
use trunkline_core::link::{Broadcasts, HeaderCompression, Pid, ReceiveRingConfig, Station};
use trunkline_core::time::Duration;

const DIRECTIONS: [(&str, Option<Direction>); 3] =
    [("both", None), ("up", Some(Direction::Up)), ("down", Some(Direction::Down))];
const RP_FILTERS: [(&str, ReversePath); 3] =
    [("off", ReversePath::Off), ("loose", ReversePath::Loose), ("strict", ReversePath::Strict)];
const TO: [(&str, OthersTo); 2] =
    [("everybody", OthersTo::Everybody), ("subscribers", OthersTo::Subscribers)];

/// How long a path that only receives may be silent.
const TRAFFIC: Duration = Duration::from_secs(10);
/// A PID has 13 bits (ISO/IEC 13818-1).
const PID_MAX: i128 = 0x1fff;
/// Headers of IPv4 and UDP, in bytes, and what the cable carries.
const OTHERS_MIN: u64 = 28;
const OTHERS_MAX: u64 = 1500;

/// `direction` of a link; a cable's is never both.
pub(super) fn direction(
    s: &mut Section<'_>,
    kind: Option<LinkKind>,
    trunk: Trunk,
    problems: &mut Problems,
) -> Option<Direction> {
    let is_cable = kind == Some(LinkKind::Cable);
    let default = is_cable.then_some(Direction::Down);
    s.or(problems, "direction", default, |node| {
        let direction = reader::choice(&DIRECTIONS, &[])(node)?;
        match direction {
            None if is_cable => {
                Err(Unfit::new("= \"both\" is more than a cable carries", "\"down\" or \"up\""))
            }
            Some(_) if trunk == Trunk::On => {
                let message = "goes one way, but a trunk's records go back over the same path";
                Err(Unfit::new(message, "\"both\", or trunk = false"))
            }
            _ => Ok(direction),
        }
    })
}

/// `lab.cable` of a cable link.
pub(super) fn cable(s: &mut Section<'_>, problems: &mut Problems) -> Cable {
    let mut cable = Cable {
        station: Station::of_serial(1),
        pids: vec![Pid(1)],
        broadcasts: Broadcasts::Taken,
        others: Vec::new(),
    };
    let Some(mut s) = s.section(problems, "cable") else {
        return cable;
    };
    let serial = s.or(problems, "serial", 1, reader::whole(0, u32::MAX.into()));
    cable.station = Station::of_serial(serial);
    cable.pids = s.or(problems, "pids", cable.pids, pids);
    if s.or(problems, "nobroadcast", false, reader::flag) {
        cable.broadcasts = Broadcasts::Refused;
    }
    let others = s.sections(problems, "others");
    cable.others = others.into_iter().filter_map(|s| others_of(s, problems)).collect();
    s.finish(problems);
    cable
}

fn pid(node: &Node) -> Taken<Pid> {
    reader::whole(0, PID_MAX)(node).map(Pid)
}

/// One to four different PIDs.
fn pids(node: &Node) -> Taken<Vec<Pid>> {
    let form = "one to four different numbers such as [1, 2]";
    let nodes = node.as_array().ok_or_else(|| Unfit::new("is not an array", form))?;
    let pids = nodes.iter().map(pid).collect::<Taken<Vec<Pid>>>()?;
    let mut different = pids.clone();
    different.sort_unstable();
    different.dedup();
    match (1..=PIDS_MAX).contains(&pids.len()) && different.len() == pids.len() {
        true => Ok(pids),
        false => Err(Unfit::new("is not what a modem can listen to", form)),
    }
}

fn others_of(mut s: Section<'_>, problems: &mut Problems) -> Option<Others> {
    let pid = s.or(problems, "pid", Pid(1), pid);
    let to = s.or(problems, "to", OthersTo::Everybody, reader::choice(&TO, &[]));
    let interval = s.req(problems, "interval", "\"10ms\"", reader::some_time);
    let size = s.or(problems, "size", 100, reader::size(OTHERS_MIN, OTHERS_MAX));
    s.finish(problems);
    Some(Others { pid, to, interval: interval?, size })
}

/// `lab.ring`: a card that its host reads word by word. Without it the host has every frame at once.
pub(super) fn ring(s: &mut Section<'_>, problems: &mut Problems) -> Option<ReceiveRingConfig> {
    let mut s = s.section(problems, "ring")?;
    let bytes = s.req(problems, "size", "\"32KiB\"", reader::size(1, 1 << 30));
    let word = s.or(problems, "word", 2, reader::size(1, 4096));
    let read = s.or(problems, "read", Duration::from_micros(1), reader::duration);
    let delay = s.or(problems, "delay", Duration::ZERO, reader::duration);
    s.finish(problems);
    Some(ReceiveRingConfig { bytes: bytes?, word, read, delay })
}

/// `monitor = { traffic }` of a bond without our header.
pub(super) fn traffic(
    s: &mut Section<'_>,
    members: &[LinkFacts],
    problems: &mut Problems,
) -> Option<Duration> {
    let is_one_way = members.iter().any(|link| link.direction.is_some());
    let key = s.key("monitor");
    if let Some(node) = s.node("monitor").filter(|_| !is_one_way) {
        let message = "`monitor` probes paths: it needs `trunk = true` on every member";
        let problem = Problem::new(node.place, key, message);
        problems.push(problem.found(node.value.to_string()).accepted(["no `monitor`"]));
        return None;
    }
    let section = s.section(problems, "monitor");
    let told = section.map(|mut s| {
        let traffic = s.or(problems, "traffic", TRAFFIC, reader::some_time);
        s.finish(problems);
        traffic
    });
    told.or(is_one_way.then_some(TRAFFIC))
}

/// `rp_filter` of an end.
pub(super) fn rp_filter(
    s: &mut Section<'_>,
    kind: EndKind,
    problems: &mut Problems,
) -> ReversePath {
    s.or(problems, "rp_filter", ReversePath::Off, |node| {
        let mode = reader::choice(&RP_FILTERS, &[])(node)?;
        match kind {
            EndKind::Route => Ok(mode),
            EndKind::Tun | EndKind::Tap => Err(Unfit::new(
                "says nothing here: what comes out of a bond's own device is answered over it",
                "type = \"route\", where the links are the devices",
            )),
        }
    })
}

/// Tells of ends that nothing carries from.
pub(super) fn check(links: &[Link], bonds: &[Bond], root: &Table, problems: &mut Problems) {
    for bond in bonds {
        let members = || bond.members.iter().filter_map(|member| links.get(*member));
        for end in [0, 1] {
            if members().next().is_none() || members().any(|link| link.carries_from(end)) {
                continue;
            }
            let table = root.table("bond").and_then(|t| t.table(&bond.name));
            let Some(node) = table.and_then(|t| t.node("members")) else {
                continue;
            };
            let [here, there] = [&bond.ends[end], &bond.ends[1 - end]];
            let message = format!(
                "`{here}` could only receive and `{there}` only send: no member carries from \
                 `{here}` to `{there}`, so there is no return path and nothing is ever answered"
            );
            let way = ["up", "down"][end];
            let accepted = [
                format!("a member with direction = \"{way}\", such as a telephone line"),
                "a member with direction = \"both\"".to_owned(),
            ];
            let problem = Problem::new(node.place, format!("bond.{}.members", bond.name), message);
            problems.push(problem.found(node.value.to_string()).accepted(accepted));
        }
    }
}

/// Why a link that compresses headers cannot be a member: each is told as its difference from the one before
/// it, and a bond sends that one over another link. Where it is the only one that carries its way, the bond
/// sends all of them over it.
pub(super) fn spread_headers(links: &[Link], link: &Link, bond: &Bond) -> Option<String> {
    let compresses = link.framing.compression == HeaderCompression::VanJacobson;
    let spreads = |end: usize| {
        let members = bond.members.iter().filter_map(|member| links.get(*member));
        let senders = members.filter(|member| member.carries_from(end)).count();
        link.carries_from(end) && senders > 1 && bond.mode[end] != Mode::ActiveBackup
    };
    (compresses && (spreads(0) || spreads(1))).then(|| {
        let name = &link.name;
        format!(
            "link `{name}` compresses headers (vj), whose packets must keep their order: \
             a bond spreads them over its members"
        )
    })
}
