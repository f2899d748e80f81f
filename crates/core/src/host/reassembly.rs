//! Putting fragments of IPv4 packets together again (RFC 791, 3.2; RFC 815; RFC 1122, 3.3.2).
//!
//! Where RFC 815 keeps a list of holes, this keeps the pieces in order, which says the same. Pieces that
//! overlap without being the same end the whole packet (RFC 5722 for IPv6; RFC 1858 says why).
//!
//! Deviations: the options of the first fragment are left out of the packet.

use crate::Context;
use crate::frame::Frame;
use crate::time::{Duration, Instant};
use crate::wire::ipv4::{self, Fragment, Packet, Repr};
use crate::work::DropReason;
use std::collections::VecDeque;
use std::net::Ipv4Addr;

#[cfg(test)]
mod tests;

/// Packets in the making; one more ends the oldest.
pub const PACKETS_MAX: usize = 64;
/// Pieces of a packet: the longest over the shortest MTU that IPv4 allows to be usual (576, RFC 791) are 119.
pub const PIECES_MAX: usize = 128;

/// What the fragments of a packet share (RFC 791).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key {
    src: Ipv4Addr,
    dst: Ipv4Addr,
    protocol: u8,
    ident: u16,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u32,
    end: u32,
    frame: Frame,
}

#[derive(Clone, Debug)]
struct Partial {
    key: Key,
    until: Instant,
    /// In order, without overlaps.
    pieces: Vec<Piece>,
    /// Length of the payload, once the last piece is there.
    total: Option<u32>,
}

impl Partial {
    /// Where a piece belongs. None when it is there already or contradicts what is.
    fn place(&self, start: u32, end: u32, part: Fragment) -> Result<usize, Contradiction> {
        let at = self.pieces.partition_point(|piece| piece.end <= start);
        let is_same = self.pieces.get(at).is_some_and(|p| p.start == start && p.end == end);
        if is_same && (part.more || self.total == Some(end)) {
            return Err(Contradiction::Same);
        }
        let overlaps = self.pieces.get(at).is_some_and(|piece| piece.start < end);
        let last = self.pieces.last().map_or(0, |piece| piece.end);
        let beyond = self.total.is_some_and(|total| end > total || (!part.more && end != total));
        let short = !part.more && end < last;
        match overlaps || beyond || short || self.pieces.len() >= PIECES_MAX {
            true => Err(Contradiction::Other),
            false => Ok(at),
        }
    }

    fn is_whole(&self) -> bool {
        let mut end = 0;
        let in_order = self.pieces.iter().all(|piece| {
            let follows = piece.start == end;
            end = piece.end;
            follows
        });
        in_order && self.total == Some(end)
    }

    fn give_up(self, cx: &mut Context, reason: DropReason) {
        for piece in self.pieces {
            cx.drop_frame(piece.frame, reason);
        }
    }
}

enum Contradiction {
    /// It has come twice.
    Same,
    Other,
}

/// The packets of a host that are not whole yet.
#[derive(Clone, Debug)]
pub(super) struct Reassembly {
    patience: Duration,
    /// Oldest first.
    partials: VecDeque<Partial>,
}

impl Reassembly {
    /// Waits for `patience` from a packet's first fragment on.
    pub fn new(patience: Duration) -> Reassembly {
        Reassembly { patience, partials: VecDeque::new() }
    }

    /// Takes a fragment. Answers the packet, when it is whole with it.
    pub fn add(
        &mut self,
        now: Instant,
        cx: &mut Context,
        frame: Frame,
        (repr, part): (Repr, Fragment),
    ) -> Option<Frame> {
        let key =
            Key { src: repr.src, dst: repr.dst, protocol: repr.protocol.0, ident: repr.ident };
        let start = u32::from(part.offset);
        let end = start + u32::from(repr.payload_len);
        if start == end {
            cx.drop_frame(frame, DropReason::Malformed);
            return None;
        }
        let index = self.find_or_begin(now, cx, key);
        let partial = &mut self.partials[index];
        match partial.place(start, end, part) {
            Ok(at) => {
                partial.pieces.insert(at, Piece { start, end, frame });
                if !part.more {
                    partial.total = Some(end);
                }
            }
            Err(Contradiction::Same) => {
                cx.drop_frame(frame, DropReason::Duplicate);
                return None;
            }
            Err(Contradiction::Other) => {
                cx.drop_frame(frame, DropReason::Malformed);
                self.end(cx, index, DropReason::Malformed);
                return None;
            }
        }
        if !partial.is_whole() {
            return None;
        }
        let partial = self.partials.remove(index)?;
        Some(join(cx, &partial.pieces))
    }

    fn find_or_begin(&mut self, now: Instant, cx: &mut Context, key: Key) -> usize {
        if let Some(index) = self.partials.iter().position(|partial| partial.key == key) {
            return index;
        }
        if self.partials.len() >= PACKETS_MAX {
            self.end(cx, 0, DropReason::Unfinished);
        }
        let until = now + self.patience;
        self.partials.push_back(Partial { key, until, pieces: Vec::new(), total: None });
        self.partials.len() - 1
    }

    fn end(&mut self, cx: &mut Context, index: usize, reason: DropReason) {
        if let Some(partial) = self.partials.remove(index) {
            partial.give_up(cx, reason);
        }
    }

    /// When the oldest packet has been waited for long enough.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.partials.front().map(|partial| partial.until)
    }

    /// Gives up one packet that has been waited for long enough, if there is one. `told` sees its first
    /// fragment, if that has come (RFC 1122, 3.3.2: only then an error may be sent).
    pub fn expire(
        &mut self,
        now: Instant,
        cx: &mut Context,
        told: impl FnOnce(&mut Context, Frame),
    ) -> Option<()> {
        let partial = self.partials.pop_front_if(|partial| partial.until <= now)?;
        if let Some(first) = partial.pieces.first().filter(|piece| piece.start == 0) {
            told(cx, first.frame);
        }
        partial.give_up(cx, DropReason::Unfinished);
        Some(())
    }

    /// Fragments that wait.
    pub fn held_frames(&self) -> usize {
        self.partials.iter().map(|partial| partial.pieces.len()).sum()
    }
}

/// One packet of pieces that follow each other.
fn join(cx: &mut Context, pieces: &[Piece]) -> Frame {
    let total = pieces.last().map_or(0, |piece| piece.end);
    // Zeros that are not in memory stay out of it behind the last byte that is.
    let (mut in_memory, mut is_corrupt) = (0, false);
    let mut parts = Vec::with_capacity(pieces.len());
    let mut first = None;
    for piece in pieces {
        let (bytes, elided) = (cx.frames.bytes(piece.frame), cx.frames.elided(piece.frame));
        let Ok(packet) = Packet::new_checked(bytes, elided) else {
            unreachable!("a fragment was checked before it was put here");
        };
        let held = packet.payload().len();
        let from = packet.header_len();
        parts.push((piece, from..from + held));
        if held > 0 {
            in_memory = in_memory.max(piece.start + held as u32);
        }
        is_corrupt |= cx.frames.is_corrupt(piece.frame);
        first = first.or(Repr::parse_fragment(&packet).ok());
    }
    let Some((repr, _)) = first else { unreachable!("a whole packet has a first piece") };
    let whole = Repr { payload_len: total as u16, ..repr };
    let len = ipv4::HEADER_LEN + in_memory as usize;
    let frame = cx.frames.insert_with(len, total - in_memory, |space| {
        space.fill(0);
        whole.emit(space);
    });
    for (piece, held) in parts {
        let to = ipv4::HEADER_LEN + piece.start as usize;
        if !held.is_empty() {
            cx.frames.copy_within(piece.frame, held, frame, to);
        }
        cx.frames.remove(piece.frame);
    }
    if is_corrupt {
        cx.frames.mark_corrupt(frame);
    }
    frame
}
