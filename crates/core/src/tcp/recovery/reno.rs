//! Fast recovery as 4.3BSD-Reno had it (1990): as NewReno, but the first advancing acknowledgment ends it,
//! and what else was lost is found by duplicates again or by the timer.

use crate::tcp::Connection;

impl Connection {
    /// Enough duplicates, whatever they come from.
    pub(super) fn reno_finds_loss(&self) -> bool {
        self.repairing.dup_acks == u32::from(self.config.dup_ack_threshold)
    }
}
