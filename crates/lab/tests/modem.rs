//! A modem and an overloaded Ethernet, in virtual time: the tests that the reference of this project names
//! MOD. VEG-1, 5 and 6 stand beside, in `congestion.rs`.

use std::sync::OnceLock;
use trunkline_lab::experiment::{self, Options};
use trunkline_lab::library;
use trunkline_lab::result::{FlowResult, ResultDocument};
use trunkline_plan::Document;

fn run(document: &Document) -> ResultDocument {
    let errors = document.check();
    assert!(errors.is_empty(), "{errors}");
    let plan = document.experiment().expect("a valid experiment");
    experiment::run(&plan, Options::default(), &|_| ()).expect("a runnable plan").document
}

/// A published plan with some values changed.
fn published(name: &str, sets: &[(&str, &str)]) -> ResultDocument {
    let mut document = library::find(name).expect("a ready plan").document().expect("a valid plan");
    for (key, value) in sets {
        document.set(key, value).expect("a key of the plan");
    }
    run(&document)
}

fn vegas_modem() -> &'static ResultDocument {
    static RESULT: OnceLock<ResultDocument> = OnceLock::new();
    RESULT.get_or_init(|| published("vegas-modem", &[]))
}

fn metric(flow: &FlowResult, name: &str) -> f64 {
    flow.metrics[name].unwrap_or_else(|| panic!("no {name} in {:?}", flow.metrics))
}

/// The transfers of gzipped data of one variant, by MTU.
fn gzip(variant: &str) -> Vec<&'static FlowResult> {
    let fits = |run: &str| run.contains("gzip") && run.ends_with(variant);
    let found: Vec<_> = vegas_modem().flows.iter().filter(|flow| fits(&flow.run)).collect();
    assert_eq!(found.len(), 3, "three MTUs");
    found
}

#[test]
fn mod_1_reno_overflows_the_line_buffer_and_stalls() {
    // The first half minute, and what comes after it.
    let early = published("vegas-modem", &[("lab.duration", "30s")]);
    let fits = |flow: &&FlowResult| flow.run.contains("gzip") && flow.run.ends_with("reno");
    for flow in early.flows.iter().filter(fits) {
        assert!(metric(flow, "longest_gap") >= 2.0, "{}: {:?}", flow.run, flow.metrics);
    }
    for flow in gzip("reno") {
        assert!(metric(flow, "retransmitted") > 0.0);
        let share = metric(flow, "of_ceiling");
        assert!((0.70..0.95).contains(&share), "{}: {share}", flow.run);
    }
}

#[test]
fn mod_2_vegas_neither_stalls_nor_loses() {
    for flow in gzip("vegas") {
        let share = metric(flow, "of_ceiling");
        assert!((0.93..=1.0).contains(&share), "{}: {share}", flow.run);
        assert!(metric(flow, "longest_gap") < 1.0, "{}: {:?}", flow.run, flow.metrics);
        let segments = metric(flow, "bytes") / metric(flow, "payload");
        assert!(metric(flow, "retransmitted") < 0.01 * segments);
    }
}

#[test]
fn mod_3_vegas_is_faster_than_reno_by_what_the_stalls_cost() {
    for (vegas, reno) in gzip("vegas").iter().zip(gzip("reno")) {
        let ratio = metric(vegas, "goodput") / metric(reno, "goodput");
        assert!((1.07..1.4).contains(&ratio), "{}: {ratio}", reno.run);
    }
}

#[test]
fn mod_4_the_mru_changes_vegas_only_by_its_headers() {
    let flows = gzip("vegas");
    let shares: Vec<f64> = flows.iter().map(|flow| metric(flow, "of_ceiling")).collect();
    for share in &shares {
        assert!((share / shares[0] - 1.0).abs() < 0.05, "{shares:?}");
    }
}

#[test]
fn text_goes_three_times_as_fast_as_what_is_compressed_already() {
    let row = |flow: &&FlowResult| flow.run.contains("text") && flow.run.ends_with("vegas");
    let flow = vegas_modem().flows.iter().find(row).expect("a row of text");
    let bytes = metric(flow, "goodput") / 8.0;
    assert!((8000.0..10_000.0).contains(&bytes), "{bytes}");
}
