//! What arrived in order and the application has not read: large payloads in the frames they came in, so that
//! the application copies them first; small ones and zeros beside them, since a frame takes more room.

use super::reassembly::Piece;
use super::runs::Chunk;
use crate::frame::{Frame, Frames};
use std::collections::VecDeque;

/// Payloads in memory of at least so many bytes stay in their frames.
const STAYS_FROM: usize = 512;

/// What follows in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// These bytes of a frame.
    Frame { frame: Frame, from: u32, to: u32 },
    /// So many of the bytes kept beside the frames.
    Bytes(usize),
    /// So many zeros that exist in length only.
    Elided(usize),
}

/// Bytes in order.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub(super) struct ReceiveBuffer {
    parts: VecDeque<Part>,
    small: VecDeque<u8>,
    len: usize,
}

impl ReceiveBuffer {
    /// Bytes held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Frames held.
    pub fn frames(&self) -> usize {
        self.parts.iter().filter(|part| matches!(part, Part::Frame { .. })).count()
    }

    /// Appends a piece; its frame is consumed.
    #[inline(always)]
    pub fn append(&mut self, frames: &mut Frames, piece: Piece) {
        let Piece { frame, offset, len, .. } = piece;
        let real = frames.in_memory(frame).saturating_sub(offset as usize).min(len as usize);
        self.len += len as usize;
        if real == 0 {
            self.push_elided(len as usize);
            return frames.remove(frame);
        }
        if real < STAYS_FROM {
            self.push_small(&frames.bytes(frame)[offset as usize..][..real]);
            frames.remove(frame);
        } else {
            self.parts.push_back(Part::Frame { frame, from: offset, to: offset + real as u32 });
        }
        if real < len as usize {
            self.push_elided(len as usize - real);
        }
    }

    #[inline(never)]
    fn push_small(&mut self, bytes: &[u8]) {
        self.small.extend(bytes);
        match self.parts.back_mut() {
            Some(Part::Bytes(n)) => *n += bytes.len(),
            _ => self.parts.push_back(Part::Bytes(bytes.len())),
        }
    }

    #[inline(always)]
    fn push_elided(&mut self, more: usize) {
        match self.parts.back_mut() {
            Some(Part::Elided(n)) => *n += more,
            _ => self.parts.push_back(Part::Elided(more)),
        }
    }

    /// Hands at most `max` bytes to `sink` in order and returns how many there were.
    #[inline]
    pub fn read(
        &mut self,
        frames: &mut Frames,
        max: usize,
        mut sink: impl FnMut(Chunk<'_>),
    ) -> usize {
        let mut left = max.min(self.len);
        let read = left;
        self.len -= read;
        while left > 0
            && let Some(part) = self.parts.front_mut()
        {
            // A part that is longer than what is asked for stays, shortened.
            match part {
                Part::Frame { frame, from, to } => {
                    let bytes = &frames.bytes(*frame)[*from as usize..*to as usize];
                    if bytes.len() > left {
                        sink(Chunk::Bytes(&bytes[..left]));
                        *from += left as u32;
                        break;
                    }
                    left -= bytes.len();
                    sink(Chunk::Bytes(bytes));
                    frames.remove(*frame);
                }
                Part::Bytes(len) => {
                    let n = left.min(*len);
                    read_small(&mut self.small, n, &mut sink);
                    if n < *len {
                        *len -= n;
                        break;
                    }
                    left -= n;
                }
                Part::Elided(len) => {
                    let n = left.min(*len);
                    sink(Chunk::Elided(n));
                    if n < *len {
                        *len -= n;
                        break;
                    }
                    left -= n;
                }
            }
            self.parts.pop_front();
        }
        read
    }

    /// Gives all frames back and keeps what has not been read of them.
    pub fn give_back(&mut self, frames: &mut Frames) {
        if self.frames() == 0 {
            return;
        }
        let mut held = std::mem::take(self);
        self.len = held.len;
        held.read(frames, usize::MAX, |chunk| match chunk {
            Chunk::Bytes(bytes) => self.push_small(bytes),
            Chunk::Elided(n) => self.push_elided(n),
        });
    }
}

/// Hands the first `n` bytes to `sink`, which may take two chunks.
fn read_small(small: &mut VecDeque<u8>, n: usize, mut sink: impl FnMut(Chunk<'_>)) {
    let (first, second) = small.as_slices();
    sink(Chunk::Bytes(&first[..n.min(first.len())]));
    if n > first.len() {
        sink(Chunk::Bytes(&second[..n - first.len()]));
    }
    small.drain(..n);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seq::SeqNumber;

    fn append(buffer: &mut ReceiveBuffer, frames: &mut Frames, bytes: &[u8], elided: u32) {
        let header = [0xee; 7];
        let frame = frames.insert_parts(&header, bytes, elided);
        let (seq, len) = (SeqNumber(0), bytes.len() as u32 + elided);
        buffer.append(frames, Piece { seq, len, frame, offset: header.len() as u32 });
    }

    fn read(buffer: &mut ReceiveBuffer, frames: &mut Frames, max: usize) -> Vec<u8> {
        let mut seen = Vec::new();
        let n = buffer.read(frames, max, |chunk| match chunk {
            Chunk::Bytes(bytes) => seen.extend_from_slice(bytes),
            Chunk::Elided(n) => seen.resize(seen.len() + n, 0),
        });
        assert_eq!(seen.len(), n);
        seen
    }

    /// A small payload, one that stays in its frame, one with zeros behind it, zeros alone, a small one.
    fn mixed(frames: &mut Frames) -> (ReceiveBuffer, Vec<u8>) {
        let mut buffer = ReceiveBuffer::default();
        let mut stream = Vec::new();
        for (byte, real, elided) in
            [(1, 3, 2), (2, STAYS_FROM, 0), (3, 700, 30), (4, 0, 50), (5, 9, 0)]
        {
            let bytes = vec![byte; real];
            append(&mut buffer, frames, &bytes, elided);
            stream.extend(bytes);
            stream.resize(stream.len() + elided as usize, 0);
        }
        assert_eq!((buffer.len(), buffer.frames(), frames.live()), (stream.len(), 2, 2));
        (buffer, stream)
    }

    #[test]
    fn reading_keeps_the_order_and_gives_frames_back() {
        for max in [1, 4, 5, 100, 511, 600, usize::MAX] {
            let mut frames = Frames::new();
            let (mut buffer, stream) = mixed(&mut frames);
            let mut seen = Vec::new();
            while buffer.len() > 0 {
                let before = buffer.len();
                seen.extend(read(&mut buffer, &mut frames, max));
                assert_eq!(before - buffer.len(), max.min(before));
            }
            assert_eq!(seen, stream);
            assert_eq!((buffer.frames(), frames.live()), (0, 0));
            assert_eq!(read(&mut buffer, &mut frames, max), []);
        }
    }

    #[test]
    fn what_is_left_can_be_read_after_the_frames_are_gone() {
        let mut frames = Frames::new();
        let (mut buffer, stream) = mixed(&mut frames);
        assert_eq!(read(&mut buffer, &mut frames, 100), stream[..100]);
        buffer.give_back(&mut frames);
        assert_eq!((buffer.len(), buffer.frames(), frames.live()), (stream.len() - 100, 0, 0));
        assert_eq!(read(&mut buffer, &mut frames, usize::MAX), stream[100..]);
    }
}
