//! Puts the packets of each flow bucket back into their order.
//!
//! What arrives in order passes at once; what arrives early is held for its predecessors. A missing
//! packet is given up when
//!
//! - every path that is up has delivered something of its bucket sent after it: paths keep their order, so
//!   it is lost (the minimum over the links of RFC 1990, section 4.1, kept per bucket), or
//! - its successor has waited for as long as the paths' delays differ, with a margin for their jitter and
//!   for what was too short a wait lately, but never longer than the bond's `reorder.max`: that long while
//!   one of the paths is still unknown.
//!
//! Buckets do not wait for each other. What arrives after it was given up passes at once: TCP sorts it.
//! A bucket's first packet, and one that is far off, sets the count: the sender is new or began anew.

use crate::Context;
use crate::deadlines::Deadlines;
use crate::frame::{Frame, LinkId};
use crate::time::{Duration, Instant};
use crate::wire::trunk::{BUCKETS, BucketSeq, Turn};
use crate::work::DropReason;
use std::collections::VecDeque;

use super::path::Path;

/// Packets held in all: a tenth of a second at a gigabit.
pub(super) const HELD_MAX: usize = 8192;
/// Sequences further off than this are another sender's.
const FAR: i32 = 1 << 17;
/// The least that a wait is stretched by a packet that came too late.
const STRETCH_MIN: Duration = Duration::from_millis(4);
/// A stretch is halved after this long without another.
const STRETCH_HALF: Duration = Duration::from_secs(1);

/// What the resequencer did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ResequencerStats {
    /// Packets that were held at all.
    pub held: u64,
    /// Gaps given up because every path had passed them.
    pub passed: u64,
    /// Gaps given up because of the wait.
    pub expired: u64,
    /// Packets that came after they had been given up.
    pub late: u64,
}

/// A packet that has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) frame: Frame,
    pub(super) link: LinkId,
    pub(super) turn: Turn,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    frame: Frame,
    seq: BucketSeq,
    at: Instant,
}

/// What a bucket with a missing packet holds. Reused, so that steady loss allocates nothing.
#[derive(Clone, Default, Debug)]
struct Gap {
    bucket: u16,
    /// Packets behind the missing one, by sequence; never empty while the gap is open.
    held: VecDeque<Held>,
    /// The latest packet of the bucket from each path.
    latest: Vec<(LinkId, BucketSeq)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bucket {
    /// Nothing has come yet.
    Unknown,
    /// All before `next` has come or was given up, the last time by waiting if `expired`.
    Flowing { next: BucketSeq, expired: bool },
    /// `next` is missing: the number of the gap.
    Waiting { next: BucketSeq, gap: u16 },
}

/// Why the first missing packet of a bucket is given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GivenUp {
    Passed,
    Expired,
}

/// The order of all buckets of one bond.
#[derive(Clone, Debug)]
pub(super) struct Resequencer {
    wait_max: Duration,
    buckets: Box<[Bucket]>,
    gaps: Vec<Gap>,
    free: Vec<u16>,
    held: usize,
    deadlines: Deadlines,
    next_deadline: Option<Instant>,
    stretch: Duration,
    stretched_at: Instant,
    stats: ResequencerStats,
}

impl Resequencer {
    pub(super) fn new(wait_max: Duration) -> Resequencer {
        Resequencer {
            wait_max,
            buckets: vec![Bucket::Unknown; usize::from(BUCKETS)].into(),
            gaps: Vec::new(),
            free: Vec::new(),
            held: 0,
            deadlines: Deadlines::new(),
            next_deadline: None,
            stretch: Duration::ZERO,
            stretched_at: Instant::ZERO,
            stats: ResequencerStats::default(),
        }
    }

    pub(super) const fn stats(&self) -> &ResequencerStats {
        &self.stats
    }

    /// Packets held.
    pub(super) const fn held_frames(&self) -> usize {
        self.held
    }

    /// When the next wait ends.
    pub(super) const fn next_deadline(&self) -> Option<Instant> {
        self.next_deadline
    }

    /// Takes a packet; it and what it was waited for go to `out`.
    pub(super) fn arrive(
        &mut self,
        now: Instant,
        cx: &mut Context,
        arrival: Arrival,
        paths: &[Path],
        out: &mut VecDeque<Frame>,
    ) {
        let Arrival { frame, turn: Turn { bucket, seq }, .. } = arrival;
        let index = usize::from(bucket);
        match self.buckets[index] {
            Bucket::Unknown => {
                self.buckets[index] = Bucket::Flowing { next: seq.plus(1), expired: false };
                out.push_back(frame);
            }
            Bucket::Flowing { next, .. } if seq == next => {
                self.buckets[index] = Bucket::Flowing { next: seq.plus(1), expired: false };
                out.push_back(frame);
            }
            Bucket::Flowing { next, .. } | Bucket::Waiting { next, .. }
                if seq.since(next).abs() > FAR =>
            {
                self.restart(bucket, seq, out);
                out.push_back(frame);
            }
            Bucket::Flowing { next, expired } if seq.since(next) < 0 => {
                self.late(now, expired);
                out.push_back(frame);
            }
            Bucket::Waiting { next, .. } if seq.since(next) < 0 => {
                self.late(now, false);
                out.push_back(frame);
            }
            Bucket::Flowing { next, .. } => {
                let gap = self.open(bucket);
                self.buckets[index] = Bucket::Waiting { next, gap };
                self.hold(now, cx, arrival, gap);
                self.settle(now, bucket, paths, out);
            }
            Bucket::Waiting { next, gap } if seq == next => {
                out.push_back(frame);
                self.note(gap, arrival);
                self.advance(bucket, seq.plus(1), gap, false, out);
                self.settle(now, bucket, paths, out);
            }
            Bucket::Waiting { gap, .. } => {
                self.hold(now, cx, arrival, gap);
                self.settle(now, bucket, paths, out);
            }
        }
        self.next_deadline = self.deadlines.earliest().map(|(at, _)| at);
    }

    /// Gives up what has been waited for long enough.
    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        paths: &[Path],
        out: &mut VecDeque<Frame>,
    ) {
        while let Some((_, gap)) = self.deadlines.pop(now) {
            let bucket = self.gaps[gap as usize].bucket;
            self.give_up(bucket, GivenUp::Expired, out);
            self.settle(now, bucket, paths, out);
        }
        self.next_deadline = self.deadlines.earliest().map(|(at, _)| at);
    }

    /// Lets everything go and forgets every count: the sender began anew.
    pub(super) fn reset(&mut self, out: &mut VecDeque<Frame>) {
        for index in 0..self.gaps.len() {
            out.extend(self.gaps[index].held.iter().map(|held| held.frame));
            self.gaps[index].held.clear();
            self.deadlines.set(index as u32, None);
        }
        self.free = (0..self.gaps.len() as u16).collect();
        self.held = 0;
        self.buckets.fill(Bucket::Unknown);
        self.next_deadline = None;
    }

    fn restart(&mut self, bucket: u16, seq: BucketSeq, out: &mut VecDeque<Frame>) {
        if let Bucket::Waiting { gap, .. } = self.buckets[usize::from(bucket)] {
            let frames = &mut self.gaps[usize::from(gap)].held;
            self.held -= frames.len();
            out.extend(frames.drain(..).map(|held| held.frame));
            self.close(gap);
        }
        self.buckets[usize::from(bucket)] = Bucket::Flowing { next: seq.plus(1), expired: false };
    }

    fn open(&mut self, bucket: u16) -> u16 {
        let gap = self.free.pop().unwrap_or_else(|| {
            self.gaps.push(Gap::default());
            (self.gaps.len() - 1) as u16
        });
        let this = &mut self.gaps[usize::from(gap)];
        this.bucket = bucket;
        this.latest.clear();
        gap
    }

    fn close(&mut self, gap: u16) {
        self.deadlines.set(u32::from(gap), None);
        self.free.push(gap);
    }

    /// Notes how far the arrival's path has come in its bucket.
    fn note(&mut self, gap: u16, arrival: Arrival) {
        let latest = &mut self.gaps[usize::from(gap)].latest;
        match latest.iter_mut().find(|(link, _)| *link == arrival.link) {
            Some((_, seq)) if arrival.turn.seq.since(*seq) > 0 => *seq = arrival.turn.seq,
            Some(_) => {}
            None => latest.push((arrival.link, arrival.turn.seq)),
        }
    }

    fn hold(&mut self, now: Instant, cx: &mut Context, arrival: Arrival, gap: u16) {
        self.note(gap, arrival);
        let seq = arrival.turn.seq;
        let queue = &mut self.gaps[usize::from(gap)].held;
        let place = match queue.back() {
            Some(last) if seq.since(last.seq) <= 0 => {
                queue.partition_point(|held| held.seq.since(seq) < 0)
            }
            _ => queue.len(),
        };
        if queue.get(place).is_some_and(|held| held.seq == seq) {
            return cx.drop_frame(arrival.frame, DropReason::Duplicate);
        }
        queue.insert(place, Held { frame: arrival.frame, seq, at: now });
        self.held += 1;
        self.stats.held += 1;
    }

    /// All before `next` is done with: what is held from there on goes too.
    fn advance(
        &mut self,
        bucket: u16,
        mut next: BucketSeq,
        gap: u16,
        expired: bool,
        out: &mut VecDeque<Frame>,
    ) {
        let queue = &mut self.gaps[usize::from(gap)].held;
        while let Some(held) = queue.pop_front_if(|held| held.seq == next) {
            out.push_back(held.frame);
            next = next.plus(1);
            self.held -= 1;
        }
        self.buckets[usize::from(bucket)] = if queue.is_empty() {
            self.close(gap);
            Bucket::Flowing { next, expired }
        } else {
            Bucket::Waiting { next, gap }
        };
    }

    fn give_up(&mut self, bucket: u16, why: GivenUp, out: &mut VecDeque<Frame>) {
        let Bucket::Waiting { gap, .. } = self.buckets[usize::from(bucket)] else {
            return;
        };
        match why {
            GivenUp::Passed => self.stats.passed += 1,
            GivenUp::Expired => self.stats.expired += 1,
        }
        if let Some(first) = self.gaps[usize::from(gap)].held.front().map(|held| held.seq) {
            self.advance(bucket, first, gap, why == GivenUp::Expired, out);
        }
    }

    /// Gives up what every path has passed, or what there is no room to wait for, and sets the wait for
    /// what is still missing.
    fn settle(&mut self, now: Instant, bucket: u16, paths: &[Path], out: &mut VecDeque<Frame>) {
        while let Bucket::Waiting { next, gap } = self.buckets[usize::from(bucket)] {
            let this = &self.gaps[usize::from(gap)];
            let is_behind = |path: &&Path| {
                let latest = this.latest.iter().find(|(link, _)| *link == path.link());
                latest.is_none_or(|(_, seq)| seq.since(next) < 0)
            };
            let missing = paths.iter().filter(|path| path.is_up()).find(is_behind);
            if missing.is_none() {
                self.give_up(bucket, GivenUp::Passed, out);
            } else if self.held > HELD_MAX {
                self.give_up(bucket, GivenUp::Expired, out);
            } else {
                let since = this.held.front().map_or(now, |held| held.at);
                let wait = self.wait(now, paths);
                self.deadlines.set(u32::from(gap), Some(since + wait));
                break;
            }
        }
    }

    /// A packet came after it had been given up; when waiting was the reason, it was too short.
    fn late(&mut self, now: Instant, expired: bool) {
        self.stats.late += 1;
        if expired {
            self.stretch = (self.stretch * 2).max(STRETCH_MIN).min(self.wait_max);
            self.stretched_at = now;
        }
    }

    /// How long a missing packet is waited for.
    fn wait(&mut self, now: Instant, paths: &[Path]) -> Duration {
        while !self.stretch.is_zero() && now - self.stretched_at >= STRETCH_HALF {
            self.stretch =
                if self.stretch <= STRETCH_MIN { Duration::ZERO } else { self.stretch / 2 };
            self.stretched_at += STRETCH_HALF;
        }
        let wait = |skew| skew + super::margin(paths) + self.stretch;
        super::skew(paths).map_or(self.wait_max, wait).min(self.wait_max)
    }

    /// Every packet held.
    pub(super) fn frames(&self) -> impl Iterator<Item = Frame> {
        self.gaps.iter().flat_map(|gap| gap.held.iter().map(|held| held.frame))
    }

    pub(super) fn check_invariants(&self) {
        assert_eq!(self.frames().count(), self.held, "packets held");
        let mut open = 0;
        for (index, gap) in self.gaps.iter().enumerate().filter(|(_, gap)| !gap.held.is_empty()) {
            let Bucket::Waiting { next, gap: number } = self.buckets[usize::from(gap.bucket)]
            else {
                panic!("packets are held that nothing is missing before");
            };
            assert_eq!(usize::from(number), index, "a gap of two buckets");
            assert!(gap.held[0].seq.since(next) > 0, "what is held could go");
            open += 1;
        }
        assert_eq!(open + self.free.len(), self.gaps.len(), "gaps open");
        assert!(self.held == 0 || self.next_deadline.is_some(), "no wait for what is held");
    }
}
