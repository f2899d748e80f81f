//! Judging what was lost: by what is SACKed above (RFC 6675), by time (RFC 8985), or all of it after a
//! timeout.

use super::{Fate, Scoreboard, Sending};
use crate::time::{Duration, Instant};

/// What is SACKed from the cursor of [`Scoreboard::judge`] on.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Above {
    pub bytes: u32,
    /// Runs of SACKed records, each counted by its last.
    pub runs: u32,
}

/// What judging by time found.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(in crate::tcp) struct Overdue {
    /// Something is lost that was not before.
    pub found: bool,
    /// When the next may be.
    pub next: Option<Instant>,
}

impl Scoreboard {
    fn is_sacked(&self, index: usize) -> bool {
        self.records.get(index).is_some_and(|r| r.fate == Fate::Sacked)
    }

    /// Counts a record just SACKed.
    pub(super) fn count_above(&mut self, index: usize) {
        let number = self.first + index as u64;
        if number < self.judged_end {
            return;
        }
        self.above.bytes += self.records[index].len;
        if !self.is_sacked(index + 1) {
            self.above.runs += 1;
        }
        let continues = number > self.judged_end && index > 0 && self.is_sacked(index - 1);
        if continues {
            self.above.runs -= 1;
        }
    }

    /// What [`Above`] must be.
    pub(super) fn count_all_above(&self) -> Above {
        let mut above = Above::default();
        let start = self.judged_end.saturating_sub(self.first) as usize;
        for index in start..self.records.len() {
            if self.is_sacked(index) {
                above.bytes += self.records[index].len;
                above.runs += u32::from(!self.is_sacked(index + 1));
            }
        }
        above
    }

    /// Marks what RFC 6675 calls lost: enough was SACKed above it. Returns whether more is lost than
    /// before.
    pub fn judge(&mut self, mss: u32, dup_threshold: u32) -> bool {
        let lost_before = self.lost;
        let mut index = self.judged_end.saturating_sub(self.first) as usize;
        while let Some(record) = self.records.get(index) {
            self.visits.note();
            let mut above = self.above;
            if record.fate == Fate::Sacked {
                above.bytes -= record.len;
                above.runs -= u32::from(!self.is_sacked(index + 1));
            }
            let enough = above.bytes > (dup_threshold - 1) * mss || above.runs >= dup_threshold;
            if !enough {
                break;
            }
            self.above = above;
            self.mark_lost(index);
            index += 1;
            self.judged_end = self.first + index as u64;
        }
        self.lost != lost_before
    }

    /// Marks what left before `latest`, which has arrived, and has been under way for `patience`
    /// (RFC 8985, 6.2 step 5). Both those sent once and those sent again are looked at in the order in
    /// which they left, and only as far as something is overdue.
    pub fn judge_by_time(&mut self, now: Instant, latest: Sending, patience: Duration) -> Overdue {
        let again = self.judge_resendings(now, latest, patience);
        let mut overdue = Overdue::default();
        let mut index = self.overdue_end.saturating_sub(self.first) as usize;
        while let Some(record) = self.records.get(index) {
            self.visits.note();
            match record.fate {
                Fate::Sacked => index += record.sacked_run as usize,
                Fate::Lost | Fate::Resent => index += 1,
                Fate::InFlight if !record.sending().is_before(latest) => break,
                Fate::InFlight if record.sent_at + patience > now => {
                    overdue.next = Some(record.sent_at + patience);
                    break;
                }
                Fate::InFlight => {
                    self.mark_lost(index);
                    overdue.found = true;
                    index += 1;
                }
            }
        }
        self.overdue_end = self.first + index as u64;
        overdue.found |= again.found;
        overdue.next = match (overdue.next, again.next) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        overdue
    }

    fn judge_resendings(&mut self, now: Instant, latest: Sending, patience: Duration) -> Overdue {
        let mut overdue = Overdue::default();
        loop {
            self.drop_stale_resendings();
            let Some((number, _)) = self.resent.front().copied() else {
                break;
            };
            self.visits.note();
            let record = &mut self.records[(number - self.first) as usize];
            if !record.sending().is_before(latest) {
                break;
            }
            if record.sent_at + patience > now {
                overdue.next = Some(record.sent_at + patience);
                break;
            }
            record.fate = Fate::Lost;
            self.lost += record.len;
            self.lost_again.push_back(number);
            self.resent.pop_front();
            overdue.found = true;
        }
        overdue
    }

    /// Drops entries at the head of the queue whose record has arrived or has been sent again since.
    pub(super) fn drop_stale_resendings(&mut self) {
        while let Some((number, order)) = self.resent.front().copied() {
            let index = number.checked_sub(self.first).map(|index| index as usize);
            let record = index.and_then(|index| self.records.get(index));
            if record.is_some_and(|r| r.fate == Fate::Resent && r.order == order) {
                break;
            }
            self.resent.pop_front();
        }
    }

    pub(super) fn mark_lost(&mut self, index: usize) {
        let record = &mut self.records[index];
        if record.fate == Fate::InFlight {
            record.fate = Fate::Lost;
            self.lost += record.len;
            self.resend_from = self.resend_from.min(self.first + index as u64);
        }
    }

    /// Marks the first record as lost unless it was sent again already.
    pub fn mark_front_lost(&mut self) {
        if !self.records.is_empty() {
            self.mark_lost(0);
        }
    }

    /// Marks everything that is not SACKed as lost, whatever was sent again.
    pub fn mark_all_lost(&mut self) {
        self.mark_lost_if_sent_by(Instant::FAR_FUTURE);
    }

    /// Marks the first record and what left up to `at` as lost, unless it is SACKed, whatever was sent
    /// again. A SACKed front means that the peer took its SACKs back, and none is believed.
    pub fn mark_lost_if_sent_by(&mut self, at: Instant) {
        let renege = self.front().is_some_and(|r| r.fate == Fate::Sacked);
        self.lost = 0;
        for (index, record) in self.records.iter_mut().enumerate() {
            if record.fate == Fate::Sacked && !renege {
                continue;
            }
            let is_lost = record.fate == Fate::Lost;
            if index == 0 || record.sent_at <= at || renege || is_lost {
                record.fate = Fate::Lost;
                self.lost += record.len;
            }
        }
        if renege {
            (self.sacked, self.sacked_segments) = (0, 0);
            (self.sacked_end, self.reach) = (0, 0);
        }
        self.lost_again.clear();
        self.resend_from = self.first;
        self.overdue_end = self.first;
        self.judged_end = self.first + self.records.len() as u64;
        self.above = Above::default();
    }

    /// Takes back the marking of records as lost that were not sent again yet.
    pub fn unmark_lost(&mut self) {
        self.resent.clear();
        for (index, record) in self.records.iter_mut().enumerate() {
            if record.fate == Fate::Lost {
                record.fate = match record.transmissions {
                    0 | 1 => Fate::InFlight,
                    _ => Fate::Resent,
                };
            }
            if record.fate == Fate::Resent {
                self.resent.push_back((self.first + index as u64, record.order));
            }
        }
        let next = self.sends.wrapping_add(1);
        self.resent.make_contiguous().sort_unstable_by_key(|(_, order)| order.wrapping_sub(next));
        self.lost_again.clear();
        self.lost = 0;
        self.overdue_end = self.first;
        self.judged_end = self.first;
        self.above = self.count_all_above();
    }
}
