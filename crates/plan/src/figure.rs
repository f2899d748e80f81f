//! `[[lab.figure]]`: what an experiment is to give, beside what its source printed.

use crate::diagnostic::{Problem, Problems};
use crate::knee::{self, Knee};
use crate::metric::{self, Owner};
use crate::model::Plan;
use crate::reader::{self, Section, Taken, Unfit};
use crate::rows::fits_row;
use crate::source::Place;
use crate::template::{self, Bindings};
use crate::tree::{Node, Table, Value};

/// `[[lab.figure]]` for one row: what is compared with what.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Its name, unique over all rows.
    pub id: String,
    /// The metric.
    pub what: String,
    /// The unit after scaling.
    pub unit: String,
    /// The variant that `reproduced` is measured in; none is the plan as it stands.
    pub variant: Option<String>,
    /// What the source printed.
    pub published: Option<f64>,
    /// The band, as a share of `published`.
    pub within: Option<f64>,
    /// Whether parameters were fitted without this row.
    pub held_out: bool,
    /// Why a deviation is accepted.
    pub note: Option<String>,
    /// What the metric is multiplied by.
    pub scale: f64,
    /// The metric of the column `trunkline`, measured in the variant of that name.
    pub trunkline: Option<String>,
    /// The metric of the column `ceiling`, measured there too.
    pub ceiling: Option<String>,
    /// The figure is where the metric's curve over the rows bends, not the metric itself; then all
    /// rows of the curve share one name.
    pub knee: Option<Knee>,
    pub(crate) place: Place,
}

/// The figures of a row, whose values `bindings` hold, in a plan with these variants.
pub(crate) fn figures(
    root: &Table,
    variants: &[&str],
    bindings: &Bindings,
    problems: &mut Problems,
) -> Vec<Figure> {
    let nodes = root.table("lab").and_then(|t| t.node("figure"));
    let mut figures = Vec::new();
    for (i, node) in nodes.and_then(Node::as_array).unwrap_or_default().iter().enumerate() {
        let path = format!("lab.figure.{i}");
        let Some(table) = node.as_table() else {
            problems.push(reader::wrong_type(node, &path, "[[lab.figure]]"));
            continue;
        };
        if !fits_row(table.node("where"), &path, bindings, problems) {
            continue;
        }
        let filled = template::fill_value(node, bindings, &path, problems);
        if let Some(table) = filled.as_ref().and_then(Node::as_table) {
            let section = Section::new(table, node.place, path);
            figures.extend(figure(section, variants, bindings, problems));
        }
    }
    figures
}

fn figure(
    mut s: Section<'_>,
    variants: &[&str],
    bindings: &Bindings,
    problems: &mut Problems,
) -> Option<Figure> {
    let choices: Vec<(&str, &str)> = variants.iter().map(|n| (*n, *n)).collect();
    let id = s.req(problems, "id", "\"goodput mtu={mtu}\"", reader::text);
    let what = s.req(problems, "what", "\"FLOW.METRIC\"", reader::text);
    let unit = s.req(problems, "unit", "\"bit/s\"", reader::text);
    let chosen = s.opt(problems, "variant", reader::choice(&choices, &[]));
    let reproduced = variants.iter().copied().find(|n| *n == "reproduced");
    let variant = chosen.or(reproduced).map(str::to_owned);
    let published = s.opt(problems, "published", reader::number);
    let within = s.opt(problems, "within", share);
    let key = s.key("held_out");
    let held_out = match s.node("held_out") {
        Some(Node { value: Value::Bool(held_out), .. }) => *held_out,
        Some(filter) => fits_row(Some(filter), &key, bindings, problems),
        None => false,
    };
    let note = s.opt(problems, "note", reader::text);
    let notes = s.sections(problems, "notes");
    let mut special = None;
    for mut s in notes {
        let path = s.key("where");
        let fitting = fits_row(s.node("where"), &path, bindings, problems);
        let text = s.req(problems, "text", "\"…\"", reader::text);
        s.finish(problems);
        special = special.or(text.filter(|_| fitting));
    }
    let scale = s.or(problems, "scale", 1.0, reader::number);
    let trunkline = s.opt(problems, "trunkline", reader::text);
    let ceiling = s.opt(problems, "ceiling", reader::text);
    let knee = s.section(problems, "knee").and_then(|s| knee::knee(s, bindings, problems));
    s.node("where");
    let place = s.place;
    s.finish(problems);
    let note = special.or(note);
    let (id, what, unit) = (id?, what?, unit?);
    Some(Figure {
        id,
        what,
        unit,
        variant,
        published,
        within,
        held_out,
        note,
        scale,
        trunkline,
        ceiling,
        knee,
        place,
    })
}

/// The variant the columns `trunkline` and, beside it, `ceiling` are measured in.
const TRUNKLINE: &str = "trunkline";

/// Tells metrics of a figure that a plan it is measured in does not have.
pub(crate) fn check_metrics(
    figure: &Figure,
    plan: &Plan,
    variant: Option<&str>,
    problems: &mut Problems,
) {
    let links = plan.links.iter().map(|l| (l.name.as_str(), Owner::Link));
    let bonds = plan.bonds.iter().map(|b| (b.name.as_str(), Owner::Bond));
    let chips = plan.lab.chips.iter().map(|c| (c.name.as_str(), Owner::Chip));
    let flows = plan.lab.flows.iter().map(|f| (f.name.as_str(), Owner::of(f)));
    let groups = plan.lab.groups.iter().map(|g| (g.name.as_str(), Owner::Group));
    let segments = plan.lab.segments.iter().map(|s| (s.name.as_str(), Owner::Segment));
    let router = |name: &str| match plan.lab.slow.iter().any(|slow| slow.name == name) {
        true => Owner::SlowRouter,
        false => Owner::Router,
    };
    let routers = plan.lab.routers.iter().map(|r| (r.name.as_str(), router(&r.name)));
    let ports: Vec<String> = plan.lab.port_names().collect();
    let ports = ports.iter().map(|port| (port.as_str(), Owner::Port));
    let slow = plan.lab.slow.iter().map(|host| (host.name.as_str(), Owner::Slow));
    let places = bonds.chain(chips).chain(ports).chain(segments).chain(routers).chain(slow);
    let owners: Vec<(&str, Owner)> = flows.chain(links).chain(groups).chain(places).collect();
    let own = figure.variant.is_none() || figure.variant.as_deref() == variant;
    let ours = figure.trunkline.is_some() && variant == Some(TRUNKLINE);
    let metrics = [
        ("what", Some(&figure.what).filter(|_| own)),
        ("trunkline", figure.trunkline.as_ref().filter(|_| ours)),
        ("ceiling", figure.ceiling.as_ref().filter(|_| own || ours)),
    ];
    for (key, text) in metrics {
        let Some((text, unfit)) = text.and_then(|t| Some((t, metric::check(t, &owners).err()?)))
        else {
            continue;
        };
        let message = format!("`{key}` {}", unfit.message);
        let mut problem = Problem::new(figure.place, format!("lab.figure.{key}"), message);
        problem.found.clone_from(text);
        problem.accepted = unfit.accepted;
        problem.nearest = unfit.nearest;
        problems.push(problem);
    }
}

/// Two figures of a result cannot have one id.
pub(crate) fn same_id(figure: &Figure) -> Problem {
    let message = format!("two rows give a figure the id `{}`", figure.id);
    let problem = Problem::new(figure.place, "lab.figure.id", message);
    problem.found(&figure.id).accepted(["an id with the values that tell rows apart"])
}

/// A share above zero.
fn share(node: &Node) -> Taken<f64> {
    match reader::number(node)? {
        n if n > 0.0 => Ok(n),
        _ => Err(Unfit::new("is not above zero", "a share such as 0.05")),
    }
}
