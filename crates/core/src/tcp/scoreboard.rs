//! What is in flight: one record per segment sent and not yet acknowledged, and what became of it.
//!
//! Records lie in order of sequence without gaps, so a place is found by binary search. Every step is
//! O(1) amortised: cursors only move forward within one episode of loss, and the SACK blocks of the
//! last acknowledgment are remembered so that only what is new in a block is visited.

use crate::frame::Ticket;
use crate::seq::SeqNumber;
use crate::time::Instant;
use crate::wire::tcp::SackBlocks;
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
    /// The packet it was last sent in.
    pub packet: Option<Ticket>,
    pub transmissions: u8,
    pub fate: Fate,
    pub syn: bool,
    pub fin: bool,
}

impl Record {
    pub fn end(&self) -> SeqNumber {
        self.seq + self.len
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
    lost: u32,
    /// One past the number of the highest SACKed record.
    sacked_end: u64,
    /// Records below have been judged by SACK.
    judged_end: u64,
    /// No lost record lies below.
    resend_from: u64,
    last_sack: SackBlocks,
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
    /// Whether SACK or a loss has left its mark on any record.
    pub fn is_marked(&self) -> bool {
        self.sacked | self.lost != 0
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
                Fate::Sacked => self.sacked -= len,
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
            self.records.pop_front();
            self.first += 1;
        }
        if ambiguous {
            acked.sampled_from = None;
        }
        acked
    }

    /// Marks what `blocks` cover; returns how many sequence numbers are newly covered.
    pub fn apply_sack(&mut self, blocks: &SackBlocks, una: SeqNumber, nxt: SeqNumber) -> u32 {
        let mut newly = 0;
        for (left, right) in blocks.iter() {
            // Blocks at or below una are D-SACK (RFC 2883); those beyond what was sent are nonsense.
            if !left.lt(right) || left.le(una) || right.gt(nxt) {
                continue;
            }
            let known = self.last_sack.iter().find(|k| k.0 == left && k.1.le(right));
            let from = known.map_or(left, |k| k.1);
            newly += self.sack_range(left, from, right);
        }
        self.last_sack = *blocks;
        newly
    }

    /// Covers `[left, right)`, of which what ends at or before `from` is known already.
    fn sack_range(&mut self, left: SeqNumber, from: SeqNumber, right: SeqNumber) -> u32 {
        let mut newly = 0;
        let mut index = self.records.partition_point(|r| r.end().le(from));
        if self.records.get(index).is_some_and(|r| r.seq.lt(left)) {
            index += 1;
        }
        while let Some(record) = self.records.get_mut(index) {
            if record.end().gt(right) {
                break;
            }
            if record.fate != Fate::Sacked {
                if record.fate == Fate::Lost {
                    self.lost -= record.len;
                }
                record.fate = Fate::Sacked;
                self.sacked += record.len;
                newly += record.len;
            }
            index += 1;
        }
        if newly > 0 {
            self.sacked_end = self.sacked_end.max(self.first + index as u64);
        }
        newly
    }

    /// Marks what RFC 6675 calls lost: enough was SACKed above it. Returns whether any record is.
    pub fn judge(&mut self, mss: u32, dup_threshold: u32) -> bool {
        let mut index = self.sacked_end.saturating_sub(self.first) as usize;
        let judged = self.judged_end.saturating_sub(self.first) as usize;
        let (mut bytes, mut ranges, mut within) = (0, 0, false);
        let mut edge = None;
        while index > judged {
            index -= 1;
            let record = &self.records[index];
            if record.fate == Fate::Sacked {
                bytes += record.len;
                ranges += u32::from(!within);
                within = true;
                if bytes > (dup_threshold - 1) * mss || ranges >= dup_threshold {
                    edge = Some(index);
                    break;
                }
            } else {
                within = false;
            }
        }
        if let Some(edge) = edge {
            for index in judged..edge {
                self.mark_lost(index);
            }
            self.judged_end = self.first + edge as u64;
        }
        self.lost != 0
    }

    fn mark_lost(&mut self, index: usize) {
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

    /// Marks everything that is not SACKed as lost, whatever was sent again. A SACKed front means that
    /// the peer took its SACKs back, and none is believed.
    pub fn mark_all_lost(&mut self) {
        let renege = self.front().is_some_and(|r| r.fate == Fate::Sacked);
        for record in &mut self.records {
            if record.fate != Fate::Sacked || renege {
                record.fate = Fate::Lost;
            }
        }
        if renege {
            self.sacked = 0;
            self.sacked_end = 0;
            self.last_sack = SackBlocks::new();
        }
        self.lost = self.flight - self.sacked;
        self.resend_from = self.first;
        self.judged_end = self.first + self.records.len() as u64;
    }

    /// Marks what is in flight with more than `payload_max` bytes of payload as lost.
    pub fn mark_larger_lost(&mut self, payload_max: u32) {
        for index in 0..self.records.len() {
            let record = &mut self.records[index];
            if record.payload() > payload_max && record.fate != Fate::Sacked {
                if record.fate == Fate::Resent {
                    record.fate = Fate::InFlight;
                }
                self.mark_lost(index);
            }
        }
    }

    /// Cuts a record into pieces of at most `payload_max` bytes of payload; a FIN stays with the last.
    pub fn split(&mut self, index: usize, payload_max: u32) {
        let mut rest = self.records[index];
        let mut at = index;
        while rest.payload() > payload_max {
            self.records.insert(at, Record { len: payload_max, fin: false, ..rest });
            rest = Record { seq: rest.seq + payload_max, len: rest.len - payload_max, ..rest };
            at += 1;
        }
        self.records[at] = rest;
        let (number, added) = (self.first + index as u64, (at - index) as u64);
        for edge in [&mut self.sacked_end, &mut self.judged_end, &mut self.resend_from] {
            if *edge > number {
                *edge += added;
            }
        }
    }

    /// Takes back the marking of records as lost that were not sent again yet.
    pub fn unmark_lost(&mut self) {
        for record in &mut self.records {
            if record.fate == Fate::Lost {
                record.fate = match record.transmissions {
                    0 | 1 => Fate::InFlight,
                    _ => Fate::Resent,
                };
            }
        }
        self.lost = 0;
        self.judged_end = self.first;
    }

    /// The first lost record that waits to be sent again.
    pub fn next_lost(&mut self) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        let mut index = self.resend_from.saturating_sub(self.first) as usize;
        while self.records.get(index)?.fate != Fate::Lost {
            index += 1;
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
        if record.fate != Fate::Sacked {
            record.fate = match record.transmissions {
                0 => Fate::InFlight,
                _ => Fate::Resent,
            };
        }
        record.sent_at = now;
        record.transmissions = record.transmissions.saturating_add(1);
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
        let sum = |fate: Option<Fate>| -> u32 {
            let of = |r: &&Record| fate.is_none_or(|f| r.fate == f);
            self.records.iter().filter(of).map(|r| r.len).sum()
        };
        assert_eq!(self.flight, sum(None));
        assert_eq!(self.sacked, sum(Some(Fate::Sacked)));
        assert_eq!(self.lost, sum(Some(Fate::Lost)));
        assert_eq!(self.flight, nxt - una);
        let mut seq = una;
        for record in &self.records {
            assert_eq!(record.seq, seq);
            assert!(record.len > 0);
            seq = record.end();
        }
        let first_lost = self.records.iter().position(|r| r.fate == Fate::Lost);
        if let Some(index) = first_lost {
            assert!(self.resend_from <= self.first + index as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 100;
    const START: SeqNumber = SeqNumber(u32::MAX - 250);

    /// `n` records of one MSS each, sent at 1, 2, 3 … ns.
    fn board(n: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        for i in 0..n {
            board.push(Record {
                seq: START + i as u32 * MSS,
                len: MSS,
                sent_at: Instant::ZERO,
                packet: None,
                transmissions: 0,
                fate: Fate::InFlight,
                syn: false,
                fin: false,
            });
            board.sent(i as usize, Instant::from_nanos(i + 1));
        }
        board
    }

    fn sack(board: &mut Scoreboard, n: u32, ranges: &[(u32, u32)]) -> u32 {
        let mut blocks = SackBlocks::new();
        for (from, to) in ranges {
            blocks.push(START + from * MSS, START + to * MSS);
        }
        let newly = board.apply_sack(&blocks, START, START + n * MSS);
        board.check_invariants(START, START + n * MSS);
        newly
    }

    #[test]
    fn acknowledgments_take_records_off_and_cut_the_last() {
        let mut board = board(5);
        let acked = board.ack_to(START + 250);
        assert_eq!((acked.payload, acked.records), (250, 2));
        assert_eq!(acked.sampled_from, Some(Instant::from_nanos(1)));
        assert_eq!((board.flight(), board.pipe()), (250, 250));
        board.check_invariants(START + 250, START + 500);
        assert_eq!(board.ack_to(START + 500).records, 3);
        assert!(board.is_empty());
    }

    #[test]
    fn growing_blocks_count_what_is_new() {
        let mut board = board(10);
        assert_eq!(sack(&mut board, 10, &[(2, 3)]), MSS);
        assert_eq!(sack(&mut board, 10, &[(2, 5)]), 2 * MSS);
        assert_eq!(sack(&mut board, 10, &[(7, 8), (2, 5)]), MSS);
        assert_eq!(sack(&mut board, 10, &[(7, 8), (1, 5)]), MSS);
        assert_eq!(board.pipe(), 5 * MSS);
    }

    #[test]
    fn nonsense_blocks_are_passed_over() {
        let mut board = board(5);
        assert_eq!(sack(&mut board, 5, &[(3, 3), (4, 2), (3, 9), (0, 2)]), 0);
    }

    #[test]
    fn a_block_that_ends_inside_a_record_covers_it_once_it_is_whole() {
        let mut board = board(5);
        let mut blocks = SackBlocks::new();
        blocks.push(START + 200, START + 350);
        assert_eq!(board.apply_sack(&blocks, START, START + 500), MSS);
        assert_eq!(sack(&mut board, 5, &[(2, 4)]), MSS);
    }

    #[test]
    fn a_record_in_pieces_is_the_same_to_the_others() {
        let mut whole = board(6);
        sack(&mut whole, 6, &[(3, 6)]);
        whole.judge(MSS, 3);
        let mut cut = whole.clone();
        cut.split(1, 30);
        cut.check_invariants(START, START + 6 * MSS);
        assert_eq!((cut.len(), cut.pipe(), cut.lost()), (9, whole.pipe(), whole.lost()));
        assert_eq!(cut.record(4).len, 10);
        let mut sent = Vec::new();
        while let Some(index) = cut.next_lost() {
            sent.push(cut.record(index).len);
            cut.sent(index, Instant::ZERO);
        }
        assert_eq!(sent, [100, 30, 30, 30, 10, 100]);
        assert_eq!(sack(&mut cut, 6, &[(3, 6)]), 0);
    }

    #[test]
    fn only_what_is_larger_is_marked() {
        let mut board = board(4);
        board.split(1, 60);
        board.mark_larger_lost(60);
        board.check_invariants(START, START + 4 * MSS);
        assert_eq!((board.lost(), board.pipe()), (3 * MSS, MSS));
        assert_eq!(board.next_lost(), Some(0));
    }

    #[test]
    fn lost_is_what_has_enough_sacked_above() {
        let mut board = board(10);
        sack(&mut board, 10, &[(2, 4)]);
        assert!(!board.judge(MSS, 3), "two segments are not more than two");
        sack(&mut board, 10, &[(2, 5)]);
        assert!(board.judge(MSS, 3));
        assert_eq!((board.next_lost(), board.pipe()), (Some(0), 5 * MSS));
        board.sent(0, Instant::ZERO);
        assert_eq!(board.next_lost(), Some(1));
        board.sent(1, Instant::ZERO);
        assert_eq!((board.next_lost(), board.pipe()), (None, 7 * MSS));
        assert!(!board.judge(MSS, 3), "what was sent again is not lost again");
        assert_eq!(board.ack_to(START + MSS).sampled_from, None);
    }

    #[test]
    fn three_ranges_prove_a_loss_whatever_their_size() {
        let mut board = board(10);
        sack(&mut board, 10, &[(1, 2), (3, 4), (5, 6)]);
        assert!(board.judge(10 * MSS, 3));
        assert_eq!(board.next_lost(), Some(0));
    }

    #[test]
    fn a_timeout_keeps_sacks_unless_the_peer_reneged() {
        let mut board = board(4);
        sack(&mut board, 4, &[(1, 2)]);
        board.mark_all_lost();
        assert_eq!(board.pipe(), 0);
        assert_eq!(board.next_lost(), Some(0));
        board.sent(0, Instant::ZERO);
        assert_eq!(board.next_lost(), Some(2));
        board.unmark_lost();
        assert_eq!(board.pipe(), 3 * MSS);
        board.ack_to(START + MSS);
        board.mark_all_lost();
        assert!(!board.has_sacked());
        assert_eq!(board.next_lost(), Some(0));
        board.check_invariants(START + MSS, START + 4 * MSS);
    }
}
