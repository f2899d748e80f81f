//! `docs/tcp-conformance.md` and the list of MUSTs tell of the scripts there are, and of no others.

use crate::{directory, parser, texts};
use std::collections::BTreeSet;
use std::fs;

fn repository_text(path: &str) -> String {
    let path = directory().join("../../../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

const WRITE: &str = "run scripts/mutants.py --tables";

#[test]
fn the_document_has_every_script() {
    let document = repository_text("docs/tcp-conformance.md");
    let mut named = BTreeSet::new();
    for (path, text) in texts() {
        let script = parser::parse(&path, &text).expect("a script that can be read");
        let name = path.trim_end_matches(".script").to_owned();
        for (rfc, section) in &script.sections {
            let row = format!("| {rfc} | {section} | `{name}` | {} |\n", script.title);
            assert!(document.contains(&row), "{row} is missing: {WRITE}");
        }
        named.insert(name);
    }
    let (_, rows) = document.split_once("## Conversations").expect("a table of conversations");
    let rows = rows.split("## Mutants").next().unwrap_or("");
    for row in rows.lines().filter(|row| row.contains('`')) {
        let name = row.split('`').nth(1).unwrap_or("");
        assert!(named.contains(name), "{name} is no script: {WRITE}");
    }
}

#[test]
fn every_must_is_listed_and_what_is_held_is_proven() {
    let mut proven = BTreeSet::new();
    for (path, text) in texts() {
        proven.extend(parser::parse(&path, &text).expect("a script that can be read").musts);
    }
    let list = fs::read_to_string(directory().join("musts.txt")).expect("the list of MUSTs");
    let mut next = 1;
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<_> = line.split('|').map(str::trim).collect();
        let [number, state, asks, tests] = fields[..] else { panic!("four fields: {line}") };
        assert_eq!(number, next.to_string(), "{line}");
        assert!(!asks.is_empty(), "{line}");
        for test in tests.split_whitespace() {
            let name = test.rsplit("::").next().unwrap_or("");
            let host = repository_text("crates/core/src/host/tests.rs");
            assert!(host.contains(&format!("fn {name}(")), "there is no test {test}");
        }
        let is_proven = proven.contains(&next) || !tests.is_empty();
        assert!(state != "held" || is_proven, "MUST-{next} is held, but nothing proves it");
        let known = ["held", "partly", "missing", "unproven"];
        assert!(known.iter().any(|word| state.starts_with(word)), "{line}");
        assert!(!state.starts_with("missing") || !is_proven, "MUST-{next} is proven");
        next += 1;
    }
    assert_eq!(next, 70);
    assert!(proven.iter().all(|number| (1..70).contains(number)));
}
