//! SACK-based detection (RFC 6675): lost is what has enough SACKed above it.
//!
//! Deviation: rules 3 and 4 of NextSeg are left out. They send again what is only late when there is no
//! new data; the tail waits for the timer instead.

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
}
