//! Tables for people: aligned, with units, coloured only on a terminal.

use crate::output::Output;
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table, presets};
use trunkline_lab::library::Ready;
use trunkline_lab::result::{Figure, ResultDocument, Summary, Verdict, VerifyDocument};

fn plain(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(
        header
            .iter()
            .map(|h| Cell::new(h).add_attribute(Attribute::Bold)),
    );
    table
}

fn render(mut table: Table, output: &Output) -> String {
    match output.colors_stdout() {
        true => table.enforce_styling(),
        false => table.force_no_tty(),
    };
    let lines: Vec<String> = table
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    lines.join("\n") + "\n"
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// The ready plans.
pub(crate) fn list(ready: &[Ready], output: &Output) -> String {
    let mut table = plain(&["plan", "published", "what it shows"]);
    for plan in ready {
        table.add_row([
            plan.name,
            if plan.is_published { "yes" } else { "" },
            plan.about,
        ]);
    }
    render(table, output)
}

/// The figures of one plan, its expectations, its parameters and the sum.
pub(crate) fn result(document: &ResultDocument, output: &Output) -> String {
    let mut text = match &document.source {
        Some(source) => format!("{}: {source}\n\n", document.plan),
        None => format!("{}\n\n", document.plan),
    };
    if !document.figures.is_empty() {
        text += &figures(&document.figures, output);
        text.push('\n');
    }
    if document.figures.is_empty() || output.is_verbose() {
        text += &flows(document, output);
        text.push('\n');
    }
    text += &expectations(document, output);
    text += &parameters(document, output);
    text += &summary(&document.summary);
    text
}

/// Which columns any figure fills.
struct Columns {
    published: bool,
    reproduced: bool,
    trunkline: bool,
    ceiling: bool,
}

impl Columns {
    fn of(figures: &[Figure]) -> Self {
        Columns {
            published: figures.iter().any(|f| f.published.is_some()),
            reproduced: figures.iter().any(|f| f.reproduced.is_some()),
            trunkline: figures.iter().any(|f| f.trunkline.is_some()),
            ceiling: figures.iter().any(|f| f.ceiling.is_some()),
        }
    }

    fn header(&self) -> Vec<&'static str> {
        let mut header = vec!["figure", "unit"];
        let mut add = |wanted: bool, names: &[&'static str]| {
            if wanted {
                header.extend(names);
            }
        };
        add(self.published, &["published"]);
        add(self.reproduced, &["reproduced"]);
        add(self.published, &["error"]);
        add(self.reproduced && self.ceiling, &["of ceiling"]);
        add(self.trunkline, &["trunkline"]);
        add(self.trunkline && self.ceiling, &["of ceiling"]);
        add(self.ceiling, &["ceiling"]);
        header.push("verdict");
        header
    }

    fn row(&self, figure: &Figure) -> Vec<Cell> {
        let mut row = vec![Cell::new(&figure.id), Cell::new(&figure.unit)];
        let mut add = |wanted: bool, text: String| {
            if wanted {
                row.push(right(text));
            }
        };
        let share = |value: Option<f64>| match (value, figure.ceiling) {
            (Some(value), Some(ceiling)) if ceiling > 0.0 => {
                format!("{:.1} %", 100.0 * value / ceiling)
            }
            _ => String::new(),
        };
        add(self.published, number(figure.published));
        add(self.reproduced, number(figure.reproduced));
        add(
            self.published,
            figure
                .error()
                .map_or(String::new(), |e| format!("{:+.1} %", 100.0 * e)),
        );
        add(self.reproduced && self.ceiling, share(figure.reproduced));
        add(self.trunkline, number(figure.trunkline));
        add(self.trunkline && self.ceiling, share(figure.trunkline));
        add(self.ceiling, number(figure.ceiling));
        row.push(verdict(figure.verdict));
        row
    }
}

fn figures(figures: &[Figure], output: &Output) -> String {
    let columns = Columns::of(figures);
    let mut table = plain(&columns.header());
    for figure in figures {
        table.add_row(columns.row(figure));
    }
    let mut text = render(table, output);
    let mut notes: Vec<&str> = figures.iter().filter_map(|f| f.note.as_deref()).collect();
    notes.dedup();
    for note in notes {
        text += &format!("  note: {note}\n");
    }
    text
}

fn verdict(verdict: Verdict) -> Cell {
    match verdict {
        Verdict::Ok => Cell::new("ok").fg(Color::Green),
        Verdict::Noted => Cell::new("noted").fg(Color::Yellow),
        Verdict::Failed => Cell::new("FAILED").fg(Color::Red),
    }
}

/// A value with as many digits as help.
fn number(value: Option<f64>) -> String {
    match value {
        None => String::new(),
        Some(v) if v == 0.0 || v.abs() >= 1000.0 || (v.abs() >= 1.0 && v.fract() == 0.0) => {
            format!("{v:.0}")
        }
        Some(v) if v.abs() >= 10.0 => format!("{v:.1}"),
        Some(v) => format!("{v:.3}"),
    }
}

fn flows(document: &ResultDocument, output: &Output) -> String {
    let mut table = plain(&["run", "flow", "metric", "value"]);
    for flow in &document.flows {
        for (metric, value) in &flow.metrics {
            let cells = [&flow.run, &flow.flow, metric].map(Cell::new);
            table.add_row(cells.into_iter().chain([right(number(*value))]));
        }
    }
    for link in &document.links {
        for (metric, value) in &link.metrics {
            let cells = [&link.run, &link.link, metric].map(Cell::new);
            table.add_row(cells.into_iter().chain([right(number(*value))]));
        }
    }
    render(table, output)
}

fn expectations(document: &ResultDocument, output: &Output) -> String {
    if document.expectations.is_empty() {
        return String::new();
    }
    let mut table = plain(&["expected", "run", "at least", "at most", "value", "verdict"]);
    for row in &document.expectations {
        table.add_row([
            Cell::new(&row.what),
            Cell::new(&row.run),
            right(number(row.min)),
            right(number(row.max)),
            right(number(row.value)),
            verdict(row.verdict),
        ]);
    }
    render(table, output) + "\n"
}

fn parameters(document: &ResultDocument, output: &Output) -> String {
    if document.parameters.is_empty() {
        return String::new();
    }
    let mut table = plain(&["parameter", "value", "unit", "origin"]);
    for (name, parameter) in &document.parameters {
        table.add_row([
            Cell::new(name),
            right(parameter.value.as_f64().map_or_else(
                || parameter.value.as_str().unwrap_or_default().to_owned(),
                |value| number(Some(value)),
            )),
            Cell::new(parameter.unit.as_deref().unwrap_or_default()),
            Cell::new(&parameter.origin),
        ]);
    }
    render(table, output) + "\n"
}

fn percent(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |v| format!("{:.1} %", 100.0 * v))
}

fn summary(summary: &Summary) -> String {
    let mut text = format!(
        "{} figures: {} ok, {} noted, {} failed",
        summary.figures, summary.ok, summary.noted, summary.failed
    );
    if summary.median_error.is_some() {
        text += &format!(
            "; median error {}, on rows held out {}, worst {}",
            percent(summary.median_error),
            percent(summary.median_error_held_out),
            percent(summary.worst_error)
        );
    }
    text + "\n"
}

/// One row per plan.
pub(crate) fn verify(document: &VerifyDocument, output: &Output) -> String {
    let mut table = plain(&[
        "plan",
        "figures",
        "ok",
        "noted",
        "failed",
        "median error",
        "held out",
        "worst",
        "verdict",
    ]);
    for plan in &document.plans {
        let s = &plan.summary;
        let stands = match (s.failed, s.noted) {
            (0, 0) => Verdict::Ok,
            (0, _) => Verdict::Noted,
            _ => Verdict::Failed,
        };
        table.add_row([
            Cell::new(&plan.plan),
            right(s.figures.to_string()),
            right(s.ok.to_string()),
            right(s.noted.to_string()),
            right(s.failed.to_string()),
            right(percent(s.median_error)),
            right(percent(s.median_error_held_out)),
            right(percent(s.worst_error)),
            verdict(stands),
        ]);
    }
    render(table, output) + "\n" + &summary(&document.summary)
}
