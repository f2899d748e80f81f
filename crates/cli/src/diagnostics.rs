//! Shows what is wrong with a plan: the text with a caret on a terminal, a document with `--json`.

use crate::exit::Exit;
use crate::output::Output;
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use serde::Serialize;
use std::fmt;
use trunkline_plan::{Diagnostic, Diagnostics};

/// The version of the document `check --json` prints.
pub(crate) const CHECK_SCHEMA: &str = "trunkline.check/1";

/// What `check --json` prints, and every other command when its plan is not valid.
#[derive(Serialize)]
pub(crate) struct CheckDocument {
    schema: &'static str,
    ok: bool,
    errors: Vec<ErrorRow>,
    left_out: usize,
}

#[derive(Serialize)]
struct ErrorRow {
    file: String,
    line: usize,
    column: usize,
    key: String,
    message: String,
    found: String,
    accepted: Vec<String>,
    nearest: Option<String>,
    context: Option<String>,
}

impl CheckDocument {
    /// The document of these errors; none is a valid plan.
    pub(crate) fn new(diagnostics: &Diagnostics) -> Self {
        let row = |d: &Diagnostic| ErrorRow {
            file: d.source.name.clone(),
            line: d.line,
            column: d.column,
            key: d.key.clone(),
            message: d.message.clone(),
            found: d.found.clone(),
            accepted: d.accepted.clone(),
            nearest: d.nearest.clone(),
            context: d.context.clone(),
        };
        let errors: Vec<ErrorRow> = diagnostics.errors.iter().map(row).collect();
        CheckDocument {
            schema: CHECK_SCHEMA,
            ok: errors.is_empty(),
            errors,
            left_out: diagnostics.left_out,
        }
    }
}

/// Bytes of a source line up to which it is drawn; of longer ones only the part around the caret is shown.
const LINE_BYTES_MAX: usize = 160;

/// Prints the errors and answers the exit code for an invalid plan.
pub(crate) fn report(diagnostics: &Diagnostics, output: &Output) -> Exit {
    if output.is_json() {
        return output.document(&CheckDocument::new(diagnostics)).err().unwrap_or(Exit::Plan);
    }
    let theme = match output.colors_stderr() {
        true => GraphicalTheme::unicode(),
        false => GraphicalTheme::unicode_nocolor(),
    };
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_width(100);
    for diagnostic in &diagnostics.errors {
        let mut text = String::new();
        let drawn = has_short_lines(diagnostic)
            && handler.render_report(&mut text, &Shown::new(diagnostic)).is_ok();
        output.report(&if drawn { text } else { diagnostic.to_string() });
    }
    output.remark(&match (diagnostics.errors.len(), diagnostics.left_out) {
        (1, 0) => "1 error".to_owned(),
        (count, 0) => format!("{count} errors"),
        (count, more) => format!("{} errors, of which the first {count} are shown", count + more),
    });
    Exit::Plan
}

/// Whether the lines that would be drawn, those of the error and its neighbours, fit a terminal.
fn has_short_lines(diagnostic: &Diagnostic) -> bool {
    let Diagnostic { source, span, .. } = diagnostic;
    let marked = source.text.get(span.clone()).unwrap_or_default();
    let neighbours = source
        .text
        .lines()
        .skip(diagnostic.line.saturating_sub(2))
        .take(marked.lines().count() + 2);
    neighbours.into_iter().all(|line| line.len() <= LINE_BYTES_MAX)
}

/// A diagnostic as miette wants it.
#[derive(Debug)]
struct Shown {
    message: String,
    help: Option<String>,
    source: NamedSource<String>,
    label: LabeledSpan,
}

impl Shown {
    fn new(diagnostic: &Diagnostic) -> Self {
        let Diagnostic { source, line, column, message, .. } = diagnostic;
        let context = diagnostic.context.as_ref().map_or(String::new(), |c| format!(" ({c})"));
        let mut help = Vec::new();
        if !diagnostic.accepted.is_empty() {
            help.push(format!("accepted: {}", diagnostic.accepted.join(", ")));
        }
        if let Some(nearest) = &diagnostic.nearest {
            help.push(format!("did you mean `{nearest}`?"));
        }
        Shown {
            message: format!("{}:{line}:{column}: {message}{context}", source.name),
            help: (!help.is_empty()).then(|| help.join("\n")),
            source: NamedSource::new(&source.name, harmless(&source.text)),
            label: LabeledSpan::new_primary_with_span(None, diagnostic.span.clone()),
        }
    }
}

/// The text of a plan as it may go to a terminal: what could drive that is blanked, byte for byte, so
/// that spans still fit.
fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() && c != '\n' && c != '\t' {
            true => shown.extend(std::iter::repeat_n(' ', c.len_utf8())),
            false => shown.push(c),
        }
    }
    shown
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Shown {}

impl miette::Diagnostic for Shown {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(std::iter::once(self.label.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn control_characters_are_blanked_byte_for_byte() {
        let text = "a\u{1b}[1m\tb\r\n\u{9b}ü";
        let shown = harmless(text);
        assert_eq!(shown, "a [1m\tb \n  ü");
        assert_eq!(shown.len(), text.len());
    }
}
