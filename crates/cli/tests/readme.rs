//! The commands of README.md work as printed.

mod program;

use program::{folder, trunkline};
use std::path::Path;

const README: &str = include_str!("../../../README.md");
const CI: &str = include_str!("../../../.ci/run");

/// How the README calls the program.
const CALL: &str = "cargo run --release -- ";

/// How it calls a program that is built and may need privileges.
const BUILT: &str = "target/release/trunkline ";

/// The lines of the blocks marked `sh`, without remarks.
fn commands() -> Vec<&'static str> {
    let mut lines = Vec::new();
    let mut in_block = false;
    for line in README.lines() {
        match line.trim() {
            "```sh" => in_block = true,
            "```" => in_block = false,
            line if in_block && !line.is_empty() && !line.starts_with('#') => lines.push(line),
            _ => {}
        }
    }
    assert!(!in_block, "a block does not end");
    lines
}

/// What stands in backquotes in the text and calls the program, such as `` `lab list` ``.
fn inline_calls() -> Vec<&'static str> {
    let mut fenced = false;
    let mut calls = Vec::new();
    for line in README.lines() {
        fenced ^= line.starts_with("```");
        if fenced {
            continue;
        }
        let quoted = line.split('`').skip(1).step_by(2);
        calls.extend(quoted.filter_map(|text| match text.strip_prefix(CALL) {
            None => text.starts_with("lab ").then_some(text),
            call => call,
        }));
    }
    calls
}

/// Runs one line of a shell: words without quotes, and `> FILE`.
fn run(folder: &Path, line: &str) {
    let (line, file) = match line.split_once(" > ") {
        Some((line, file)) => (line, Some(file)),
        None => (line, None),
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    assert!(!line.contains(['\'', '"', '|', ';', '&']), "{line}");
    let ran = trunkline(folder, &words);
    assert!(ran.code == Some(0), "{line}: {ran}");
    assert_ne!(ran.stdout, "", "{line} prints something");
    if let Some(file) = file {
        std::fs::write(folder.join(file.trim()), &ran.stdout).expect("the file is written");
    }
}

/// The program understands a line that would change the machine: it says what it would do, or that
/// nothing of that name is up.
fn understand(folder: &Path, line: &str) {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    if words[0] == "proxy" {
        // It would run for ever: one more word is all it does not understand.
        words.push("--no-such-option");
        let ran = trunkline(folder, &words);
        assert!(ran.code == Some(2) && ran.stderr.contains("--no-such-option"), "{line}: {ran}");
        return;
    }
    let is_up = words[0] == "up";
    if is_up {
        words.push("--dry-run");
    }
    let ran = trunkline(folder, &words);
    let (code, text) = if is_up { (0, &ran.stdout) } else { (5, &ran.stderr) };
    assert!(ran.code == Some(code) && text.contains("tl0"), "{line}: {ran}");
}

/// The script is there and its remarks have every option.
fn offers(line: &str) {
    let mut words = line.split_whitespace();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
    let path = path.join(words.next().expect("a script"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    for option in words.filter(|word| word.starts_with("--")) {
        assert!(text.contains(&format!("#     {option} ")), "{line}: no {option}");
    }
}

/// Changes the two rates the README tells the reader to change.
fn change_two_rates(folder: &Path) {
    let sentence = README
        .split("\n\n")
        .flat_map(|paragraph| paragraph.split("```"))
        .find(|text| text.contains("Change two rates"))
        .expect("the README says to change two rates");
    let rates: Vec<&str> = sentence.split('`').filter(|text| text.ends_with("kbit")).collect();
    let [from_fast, to_fast, from_slow, to_slow] = rates[..] else {
        panic!("two rates and what they become: {rates:?}");
    };
    let path = folder.join("my.toml");
    let mut text = std::fs::read_to_string(&path).expect("my.toml");
    for (from, to) in [(from_fast, to_fast), (from_slow, to_slow)] {
        let quoted = format!("\"{from}\"");
        assert!(text.contains(&quoted), "{from} is in my.toml");
        text = text.replace(&quoted, &format!("\"{to}\""));
    }
    std::fs::write(path, text).expect("my.toml is written");
}

#[test]
fn every_command_of_the_readme_works_in_its_order() {
    let folder = folder("readme");
    let mut calls = 0;
    for line in commands() {
        let line = line.split(" # ").next().unwrap_or(line).trim();
        let unprivileged = line.strip_prefix("sudo ").unwrap_or(line);
        if let Some(line) = unprivileged.strip_prefix(BUILT) {
            understand(&folder, line);
        } else if let Some(words) = unprivileged.strip_prefix("scripts/") {
            offers(words);
        } else if let Some(line) = line.strip_prefix(CALL) {
            run(&folder, line);
            calls += 1;
            if line.ends_with("> my.toml") {
                change_two_rates(&folder);
            }
        } else {
            let is_cargo = line.starts_with("cargo test ") || line.starts_with("cargo build ");
            assert!(is_cargo, "the README has a command nobody tries: {line}");
        }
    }
    assert!(calls >= 4, "{calls} calls of the program");
    for line in inline_calls() {
        let small = line.replace("--runs 500", "--runs 5");
        run(&folder, &small);
    }
}

#[test]
fn the_output_shown_is_that_of_the_program() {
    let (_, rest) = README.split_once("```text\n").expect("a block of output");
    let shown = rest.split("```").next().expect("its text");
    let ran = trunkline(&folder("readme-output"), &["lab", "run", "eql-bentson"]);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let printed: Vec<String> = ran.stdout.lines().map(words).collect();
    for line in shown.lines().map(words).filter(|line| !line.is_empty() && line != "...") {
        assert!(printed.contains(&line), "not in the output: {line}\n{ran}");
    }
}

#[test]
fn the_test_command_is_the_one_the_checks_run() {
    let tests: Vec<&str> =
        commands().into_iter().filter(|line| line.starts_with("cargo test")).collect();
    assert_eq!(tests.len(), 1, "{tests:?}");
    let step = format!("step \"test\" {}", tests[0]);
    assert!(CI.lines().any(|line| line == step), "no line `{step}`");
}
