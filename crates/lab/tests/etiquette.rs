//! Broadcast storms of hosts that take time, with other seeds than the plans' own: tests BST-1 to BST-4 of the
//! reference, whose mechanism the core tests by itself.

use trunkline_lab::experiment::{self, Options};
use trunkline_lab::library;
use trunkline_lab::result::ResultDocument;

const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];

/// Some rows of a plan, each for so many seconds.
fn run(plan: &str, seed: u64, cases: &str, seconds: u32) -> ResultDocument {
    let mut document = library::find(plan).expect("a ready plan").document().expect("a valid plan");
    let lasts = format!("\"{seconds}s\"");
    for (key, value) in
        [("lab.rows.where", format!("{{ case = {cases} }}")), ("lab.duration", lasts)]
    {
        document.set(key, &value).expect("a key of the plan");
    }
    let errors = document.check();
    assert!(errors.is_empty(), "{errors}");
    let plan = document.experiment().expect("a valid experiment");
    let options = Options { seed: Some(seed), ..Options::default() };
    experiment::run(&plan, options, &|_| ()).expect("a runnable plan").document
}

fn assert_met(result: &ResultDocument, seed: u64, at_least: usize) {
    let expectations = &result.summary.expectations;
    assert_eq!(expectations.failed, 0, "seed {seed}: {:?}", result.expectations);
    assert!(expectations.met >= at_least, "seed {seed}: {:?}", result.expectations);
}

#[test]
fn bst_1_and_3_questions_are_exact_and_rules_cost_no_frame_whatever_the_seed() {
    let calm = "[\"questions\", \"both forms\", \"no forwarding of broadcasts\", \"discard\", \
                \"no forwarding at all\", \"doubt\", \"RFC 1122\"]";
    for seed in SEEDS {
        assert_met(&run("broadcast-storm", seed, calm, 60), seed, 8);
    }
}

#[test]
fn bst_2_a_meltdown_fills_the_cable_within_seconds_whatever_the_seed() {
    for seed in SEEDS {
        let result = run("broadcast-storm", seed, "[\"meltdown\"]", 20);
        let busy = result.expectations.iter().find(|e| e.what.ends_with("busy_since_first"));
        let busy = busy.and_then(|e| e.value).expect("a datagram was told");
        assert!(busy > 0.9, "seed {seed}: {busy}");
        // Also those that have nothing to do with it.
        let bystander =
            result.hosts.iter().find(|h| h.host == "bsd9").expect("a host that takes time");
        assert!(bystander.metrics["cpu"] > Some(0.5), "seed {seed}: {:?}", bystander.metrics);
    }
}

#[test]
fn bst_4_a_cluster_breaks_in_a_storm_because_its_processors_are_busy_whatever_the_seed() {
    for seed in SEEDS {
        let result = run("vax-cluster", seed, "[\"as it was\"]", 100);
        assert_met(&result, seed, 5);
    }
}

#[test]
fn bst_4_behind_a_router_and_by_the_rules_it_holds_whatever_the_seed() {
    for seed in SEEDS {
        let result = run("vax-cluster", seed, "[\"behind a router\", \"RFC 1122\"]", 100);
        assert_met(&result, seed, 5);
    }
}
