//! Runs plans as the program does, and finds their metrics.
#![allow(dead_code, reason = "each test needs some of it")]

use trunkline_lab::experiment::{self, Options};
use trunkline_lab::library;
use trunkline_lab::result::ResultDocument;
use trunkline_plan::Document;

/// The result of a plan that must be in order.
pub fn run(document: &Document) -> ResultDocument {
    let errors = document.check();
    assert!(errors.is_empty(), "{errors}");
    let plan = document.experiment().expect("a valid experiment");
    experiment::run(&plan, Options::default(), &|_| ()).expect("a runnable plan").document
}

/// The result of a ready plan with some values changed.
pub fn run_ready(name: &str, sets: &[(&str, &str)]) -> ResultDocument {
    run_with(library::find(name).expect("a ready plan").document().expect("a valid plan"), sets)
}

/// The result of a plan of this text with some values changed.
pub fn run_text(text: &str, sets: &[(&str, &str)]) -> ResultDocument {
    run_with(Document::parse("p.toml", text, &|_| Err(String::new())).expect("TOML"), sets)
}

/// The result of a plan with some values changed.
pub fn run_with(mut document: Document, sets: &[(&str, &str)]) -> ResultDocument {
    for (key, value) in sets {
        document.set(key, value).expect("a key of the plan");
    }
    run(&document)
}

/// `NAME.METRIC` of a flow, link or host.
pub fn metric(result: &ResultDocument, name: &str) -> f64 {
    metric_in(result, "", name)
}

/// `NAME.METRIC` in the first run whose name has this in it.
pub fn metric_in(result: &ResultDocument, run: &str, name: &str) -> f64 {
    let (owner, metric) = name.rsplit_once('.').expect("NAME.METRIC");
    let flow = result.flows.iter().find(|f| f.run.contains(run) && f.flow == owner);
    let link = result.links.iter().find(|l| l.run.contains(run) && l.link == owner);
    let host = result.hosts.iter().find(|h| h.run.contains(run) && h.host == owner);
    let metrics =
        flow.map(|f| &f.metrics).or(link.map(|l| &l.metrics)).or(host.map(|h| &h.metrics));
    metrics.and_then(|m| m[metric]).unwrap_or_else(|| panic!("{run}: no {name}"))
}
