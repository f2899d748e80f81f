//! Conversations with our TCP in virtual time: every script in this directory is played, and what it
//! says has to happen, packet by packet. The language is told in `language.rs`.

mod broken;
mod conformance;
mod expect;
mod language;
mod packet;
mod parser;
mod runner;
mod settings;
mod world;

use language::Script;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the scripts are.
fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts")
}

/// Every script file: its path below the directory, and its text.
fn texts() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![directory()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("a directory of scripts");
            open.extend(entries.map(|entry| entry.expect("an entry").path()));
        } else if path.extension().is_some_and(|extension| extension == "script") {
            let name = path.strip_prefix(directory()).expect("it is below").to_string_lossy();
            let text = fs::read_to_string(&path).expect("a text");
            found.push((name.replace('\\', "/"), text));
        }
    }
    found.sort();
    found
}

/// What is wrong with a script, if anything is: `file:line: what`.
fn verdict(path: &str, text: &str) -> Result<Script, String> {
    let told = |line: usize, what: String| format!("{path}:{line}: {what}");
    let script = parser::parse(path, text).map_err(|wrong| told(wrong.line, wrong.what))?;
    // A script that makes the core panic does not hide the others.
    match std::panic::catch_unwind(|| runner::play_all(&script)) {
        Ok(Ok(())) => Ok(script),
        Ok(Err(failure)) => Err(told(failure.line, failure.what)),
        Err(_) => Err(told(1, "the core panicked".to_owned())),
    }
}

#[test]
fn every_script_goes_as_written() {
    let texts = texts();
    let told: Vec<_> = texts.iter().filter_map(|(path, text)| verdict(path, text).err()).collect();
    assert!(
        told.is_empty(),
        "{} of {} failed:\n\n{}\n",
        told.len(),
        texts.len(),
        told.join("\n\n")
    );
}
