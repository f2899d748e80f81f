//! SACK-based detection (RFC 6675): lost is what has enough SACKed above it.

use crate::cc::Phase;
use crate::tcp::Connection;

impl Connection {
    /// Judges the scoreboard; true when something is lost or the duplicates suffice.
    pub(super) fn sack_finds_loss(&mut self) -> bool {
        if !self.board.has_sacked() {
            return false;
        }
        let threshold = u32::from(self.config.dup_ack_threshold).max(1);
        let lost = self.board.judge(self.agreed.mss, threshold);
        lost || self.repairing.dup_acks >= threshold
    }

    /// What may be sent when nothing is known to be lost and no new data is there: rule 3 of NextSeg,
    /// segments below the highest SACK that nobody has judged.
    pub(in crate::tcp) fn next_suspect(&mut self) -> Option<usize> {
        if self.repairing.phase != Phase::Recovery {
            return None;
        }
        self.board.next_suspect()
    }

    /// Rule 4 of NextSeg: once per recovery the last segment, so that its loss does not cost a timeout.
    pub(in crate::tcp) fn next_rescue(&mut self) -> Option<usize> {
        let due = self.repairing.phase == Phase::Recovery
            && self.board.has_sacked()
            && !self.repairing.rescued
            && !self.board.has_lost();
        if !due {
            return None;
        }
        self.repairing.rescued = true;
        let last = self.board.len().checked_sub(1)?;
        self.board.is_in_flight(last).then_some(last)
    }
}
