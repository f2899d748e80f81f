//! A new connection in place of one in TIME-WAIT (RFC 1122, 4.2.2.13; RFC 6191).

use super::{Connection, Segment, State};
use crate::seq::SeqNumber;

impl Connection {
    /// Whether a SYN that cannot be an old duplicate opens a new connection between the same ends: its
    /// timestamp, or without those its sequence number, is newer than all of this one. If so this one is
    /// over, and the new one's first sequence number must lie beyond the one returned, the last of this.
    pub fn give_way(&mut self, syn: &Segment) -> Option<SeqNumber> {
        if self.state != State::TimeWait {
            return None;
        }
        let later_seq = syn.repr.seq.gt(self.rcv_nxt);
        let is_new = match (self.agreed.timestamps, syn.repr.options.timestamps) {
            (true, Some(stamps)) => {
                let (new, old) = (SeqNumber(stamps.value), SeqNumber(self.agreed.ts_recent()));
                new.gt(old) || (new == old && later_seq)
            }
            // Timestamps that the old connection did not have tell the new one from it from now on.
            (false, Some(_)) => self.config.timestamps || later_seq,
            (_, None) => later_seq,
        };
        if !is_new {
            return None;
        }
        self.leave_time_wait();
        Some(self.snd_nxt)
    }
}
