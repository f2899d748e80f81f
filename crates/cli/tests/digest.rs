//! The digest: the same for the same plan and seed, whatever else differs; another for another seed
//! where the seed decides anything.

mod program;

use program::{folder, trunkline};
use serde_json::Value;
use std::path::Path;

const LOSSY: &str = r#"
name = "lossy"

[[link]]
name = "line0"
kind = "serial"
rate = "57.6kbit"
lab  = { delay = "20ms", queue = "20p", loss = "2%" }

[[link]]
name = "line1"
kind = "serial"
rate = "57.6kbit"
lab  = { delay = "20ms", queue = "20p", loss = "2%" }

[bond.bond0]
ends    = ["here", "there"]
members = ["line*"]
mode    = "earliest"

[lab]
seed     = 7
duration = "120s"

[[lab.flow]]
name = "copy"
from = "here"
to   = "there"
app  = { kind = "bulk", bytes = "200KB" }
"#;

/// Ready plans that take a moment.
const FAST: &[&str] = &["eql-two-modems", "eql-healey", "eql-latency"];

fn result(folder: &Path, args: &[&str]) -> Value {
    let ran = trunkline(folder, &[&["lab", "run", "--json"], args].concat());
    assert!(ran.code == Some(0), "{args:?}: {ran}");
    serde_json::from_str(&ran.stdout).expect("one JSON document")
}

fn digest(folder: &Path, args: &[&str]) -> String {
    let document = result(folder, args);
    let digest = document["digest"].as_str().expect("a digest").to_owned();
    let is_sha256 = digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit());
    assert!(is_sha256, "{digest}");
    digest
}

#[test]
fn two_processes_and_any_number_of_jobs_give_one_digest() {
    let folder = folder("digest-jobs");
    for plan in FAST {
        let first = digest(&folder, &[plan]);
        assert_eq!(first, digest(&folder, &[plan]), "{plan}: two processes");
        assert_eq!(first, digest(&folder, &[plan, "-j1"]), "{plan}: one job");
        assert_eq!(first, digest(&folder, &[plan, "-j2"]), "{plan}: two jobs");
    }
}

#[test]
fn where_packets_are_lost_the_seed_decides() {
    let folder = folder("digest-loss");
    std::fs::write(folder.join("lossy.toml"), LOSSY).expect("the plan is written");
    let own = digest(&folder, &["lossy.toml"]);
    assert_eq!(own, digest(&folder, &["lossy.toml"]));
    assert_eq!(own, digest(&folder, &["lossy.toml", "--seed", "7"]));
    assert_ne!(own, digest(&folder, &["lossy.toml", "--seed", "8"]));
    let three = ["lossy.toml", "--runs", "3", "-j1"];
    let three_parallel = ["lossy.toml", "--runs", "3", "-j2"];
    assert_eq!(digest(&folder, &three), digest(&folder, &three_parallel));
    assert_eq!(result(&folder, &["lossy.toml", "--seed", "8"])["seed"], Value::from(8));
}

#[test]
fn a_plan_that_draws_nothing_is_the_same_with_every_seed() {
    let folder = folder("digest-seed");
    let own = result(&folder, &["eql-healey"]);
    let other = result(&folder, &["eql-healey", "--seed", "8"]);
    assert_eq!(own["digest"], other["digest"]);
    assert_ne!(own["seed"], other["seed"]);
}

#[test]
fn a_changed_plan_has_another_digest() {
    let folder = folder("digest-change");
    let own = digest(&folder, &["eql-two-modems"]);
    let set = ["eql-two-modems", "--set", "bond.eql0.mode=earliest"];
    assert_ne!(own, digest(&folder, &set));
}
