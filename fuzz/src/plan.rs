//! Plans: any bytes are survived, every error has a place and words, and a plan that passes its check can
//! be built in every row and variant.

use trunkline_plan::{Diagnostics, Document};

/// Longer inputs only take longer.
const INPUT_LEN_MAX: usize = 64 * 1024;

/// The file any `include` leads to, and any table of rows.
const INCLUDED: &str = "row = [{ lines = 1, bps = 9600 }, { lines = 2, bps = 57600 }]\n";

/// Reads the input as a plan and, when it parses, checks it and builds it.
pub fn plan(input: &[u8]) {
    let input = &input[..input.len().min(INPUT_LEN_MAX)];
    let load = |path: &str| match path.ends_with(".toml") {
        true => Ok(INCLUDED.to_owned()),
        false => Err("there is no such file".to_owned()),
    };
    let document = match Document::parse("fuzz.toml", input, &load) {
        Ok(document) => document,
        Err(refusal) => return explains(&refusal),
    };
    let refusal = document.check();
    if !refusal.is_empty() {
        return explains(&refusal);
    }
    let experiment = document.experiment().expect("the check passed");
    let variants: Vec<_> = std::iter::once(None).chain(experiment.variants().map(Some)).collect();
    for row in 0..experiment.rows().len() {
        for variant in &variants {
            experiment.plan(row, *variant).expect("the check passed");
        }
        experiment.figures(row).expect("the check passed");
    }
}

fn explains(refusal: &Diagnostics) {
    assert!(!refusal.is_empty(), "a refusal without a reason");
    for error in &refusal.errors {
        assert!(error.line >= 1 && error.column >= 1);
        assert!(!error.message.is_empty());
    }
    assert!(refusal.to_string().contains('^'));
}
