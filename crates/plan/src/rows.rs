//! `[lab.rows]`: the table an experiment runs over.

use crate::diagnostic::{Problem, Problems};
use crate::reader::{self, Section};
use crate::template::Bindings;
use crate::tree::{Entry, Node, Table, Value};
use std::collections::BTreeSet;

/// One row: named values, each usable as `{name}` in the plan.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Row {
    pub(crate) values: Vec<(String, Node)>,
    /// The keys its label is made of; all when nothing was said.
    label: Option<Vec<String>>,
}

impl Row {
    /// The names of its values, in the order written.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|(key, _)| key.as_str())
    }

    /// A value that is a number.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.node(key).and_then(Node::as_number)
    }

    /// Any value as it is written into the plan.
    pub fn text(&self, key: &str) -> Option<String> {
        self.node(key).map(|n| n.value.to_string())
    }

    /// The values that name it on one line, such as `lines=4 mtu=900`: those of the keys `label` of
    /// the table of rows lists, in its order, or all.
    pub fn label(&self) -> String {
        let pair = |(key, node): &(String, Node)| format!("{key}={}", node.value);
        let pairs: Vec<String> = match &self.label {
            None => self.values.iter().map(pair).collect(),
            Some(keys) => {
                let found = |key: &String| self.values.iter().find(|(k, _)| k == key);
                keys.iter().filter_map(found).map(pair).collect()
            }
        };
        pairs.join(" ")
    }

    fn node(&self, key: &str) -> Option<&Node> {
        self.values.iter().find(|(k, _)| k == key).map(|(_, node)| node)
    }
}

/// Most rows of one plan.
const ROWS_MAX: usize = 10_000;
/// Values that are told at most where another was written.
const VALUES_TOLD: usize = 20;

/// A `where` and its dotted key.
pub(crate) type Filter<'n> = (&'n Node, String);

/// The rows of a plan; one without values when it has no table. Tells those of `filters` that fit none.
pub(crate) fn rows(
    section: Option<Section<'_>>,
    files: &[(String, Table)],
    filters: &[Filter<'_>],
    problems: &mut Problems,
) -> Vec<Row> {
    let Some(mut s) = section else {
        return vec![Row::default()];
    };
    let key = s.key("rows");
    let from = s.node("from");
    let list = s.node("list");
    let grid = s.node("grid");
    let table = s.or(problems, "table", "row".to_owned(), reader::text);
    let zip = s.node("zip");
    let filter = s.node("where");
    let label = s.node("label");
    let place = s.place;
    s.finish(problems);
    let mut rows = match (from, list, grid) {
        (Some(node), None, None) => from_file(node, &table, files, problems),
        (None, Some(node), None) => from_list(node, problems),
        (None, None, Some(node)) => from_grid(node, zip, problems),
        _ => {
            let problem =
                Problem::new(place, &key, "the rows need one of `from`, `list` and `grid`");
            let accepted = ["from = \"FILE\"", "list = [{ … }]", "grid = { mtu = [400, 600] }"];
            problems.push(problem.accepted(accepted));
            return Vec::new();
        }
    };
    for (filter, path) in filters {
        check_fit(filter, path, &rows, problems);
    }
    if let Some(filter) = filter {
        check_filter(filter, &rows, problems);
        check_fit(filter, "lab.rows.where", &rows, problems);
        rows.retain(|row| fits(filter, |key| row.node(key)));
    }
    if let Some(label) = label {
        name_rows(&mut rows, label, problems);
    }
    if rows.is_empty() && problems.is_empty() {
        let problem = Problem::new(place, &key, "there are no rows");
        problems.push(problem.accepted(["at least one row"]));
    }
    rows
}

fn from_file(
    node: &Node,
    table: &str,
    files: &[(String, Table)],
    problems: &mut Problems,
) -> Vec<Row> {
    let path = node.as_text().unwrap_or_default();
    let Some((_, file)) = files.iter().find(|(name, _)| name == path) else {
        let problem =
            Problem::new(node.place, "lab.rows.from", "`from` is not a file the plan itself names");
        problems.push(problem.found(node.value.to_string()).accepted(["the path of a file"]));
        return Vec::new();
    };
    let mut at = file;
    let mut rest = table;
    while let Some((first, deeper)) = rest.split_once('.') {
        let Some(next) = at.table(first) else { break };
        (at, rest) = (next, deeper);
    }
    match at.node(rest) {
        Some(rows) => from_list(rows, problems),
        None => {
            let names: Vec<&str> = at.entries.iter().map(|e| e.key.as_str()).collect();
            let message = format!("`{path}` has no [[{table}]]");
            problems.push(Problem::new(node.place, "lab.rows.table", message).names(rest, &names));
            Vec::new()
        }
    }
}

fn from_list(node: &Node, problems: &mut Problems) -> Vec<Row> {
    let Some(nodes) = node.as_array() else {
        problems.push(reader::wrong_type(node, "lab.rows", "an array of tables"));
        return Vec::new();
    };
    if nodes.len() > ROWS_MAX {
        let problem = Problem::new(node.place, "lab.rows", "the table has too many rows");
        let problem = problem.found(nodes.len().to_string());
        problems.push(problem.accepted([format!("at most {ROWS_MAX}")]));
        return Vec::new();
    }
    let mut rows = Vec::with_capacity(nodes.len());
    for node in nodes {
        match node.as_table() {
            Some(table) => {
                let values = table.entries.iter().map(|e| (e.key.clone(), e.node.clone()));
                rows.push(Row { values: values.collect(), label: None });
            }
            None => problems.push(reader::wrong_type(node, "lab.rows", "a table")),
        }
    }
    rows
}

/// Variables that vary together: their names and, per step, their values.
struct Axis {
    keys: Vec<String>,
    steps: Vec<Vec<Node>>,
}

/// Every combination, the first variable slowest; zipped variables count as one.
fn from_grid(node: &Node, zip: Option<&Node>, problems: &mut Problems) -> Vec<Row> {
    let axes = axes(node, zip, "lab.rows.grid", problems);
    let size = axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.steps.len()));
    if size.is_none_or(|n| n > ROWS_MAX) {
        let problem = Problem::new(node.place, "lab.rows.grid", "the grid has too many rows");
        problems.push(problem.accepted([format!("at most {ROWS_MAX}")]));
        return Vec::new();
    }
    let mut rows = vec![Row::default()];
    for axis in &axes {
        let extended = rows.iter().flat_map(|row| {
            axis.steps.iter().map(|step| {
                let mut row = row.clone();
                row.values.extend(axis.keys.iter().cloned().zip(step.iter().cloned()));
                row
            })
        });
        rows = extended.collect();
    }
    rows
}

fn axes(node: &Node, zip: Option<&Node>, key: &str, problems: &mut Problems) -> Vec<Axis> {
    let Some(table) = node.as_table() else {
        problems.push(reader::wrong_type(node, key, "{ NAME = [VALUES], … }"));
        return Vec::new();
    };
    let mut axes: Vec<Axis> = Vec::new();
    for entry in &table.entries {
        match entry.node.as_array() {
            Some(nodes) if !nodes.is_empty() => {
                let steps = nodes.iter().map(|n| vec![n.clone()]).collect();
                axes.push(Axis { keys: vec![entry.key.clone()], steps });
            }
            _ => {
                let key = format!("{key}.{}", entry.key);
                problems.push(reader::wrong_type(&entry.node, &key, "an array with values"));
            }
        }
    }
    for group in zip.and_then(Node::as_array).unwrap_or_default() {
        zip_axes(&mut axes, group, problems);
    }
    axes
}

/// Makes one axis of several.
fn zip_axes(axes: &mut Vec<Axis>, group: &Node, problems: &mut Problems) {
    let mut zipped: Option<Axis> = None;
    for node in group.as_array().unwrap_or_default() {
        let name = node.as_text().unwrap_or_default();
        let Some(at) = axes.iter().position(|a| a.keys.len() == 1 && a.keys[0] == name) else {
            let names: Vec<&str> = axes.iter().flat_map(|a| &a.keys).map(String::as_str).collect();
            problems.push(
                Problem::new(node.place, "zip", "there is no such variable").names(name, &names),
            );
            continue;
        };
        if zipped.as_ref().is_some_and(|z| z.steps.len() != axes[at].steps.len()) {
            let problem = Problem::new(node.place, "zip", "zipped variables differ in length");
            problems.push(problem.found(name).accepted(["as many values for each"]));
            continue;
        }
        let axis = axes.remove(at);
        match &mut zipped {
            None => zipped = Some(axis),
            Some(zipped) => {
                zipped.keys.extend(axis.keys);
                for (step, more) in zipped.steps.iter_mut().zip(axis.steps) {
                    step.extend(more);
                }
            }
        }
    }
    axes.extend(zipped);
}

/// The first value of each variable of a sweep.
pub(crate) fn first_values(
    vars: &Node,
    zip: Option<&Node>,
    problems: &mut Problems,
) -> Vec<(String, Node)> {
    let firsts = axes(vars, zip, "sweep.vars", problems).into_iter().filter_map(|axis| {
        let step = axis.steps.into_iter().next()?;
        Some(axis.keys.into_iter().zip(step))
    });
    firsts.flatten().collect()
}

/// Gives rows the keys their labels are made of. No two rows may then have one label: runs and their
/// captures are named by it.
fn name_rows(rows: &mut [Row], label: &Node, problems: &mut Problems) {
    const KEY: &str = "lab.rows.label";
    let Some(nodes) = label.as_array() else {
        problems.push(reader::wrong_type(label, KEY, "an array of names"));
        return;
    };
    let mut known: Vec<&str> = Vec::new();
    for key in rows.iter().flat_map(Row::keys) {
        if !known.contains(&key) {
            known.push(key);
        }
    }
    let mut keys = Vec::new();
    for node in nodes {
        match node.as_text().filter(|name| known.contains(name)) {
            Some(name) => keys.push(name.to_owned()),
            None => {
                let written = node.value.to_string();
                let message = format!("no row has a `{written}`");
                problems.push(Problem::new(node.place, KEY, message).names(&written, &known));
            }
        }
    }
    for row in rows.iter_mut() {
        row.label = Some(keys.clone());
    }
    let mut labels = BTreeSet::new();
    if let Some(twice) = rows.iter().map(Row::label).find(|label| !labels.insert(label.clone())) {
        let problem = Problem::new(label.place, KEY, format!("two rows have the label `{twice}`"));
        problems.push(problem.accepted(["the keys that tell rows apart"]));
    }
}

/// Tells keys of a filter that no row has.
fn check_filter(filter: &Node, rows: &[Row], problems: &mut Problems) {
    let mut bindings = Bindings::default();
    for (key, node) in rows.iter().flat_map(|r| &r.values) {
        if bindings.value(key).is_none() {
            bindings.bind(key, node.clone());
        }
    }
    check_filter_keys(filter, "lab.rows.where", &bindings.names(), problems);
}

/// Tells a filter that fits no row. Keys that are none of the rows' are told elsewhere, or are parameters.
fn check_fit(filter: &Node, path: &str, rows: &[Row], problems: &mut Problems) {
    let entries = filter.as_table().map(|table| table.entries.as_slice()).unwrap_or_default();
    let of_rows = |entry: &&Entry| rows.iter().any(|row| row.node(&entry.key).is_some());
    let entries: Vec<&Entry> = entries.iter().filter(of_rows).collect();
    let fits = |entry: &Entry, row: &Row| row.node(&entry.key).is_some_and(|v| has(entry, v));
    if entries.is_empty() || rows.iter().any(|row| entries.iter().all(|entry| fits(entry, row))) {
        return;
    }
    let alone = entries.iter().find(|entry| !rows.iter().any(|row| fits(entry, row)));
    let Some(entry) = alone else {
        let problem = Problem::new(filter.place, path, "no row has all these values");
        problems.push(problem.accepted(["values that one row has together"]));
        return;
    };
    let mut values: Vec<String> = Vec::new();
    for value in rows.iter().filter_map(|row| row.text(&entry.key)) {
        if !values.contains(&value) && values.len() < VALUES_TOLD {
            values.push(value);
        }
    }
    let found = entry.node.value.to_string();
    let message = format!("no row has `{}` = {found}", entry.key);
    let problem = Problem::new(entry.node.place, format!("{path}.{}", entry.key), message);
    problems.push(problem.found(found).accepted(values));
}

/// Whether a value is that of a filter's entry, or one of its values.
fn has(entry: &Entry, value: &Node) -> bool {
    match &entry.node.value {
        Value::Array(nodes) => nodes.iter().any(|node| node.same_value(value)),
        _ => entry.node.same_value(value),
    }
}

/// Tells keys of a filter that are not among `names`.
pub(crate) fn check_filter_keys(
    filter: &Node,
    path: &str,
    names: &[&str],
    problems: &mut Problems,
) {
    let Some(table) = filter.as_table() else {
        problems.push(reader::wrong_type(filter, path, "{ NAME = VALUE, … }"));
        return;
    };
    for entry in table.entries.iter().filter(|e| !names.contains(&e.key.as_str())) {
        let message = format!("no row has a `{}`", entry.key);
        let key = format!("{path}.{}", entry.key);
        problems.push(Problem::new(entry.place, key, message).names(&entry.key, names));
    }
}

/// Whether every key of a filter has its value, or one of its values.
pub(crate) fn fits<'n>(filter: &Node, value_of: impl Fn(&str) -> Option<&'n Node>) -> bool {
    let entries = filter.as_table().map(|t| t.entries.as_slice()).unwrap_or_default();
    entries.iter().all(|entry| value_of(&entry.key).is_some_and(|value| has(entry, value)))
}

/// Whether a filter fits what a row binds; no filter fits every row.
pub(crate) fn fits_row(
    filter: Option<&Node>,
    path: &str,
    bindings: &Bindings,
    problems: &mut Problems,
) -> bool {
    let Some(filter) = filter else { return true };
    check_filter_keys(filter, path, &bindings.names(), problems);
    fits(filter, |key| bindings.value(key))
}
