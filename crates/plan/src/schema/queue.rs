//! `queue` of a link: a limit, or a table with a discipline.

use crate::diagnostic::{Problem, Problems};
use crate::model::Discipline;
use crate::quantity::LIMIT_FORM;
use crate::reader::{self, Section, Taken, Unfit};
use crate::tree::Node;
use trunkline_core::queue::Limit;
use trunkline_core::queue::red::{Above, WEIGHT_LOG2_MAX};
use trunkline_core::units::Ratio;

#[derive(Clone, Copy)]
enum Kind {
    DropTail,
    StepEcn,
    FqCodel,
    Red,
}

const KINDS: [(&str, Kind); 4] = [
    ("drop-tail", Kind::DropTail),
    ("step-ecn", Kind::StepEcn),
    ("fq-codel", Kind::FqCodel),
    ("red", Kind::Red),
];
const KINDS_LATER: [&str; 2] = ["codel", "classes"];

/// Whether a link's queue is one of the network, which sees IP packets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// It is: any discipline will do.
    Network,
    /// It is the bond's own.
    Bond,
}

/// What waits in front of a link's transmitter, by default `limit`.
pub(super) fn queue(
    limit: Limit,
    place: Place,
    s: &mut Section<'_>,
    problems: &mut Problems,
) -> (Limit, Discipline) {
    let is_table = s.node("queue").is_some_and(|node| node.as_table().is_some());
    if !is_table {
        return (s.or(problems, "queue", limit, reader::limit), Discipline::DropTail);
    }
    let Some(mut s) = s.section(problems, "queue") else {
        return (limit, Discipline::DropTail);
    };
    let kind = s.req(problems, "kind", "\"drop-tail\"", reader::choice(&KINDS, &KINDS_LATER));
    let limit = s.or(problems, "limit", limit, reader::limit);
    let discipline = match kind {
        None | Some(Kind::DropTail) => Some(Discipline::DropTail),
        Some(Kind::FqCodel) => Some(Discipline::FqCodel),
        Some(Kind::StepEcn) => step_ecn(limit, &mut s, problems),
        Some(Kind::Red) => red(limit, &mut s, problems),
    };
    if kind.is_none() {
        // It is not known which keys go with it.
        return (limit, Discipline::DropTail);
    }
    if place == Place::Bond && !matches!(kind, None | Some(Kind::DropTail)) {
        let message = "the network has no queue of its own here, or sees no IP packets in it";
        let at = s.node("kind").map_or(s.place, |node| node.place);
        let problem = Problem::new(at, s.key("kind"), message);
        problems.push(problem.accepted(["a udp link with lab.rate and without trunk"]));
    }
    s.finish(problems);
    (limit, discipline.unwrap_or(Discipline::DropTail))
}

/// `mark`, or `k` as the papers on DCTCP call it.
fn step_ecn(limit: Limit, s: &mut Section<'_>, problems: &mut Problems) -> Option<Discipline> {
    let (mark, k) = (s.node("mark").is_some(), s.node("k").is_some());
    if mark && k {
        let problem = Problem::new(s.place, s.key("k"), "`k` and `mark` are the same");
        problems.push(problem.accepted(["one of both"]));
    }
    let key = if k && !mark { "k" } else { "mark" };
    let mark = s.req(problems, key, "\"20p\"", below("limit", limit))?;
    Some(Discipline::StepEcn { mark })
}

fn red(limit: Limit, s: &mut Section<'_>, problems: &mut Problems) -> Option<Discipline> {
    let max = s.req(problems, "max", "\"15p\"", below("limit", limit));
    let min = match max {
        Some(max) => s.req(problems, "min", "\"5p\"", threshold(max)),
        None => s.opt(problems, "min", reader::limit),
    };
    let tenth = Ratio::from_ppb(100_000_000);
    let probability_max = s.or(problems, "probability", tenth, reader::ratio);
    let weight = reader::whole(0, i128::from(WEIGHT_LOG2_MAX));
    let weight_log2 = s.or(problems, "weight_log2", 9, weight);
    let above = match s.or(problems, "gentle", true, reader::flag) {
        true => Above::Gentle,
        false => Above::DropAll,
    };
    Some(Discipline::Red { min: min?, max: max?, probability_max, weight_log2, above })
}

/// A limit below another of the plan, where the two can be compared.
fn below(name: &'static str, other: Limit) -> impl Fn(&Node) -> Taken<Limit> {
    move |node| {
        let limit = reader::limit(node)?;
        let is_below = match (limit, other) {
            (Limit::Packets(n), Limit::Packets(other)) => n < other,
            (Limit::Bytes(n), Limit::Bytes(other)) => n < other,
            (Limit::Time(span), Limit::Time(other)) => span < other,
            _ => true,
        };
        match is_below {
            true => Ok(limit),
            false => Err(Unfit::new(format!("is not below {name}"), range_below(other))),
        }
    }
}

/// What fits below a limit.
fn range_below(limit: Limit) -> String {
    match limit {
        Limit::Packets(1) | Limit::Bytes(1) => format!("{LIMIT_FORM}, and a larger limit"),
        Limit::Packets(n) => format!("from 1p to {}p", n - 1),
        Limit::Bytes(n) => format!("from 1B to {}B", n - 1),
        Limit::Time(span) => format!("from 1ns to less than {span}"),
    }
}

/// RED's lower threshold: of the kind of the upper one, and below it.
fn threshold(max: Limit) -> impl Fn(&Node) -> Taken<Limit> {
    move |node| {
        let min = below("max", max)(node)?;
        match std::mem::discriminant(&min) == std::mem::discriminant(&max) {
            true => Ok(min),
            false => Err(Unfit::new("has not the unit of `max`", LIMIT_FORM)),
        }
    }
}
