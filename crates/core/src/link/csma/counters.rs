//! What a half-duplex Ethernet has seen: the counters of IEEE 802.3, clause 30, that stations keep, of all of them
//! together.

use super::ATTEMPTS_MAX;
use crate::time::Duration;

/// What a medium has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frames that got through.
    pub sent: u64,
    /// Their bits, without preambles and gaps.
    pub sent_bits: u64,
    /// Collisions, of however many frames.
    pub collisions: u64,
    /// Frames given up.
    pub given_up: u64,
    /// Frames that were not begun at once because somebody else was heard.
    pub deferred: u64,
    /// Frames that got through by the number of their attempts, from one on.
    pub attempts: [u64; ATTEMPTS_MAX as usize],
    /// The time in which somebody sent, fragments included.
    pub busy: Duration,
}

impl Counters {
    /// A frame has got through after so many collisions.
    pub(super) fn note_sent(&mut self, collisions: u8, bits: u64) {
        self.sent += 1;
        self.sent_bits += bits;
        self.attempts[usize::from(collisions)] += 1;
    }

    /// Attempts that a frame needed in the mean; none before one got through.
    pub fn attempts_mean(&self) -> Option<f64> {
        let attempts = self.attempts.iter().zip(1u64..).map(|(frames, attempt)| frames * attempt);
        (self.sent > 0).then(|| attempts.sum::<u64>() as f64 / self.sent as f64)
    }
}
