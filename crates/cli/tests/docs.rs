//! Documents that are tables of the code: they must say what the code says.

use std::collections::BTreeMap;
use trunkline_core::cc::Algorithm;
use trunkline_core::tcp::{Config, Profile};
use trunkline_live::proxy::Ending;
use trunkline_plan::metric;

/// The text `docs/tcp-profiles.md` must have.
fn profiles() -> String {
    let mut text = String::from(
        "# TCP profiles\n\nWhat `tcp = { profile = \"…\" }` stands for. Each feature has its origin; what is \
         marked `assumed` was\nnot read in a source. The table is that of the code: a test compares them.\n",
    );
    for profile in Profile::ALL {
        text +=
            &format!("\n## `{}`\n\n| feature | value | origin |\n|---|---|---|\n", profile.name());
        for feature in Config::feature_table(profile) {
            text += &format!("| {} | {} | {} |\n", feature.name, feature.value, feature.origin);
        }
    }
    text
}

/// What the section on metrics says has them, and their names: those of a sentence `A … has …`, of the first
/// column of the table below it, and behind `also` in a row. Without such a sentence a row says itself what it
/// is of. Names stand in backquotes.
fn metrics_written(section: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut written: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut owner = None;
    for block in section.split("\n\n").map(str::trim) {
        if !block.starts_with('|') {
            let said = block.split_once(" has");
            owner = said.map(|(owner, _)| owner.split(',').next().unwrap_or(owner));
            if let Some((owner, (_, names))) = owner.zip(said) {
                written.entry(owner).or_default().extend(quoted(names));
            }
            continue;
        }
        for row in block.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
            let meaning = cells.last().expect("a row has cells");
            let owner = owner.or_else(|| quoted(meaning).next()).expect("a row is of something");
            let also = meaning.split_once("also ").map_or("", |(_, names)| names);
            written.entry(owner).or_default().extend(quoted(cells[0]).chain(quoted(also)));
        }
    }
    written
}

/// What stands in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_tables_of_metrics_have_every_name_and_no_other() {
    let plan = include_str!("../../../docs/plan.md");
    let (_, rest) = plan.split_once("## Metrics\n").expect("a section on metrics");
    let section = rest.split("\n## ").next().expect("its text");
    let mut written = metrics_written(section);
    let mut known = BTreeMap::from([
        ("A `bulk` flow", metric::BULK.to_vec()),
        ("A `bulk` flow between hosts", metric::STREAMS.to_vec()),
        ("A `datagrams` flow", metric::DATAGRAMS.to_vec()),
        ("A `ping` flow", metric::PING.to_vec()),
        ("request-response", metric::REQUESTS.to_vec()),
        ("connect", metric::ATTEMPTS.to_vec()),
        ("messages", metric::MESSAGES.to_vec()),
        ("web", metric::WEB.to_vec()),
        ("An `rpc` flow", metric::RPC.to_vec()),
        ("A `rip` flow", metric::RIP.to_vec()),
        ("A `heartbeat` flow", metric::HEARTBEAT.to_vec()),
        ("A router", metric::ROUTER.to_vec()),
        ("A group", metric::GROUP.to_vec()),
        ("A port", metric::PORT.to_vec()),
        ("A host or router with `cpu`", metric::HOST.to_vec()),
        ("A segment", metric::SEGMENT.to_vec()),
        ("A link", metric::LINK.to_vec()),
        ("A one-way link", metric::ONE_WAY.to_vec()),
    ]);
    written.values_mut().chain(known.values_mut()).for_each(|names| names.sort_unstable());
    assert_eq!(written, known);
}

#[test]
fn what_a_proxy_takes_and_says_is_documented() {
    let document = include_str!("../../../docs/proxy.md");
    let algorithms = Algorithm::ALL.map(Algorithm::name);
    for name in algorithms.into_iter().chain(Ending::ALL.map(Ending::name)) {
        assert!(document.contains(&format!("`{name}`")), "docs/proxy.md does not know `{name}`");
    }
}

#[test]
fn the_table_of_profiles_is_that_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tcp-profiles.md");
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == profiles(), "docs/tcp-profiles.md should read:\n{}", profiles());
}
