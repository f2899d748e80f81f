//! Eifel detection (RFC 3522) and response (RFC 4015): the timestamp of the first acknowledgment after a
//! retransmission tells whether it answers the original or the repeat.
//!
//! Deviation: the response is also taken after a fast retransmit, as deployed systems do.

use crate::cc::Phase;
use crate::seq::SeqNumber;
use crate::tcp::Connection;
use crate::tcp::options::stamp;
use crate::time::{Duration, Instant};

/// The timestamp of the first retransmission of an episode: an echo of an older one proves that the
/// original arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) struct Suspicion {
    resent_stamp: u32,
}

impl Connection {
    /// Remembers when the first retransmission of an episode left.
    pub(super) fn suspect(&mut self, now: Instant) {
        let wanted = self.config.eifel && self.agreed.timestamps;
        if wanted && self.repairing.phase != Phase::Open && self.repairing.suspicion.is_none() {
            self.repairing.suspicion = Some(Suspicion {
                resent_stamp: stamp(now),
            });
        }
    }

    /// The first advancing acknowledgment of an episode decides. Returns whether all was taken back.
    pub(super) fn undo_if_spurious(&mut self, now: Instant, echo: Option<u32>) -> bool {
        let (Some(suspicion), Some(echo)) = (self.repairing.suspicion, echo) else {
            return false;
        };
        // Consumed: later acknowledgments of the episode answer retransmissions.
        self.repairing.suspicion = None;
        let answers_original = SeqNumber(echo).lt(SeqNumber(suspicion.resent_stamp));
        if self.repairing.phase == Phase::Open || !answers_original {
            return false;
        }
        let was_timeout = self.repairing.phase == Phase::Loss;
        self.stats.undos += 1;
        self.board.unmark_lost();
        self.end_undone(now);
        if was_timeout && let Some(rtt) = self.echoed_rtt(now, Some(echo)) {
            self.rtt.adopt_spurious(rtt);
        }
        true
    }

    fn end_undone(&mut self, now: Instant) {
        self.repairing.phase = Phase::Open;
        self.repairing.dup_acks = 0;
        self.repairing.force = false;
        self.cc.on_undo(now);
        self.rtt.forget_backoff();
    }

    /// The round trip that an echoed timestamp tells, in whole milliseconds.
    pub(super) fn echoed_rtt(&self, now: Instant, echo: Option<u32>) -> Option<Duration> {
        let echo = echo.filter(|echo| *echo != 0 && self.agreed.timestamps)?;
        let millis = stamp(now).wrapping_sub(echo);
        (millis < u32::MAX / 2).then(|| Duration::from_millis(u64::from(millis)))
    }
}
