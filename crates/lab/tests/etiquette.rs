//! Broadcast storms of hosts that take time, with other seeds than the plans' own: tests BST-1 to BST-4 of
//! the reference, whose mechanism the core tests by itself.

use trunkline_lab::experiment::{self, Options};
use trunkline_lab::library;
use trunkline_lab::result::{ResultDocument, Verdict};

const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];

/// Some rows of a plan, each for so many seconds.
fn run(plan: &str, seed: u64, cases: &str, seconds: u32) -> ResultDocument {
    let mut document = library::find(plan).expect("a ready plan").document().expect("a valid plan");
    let lasts = format!("\"{seconds}s\"");
    let rows = format!("{{ case = {cases} }}");
    for (key, value) in
        [("lab.rows.where", rows), ("lab.duration", lasts), ("lab.figure", "[]".to_owned())]
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

/// What the plan expects of its cluster is met, in a run that is shorter than the plan's.
fn assert_cluster(seed: u64, cases: &str, seconds: u32, at_least: usize) {
    let result = run("vax-cluster", seed, cases, seconds);
    let of_cluster = || result.expectations.iter().filter(|e| e.what.starts_with("scs."));
    assert!(of_cluster().count() >= at_least, "{:?}", result.expectations);
    assert!(
        of_cluster().all(|e| e.verdict == Verdict::Ok),
        "seed {seed}: {:?}",
        result.expectations
    );
}

/// A member leaves, and none would if its processor took no time.
macro_rules! clusters_break {
    ($($name:ident: $seed:literal,)*) => {
        $(
            #[test]
            fn $name() {
                assert_cluster($seed, "[\"as it was\"]", 80, 3);
            }
        )*
    };
}

clusters_break! {
    bst_4_a_cluster_breaks_in_a_storm_with_seed_1: 1,
    bst_4_a_cluster_breaks_in_a_storm_with_seed_2: 2,
    bst_4_a_cluster_breaks_in_a_storm_with_seed_3: 3,
    bst_4_a_cluster_breaks_in_a_storm_with_seed_4: 4,
    bst_4_a_cluster_breaks_in_a_storm_with_seed_5: 5,
}

#[test]
fn bst_4_behind_a_router_and_by_the_rules_a_cluster_holds_whatever_the_seed() {
    for seed in SEEDS {
        assert_cluster(seed, "[\"behind a router\", \"RFC 1122\"]", 55, 4);
    }
}
