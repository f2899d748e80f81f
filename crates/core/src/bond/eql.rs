//! `eql`: the scheduler of the Linux EQL driver as deployed in 1995.
//!
//! Source: behaviour of the 1.3-era driver and its manual. Per packet, the member with the smallest
//! `2^31 − bytes_per_second + 8 × bytes_queued` wins, in wrapping 32-bit arithmetic, first one met on
//! ties; the newest member is met first. A dead member met on the way is buried, the last one when
//! there are several. Once a second every counter drops by what the line should have sent.
//!
//! It is kept with its faults: the queue is not divided by the rate, so rates far apart balance worse
//! than the fast line alone; 8 bits per byte makes an asynchronous line look 25 % faster than it is;
//! and a frame is committed at arrival even when the member's queue is full, which then drops it.
//!
//! One deviation: what still waits for a member when it is emancipated goes over the others. The driver
//! only frees its record, and the device sends what it was given; here the member is the device's queue.

use super::member::{Member, Sending};
use super::scheduler::{FrameMeta, Pick, Target};
use crate::time::Duration;
use crate::units::BitRate;

/// The decay timer's period.
pub const DECAY_PERIOD: Duration = Duration::from_secs(1);
/// `max_slaves` after every open.
pub const MAX_SLAVES: u16 = 4;

/// The middle of the range of a 32-bit word, from which loads go up and down.
const HALF: u32 = 1 << 31;
/// How much a queued byte weighs against a byte per second of rate.
const QUEUE_WEIGHT: u32 = 8;

/// What EQL keeps per member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Record {
    pub(super) weight: BitRate,
    pub(super) bytes_queued: u64,
}

impl Record {
    pub(super) const fn new(weight: BitRate) -> Self {
        Record { weight, bytes_queued: 0 }
    }

    const fn bytes_per_second(&self) -> u64 {
        self.weight.as_bps() / 8
    }

    pub(super) const fn add(&mut self, len: u32) {
        self.bytes_queued += len as u64;
    }

    /// What the line should have sent in `seconds` is no longer queued.
    pub(super) const fn decay(&mut self, seconds: u64) {
        let sent = self.bytes_per_second().saturating_mul(seconds);
        self.bytes_queued = self.bytes_queued.saturating_sub(sent);
    }

    fn load(&self) -> u32 {
        weigh(self.bytes_per_second(), self.bytes_queued, QUEUE_WEIGHT)
    }
}

/// The formula, as a 32-bit machine computes it.
pub(super) const fn weigh(head_start: u64, bytes_queued: u64, queue_weight: u32) -> u32 {
    HALF.wrapping_sub(head_start as u32)
        .wrapping_add((bytes_queued as u32).wrapping_mul(queue_weight))
}

pub(super) fn pick(members: &[Member], meta: FrameMeta) -> Pick {
    least_loaded(members, meta, Record::load)
}

/// The walk over the list that both EQL schedulers make.
#[inline]
pub(super) fn least_loaded(
    members: &[Member],
    meta: FrameMeta,
    load: impl Fn(&Record) -> u32,
) -> Pick {
    let mut bury = None;
    let mut best: Option<(usize, u32)> = None;
    for (index, member) in members.iter().enumerate() {
        match member.sending() {
            Sending::Ready => {}
            Sending::Down => {
                bury = Some(member.link());
                continue;
            }
            Sending::Never => continue,
        }
        let load = load(&member.eql);
        if best.is_none_or(|(_, least)| load < least) {
            best = Some((index, load));
        }
    }
    let target = best.map_or(Target::None, |(index, _)| Target::single(index, meta));
    Pick { target, bury }
}
