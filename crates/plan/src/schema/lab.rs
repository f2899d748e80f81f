//! `[lab]`: what only virtual time needs.

use super::{EXPERIMENT_LAB_KEYS, Scope, all, segment, tcp};
use crate::diagnostic::{Problem, Problems};
use crate::metric::{self, Owner};
use crate::model::{
    App, Bond, Bulk, Chip, Clock, Content, Direction, Expect, Fault, FaultKind, Flow, Lab,
    LinkKind, Ping,
};
use crate::reader::{self, Section, Taken, Unfit};
use crate::source::Place;
use crate::tree::Node;
use trunkline_core::time::Duration;

#[derive(Clone, Copy)]
enum AppKind {
    Bulk,
    Ping,
}

const APPS: [(&str, AppKind); 2] = [("bulk", AppKind::Bulk), ("ping", AppKind::Ping)];
const APPS_LATER: [&str; 7] =
    ["request-response", "incast", "web", "rpc", "rip", "heartbeat", "connect"];
const CONTENTS: [(&str, Content); 2] = [("zeros", Content::Zeros), ("pattern", Content::Pattern)];
const CLOCKS: [(&str, Clock); 2] =
    [("first-to-last-byte", Clock::FirstToLastByte), ("last-write", Clock::LastWrite)];

/// The MTU of a flow whose bond is not known: as large as can be, so that nothing else is wrong with it.
const MTU_UNKNOWN: u16 = u16::MAX;
/// Headers of IPv4 and ICMP echo in bytes (RFC 791, RFC 792).
const ECHO_HEADERS: u16 = 28;
/// What `ping` sends unless told otherwise, in bytes.
const ECHO_SIZE: u16 = 56;
const FAULTS: [(&str, FaultKind); 2] =
    [("carrier", FaultKind::Carrier), ("blackhole", FaultKind::Blackhole)];

/// What a plan without `[lab]` runs for.
const DURATION: Duration = Duration::from_secs(60);

pub(super) fn lab(
    section: Option<Section<'_>>,
    place: Place,
    scope: &mut Scope,
    bonds: &[Bond],
    problems: &mut Problems,
) -> Option<Lab> {
    let empty = crate::tree::Table::default();
    let mut s = section.unwrap_or_else(|| Section::new(&empty, place, "lab"));
    let seed = s.or(problems, "seed", 1, reader::whole(0, i128::from(u64::MAX)));
    let duration = s.or(problems, "duration", DURATION, reader::some_time);
    let warmup = s.or(problems, "warmup", Duration::ZERO, reader::duration);
    if warmup >= duration
        && let Some(node) = s.node("warmup")
    {
        let problem =
            Problem::new(node.place, "lab.warmup", "`warmup` is not shorter than `duration`");
        problems
            .push(problem.found(warmup.to_string()).accepted([format!("less than {duration}")]));
    }
    let runs = s.or(problems, "runs", 1, reader::whole(1, 100_000));
    let chips = chips(&mut s, scope, problems);
    let segments = segment::segments(&mut s, scope, &chips, problems);
    let faults = faults(&mut s, scope, problems);
    let flows = s.sections(problems, "flow");
    let flows: Vec<Option<Flow>> =
        flows.into_iter().map(|f| flow(f, scope, bonds, problems)).collect();
    let owners = owners(scope, &flows);
    let expects = s.sections(problems, "expect");
    let expects = expects.into_iter().map(|e| expect(e, &owners, problems)).collect();
    for key in EXPERIMENT_LAB_KEYS {
        s.node(key);
    }
    s.later(&["host", "switch"]);
    s.finish(problems);
    Some(Lab {
        seed,
        duration,
        warmup,
        runs,
        flows: all(flows)?,
        chips,
        segments,
        faults,
        expects: all(expects)?,
    })
}

fn chips(s: &mut Section<'_>, scope: &mut Scope, problems: &mut Problems) -> Vec<Chip> {
    let mut list: Vec<Chip> = Vec::new();
    for mut s in s.sections(problems, "chip") {
        let name = name(&mut s, "chip", scope, problems);
        let rate = s.or(problems, "rate", None, rate_or_off);
        let key = s.key("links");
        let links = match s.node("links") {
            Some(node) => scope.resolve_links(node, &key, problems),
            None => {
                let problem = Problem::new(s.place, key.as_str(), "`links` is missing");
                problems.push(problem.accepted(["links = [\"LINK\", …]"]));
                Vec::new()
            }
        };
        for (link, place) in &links {
            let facts = scope.facts[*link];
            let is_line = facts.kind.is_none_or(|kind| kind == LinkKind::Serial);
            if !is_line || facts.has_modem {
                let what = if is_line { "has a modem's line" } else { "is no serial line" };
                let message = format!("link `{}` {what}", scope.links[*link]);
                let problem = Problem::new(*place, key.as_str(), message);
                problems.push(
                    problem.found(&scope.links[*link]).accepted(["links of kind \"serial\""]),
                );
            }
            if let Some(other) = list.iter().find(|c| c.links.contains(link)) {
                let message =
                    format!("link `{}` is on chip `{}` too", scope.links[*link], other.name);
                let problem = Problem::new(*place, key.as_str(), message);
                problems
                    .push(problem.found(&scope.links[*link]).accepted(["each link on one chip"]));
            }
        }
        s.node("count");
        s.finish(problems);
        let links = links.into_iter().map(|(link, _)| link).collect();
        list.extend(name.map(|name| Chip { name, rate, links }));
    }
    list
}

/// A rate, or `"none"` for a chip that limits nothing.
fn rate_or_off(node: &Node) -> Taken<Option<trunkline_core::units::BitRate>> {
    match node.as_text() {
        Some("none") => Ok(None),
        _ => reader::rate(node).map(Some),
    }
}

/// A link's time down, and where the plan says it.
struct Cut {
    fault: Fault,
    place: Place,
    key: String,
}

fn faults(s: &mut Section<'_>, scope: &Scope, problems: &mut Problems) -> Vec<Fault> {
    let mut cuts = Vec::new();
    for mut s in s.sections(problems, "fault") {
        s.opt(problems, "name", reader::name);
        let link = s.req(problems, "link", "\"LINK\"", |node| {
            let name = reader::text(node)?;
            scope.links.iter().position(|l| *l == name).ok_or_else(|| Unfit {
                message: format!("\"{name}\" is no link"),
                accepted: scope.links.clone(),
                nearest: crate::diagnostic::nearest(&name, &scope.links),
            })
        });
        let place = s.node("down_at").map_or(s.place, |n| n.place);
        let key = s.key("down_at");
        let down_at = s.req(problems, "down_at", "\"20s\"", reader::duration);
        let kind = s.or(problems, "kind", FaultKind::Carrier, reader::choice(&FAULTS, &[]));
        let up_after = s.opt(problems, "up_after", reader::some_time);
        s.node("count");
        s.finish(problems);
        let fault =
            link.zip(down_at).map(|(link, down_at)| Fault { link, down_at, kind, up_after });
        cuts.extend(fault.map(|fault| Cut { fault, place, key }));
    }
    check_overlaps(&cuts, scope, problems);
    cuts.into_iter().map(|cut| cut.fault).collect()
}

/// A link that is down cannot go down: every fault begins after the one before it has ended.
fn check_overlaps(cuts: &[Cut], scope: &Scope, problems: &mut Problems) {
    let mut by_time: Vec<&Cut> = cuts.iter().collect();
    by_time.sort_by_key(|cut| (cut.fault.link, cut.fault.down_at));
    let mut longest: Option<Fault> = None;
    for Cut { fault, place, key } in by_time {
        let before = longest.filter(|before| before.link == fault.link);
        if let Some(before) = before.filter(|b| b.up_at().is_none_or(|up| fault.down_at <= up)) {
            let link = &scope.links[fault.link];
            let message =
                format!("the fault overlaps the fault at {} of link `{link}`", before.down_at);
            let accepted = match before.up_at() {
                Some(up) => format!("after {up}, when the link is up again"),
                None => "an `up_after` for the fault before it".to_owned(),
            };
            let problem = Problem::new(*place, key.as_str(), message);
            problems.push(problem.found(fault.down_at.to_string()).accepted([accepted]));
        }
        let ends_later = |b: &Fault| match (b.up_at(), fault.up_at()) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(before), Some(own)) => own > before,
        };
        if before.is_none_or(|b| ends_later(&b)) {
            longest = Some(*fault);
        }
    }
}

/// The name of a table that metrics are addressed by.
pub(super) fn name(
    s: &mut Section<'_>,
    kind: &'static str,
    scope: &mut Scope,
    problems: &mut Problems,
) -> Option<String> {
    let place = s.node("name").map_or(s.place, |n| n.place);
    let name = s.req(problems, "name", "\"…\"", reader::name)?;
    scope.claim(kind, &name, place, problems);
    Some(name)
}

fn flow(
    mut s: Section<'_>,
    scope: &mut Scope,
    bonds: &[Bond],
    problems: &mut Problems,
) -> Option<Flow> {
    let name = name(&mut s, "flow", scope, problems);
    let from = s.req(problems, "from", "\"END\"", end(bonds));
    let to = s.req(problems, "to", "\"END\"", end(bonds));
    let start = s.or(problems, "start", Duration::ZERO, reader::duration);
    let route =
        from.as_deref().zip(to.as_deref()).and_then(|(f, t)| route(&mut s, f, t, bonds, problems));
    let mtu = route.and_then(|(bond, _)| bonds.get(bond)).map_or(MTU_UNKNOWN, |b| b.mtu);
    let app = match s.section(problems, "app") {
        Some(section) => app(section, mtu, problems),
        None => {
            let problem = Problem::new(s.place, s.key("app"), "`app` is missing");
            problems.push(problem.accepted(["app = { kind = \"bulk\" }"]));
            None
        }
    };
    let section = s.section(problems, "tcp");
    if let (Some(section), Some(App::Ping(_))) = (&section, &app) {
        let problem = Problem::new(section.place, s.key("tcp"), "a ping has no `tcp`");
        problems.push(problem.accepted(["`tcp` for app kind \"bulk\""]));
    }
    let tcp = tcp::tcp(section, mtu, problems);
    s.node("count");
    s.finish(problems);
    let (bond, direction) = route?;
    Some(Flow { name: name?, from: from?, to: to?, bond, direction, start, app: app?, tcp })
}

/// The name of an end of some bond.
fn end(bonds: &[Bond]) -> impl Fn(&Node) -> Taken<String> {
    let mut ends: Vec<String> = Vec::new();
    for name in bonds.iter().flat_map(|b| &b.ends) {
        if !ends.contains(name) {
            ends.push(name.clone());
        }
    }
    move |node| {
        let name = reader::name(node)?;
        if ends.is_empty() || ends.contains(&name) {
            return Ok(name);
        }
        let nearest = crate::diagnostic::nearest(&name, &ends);
        Err(Unfit {
            message: format!("\"{name}\" is no end of a bond"),
            accepted: ends.clone(),
            nearest,
        })
    }
}

/// The one bond that joins two ends.
fn route(
    s: &mut Section<'_>,
    from: &str,
    to: &str,
    bonds: &[Bond],
    problems: &mut Problems,
) -> Option<(usize, Direction)> {
    let wanted = s.opt(problems, "bond", reader::name);
    let pairs: Vec<String> = bonds.iter().map(|b| b.ends.join(" and ")).collect();
    let joined = bonds.iter().enumerate().find_map(|(i, bond)| {
        let [first, second] = &bond.ends;
        let direction = match (from, to) {
            (f, t) if f == first && t == second => Direction::Up,
            (f, t) if f == second && t == first => Direction::Down,
            _ => return None,
        };
        wanted.as_ref().is_none_or(|w| *w == bond.name).then_some((i, direction))
    });
    if joined.is_none() && !bonds.is_empty() {
        let place = s.node("to").map_or(s.place, |n| n.place);
        let message = format!("no bond joins `{from}` and `{to}`");
        let problem = Problem::new(place, s.key("to"), message);
        problems.push(problem.found(to).accepted(pairs));
    }
    joined
}

/// What a flow does over a bond of this MTU.
fn app(mut s: Section<'_>, mtu: u16, problems: &mut Problems) -> Option<App> {
    let kind = s.req(problems, "kind", "\"bulk\"", reader::choice(&APPS, &APPS_LATER));
    let app = match kind? {
        AppKind::Bulk => App::Bulk(Bulk {
            bytes: s.opt(problems, "bytes", reader::size(1, 1 << 50)),
            write: s.or(problems, "write", 8192, reader::size(1, 1 << 24)),
            content: s.or(problems, "content", Content::Zeros, reader::choice(&CONTENTS, &[])),
            clock: s.or(problems, "clock", Clock::FirstToLastByte, reader::choice(&CLOCKS, &[])),
            start_cost: s.or(problems, "start_cost", Duration::ZERO, reader::duration),
        }),
        AppKind::Ping => App::Ping(Ping {
            interval: s.or(problems, "interval", Duration::from_secs(1), reader::some_time),
            size: echo_size(&mut s, mtu, problems),
            count: s.opt(problems, "count", reader::whole(1, i128::from(u32::MAX))),
        }),
    };
    s.finish(problems);
    Some(app)
}

/// The payload of an echo; the packet must fit the bond, which fragments nothing.
fn echo_size(s: &mut Section<'_>, mtu: u16, problems: &mut Problems) -> u16 {
    let most = mtu.saturating_sub(ECHO_HEADERS);
    if s.node("size").is_none() && ECHO_SIZE > most {
        let message = format!("an echo of {ECHO_SIZE}B, the default, does not fit the MTU {mtu}");
        let problem = Problem::new(s.place, s.key("size"), message);
        problems.push(problem.accepted([format!("a `size` from 0B to {most}B")]));
    }
    s.or(problems, "size", ECHO_SIZE, reader::size(0, u64::from(most)))
}

fn expect(mut s: Section<'_>, owners: &[(&str, Owner)], problems: &mut Problems) -> Option<Expect> {
    let what = s.req(problems, "what", "\"FLOW.METRIC\"", metric(owners));
    let of = s.opt(problems, "of", metric(owners));
    s.opt(problems, "name", reader::name);
    let range = s.opt(problems, "range", range);
    let min = s.opt(problems, "min", reader::number);
    let max = s.opt(problems, "max", reader::number);
    let bounds = (range.map(|r| r[0]).or(min), range.map(|r| r[1]).or(max));
    let message = match bounds {
        (None, None) => Some("the expectation has no bound"),
        (Some(low), Some(high)) if low > high => Some("the lower bound is above the upper one"),
        _ if range.is_some() && (min.is_some() || max.is_some()) => {
            Some("`range` says both bounds")
        }
        _ => None,
    };
    if let Some(message) = message {
        let problem = Problem::new(s.place, &s.path, message);
        problems.push(problem.accepted(["range = [0.7, 1.3]", "min = 0.7", "max = 1.3"]));
    }
    // Rows and variants have been chosen before; the keys are known all the same.
    s.node("where");
    s.node("variant");
    s.finish(problems);
    Some(Expect { what: what?, of, min: bounds.0, max: bounds.1 })
}

fn range(node: &Node) -> Taken<[f64; 2]> {
    match node.as_array() {
        Some([low, high]) => Ok([reader::number(low)?, reader::number(high)?]),
        _ => Err(Unfit::new("is not two numbers", "[0.7, 1.3]")),
    }
}

/// Everything a metric can be asked of. A flow that is wrong may have any flow's metric.
fn owners<'n>(scope: &'n Scope, flows: &[Option<Flow>]) -> Vec<(&'n str, Owner)> {
    let owner = |name: &str, kind: &str| match kind {
        "link" => Owner::Link,
        "bond" => Owner::Bond,
        "chip" => Owner::Chip,
        "segment" => Owner::Segment,
        _ => {
            let flow = flows.iter().flatten().find(|f| f.name == name);
            flow.map_or(Owner::Flow, |f| Owner::of(&f.app))
        }
    };
    scope.names.iter().map(|n| (n.name.as_str(), owner(&n.name, n.kind))).collect()
}

/// `NAME.METRIC` with a name the plan has and a metric of its kind.
fn metric(owners: &[(&str, Owner)]) -> impl Fn(&Node) -> Taken<String> {
    move |node| {
        let text = reader::text(node)?;
        metric::check(&text, owners).map(|()| text)
    }
}
