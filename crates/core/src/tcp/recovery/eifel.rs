//! Eifel detection (RFC 3522) and response (RFC 4015): the timestamp of the first acknowledgment after a
//! retransmission tells whether it answers the original or the repeat.
//!
//! Deviation: the response is also taken after a fast retransmit, as deployed systems do.

use crate::cc::Phase;
use crate::seq::SeqNumber;
use crate::tcp::Connection;
use crate::tcp::options::stamp;
use crate::time::{Duration, Instant};

/// Whether the repair under way may prove needless. One acknowledgment per episode decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) enum Suspicion {
    /// Nothing was sent again yet.
    Open,
    /// The first retransmission bore this timestamp: an echo of an older one proves that the original
    /// arrived.
    ResentAt(u32),
    /// There is nothing left to find out.
    Decided,
}

impl Connection {
    /// Remembers when the first retransmission of an episode left.
    pub(super) fn suspect(&mut self, now: Instant) {
        let wanted = self.config.eifel && self.agreed.timestamps;
        if wanted
            && self.repairing.phase != Phase::Open
            && self.repairing.suspicion == Suspicion::Open
        {
            self.repairing.suspicion = Suspicion::ResentAt(stamp(now));
        }
    }

    /// The first advancing acknowledgment of an episode decides. Returns whether all was taken back.
    pub(super) fn undo_if_spurious(&mut self, now: Instant, echo: Option<u32>) -> bool {
        let (Suspicion::ResentAt(resent), Some(echo)) = (self.repairing.suspicion, echo) else {
            return false;
        };
        // Later acknowledgments of the episode answer retransmissions.
        self.repairing.suspicion = Suspicion::Decided;
        let answers_original = SeqNumber(echo).lt(SeqNumber(resent));
        if self.repairing.phase == Phase::Open || !answers_original {
            return false;
        }
        let was_timeout = self.repairing.phase == Phase::Loss;
        self.undo(now);
        if was_timeout && let Some(rtt) = self.echoed_rtt(now, Some(echo)) {
            self.rtt.adopt_spurious(rtt);
        }
        true
    }

    /// The round trip that an echoed timestamp tells, in whole milliseconds.
    pub(super) fn echoed_rtt(&self, now: Instant, echo: Option<u32>) -> Option<Duration> {
        let echo = echo.filter(|echo| *echo != 0 && self.agreed.timestamps)?;
        let millis = stamp(now).wrapping_sub(echo);
        (millis < u32::MAX / 2).then(|| Duration::from_millis(u64::from(millis)))
    }
}
