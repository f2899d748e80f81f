//! `trunkline lab swarm`

use crate::args::Swarm;
use crate::exit::{Ended, Exit};
use crate::output::Output;
use crate::progress::Progress;
use serde::Serialize;
use trunkline_lab::swarm;

/// The version of the document `lab swarm --json` prints.
const SWARM_SCHEMA: &str = "trunkline.swarm/1";

#[derive(Serialize)]
struct SwarmDocument<'a> {
    schema: &'static str,
    seed: u64,
    #[serde(flatten)]
    report: &'a swarm::Report,
}

/// Runs random plans; a failing one prints the command that repeats it.
pub(crate) fn run(args: &Swarm, output: &Output) -> Ended {
    let options =
        swarm::Options { runs: args.runs, seed: args.seed, jobs: args.jobs.map_or(0, usize::from) };
    let report = {
        let progress = Progress::new(output, "swarm");
        swarm::run(options, &|| progress.advance(1, u64::from(args.runs)))
    };
    if output.is_json() {
        output.document(&SwarmDocument {
            schema: SWARM_SCHEMA,
            seed: args.seed,
            report: &report,
        })?;
    } else {
        output.data(&format!(
            "{} random plans from seed {}: {} bytes arrived in order and equal, \
             {} link cuts, {} packet-hops, {} failed\n",
            report.runs,
            args.seed,
            report.bytes,
            report.cuts,
            report.packet_hops,
            report.failures.len()
        ))?;
        for failure in &report.failures {
            output.data(&format!(
                "seed {}: {}\n  plan: {}\n  repeat: trunkline lab swarm --runs 1 --seed {}\n",
                failure.seed, failure.what, failure.plan, failure.seed
            ))?;
        }
    }
    match report.failures.is_empty() {
        true => Ok(()),
        false => Err(Exit::Expectation),
    }
}
