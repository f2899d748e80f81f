//! Every source file is part of its crate and says at its top what it is.

use std::collections::BTreeSet;

use crate::lex;
use crate::tree::{Source, expect_clean, expect_one, sources};

fn unreachable(sources: &[Source]) -> Vec<String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Source> = sources.iter().filter(|source| is_root(source)).collect();
    while let Some(source) = open.pop() {
        if !reached.insert(source.path.as_str()) {
            continue;
        }
        let (base, _) = source.path.rsplit_once('/').unwrap();
        let own = source.path.strip_suffix(".rs").unwrap();
        let inside = if is_root(source) || source.path.ends_with("/mod.rs") { base } else { own };
        for module in lex::modules(&source.code).0 {
            let places = [
                format!("{inside}/{}.rs", module.name),
                format!("{inside}/{}/mod.rs", module.name),
            ];
            open.extend(sources.iter().filter(|source| places.contains(&source.path)));
        }
    }
    let lost = sources
        .iter()
        .filter(|source| source.module().is_some() && !reached.contains(&*source.path));
    let what = "no `mod` declaration leads here: declare it or delete it";
    lost.map(|source| source.complain(1, what)).collect()
}

fn is_root(source: &Source) -> bool {
    let roots = ["src/lib.rs", "src/main.rs"].map(|root| format!("{}/{root}", source.package()));
    roots.contains(&source.path) || source.path.contains("/src/bin/")
}

fn headerless(sources: &[Source]) -> Vec<String> {
    let silent = sources.iter().filter(|source| {
        let header = source.text.lines().take_while(|line| line.starts_with("//!"));
        let ships = !source.live.trim().is_empty() || source.module().is_some();
        let test_file = source.path.ends_with("/tests.rs") || source.path.contains("/tests/");
        ships && !test_file && header.flat_map(str::split_whitespace).count() < 4
    });
    let what = "start with a `//!` header: what this is, its source, how it deviates";
    silent.map(|source| source.complain(1, what)).collect()
}

#[test]
fn every_file_is_reachable() {
    expect_clean(unreachable(&sources()));
}

#[test]
fn a_dead_file_is_found() {
    let sources = [
        Source::new("crates/core/src/lib.rs", "pub mod a;\n// mod lost;"),
        Source::new("crates/core/src/a/mod.rs", "mod b;"),
        Source::new("crates/core/src/a/b.rs", "#[cfg(test)]\nmod tests;"),
        Source::new("crates/core/src/a/b/tests.rs", ""),
        Source::new("crates/core/src/lost.rs", ""),
        Source::new("crates/core/tests/whole.rs", ""),
    ];
    expect_one(unreachable(&sources), "crates/core/src/lost.rs:1");
}

#[test]
fn every_file_has_a_header() {
    expect_clean(headerless(&sources()));
}

#[test]
fn a_missing_or_empty_header_is_found() {
    let headerless_one = |text| headerless(&[Source::new("crates/core/src/a.rs", text)]);
    expect_one(headerless_one("use std::fmt;\n"), "a.rs:1");
    expect_one(headerless_one("//! stub\n"), "a.rs:1");
    assert!(headerless_one("//! Serial line framing (RFC 1055).\n").is_empty());
}
