//! What is in flight: one record per segment sent and not yet acknowledged, and what became of it.
//!
//! Records lie in order of sequence without gaps, so a place is guessed from the distance or found by
//! binary search. Every step beside that is O(1) amortised, however large the window: cursors only move
//! forward, the first record of what a SACK block covers knows how far it reaches, and what was sent once
//! is in order of transmission as it lies, so that only what was sent again needs a queue of its own.

mod cut;
mod judge;
#[cfg(test)]
mod tests;

use crate::frame::Ticket;
use crate::seq::SeqNumber;
use crate::time::Instant;
use crate::wire::tcp::SackBlocks;
use judge::Above;
use std::collections::VecDeque;

/// What is believed of one segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// On its way.
    InFlight,
    /// Arrived out of order (RFC 2018).
    Sacked,
    /// Lost, or not yet sent at all; waits for its turn.
    Lost,
    /// Sent again and on its way.
    Resent,
}

/// One segment in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Record {
    pub seq: SeqNumber,
    /// Sequence numbers it takes: payload, SYN and FIN.
    pub len: u32,
    /// When it was last sent.
    pub sent_at: Instant,
    /// Which of all sendings that was.
    pub order: u32,
    /// The packet it was last sent in.
    pub packet: Option<Ticket>,
    pub transmissions: u8,
    pub fate: Fate,
    pub syn: bool,
    pub fin: bool,
    /// Of a SACKed record: so many from it on are known to be SACKed, itself included.
    pub sacked_run: u32,
}

/// One sending of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sending {
    /// When it left.
    pub at: Instant,
    /// Its place in the order of all sendings, modulo 2^32.
    pub order: u32,
    /// Where the segment ends.
    pub end: SeqNumber,
}

/// Whether one sending was before another: never half of the space apart.
fn is_before(order: u32, other: u32) -> bool {
    (order.wrapping_sub(other) as i32) < 0
}

impl Sending {
    /// Whether it left earlier than `other` (RFC 8985, 6.2: RACK_sent_after). What leaves in the same
    /// instant is told apart too.
    pub fn is_before(self, other: Sending) -> bool {
        is_before(self.order, other.order)
    }
}

/// How an arrival was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    Acked,
    Sacked,
}

/// What acknowledgments told of single segments, SACKed or acknowledged, since it was last taken.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Delivered {
    /// The last sent of those that were sent once.
    pub original: Option<Sending>,
    /// The last sent of those that were sent again, acknowledged or SACKed: which of its sendings arrived
    /// is not known. The echo in an acknowledgment is about what it acknowledges, not what it SACKs.
    pub resent: Option<Sending>,
    pub resent_sacked: Option<Sending>,
    /// Where the lowest of those that were sent once ends.
    pub original_low: Option<SeqNumber>,
    /// One that was sent once arrived after one above it.
    pub reordered: bool,
}

impl Delivered {
    fn note(&mut self, record: &Record, told: Told, overtaken: bool) {
        let sending = record.sending();
        if record.transmissions > 1 {
            let place = match told {
                Told::Acked => &mut self.resent,
                Told::Sacked => &mut self.resent_sacked,
            };
            if place.is_none_or(|last| last.is_before(sending)) {
                *place = Some(sending);
            }
            return;
        }
        if self.original.is_none_or(|last| last.is_before(sending)) {
            self.original = Some(sending);
        }
        if self.original_low.is_none_or(|low| sending.end.lt(low)) {
            self.original_low = Some(sending.end);
        }
        self.reordered |= overtaken;
    }
}

impl Record {
    pub fn end(&self) -> SeqNumber {
        self.seq + self.len
    }
    /// Its last sending.
    pub fn sending(&self) -> Sending {
        Sending { at: self.sent_at, order: self.order, end: self.end() }
    }
    /// Payload bytes.
    pub fn payload(&self) -> u32 {
        self.len - u32::from(self.syn) - u32::from(self.fin)
    }
}

/// What a cumulative acknowledgment took off the scoreboard.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Acked {
    /// Payload bytes.
    pub payload: u32,
    /// Whole records.
    pub records: u32,
    /// When the oldest of them left, if none of them was sent twice.
    pub sampled_from: Option<Instant>,
    /// Whether the SYN was among them.
    pub syn: bool,
    /// Whether the FIN was among them.
    pub fin: bool,
}

/// The records and the sums over them.
#[derive(Clone, Default, Debug)]
pub(super) struct Scoreboard {
    records: VecDeque<Record>,
    /// Records ever taken off: the number of the front record.
    first: u64,
    flight: u32,
    sacked: u32,
    sacked_segments: u32,
    lost: u32,
    /// One past the number of the highest SACKed record.
    sacked_end: u64,
    /// The same before the acknowledgment that is being taken.
    reach: u64,
    /// Records below have been judged by what is SACKed above them, and what that is above all these.
    judged_end: u64,
    above: Above,
    /// Records below that were sent once have been judged by time.
    overdue_end: u64,
    /// Records sent, first and repeated.
    sends: u32,
    /// What was sent again, in order of transmission: the record's number and which sending it was.
    /// Entries may be out of date.
    resent: VecDeque<(u64, u32)>,
    /// No lost record lies below but those in `lost_again`.
    resend_from: u64,
    /// Numbers of records whose last resending was lost too. Entries may be out of date.
    lost_again: VecDeque<u64>,
    delivered: Delivered,
    visits: Visits,
}

/// Records looked at, counted for the tests.
#[derive(Clone, Default, Debug)]
struct Visits(#[cfg(test)] u64);

impl Visits {
    #[inline]
    fn note(&mut self) {
        #[cfg(test)]
        {
            self.0 += 1;
        }
    }
}

impl Scoreboard {
    pub fn push(&mut self, record: Record) {
        debug_assert!(self.records.back().is_none_or(|r| r.end() == record.seq));
        self.flight += record.len;
        if record.fate == Fate::Lost {
            self.lost += record.len;
        }
        self.records.push_back(record);
    }

    /// Puts a record on that has just left for the first time, in this packet.
    #[inline]
    pub fn push_sent(&mut self, record: &Record, packet: Ticket) {
        self.sends = self.sends.wrapping_add(1);
        let (order, packet) = (self.sends, Some(packet));
        self.push(Record { order, packet, transmissions: 1, ..*record });
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
    /// Records held.
    pub fn len(&self) -> usize {
        self.records.len()
    }
    pub fn front(&self) -> Option<&Record> {
        self.records.front()
    }
    pub fn record(&self, index: usize) -> Record {
        self.records[index]
    }
    /// Sequence numbers sent and not acknowledged.
    pub fn flight(&self) -> u32 {
        self.flight
    }
    /// Sequence numbers believed to be in the network (RFC 6675).
    pub fn pipe(&self) -> u32 {
        self.flight - self.sacked - self.lost
    }
    /// Sequence numbers not yet known to have arrived.
    pub fn outstanding(&self) -> u32 {
        self.flight - self.sacked
    }
    /// Whether SACK, a loss or a resending has left its mark on any record.
    pub fn is_marked(&self) -> bool {
        self.sacked | self.lost != 0 || !self.resent.is_empty()
    }
    /// Sequence numbers that wait to be sent again.
    pub fn lost(&self) -> u32 {
        self.lost
    }
    pub fn has_lost(&self) -> bool {
        self.lost != 0
    }
    pub fn has_sacked(&self) -> bool {
        self.sacked != 0
    }
    /// Sequence numbers SACKed.
    pub fn sacked(&self) -> u32 {
        self.sacked
    }
    /// Segments SACKed.
    pub fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }
    /// The last record, unless it is SACKed.
    pub fn unsacked_tail(&self) -> Option<&Record> {
        self.records.back().filter(|r| r.fate != Fate::Sacked)
    }
    /// What was learnt of single segments since this was last called.
    pub fn take_delivered(&mut self) -> Delivered {
        std::mem::take(&mut self.delivered)
    }
    /// The acknowledgment has been taken.
    pub fn settle_reach(&mut self) {
        self.reach = self.sacked_end;
    }

    /// Takes off everything below `una`.
    pub fn ack_to(&mut self, una: SeqNumber) -> Acked {
        let mut acked = Acked::default();
        let mut ambiguous = false;
        while let Some(front) = self.records.front_mut() {
            if front.seq.ge(una) {
                break;
            }
            let whole = front.end().le(una);
            let len = if whole { front.len } else { una - front.seq };
            self.flight -= len;
            match front.fate {
                Fate::Sacked => {
                    self.sacked -= len;
                    if self.first >= self.judged_end {
                        self.above.bytes -= len;
                    }
                }
                Fate::Lost => self.lost -= len,
                Fate::InFlight | Fate::Resent => {}
            }
            ambiguous |= front.transmissions > 1;
            if acked.sampled_from.is_none() && front.fate != Fate::Sacked {
                acked.sampled_from = Some(front.sent_at);
            }
            acked.payload += len;
            if front.syn {
                front.syn = false;
                acked.syn = true;
                acked.payload -= 1;
            }
            if !whole {
                front.seq = una;
                front.len -= len;
                break;
            }
            if front.fin {
                acked.fin = true;
                acked.payload -= 1;
            }
            acked.records += 1;
            if front.fate == Fate::Sacked {
                self.pop_sacked_front();
            } else {
                self.delivered.note(front, Told::Acked, self.first < self.reach);
                self.records.pop_front();
            }
            self.first += 1;
        }
        if ambiguous {
            acked.sampled_from = None;
        }
        while self.resent.front().is_some_and(|entry| entry.0 < self.first) {
            self.resent.pop_front();
        }
        acked
    }

    fn pop_sacked_front(&mut self) {
        self.records.pop_front();
        self.sacked_segments -= 1;
        let ends_run = self.records.front().is_none_or(|next| next.fate != Fate::Sacked);
        if self.first >= self.judged_end && ends_run {
            self.above.runs -= 1;
        }
    }

    /// Marks what `blocks` cover; returns how many sequence numbers are newly covered. Blocks at or
    /// below `una` tell of duplicates (RFC 2883), those beyond what was sent are nonsense.
    pub fn apply_sack(&mut self, blocks: &SackBlocks, una: SeqNumber, nxt: SeqNumber) -> u32 {
        let mut newly = 0;
        for (left, right) in blocks.iter() {
            if left.lt(right) && left.gt(una) && right.le(nxt) {
                newly += self.sack_range(left, right);
            }
        }
        newly
    }

    /// The first record that begins at or after `seq`.
    fn place_of(&self, seq: SeqNumber) -> usize {
        let Some(front) = self.records.front().filter(|front| front.seq.lt(seq)) else {
            return 0;
        };
        // Most segments are of one size.
        let guess = ((seq - front.seq) / front.len) as usize;
        match self.records.get(guess) {
            Some(record) if record.seq == seq => guess,
            _ => self.records.partition_point(|r| r.seq.lt(seq)),
        }
    }

    fn sack_range(&mut self, left: SeqNumber, right: SeqNumber) -> u32 {
        let start = self.place_of(left);
        let (mut index, mut newly) = (start, 0);
        while let Some(record) = self.records.get(index).filter(|r| r.end().le(right)) {
            self.visits.note();
            if record.fate == Fate::Sacked {
                index += record.sacked_run as usize;
            } else {
                newly += record.len;
                self.sack(index);
                index += 1;
            }
        }
        if index > start {
            self.records[start].sacked_run = (index - start) as u32;
        }
        if newly > 0 {
            self.sacked_end = self.sacked_end.max(self.first + index as u64);
        }
        newly
    }

    fn sack(&mut self, index: usize) {
        let number = self.first + index as u64;
        let record = &mut self.records[index];
        self.delivered.note(record, Told::Sacked, number < self.reach);
        if record.fate == Fate::Lost {
            self.lost -= record.len;
        }
        record.fate = Fate::Sacked;
        record.sacked_run = 1;
        self.sacked += record.len;
        self.sacked_segments += 1;
        self.count_above(index);
    }

    /// The next lost record that waits to be sent again: what was lost repeatedly, then by sequence.
    pub fn next_lost(&mut self) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        while let Some(number) = self.lost_again.front() {
            let index = number.checked_sub(self.first).map(|index| index as usize);
            if let Some(index) = index.filter(|i| self.records[*i].fate == Fate::Lost) {
                return Some(index);
            }
            self.lost_again.pop_front();
        }
        let mut index = self.resend_from.saturating_sub(self.first) as usize;
        loop {
            let record = self.records.get(index)?;
            self.visits.note();
            match record.fate {
                Fate::Lost => break,
                Fate::Sacked => index += record.sacked_run as usize,
                Fate::InFlight | Fate::Resent => index += 1,
            }
        }
        self.resend_from = self.first + index as u64;
        Some(index)
    }

    /// Notes that a record leaves (again).
    pub fn sent(&mut self, index: usize, now: Instant) {
        let record = &mut self.records[index];
        if record.fate == Fate::Lost {
            self.lost -= record.len;
        }
        record.sent_at = now;
        self.sends = self.sends.wrapping_add(1);
        record.order = self.sends;
        if record.fate != Fate::Sacked {
            record.fate = match record.transmissions {
                0 => Fate::InFlight,
                _ => Fate::Resent,
            };
        }
        let resent = record.fate == Fate::Resent;
        record.transmissions = record.transmissions.saturating_add(1);
        if resent {
            self.drop_stale_resendings();
            self.resent.push_back((self.first + index as u64, self.sends));
        }
    }

    /// Its time starts anew without a packet.
    pub fn touch(&mut self, index: usize, now: Instant) {
        self.records[index].sent_at = now;
    }

    /// Notes the packet just handed out.
    pub fn handed_out(&mut self, index: usize, packet: Ticket) {
        self.records[index].packet = Some(packet);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Scoreboard::default();
    }

    /// The sums agree with the records, and the records with each other.
    pub fn check_invariants(&self, una: SeqNumber, nxt: SeqNumber) {
        let mut seq = una;
        let (mut sacked, mut segments, mut lost, mut run) = (0, 0, 0, 0);
        for (index, record) in self.records.iter().enumerate() {
            assert_eq!(record.seq, seq);
            assert!(record.len > 0);
            seq = record.end();
            let number = self.first + index as u64;
            assert!(run == 0 || record.fate == Fate::Sacked, "a run reaches too far");
            run = u32::max(run, 1) - 1;
            match record.fate {
                Fate::Sacked => {
                    sacked += record.len;
                    segments += 1;
                    run = run.max(record.sacked_run - 1);
                    assert!(number < self.sacked_end);
                }
                Fate::Lost => {
                    lost += record.len;
                    assert!(number >= self.resend_from || self.lost_again.contains(&number));
                }
                Fate::Resent => assert!(self.resent.contains(&(number, record.order))),
                Fate::InFlight => {}
            }
        }
        assert_eq!(run, 0, "a run reaches beyond the end");
        assert_eq!((self.sacked, self.sacked_segments, self.lost), (sacked, segments, lost));
        assert_eq!((seq, self.flight), (nxt, nxt - una));
        assert_eq!(self.above, self.count_all_above());
    }
}
