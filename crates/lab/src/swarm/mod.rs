//! Random plans and faults from a seed. Invariants are checked at every step; once the faults have
//! healed every byte must arrive, in order and equal. A failing seed prints itself.

mod draw;

use crate::apps::App;
use crate::apps::bulk::Record;
use crate::build;
use crate::world::{Ended, World};
use rayon::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use trunkline_plan::model::{Flow, Plan};

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many cases.
    pub runs: u32,
    /// The seed of the first; the others follow by one.
    pub seed: u64,
    /// Cases at a time.
    pub jobs: usize,
}

/// A case that went wrong; `trunkline lab swarm --runs 1 --seed N` repeats it.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// What did not hold.
    pub what: String,
    /// The plan that was drawn, in short.
    pub plan: String,
}

/// What a swarm found.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Report {
    /// Cases run.
    pub runs: u32,
    /// Bytes that arrived, in order and equal.
    pub bytes: u64,
    /// Frames serialised.
    pub packet_hops: u64,
    /// Link cuts survived.
    pub cuts: u64,
    /// The cases that went wrong, by seed.
    pub failures: Vec<Failure>,
}

/// What one good case did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// Bytes that arrived.
    pub bytes: u64,
    /// Frames serialised.
    pub packet_hops: u64,
    /// Link cuts survived.
    pub cuts: u64,
    /// Virtual nanoseconds it took.
    pub nanos: u64,
}

/// Steps between two counts of all frames.
const STEPS_PER_COUNT: u32 = 64;

/// Runs a swarm; `progress` is called after each case.
pub fn run(options: Options, progress: &(dyn Fn() + Sync)) -> Report {
    let seeds: Vec<u64> =
        (0..u64::from(options.runs)).map(|i| options.seed.wrapping_add(i)).collect();
    let one = |seed: &u64| {
        let outcome = run_case(*seed);
        progress();
        outcome
    };
    let outcomes: Vec<Result<Case, Failure>> =
        crate::pool(options.jobs).install(|| seeds.par_iter().map(one).collect());
    let mut report = Report { runs: options.runs, ..Report::default() };
    for outcome in outcomes {
        match outcome {
            Ok(case) => {
                report.bytes += case.bytes;
                report.packet_hops += case.packet_hops;
                report.cuts += case.cuts;
            }
            Err(failure) => report.failures.push(failure),
        }
    }
    report
}

/// Runs the case of one seed, twice where the seed says so, to see that it repeats itself.
pub fn run_case(seed: u64) -> Result<Case, Failure> {
    let plan = draw::plan(seed);
    let fail = |what: String| Failure { seed, what, plan: draw::describe(&plan) };
    let attempt = || {
        catch_unwind(AssertUnwindSafe(|| simulate(&plan, seed)))
            .unwrap_or_else(|panic| Err(panic_text(panic.as_ref())))
    };
    let case = attempt().map_err(fail)?;
    if seed.is_multiple_of(16) && attempt().as_ref() != Ok(&case) {
        return Err(fail("a second run of the same seed went another way".into()));
    }
    Ok(case)
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("an assertion failed: {}", text.unwrap_or("without a message"))
}

fn simulate(plan: &Plan, seed: u64) -> Result<Case, String> {
    let mut world = build::world(plan, seed);
    world.start();
    let end = trunkline_core::time::Instant::ZERO + plan.lab.duration;
    let mut ended = Ended::Duration;
    let mut steps: u32 = 0;
    while world.step(end) {
        world.check_invariants();
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(STEPS_PER_COUNT) {
            world.check_frames().map_err(|what| format!("{what} at {}", world.now))?;
        }
        if world.apps.iter().all(App::is_done) {
            ended = Ended::Complete;
            break;
        }
    }
    check_delivery(plan, &world, ended)
}

fn check_delivery(plan: &Plan, world: &World, ended: Ended) -> Result<Case, String> {
    let mut case = Case {
        bytes: 0,
        packet_hops: world.packet_hops,
        cuts: plan.lab.faults.len() as u64,
        nanos: world.now.as_nanos(),
    };
    for (flow, record) in records(plan, world) {
        if record.wrong > 0 {
            return Err(format!("{}: {} bytes are not what was sent", flow.name, record.wrong));
        }
        if let Some(why) = record.broken {
            return Err(format!("{}: {why} at {}", flow.name, world.now));
        }
        if !record.complete {
            return Err(format!(
                "{}: {} bytes after {}, still {} missing",
                flow.name,
                record.received,
                world.now,
                record.written.saturating_sub(record.received)
            ));
        }
        case.bytes += record.received;
    }
    for (flow, app) in plan.lab.flows.iter().zip(&world.apps) {
        let broken = match app {
            App::Requests(requests) => requests.broken,
            App::Web(web) => web.broken,
            _ => None,
        };
        if let Some(why) = broken {
            return Err(format!("{}: {why} at {}", flow.name, world.now));
        }
    }
    match ended {
        Ended::Complete => world.check_frames().map(|()| case),
        Ended::Duration => Err(format!("not finished after {}", world.now)),
    }
}

/// The transfers of all flows, each with its flow.
fn records<'a>(plan: &'a Plan, world: &'a World) -> impl Iterator<Item = (&'a Flow, &'a Record)> {
    plan.lab.flows.iter().zip(&world.apps).flat_map(|(flow, app)| {
        let bulks = match app {
            App::Bulk(bulk) => std::slice::from_ref(&**bulk),
            App::Streams(streams) => &streams.bulks,
            _ => &[],
        };
        bulks.iter().map(move |bulk| (flow, &bulk.record))
    })
}
