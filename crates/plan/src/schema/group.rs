//! `[[lab.group]]`: flows that are looked at together.

use super::{Scope, lab};
use crate::diagnostic::{Problem, Problems, nearest};
use crate::model::{App, Flow, Group};
use crate::overlay::matches_glob;
use crate::reader::{self, Section};
use crate::tree::Node;
use trunkline_core::time::Duration;

/// How long one look at the rates of flows is, unless the plan says otherwise.
const INTERVAL: Duration = Duration::from_millis(500);
/// Looks at one run at most.
const LOOKS_MAX: u64 = 100_000;

pub(super) fn groups(
    s: &mut Section<'_>,
    scope: &mut Scope,
    flows: &[Option<Flow>],
    duration: Duration,
    problems: &mut Problems,
) -> Vec<Option<Group>> {
    let sections = s.sections(problems, "group");
    sections.into_iter().map(|s| group(s, scope, flows, duration, problems)).collect()
}

fn group(
    mut s: Section<'_>,
    scope: &mut Scope,
    flows: &[Option<Flow>],
    duration: Duration,
    problems: &mut Problems,
) -> Option<Group> {
    let name = lab::name(&mut s, "group", scope, problems);
    let key = s.key("interval");
    let place = s.node("interval").map_or(s.place, |node| node.place);
    let interval = s.or(problems, "interval", INTERVAL, reader::some_time);
    if duration.as_nanos() / interval.as_nanos() > LOOKS_MAX {
        let least = Duration::from_nanos(duration.as_nanos() / LOOKS_MAX);
        let problem = Problem::new(place, key, "`interval` is far shorter than the run");
        problems.push(problem.found(interval.to_string()).accepted([format!("at least {least}")]));
    }
    let key = s.key("flows");
    let members = match s.node("flows").map(|node| (node, node.as_array())) {
        Some((_, Some(nodes))) if !nodes.is_empty() => members(nodes, &key, flows, problems),
        Some((node, _)) => {
            problems.push(reader::wrong_type(node, &key, "an array of flow names"));
            Vec::new()
        }
        None => {
            let problem = Problem::new(s.place, key, "`flows` is missing");
            problems.push(problem.accepted(["flows = [\"FLOW\", …]"]));
            Vec::new()
        }
    };
    s.finish(problems);
    Some(Group { name: name?, flows: members, interval })
}

/// The flows that names and patterns stand for: files.
fn members(
    nodes: &[Node],
    key: &str,
    flows: &[Option<Flow>],
    problems: &mut Problems,
) -> Vec<usize> {
    let fits = |flow: &Flow| matches!(flow.app, App::Bulk(_));
    let names: Vec<&str> =
        flows.iter().flatten().filter(|flow| fits(flow)).map(|f| f.name.as_str()).collect();
    let mut chosen = Vec::new();
    for node in nodes {
        let pattern = node.as_text().unwrap_or_default();
        let is_meant = |flow: &Option<Flow>| {
            flow.as_ref().is_some_and(|flow| fits(flow) && matches_glob(pattern, &flow.name))
        };
        let found: Vec<usize> = (0..flows.len()).filter(|i| is_meant(&flows[*i])).collect();
        if found.is_empty() && flows.iter().all(Option::is_some) {
            let message = format!("there is no bulk flow `{pattern}`");
            let mut problem = Problem::new(node.place, key, message).found(pattern);
            problem.accepted = names.iter().map(|name| (*name).to_owned()).collect();
            problem.nearest = nearest(pattern, &names);
            problems.push(problem);
        }
        chosen.extend(found.into_iter().filter(|i| !chosen.contains(i)).collect::<Vec<_>>());
    }
    chosen
}
