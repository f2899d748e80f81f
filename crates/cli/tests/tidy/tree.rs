//! The sources as the rules see them: read once from the repository, or made up for a rule's own test.

use std::fs;
use std::path::{Path, PathBuf};

use crate::lex;

/// One Rust file.
pub struct Source {
    /// Its path from the top of the repository, with `/`.
    pub path: String,
    /// As it stands.
    pub text: String,
    /// Comments and literals blank.
    pub code: String,
    /// The part that ships: as `code`, with what belongs to tests blank too.
    pub live: String,
    /// Lines outside test items.
    pub live_lines: usize,
}

impl Source {
    /// A file with this text at this path.
    pub fn new(path: &str, text: &str) -> Self {
        let code = lex::mask(text);
        let tests = if is_test(path) {
            std::iter::once(0..code.len()).collect()
        } else {
            lex::test_items(&code)
        };
        let live = lex::without(&code, &tests);
        let lines = |range: &std::ops::Range<usize>| text[range.clone()].lines().count();
        let test_lines = tests.iter().map(lines).sum::<usize>();
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
            live_lines: text.lines().count().saturating_sub(test_lines),
            code,
            live,
        }
    }

    /// The directory of the package this file belongs to: `crates/core`, `benches`, `fuzz`.
    pub fn package(&self) -> &str {
        let depth = if self.path.starts_with("crates/") { 2 } else { 1 };
        let ends = self.path.match_indices('/').map(|(at, _)| at);
        ends.take(depth).last().map_or("", |end| &self.path[..end])
    }

    /// Whether the file is under one of these paths.
    pub fn is_under(&self, places: &[&str]) -> bool {
        places.iter().any(|place| self.path.starts_with(place))
    }

    /// The module path below the crate root, for files under `src/`.
    pub fn module(&self) -> Option<Vec<String>> {
        let inside = self.path.strip_prefix(self.package())?.strip_prefix("/src/")?;
        let mut module: Vec<_> =
            inside.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
        if module.last().is_some_and(|last| last == "mod") || matches!(inside, "lib.rs" | "main.rs")
        {
            module.pop();
        }
        Some(module)
    }

    /// A complaint about a line of this file.
    pub fn complain(&self, line: usize, what: impl std::fmt::Display) -> String {
        format!("{}:{line}: {what}", self.path)
    }

    /// A complaint about an offset in this file.
    pub fn complain_at(&self, at: usize, what: impl std::fmt::Display) -> String {
        self.complain(lex::line_of(&self.text, at), what)
    }
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// The top of the repository.
pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every Rust source of the workspace.
pub fn sources() -> Vec<Source> {
    let files = ["crates", "benches", "fuzz"].iter().flat_map(|place| files(place));
    let rust = files.filter(|path| path.ends_with(".rs"));
    let sources: Vec<_> = rust.map(|path| Source::new(&path, &read(&path))).collect();
    assert!(sources.len() > 20, "the sources were not found");
    sources
}

/// Every package directory with its manifest.
pub fn manifests() -> Vec<(String, String)> {
    let files = ["crates", "benches", "fuzz"].iter().flat_map(|place| files(place));
    let manifests = files.filter_map(|path| path.strip_suffix("/Cargo.toml").map(str::to_owned));
    manifests
        .map(|package| (read(&format!("{package}/Cargo.toml")), package))
        .map(|(t, p)| (p, t))
        .collect()
}

/// Every file below a place, by its path from the top of the repository, sorted; what builds and
/// version control leave behind is passed over.
pub fn files(place: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![top().join(place)];
    while let Some(path) = open.pop() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "target" | ".git" | "out" | "artifacts") {
                open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
        } else if path.is_file() {
            let relative = path.strip_prefix(top()).unwrap();
            found.push(relative.to_string_lossy().trim_start_matches("./").to_owned());
        }
    }
    found.sort();
    found
}

/// The text of a file; bytes that are not UTF-8 are replaced.
pub fn read(path: &str) -> String {
    let bytes = fs::read(top().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Fails with every complaint on a line of its own.
#[track_caller]
pub fn expect_clean(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "{} to mend:\n{}\n", complaints.len(), complaints.join("\n"));
}

/// Fails unless there is exactly one complaint and it has these words.
#[track_caller]
pub fn expect_one(complaints: Vec<String>, words: &str) {
    assert!(
        complaints.len() == 1 && complaints[0].contains(words),
        "expected one complaint with {words:?}, got {complaints:#?}"
    );
}
