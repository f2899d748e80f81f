//! First in, first out, bounded by packets or bytes; what does not fit is given back to the caller.
//!
//! An empty queue with a byte limit takes any frame: a limit below the MTU makes a link poor, not dead.

use super::Limit;
use crate::frame::Frame;
use std::collections::VecDeque;

/// A drop-tail queue of frames, or of `T` where more than the frame has to wait.
#[derive(Clone, Debug)]
pub struct DropTail<T = Frame> {
    entries: VecDeque<(T, u32)>,
    bytes: u64,
    limit: Limit,
}

impl<T> DropTail<T> {
    /// An empty queue.
    ///
    /// # Panics
    /// When the limit is a time: resolve it first with [`Limit::at_rate`].
    pub fn new(limit: Limit) -> Self {
        assert!(!matches!(limit, Limit::Time(_)), "a queue limit in time needs a rate");
        DropTail { entries: VecDeque::new(), bytes: 0, limit }
    }

    /// What the queue may hold.
    pub const fn limit(&self) -> Limit {
        self.limit
    }

    /// Whether a frame of `len` bytes has room.
    pub fn fits(&self, len: u32) -> bool {
        self.limit.admits(self.entries.len(), self.bytes, len)
    }

    /// Appends an item of `len` bytes, or gives it back when there is no room.
    pub fn push(&mut self, item: T, len: u32) -> Result<(), T> {
        if !self.fits(len) {
            return Err(item);
        }
        self.entries.push_back((item, len));
        self.bytes += u64::from(len);
        Ok(())
    }

    /// Appends an item that has already been accepted elsewhere, limit or not.
    pub fn push_back_unbounded(&mut self, item: T, len: u32) {
        self.entries.push_back((item, len));
        self.bytes += u64::from(len);
    }

    /// Puts an item that was here before back in front, limit or not.
    pub fn push_front(&mut self, item: T, len: u32) {
        self.entries.push_front((item, len));
        self.bytes += u64::from(len);
    }

    /// Takes the first item and its length.
    pub fn pop(&mut self) -> Option<(T, u32)> {
        let (item, len) = self.entries.pop_front()?;
        self.bytes -= u64::from(len);
        Some((item, len))
    }

    /// Takes the last item and its length.
    pub fn pop_back(&mut self) -> Option<(T, u32)> {
        let (item, len) = self.entries.pop_back()?;
        self.bytes -= u64::from(len);
        Some((item, len))
    }

    /// The first item and its length.
    pub fn peek(&self) -> Option<&(T, u32)> {
        self.entries.front()
    }

    /// The length in bytes of the first item.
    pub fn peek_len(&self) -> Option<u32> {
        self.entries.front().map(|(_, len)| *len)
    }

    /// Items waiting.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes waiting.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The waiting items and their lengths, first to last.
    pub fn iter(&self) -> impl Iterator<Item = &(T, u32)> {
        self.entries.iter()
    }

    /// Takes everything, first to last.
    pub fn drain(&mut self) -> impl Iterator<Item = (T, u32)> + '_ {
        self.bytes = 0;
        self.entries.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_counted_and_what_does_not_fit_comes_back() {
        let mut q = DropTail::new(Limit::Packets(2));
        assert_eq!(q.push('a', 10), Ok(()));
        assert_eq!(q.push('b', 20), Ok(()));
        assert_eq!(q.push('c', 1), Err('c'));
        assert_eq!((q.len(), q.bytes(), q.peek_len()), (2, 30, Some(10)));
        assert_eq!(q.pop(), Some(('a', 10)));
        q.push_front('a', 10);
        assert_eq!(q.drain().map(|(c, _)| c).collect::<String>(), "ab");
        assert!(q.is_empty() && q.bytes() == 0 && q.pop().is_none());
    }

    #[test]
    fn a_byte_limit_never_refuses_the_only_frame() {
        let mut q = DropTail::new(Limit::Bytes(100));
        assert_eq!(q.push(1, 1500), Ok(()));
        assert_eq!(q.push(2, 1), Err(2));
        q.pop();
        assert_eq!(q.push(3, 60), Ok(()));
        assert_eq!(q.push(4, 40), Ok(()));
        assert_eq!(q.push(5, 1), Err(5));
    }
}
