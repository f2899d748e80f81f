//! Queues of frames with a discipline. An enum, not a trait: the set is closed and the call is hot.

pub mod drop_tail;

use crate::frame::Frame;
use crate::time::Duration;
use crate::units::BitRate;
pub use drop_tail::DropTail;

/// How much a queue may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// This many frames.
    Packets(u32),
    /// This many bytes.
    Bytes(u64),
    /// As many bytes as the link sends in this time.
    Time(Duration),
}

impl Limit {
    /// The limit with a time turned into the bytes that pass within it at `rate`.
    pub fn at_rate(self, rate: BitRate) -> Limit {
        match self {
            Limit::Time(span) => Limit::Bytes(rate.bits_in(span) / 8),
            other => other,
        }
    }
}

/// A queue of frames. Every discipline has the same methods.
#[derive(Clone, Debug)]
pub enum Queue {
    /// First in, first out; what does not fit is refused.
    DropTail(DropTail),
}

impl Queue {
    /// Appends a frame of `len` bytes, or gives it back when there is no room.
    pub fn push(&mut self, frame: Frame, len: u32) -> Result<(), Frame> {
        match self {
            Queue::DropTail(q) => q.push(frame, len),
        }
    }
    /// Takes the next frame to send and its length in bytes.
    pub fn pop(&mut self) -> Option<(Frame, u32)> {
        match self {
            Queue::DropTail(q) => q.pop(),
        }
    }
    /// The length in bytes of the frame that [`Queue::pop`] would give.
    pub fn peek_len(&self) -> Option<u32> {
        match self {
            Queue::DropTail(q) => q.peek_len(),
        }
    }
    /// Frames waiting.
    pub fn len(&self) -> usize {
        match self {
            Queue::DropTail(q) => q.len(),
        }
    }
    /// Bytes waiting.
    pub fn bytes(&self) -> u64 {
        match self {
            Queue::DropTail(q) => q.bytes(),
        }
    }
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Takes everything, first to last.
    pub fn drain(&mut self) -> impl Iterator<Item = (Frame, u32)> + '_ {
        match self {
            Queue::DropTail(q) => q.drain(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_limit_is_the_bytes_of_that_time() {
        let limit = Limit::Time(Duration::from_millis(500));
        assert_eq!(limit.at_rate(BitRate::from_bps(28_800)), Limit::Bytes(1800));
        let packets = Limit::Packets(3);
        assert_eq!(packets.at_rate(BitRate::from_bps(1)), packets);
    }
}
