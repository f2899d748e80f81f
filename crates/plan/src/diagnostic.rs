//! What is wrong with a plan, as data: where, what was found, what is accepted, what is nearest.

use crate::source::{Place, Source, Sources};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// One error in a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The text it stands in.
    pub source: Arc<Source>,
    /// Bytes of that text.
    pub span: Range<usize>,
    /// Line of its start, from one.
    pub line: usize,
    /// Column of its start in characters, from one.
    pub column: usize,
    /// The key it is about, dotted, such as `link.modem0.rate`; empty for the file as a whole.
    pub key: String,
    /// One sentence without its end.
    pub message: String,
    /// What stands there; empty when something is missing.
    pub found: String,
    /// What may stand there.
    pub accepted: Vec<String>,
    /// Which of the accepted names was probably meant.
    pub nearest: Option<String>,
    /// The row and the variant in which it shows, when it is not in all of them.
    pub context: Option<String>,
}

/// Errors of one plan that are told at most: a wrong file is not worth more, and each costs a search.
const ERRORS_MAX: usize = 100;

/// All errors of a plan, in the order of the text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diagnostics {
    /// The errors, the first hundred of them.
    pub errors: Vec<Diagnostic>,
    /// How many more there are.
    pub left_out: usize,
}

impl Diagnostics {
    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// Adds the errors of a further check.
    pub(crate) fn extend(&mut self, more: Diagnostics) {
        self.errors.extend(more.errors);
        let over = self.errors.len().saturating_sub(ERRORS_MAX);
        self.errors.truncate(ERRORS_MAX);
        self.left_out += more.left_out + over;
    }

    /// `value` when nothing is wrong, the errors otherwise.
    pub(crate) fn or<T>(self, value: T) -> Result<T, Diagnostics> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl std::error::Error for Diagnostics {}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.errors.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        if self.left_out > 0 {
            writeln!(f, "and {} more errors", self.left_out)?;
        }
        Ok(())
    }
}

/// Characters of a source line that are shown at most.
const LINE_WIDTH: usize = 100;

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic { source, line, column, .. } = self;
        write!(f, "{}:{line}:{column}: {}", source.name, self.message)?;
        if let Some(context) = &self.context {
            write!(f, " ({context})")?;
        }
        writeln!(f)?;
        let shown: Vec<char> = source
            .line_at(self.span.start)
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let first = if *column > LINE_WIDTH { column - LINE_WIDTH / 2 } else { 0 };
        let window: String = shown.iter().skip(first).take(LINE_WIDTH).collect();
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        let indent = " ".repeat(column - 1 - first.min(column - 1));
        let marked = source
            .text
            .get(self.span.clone())
            .map_or(1, |t| t.lines().next().map_or(1, |l| l.chars().count()));
        let room = (first + LINE_WIDTH).saturating_sub(column - 1).max(1);
        writeln!(f, " {number} | {window}")?;
        writeln!(f, " {margin} | {indent}{}", "^".repeat(marked.clamp(1, room)))?;
        if !self.accepted.is_empty() {
            writeln!(f, " {margin} = accepted: {}", self.accepted.join(", "))?;
        }
        if let Some(nearest) = &self.nearest {
            writeln!(f, " {margin} = did you mean `{nearest}`?")?;
        }
        Ok(())
    }
}

/// A diagnostic before its place is looked up.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub place: Place,
    pub key: String,
    pub message: String,
    pub found: String,
    pub accepted: Vec<String>,
    pub nearest: Option<String>,
}

impl Problem {
    pub(crate) fn new(place: Place, key: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem {
            place,
            key: key.into(),
            message: message.into(),
            found: String::new(),
            accepted: Vec::new(),
            nearest: None,
        }
    }

    pub(crate) fn found(mut self, found: impl Into<String>) -> Problem {
        self.found = found.into();
        self
    }

    pub(crate) fn accepted<S: Into<String>>(
        mut self,
        list: impl IntoIterator<Item = S>,
    ) -> Problem {
        self.accepted = list.into_iter().map(Into::into).collect();
        self
    }

    /// Names that are accepted, and the one nearest to `written` among them.
    pub(crate) fn names<S: AsRef<str>>(mut self, written: &str, list: &[S]) -> Problem {
        self.accepted.clear();
        for name in list.iter().map(|s| s.as_ref().to_owned()) {
            if !self.accepted.contains(&name) {
                self.accepted.push(name);
            }
        }
        self.nearest = nearest(written, list);
        self.found = written.to_owned();
        self
    }
}

/// Collects problems while a plan is read, so that all of them are told at once.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Drops all but the first `told`.
    pub(crate) fn truncate(&mut self, told: usize) {
        self.0.truncate(told);
    }

    /// Drops that the key of this path is missing: something misspelt stands in its place.
    pub(crate) fn withdraw_missing(&mut self, path: &str, key: &str) {
        let message = format!("`{key}` is missing");
        self.0.retain(|problem| problem.key != path || problem.message != message);
    }

    /// The places told so far.
    pub(crate) fn places(&self) -> Vec<Place> {
        self.0.iter().map(|p| p.place).collect()
    }

    /// Drops what was told after `first` about the same places: it only follows from that.
    pub(crate) fn drop_after(&mut self, first: &[Place]) {
        let mut index = 0;
        self.0.retain(|p| {
            index += 1;
            index <= first.len() || !first.contains(&p.place)
        });
    }

    /// Looks up the places and sorts by them; the same problem at the same place is told once.
    pub(crate) fn finish(mut self, sources: &Sources, context: Option<&str>) -> Diagnostics {
        self.0.sort_by(|a, b| (a.place, &a.message).cmp(&(b.place, &b.message)));
        self.0.dedup_by(|a, b| a.place == b.place && a.message == b.message);
        let left_out = self.0.len().saturating_sub(ERRORS_MAX);
        self.0.truncate(ERRORS_MAX);
        let errors = self.0.into_iter().map(|p| locate(p, sources, context)).collect();
        Diagnostics { errors, left_out }
    }

    pub(crate) fn result<T>(self, value: T, sources: &Sources) -> Result<T, Diagnostics> {
        self.finish(sources, None).or(value)
    }
}

fn locate(problem: Problem, sources: &Sources, context: Option<&str>) -> Diagnostic {
    let source = sources.at(problem.place);
    let (line, column) = source.line_and_column(problem.place.start);
    Diagnostic {
        span: problem.place.span(),
        source,
        line,
        column,
        key: printable(&problem.key),
        message: printable(&problem.message),
        found: printable(&problem.found),
        accepted: problem.accepted.iter().map(|a| printable(a)).collect(),
        nearest: problem.nearest.as_deref().map(printable),
        context: context.map(printable),
    }
}

/// Characters of a text from the plan that a message repeats at most.
const TEXT_WIDTH: usize = 400;

/// A text from the plan as it may go to a terminal: no control characters, not without end.
fn printable(text: &str) -> String {
    let shown = text.chars().take(TEXT_WIDTH);
    let mut printable: String =
        shown.map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(TEXT_WIDTH).is_some() {
        printable.push('…');
    }
    printable
}

/// The name nearest to `written` by edit distance, if one is near enough to be meant.
pub fn nearest<S: AsRef<str>>(written: &str, names: &[S]) -> Option<String> {
    let scored = names.iter().map(|n| (distance(written, n.as_ref()), n.as_ref()));
    let (score, name) = scored.min_by_key(|(score, _)| *score)?;
    let longer = written.chars().count().max(name.chars().count());
    // Of a name whose every character would change, nothing is left that could have been meant.
    (score <= (longer / 2).max(1) && score < longer).then(|| name.to_owned())
}

/// Edits (insert, delete, replace, swap of neighbours) that turn one text into the other.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_only_when_it_is_near() {
        let names = ["rate", "weight", "framing"];
        assert_eq!(nearest("rtae", &names).as_deref(), Some("rate"));
        assert_eq!(nearest("wieght", &names).as_deref(), Some("weight"));
        assert_eq!(nearest("zzzzzz", &names), None);
        assert_eq!(nearest::<&str>("rate", &[]), None);
        assert_eq!(nearest("x", &["0"]), None);
        assert_eq!(nearest("bb", &["b"]).as_deref(), Some("b"));
    }

    #[test]
    fn a_long_line_is_cut_around_the_caret() {
        let mut sources = Sources::default();
        let source = sources.add("p.toml", format!("{}X{}", "a".repeat(300), "b".repeat(300)));
        let mut problems = Problems::default();
        problems.push(Problem::new(Place::new(source, 300..301), "", "is wrong"));
        let text = problems.finish(&sources, None).to_string();
        let lines: Vec<&str> = text.lines().collect();
        let caret = lines[2].find('^').expect("a caret");
        assert_eq!(&lines[1][caret..=caret], "X");
    }
}
