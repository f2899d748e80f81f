//! Replays every corpus: what a fuzzer once found, and the seeds it starts from.

use std::fs;
use std::path::Path;
use trunkline_core::rng::Rng;

#[track_caller]
fn replay(name: &str, target: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let entries =
        fs::read_dir(&corpus).unwrap_or_else(|error| panic!("{}: {error}", corpus.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "the corpus of {name} is empty");
    for path in paths {
        let input = fs::read(&path).unwrap();
        let survived = std::panic::catch_unwind(|| target(&input)).is_ok();
        assert!(survived, "{name} fails on {}", path.display());
    }
}

#[test]
fn bond_receive() {
    replay("bond_receive", trunkline_fuzz::bond_receive);
}

#[test]
fn control() {
    replay("control", trunkline_fuzz::control);
}

#[test]
fn ethernet() {
    replay("ethernet", trunkline_fuzz::ethernet);
}

#[test]
fn host_receive() {
    replay("host_receive", trunkline_fuzz::host_receive);
}

#[test]
fn plan() {
    replay("plan", trunkline_fuzz::plan);
}

#[test]
fn ppp() {
    replay("ppp", trunkline_fuzz::ppp);
}

#[test]
fn slip() {
    replay("slip", trunkline_fuzz::slip);
}

#[test]
fn tcp() {
    replay("tcp", trunkline_fuzz::tcp);
}

#[test]
fn trunk() {
    replay("trunk", trunkline_fuzz::trunk);
}

#[test]
fn vj() {
    replay("vj", trunkline_fuzz::vj);
}

/// Bytes without any form, of all lengths up to 600.
fn survives_noise(target: fn(&[u8])) {
    let mut rng = Rng::new(1).fork("noise");
    for len in 0..600 {
        let input: Vec<u8> = (0..len).map(|_| rng.next_u32() as u8).collect();
        target(&input);
    }
}

#[test]
fn a_trunk_survives_noise() {
    survives_noise(trunkline_fuzz::trunk);
    survives_noise(trunkline_fuzz::bond_receive);
}

#[test]
fn the_control_socket_survives_noise() {
    survives_noise(trunkline_fuzz::control);
}

#[test]
fn serial_lines_survive_noise() {
    survives_noise(trunkline_fuzz::ppp);
    survives_noise(trunkline_fuzz::vj);
}

#[test]
fn a_card_survives_noise() {
    survives_noise(trunkline_fuzz::ethernet);
    survives_noise(trunkline_fuzz::host_receive);
}

#[test]
fn every_corpus_has_a_test_here() {
    let corpora = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")).unwrap();
    let mut names: Vec<_> = corpora.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let known = [
        "bond_receive",
        "control",
        "ethernet",
        "host_receive",
        "plan",
        "ppp",
        "slip",
        "tcp",
        "trunk",
        "vj",
    ];
    assert_eq!(names, known);
}
