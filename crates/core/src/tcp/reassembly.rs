//! Segments that arrived before their turn, held as the frames they came in.
//!
//! Held pieces are sorted and do not overlap. What SACK tells is the list of ranges they form, the most
//! recently changed first (RFC 2018, 4).

use crate::frame::{Frame, Frames};
use crate::seq::SeqNumber;
use crate::wire::tcp::SackBlocks;
use std::collections::VecDeque;

/// Payload inside a frame: `len` bytes from `offset` of the frame's logical bytes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub seq: SeqNumber,
    pub len: u32,
    pub frame: Frame,
    pub offset: u32,
}

impl Piece {
    pub fn end(&self) -> SeqNumber {
        self.seq + self.len
    }
    fn skip(&mut self, n: u32) {
        self.seq += n;
        self.offset += n;
        self.len -= n;
    }
}

/// The pieces and the ranges they form.
#[derive(Clone, Default, Debug)]
pub(super) struct Reassembly {
    pieces: VecDeque<Piece>,
    ranges: Vec<(SeqNumber, SeqNumber)>,
}

impl Reassembly {
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Frames held.
    pub fn frames(&self) -> usize {
        self.pieces.len()
    }

    /// Takes a piece, or gives its frame back when nothing of it is new. Pieces it covers are given back.
    /// Returns the first range of it that was held already.
    pub fn insert(
        &mut self,
        frames: &mut Frames,
        mut piece: Piece,
    ) -> Option<(SeqNumber, SeqNumber)> {
        let mut twice = None;
        let at = self.pieces.partition_point(|p| p.seq.le(piece.seq));
        if let Some(before) = at.checked_sub(1).map(|i| self.pieces[i]) {
            let overlap = before.end() - piece.seq;
            if before.end().gt(piece.seq) {
                twice = Some((piece.seq, before.end().min(piece.end())));
                if overlap >= piece.len {
                    self.touch(before.seq);
                    frames.remove(piece.frame);
                    return twice;
                }
                piece.skip(overlap);
            }
        }
        while let Some(after) = self.pieces.get(at).copied() {
            if after.seq.lt(piece.end()) {
                twice = twice.or(Some((after.seq, after.end().min(piece.end()))));
            }
            if after.end().gt(piece.end()) {
                piece.len = piece.len.min(after.seq - piece.seq);
                break;
            }
            self.pieces.remove(at);
            frames.remove(after.frame);
        }
        if piece.len == 0 {
            self.touch(piece.seq);
            frames.remove(piece.frame);
            return twice;
        }
        self.join(piece.seq, piece.end());
        self.pieces.insert(at, piece);
        twice
    }

    /// Brings the range around `seq` to the front.
    fn touch(&mut self, seq: SeqNumber) {
        if let Some(at) = self.ranges.iter().position(|r| seq.within(r.0, r.1)) {
            self.ranges[..=at].rotate_right(1);
        }
    }

    fn join(&mut self, left: SeqNumber, right: SeqNumber) {
        let mut joined = (left, right);
        self.ranges.retain(|range| {
            let apart = range.1.lt(joined.0) || range.0.gt(joined.1);
            if !apart {
                joined = (range.0.min(joined.0), range.1.max(joined.1));
            }
            apart
        });
        self.ranges.insert(0, joined);
    }

    /// The next piece that continues at `rcv_nxt`, if it is there. Pieces overtaken by `rcv_nxt` are
    /// cut or given back.
    pub fn pop(&mut self, frames: &mut Frames, rcv_nxt: SeqNumber) -> Option<Piece> {
        while let Some(front) = self.pieces.front() {
            if front.seq.gt(rcv_nxt) {
                return None;
            }
            let mut piece = self.pieces.pop_front()?;
            let overtaken = rcv_nxt - piece.seq;
            if overtaken >= piece.len {
                frames.remove(piece.frame);
                continue;
            }
            piece.skip(overtaken);
            return Some(piece);
        }
        None
    }

    /// Forgets ranges that `rcv_nxt` has reached.
    pub fn settle(&mut self, rcv_nxt: SeqNumber) {
        self.ranges.retain(|range| range.1.gt(rcv_nxt));
    }

    /// What SACK tells, at most `max` ranges: first what arrived twice, and what that is part of
    /// (RFC 2883, 4).
    pub fn blocks(&self, max: usize, told_twice: Option<(SeqNumber, SeqNumber)>) -> SackBlocks {
        let mut blocks = SackBlocks::new();
        for (left, right) in told_twice.iter().chain(&self.ranges).take(max) {
            blocks.push(*left, *right);
        }
        blocks
    }

    /// Gives all frames back.
    pub fn clear(&mut self, frames: &mut Frames) {
        for piece in self.pieces.drain(..) {
            frames.remove(piece.frame);
        }
        self.ranges.clear();
    }

    /// Sorted, apart from each other, beyond `rcv_nxt`, and the ranges are exactly what is held.
    pub fn check_invariants(&self, rcv_nxt: SeqNumber) {
        let mut formed: Vec<(SeqNumber, SeqNumber)> = Vec::new();
        let mut end = rcv_nxt + 1;
        for piece in &self.pieces {
            assert!(piece.len > 0 && piece.seq.ge(end));
            end = piece.end();
            match formed.last_mut() {
                Some(last) if last.1 == piece.seq => last.1 = end,
                _ => formed.push((piece.seq, end)),
            }
        }
        assert_eq!(formed.len(), self.ranges.len());
        assert!(formed.iter().all(|range| self.ranges.contains(range)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(held: &mut Reassembly, frames: &mut Frames, seq: u32, len: u32) {
        let frame = frames.insert(&[], len);
        let piece = Piece { seq: SeqNumber(seq), len, frame, offset: 0 };
        held.insert(frames, piece);
        held.check_invariants(SeqNumber(0));
    }

    #[test]
    fn ranges_join_and_the_latest_comes_first() {
        let (mut held, mut frames) = (Reassembly::default(), Frames::new());
        put(&mut held, &mut frames, 10, 10);
        put(&mut held, &mut frames, 40, 10);
        put(&mut held, &mut frames, 20, 5);
        let blocks: Vec<_> = held.blocks(4, None).iter().map(|b| (b.0.0, b.1.0)).collect();
        assert_eq!(blocks, [(10, 25), (40, 50)]);
        put(&mut held, &mut frames, 42, 3);
        assert_eq!(held.blocks(1, None).iter().next(), Some((SeqNumber(40), SeqNumber(50))));
        put(&mut held, &mut frames, 22, 30);
        assert_eq!(held.blocks(4, None).len(), 1);
        assert_eq!(held.blocks(4, None).iter().next(), Some((SeqNumber(10), SeqNumber(52))));
        held.clear(&mut frames);
        assert_eq!(frames.live(), 0);
    }

    #[test]
    fn pieces_come_out_in_order_and_cut() {
        let (mut held, mut frames) = (Reassembly::default(), Frames::new());
        put(&mut held, &mut frames, 30, 10);
        put(&mut held, &mut frames, 10, 5);
        put(&mut held, &mut frames, 15, 5);
        assert_eq!(held.pop(&mut frames, SeqNumber(5)), None);
        let first = held.pop(&mut frames, SeqNumber(17)).unwrap();
        assert_eq!((first.seq, first.len, first.offset), (SeqNumber(17), 3, 2));
        assert_eq!(held.pop(&mut frames, first.end()), None);
        held.settle(first.end());
        assert_eq!(held.blocks(4, None).len(), 1);
        assert_eq!(frames.live(), 2);
    }
}
