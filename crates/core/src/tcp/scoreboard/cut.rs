//! Records that are larger than segments may be by now: they are sent again in pieces.

use super::{Fate, Record, Scoreboard};

impl Scoreboard {
    /// Marks what is in flight with more than `payload_max` bytes of payload as lost.
    pub fn mark_larger_lost(&mut self, payload_max: u32) {
        for index in 0..self.records.len() {
            let record = &mut self.records[index];
            if record.payload() <= payload_max {
                continue;
            }
            // Its entry among the resendings is out of date then.
            if record.fate == Fate::Resent {
                record.fate = Fate::InFlight;
            }
            self.mark_lost(index);
        }
    }

    /// Cuts a lost record into pieces of at most `payload_max` bytes of payload; a FIN stays with the last.
    pub fn split(&mut self, index: usize, payload_max: u32) {
        let mut rest = self.records[index];
        debug_assert_eq!(rest.fate, Fate::Lost);
        let mut at = index;
        while rest.payload() > payload_max {
            self.records.insert(at, Record { len: payload_max, fin: false, ..rest });
            rest = Record { seq: rest.seq + payload_max, len: rest.len - payload_max, ..rest };
            at += 1;
        }
        self.records[at] = rest;
        let (number, added) = (self.first + index as u64, (at - index) as u64);
        let ends = [
            &mut self.sacked_end,
            &mut self.reach,
            &mut self.judged_end,
            &mut self.overdue_end,
            &mut self.resend_from,
        ];
        let resent = self.resent.iter_mut().map(|entry| &mut entry.0);
        for later in ends.into_iter().chain(resent).chain(&mut self.lost_again) {
            if *later > number {
                *later += added;
            }
        }
        // Pieces of what was lost again are found by their place.
        self.resend_from = self.resend_from.min(number);
    }
}
