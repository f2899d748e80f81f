//! Filling a template: `{name}` in strings, `count` on tables of an array.
//!
//! A string that is exactly `"{name}"` takes the value with its own type, `"{name?}"` drops its key
//! when there is no such value, `{name[2]}` and `{name[i]}` take one element, and `{{` is a brace. In
//! a table with `count`, `{i}` is its number from zero.

use crate::diagnostic::{Problem, Problems};
use crate::tree::{Entry, Node, Table, Value};

/// The values a template may name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bindings {
    values: Vec<(String, Node)>,
}

impl Bindings {
    /// Adds a value; the last one of a name counts.
    pub(crate) fn bind(&mut self, name: &str, value: Node) {
        self.values.retain(|(n, _)| n != name);
        self.values.push((name.to_owned(), value));
    }

    pub(crate) fn value(&self, name: &str) -> Option<&Node> {
        self.values.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.values.iter().map(|(n, _)| n.as_str()).collect()
    }
}

/// Most tables one `count` makes.
const COUNT_MAX: i128 = 1024;
/// Longest filled text in bytes.
const TEXT_MAX: usize = 64 << 10;
/// The arrays whose tables may have a `count`.
const COUNTED: [&str; 8] = [
    "link",
    "lab.flow",
    "lab.chip",
    "lab.fault",
    "lab.switch",
    "lab.segment",
    "lab.router",
    "lab.host",
];

/// Fills every string of `table`.
pub(crate) fn fill(table: &Table, bindings: &Bindings, problems: &mut Problems) -> Table {
    fill_table(table, bindings, "", problems)
}

/// Fills one value; `None` when an optional name has no value.
pub(crate) fn fill_value(
    node: &Node,
    bindings: &Bindings,
    key: &str,
    problems: &mut Problems,
) -> Option<Node> {
    fill_node(node, bindings, key, problems)
}

fn fill_table(table: &Table, bindings: &Bindings, path: &str, problems: &mut Problems) -> Table {
    let mut filled = Table::default();
    for entry in &table.entries {
        let key = join(path, &entry.key);
        if let Some(node) = fill_node(&entry.node, bindings, &key, problems) {
            filled.entries.push(Entry { key: entry.key.clone(), place: entry.place, node });
        }
    }
    filled
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn fill_node(node: &Node, bindings: &Bindings, key: &str, problems: &mut Problems) -> Option<Node> {
    let value = match &node.value {
        Value::Text(text) => match fill_text(text, bindings) {
            Ok(value) => value?,
            Err(fault) => {
                problems.push(fault.problem(node, key, bindings));
                node.value.clone()
            }
        },
        Value::Array(nodes) => {
            let filled = nodes.iter().flat_map(|n| fill_element(n, bindings, key, problems));
            Value::Array(filled.collect())
        }
        Value::Table(table) => Value::Table(fill_table(table, bindings, key, problems)),
        other => other.clone(),
    };
    Some(Node::new(value, node.place))
}

/// One element of an array, or as many as its `count` says.
fn fill_element(node: &Node, bindings: &Bindings, key: &str, problems: &mut Problems) -> Vec<Node> {
    let table = node.as_table().filter(|_| COUNTED.contains(&key));
    let Some((table, count)) = table.and_then(|t| Some((t, t.node("count")?))) else {
        return fill_node(node, bindings, key, problems).into_iter().collect();
    };
    let Some(filled) = fill_node(count, bindings, &join(key, "count"), problems) else {
        return Vec::new();
    };
    let n = match &filled.value {
        Value::Integer(n) if (0..=COUNT_MAX).contains(n) => *n,
        other => {
            let problem = Problem::new(count.place, join(key, "count"), "`count` is out of range");
            let accepted = format!("a whole number from 0 to {COUNT_MAX}");
            problems.push(problem.found(other.to_string()).accepted([accepted]));
            return Vec::new();
        }
    };
    let mut template = table.clone();
    template.remove("count");
    number_the_name(&mut template);
    let copies = (0..n).map(|i| {
        let mut bindings = bindings.clone();
        bindings.bind("i", Node::new(Value::Integer(i), count.place));
        Node::new(Value::Table(fill_table(&template, &bindings, key, problems)), node.place)
    });
    copies.collect()
}

/// A counted table whose name does not say where its number goes gets it at the end.
fn number_the_name(table: &mut Table) {
    if let Some(Node { value: Value::Text(name), .. }) = table.node_mut("name")
        && !name.contains("{i}")
    {
        name.push_str("{i}");
    }
}

/// Why a placeholder could not be filled.
enum Fault {
    Open,
    Unknown(String),
    Element(String),
    TooLong,
}

impl Fault {
    fn problem(self, node: &Node, key: &str, bindings: &Bindings) -> Problem {
        let found = node.value.to_string();
        let at = |message: String| Problem::new(node.place, key, message).found(found.clone());
        match self {
            Fault::Open => {
                at("a `{` is never closed".into()).accepted(["{name}", "{{ for a brace"])
            }
            Fault::Unknown(name) => {
                let message = format!("nothing is called `{name}` here");
                match bindings.names() {
                    names if names.is_empty() => at(message).accepted(["{{ for a brace"]),
                    names => at(message).names(&name, &names),
                }
            }
            Fault::TooLong => at("the text gets too long".into()),
            Fault::Element(name) => at(format!("there is no element `{name}`")),
        }
    }
}

/// The value of a text: its one placeholder's own, or a text with all of them written in.
fn fill_text(text: &str, bindings: &Bindings) -> Result<Option<Value>, Fault> {
    if let Some(name) = text.strip_prefix('{').and_then(|t| t.strip_suffix('}'))
        && !name.contains(['{', '}'])
    {
        return match name.strip_suffix('?') {
            Some(name) if bindings.value(root_of(name)).is_none() => Ok(None),
            Some(name) => look_up(name, bindings).map(|n| Some(n.value.clone())),
            None => look_up(name, bindings).map(|n| Some(n.value.clone())),
        };
    }
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        filled.push_str(&rest[..at]);
        let brace = &rest[at..];
        if brace.starts_with("{{") || brace.starts_with("}}") {
            filled.push_str(&brace[..1]);
            rest = &brace[2..];
        } else if let Some(behind) = brace.strip_prefix('}') {
            filled.push('}');
            rest = behind;
        } else {
            let end = brace.find('}').ok_or(Fault::Open)?;
            filled.push_str(&look_up(&brace[1..end], bindings)?.value.to_string());
            rest = &brace[end + 1..];
        }
        if filled.len() > TEXT_MAX {
            return Err(Fault::TooLong);
        }
    }
    filled.push_str(rest);
    Ok(Some(Value::Text(filled)))
}

fn root_of(name: &str) -> &str {
    name.split('[').next().unwrap_or(name)
}

fn look_up<'b>(name: &str, bindings: &'b Bindings) -> Result<&'b Node, Fault> {
    let root = root_of(name);
    let value = bindings.value(root).ok_or_else(|| Fault::Unknown(root.to_owned()))?;
    if root == name {
        return Ok(value);
    }
    let missing = || Fault::Element(name.to_owned());
    let index = name[root.len()..].strip_prefix('[').and_then(|t| t.strip_suffix(']'));
    let position = match index.ok_or_else(missing)? {
        "i" => match bindings.value("i").map(|n| &n.value) {
            Some(Value::Integer(i)) => usize::try_from(*i).ok(),
            _ => None,
        },
        digits => digits.parse().ok(),
    };
    let elements = value.as_array().ok_or_else(missing)?;
    position.and_then(|i| elements.get(i)).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Place;

    fn bindings() -> Bindings {
        let node = |value| Node::new(value, Place::default());
        let mut b = Bindings::default();
        b.bind("mtu", node(Value::Integer(600)));
        b.bind("rate", node(Value::Float { value: 28.8, text: "28.8".into() }));
        let rates = ["28.8kbit", "14.4kbit"].map(|t| node(Value::Text(t.into())));
        b.bind("rates", node(Value::Array(rates.into())));
        b
    }

    fn filled(text: &str) -> Option<Value> {
        fill_text(text, &bindings()).ok().flatten()
    }

    #[test]
    fn a_lone_placeholder_keeps_its_type() {
        assert_eq!(filled("{mtu}"), Some(Value::Integer(600)));
        assert_eq!(filled("{rate}kbit"), Some(Value::Text("28.8kbit".into())));
        assert_eq!(filled("{rates[1]}"), Some(Value::Text("14.4kbit".into())));
        assert_eq!(filled("mtu={mtu} {{x}}"), Some(Value::Text("mtu=600 {x}".into())));
        assert_eq!(filled("{nothing?}"), None);
    }

    #[test]
    fn what_cannot_be_filled_is_refused() {
        for text in ["{", "{nothing}", "{rates[2]}", "{rates[i]}", "{mtu[0]}", "a {rates[", "{}"] {
            assert!(fill_text(text, &bindings()).is_err(), "{text}");
        }
    }
}
