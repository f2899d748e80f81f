//! Putting a plan together: includes merge below the file, variants and `--set` are laid over it.
//!
//! A dotted key walks tables by key and arrays of tables by `name`, with `*` as a wildcard:
//! `bond.eql0.mode`, `lab.flow.ftp.tcp.profile`, `link.*.rate`.

use crate::diagnostic::Problem;
use crate::source::{Place, Sources};
use crate::tree::{Node, Table, Value};

/// Lays `over` on `base`: tables merge by key, arrays of named tables by name, the rest is replaced.
pub(crate) fn merge(base: &mut Table, over: Table) {
    for entry in over.entries {
        match base.node_mut(&entry.key) {
            Some(below) => merge_node(below, entry.node),
            None => base.entries.push(entry),
        }
    }
}

fn merge_node(below: &mut Node, over: Node) {
    match (&mut below.value, over.value) {
        (Value::Table(base), Value::Table(table)) => merge(base, table),
        (Value::Array(base), Value::Array(nodes)) if all_named(base) && all_named(&nodes) => {
            for node in nodes {
                let name = node.as_table().and_then(Table::name).map(str::to_owned);
                let same = |n: &&mut Node| n.as_table().and_then(Table::name) == name.as_deref();
                match base.iter_mut().find(same) {
                    Some(below) => merge_node(below, node),
                    None => base.push(node),
                }
            }
        }
        (_, value) => *below = Node::new(value, over.place),
    }
}

fn all_named(nodes: &[Node]) -> bool {
    !nodes.is_empty() && nodes.iter().all(|n| n.as_table().is_some_and(|t| t.name().is_some()))
}

/// A dotted key and where it was written.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Address {
    pub text: String,
    pub place: Place,
}

/// Names in a dotted key at most.
const SEGMENTS_MAX: usize = 16;

/// Tables whose entries are named by the user: a key that is not there is a mistake, not a new one.
const NAMED_TABLES: [&str; 4] = ["bond", "lab.parameters", "lab.variant", "lab.toggle"];

/// Sets what `address` names to `value`.
pub(crate) fn set(root: &mut Table, address: &Address, value: &Node) -> Result<(), Box<Problem>> {
    let segments: Vec<&str> = address.text.split('.').map(str::trim).collect();
    if segments.iter().any(|s| s.is_empty()) || segments.len() > SEGMENTS_MAX {
        let problem = Problem::new(address.place, &address.text, "is not a dotted key");
        let problem = problem.found(&address.text);
        return Err(Box::new(problem.accepted(["a key such as link.modem0.rate"])));
    }
    set_in_table(root, address, &segments, 0, value)
}

fn set_in_table(
    table: &mut Table,
    address: &Address,
    segments: &[&str],
    depth: usize,
    value: &Node,
) -> Result<(), Box<Problem>> {
    let key = segments[depth];
    let walked = segments[..depth].join(".");
    if NAMED_TABLES.contains(&walked.as_str()) && table.node(key).is_none() && key != "*" {
        return Err(no_such(address, key, &walked, &keys(table)));
    }
    let keys = match key {
        "*" => keys(table),
        _ => vec![key.to_owned()],
    };
    for key in keys {
        if depth + 1 == segments.len() {
            set_leaf(table, address, &walked, &key, value);
            continue;
        }
        if table.node(&key).is_none() {
            let empty = Node::new(Value::Table(Table::default()), address.place);
            table.insert(&key, address.place, empty);
        }
        if let Some(node) = table.node_mut(&key) {
            set_in_node(node, address, segments, depth + 1, value)?;
        }
    }
    Ok(())
}

/// A parameter is set by its name alone.
fn set_leaf(table: &mut Table, address: &Address, walked: &str, key: &str, value: &Node) {
    if walked == "lab.parameters"
        && !matches!(value.value, Value::Table(_))
        && let Some(Node { value: Value::Table(parameter), .. }) = table.node_mut(key)
    {
        parameter.insert("value", address.place, value.clone());
        return;
    }
    table.insert(key, address.place, value.clone());
}

fn set_in_node(
    node: &mut Node,
    address: &Address,
    segments: &[&str],
    depth: usize,
    value: &Node,
) -> Result<(), Box<Problem>> {
    let walked = segments[..depth].join(".");
    match &mut node.value {
        Value::Table(table) => set_in_table(table, address, segments, depth, value),
        Value::Array(nodes) => set_in_array(nodes, address, segments, depth, value),
        _ => {
            let message = format!("`{walked}` is {}, not a table", node.type_name());
            Err(Box::new(Problem::new(address.place, &address.text, message).found(&address.text)))
        }
    }
}

fn set_in_array(
    nodes: &mut [Node],
    address: &Address,
    segments: &[&str],
    depth: usize,
    value: &Node,
) -> Result<(), Box<Problem>> {
    let wanted = segments[depth];
    let walked = segments[..depth].join(".");
    let names: Vec<String> = nodes
        .iter()
        .enumerate()
        .map(|(i, n)| match n.as_table().and_then(Table::name) {
            Some(name) => name.to_owned(),
            None => i.to_string(),
        })
        .collect();
    let chosen: Vec<usize> =
        (0..nodes.len()).filter(|i| matches_glob(wanted, &names[*i])).collect();
    if chosen.is_empty() {
        let mut problem = no_such(address, wanted, &walked, &names);
        // A number is no misspelt name of another.
        problem.nearest = problem.nearest.filter(|near| near.parse::<usize>().is_err());
        return Err(problem);
    }
    for i in chosen {
        if depth + 1 == segments.len() {
            nodes[i] = value.clone();
        } else {
            set_in_node(&mut nodes[i], address, segments, depth + 1, value)?;
        }
    }
    Ok(())
}

fn no_such(address: &Address, key: &str, walked: &str, names: &[String]) -> Box<Problem> {
    let message = format!("there is no `{key}` in `{walked}`");
    Box::new(Problem::new(address.place, &address.text, message).names(key, names))
}

fn keys(table: &Table) -> Vec<String> {
    table.entries.iter().map(|e| e.key.clone()).collect()
}

/// Whether `name` fits a pattern in which `*` stands for anything, and `[*]` for a number.
pub(crate) fn matches_glob(pattern: &str, name: &str) -> bool {
    if let Some(stem) = pattern.strip_suffix("[*]") {
        let index = name.strip_prefix(stem);
        return index.is_some_and(|i| !i.is_empty() && i.bytes().all(|c| c.is_ascii_digit()));
    }
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The leaves of a variant's table as addresses and values: `"a.b" = x`, `a.b = x` and `[a] b = x`
/// are the same. A table in braces is a value: it replaces what is there.
pub(crate) fn leaves(table: &Table, sources: &Sources) -> Vec<(Address, Node)> {
    let mut list = Vec::new();
    collect_leaves("", table, sources, &mut list);
    list
}

fn collect_leaves(path: &str, table: &Table, sources: &Sources, list: &mut Vec<(Address, Node)>) {
    for entry in &table.entries {
        let dot = if path.is_empty() { "" } else { "." };
        let text = format!("{path}{dot}{}", entry.key);
        let place = entry.node.place;
        let written = sources.text(place.source).get(place.span());
        match &entry.node.value {
            Value::Table(inner) if !written.is_some_and(|t| t.starts_with('{')) => {
                collect_leaves(&text, inner, sources, list);
            }
            _ => {
                let place = entry.place;
                list.push((Address { text, place }, entry.node.clone()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_whole_names() {
        assert!(matches_glob("sl*", "sl0"));
        assert!(matches_glob("sl[*]", "sl12"));
        assert!(!matches_glob("sl[*]", "slow"));
        assert!(matches_glob("*", "x"));
        assert!(matches_glob("a*b*c", "a-b-c"));
        assert!(!matches_glob("a*b", "acb2"));
        assert!(matches_glob("modem0", "modem0"));
        assert!(!matches_glob("modem0", "modem01"));
    }
}
