//! All entries: the near ones in a wheel, the others in a heap. Where one is has no influence on the order.

use super::heap::{Entry, Heap};
use super::wheel::Wheel;

/// Where an entry is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// In this slot of the wheel.
    Near(usize),
    /// In the heap.
    Far,
}

/// Entries, the earliest first.
#[derive(Clone, Default, Debug)]
pub(super) struct Queue {
    near: Wheel,
    far: Heap,
}

impl Queue {
    /// Puts an entry in.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry) {
        if !self.near.push(entry) {
            self.far.push(entry);
        }
    }

    /// The earliest entry, and where it is.
    #[inline]
    pub(super) fn first(&mut self) -> Option<(Entry, Place)> {
        let far = self.far.first();
        match self.near.first() {
            Some((near, slot)) if far.is_none_or(|far| near < far) => {
                Some((near, Place::Near(slot)))
            }
            _ => far.map(|far| (far, Place::Far)),
        }
    }

    /// Takes off the entry that [`Queue::first`] told.
    #[inline]
    pub(super) fn remove_first(&mut self, entry: Entry, place: Place) {
        self.near.turn_to(entry);
        match place {
            Place::Near(slot) => self.near.remove_first(slot),
            Place::Far => self.far.remove_first(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Instant;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn near_or_far_the_earliest_comes_first(steps in prop::collection::vec((0u32..4, 0u64..3000), 1..400)) {
            let mut queue = Queue::default();
            let mut plain: Vec<Entry> = Vec::new();
            let mut now = 0;
            for (sequence, (kind, nanos)) in steps.into_iter().enumerate() {
                // Mostly near, now and then far or past.
                let at = match kind {
                    0 => nanos * 20,
                    1 => now + nanos * 20,
                    _ => now + nanos,
                };
                let entry = Entry::new(Instant::from_nanos(at), sequence as u64, 7);
                queue.push(entry);
                plain.push(entry);
                let least = plain.iter().copied().min();
                prop_assert_eq!(queue.first().map(|(entry, _)| entry), least);
                if kind > 1 && let Some((least, place)) = queue.first() {
                    queue.remove_first(least, place);
                    plain.retain(|other| *other != least);
                    now = least.at().as_nanos();
                    prop_assert_eq!(queue.first().map(|(entry, _)| entry), plain.iter().copied().min());
                }
            }
        }
    }
}
