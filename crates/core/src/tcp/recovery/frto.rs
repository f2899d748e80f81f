//! F-RTO with SACK (RFC 5682, 3): after a timeout the first acknowledgment is answered with new data; what
//! the next one covers tells whether the rest of the flight had arrived all the time.
//!
//! Deviation: it is used where the timestamps do not tell already (`eifel`), and the timeout is taken
//! back as the last congestion was no congestion.

use super::Before;
use crate::cc::Phase;
use crate::tcp::Connection;
use crate::tcp::scoreboard::Delivered;
use crate::time::Instant;

/// New segments that leave in step 2.
const NEW_SEGMENTS: u8 = 2;

/// How far the question is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) enum Frto {
    /// It is not asked.
    Off,
    /// The first segment was sent again; its acknowledgment is awaited.
    Resent,
    /// New data leaves and nothing is sent again; the next acknowledgment decides.
    SentNew,
}

impl Connection {
    /// Step 1, at a timeout out of the open or recovering state.
    pub(super) fn start_frto(&mut self) {
        let told_by_echo = self.config.eifel && self.agreed.timestamps;
        let asked = self.config.frto
            && self.agreed.repair.uses_sack()
            && self.repairing.timeouts == 1
            && self.repairing.phase != Phase::Loss
            && self.may_send_data()
            && !told_by_echo;
        self.repairing.frto = if asked { Frto::Resent } else { Frto::Off };
    }

    pub(super) fn stop_frto(&mut self) {
        if self.repairing.frto == Frto::SentNew {
            self.repairing.beyond_window = 0;
        }
        self.repairing.frto = Frto::Off;
    }

    /// Steps 2 and 3, after an acknowledgment.
    pub(super) fn take_frto_answer(&mut self, now: Instant, before: &Before, told: &Delivered) {
        let advanced = self.snd_una.gt(before.snd_una);
        match self.repairing.frto {
            Frto::Off => {}
            Frto::Resent if !advanced => {}
            Frto::Resent => {
                let can_send = self.unsent() > 0 && self.usable_window() >= self.agreed.mss;
                self.stop_frto();
                if can_send {
                    self.repairing.frto = Frto::SentNew;
                    self.repairing.beyond_window = NEW_SEGMENTS;
                }
            }
            Frto::SentNew => {
                let recover = self.repairing.recover;
                let never_lost = told.original_low.is_some_and(|end| end.le(recover));
                let beyond = told.original.is_some_and(|sending| sending.end.gt(recover));
                if never_lost {
                    self.undo(now);
                } else if beyond || !advanced {
                    self.stop_frto();
                }
            }
        }
    }
}
