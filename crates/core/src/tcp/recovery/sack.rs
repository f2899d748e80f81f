//! SACK-based detection (RFC 6675): lost is what has enough SACKed above it.
//!
//! Deviations: rule 3 of NextSeg is left out, which sends again what is only late. Rule 4, the rescue of
//! the end of the flight, waits until a retransmission was answered and the end is older than a round trip.

use crate::cc::Phase;
use crate::tcp::Connection;
use crate::tcp::options::Repair;
use crate::tcp::scoreboard::Fate;
use crate::time::Instant;

impl Connection {
    /// Judges the scoreboard; true when something more is lost or the duplicates suffice.
    pub(super) fn sack_finds_loss(&mut self) -> bool {
        if !self.board.has_sacked() {
            return false;
        }
        let threshold = u32::from(self.config.dup_ack_threshold).max(1);
        let lost = self.board.judge(self.agreed.mss, threshold);
        lost || (self.repairing.phase == Phase::Open && self.repairing.dup_acks >= threshold)
    }

    /// Rule 4 of NextSeg: with nothing else to send, the end of the flight goes once more, once per
    /// recovery, since nothing above it can tell that it was lost.
    pub(in crate::tcp) fn next_rescue(&mut self, now: Instant) -> Option<usize> {
        let repairing = &self.repairing;
        let wanted = self.agreed.repair == Repair::Sack
            && repairing.phase == Phase::Recovery
            && repairing.partial_seen
            && !repairing.rescued
            && !self.board.has_lost();
        if !wanted || (self.unsent() > 0 && self.usable_window() > 0) {
            return None;
        }
        let tail = self.board.unsacked_tail().filter(|tail| tail.fate == Fate::InFlight)?;
        let late = self.rtt.srtt().is_some_and(|srtt| tail.sent_at + srtt <= now);
        if !late || !self.window_admits(tail.len) {
            return None;
        }
        self.repairing.rescued = true;
        Some(self.board.len() - 1)
    }
}
