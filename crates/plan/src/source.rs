//! Texts a plan is made of, and places in them: the file, its includes, its tables, each `--set`.

use std::ops::Range;
use std::sync::Arc;

/// A text with the name it is shown under.
#[derive(PartialEq, Eq, Debug)]
pub struct Source {
    /// The file's name, or `--set`.
    pub name: String,
    /// The whole text.
    pub text: String,
}

impl Source {
    /// Line and column of a byte position, both from one; the column counts characters.
    pub fn line_and_column(&self, position: usize) -> (usize, usize) {
        let before = self.before(position);
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |n| n + 1);
        (line, before[start..].chars().count() + 1)
    }

    /// The line that holds a byte position, without its end.
    pub fn line_at(&self, position: usize) -> &str {
        let start = self.before(position).rfind('\n').map_or(0, |n| n + 1);
        let rest = &self.text[start..];
        rest[..rest.find('\n').unwrap_or(rest.len())].trim_end_matches('\r')
    }

    fn before(&self, position: usize) -> &str {
        let mut end = position.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        &self.text[..end]
    }
}

/// A range of bytes in one of a document's texts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Place {
    pub source: usize,
    pub start: usize,
    pub end: usize,
}

impl Place {
    pub(crate) fn new(source: usize, span: Range<usize>) -> Place {
        Place { source, start: span.start, end: span.end }
    }

    pub(crate) fn span(self) -> Range<usize> {
        self.start..self.end.max(self.start)
    }
}

/// All texts of a document, by position.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources(Vec<Arc<Source>>);

impl Sources {
    pub(crate) fn add(&mut self, name: &str, text: String) -> usize {
        self.0.push(Arc::new(Source { name: name.to_owned(), text }));
        self.0.len() - 1
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn at(&self, place: Place) -> Arc<Source> {
        Arc::clone(&self.0[place.source])
    }

    pub(crate) fn text(&self, source: usize) -> &str {
        &self.0[source].text
    }

    pub(crate) fn name(&self, source: usize) -> &str {
        &self.0[source].name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let source = Source { name: "p".into(), text: "a = 1\r\nbü = 2\n".into() };
        assert_eq!(source.line_and_column(0), (1, 1));
        assert_eq!(source.line_and_column(7), (2, 1));
        assert_eq!(source.line_and_column(10), (2, 3));
        assert_eq!(source.line_and_column(9), (2, 2));
        assert_eq!(source.line_at(3), "a = 1");
        assert_eq!(source.line_at(9), "bü = 2");
        assert_eq!(source.line_and_column(999), (3, 1));
    }
}
