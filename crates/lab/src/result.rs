//! Results as documents: what `--json` prints and what the digest is taken of.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

/// The version of the result document.
pub const RESULT_SCHEMA: &str = "trunkline.result/1";
/// The version of the document of several results.
pub const VERIFY_SCHEMA: &str = "trunkline.verify/1";

/// How a figure stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Inside its band, or an expectation that holds.
    Ok,
    /// Outside its band, and the plan's own note says so.
    Noted,
    /// Outside its band without a note, not to be measured, or an expectation that does not hold.
    Failed,
}

/// A parameter of the model, fixed for the whole experiment.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Parameter {
    /// Its value: a number, or a quantity with its unit.
    pub value: Value,
    /// The unit of a number.
    pub unit: Option<String>,
    /// Where the value comes from.
    pub origin: String,
}

/// One row: a published value beside what the lab gives. SI units unless `unit` says otherwise.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Figure {
    /// Which quantity of which row.
    pub id: String,
    /// The unit of all its values; `line-bit/s` is ten bits per byte.
    pub unit: String,
    /// The source's value.
    pub published: Option<f64>,
    /// What the period's algorithm, transport and hardware model give.
    pub reproduced: Option<f64>,
    /// What the same wires give with our best settings.
    pub trunkline: Option<f64>,
    /// What the framing and the headers actually sent allow.
    pub ceiling: Option<f64>,
    /// The same for `reproduced`, whose headers are the period's.
    pub ceiling_reproduced: Option<f64>,
    /// The band, as a share of `published`, stated before the run.
    pub within: Option<f64>,
    /// How it stands; null where there is nothing or no band to compare with.
    pub verdict: Option<Verdict>,
    /// Why it is out of its band, or what else a reader should know.
    pub note: Option<String>,
    /// Whether the parameters were fitted without this row.
    pub held_out: bool,
}

impl Figure {
    /// `reproduced / published - 1`; none where nothing was published, or zero.
    pub fn error(&self) -> Option<f64> {
        let published = self.published.filter(|published| *published != 0.0)?;
        Some(self.reproduced? / published - 1.0)
    }
}

/// What a flow did in one run of one row.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowResult {
    /// Which row and variant.
    pub run: String,
    /// The flow's name.
    pub flow: String,
    /// What a reader should know, such as that congestion control fell back to another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What `ss -ti` would tell of the sending end: options, ECN, congestion control. Not part of the digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cc: Option<String>,
    /// Its metrics; null where one does not apply.
    #[serde(flatten)]
    pub metrics: BTreeMap<String, Option<f64>>,
}

/// What a link did in one run of one row.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LinkResult {
    /// Which row and variant.
    pub run: String,
    /// The link's name.
    pub link: String,
    /// Its metrics.
    #[serde(flatten)]
    pub metrics: BTreeMap<String, Option<f64>>,
}

/// What a host with a cost table did in one run of one row.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HostResult {
    /// Which row and variant.
    pub run: String,
    /// The host's name.
    pub host: String,
    /// Its metrics.
    #[serde(flatten)]
    pub metrics: BTreeMap<String, Option<f64>>,
}

/// A flow that broke or delivered other bytes than were sent: the result is a failed one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Failure {
    /// Which row and variant.
    pub run: String,
    /// The flow's name.
    pub flow: String,
    /// What went wrong.
    pub why: String,
}

/// An expectation of the plan and whether it holds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Expectation {
    /// Which row and variant.
    pub run: String,
    /// The metric.
    pub what: String,
    /// What it came to; null when it could not be measured.
    pub value: Option<f64>,
    /// The smallest value that passes.
    pub min: Option<f64>,
    /// The largest value that passes.
    pub max: Option<f64>,
    /// How it stands.
    pub verdict: Verdict,
    /// Why there is no value.
    pub note: Option<String>,
}

/// The figures in one line.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Summary {
    /// How many figures there are.
    pub figures: usize,
    /// How many of them have a verdict: those with a band, and those that could not be measured.
    pub compared: usize,
    /// How many stand as `ok`.
    pub ok: usize,
    /// How many stand as `noted`.
    pub noted: usize,
    /// How many stand as `failed`.
    pub failed: usize,
    /// How many are shown without a verdict.
    pub shown: usize,
    /// The expectations, counted apart.
    pub expectations: ExpectationSummary,
    /// Median of |reproduced / published - 1| over all rows.
    pub median_error: Option<f64>,
    /// The same over the rows the fit never saw.
    pub median_error_held_out: Option<f64>,
    /// The largest.
    pub worst_error: Option<f64>,
}

/// Expectations, counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ExpectationSummary {
    /// How many hold.
    pub met: usize,
    /// How many do not.
    pub failed: usize,
}

/// The result of one plan.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ResultDocument {
    /// [`RESULT_SCHEMA`].
    pub schema: &'static str,
    /// The plan's name.
    pub plan: String,
    /// The seed all randomness came from.
    pub seed: u64,
    /// SHA-256 of this document without seed, version, digest, timing and the flows' `cc`.
    pub digest: String,
    /// The version of trunkline.
    pub version: &'static str,
    /// What the plan reproduces, when it does.
    pub source: Option<String>,
    /// The parameters of the model.
    pub parameters: BTreeMap<String, Parameter>,
    /// The figures, in the plan's order.
    pub figures: Vec<Figure>,
    /// The expectations, in the plan's order.
    pub expectations: Vec<Expectation>,
    /// What went wrong in the runs themselves, one entry per flow and run.
    pub failures: Vec<Failure>,
    /// Every flow of every run.
    pub flows: Vec<FlowResult>,
    /// Every link of every run.
    pub links: Vec<LinkResult>,
    /// Every host with a cost table of every run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostResult>,
    /// The figures in one line.
    pub summary: Summary,
    /// How the run itself went; not part of the digest.
    pub timing: Timing,
}

/// How long a run took; machine and load decide, so it never enters the digest.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Timing {
    /// Simulations run: rows, variants and repetitions with other seeds.
    pub runs: u64,
    /// Frames serialised by a transmitter.
    pub packet_hops: u64,
    /// Virtual seconds.
    pub virtual_seconds: f64,
    /// Seconds of whoever ran it, where he has looked at a clock.
    pub wall_seconds: Option<f64>,
}

/// Several results and their sum.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct VerifyDocument {
    /// [`VERIFY_SCHEMA`].
    pub schema: &'static str,
    /// One result per plan.
    pub plans: Vec<ResultDocument>,
    /// All figures in one line.
    pub summary: Summary,
}

impl ResultDocument {
    /// Whether no figure and no expectation failed, and no flow broke.
    pub fn holds(&self) -> bool {
        let summary = &self.summary;
        summary.failed == 0 && summary.expectations.failed == 0 && self.failures.is_empty()
    }

    /// Fills in summary and digest; call once everything else stands.
    pub(crate) fn seal(&mut self) {
        self.summary = summarise(&self.figures, &self.expectations);
        self.digest = self.digest_of_content();
    }

    fn digest_of_content(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or(Value::Null);
        if let Value::Object(map) = &mut value {
            for key in ["seed", "version", "digest", "timing"] {
                map.remove(key);
            }
            let flows = map.get_mut("flows").and_then(Value::as_array_mut);
            for flow in flows.into_iter().flatten().filter_map(Value::as_object_mut) {
                flow.remove("cc");
            }
        }
        let hash = Sha256::digest(value.to_string().as_bytes());
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The flows as comma-separated values: run, flow, metric, value.
    pub fn flows_csv(&self) -> String {
        let mut csv = String::from("run,flow,metric,value\n");
        for flow in &self.flows {
            for (metric, value) in &flow.metrics {
                let value = value.map_or(String::new(), |v| v.to_string());
                csv += &format!("{},{},{metric},{value}\n", quoted(&flow.run), quoted(&flow.flow));
            }
        }
        csv
    }
}

impl VerifyDocument {
    /// The document of several results.
    pub fn new(plans: Vec<ResultDocument>) -> Self {
        let figures: Vec<Figure> = plans.iter().flat_map(|p| p.figures.clone()).collect();
        let expectations: Vec<Expectation> =
            plans.iter().flat_map(|p| p.expectations.clone()).collect();
        VerifyDocument { schema: VERIFY_SCHEMA, summary: summarise(&figures, &expectations), plans }
    }
}

/// The figures and expectations in one line.
pub(crate) fn summarise(figures: &[Figure], expectations: &[Expectation]) -> Summary {
    let count = |verdict| figures.iter().filter(|f| f.verdict == Some(verdict)).count();
    let shown = figures.iter().filter(|f| f.verdict.is_none()).count();
    let met = expectations.iter().filter(|e| e.verdict == Verdict::Ok).count();
    let errors = |held_out: bool| -> Vec<f64> {
        let chosen = figures.iter().filter(|f| !held_out || f.held_out);
        chosen.filter_map(|f| f.error().map(f64::abs)).collect()
    };
    let all = errors(false);
    Summary {
        figures: figures.len(),
        compared: figures.len() - shown,
        ok: count(Verdict::Ok),
        noted: count(Verdict::Noted),
        failed: count(Verdict::Failed),
        shown,
        expectations: ExpectationSummary { met, failed: expectations.len() - met },
        worst_error: all.iter().copied().reduce(f64::max),
        median_error: median(all),
        median_error_held_out: median(errors(true)),
    }
}

/// A text as a field of a CSV file, in quotes where it needs them (RFC 4180).
fn quoted(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// The middle value, or the mean of the two in the middle.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_even_and_nothing() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(2.5));
        assert_eq!(median(vec![]), None);
    }
}
