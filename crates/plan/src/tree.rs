//! A TOML document as a tree in which every key and value knows its place in the text.
//!
//! It exists beside `toml`'s own tree because a plan is put together from several texts (includes,
//! variants, `--set`), and an error must point into the one that is wrong.

use crate::diagnostic::{Problem, Problems};
use crate::source::{Place, Sources};
use std::fmt;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// A value and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Node {
    pub value: Value,
    pub place: Place,
}

/// A TOML value. Numbers keep what interpolation needs to write them again as they were.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i128),
    Float { value: f64, text: String },
    Bool(bool),
    Datetime(String),
    Array(Vec<Node>),
    Table(Table),
}

/// Entries in the order of the text.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Table {
    pub entries: Vec<Entry>,
}

/// A key, where it stands, and its value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub place: Place,
    pub node: Node,
}

impl Table {
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.key == key)
    }

    pub(crate) fn node(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|e| &e.node)
    }

    pub(crate) fn node_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|e| e.key == key).map(|e| &mut e.node)
    }

    pub(crate) fn table(&self, key: &str) -> Option<&Table> {
        self.node(key).and_then(Node::as_table)
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Node> {
        let at = self.entries.iter().position(|e| e.key == key)?;
        Some(self.entries.remove(at).node)
    }

    /// Replaces the value of `key`, or adds it.
    pub(crate) fn insert(&mut self, key: &str, place: Place, node: Node) {
        match self.entries.iter_mut().find(|e| e.key == key) {
            Some(entry) => {
                entry.place = place;
                entry.node = node;
            }
            None => self.entries.push(Entry { key: key.to_owned(), place, node }),
        }
    }

    /// The `name` of a table in an array.
    pub(crate) fn name(&self) -> Option<&str> {
        self.node("name").and_then(Node::as_text)
    }
}

impl Node {
    pub(crate) fn new(value: Value, place: Place) -> Node {
        Node { value, place }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(crate) fn as_array(&self) -> Option<&[Node]> {
        match &self.value {
            Value::Array(nodes) => Some(nodes),
            _ => None,
        }
    }

    /// An integer or a float as a float.
    pub(crate) fn as_number(&self) -> Option<f64> {
        match &self.value {
            Value::Integer(n) => Some(*n as f64),
            Value::Float { value, .. } => Some(*value),
            _ => None,
        }
    }

    /// What it is, for messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match &self.value {
            Value::Text(_) => "a string",
            Value::Integer(_) | Value::Float { .. } => "a number",
            Value::Bool(_) => "true or false",
            Value::Datetime(_) => "a date",
            Value::Array(_) => "an array",
            Value::Table(_) => "a table",
        }
    }

    /// Whether two values are the same, with 1 and 1.0 being one number.
    pub(crate) fn same_value(&self, other: &Node) -> bool {
        match (&self.value, &other.value) {
            (Value::Integer(a), Value::Integer(b)) => a == b,
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_value(b))
            }
            _ => match (self.as_number(), other.as_number()) {
                (Some(a), Some(b)) => a == b,
                _ => self.value == other.value,
            },
        }
    }
}

/// Scalars as they are interpolated, the rest as TOML would write it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) | Value::Datetime(text) | Value::Float { text, .. } => {
                f.write_str(text)
            }
            Value::Integer(n) => write!(f, "{n}"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Array(nodes) => {
                f.write_str("[")?;
                for (i, node) in nodes.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    write!(f, "{comma}{}", node.value)?;
                }
                f.write_str("]")
            }
            Value::Table(table) => {
                f.write_str("{ ")?;
                for (i, entry) in table.entries.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    write!(f, "{comma}{} = {}", entry.key, entry.node.value)?;
                }
                f.write_str(" }")
            }
        }
    }
}

/// Longest text of a plan in bytes; nobody writes a longer one by hand.
const TEXT_MAX: usize = 1 << 20;

/// Parses the text of `source`; what is wrong goes to `problems`.
pub(crate) fn parse(sources: &Sources, source: usize, problems: &mut Problems) -> Table {
    let text = sources.text(source);
    if text.len() > TEXT_MAX {
        let whole = Place::new(source, 0..1);
        let problem = Problem::new(whole, "", "the file is too large for a plan");
        problems.push(problem.found(format!("{} bytes", text.len())).accepted(["at most 1 MiB"]));
        return Table::default();
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return from_table(table.into_inner(), source, 0, problems);
    }
    for error in errors.into_iter().take(20) {
        let place = Place::new(source, error.span().unwrap_or(0..0));
        let found = text.get(place.span()).unwrap_or_default();
        let (what, expected) = match error.message().split_once(", expected ") {
            Some((what, expected)) => (what, expected),
            None if error.message().contains("duplicate") => (error.message(), "each key once"),
            None => (error.message(), "TOML"),
        };
        let problem = Problem::new(place, "", format!("is not TOML: {what}"));
        problems.push(problem.found(found).accepted([expected]));
    }
    Table::default()
}

/// Parses the value behind `key=` of a `--set`: TOML if it is that, a string otherwise.
pub(crate) fn parse_value(text: &str, source: usize, offset: usize) -> Node {
    let place = Place::new(source, offset..offset + text.len());
    let mut problems = Problems::default();
    let parsed = DeValue::parse(text).ok();
    let node = parsed.map(|value| from_value(value, source, offset, &mut problems));
    match node {
        Some(node) if problems.is_empty() => node,
        _ => Node::new(Value::Text(text.trim().to_owned()), place),
    }
}

fn from_table(table: DeTable<'_>, source: usize, offset: usize, problems: &mut Problems) -> Table {
    let mut entries: Vec<Entry> = Vec::with_capacity(table.len());
    for (key, value) in table {
        let place = moved(key.span(), source, offset);
        let node = from_value(value, source, offset, problems);
        entries.push(Entry { key: key.into_inner().into_owned(), place, node });
    }
    entries.sort_by_key(|e| e.place);
    Table { entries }
}

fn from_value(
    value: Spanned<DeValue<'_>>,
    source: usize,
    offset: usize,
    problems: &mut Problems,
) -> Node {
    let place = moved(value.span(), source, offset);
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(n) => integer(&n, place, problems),
        DeValue::Float(n) => {
            let text = n.as_str().to_owned();
            Value::Float { value: text.parse().unwrap_or(f64::NAN), text }
        }
        DeValue::Boolean(b) => Value::Bool(b),
        DeValue::Datetime(d) => Value::Datetime(d.to_string()),
        DeValue::Array(nodes) => {
            let nodes = nodes.into_iter().map(|n| from_value(n, source, offset, problems));
            Value::Array(nodes.collect())
        }
        DeValue::Table(table) => Value::Table(from_table(table, source, offset, problems)),
    };
    Node::new(value, place)
}

fn integer(n: &DeInteger<'_>, place: Place, problems: &mut Problems) -> Value {
    match i128::from_str_radix(n.as_str(), n.radix()) {
        Ok(n) => Value::Integer(n),
        Err(_) => {
            problems.push(Problem::new(place, "", "the number is too large").found(n.to_string()));
            Value::Integer(0)
        }
    }
}

fn moved(span: std::ops::Range<usize>, source: usize, offset: usize) -> Place {
    Place::new(source, span.start + offset..span.end + offset)
}
