//! Deadlines of many sources, lazily kept: moving a deadline later costs nothing until the old one
//! comes due. Ties come out in the order they were scheduled.

mod heap;
mod queue;
mod wheel;

use crate::time::Instant;
use heap::{Entry, SOURCES_MAX};
use queue::{Place, Queue};

/// The next deadline of each source, numbered from 0.
#[derive(Clone, Default, Debug)]
pub struct Deadlines {
    queue: Queue,
    sources: Vec<Source>,
    sequence: u64,
}

/// What a source waits for now, and the earliest entry it has in the queue, which is no later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Source {
    wanted: Instant,
    queued: Instant,
}

impl Source {
    const NEVER: Source = Source { wanted: Instant::FAR_FUTURE, queued: Instant::FAR_FUTURE };
}

impl Deadlines {
    /// No sources yet; they appear as they are set, at most 2^24.
    pub fn new() -> Self {
        Self::default()
    }

    /// The source's next deadline, or none. Costs next to nothing when it is what it was.
    #[inline]
    pub fn set(&mut self, source: u32, at: Option<Instant>) {
        let at = at.unwrap_or(Instant::FAR_FUTURE);
        match self.sources.get_mut(source as usize) {
            Some(known) if at >= known.queued => known.wanted = at,
            _ => self.advance(source, at),
        }
    }

    /// A source that may be new waits for something earlier than what it has in the queue.
    #[inline(never)]
    fn advance(&mut self, source: u32, at: Instant) {
        if self.sources.get(source as usize).is_none() {
            self.grow(source as usize);
        }
        let known = &mut self.sources[source as usize];
        known.wanted = at;
        if at < known.queued {
            self.push(source, at);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, index: usize) {
        assert!(index < SOURCES_MAX, "too many sources of deadlines");
        self.sources.resize(index + 1, Source::NEVER);
    }

    #[inline(always)]
    fn push(&mut self, source: u32, at: Instant) {
        self.sources[source as usize].queued = at;
        self.sequence += 1;
        self.queue.push(Entry::new(at, self.sequence, source));
    }

    /// The earliest deadline of all, and whose it is.
    #[inline]
    pub fn earliest(&mut self) -> Option<(Instant, u32)> {
        let entry = self.first()?;
        Some((entry.at(), entry.source()))
    }

    /// A time before which no deadline is: that of the earliest, or one that has been moved since.
    #[inline]
    pub fn bound(&mut self) -> Option<Instant> {
        self.queue.first().map(|(entry, _)| entry.at())
    }

    /// Takes the first source whose deadline is at or before `now`; it then has none until set again.
    #[inline]
    pub fn pop(&mut self, now: Instant) -> Option<(Instant, u32)> {
        loop {
            let (entry, place) = self.queue.first().filter(|(entry, _)| entry.at() <= now)?;
            let known = &mut self.sources[entry.source() as usize];
            if known.wanted == entry.at() && known.queued == entry.at() {
                *known = Source::NEVER;
                self.queue.remove_first(entry, place);
                return Some((entry.at(), entry.source()));
            }
            self.discard(entry, place);
        }
    }

    /// The first entry that is not out of date.
    #[inline]
    fn first(&mut self) -> Option<Entry> {
        loop {
            let (entry, place) = self.queue.first()?;
            let known = &self.sources[entry.source() as usize];
            if known.wanted == entry.at() && known.queued == entry.at() {
                return Some(entry);
            }
            self.discard(entry, place);
        }
    }

    /// Takes the first entry off, which is out of date, and queues what its source waits for instead.
    #[inline(never)]
    fn discard(&mut self, entry: Entry, place: Place) {
        self.queue.remove_first(entry, place);
        let (at, source) = (entry.at(), entry.source());
        let known = &mut self.sources[source as usize];
        if known.queued == at {
            known.queued = Instant::FAR_FUTURE;
            let wanted = known.wanted;
            if wanted != Instant::FAR_FUTURE {
                self.push(source, wanted);
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
                // Within the wheel and beyond it, with ties.
                let when = when.map(|at| Instant::from_nanos(at * 500));
                deadlines.set(source, when);
                table[source as usize] = when;
                let earliest = table.iter().flatten().min().copied();
                prop_assert!(deadlines.bound().unwrap_or(Instant::FAR_FUTURE) <= earliest.unwrap_or(Instant::FAR_FUTURE));
                prop_assert_eq!(deadlines.earliest().map(|(at, _)| at), earliest);
                prop_assert_eq!(deadlines.bound(), earliest);
            }
            while let Some((when, source)) = deadlines.pop(Instant::FAR_FUTURE) {
                prop_assert_eq!(table[source as usize].take(), Some(when));
            }
            prop_assert!(table.iter().all(Option::is_none));
        }
    }
}
