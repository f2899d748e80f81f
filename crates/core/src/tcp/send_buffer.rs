//! What the application has written and the peer has not acknowledged.

use super::config::Config;
use super::runs::{Chunk, Runs};
use crate::seq::SeqNumber;

/// What a writer hands over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Data<'a> {
    /// Real bytes.
    Bytes(&'a [u8]),
    /// This many zeros that exist in length only.
    Elided(usize),
}

impl Data<'_> {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Data::Bytes(bytes) => bytes.len(),
            Data::Elided(n) => *n,
        }
    }
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The part of [`Config::segment_overhead`] that is asked for before a segment is admitted; the rest is
/// charged afterwards (Linux 1.1: 128 bytes of headers, 88 of bookkeeping).
const OVERHEAD_ASKED: u32 = 128;

/// Bytes from `base` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SendBuffer {
    runs: Runs,
    base: SeqNumber,
    capacity: usize,
}

impl SendBuffer {
    /// An empty buffer whose first byte will have sequence number `base`.
    pub fn new(base: SeqNumber, capacity: usize) -> Self {
        SendBuffer { runs: Runs::default(), base, capacity }
    }

    /// Bytes a writer may hand over, given what a segment costs.
    pub fn capacity_for(config: &Config, mss: u32) -> usize {
        if config.segment_overhead == 0 {
            return config.send_buffer as usize;
        }
        // A segment is admitted while used + mss + asked < send_buffer.
        let asked = mss + OVERHEAD_ASKED.min(config.segment_overhead);
        let cost = mss + config.segment_overhead;
        let segments = match config.send_buffer.checked_sub(asked + 1) {
            Some(room) => room / cost + 1,
            None => 1,
        };
        (segments * mss) as usize
    }

    pub fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity;
    }
    pub fn capacity(&self) -> usize {
        self.capacity
    }
    /// Bytes a writer may hand over now.
    pub fn space(&self) -> usize {
        self.capacity.saturating_sub(self.runs.len())
    }
    /// Bytes held.
    pub fn len(&self) -> usize {
        self.runs.len()
    }
    /// The sequence number after the last byte held.
    pub fn end(&self) -> SeqNumber {
        self.base + self.runs.len() as u32
    }

    /// Takes what fits and returns how much that was.
    pub fn write(&mut self, data: Data<'_>) -> usize {
        let n = data.len().min(self.space());
        match data {
            Data::Bytes(bytes) => self.runs.push_bytes(&bytes[..n]),
            Data::Elided(_) => self.runs.push_elided(n),
        }
        n
    }

    /// At most `max` bytes of one kind from `seq` on.
    pub fn chunk(&self, seq: SeqNumber, max: u32) -> Chunk<'_> {
        self.runs.chunk((seq - self.base) as usize, max as usize)
    }

    /// Length of [`SendBuffer::chunk`].
    pub fn chunk_len(&self, seq: SeqNumber, max: u32) -> u32 {
        self.runs.chunk_len((seq - self.base) as usize, max as usize) as u32
    }

    /// Gives up `n` acknowledged bytes.
    pub fn acked(&mut self, n: u32) {
        self.runs.advance(n as usize);
        self.base += n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::Profile;

    #[test]
    fn linux_1_1_charges_each_segment() {
        let config = Config::new(Profile::Linux11, 600);
        let segments = |mss: u32| SendBuffer::capacity_for(&config, mss) / mss as usize;
        assert_eq!((segments(536), segments(232), segments(512)), (43, 73, 45));
        assert_eq!(SendBuffer::capacity_for(&config, 536), 23_048);
    }

    #[test]
    fn a_full_buffer_takes_no_more() {
        let mut buffer = SendBuffer::new(SeqNumber(u32::MAX), 10);
        assert_eq!(buffer.write(Data::Bytes(b"abcdef")), 6);
        assert_eq!(buffer.write(Data::Elided(9)), 4);
        assert_eq!(buffer.end(), SeqNumber(9));
        buffer.acked(3);
        assert_eq!(buffer.space(), 3);
        assert_eq!(buffer.chunk(SeqNumber(2), 2), Chunk::Bytes(b"de"));
    }
}
