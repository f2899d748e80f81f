//! Tables for people: aligned, with units, coloured only on a terminal.

pub(crate) mod toggles;

use crate::output::Output;
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table, presets};
use trunkline_lab::library::Ready;
use trunkline_lab::result::{
    Failure, Figure, FlowResult, ResultDocument, Summary, Verdict, VerifyDocument,
};

fn plain(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().map(|h| Cell::new(h).add_attribute(Attribute::Bold)));
    table
}

fn render(mut table: Table, output: &Output) -> String {
    match output.colors_stdout() {
        true => table.enforce_styling(),
        false => table.force_no_tty(),
    };
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// The ready plans.
pub(crate) fn list(ready: &[Ready], output: &Output) -> String {
    let mut table = plain(&["plan", "published", "what it shows"]);
    for plan in ready {
        table.add_row([plan.name, if plan.is_published { "yes" } else { "" }, plan.about]);
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
    text += &notes(&document.flows);
    text += &failures(&document.failures);
    text + &summary(&document.summary)
}

/// Which columns any figure fills.
struct Columns {
    published: bool,
    reproduced: bool,
    trunkline: bool,
    ceiling: bool,
    verdict: bool,
}

impl Columns {
    fn of(figures: &[Figure]) -> Self {
        Columns {
            published: figures.iter().any(|f| f.published.is_some()),
            reproduced: figures.iter().any(|f| f.reproduced.is_some()),
            trunkline: figures.iter().any(|f| f.trunkline.is_some()),
            ceiling: figures.iter().any(|f| f.ceiling.is_some()),
            verdict: figures.iter().any(|f| f.verdict.is_some() || f.note.is_some()),
        }
    }

    /// Beside a published figure the error says it: the stop-watch there is the source's, and its
    /// share of a ceiling would mean nothing.
    fn shows_reproduced_share(&self) -> bool {
        self.reproduced && self.ceiling && !self.published
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
        add(self.shows_reproduced_share(), &["of ceiling"]);
        add(self.trunkline, &["trunkline"]);
        add(self.trunkline && self.ceiling, &["of ceiling"]);
        add(self.ceiling, &["ceiling"]);
        add(self.verdict, &["verdict"]);
        header
    }

    /// The cells of a figure; `mark` points at its note.
    fn row(&self, figure: &Figure, mark: &str) -> Vec<Cell> {
        let mut row = vec![Cell::new(&figure.id), Cell::new(&figure.unit)];
        let mut add = |wanted: bool, text: String| {
            if wanted {
                row.push(right(text));
            }
        };
        let share = |value: Option<f64>, ceiling: Option<f64>| match (value, ceiling) {
            (Some(value), Some(ceiling)) if ceiling > 0.0 => {
                format!("{:.1} %", 100.0 * value / ceiling)
            }
            _ => String::new(),
        };
        add(self.published, number(figure.published));
        add(self.reproduced, number(figure.reproduced));
        add(
            self.published,
            figure.error().map_or(String::new(), |e| format!("{:+.1} %", 100.0 * e)),
        );
        add(self.shows_reproduced_share(), share(figure.reproduced, figure.ceiling_reproduced));
        add(self.trunkline, number(figure.trunkline));
        add(self.trunkline && self.ceiling, share(figure.trunkline, figure.ceiling));
        add(self.ceiling, number(figure.ceiling));
        if self.verdict {
            row.push(match figure.verdict {
                Some(stands) => verdict(stands, mark),
                None => Cell::new(mark.trim_start()),
            });
        }
        row
    }
}

fn figures(figures: &[Figure], output: &Output) -> String {
    let columns = Columns::of(figures);
    let mut table = plain(&columns.header());
    let mut notes = Notes::default();
    for figure in figures {
        let mark = notes.mark(figure.note.as_deref());
        table.add_row(columns.row(figure, &mark));
    }
    render(table, output) + &notes.text()
}

/// Notes below a table; figures with the same note share its number.
#[derive(Default)]
struct Notes<'a>(Vec<&'a str>);

impl<'a> Notes<'a> {
    fn mark(&mut self, note: Option<&'a str>) -> String {
        let Some(note) = note else {
            return String::new();
        };
        let known = self.0.iter().position(|n| *n == note);
        let index = known.unwrap_or_else(|| {
            self.0.push(note);
            self.0.len() - 1
        });
        format!(" [{}]", index + 1)
    }

    fn text(&self) -> String {
        let lines = self.0.iter().enumerate();
        lines.map(|(index, note)| format!(" [{}] {note}\n", index + 1)).collect()
    }
}

fn verdict(verdict: Verdict, mark: &str) -> Cell {
    let (word, color) = match verdict {
        Verdict::Ok => ("ok", Color::Green),
        Verdict::Noted => ("noted", Color::Yellow),
        Verdict::Failed => ("FAILED", Color::Red),
    };
    Cell::new(format!("{word}{mark}")).fg(color)
}

/// A value with as many digits as help.
fn number(value: Option<f64>) -> String {
    match value {
        None => String::new(),
        Some(v) if v == 0.0 || v.abs() >= 1000.0 || (v.abs() >= 1.0 && v.fract() == 0.0) => {
            format!("{v:.0}")
        }
        Some(v) if v.abs() >= 10.0 => format!("{v:.1}"),
        Some(v) if v.abs() >= 0.1 => format!("{v:.3}"),
        Some(v) if v.abs() >= 0.01 => format!("{v:.4}"),
        Some(v) if v.abs() >= 0.001 => format!("{v:.5}"),
        Some(v) => format!("{v:.6}"),
    }
}

fn flows(document: &ResultDocument, output: &Output) -> String {
    // A flow with a rate has one of calls.
    let flows = document.flows.iter().map(|f| (&f.run, &f.flow, &f.metrics, "1/s"));
    let links = document.links.iter().map(|l| (&l.run, &l.link, &l.metrics, "bit/s"));
    let hosts = document.hosts.iter().map(|h| (&h.run, &h.host, &h.metrics, ""));
    let rows: Vec<_> = flows.chain(links).chain(hosts).collect();
    // A plan without rows and variants has one run, without a name.
    let has_runs = rows.iter().any(|(run, ..)| !run.is_empty());
    let owner = if document.hosts.is_empty() { "flow or link" } else { "flow, link or host" };
    let mut header = vec![owner, "metric", "value", "unit"];
    if has_runs {
        header.insert(0, "run");
    }
    let mut table = plain(&header);
    for (run, owner, metrics, of_rate) in rows {
        for (metric, value) in metrics {
            let run = has_runs.then(|| Cell::new(run));
            let value = value.map_or("-".to_owned(), |v| number(Some(v)));
            let unit = if metric == "rate" { of_rate } else { unit(metric) };
            let cells = [Cell::new(owner), Cell::new(metric), right(value), Cell::new(unit)];
            table.add_row(run.into_iter().chain(cells));
        }
    }
    render(table, output)
}

/// The unit of a metric as `docs/plan.md` has it; shares and counts have none.
fn unit(metric: &str) -> &'static str {
    const TIMES: [&str; 7] = ["rtt_", "round_", "time_", "page_", "delay_", "connect_", "silence_"];
    match metric {
        "put_rate" | "put_rate_mean" | "ceiling" => "bit/s",
        "seconds" | "longest_gap" | "fair_after" | "recovered_after" => "s",
        "bytes" | "payload" | "wrong" | "queue_mean" | "queue_max" => "B",
        "retransmitted" => "segments",
        "reordered" | "reorder_places" | "dropped" | "marked" | "overruns" => "packets",
        _ if metric.starts_with("goodput") => "bit/s",
        _ if TIMES.iter().any(|of| metric.starts_with(of)) => "s",
        _ => "",
    }
}

fn expectations(document: &ResultDocument, output: &Output) -> String {
    if document.expectations.is_empty() {
        return String::new();
    }
    let mut table = plain(&["expected", "run", "at least", "at most", "value", "verdict"]);
    let mut notes = Notes::default();
    for row in &document.expectations {
        let mark = notes.mark(row.note.as_deref());
        table.add_row([
            Cell::new(&row.what),
            Cell::new(&row.run),
            right(number(row.min)),
            right(number(row.max)),
            right(number(row.value)),
            verdict(row.verdict, &mark),
        ]);
    }
    render(table, output) + &notes.text() + "\n"
}

/// What is to be said of flows, one line each.
fn notes(flows: &[FlowResult]) -> String {
    let noted = flows.iter().filter_map(|f| f.note.as_ref().map(|note| (f, note)));
    paragraph(noted.map(|(f, note)| of_flow("note", &f.run, &f.flow, note)))
}

/// Flows that broke, one line each.
fn failures(failures: &[Failure]) -> String {
    paragraph(failures.iter().map(|f| of_flow("FAILED", &f.run, &f.flow, &f.why)))
}

fn of_flow(what: &str, run: &str, flow: &str, why: &str) -> String {
    let run = if run.is_empty() { String::new() } else { format!("{run}: ") };
    format!("{what} {run}{flow}: {why}\n")
}

fn paragraph(lines: impl Iterator<Item = String>) -> String {
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { lines + "\n" }
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

/// How all of it stands, in one line for the figures and one for the expectations.
fn summary(summary: &Summary) -> String {
    let mut text = String::new();
    if summary.figures > 0 {
        text += &standing(summary);
        let errors = [
            ("median error", summary.median_error),
            ("on rows held out", summary.median_error_held_out),
            ("worst", summary.worst_error),
        ];
        let errors: Vec<String> = errors
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name} {}", percent(Some(value?)))))
            .collect();
        if !errors.is_empty() {
            text += &format!("; {}", errors.join(", "));
        }
        text.push('\n');
    }
    let expectations = summary.expectations;
    let count = expectations.met + expectations.failed;
    if count > 0 {
        text += &format!(
            "{}: {} met, {} failed\n",
            counted(count, "expectation"),
            expectations.met,
            expectations.failed
        );
    }
    text
}

/// The figures in one line: those compared and those only shown.
fn standing(summary: &Summary) -> String {
    let Summary { compared, ok, noted, failed, shown, .. } = summary;
    match (compared, shown) {
        (0, shown) => format!("{} shown, compared with nothing", counted(*shown, "figure")),
        (_, 0) => format!("{compared} compared: {ok} ok, {noted} noted, {failed} failed"),
        _ => format!("{compared} compared: {ok} ok, {noted} noted, {failed} failed; {shown} shown"),
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// One row per plan.
pub(crate) fn verify(document: &VerifyDocument, output: &Output) -> String {
    let mut table = plain(&[
        "plan",
        "compared",
        "ok",
        "noted",
        "failed",
        "shown",
        "expected",
        "met",
        "median error",
        "held out",
        "worst",
        "verdict",
    ]);
    for plan in &document.plans {
        let s = &plan.summary;
        let stands = match (plan.holds(), s.noted) {
            (true, 0) => Verdict::Ok,
            (true, _) => Verdict::Noted,
            _ => Verdict::Failed,
        };
        table.add_row([
            Cell::new(&plan.plan),
            right(s.compared.to_string()),
            right(s.ok.to_string()),
            right(s.noted.to_string()),
            right(s.failed.to_string()),
            right(s.shown.to_string()),
            right((s.expectations.met + s.expectations.failed).to_string()),
            right(s.expectations.met.to_string()),
            right(percent(s.median_error)),
            right(percent(s.median_error_held_out)),
            right(percent(s.worst_error)),
            verdict(stands, ""),
        ]);
    }
    let failures: String = document.plans.iter().map(|p| failures(&p.failures)).collect();
    render(table, output) + "\n" + &failures + &summary(&document.summary)
}

#[cfg(test)]
mod tests {
    use super::{Notes, number, unit};

    #[test]
    fn numbers_have_as_many_digits_as_help() {
        let cases = [
            (0.0, "0"),
            (0.0125, "0.0125"),
            (0.000_667, "0.000667"),
            (1.5, "1.500"),
            (18.0, "18"),
            (90.31, "90.3"),
            (28_127.09, "28127"),
            (-1234.5, "-1234"),
        ];
        for (value, text) in cases {
            assert_eq!(number(Some(value)), text);
        }
        assert_eq!(number(None), "");
    }

    #[test]
    fn units_are_those_of_the_grammar() {
        let grammar = include_str!("../../../docs/plan.md");
        let (_, metrics) = grammar.split_once("## Metrics").expect("a section on metrics");
        let mut seen = 0;
        for row in metrics.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            if !["s", "bit/s", "B"].contains(&cells[1]) {
                continue;
            }
            for name in cells[0].split('`').skip(1).step_by(2).filter(|name| *name != "rate") {
                assert_eq!(unit(name), cells[1], "{name}");
                seen += 1;
            }
        }
        assert!(seen > 30, "only {seen}");
    }

    #[test]
    fn figures_with_the_same_note_share_its_number() {
        let mut notes = Notes::default();
        let marks = [Some("b"), None, Some("a"), Some("b")].map(|note| notes.mark(note));
        assert_eq!(marks, [" [1]", "", " [2]", " [1]"]);
        assert_eq!(notes.text(), " [1] b\n [2] a\n");
    }
}
