//! Runs a plan: every row and variant a simulation of its own, spread over the cores, put together in
//! the plan's order whatever the number of jobs.

use crate::build;
use crate::capture;
use crate::columns::{Columns, unit_scale};
use crate::knee;
use crate::metrics::{self, Measured};
use crate::result::{
    Expectation, Failure, Figure, FlowResult, HostResult, LinkResult, Parameter, RESULT_SCHEMA,
    ResultDocument, Summary, Timing, Verdict, median,
};
use rayon::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use trunkline_core::trace::Trace;
use trunkline_plan::model::{Expect, Plan};
use trunkline_plan::{self as plan, Diagnostics, Experiment};

/// How to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Instead of the plan's seed.
    pub seed: Option<u64>,
    /// Instead of the plan's number of runs.
    pub runs: Option<u32>,
    /// Simulations at a time; 0 is one per core.
    pub jobs: usize,
    /// Whether to capture every run's packets.
    pub capture: bool,
}

/// News of progress: how many of all shares have just been done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Shares done since the last step.
    pub done: u64,
    /// All shares: [`SHARES_PER_RUN`] for every run of every row and variant.
    pub total: u64,
}

/// The shares a single run is told in.
pub const SHARES_PER_RUN: u64 = 100;

/// A capture of one run in pcapng.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Which plan, row and variant; usable as a file name.
    pub name: String,
    /// The file.
    pub bytes: Vec<u8>,
}

/// What a plan gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The result.
    pub document: ResultDocument,
    /// The captures, if wanted.
    pub captures: Vec<Capture>,
}

/// One simulation to be run: a row in a variant.
struct Point {
    row: usize,
    variant: Option<String>,
    label: String,
    plan: Plan,
}

/// What one point gave: the medians over its runs.
struct Measurement {
    measured: Measured,
    runs: u64,
    captures: Vec<Capture>,
}

/// Runs every row in every variant its figures and expectations need. `progress` is told
/// of every share of a run that is done, from any thread.
pub fn run(
    experiment: &Experiment,
    options: Options,
    progress: &(dyn Fn(Step) + Sync),
) -> Result<Outcome, Diagnostics> {
    let points = points(experiment)?;
    let total = points.iter().map(|p| runs(p, options) * SHARES_PER_RUN).sum();
    let one = |point: &Point| simulate(point, options, &|done| progress(Step { done, total }));
    let measurements: Vec<Measurement> =
        crate::pool(options.jobs).install(|| points.par_iter().map(one).collect());
    let seed = options.seed.or(points.first().map(|p| p.plan.lab.seed)).unwrap_or(0);
    let mut document = assemble(experiment, &points, &measurements)?;
    document.seed = seed;
    document.seal();
    let captures = measurements.into_iter().flat_map(|m| m.captures).collect();
    Ok(Outcome { document, captures })
}

/// One metric of several plans, as medians over their runs; none where there was nothing to measure.
/// `progress` is told of every share done.
pub(crate) fn values_of(
    plans: Vec<Plan>,
    what: &str,
    options: Options,
    progress: &(dyn Fn(u64) + Sync),
) -> Vec<Option<f64>> {
    let point = |plan| Point { row: 0, variant: None, label: String::new(), plan };
    let points: Vec<Point> = plans.into_iter().map(point).collect();
    let value =
        |point: &Point| simulate(point, options, &|done| progress(done)).measured.value(what);
    crate::pool(options.jobs).install(|| points.par_iter().map(value).collect())
}

/// The variant our own column is measured in.
const TRUNKLINE: &str = "trunkline";

fn points(experiment: &Experiment) -> Result<Vec<Point>, Diagnostics> {
    let mut points = Vec::new();
    for (row, values) in experiment.rows().iter().enumerate() {
        let figures = experiment.figures(row)?;
        let all: Vec<Option<&str>> = match experiment.variants().next() {
            None => vec![None],
            Some(_) => experiment.variants().map(Some).collect(),
        };
        for variant in all {
            let plan = experiment.plan(row, variant)?;
            let measured = figures.iter().any(|f| needs(f, variant));
            if variant.is_some() && !measured && plan.lab.expects.is_empty() {
                continue;
            }
            let label = [&values.label(), variant.unwrap_or_default()].map(str::to_owned);
            let label =
                label.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
            points.push(Point { row, variant: variant.map(str::to_owned), label, plan });
        }
    }
    Ok(points)
}

/// Whether a figure is measured in this variant.
fn needs(figure: &plan::Figure, variant: Option<&str>) -> bool {
    figure.variant.as_deref() == variant
        || (figure.trunkline.is_some() && variant == Some(TRUNKLINE))
}

/// How often a point is run, each time with another seed.
fn runs(point: &Point, options: Options) -> u64 {
    u64::from(options.runs.unwrap_or(point.plan.lab.runs).max(1))
}

fn simulate(point: &Point, options: Options, progress: &dyn Fn(u64)) -> Measurement {
    let runs = runs(point, options);
    let seed = options.seed.unwrap_or(point.plan.lab.seed);
    let mut all = Vec::new();
    let mut captures = Vec::new();
    for run in 0..runs {
        let mut world = build::world(&point.plan, seed.wrapping_add(run));
        if options.capture {
            world.cx.trace = Trace::enabled();
        }
        let mut told = 0;
        world.run_reporting(point.plan.lab.duration, &mut |share| {
            let shares = (share * SHARES_PER_RUN as f64) as u64;
            if shares > told {
                progress(shares - told);
                told = shares;
            }
        });
        progress(SHARES_PER_RUN - told);
        if options.capture {
            let name = capture::file_name(&point.plan.name, &point.label, run, runs);
            let bytes = capture::pcapng(&point.plan, &world.cx.trace.drain());
            captures.push(Capture { name, bytes });
        }
        all.push(metrics::measure(&point.plan, &world));
    }
    Measurement { measured: medians(all), runs, captures }
}

/// The median of every metric over several runs.
fn medians(mut all: Vec<Measured>) -> Measured {
    if all.len() == 1 {
        return all.remove(0);
    }
    let packet_hops = all.iter().map(|m| m.packet_hops).sum();
    let virtual_time = all.iter().map(|m| m.virtual_time).sum();
    let mut first = all[0].clone();
    first.packet_hops = packet_hops;
    first.failures = all.iter().flat_map(|m| m.failures.clone()).collect();
    first.virtual_time = virtual_time;
    let names = |owners: &BTreeMap<String, metrics::Metrics>| -> Vec<(String, String)> {
        owners.iter().flat_map(|(o, m)| m.keys().map(move |k| (o.clone(), k.clone()))).collect()
    };
    for (flow, metric) in names(&first.flows) {
        let values = all.iter().map(|m| m.flows[&flow][&metric]).collect::<Option<Vec<f64>>>();
        // What must never happen is told even when it happened in one run of many.
        let value = match metric.as_str() {
            "broken" | "wrong" => values.and_then(|v| v.into_iter().reduce(f64::max)),
            _ => values.and_then(median),
        };
        first.flows.entry(flow).or_default().insert(metric, value);
    }
    for (link, metric) in names(&first.links) {
        let values = all.iter().map(|m| m.links[&link][&metric]).collect::<Option<Vec<f64>>>();
        first.links.entry(link).or_default().insert(metric, values.and_then(median));
    }
    for (host, metric) in names(&first.hosts) {
        let values = all.iter().map(|m| m.hosts[&host][&metric]).collect::<Option<Vec<f64>>>();
        first.hosts.entry(host).or_default().insert(metric, values.and_then(median));
    }
    first
}

/// The measurements of a plan, by row and variant.
struct Measurements<'a> {
    points: &'a [Point],
    measurements: &'a [Measurement],
}

impl Measurements<'_> {
    fn measured(&self, row: usize, variant: Option<&str>) -> Option<&Measured> {
        let found =
            self.points.iter().position(|p| p.row == row && p.variant.as_deref() == variant)?;
        Some(&self.measurements[found].measured)
    }

    fn value(&self, row: usize, variant: Option<&str>, what: &str) -> Option<f64> {
        self.measured(row, variant)?.value(what)
    }

    /// Why a metric a figure needs has no value, if one has none.
    fn missing(&self, row: usize, spec: &plan::Figure) -> Option<String> {
        let reproduced = (spec.variant.as_deref(), Some(&spec.what));
        let needed = [reproduced, (Some(TRUNKLINE), spec.trunkline.as_ref())];
        needed.into_iter().find_map(|(variant, what)| {
            let what = what?;
            let cause = match self.measured(row, variant) {
                Some(measured) if measured.value(what).is_some() => return None,
                Some(measured) => measured.cause(what),
                None => format!("there is no run to measure `{what}` of"),
            };
            Some(match variant {
                Some(variant) => format!("{variant}: {cause}"),
                None => cause,
            })
        })
    }
}

fn assemble(
    experiment: &Experiment,
    points: &[Point],
    measurements: &[Measurement],
) -> Result<ResultDocument, Diagnostics> {
    let all = Measurements { points, measurements };
    let mut figures = Vec::new();
    let mut knees = knee::Knees::default();
    for row in 0..experiment.rows().len() {
        for spec in experiment.figures(row)? {
            match &spec.knee {
                Some(_) => knees.add(&spec, &columns(&all, row, &spec)),
                None => {
                    let missing = all.missing(row, &spec);
                    figures.push(figure(&spec, columns(&all, row, &spec), missing));
                }
            }
        }
    }
    for bend in knees.bends() {
        let mut knee = figure(&bend.spec, bend.columns, bend.missing);
        knee.note.get_or_insert(bend.meaning);
        figures.push(knee);
    }
    let expectations = expectations(points, measurements);
    let failures = failures(points, measurements);
    Ok(ResultDocument {
        schema: RESULT_SCHEMA,
        plan: points.first().map_or(String::new(), |p| p.plan.name.clone()),
        seed: 0,
        digest: String::new(),
        version: env!("CARGO_PKG_VERSION"),
        source: source(experiment),
        parameters: parameters(experiment, points),
        figures,
        expectations,
        failures,
        flows: flows(points, measurements),
        links: links(points, measurements),
        hosts: hosts(points, measurements),
        summary: Summary::default(),
        timing: Timing {
            runs: measurements.iter().map(|m| m.runs).sum(),
            packet_hops: measurements.iter().map(|m| m.measured.packet_hops).sum(),
            virtual_seconds: measurements
                .iter()
                .map(|m| m.measured.virtual_time.as_secs_f64())
                .sum(),
            wall_seconds: None,
        },
    })
}

/// What the plan reproduces, in one line.
fn source(experiment: &Experiment) -> Option<String> {
    let published = experiment.published()?;
    let section = published.section.as_ref().map_or(String::new(), |s| format!(", section {s}"));
    Some(format!("{}{section}", published.source))
}

/// The plan's parameters, and the ready cost tables its hosts have.
fn parameters(experiment: &Experiment, points: &[Point]) -> BTreeMap<String, Parameter> {
    let parameter = |p: &plan::Parameter| {
        let value = match &p.value {
            plan::Scalar::Number(n) => Value::from(*n),
            plan::Scalar::Text(text) => Value::from(text.as_str()),
            plan::Scalar::List(texts) => Value::from(texts.join(", ")),
        };
        let origin = p.origin.clone();
        (p.name.clone(), Parameter { value, unit: p.unit.clone(), origin })
    };
    let mut parameters: BTreeMap<_, _> = experiment.parameters().iter().map(parameter).collect();
    let slow = points.iter().flat_map(|point| &point.plan.lab.slow);
    for ready in slow.filter_map(|host| host.base) {
        parameters.extend(ready.rows.iter().map(|(key, value, origin)| {
            let (value, origin) = (Value::from(*value), (*origin).to_owned());
            (format!("{}.{key}", ready.name), Parameter { value, unit: None, origin })
        }));
    }
    parameters
}

fn columns(all: &Measurements<'_>, row: usize, spec: &plan::Figure) -> Columns {
    let scale = spec.scale * unit_scale(&spec.unit);
    let variant = spec.variant.as_deref();
    let ceiling_variant = if spec.trunkline.is_some() { Some(TRUNKLINE) } else { variant };
    let value =
        |variant: Option<&str>, what: &str| all.value(row, variant, what).map(|v| v * scale);
    Columns {
        reproduced: value(variant, &spec.what),
        trunkline: spec.trunkline.as_ref().and_then(|what| value(Some(TRUNKLINE), what)),
        ceiling: spec.ceiling.as_ref().and_then(|what| value(ceiling_variant, what)),
        ceiling_reproduced: spec.ceiling.as_ref().and_then(|what| value(variant, what)),
    }
}

/// The figure of a row; `missing` says why one of its values is.
fn figure(spec: &plan::Figure, columns: Columns, missing: Option<String>) -> Figure {
    let mut figure = Figure {
        id: spec.id.clone(),
        unit: spec.unit.clone(),
        published: spec.published,
        reproduced: columns.reproduced,
        trunkline: columns.trunkline,
        ceiling: columns.ceiling,
        ceiling_reproduced: columns.ceiling_reproduced,
        within: spec.within,
        verdict: None,
        note: spec.note.clone(),
        held_out: spec.held_out,
    };
    if missing.is_some() {
        figure.verdict = Some(Verdict::Failed);
        figure.note = missing;
    } else if let Some((error, band)) = figure.error().zip(figure.within) {
        // Only the plan may say that a deviation is known and stands.
        figure.verdict = Some(match (error.abs() <= band, &spec.note) {
            (true, _) => Verdict::Ok,
            (false, Some(_)) => Verdict::Noted,
            (false, None) => Verdict::Failed,
        });
    }
    figure
}

fn expectations(points: &[Point], measurements: &[Measurement]) -> Vec<Expectation> {
    let mut rows = Vec::new();
    for (point, measurement) in points.iter().zip(measurements) {
        for expect in &point.plan.lab.expects {
            let over = expect.of.as_ref().map(|of| measurement.measured.value(of));
            let value = measurement.measured.value(&expect.what);
            let value = match over {
                None => value,
                Some(over) => value.zip(over).filter(|(_, o)| *o != 0.0).map(|(v, o)| v / o),
            };
            let holds = value.is_some_and(|v| {
                expect.min.is_none_or(|min| v >= min) && expect.max.is_none_or(|max| v <= max)
            });
            let what = match &expect.of {
                None => expect.what.clone(),
                Some(of) => format!("{} / {of}", expect.what),
            };
            let verdict = if holds { Verdict::Ok } else { Verdict::Failed };
            let run = point.label.clone();
            let note = value.is_none().then(|| missing_from(expect, &measurement.measured));
            let (min, max) = (expect.min, expect.max);
            rows.push(Expectation { run, what, value, min, max, verdict, note });
        }
    }
    rows
}

/// Why an expectation has no value.
fn missing_from(expect: &Expect, measured: &Measured) -> String {
    let names = [Some(&expect.what), expect.of.as_ref()];
    let missing = names.into_iter().flatten().find(|name| measured.value(name).is_none());
    match (missing, &expect.of) {
        (Some(name), _) => measured.cause(name),
        (None, of) => format!("`{}` is zero", of.as_deref().unwrap_or_default()),
    }
}

fn failures(points: &[Point], measurements: &[Measurement]) -> Vec<Failure> {
    let rows = points.iter().zip(measurements).flat_map(|(point, m)| {
        m.measured.failures.iter().map(|(flow, why)| Failure {
            run: point.label.clone(),
            flow: flow.clone(),
            why: why.clone(),
        })
    });
    rows.collect()
}

fn flows(points: &[Point], measurements: &[Measurement]) -> Vec<FlowResult> {
    let rows = points.iter().zip(measurements).flat_map(|(point, m)| {
        m.measured.flows.iter().map(|(flow, metrics)| FlowResult {
            run: point.label.clone(),
            flow: flow.clone(),
            note: m.measured.notes.get(flow).cloned(),
            cc: m.measured.tokens.get(flow).cloned(),
            metrics: metrics.clone(),
        })
    });
    rows.collect()
}

fn links(points: &[Point], measurements: &[Measurement]) -> Vec<LinkResult> {
    let rows = points.iter().zip(measurements).flat_map(|(point, m)| {
        m.measured.links.iter().map(|(link, metrics)| LinkResult {
            run: point.label.clone(),
            link: link.clone(),
            metrics: metrics.clone(),
        })
    });
    rows.collect()
}

fn hosts(points: &[Point], measurements: &[Measurement]) -> Vec<HostResult> {
    let rows = points.iter().zip(measurements).flat_map(|(point, m)| {
        m.measured.hosts.iter().map(|(host, metrics)| HostResult {
            run: point.label.clone(),
            host: host.clone(),
            metrics: metrics.clone(),
        })
    });
    rows.collect()
}
