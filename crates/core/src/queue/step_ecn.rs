//! Marking at a step: what arrives while K or more wait is marked, as data-centre switches do for DCTCP
//! (RFC 8257, 3.1). What cannot be marked is dropped there, as by RED with one threshold; beyond the
//! limit everything is.

use super::{DropTail, Limit};
use crate::frame::Frame;
use crate::wire::ip::Marked;
use crate::work::DropReason;

/// A first-in first-out queue that marks at a step.
#[derive(Clone, Debug)]
pub struct StepEcn<T = Frame> {
    queue: DropTail<T>,
    threshold: Limit,
}

impl<T> StepEcn<T> {
    /// An empty queue that holds `limit` and lets `threshold` of it pass without a mark.
    ///
    /// # Panics
    /// When one of them is a time: resolve it first with [`Limit::at_rate`].
    pub fn new(limit: Limit, threshold: Limit) -> Self {
        assert!(!matches!(threshold, Limit::Time(_)), "a threshold in time needs a rate");
        StepEcn { queue: DropTail::new(limit), threshold }
    }

    /// Appends an item of `len` bytes, marked by `mark` beyond the threshold, or gives it back.
    pub fn push(
        &mut self,
        item: T,
        len: u32,
        mark: impl FnOnce(&T) -> Marked,
    ) -> Result<(), (T, DropReason)> {
        if !self.queue.fits(len) {
            return Err((item, DropReason::QueueFull));
        }
        let below = self.threshold.admits(self.queue.len(), self.queue.bytes(), len);
        if !below && mark(&item) == Marked::NotCapable {
            return Err((item, DropReason::Congestion));
        }
        self.queue.push(item, len).map_err(|item| (item, DropReason::QueueFull))
    }

    /// Takes the first item and its length.
    pub fn pop(&mut self) -> Option<(T, u32)> {
        self.queue.pop()
    }

    /// Items waiting.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Bytes waiting.
    pub const fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(
        q: &mut StepEcn<u32>,
        n: u32,
        capable: Marked,
    ) -> (Result<(), (u32, DropReason)>, bool) {
        let mut asked = false;
        let result = q.push(n, 100, |_| {
            asked = true;
            capable
        });
        (result, asked)
    }

    #[test]
    fn what_arrives_at_k_is_marked_or_dropped() {
        for threshold in [Limit::Packets(2), Limit::Bytes(200)] {
            let mut q = StepEcn::new(Limit::Packets(4), threshold);
            assert_eq!(push(&mut q, 0, Marked::NotCapable), (Ok(()), false));
            assert_eq!(push(&mut q, 1, Marked::Marked), (Ok(()), false));
            assert_eq!(push(&mut q, 2, Marked::Marked), (Ok(()), true));
            let refused = Err((3, DropReason::Congestion));
            assert_eq!(push(&mut q, 3, Marked::NotCapable), (refused, true));
            assert_eq!(push(&mut q, 4, Marked::Marked), (Ok(()), true));
            let full = Err((5, DropReason::QueueFull));
            assert_eq!(push(&mut q, 5, Marked::Marked), (full, false));
            assert_eq!((q.len(), q.bytes()), (4, 400));
            let order: Vec<u32> = std::iter::from_fn(|| q.pop()).map(|(n, _)| n).collect();
            assert_eq!(order, [0, 1, 2, 4]);
            assert!(q.is_empty());
            assert_eq!(push(&mut q, 6, Marked::NotCapable), (Ok(()), false));
        }
    }
}
