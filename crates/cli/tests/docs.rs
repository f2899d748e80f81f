//! Documents that are tables of the code: they must say what the code says.

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

/// The names in the first column of the tables of a section, which stand in backquotes.
fn names_in_tables(section: &str) -> Vec<&str> {
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let first = rows.filter_map(|row| row.split(" | ").next());
    first.flat_map(|cell| cell.split(['`', ',', ' ']).filter(|name| !name.is_empty())).collect()
}

#[test]
fn the_tables_of_metrics_have_every_name_and_no_other() {
    let plan = include_str!("../../../docs/plan.md");
    let (_, rest) = plan.split_once("## Metrics\n").expect("a section on metrics");
    let section = rest.split("\n## ").next().expect("its text");
    let mut written = names_in_tables(section);
    let mut known = [&metric::BULK[..], &metric::PING, &metric::LINK].concat();
    written.sort_unstable();
    known.sort_unstable();
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
