//! Tables of `tcp` that single congestion controls are told: `vegas = { alpha = 2 }`. A table of an
//! algorithm that is not at work is checked and waits: a variant may choose it.

use crate::diagnostic::Problems;
use crate::reader::{self, Section, Unfit};
use trunkline_core::cc::dctcp::{ALPHA_ONE, SHIFT_G_MAX};
use trunkline_core::cc::vegas::Doubling;
use trunkline_core::tcp::config::Tuning;

const DOUBLINGS: [(&str, Doubling); 2] =
    [("every-rtt", Doubling::EveryRound), ("every-other-rtt", Doubling::EveryOtherRound)];
/// Segments in a queue at most.
const QUEUED_MAX: i128 = 65_535;

/// Reads what there is into `tuning`.
pub(super) fn tuning(tuning: &mut Tuning, s: &mut Section<'_>, problems: &mut Problems) {
    tuning.abe = s.or(problems, "abe", tuning.abe, reader::flag);
    if let Some(mut section) = s.section(problems, "cubic") {
        let hystart = tuning.cubic.hystart;
        tuning.cubic.hystart = section.or(problems, "hystart", hystart, reader::flag);
        section.finish(problems);
    }
    if let Some(section) = s.section(problems, "vegas") {
        vegas(tuning, section, problems);
    }
    if let Some(section) = s.section(problems, "dctcp") {
        dctcp(tuning, section, problems);
    }
}

fn vegas(tuning: &mut Tuning, mut s: Section<'_>, problems: &mut Problems) {
    let vegas = &mut tuning.vegas;
    let count = || reader::whole(0, QUEUED_MAX);
    vegas.alpha = s.or(problems, "alpha", vegas.alpha, count());
    let alpha = vegas.alpha;
    let default = vegas.beta.max(alpha);
    vegas.beta = s.or(problems, "beta", default, |node| match count()(node)? {
        beta if beta < alpha => Err(Unfit::new("is below alpha", format!("at least {alpha}"))),
        beta => Ok(beta),
    });
    vegas.gamma = s.or(problems, "gamma", vegas.gamma, count());
    vegas.doubling = s.or(problems, "slow_start", vegas.doubling, reader::choice(&DOUBLINGS, &[]));
    vegas.cong_avoid = s.or(problems, "cong_avoid", vegas.cong_avoid, reader::flag);
    s.finish(problems);
}

fn dctcp(tuning: &mut Tuning, mut s: Section<'_>, problems: &mut Problems) {
    let dctcp = &mut tuning.dctcp;
    let (shift_max, one) = (i128::from(SHIFT_G_MAX), i128::from(ALPHA_ONE));
    dctcp.shift_g = s.or(problems, "shift_g", dctcp.shift_g, reader::whole(0, shift_max));
    dctcp.alpha_on_init =
        s.or(problems, "alpha_on_init", dctcp.alpha_on_init, reader::whole(0, one));
    s.finish(problems);
}
