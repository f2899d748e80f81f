//! Documents that are tables of the code: they must say what the code says.

use trunkline_core::tcp::{Config, Profile};

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

#[test]
fn the_table_of_profiles_is_that_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tcp-profiles.md");
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == profiles(), "docs/tcp-profiles.md should read:\n{}", profiles());
}
