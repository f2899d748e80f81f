//! `[lab]`: what only virtual time needs.

use super::app::{self, Way};
use super::network::{Network, network};
use super::route::{self, Ends};
use super::{EXPERIMENT_LAB_KEYS, Scope, all, group, port_group, segment, tcp};
use crate::diagnostic::{Problem, Problems};
use crate::metric::{self, Owner};
use crate::model::{App, Bond, Chip, Expect, Fault, FaultKind, Flow, Lab, Link, LinkKind, Route};
use crate::reader::{self, Section, Taken, Unfit};
use crate::source::Place;
use crate::tree::Node;
use trunkline_core::time::Duration;

/// The MTU of a flow whose bond is not known: as large as can be, so that nothing else is wrong with it.
const MTU_UNKNOWN: u16 = u16::MAX;
/// Between the senders of one flow.
const START_JITTER: Duration = Duration::from_micros(10);
const FAULTS: [(&str, FaultKind); 2] =
    [("carrier", FaultKind::Carrier), ("blackhole", FaultKind::Blackhole)];

/// Tables that others name.
const TABLES: [&str; 6] = ["switch", "segment", "router", "host", "flow", "chip"];

/// What a plan without `[lab]` runs for.
const DURATION: Duration = Duration::from_secs(60);

pub(super) fn lab(
    section: Option<Section<'_>>,
    place: Place,
    scope: &mut Scope,
    (links, bonds): (&[Link], &[Bond]),
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
    let told = problems.len();
    let chips = chips(&mut s, scope, problems);
    let segments = segment::segments(&mut s, scope, &chips, problems);
    let faults = faults(&mut s, scope, problems);
    let network = network(&mut s, scope, &segments, (links, bonds), problems);
    port_group::check_segments(&network.machines, &segments, links, place, problems);
    let ends = Ends { bonds, network: &network };
    let flows = s.sections(problems, "flow");
    let flows: Vec<Option<Flow>> =
        flows.into_iter().map(|f| flow(f, scope, &ends, problems)).collect();
    let groups = group::groups(&mut s, scope, &flows, duration, problems);
    let owners = owners(scope, &flows);
    let expects = s.sections(problems, "expect");
    let expects = expects.into_iter().map(|e| expect(e, &owners, problems)).collect();
    for key in EXPERIMENT_LAB_KEYS {
        s.node(key);
    }
    if s.misspells(&TABLES) {
        // Whatever is wrong may only lack these.
        problems.truncate(told);
    }
    s.finish(problems);
    let Network { switches, machines, routers, .. } = network;
    Some(Lab {
        seed,
        duration,
        warmup,
        runs,
        flows: all(flows)?,
        chips,
        segments,
        faults,
        switches,
        machines,
        routers,
        slow: std::mem::take(&mut scope.slow),
        groups: all(groups)?,
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
    ends: &Ends<'_>,
    problems: &mut Problems,
) -> Option<Flow> {
    let name = name(&mut s, "flow", scope, problems);
    let route::Way { from, to, route } = route::way(&mut s, ends, problems);
    let start = s.or(problems, "start", Duration::ZERO, reader::duration);
    let mtu = route.as_ref().and_then(|route| route::mtu(route, ends)).unwrap_or(MTU_UNKNOWN);
    let way = route.as_ref().map(|route| match route {
        Route::Bond { .. } => Way::Bond,
        Route::Switches { .. } => Way::Switches,
        Route::Segment { .. } => Way::Segment,
    });
    let start_jitter = start_jitter(&mut s, route.as_ref(), problems);
    let stagger = s.or(problems, "stagger", Duration::ZERO, reader::duration);
    of_switches("stagger", &mut s, route.as_ref(), problems);
    let app = match s.section(problems, "app") {
        Some(section) => app::app(section, mtu, way, problems),
        None => {
            let problem = Problem::new(s.place, s.key("app"), "`app` is missing");
            problems.push(problem.accepted(["app = { kind = \"bulk\" }"]));
            None
        }
    };
    let section = s.section(problems, "tcp");
    let is_tcp = app.as_ref().is_none_or(|app| app.is_tcp());
    if let (Some(section), false) = (&section, is_tcp) {
        let what = if matches!(app, Some(App::Ping(_))) { "a ping has" } else { "datagrams have" };
        let problem = Problem::new(section.place, s.key("tcp"), format!("{what} no `tcp`"));
        problems.push(problem.accepted(["`tcp` for app kind \"bulk\""]));
    }
    if let (Some(App::Ping(_) | App::Web(_)), Some(Route::Switches { from, .. })) = (&app, &route)
        && from.len() > 1
    {
        let place = s.node("from").map_or(s.place, |node| node.place);
        let message = "such a flow comes from one host";
        let problem = Problem::new(place, s.key("from"), message);
        let found = format!("{} hosts", from.len());
        problems.push(problem.found(found).accepted(["the name of one host"]));
    }
    let tcp = tcp::tcp(section, mtu, app.as_ref(), problems);
    s.node("count");
    s.finish(problems);
    let (name, from, to, route) = (name?, from?, to?, route?);
    Some(Flow { name, from, to, route, start, start_jitter, stagger, app: app?, tcp })
}

/// By how much senders of one flow differ in when they begin: clocks are never quite the same.
fn start_jitter(s: &mut Section<'_>, route: Option<&Route>, problems: &mut Problems) -> Duration {
    let default = match route {
        Some(Route::Switches { from, .. }) if from.len() > 1 => START_JITTER,
        _ => Duration::ZERO,
    };
    of_switches("start_jitter", s, route, problems);
    s.or(problems, "start_jitter", default, reader::duration)
}

/// A key that only a flow between hosts at switches has.
fn of_switches(
    key: &'static str,
    s: &mut Section<'_>,
    route: Option<&Route>,
    problems: &mut Problems,
) {
    if let (Some(node), Some(Route::Bond { .. })) = (s.node(key), route) {
        let message = format!("`{key}` is for flows between hosts");
        let problem = Problem::new(node.place, s.key(key), message);
        problems.push(problem.accepted(["`start`"]));
    }
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
    let is_slow = |name: &str| scope.with_cpu.iter().any(|slow| slow == name);
    let owner = |name: &str, kind: &str| match kind {
        "link" => Owner::Link,
        "bond" => Owner::Bond,
        "chip" => Owner::Chip,
        "switch" if scope.lacks_ports => Owner::Ports,
        "switch" => Owner::Switch,
        "host" if is_slow(name) => Owner::Slow,
        "host" => Owner::Machine,
        "group" => Owner::Group,
        "segment" => Owner::Segment,
        "router" if is_slow(name) => Owner::SlowRouter,
        "router" => Owner::Router,
        _ => {
            let flow = flows.iter().flatten().find(|f| f.name == name);
            flow.map_or(Owner::Flow, Owner::of)
        }
    };
    let named = scope.names.iter().map(|n| (n.name.as_str(), owner(&n.name, n.kind)));
    named.chain(scope.ports.iter().map(|port| (port.as_str(), Owner::Port))).collect()
}

/// `NAME.METRIC` with a name the plan has and a metric of its kind.
fn metric(owners: &[(&str, Owner)]) -> impl Fn(&Node) -> Taken<String> {
    move |node| {
        let text = reader::text(node)?;
        metric::check(&text, owners).map(|()| text)
    }
}
