//! `network` of a `[[lab.host]]`, and `[[lab.router]]`: what hosts and routers do on segments whose stations ask
//! each other for addresses.

use super::topology::{self, two_defaults};
use super::{Scope, cpu, lab};
use crate::diagnostic::{Problem, Problems, nearest};
use crate::model::Segment;
use crate::network::{HostNetwork, Plug, Resolution, Router};
use crate::reader::{self, Section, Taken, Unfit};
use crate::source::Place;
use crate::tree::{Node, Value};
use trunkline_core::host::{ArpReplies, Form, Forwarding, Rule, Rules};

const FORMS: [(&str, Form); 2] = [("ones", Form::Ones), ("zeros", Form::Zeros)];
const ANSWERS: [(&str, ArpReplies); 2] =
    [("own", ArpReplies::Own), ("everybody", ArpReplies::Everybody)];
const SETS: [(&str, Rules); 2] = [("rfc-1122", Rules::RFC_1122), ("bsd-4.2", Rules::BSD_4_2)];
/// What may stand in a list of rules.
const RULES_FORM: &str = "\"rfc-1122\", \"bsd-4.2\" or a list of rules such as [\"both-forms\"]";

/// `network = { rules, broadcast, forwarding, answers, gateway }`.
pub(super) fn host(
    s: &mut Section<'_>,
    plug: Option<&Plug>,
    (segments, routers): (&[Segment], &Routers),
    problems: &mut Problems,
) -> HostNetwork {
    let place = s.node("network").map_or(s.place, |node| node.place);
    let key = s.key("network");
    let Some(mut s) = s.section(problems, "network") else {
        return HostNetwork::default();
    };
    let asks = match plug {
        Some(Plug::Station(station)) => {
            segments.get(station.segment).is_none_or(|s| s.resolution == Resolution::Arp)
        }
        Some(Plug::Cable(_)) => false,
        None => true,
    };
    if !asks {
        let message =
            "`network` is for hosts on segments whose stations ask each other for addresses";
        let problem = Problem::new(place, key, message);
        problems.push(problem.accepted(["arp = true at the [[lab.segment]]"]));
    }
    let on = plug.filter(|_| asks).and_then(|plug| match plug {
        Plug::Station(station) => Some(station.segment),
        Plug::Cable(_) => None,
    });
    let network = HostNetwork {
        rules: s.or(problems, "rules", Rules::RFC_1122, rules),
        form: s.or(problems, "broadcast", Form::Ones, reader::choice(&FORMS, &[])),
        forwarding: match s.or(problems, "forwarding", false, reader::flag) {
            true => Forwarding::On,
            false => Forwarding::Off,
        },
        replies: s.or(problems, "answers", ArpReplies::Own, reader::choice(&ANSWERS, &[])),
        gateway: s.opt(problems, "gateway", gateway(on, segments, routers)).flatten(),
    };
    s.finish(problems);
    network
}

/// The router of a host on a segment. None is told while that or some router is not known.
fn gateway<'p>(
    segment: Option<usize>,
    segments: &'p [Segment],
    routers: &'p Routers,
) -> impl Fn(&Node) -> Taken<Option<usize>> + 'p {
    move |node| {
        let form = "gateway = \"ROUTER\", the name of one [[lab.router]]";
        if node.as_array().is_some_and(|nodes| nodes.len() > 1) {
            return Err(Unfit::new(two_defaults("names several routers"), form));
        }
        let name = reader::text(node).map_err(|unfit| Unfit::new(unfit.message, form))?;
        if !routers.names.contains(&name) {
            return Err(Unfit {
                message: format!("\"{name}\" is no router"),
                accepted: routers.names.clone(),
                nearest: nearest(&name, &routers.names),
            });
        }
        let Some(segment) = segment.filter(|_| !routers.is_partial()) else { return Ok(None) };
        let is_here = |router: &Router| router.segments.contains(&segment);
        let at = routers.list.iter().position(|router| router.name == name && is_here(router));
        at.map(Some).ok_or_else(|| {
            let here: Vec<String> =
                routers.list.iter().filter(|r| is_here(r)).map(|r| r.name.clone()).collect();
            let on = &segments[segment].name;
            let accepted = match here.is_empty() {
                true => vec![format!("segments = [\"{on}\", …] at the [[lab.router]]")],
                false => here,
            };
            let message = format!("\"{name}\" has no card on the host's segment `{on}`");
            Unfit { message, accepted, nearest: None }
        })
    }
}

fn rules(node: &Node) -> Taken<Rules> {
    let Value::Array(nodes) = &node.value else {
        return reader::choice(&SETS, &[])(node);
    };
    let mut rules = Rules::BSD_4_2;
    for node in nodes {
        let name = reader::text(node)?;
        let names = Rule::ALL.map(Rule::name);
        let rule = Rule::ALL.into_iter().find(|rule| rule.name() == name);
        let rule = rule.ok_or_else(|| Unfit {
            message: format!("names `{name}`, which is no rule"),
            accepted: names
                .iter()
                .map(|name| (*name).to_owned())
                .chain([RULES_FORM.into()])
                .collect(),
            nearest: nearest(&name, &names),
        })?;
        rules = rules.with(rule);
    }
    Ok(rules)
}

/// The routers of a plan.
#[derive(Default)]
pub(super) struct Routers {
    /// Those that are in order, and where each says its segments.
    pub(super) list: Vec<Router>,
    places: Vec<Place>,
    /// The names of all.
    pub(super) names: Vec<String>,
    count: usize,
}

impl Routers {
    /// Whether one was left out because it is wrong.
    pub(super) fn is_partial(&self) -> bool {
        self.list.len() < self.count
    }
}

/// Reads the routers. Two ways between segments are refused: nothing would say which one a packet takes.
pub(super) fn routers(
    s: &mut Section<'_>,
    scope: &mut Scope,
    segments: &[Segment],
    problems: &mut Problems,
) -> Routers {
    let mut routers = Routers::default();
    // By segment: the first of those that are joined with it.
    let mut joined: Vec<usize> = (0..segments.len()).collect();
    for mut s in s.sections(problems, "router") {
        routers.count += 1;
        routers.names.extend(s.table().name().map(str::to_owned));
        let name = lab::name(&mut s, "router", scope, problems);
        let place = s.node("segments").map_or(s.place, |node| node.place);
        let key = s.key("segments");
        let list = s.req(problems, "segments", "[\"SEGMENT\", \"SEGMENT\"]", list(segments));
        s.node("count");
        cpu::cpu(&mut s, scope, problems);
        s.finish(problems);
        let (Some(name), Some(list)) = (name, list) else { continue };
        for pair in list.windows(2) {
            let [first, second] = [pair[0], pair[1]].map(|segment| joined[segment]);
            if first == second {
                problems.push(loop_of(&name, &segments[pair[1]].name, place, &key));
            }
            joined.iter_mut().filter(|at| **at == second).for_each(|at| *at = first);
        }
        routers.list.push(Router { name, segments: list });
        routers.places.push(place);
    }
    topology::room(&routers.list, &routers.places, segments, problems);
    routers
}

fn loop_of(name: &str, segment: &str, place: Place, key: &str) -> Problem {
    let message = format!(
        "`{name}` makes a second way to segment `{segment}`: a loop of routers, and nothing says which \
         way a packet takes"
    );
    Problem::new(place, key, message).found(segment).accepted(["one way between two segments"])
}

/// Two segments or more, each once, whose stations ask each other.
fn list(segments: &[Segment]) -> impl Fn(&Node) -> Taken<Vec<usize>> {
    move |node| {
        let form = "two names of segments or more, each once";
        let Some(nodes) = node.as_array().filter(|nodes| nodes.len() > 1) else {
            return Err(Unfit::new("does not name two segments", form));
        };
        let mut list = Vec::new();
        for node in nodes {
            let name = reader::text(node)?;
            let names: Vec<String> = segments.iter().map(|s| s.name.clone()).collect();
            let at = segments.iter().position(|s| s.name == name).ok_or_else(|| Unfit {
                message: format!("names \"{name}\", which is no segment"),
                nearest: nearest(&name, &names),
                accepted: names,
            })?;
            if segments[at].resolution == Resolution::Known {
                let form = "arp = true at the [[lab.segment]]";
                let message = format!("names `{name}`, whose stations do not ask for addresses");
                return Err(Unfit::new(message, form));
            }
            if list.contains(&at) {
                return Err(Unfit::new(
                    format!("names `{name}` twice: two ways to one segment are a loop"),
                    form,
                ));
            }
            list.push(at);
        }
        Ok(list)
    }
}
