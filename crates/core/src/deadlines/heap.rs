//! A heap of deadlines with four children to a node: shallower than one with two, and the children of a
//! node lie side by side.
//!
//! What is taken off leaves a hole at the top. Mostly the source that was served is queued again at once,
//! and then the hole takes its entry: one way down instead of one down and one up.

use crate::time::Instant;

/// Bits of an entry's number for the source and for the sequence.
const SOURCE_BITS: u32 = 24;
const SEQUENCE_BITS: u32 = 40;

/// Sources there may be.
pub(super) const SOURCES_MAX: usize = 1 << SOURCE_BITS;

/// A deadline in the heap: its time, then when it was scheduled, then whose it is, in one number that
/// orders as they do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Entry(u128);

impl Entry {
    /// `sequence` tells which was scheduled first; beyond 2^40 of them ties come in another order.
    #[inline]
    pub(super) const fn new(at: Instant, sequence: u64, source: u32) -> Entry {
        let low = (sequence & ((1 << SEQUENCE_BITS) - 1)) << SOURCE_BITS | source as u64;
        Entry((at.as_nanos() as u128) << 64 | low as u128)
    }

    #[inline]
    pub(super) const fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }

    #[inline]
    pub(super) const fn source(self) -> u32 {
        self.0 as u32 & (SOURCES_MAX as u32 - 1)
    }
}

const CHILDREN: usize = 4;

/// Entries, the earliest first.
#[derive(Clone, Default, Debug)]
pub(super) struct Heap {
    entries: Vec<Entry>,
    /// The first entry has been taken off, and nothing has its place yet.
    has_hole: bool,
}

impl Heap {
    /// Puts an entry in.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry) {
        if self.has_hole {
            self.has_hole = false;
            self.sink(entry);
        } else {
            self.entries.push(entry);
            self.rise(entry);
        }
    }

    /// The earliest entry.
    #[inline]
    pub(super) fn first(&mut self) -> Option<Entry> {
        if self.has_hole {
            self.close_hole();
        }
        self.entries.first().copied()
    }

    /// Takes off the entry that [`Heap::first`] told.
    #[inline]
    pub(super) fn remove_first(&mut self) {
        self.has_hole = !self.entries.is_empty();
    }

    fn close_hole(&mut self) {
        self.has_hole = false;
        if let Some(last) = self.entries.pop()
            && !self.entries.is_empty()
        {
            self.sink(last);
        }
    }

    /// Puts an entry into the place at the top, or as far below as it belongs.
    #[inline]
    fn sink(&mut self, entry: Entry) {
        let entries = &mut self.entries[..];
        let mut at = 0;
        loop {
            let first = at * CHILDREN + 1;
            let (child, least) = match entries.get(first..) {
                Some(&[a, b, c, d, ..]) => {
                    let left = if b < a { (first + 1, b) } else { (first, a) };
                    let right = if d < c { (first + 3, d) } else { (first + 2, c) };
                    if right.1 < left.1 { right } else { left }
                }
                Some(&[a, ref rest @ ..]) => {
                    (first + 1..).zip(rest).fold((first, a), |least, (child, other)| {
                        if *other < least.1 { (child, *other) } else { least }
                    })
                }
                _ => break,
            };
            if entry < least {
                break;
            }
            entries[at] = least;
            at = child;
        }
        entries[at] = entry;
    }

    /// Moves the last entry up to where it belongs.
    #[inline]
    fn rise(&mut self, entry: Entry) {
        let entries = &mut self.entries[..];
        let mut at = entries.len() - 1;
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if entries[parent] < entry {
                break;
            }
            entries[at] = entries[parent];
            at = parent;
        }
        entries[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_comes_out_is_the_earliest_of_what_went_in(steps in prop::collection::vec(prop::option::of(0u64..40), 1..300)) {
            let mut heap = Heap::default();
            let mut plain: Vec<Entry> = Vec::new();
            for (sequence, step) in steps.into_iter().enumerate() {
                if let Some(nanos) = step {
                    let at = Instant::from_nanos(nanos);
                    let entry = Entry::new(at, sequence as u64, 7);
                    prop_assert_eq!((entry.at(), entry.source()), (at, 7));
                    heap.push(entry);
                    plain.push(entry);
                }
                let least = plain.iter().copied().min();
                if step.is_none() || sequence % 3 == 0 {
                    prop_assert_eq!(heap.first(), least);
                }
                if step.is_none() && let Some(least) = least {
                    heap.remove_first();
                    plain.retain(|e| *e != least);
                }
            }
        }
    }
}
