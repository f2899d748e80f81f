//! NewReno (RFC 6582): duplicate acknowledgments point to the first segment, a partial acknowledgment to
//! the next.

use crate::cc::Phase;
use crate::tcp::Connection;
use crate::tcp::scoreboard::Acked;

impl Connection {
    /// Enough duplicates, and not from what an earlier repair sent needlessly (RFC 6582, 3.2 step 1).
    pub(super) fn newreno_finds_loss(&self) -> bool {
        self.repairing.dup_acks >= u32::from(self.config.dup_ack_threshold)
            && self.snd_una.gt(self.repairing.recover)
    }

    /// A partial acknowledgment: the next hole is lost too and is sent at once.
    pub(super) fn newreno_partial_ack(&mut self, acked: &Acked) {
        debug_assert_eq!(self.repairing.phase, Phase::Recovery);
        // Segments behind the hole were counted when their duplicates came; the hole itself was not.
        let counted = acked.records.saturating_sub(1);
        self.repairing.dup_acks = self.repairing.dup_acks.saturating_sub(counted);
        self.board.mark_front_lost();
        self.repairing.force = true;
    }
}
