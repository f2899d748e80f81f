//! Reading a table key by key. What is asked for is what is accepted, so the list an error shows can
//! never differ from the code.

use crate::diagnostic::{Problem, Problems};
use crate::quantity::{self, Refusal};
use crate::source::Place;
use crate::tree::{Node, Table, Value};
use trunkline_core::queue::Limit;
use trunkline_core::time::Duration;
use trunkline_core::units::{BitRate, Ratio};

/// Why a value was not taken: one sentence about it, and what would have been.
pub(crate) struct Unfit {
    pub message: String,
    pub accepted: Vec<String>,
    pub nearest: Option<String>,
}

impl Unfit {
    pub(crate) fn new(message: impl Into<String>, accepted: impl Into<String>) -> Unfit {
        Unfit { message: message.into(), accepted: vec![accepted.into()], nearest: None }
    }
}

/// Turns a value into what a key means.
pub(crate) type Taken<T> = Result<T, Unfit>;

/// One table while it is read.
pub(crate) struct Section<'t> {
    table: &'t Table,
    /// Where the table itself stands: what is missing is told there.
    pub place: Place,
    /// Its dotted key.
    pub path: String,
    asked: Vec<&'static str>,
    later: Vec<&'static str>,
}

impl<'t> Section<'t> {
    pub(crate) fn new(table: &'t Table, place: Place, path: impl Into<String>) -> Section<'t> {
        Section { table, place, path: path.into(), asked: Vec::new(), later: Vec::new() }
    }

    /// The table that is read.
    pub(crate) fn table(&self) -> &'t Table {
        self.table
    }

    /// The dotted key of one of its keys.
    pub(crate) fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The value of an accepted key as it is.
    pub(crate) fn node(&mut self, key: &'static str) -> Option<&'t Node> {
        if !self.asked.contains(&key) {
            self.asked.push(key);
        }
        self.table.node(key)
    }

    /// An optional value.
    pub(crate) fn opt<T>(
        &mut self,
        problems: &mut Problems,
        key: &'static str,
        take: impl FnOnce(&Node) -> Taken<T>,
    ) -> Option<T> {
        let node = self.node(key)?;
        self.convert(problems, key, node, take)
    }

    /// An optional value with a default; a wrong one is told and the default used on.
    pub(crate) fn or<T>(
        &mut self,
        problems: &mut Problems,
        key: &'static str,
        default: T,
        take: impl FnOnce(&Node) -> Taken<T>,
    ) -> T {
        self.opt(problems, key, take).unwrap_or(default)
    }

    /// A value that must be there.
    pub(crate) fn req<T>(
        &mut self,
        problems: &mut Problems,
        key: &'static str,
        form: &str,
        take: impl FnOnce(&Node) -> Taken<T>,
    ) -> Option<T> {
        match self.node(key) {
            Some(node) => self.convert(problems, key, node, take),
            None => {
                let message = format!("`{key}` is missing");
                let problem = Problem::new(self.place, self.key(key), message);
                problems.push(problem.accepted([format!("{key} = {form}")]));
                None
            }
        }
    }

    fn convert<T>(
        &self,
        problems: &mut Problems,
        key: &str,
        node: &Node,
        take: impl FnOnce(&Node) -> Taken<T>,
    ) -> Option<T> {
        match take(node) {
            Ok(value) => Some(value),
            Err(unfit) => {
                let message = format!("`{key}` {}", unfit.message);
                let mut problem = Problem::new(node.place, self.key(key), message);
                problem.found = node.value.to_string();
                problem.accepted = unfit.accepted;
                problem.nearest = unfit.nearest;
                problems.push(problem);
                None
            }
        }
    }

    /// A sub-table, when it is there and is one.
    pub(crate) fn section(
        &mut self,
        problems: &mut Problems,
        key: &'static str,
    ) -> Option<Section<'t>> {
        let path = self.key(key);
        let node = self.node(key)?;
        section_of(node, &path, problems)
    }

    /// The tables of an array of tables, each under its own path.
    pub(crate) fn sections(
        &mut self,
        problems: &mut Problems,
        key: &'static str,
    ) -> Vec<Section<'t>> {
        let path = self.key(key);
        let Some(node) = self.node(key) else {
            return Vec::new();
        };
        let Some(nodes) = node.as_array() else {
            problems.push(wrong_type(node, &path, &format!("[[{path}]]")));
            return Vec::new();
        };
        let mut sections = Vec::with_capacity(nodes.len());
        for (i, node) in nodes.iter().enumerate() {
            let name = node.as_table().and_then(Table::name);
            let path = format!("{path}.{}", name.map_or(i.to_string(), str::to_owned));
            sections.extend(section_of(node, &path, problems));
        }
        sections
    }

    /// Every entry as a table of its own, for tables whose keys are names.
    pub(crate) fn named(&self, problems: &mut Problems) -> Vec<(String, Section<'t>)> {
        let mut sections = Vec::with_capacity(self.table.entries.len());
        for entry in &self.table.entries {
            match entry.node.as_table() {
                Some(table) => {
                    let section = Section::new(table, entry.place, self.key(&entry.key));
                    sections.push((entry.key.clone(), section));
                }
                None => {
                    let key = self.key(&entry.key);
                    problems.push(wrong_type(&entry.node, &key, &format!("[{key}]")));
                }
            }
        }
        sections
    }

    /// Keys that exist in the design and not in this version.
    pub(crate) fn later(&mut self, keys: &[&'static str]) {
        self.later.extend_from_slice(keys);
    }

    /// Whether a key that was not asked for was probably meant for one of `names`.
    pub(crate) fn misspells(&self, names: &[&str]) -> bool {
        let unknown = self.table.entries.iter().filter(|e| !self.asked.contains(&e.key.as_str()));
        let mut nearest =
            unknown.filter_map(|entry| crate::diagnostic::nearest(&entry.key, &self.asked));
        nearest.any(|key| names.contains(&key.as_str()))
    }

    /// Tells every key that was not asked for.
    pub(crate) fn finish(self, problems: &mut Problems) {
        for entry in &self.table.entries {
            let key = entry.key.as_str();
            if self.asked.contains(&key) {
                continue;
            }
            let message = match self.later.contains(&key) {
                true => format!("`{key}` is not in this version"),
                false => format!("unknown key `{key}`"),
            };
            let problem = Problem::new(entry.place, self.key(key), message).names(key, &self.asked);
            let meant = problem.nearest.as_deref().filter(|key| self.table.node(key).is_none());
            if let Some(meant) = meant {
                problems.withdraw_missing(&self.key(meant), meant);
            }
            problems.push(problem);
        }
    }
}

fn section_of<'t>(node: &'t Node, path: &str, problems: &mut Problems) -> Option<Section<'t>> {
    match node.as_table() {
        Some(table) => Some(Section::new(table, node.place, path)),
        None => {
            problems.push(wrong_type(node, path, "a table"));
            None
        }
    }
}

/// A value of the wrong type.
pub(crate) fn wrong_type(node: &Node, key: &str, accepted: &str) -> Problem {
    let message = format!("`{key}` is {}", node.type_name());
    Problem::new(node.place, key, message).found(node.value.to_string()).accepted([accepted])
}

/// A string.
pub(crate) fn text(node: &Node) -> Taken<String> {
    match &node.value {
        Value::Text(text) => Ok(text.clone()),
        _ => Err(Unfit::new(format!("is {}", node.type_name()), "a string")),
    }
}

/// What names are made of.
const NAME_FORM: &str = "a name of letters, digits, `-` and `_`, at most 64";

/// A name: it appears in dotted keys, so it holds no dots.
pub(crate) fn name(node: &Node) -> Taken<String> {
    let text = text(node)?;
    if is_name(&text) { Ok(text) } else { Err(Unfit::new("is not a name", NAME_FORM)) }
}

/// Tells a key that is no name, for tables whose keys are names.
pub(crate) fn check_name(key: &str, section: &Section<'_>, problems: &mut Problems) {
    if !is_name(key) {
        let problem = Problem::new(section.place, &section.path, "is not a name");
        problems.push(problem.found(key).accepted([NAME_FORM]));
    }
}

fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && text.chars().count() <= 64 && text.chars().all(fits)
}

/// `true` or `false`.
pub(crate) fn flag(node: &Node) -> Taken<bool> {
    match node.value {
        Value::Bool(b) => Ok(b),
        _ => Err(Unfit::new(format!("is {}", node.type_name()), "true or false")),
    }
}

/// A number, not NaN or infinite.
pub(crate) fn number(node: &Node) -> Taken<f64> {
    match node.as_number() {
        Some(n) if n.is_finite() => Ok(n),
        _ => Err(Unfit::new("is not a number", "a finite number")),
    }
}

/// A whole number within bounds.
pub(crate) fn whole<T: TryFrom<i128>>(min: i128, max: i128) -> impl Fn(&Node) -> Taken<T> {
    move |node| {
        let accepted = || match max {
            _ if max == i128::from(u64::MAX) => format!("a whole number from {min}"),
            _ => format!("a whole number from {min} to {max}"),
        };
        match node.value {
            Value::Integer(n) if (min..=max).contains(&n) => {
                T::try_from(n).map_err(|_| Unfit::new("is out of range", accepted()))
            }
            Value::Integer(_) => Err(Unfit::new("is out of range", accepted())),
            _ => Err(Unfit::new("is not a whole number", accepted())),
        }
    }
}

fn with_unit<T>(
    form: &'static str,
    read: impl Fn(&str) -> Result<T, Refusal>,
) -> impl Fn(&Node) -> Taken<T> {
    move |node| match &node.value {
        Value::Text(text) => read(text).map_err(|r| Unfit::new(r.to_string(), form)),
        Value::Integer(_) | Value::Float { .. } => Err(Unfit::new("has no unit", form)),
        _ => Err(Unfit::new(format!("is {}", node.type_name()), form)),
    }
}

/// A rate above zero.
pub(crate) fn rate(node: &Node) -> Taken<BitRate> {
    with_unit(quantity::RATE_FORM, quantity::rate)(node)
}

/// A span of time.
pub(crate) fn duration(node: &Node) -> Taken<Duration> {
    with_unit(quantity::DURATION_FORM, quantity::duration)(node)
}

/// A span of time above zero.
pub(crate) fn some_time(node: &Node) -> Taken<Duration> {
    match duration(node)? {
        Duration::ZERO => Err(Unfit::new("is zero", quantity::DURATION_FORM)),
        span => Ok(span),
    }
}

/// Bytes from `min` up to `max`.
pub(crate) fn size<T: TryFrom<u64>>(min: u64, max: u64) -> impl Fn(&Node) -> Taken<T> {
    move |node| {
        let bytes = with_unit(quantity::SIZE_FORM, quantity::size)(node)?;
        let fitting = (min..=max).contains(&bytes).then_some(bytes);
        fitting
            .and_then(|b| T::try_from(b).ok())
            .ok_or_else(|| Unfit::new("is out of range", format!("a size from {min}B to {max}B")))
    }
}

/// A queue limit.
pub(crate) fn limit(node: &Node) -> Taken<Limit> {
    with_unit(quantity::LIMIT_FORM, quantity::limit)(node)
}

/// A percentage.
pub(crate) fn ratio(node: &Node) -> Taken<Ratio> {
    with_unit(quantity::RATIO_FORM, quantity::ratio)(node)
}

/// One of a closed list of names; names of `later` are known and refused.
pub(crate) fn choice<'c, T: Copy>(
    list: &'c [(&'c str, T)],
    later: &'c [&'c str],
) -> impl Fn(&Node) -> Taken<T> + 'c {
    move |node| {
        let names: Vec<&str> = list.iter().map(|(name, _)| *name).collect();
        let accepted: Vec<String> = names.iter().map(|n| format!("\"{n}\"")).collect();
        let unfit =
            |message: String, nearest| Unfit { message, accepted: accepted.clone(), nearest };
        let Value::Text(written) = &node.value else {
            return Err(unfit(format!("is {}", node.type_name()), None));
        };
        if let Some((_, value)) = list.iter().find(|(name, _)| name == written) {
            return Ok(*value);
        }
        if later.contains(&written.as_str()) {
            return Err(unfit(format!("\"{written}\" is not in this version"), None));
        }
        let nearest = crate::diagnostic::nearest(written, &names);
        Err(unfit(format!("\"{written}\" is unknown"), nearest))
    }
}
