//! Random plans and faults from a seed. Invariants are checked at every step; once the faults have
//! healed every byte must arrive, in order and equal. A failing seed prints itself.
//!
//! A seed draws a bond with hosts at switches beside it, and every second seed a smaller world of one of the
//! themes besides: segments, routers, manners, slow hosts, one-way links, trunks.

mod delivery;
mod draw;
mod laws;

use crate::apps::App;
use crate::build;
use crate::world::{Ended, World};
use delivery::check_delivery;
use draw::themes::{self, Outcome, WATCHED};
use rayon::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use trunkline_core::time::Instant;
use trunkline_plan::model::Plan;

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

impl Case {
    /// Both, one after the other.
    fn and(self, other: Case) -> Case {
        Case {
            bytes: self.bytes + other.bytes,
            packet_hops: self.packet_hops + other.packet_hops,
            cuts: self.cuts + other.cuts,
            nanos: self.nanos + other.nanos,
        }
    }
}

/// Steps between two counts of all frames.
const STEPS_PER_COUNT: u32 = 64;
/// Events of a world at most: ten times what any has needed.
const STEPS_MAX: u32 = 20_000_000;
/// Of this many seeds one runs twice, and one draws a theme.
const SEEDS_PER_REPETITION: u64 = 16;
const SEEDS_PER_THEME: u64 = 2;

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
///
/// # Errors
/// What did not hold.
pub fn run_case(seed: u64) -> Result<Case, Failure> {
    let plan = draw::plan(seed);
    let fail = |what: String, plan: String| Failure { seed, what, plan };
    let case =
        repeat(seed, || simulate(&plan, seed)).map_err(|e| fail(e, draw::describe(&plan)))?;
    if !seed.is_multiple_of(SEEDS_PER_THEME) {
        return Ok(case);
    }
    let drawn = themes::draw(seed).map_err(|what| fail(what, "drawn as text".into()))?;
    let (plan, outcome) = (&drawn.plan, drawn.theme.outcome);
    let more = repeat(seed, || simulate_theme(plan, seed, outcome));
    let described = || format!("{}, in full\n{}", drawn.theme.name, drawn.text);
    more.map(|more| case.and(more)).map_err(|what| fail(what, described()))
}

/// What a simulation answers; an assertion that fails is an error. With some seeds it runs twice.
fn repeat(seed: u64, simulation: impl Fn() -> Result<Case, String>) -> Result<Case, String> {
    let attempt = || {
        catch_unwind(AssertUnwindSafe(&simulation))
            .unwrap_or_else(|panic| Err(panic_text(panic.as_ref())))
    };
    let case = attempt()?;
    match seed.is_multiple_of(SEEDS_PER_REPETITION) && attempt().as_ref() != Ok(&case) {
        false => Ok(case),
        true => Err("a second run of the same seed went another way".into()),
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("an assertion failed: {}", text.unwrap_or("without a message"))
}

/// Whose invariants are checked after a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Checks {
    /// Those of every host.
    All,
    /// Those of one after the other: of many hosts a step touches few.
    InTurn,
}

/// Runs a world until all that has an end is done: for a while at least, for the plan's duration at most.
fn run_world(
    plan: &Plan,
    seed: u64,
    at_least: Instant,
    checks: Checks,
) -> Result<(World, Ended), String> {
    let mut world = build::world(plan, seed);
    world.start();
    let end = Instant::ZERO + plan.lab.duration;
    let mut steps: u32 = 0;
    while world.step(end) {
        match checks {
            Checks::All => world.check_invariants(),
            Checks::InTurn => world.check_host(steps as usize % world.hosts.len()),
        }
        steps += 1;
        if steps.is_multiple_of(STEPS_PER_COUNT) {
            world.check_frames().map_err(|what| format!("{what} at {}", world.now))?;
        }
        if steps == STEPS_MAX {
            return Err(format!("{steps} events, and it is only {}", world.now));
        }
        if world.now >= at_least && world.apps.iter().all(App::is_done) {
            break;
        }
    }
    let ended = match world.apps.iter().all(App::is_done) {
        true => Ended::Complete,
        false => Ended::Duration,
    };
    Ok((world, ended))
}

fn simulate(plan: &Plan, seed: u64) -> Result<Case, String> {
    let (world, ended) = run_world(plan, seed, Instant::ZERO, Checks::All)?;
    check_delivery(plan, &world, ended)
}

/// Runs a theme's world, which may have flows without an end.
fn simulate_theme(plan: &Plan, seed: u64, outcome: Outcome) -> Result<Case, String> {
    let at_least = match outcome {
        Outcome::Delivered => WATCHED,
        _ => plan.lab.duration,
    };
    let (world, ended) = run_world(plan, seed, Instant::ZERO + at_least, Checks::InTurn)?;
    world.check_invariants();
    world.check_frames().map_err(|what| format!("{what} at {}", world.now))?;
    let case = match outcome {
        Outcome::Delivered => check_delivery(plan, &world, ended),
        _ => delivery::check_content(plan, &world),
    };
    laws::check(plan, &world, outcome)?;
    case
}
