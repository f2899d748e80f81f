//! `link` of a `[[lab.host]]` that leads to a segment.

use crate::diagnostic::{Problem, Problems};
use crate::network::Station;
use crate::reader::{self, Section};
use trunkline_core::link::Recovery;
use trunkline_core::link::receiver::SPAN_82586;
use trunkline_core::units::Ratio;

/// What a station has and a cable has not.
pub(super) const KEYS: [&str; 1] = ["receiver"];
/// What a cable has and a station has not.
const OF_THE_SEGMENT: [&str; 3] = ["rate", "delay", "jitter"];

/// `{ to, mtu, receiver }`; `to` has been read, and is this segment.
pub(super) fn station(
    mut s: Section<'_>,
    segment: usize,
    mtu: (u16, i128),
    problems: &mut Problems,
) -> Station {
    s.node("to");
    for key in OF_THE_SEGMENT {
        if let Some(node) = s.node(key) {
            let message = format!("`{key}` of a host on a segment: all share the segment's");
            let problem = Problem::new(node.place, s.key(key), message);
            let form = "`rate` and `propagation` of the [[lab.segment]]";
            problems.push(problem.found(node.value.to_string()).accepted([form]));
        }
    }
    let (usual, most) = mtu;
    let mtu = s.or(problems, "mtu", usual, reader::whole(super::link::MTU_MIN, most));
    let recovery = s.section(problems, "receiver").map(|s| recovery(s, problems));
    s.finish(problems);
    Station { segment, mtu, recovery }
}

/// `{ recovery, loss }`.
fn recovery(mut s: Section<'_>, problems: &mut Problems) -> Recovery {
    let span = s.or(problems, "recovery", SPAN_82586, reader::some_time);
    let loss = s.req(problems, "loss", "\"30%\"", reader::ratio).unwrap_or(Ratio::ZERO);
    s.finish(problems);
    Recovery { span, loss }
}
