//! Deadlines of many sources, lazily kept: moving a deadline later costs nothing until the old one
//! comes due. Ties come out in the order they were scheduled.

use crate::time::Instant;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    at: Instant,
    sequence: u64,
    source: u32,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The next deadline of each source, numbered from 0.
#[derive(Clone, Default, Debug)]
pub struct Deadlines {
    heap: BinaryHeap<Entry>,
    /// Per source: what it waits for now, and the earliest entry it has in the heap.
    wanted: Vec<Instant>,
    queued: Vec<Instant>,
    sequence: u64,
}

impl Deadlines {
    /// No sources yet; they appear as they are set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The source's next deadline, or none.
    pub fn set(&mut self, source: u32, at: Option<Instant>) {
        let index = source as usize;
        if index >= self.wanted.len() {
            self.wanted.resize(index + 1, Instant::FAR_FUTURE);
            self.queued.resize(index + 1, Instant::FAR_FUTURE);
        }
        let at = at.unwrap_or(Instant::FAR_FUTURE);
        self.wanted[index] = at;
        if at < self.queued[index] {
            self.push(source, at);
        }
    }

    fn push(&mut self, source: u32, at: Instant) {
        self.queued[source as usize] = at;
        self.sequence += 1;
        self.heap.push(Entry { at, sequence: self.sequence, source });
    }

    /// The earliest deadline of all, and whose it is.
    pub fn earliest(&mut self) -> Option<(Instant, u32)> {
        self.settle();
        self.heap.peek().map(|entry| (entry.at, entry.source))
    }

    /// Takes the first source whose deadline is at or before `now`; it then has none until set again.
    pub fn pop(&mut self, now: Instant) -> Option<(Instant, u32)> {
        self.settle();
        let entry = *self.heap.peek().filter(|entry| entry.at <= now)?;
        self.heap.pop();
        let index = entry.source as usize;
        self.queued[index] = Instant::FAR_FUTURE;
        self.wanted[index] = Instant::FAR_FUTURE;
        Some((entry.at, entry.source))
    }

    /// Brings an entry to the top that is not out of date.
    fn settle(&mut self) {
        while let Some(&Entry { at, source, .. }) = self.heap.peek() {
            let index = source as usize;
            if self.wanted[index] == at && self.queued[index] == at {
                return;
            }
            self.heap.pop();
            if self.queued[index] == at {
                self.queued[index] = Instant::FAR_FUTURE;
                let wanted = self.wanted[index];
                if wanted != Instant::FAR_FUTURE {
                    self.push(source, wanted);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(n: u64) -> Option<Instant> {
        Some(Instant::from_nanos(n))
    }

    #[test]
    fn a_deadline_may_move_both_ways() {
        let mut deadlines = Deadlines::new();
        deadlines.set(0, at(10));
        deadlines.set(1, at(20));
        deadlines.set(0, at(30));
        assert_eq!(deadlines.earliest(), Some((Instant::from_nanos(20), 1)));
        deadlines.set(0, at(5));
        assert_eq!(deadlines.pop(Instant::FAR_FUTURE), Some((Instant::from_nanos(5), 0)));
        deadlines.set(1, None);
        assert_eq!(deadlines.earliest(), None);
    }

    #[test]
    fn ties_come_in_the_order_of_scheduling() {
        let mut deadlines = Deadlines::new();
        for source in [3, 1, 2] {
            deadlines.set(source, at(7));
        }
        let order: Vec<u32> =
            std::iter::from_fn(|| deadlines.pop(Instant::from_nanos(7)).map(|(_, s)| s)).collect();
        assert_eq!(order, [3, 1, 2]);
    }

    proptest! {
        #[test]
        fn agrees_with_a_plain_table(steps in prop::collection::vec((0u32..6, prop::option::of(0u64..50)), 1..200)) {
            let mut deadlines = Deadlines::new();
            let mut table = [None; 6];
            for (source, when) in steps {
                let when = when.map(Instant::from_nanos);
                deadlines.set(source, when);
                table[source as usize] = when;
                prop_assert_eq!(deadlines.earliest().map(|(at, _)| at), table.iter().flatten().min().copied());
            }
            while let Some((when, source)) = deadlines.pop(Instant::FAR_FUTURE) {
                prop_assert_eq!(table[source as usize].take(), Some(when));
            }
            prop_assert!(table.iter().all(Option::is_none));
        }
    }
}
