//! `knee` of a figure: where a quantity stops gaining from the doubling of a row's value.

use crate::diagnostic::{Problem, Problems};
use crate::reader::{self, Section};
use crate::template::Bindings;
use crate::tree::Node;

/// The smallest value of a variable whose double gains less than a share; one row's part of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Knee {
    /// The row's value that is doubled, by its name.
    pub over: String,
    /// Its value in this row.
    pub at: f64,
    /// The share below which doubling it no longer pays.
    pub gain: f64,
}

pub(crate) fn knee(
    mut s: Section<'_>,
    bindings: &Bindings,
    problems: &mut Problems,
) -> Option<Knee> {
    let place = s.place;
    let key = s.key("over");
    let over = s.req(problems, "over", "\"mtu\"", reader::text);
    let gain = s.req(problems, "gain", "0.10", reader::number);
    s.finish(problems);
    let over = over?;
    let Some(at) = bindings.value(&over).and_then(Node::as_number) else {
        let problem = Problem::new(place, key, format!("`{over}` is no number of the rows"));
        problems.push(problem.found(over).accepted(["the name of a number in [lab.rows]"]));
        return None;
    };
    Some(Knee { over, at, gain: gain? })
}
