//! A stretch of a byte stream: real bytes and elided ones (zeros that exist in length only) in order.
//!
//! Real bytes lie in one buffer, the boundaries in a short list of runs that is searched by position,
//! so any place is found in the logarithm of the number of runs and a bulk transfer has one run.

use std::collections::VecDeque;

/// What a run is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Real,
    Elided,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run {
    kind: Kind,
    /// Position of its first byte, counted over the life of the stream.
    start: u64,
    /// How many real bytes of the stream come before it.
    real_before: u64,
}

/// Bytes of one kind, borrowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chunk<'a> {
    /// Real bytes.
    Bytes(&'a [u8]),
    /// This many zeros.
    Elided(usize),
}

impl Chunk<'_> {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Chunk::Bytes(bytes) => bytes.len(),
            Chunk::Elided(n) => *n,
        }
    }
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The stretch from `start` to `end` of a stream.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub(super) struct Runs {
    runs: VecDeque<Run>,
    /// Real bytes from stream position-in-real `real_start - dead` on; the first `dead` are given up.
    real: Vec<u8>,
    dead: usize,
    real_start: u64,
    start: u64,
    end: u64,
}

/// Given-up real bytes are moved out of the buffer once they are this many and half of it.
const COMPACT_AT: usize = 64 * 1024;

impl Runs {
    /// Bytes held.
    pub fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Appends real bytes.
    #[inline]
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.open(Kind::Real);
            self.real.extend_from_slice(bytes);
            self.end += bytes.len() as u64;
        }
    }

    /// Appends zeros that exist in length only.
    #[inline]
    pub fn push_elided(&mut self, n: usize) {
        if n > 0 {
            self.open(Kind::Elided);
            self.end += n as u64;
        }
    }

    #[inline]
    fn open(&mut self, kind: Kind) {
        if self.runs.back().is_none_or(|run| run.kind != kind) {
            self.start_run(kind);
        }
    }

    #[inline(never)]
    fn start_run(&mut self, kind: Kind) {
        self.runs.push_back(Run {
            kind,
            start: self.end,
            real_before: self.real_start + (self.real.len() - self.dead) as u64,
        });
    }

    /// At most `max` bytes of one kind from `offset` on.
    #[inline(always)]
    pub fn chunk(&self, offset: usize, max: usize) -> Chunk<'_> {
        let from = self.start + offset as u64;
        if from >= self.end {
            return Chunk::Elided(0);
        }
        // A bulk transfer has one run, which begins where the bytes held begin.
        if self.runs.len() == 1 && self.dead + self.len() == self.real.len() {
            let at = self.dead + offset;
            return Chunk::Bytes(&self.real[at..at + max.min(self.len() - offset)]);
        }
        self.chunk_of_many(from, max)
    }

    /// The same where there are several runs, from a position that is held.
    fn chunk_of_many(&self, from: u64, max: usize) -> Chunk<'_> {
        let index = match self.runs.len() {
            1 => 0,
            _ => self.runs.partition_point(|run| run.start <= from) - 1,
        };
        let run = self.runs[index];
        let run_end = self.runs.get(index + 1).map_or(self.end, |next| next.start);
        let len = max.min((run_end - from) as usize);
        match run.kind {
            Kind::Elided => Chunk::Elided(len),
            Kind::Real => {
                let at =
                    self.dead + (run.real_before + (from - run.start) - self.real_start) as usize;
                Chunk::Bytes(&self.real[at..at + len])
            }
        }
    }

    /// How long [`Runs::chunk`] would be, without looking it up where there is nothing to look up.
    pub fn chunk_len(&self, offset: usize, max: usize) -> usize {
        match self.runs.len() {
            1 => max.min(self.len().saturating_sub(offset)),
            _ => self.chunk(offset, max).len(),
        }
    }

    /// Gives up the first `n` bytes.
    pub fn advance(&mut self, n: usize) {
        debug_assert!(n <= self.len());
        self.start += n as u64;
        while self.runs.len() > 1 && self.runs[1].start <= self.start {
            self.runs.pop_front();
        }
        let Some(front) = self.runs.front() else {
            return;
        };
        let real_before = match front.kind {
            Kind::Real => front.real_before + (self.start - front.start),
            Kind::Elided => front.real_before,
        };
        self.dead += (real_before - self.real_start) as usize;
        self.real_start = real_before;
        if self.dead == self.real.len() {
            self.real.clear();
            self.dead = 0;
        } else if self.dead >= COMPACT_AT && self.dead * 2 >= self.real.len() {
            self.real.copy_within(self.dead.., 0);
            self.real.truncate(self.real.len() - self.dead);
            self.dead = 0;
        }
        if self.start == self.end {
            self.runs.clear();
        }
    }

    #[cfg(test)]
    pub fn runs(&self) -> usize {
        self.runs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kinds_are_never_mixed_in_a_chunk() {
        let mut runs = Runs::default();
        runs.push_bytes(b"abc");
        runs.push_bytes(b"de");
        runs.push_elided(10);
        runs.push_bytes(b"f");
        assert_eq!((runs.len(), runs.runs()), (16, 3));
        assert_eq!(runs.chunk(1, 100), Chunk::Bytes(b"bcde"));
        assert_eq!(runs.chunk(5, 4), Chunk::Elided(4));
        assert_eq!(runs.chunk(15, 9), Chunk::Bytes(b"f"));
        runs.advance(7);
        assert_eq!(runs.chunk(0, 100), Chunk::Elided(8));
        assert_eq!(runs.chunk(8, 100), Chunk::Bytes(b"f"));
        runs.advance(9);
        assert_eq!(runs.len(), 0);
    }

    proptest! {
        #[test]
        fn it_is_the_stream_that_was_pushed(ops in prop::collection::vec((0u8..3, 1usize..40_000), 1..60)) {
            let mut runs = Runs::default();
            let mut model: Vec<u8> = Vec::new();
            let mut given = 0usize;
            for (op, n) in ops {
                match op {
                    0 => {
                        let bytes: Vec<u8> = (0..n).map(|i| (model.len() + i) as u8 | 1).collect();
                        runs.push_bytes(&bytes);
                        model.extend(&bytes);
                    }
                    1 => {
                        runs.push_elided(n);
                        model.resize(model.len() + n, 0);
                    }
                    _ => {
                        let n = n.min(runs.len());
                        runs.advance(n);
                        given += n;
                    }
                }
                prop_assert_eq!(runs.len(), model.len() - given);
                let offset = n % (runs.len() + 1);
                prop_assert_eq!(runs.chunk(offset, n).len(), runs.chunk_len(offset, n));
                match runs.chunk(offset, n) {
                    Chunk::Bytes(bytes) => prop_assert_eq!(bytes, &model[given + offset..][..bytes.len()]),
                    Chunk::Elided(k) => prop_assert!(model[given + offset..][..k].iter().all(|b| *b == 0)),
                }
            }
        }
    }
}
