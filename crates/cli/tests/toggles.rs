//! `lab run PLAN --toggle LIST|all` as its users see it.

mod program;

use program::{folder, trunkline};
use serde_json::Value;

/// Two features of a transfer over one slow line, of which one changes little.
const PLAN: &str = r#"name = "mine"
[[link]]
name = "line"
kind = "serial"
rate = "28.8kbit"
[bond.b]
ends = ["a", "z"]
members = ["line"]
[[lab.flow]]
name = "file"
from = "a"
to = "z"
app = { kind = "bulk", bytes = "20KB" }
[lab.toggle.fast]
about = "a faster line"
off = { "link.line.rate" = "28.8kbit" }
on = { "link.line.rate" = "57.6kbit" }
[lab.toggle.stamps]
on = { "lab.flow.file.tcp.timestamps" = true }
off = { "lab.flow.file.tcp.timestamps" = false }
"#;

#[test]
fn features_of_a_users_own_plan_are_run_alone_left_out_and_in_pairs() {
    let folder = folder("toggles-own");
    std::fs::write(folder.join("mine.toml"), PLAN).expect("a file");
    let ran = trunkline(&folder, &["lab", "run", "mine.toml", "--toggle", "all"]);
    assert!(ran.code == Some(0) && ran.stderr.is_empty(), "{ran}");
    for text in ["mine: file.goodput in bit/s, 4 settings", "a faster line", "interaction"] {
        assert!(ran.stdout.contains(text), "{text}: {ran}");
    }
    let ran = trunkline(&folder, &["lab", "run", "mine.toml", "--toggle", "stamps,fast", "--json"]);
    let document: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran}"));
    assert_eq!(document["schema"], "trunkline.toggle/1");
    let names: Vec<&Value> =
        document["effects"].as_array().expect("a list").iter().map(|e| &e["toggle"]).collect();
    assert_eq!(names, ["stamps", "fast"]);
    let of = |key: &str| document["effects"][1][key].as_f64().expect("a number");
    let none = document["none"].as_f64().expect("a number");
    assert!(of("alone") > 1.8 * none && of("alone_adds") == of("alone") - none, "{ran}");
    let interaction = &document["interactions"][0];
    assert!(interaction["turns"].is_boolean(), "{ran}");
    assert!(interaction["interaction"].as_f64().expect("a number").abs() < none, "{ran}");
}

#[test]
fn features_that_are_not_there_are_told_with_those_that_are() {
    let folder = folder("toggles-wrong");
    std::fs::write(folder.join("mine.toml"), PLAN).expect("a file");
    let ran = trunkline(&folder, &["lab", "run", "mine.toml", "--toggle", "fats"]);
    assert!(ran.code == Some(2) && ran.stdout.is_empty(), "{ran}");
    assert!(ran.stderr.contains("there is no toggle `fats`; did you mean `fast`?"), "{ran}");
    assert!(ran.stderr.contains("toggles of this plan: fast, stamps"), "{ran}");
    let ran = trunkline(&folder, &["lab", "run", "eql-two-modems", "--toggle", "all"]);
    assert!(ran.code == Some(2), "{ran}");
    assert!(ran.stderr.contains("`eql-two-modems` has no toggles"), "{ran}");
    let ran = trunkline(&folder, &["lab", "run", "mine.toml", "--toggle", "fast,nosuch"]);
    assert!(ran.code == Some(2) && ran.stdout.is_empty(), "{ran}");
    assert!(ran.stderr.contains("there is no toggle `nosuch`"), "{ran}");
    assert!(!ran.stderr.contains("`fast`"), "{ran}");
    let misspelt =
        PLAN.replace("about = \"a faster line\"\noff =", "about = \"a faster line\"\nof =");
    std::fs::write(folder.join("bad.toml"), misspelt).expect("a file");
    let ran = trunkline(&folder, &["lab", "run", "bad.toml", "--toggle", "all"]);
    assert!(ran.code == Some(3) && ran.stdout.is_empty(), "{ran}");
    assert!(ran.stderr.contains("unknown key `of`") && ran.stderr.contains("1 error"), "{ran}");
    let wrong = PLAN.replace("57.6kbit", "57.6");
    std::fs::write(folder.join("bad.toml"), wrong).expect("a file");
    let ran = trunkline(&folder, &["lab", "run", "bad.toml", "--toggle", "all"]);
    assert!(ran.code == Some(3) && ran.stderr.contains("every toggle on"), "{ran}");
}
