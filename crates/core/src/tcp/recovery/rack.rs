//! RACK (RFC 8985): lost is what left before a segment that has arrived and has been under way for longer
//! than that one took, by a window for reordering. Retransmissions are judged like everything else.
//!
//! Deviations: the reordering timer is set for the first segment that may be overdue, not for the last; a
//! fast recovery that proves needless counts as reordering seen, though the segment was sent again.

use crate::cc::Phase;
use crate::seq::SeqNumber;
use crate::tcp::Connection;
use crate::tcp::options::stamp;
use crate::tcp::scoreboard::{Delivered, Sending};
use crate::tcp::timer::Due;
use crate::time::{Duration, Instant};

/// Recoveries without a D-SACK until the reordering window is small again (RFC 8985, 6.2 step 4).
const RECOVERIES_KEPT: u8 = 16;

/// What is known of the order in which segments arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tcp) struct Rack {
    /// The last sent of all segments that are known to have arrived.
    latest: Option<Sending>,
    /// The round trip of the last of them.
    rtt: Duration,
    reordering_seen: bool,
    /// The reordering window in quarters of the shortest round trip.
    quarters: u32,
    /// Recoveries until it is one quarter again.
    kept: u8,
    /// D-SACKs before this is acknowledged belong to one round.
    round_end: Option<SeqNumber>,
}

/// The later of two sendings.
fn later(a: Option<Sending>, b: Option<Sending>) -> Option<Sending> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if a.is_before(b) { b } else { a }),
        (a, b) => a.or(b),
    }
}

impl Rack {
    pub fn new() -> Self {
        Rack {
            latest: None,
            rtt: Duration::ZERO,
            reordering_seen: false,
            quarters: 1,
            kept: 0,
            round_end: None,
        }
    }

    /// Steps 1 to 3: what was delivered, and whether out of order. A retransmission counts only when it
    /// cannot be an earlier sending that arrived.
    fn learn(&mut self, now: Instant, told: &Delivered, echo: Option<u32>, rtt_min: Duration) {
        self.reordering_seen |= told.reordered;
        let echoed = |sending: &Sending| {
            echo.is_none_or(|echo| SeqNumber(echo).ge(SeqNumber(stamp(sending.at))))
        };
        let again = later(told.resent.filter(echoed), told.resent_sacked);
        let again = again.filter(|sending| now - sending.at >= rtt_min);
        if let Some(sending) = later(told.original, again) {
            self.rtt = now - sending.at;
            if self.latest.is_none_or(|latest| latest.is_before(sending)) {
                self.latest = Some(sending);
            }
        }
    }

    /// A D-SACK: retransmissions were needless, so the window for reordering grows, once per round.
    pub fn on_duplicate(&mut self, snd_una: SeqNumber, snd_nxt: SeqNumber) {
        if self.round_end.is_none_or(|end| snd_una.ge(end)) {
            self.round_end = Some(snd_nxt);
            self.quarters = self.quarters.saturating_add(1);
            self.kept = RECOVERIES_KEPT;
        }
    }

    /// A fast recovery was needless.
    pub fn on_undo(&mut self) {
        self.reordering_seen = true;
    }

    pub fn on_recovery_end(&mut self) {
        self.kept = self.kept.saturating_sub(1);
        if self.kept == 0 {
            self.quarters = 1;
        }
    }

    /// Forgets a round that is over, or its end would lie ahead once the sequence space has wrapped.
    pub fn on_advance(&mut self, snd_una: SeqNumber) {
        if self.round_end.is_some_and(|end| snd_una.ge(end)) {
            self.round_end = None;
        }
    }
}

impl Connection {
    /// Takes what the scoreboard has learnt from an acknowledgment.
    pub(in crate::tcp) fn learn_delivered(&mut self, now: Instant, echo: Option<u32>) -> Delivered {
        let delivered = self.board.take_delivered();
        let echo = echo.filter(|echo| *echo != 0 && self.agreed.timestamps);
        self.repairing.rack.learn(now, &delivered, echo, self.rtt.rtt_min());
        delivered
    }

    /// How much longer than a round trip a segment may take: step 4.
    fn reorder_window(&self) -> Duration {
        let rack = &self.repairing.rack;
        let enough_sacked =
            self.board.sacked_segments() >= u32::from(self.config.dup_ack_threshold);
        if !rack.reordering_seen && (enough_sacked || self.repairing.phase != Phase::Open) {
            return Duration::ZERO;
        }
        let rtt_min = self.rtt.rtt_min();
        let ceiling = self.rtt.srtt().unwrap_or(rtt_min);
        (rtt_min * u64::from(rack.quarters) / 4).min(ceiling)
    }

    /// Step 5: judges what is in flight; true when something more is lost. What is not overdue yet is
    /// looked at again when it is.
    pub(super) fn rack_finds_loss(&mut self, now: Instant) -> bool {
        self.timers.reorder = Due::NEVER;
        let Some(latest) = self.repairing.rack.latest.filter(|_| self.board.is_marked()) else {
            return false;
        };
        let patience = self.repairing.rack.rtt + self.reorder_window();
        let overdue = self.board.judge_by_time(now, latest, patience);
        self.timers.reorder = Due::from(overdue.next);
        overdue.found
    }

    /// After a timeout: the first segment is lost, the others only if they are overdue (6.3).
    pub(super) fn rack_mark_timeout(&mut self, now: Instant) {
        let patience = self.repairing.rack.rtt + self.reorder_window();
        let sent_by = Instant::from_nanos(now.as_nanos().saturating_sub(patience.as_nanos()));
        self.board.mark_lost_if_sent_by(sent_by);
        self.timers.reorder = Due::NEVER;
    }

    /// The reordering timer expired.
    pub(in crate::tcp) fn take_reorder_timeout(&mut self, now: Instant) {
        let before = self.before_ack();
        self.repair_losses(now, &before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + MS(ms)
    }

    fn sending((ms, order): (u64, u32)) -> Sending {
        Sending { at: at(ms), order, end: SeqNumber(0) }
    }

    fn told(original: Option<(u64, u32)>, resent: Option<(u64, u32)>) -> Delivered {
        Delivered {
            original: original.map(sending),
            resent: resent.map(sending),
            ..Delivered::default()
        }
    }

    #[test]
    fn the_latest_is_the_last_sent_and_not_the_last_to_arrive() {
        let mut rack = Rack::new();
        rack.learn(at(100), &told(Some((10, 300)), None), None, MS(50));
        rack.learn(at(110), &told(Some((10, 200)), None), None, MS(50));
        assert_eq!(rack.latest, Some(sending((10, 300))));
        assert_eq!(rack.rtt, MS(100), "the round trip is that of the last to arrive");
    }

    #[test]
    fn a_resending_counts_only_when_it_was_surely_it_that_arrived() {
        let mut rack = Rack::new();
        rack.learn(at(100), &told(None, Some((60, 100))), None, MS(50));
        assert_eq!(rack.latest, None, "sooner than any round trip");
        rack.learn(at(120), &told(None, Some((60, 100))), Some(stamp(at(40))), MS(50));
        assert_eq!(rack.latest, None, "the echo is older");
        rack.learn(at(120), &told(None, Some((60, 100))), Some(stamp(at(60))), MS(50));
        assert_eq!(rack.latest, Some(sending((60, 100))));
    }

    #[test]
    fn the_window_grows_once_per_round_and_shrinks_after_16_recoveries() {
        let mut rack = Rack::new();
        rack.on_duplicate(SeqNumber(0), SeqNumber(1000));
        rack.on_duplicate(SeqNumber(500), SeqNumber(1500));
        assert_eq!(rack.quarters, 2);
        rack.on_duplicate(SeqNumber(1000), SeqNumber(2000));
        assert_eq!(rack.quarters, 3);
        for _ in 0..15 {
            rack.on_recovery_end();
        }
        assert_eq!(rack.quarters, 3);
        rack.on_recovery_end();
        assert_eq!(rack.quarters, 1);
    }
}
