//! `eql-early`: the scheduler EQL's manual tells of, from before the deployed formula.
//!
//! Known of it: it pushed 5.3 kB/s through lines of 28800 and 14400 bit/s, and with priorities far apart
//! (57600 and 14400) the fast line got all traffic and the slow one starved; and the driver's log says
//! that other weights of the queue, 1 among them, were tried before 8.
//!
//! The formula here is our reconstruction, a hypothesis: the deployed one with queue weight 1. The fast
//! line's head start is then the difference of the bytes per second itself: 1800 bytes at 28800:14400,
//! which a second of traffic passes, but 5400 at 57600:14400, about what the line sends between two
//! decays, so the slow line's turn hardly ever comes. Everything else is as in `eql`.

use super::eql;
use super::member::Member;
use super::scheduler::{FrameMeta, Pick};

/// How much a queued byte weighs against a byte per second of rate.
const QUEUE_WEIGHT: u32 = 1;

pub(super) fn pick(members: &[Member], meta: FrameMeta) -> Pick {
    eql::least_loaded(members, meta, QUEUE_WEIGHT)
}
