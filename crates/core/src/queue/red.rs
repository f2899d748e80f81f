//! Random early detection (Floyd and Jacobson, 1993): the longer the average queue, the more of what
//! arrives is marked, or dropped where it cannot be marked, so that senders slow down one by one before
//! the queue is full. Optionally "gentle" (Floyd, 2000).
//!
//! Signals are spread as the text of the paper says, over 1 to 1/p arrivals; its pseudo-code counts one
//! arrival too many. The average is kept in fixed point, and what is drawn is a whole number: the same on every machine.
//!
//! Beyond the upper threshold also what could be marked is dropped (RFC 3168, 7): senders that do not
//! listen gain nothing. Where everything beyond a threshold shall be marked, take [`super::StepEcn`].

use super::{DropTail, Limit};
use crate::frame::Frame;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::Ratio;
use crate::wire::ip::Marked;
use crate::work::DropReason;

#[cfg(test)]
mod tests;

/// Binary places of the average.
const FRACTION: u32 = 24;
/// The slowest average there is: one part in 65,536 per arrival.
pub const WEIGHT_LOG2_MAX: u8 = 16;
const ONE: u64 = Ratio::ONE.as_ppb() as u64;

/// What happens above the upper threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Above {
    /// Everything is dropped.
    DropAll,
    /// The probability rises on, to 1 at twice the threshold: "gentle".
    Gentle,
}

/// How the queue is set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RedConfig {
    /// What the queue may hold.
    pub limit: Limit,
    /// While the average is below, nothing happens.
    pub min: Limit,
    /// Where the probability has reached its maximum; in the unit of `min` and above it.
    pub max: Limit,
    /// The probability there, between marks; marks are spread evenly.
    pub probability_max: Ratio,
    /// An arrival's weight in the average is 2 to the power of minus this.
    pub weight_log2: u8,
    /// What happens above the upper threshold.
    pub above: Above,
    /// How long the link takes for a packet of usual size: by this the average of an idle queue falls.
    pub packet_time: Duration,
}

impl RedConfig {
    /// The authors' advice: thresholds of 5 and 15 packets, a weight of 1/512, at most one in ten, gentle.
    pub const fn new(limit: Limit, packet_time: Duration) -> Self {
        RedConfig {
            limit,
            min: Limit::Packets(5),
            max: Limit::Packets(15),
            probability_max: Ratio::from_ppb(100_000_000),
            weight_log2: 9,
            above: Above::Gentle,
            packet_time,
        }
    }
}

/// What a queue did to arrivals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RedCounts {
    /// Marked at random.
    pub marked: u64,
    /// Dropped at random, because they could not be marked.
    pub early: u64,
    /// Dropped because the average was beyond all bounds.
    pub forced: u64,
    /// Dropped for want of room.
    pub full: u64,
}

/// What the average says about an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Pass,
    Signal,
    Drop,
}

/// A first-in first-out queue that signals early and at random.
#[derive(Clone, Debug)]
pub struct Red<T = Frame> {
    queue: DropTail<T>,
    config: RedConfig,
    /// The thresholds and the average, with binary places, in packets or bytes.
    min: u64,
    max: u64,
    average: u64,
    /// Arrivals let pass since the last signal; none while the average is below the lower threshold.
    since_signal: Option<u64>,
    /// Since when the queue is empty.
    idle_since: Option<Instant>,
    rng: Rng,
    counts: RedCounts,
}

impl<T> Red<T> {
    /// An empty queue.
    ///
    /// # Panics
    /// When a limit is a time (resolve it first with [`Limit::at_rate`]), when the thresholds have not
    /// one unit or are not in order, or when the weight is below 1/65,536.
    pub fn new(config: RedConfig, rng: Rng) -> Self {
        let (min, max) = match (config.min, config.max) {
            (Limit::Packets(min), Limit::Packets(max)) => (u64::from(min), u64::from(max)),
            (Limit::Bytes(min), Limit::Bytes(max)) => (min, max),
            _ => panic!("both thresholds of a queue are in packets, or both in bytes"),
        };
        assert!(min < max && max <= u64::from(u32::MAX), "thresholds are in order");
        assert!(config.weight_log2 <= WEIGHT_LOG2_MAX, "the average would never move");
        Red {
            queue: DropTail::new(config.limit),
            config,
            min: min << FRACTION,
            max: max << FRACTION,
            average: 0,
            since_signal: None,
            idle_since: None,
            rng,
            counts: RedCounts::default(),
        }
    }

    /// Appends an item of `len` bytes, perhaps marked by `mark`, or gives it back.
    pub fn push(
        &mut self,
        now: Instant,
        item: T,
        len: u32,
        mark: impl FnOnce(&T) -> Marked,
    ) -> Result<(), (T, DropReason)> {
        self.update_average(now);
        let verdict = self.judge();
        if verdict == Verdict::Drop {
            self.counts.forced += 1;
            return Err((item, DropReason::Congestion));
        }
        if !self.queue.fits(len) {
            self.counts.full += 1;
            return Err((item, DropReason::QueueFull));
        }
        if verdict == Verdict::Signal {
            if mark(&item) == Marked::NotCapable {
                self.counts.early += 1;
                return Err((item, DropReason::Congestion));
            }
            self.counts.marked += 1;
        }
        self.queue.push(item, len).map_err(|item| (item, DropReason::QueueFull))
    }

    /// Takes the first item and its length.
    pub fn pop(&mut self, now: Instant) -> Option<(T, u32)> {
        let taken = self.queue.pop();
        if taken.is_some() && self.queue.is_empty() {
            self.idle_since = Some(now);
        }
        taken
    }

    /// Takes the first item and its length from a queue that is being cleared.
    pub fn take_any(&mut self) -> Option<(T, u32)> {
        self.queue.pop()
    }

    /// Items waiting.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Bytes waiting.
    pub const fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// What was done to arrivals so far.
    pub const fn counts(&self) -> &RedCounts {
        &self.counts
    }

    /// The average queue, in packets or bytes as the thresholds are, rounded down.
    pub const fn average(&self) -> u64 {
        self.average >> FRACTION
    }

    fn update_average(&mut self, now: Instant) {
        if self.queue.is_empty() {
            if let Some(since) = self.idle_since.take() {
                let missed = (now - since).as_nanos() / self.config.packet_time.as_nanos().max(1);
                self.average = decayed(self.average, self.config.weight_log2, missed);
            }
            return;
        }
        let length = match self.config.min {
            Limit::Packets(_) => self.queue.len() as u64,
            Limit::Bytes(_) | Limit::Time(_) => self.queue.bytes(),
        };
        // At most one frame above a limit that a 32-bit count of binary places holds.
        let length = length.min(u64::from(u32::MAX)) << FRACTION;
        let weight = self.config.weight_log2;
        if length >= self.average {
            self.average += (length - self.average) >> weight;
        } else {
            self.average -= (self.average - length) >> weight;
        }
    }

    fn judge(&mut self) -> Verdict {
        let Some(probability) = self.probability() else {
            self.since_signal = None;
            return Verdict::Pass;
        };
        if probability >= ONE {
            self.since_signal = Some(0);
            return Verdict::Drop;
        }
        let since = self.since_signal.unwrap_or(0);
        // p / (1 - count * p): the distance between signals is uniform, not geometric.
        let rest = ONE.saturating_sub(since.saturating_mul(probability));
        let signal = rest <= probability || self.rng.below(rest) < probability;
        self.since_signal = Some(if signal { 0 } else { since + 1 });
        if signal { Verdict::Signal } else { Verdict::Pass }
    }

    /// The probability at this average in parts per thousand million; none below the lower threshold.
    fn probability(&self) -> Option<u64> {
        let most = u64::from(self.config.probability_max.as_ppb());
        if self.average < self.min {
            return None;
        }
        if self.average < self.max {
            return Some(part(most, self.average - self.min, self.max - self.min));
        }
        match self.config.above {
            Above::Gentle if self.average < 2 * self.max => {
                Some(most + part(ONE - most, self.average - self.max, self.max))
            }
            Above::Gentle | Above::DropAll => Some(ONE),
        }
    }
}

/// `whole * part / of`, where `part` is below `of`.
fn part(whole: u64, part: u64, of: u64) -> u64 {
    (u128::from(whole) * u128::from(part) / u128::from(of)) as u64
}

/// The average after `missed` arrivals at an empty queue: `average * (1 - w)^missed`.
fn decayed(average: u64, weight_log2: u8, mut missed: u64) -> u64 {
    const PLACES: u32 = 32;
    let mut factor = (1u64 << PLACES) - (1 << (PLACES - u32::from(weight_log2)));
    let mut average = u128::from(average);
    while missed > 0 && average > 0 {
        if missed & 1 == 1 {
            average = (average * u128::from(factor)) >> PLACES;
        }
        factor = ((u128::from(factor) * u128::from(factor)) >> PLACES) as u64;
        missed >>= 1;
    }
    average as u64
}
