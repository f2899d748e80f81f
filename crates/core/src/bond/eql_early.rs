//! `eql-early`: the scheduler EQL's manual tells of, from before the deployed formula.
//!
//! Known of it: it pushed 5.3 kB/s through lines of 28800 and 14400 bit/s, which is 98 % of both at eight
//! bits per byte (and more than ten bits per byte allow); with priorities far apart (57600 and 14400) the
//! fast line got all traffic and the slow one starved; and other weights of the queue were tried before
//! the deployed 8: 2, 4 and 1.
//!
//! The formula here is our reconstruction, a hypothesis: the rate counts in bit/s, not yet in bytes, and
//! the queue weighs 2. The fast line's head start is then half the difference of the rates in bytes:
//! 7200 at 28800:14400, which a TCP window of 8–16 kB fills, and 21600 at 57600:14400, which it never
//! does. On asynchronous lines the slow one starves at 28800:14400 as well, since the counters decay
//! 25 % faster than such lines send and never reach the head start. The rest is as in `eql`.

use super::eql::{self, Record};
use super::member::Member;
use super::scheduler::{FrameMeta, Pick};

/// How much a queued byte weighs against a bit per second of rate.
const QUEUE_WEIGHT: u32 = 2;

pub(super) fn pick(members: &[Member], meta: FrameMeta) -> Pick {
    eql::least_loaded(members, meta, load)
}

const fn load(record: &Record) -> u32 {
    eql::weigh(record.weight.as_bps(), record.bytes_queued, QUEUE_WEIGHT)
}
