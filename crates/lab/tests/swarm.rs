//! A small swarm in every test run, and the seeds that once failed.

use trunkline_lab::swarm::{self, Options};

/// Cases of every test run.
const RUNS: u32 = 60;

/// Seeds that found a bug which has been mended. When `trunkline lab swarm` prints a failing seed, add
/// it with the bug in a comment behind it; what a seed draws changes with `swarm/draw`, so that a
/// bug worth a test of its own also gets one beside the code.
const REGRESSIONS: &[u64] = &[
    // A port's FQ-CoDel gave up the packet just taken in, and the port looked at it.
    170, 219,
    // A switch sent a frame back to where it came from, and a learning one then believed its sender there.
    47, 58, // A driver's queue took a whole burst, though it had room for fewer frames.
    8, 44, // Nobody could be told the ways over a router that joins three segments.
    28, 88,
];

#[test]
fn random_plans_deliver_every_byte() {
    let report = swarm::run(Options { runs: RUNS, seed: 1, jobs: 0 }, &|| ());
    assert_eq!(report.failures, [], "{report:?}");
    assert!(report.bytes > 0 && report.cuts > 0, "{report:?}");
}

#[test]
fn seeds_that_once_failed_hold() {
    for seed in REGRESSIONS {
        assert!(swarm::run_case(*seed).is_ok(), "{:?}", swarm::run_case(*seed));
    }
}
