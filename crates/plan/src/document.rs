//! A plan file with its includes and tables, and what `--set` changed in it.

use crate::diagnostic::{Diagnostics, Problem, Problems};
use crate::overlay::{self, Address};
use crate::source::{Place, Sources};
use crate::tree::{self, Node, Table, Value};

/// Reads the file another one names: an include or a table of rows. Gets the path as seen from the
/// including file and, when that fails, as written; answers with the text or a reason.
pub type Loader<'l> = &'l dyn Fn(&str) -> Result<String, String>;

/// Includes within includes at most.
const INCLUDE_DEPTH_MAX: usize = 8;
/// Files of one plan at most.
const FILES_MAX: usize = 64;

/// A parsed plan file, not yet checked.
#[derive(Clone, Debug)]
pub struct Document {
    pub(crate) root: Table,
    pub(crate) sources: Sources,
    /// The start of the file: where it is told that something is missing altogether.
    pub(crate) place: Place,
    /// Tables of rows by the name they are asked for.
    pub(crate) files: Vec<(String, Table)>,
    pub(crate) sets: Vec<(Address, Node)>,
}

impl Document {
    /// Parses a file shown as `name` and everything it includes.
    ///
    /// # Errors
    /// What is not UTF-8, not TOML, or cannot be loaded.
    pub fn parse(
        name: &str,
        bytes: impl AsRef<[u8]>,
        loader: Loader<'_>,
    ) -> Result<Document, Diagnostics> {
        let mut sources = Sources::default();
        let mut problems = Problems::default();
        let source = add_bytes(&mut sources, name, bytes.as_ref(), &mut problems);
        if !problems.is_empty() {
            return Err(problems.finish(&sources, None));
        }
        let table = tree::parse(&sources, source, &mut problems);
        let mut loading = Loading { loader, sources, problems, stack: vec![name.to_owned()] };
        let root = loading.with_includes(table, source);
        let files = loading.row_files(&root);
        let Loading { sources, problems, .. } = loading;
        let place = Place::new(source, 0..0);
        let document = Document { root, sources: sources.clone(), place, files, sets: Vec::new() };
        problems.result(document, &sources)
    }

    /// Sets a dotted key, as `--set key=value` does. The value is TOML or, if it is not that, a
    /// string; the name of a parameter or of a sweep's variable is a key too. It holds in every variant.
    ///
    /// # Errors
    /// A key that leads to no table of the plan. An unknown last key is told by [`Document::check`].
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Diagnostics> {
        let source = self.sources.add("--set", format!("{key}={value}"));
        let place = Place::new(source, 0..key.len());
        let mut node = tree::parse_value(value, source, key.len() + 1);
        let lab = self.root.table("lab");
        let parameters = lab.and_then(|t| t.table("parameters"));
        let vars = self.root.table("sweep").and_then(|t| t.table("vars"));
        let mut text = key.trim().to_owned();
        if parameters.is_some_and(|t| t.node(&text).is_some()) {
            text = format!("lab.parameters.{text}");
        } else if !text.contains('.') && vars.is_some_and(|t| t.node(&text).is_some()) {
            text = format!("sweep.vars.{text}");
            node = Node::new(Value::Array(vec![node.clone()]), node.place);
        }
        let address = Address { text, place };
        let mut problems = Problems::default();
        match overlay::set(&mut self.root, &address, &node) {
            Ok(()) => self.sets.push((address, node)),
            Err(problem) => problems.push(*problem),
        }
        problems.result((), &self.sources)
    }
}

/// Adds a text; bytes that are not UTF-8 are told with their place.
fn add_bytes(sources: &mut Sources, name: &str, bytes: &[u8], problems: &mut Problems) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(text) => sources.add(name, text.to_owned()),
        Err(error) => {
            let at = error.valid_up_to();
            let shown = bytes.get(..bytes.len().min(at + 200)).unwrap_or(bytes);
            let source = sources.add(name, String::from_utf8_lossy(shown).into_owned());
            let found = bytes.get(at).map_or_else(String::new, |b| format!("byte 0x{b:02x}"));
            let problem =
                Problem::new(Place::new(source, at..at + 1), "", "the file is not UTF-8 text");
            problems.push(problem.found(found).accepted(["a TOML file in UTF-8"]));
            source
        }
    }
}

/// What is needed while files name other files.
struct Loading<'l> {
    loader: Loader<'l>,
    sources: Sources,
    problems: Problems,
    stack: Vec<String>,
}

impl Loading<'_> {
    /// Merges what `include` names below `table`.
    fn with_includes(&mut self, mut table: Table, source: usize) -> Table {
        let Some(include) = table.remove("include") else {
            return table;
        };
        let Some(nodes) = include.as_array() else {
            let problem = Problem::new(include.place, "include", "`include` is not an array");
            self.problems.push(problem.accepted(["include = [\"other.toml\"]"]));
            return table;
        };
        let mut base = Table::default();
        for node in nodes {
            let Some(path) = node.as_text() else {
                let problem = Problem::new(node.place, "include", "`include` names no file");
                self.problems.push(problem.accepted(["include = [\"other.toml\"]"]));
                continue;
            };
            let joined = join(self.sources.name(source), path);
            let endless = self.stack.contains(&joined) || self.stack.len() > INCLUDE_DEPTH_MAX;
            if endless || self.sources.len() > FILES_MAX {
                let message = if endless { "the file includes itself" } else { "too many files" };
                let problem = Problem::new(node.place, "include", message);
                self.problems.push(problem.found(path).accepted(["another file"]));
                continue;
            }
            if let Some((included, table)) = self.load(&joined, path, node, "include") {
                self.stack.push(joined);
                overlay::merge(&mut base, self.with_includes(table, included));
                self.stack.pop();
            }
        }
        overlay::merge(&mut base, table);
        base
    }

    /// Loads the file a table of rows comes from.
    fn row_files(&mut self, root: &Table) -> Vec<(String, Table)> {
        let rows = root.table("lab").and_then(|t| t.table("rows"));
        let Some(node) = rows.and_then(|t| t.node("from")) else {
            return Vec::new();
        };
        let Some(path) = node.as_text() else {
            return Vec::new();
        };
        let joined = join(self.sources.name(node.place.source), path);
        let loaded = self.load(&joined, path, node, "lab.rows.from");
        loaded.map(|(_, table)| (path.to_owned(), table)).into_iter().collect()
    }

    fn load(&mut self, joined: &str, path: &str, node: &Node, key: &str) -> Option<(usize, Table)> {
        let text = (self.loader)(joined).map(|text| (joined, text)).or_else(|reason| {
            if joined == path {
                return Err(reason);
            }
            (self.loader)(path).map(|text| (path, text)).map_err(|_| reason)
        });
        match text {
            Ok((name, text)) => {
                let source = self.sources.add(name, text);
                let table = tree::parse(&self.sources, source, &mut self.problems);
                Some((source, table))
            }
            Err(reason) => {
                let message = format!("`{path}` cannot be read: {reason}");
                let problem = Problem::new(node.place, key, message);
                self.problems.push(problem.found(path).accepted(["the path of a file"]));
                None
            }
        }
    }
}

/// A path as seen from the file that names it.
fn join(from: &str, path: &str) -> String {
    match from.rsplit_once('/') {
        Some((directory, _)) if !path.starts_with('/') => format!("{directory}/{path}"),
        _ => path.to_owned(),
    }
}
