//! What arrived in order and the application has not read.

use super::runs::{Chunk, Runs};

/// Bytes in order.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub(super) struct ReceiveBuffer {
    runs: Runs,
}

impl ReceiveBuffer {
    /// Bytes held.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Appends `real` bytes and then `elided` zeros.
    #[inline]
    pub fn append(&mut self, real: &[u8], elided: usize) {
        self.runs.push_bytes(real);
        self.runs.push_elided(elided);
    }

    /// Hands at most `max` bytes to `sink` in order and returns how many there were.
    pub fn read(&mut self, max: usize, mut sink: impl FnMut(Chunk<'_>)) -> usize {
        let mut read = 0;
        while read < max {
            let chunk = self.runs.chunk(0, max - read);
            let n = chunk.len();
            if n == 0 {
                break;
            }
            sink(chunk);
            self.runs.advance(n);
            read += n;
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_keeps_the_order_of_the_kinds() {
        let mut buffer = ReceiveBuffer::default();
        buffer.append(b"ab", 3);
        buffer.append(b"c", 0);
        let mut seen = Vec::new();
        let mut note = |chunk: Chunk<'_>| match chunk {
            Chunk::Bytes(bytes) => seen.extend_from_slice(bytes),
            Chunk::Elided(n) => seen.resize(seen.len() + n, 0),
        };
        assert_eq!(buffer.read(4, &mut note), 4);
        assert_eq!(buffer.read(100, &mut note), 2);
        assert_eq!(seen, b"ab\0\0\0c");
        assert_eq!(buffer.len(), 0);
    }
}
