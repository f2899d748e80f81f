//! Which of the last path sequences have arrived: a ring of bits, as replay windows keep them (RFC 6479).
//!
//! A number far off in either direction is no replay: the sender has begun anew, so the window does too.

/// Sequences remembered behind the highest.
const BITS: u32 = 2048;
const WORDS: usize = BITS as usize / 64;
/// A jump ahead of more than this is a new beginning and not a loss.
const JUMP_MAX: u32 = 1 << 20;

/// What a sequence number is to a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seen {
    /// Ahead of all before: the new highest.
    Newest,
    /// Behind the highest, and missing until now.
    Late,
    /// It has arrived before.
    Duplicate,
    /// Out of all bounds: the window starts here.
    Anew,
}

/// The highest sequence of a path and those just behind it.
#[derive(Clone, Debug)]
pub(super) struct Window {
    highest: u32,
    bits: [u64; WORDS],
}

impl Window {
    /// A window whose first sequence has arrived.
    pub(super) fn new(first: u32) -> Window {
        let mut window = Window { highest: first, bits: [0; WORDS] };
        window.mark(first);
        window
    }

    pub(super) const fn highest(&self) -> u32 {
        self.highest
    }

    fn word(seq: u32) -> usize {
        (seq / 64) as usize % WORDS
    }

    fn mark(&mut self, seq: u32) {
        self.bits[Window::word(seq)] |= 1 << (seq % 64);
    }

    /// Takes a sequence number that has arrived.
    pub(super) fn accept(&mut self, seq: u32) -> Seen {
        let ahead = seq.wrapping_sub(self.highest);
        let behind = self.highest.wrapping_sub(seq);
        // One word of the ring is always being entered, so it cannot be looked back into.
        if behind <= BITS - 64 {
            if self.bits[Window::word(seq)] & 1 << (seq % 64) != 0 {
                return Seen::Duplicate;
            }
            self.mark(seq);
            return Seen::Late;
        }
        if ahead > JUMP_MAX {
            *self = Window::new(seq);
            return Seen::Anew;
        }
        let words = (seq / 64).wrapping_sub(self.highest / 64) % (u32::MAX / 64 + 1);
        for step in 1..=words.min(WORDS as u32) {
            self.bits[(Window::word(self.highest) + step as usize) % WORDS] = 0;
        }
        self.highest = seq;
        self.mark(seq);
        Seen::Newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn far_jumps_begin_anew() {
        let mut window = Window::new(5_000_000);
        assert_eq!(window.accept(17), Seen::Anew);
        assert_eq!(window.accept(18), Seen::Newest);
        assert_eq!(window.accept(17), Seen::Duplicate);
        assert_eq!(window.accept(4_000_000), Seen::Anew);
    }

    proptest! {
        #[test]
        fn it_remembers_as_a_set_would(start: u32, steps in prop::collection::vec(-1500i32..1500, 1..300)) {
            let mut window = Window::new(start);
            let mut set = BTreeSet::from([0i64]);
            let mut highest = 0;
            for step in steps {
                let place = highest + i64::from(step);
                if place < highest - i64::from(BITS - 64) {
                    continue;
                }
                let seen = window.accept(start.wrapping_add(place as u32));
                let expected = match (set.insert(place), place > highest) {
                    (false, _) => Seen::Duplicate,
                    (true, true) => Seen::Newest,
                    (true, false) => Seen::Late,
                };
                prop_assert_eq!(seen, expected);
                highest = highest.max(place);
                prop_assert_eq!(window.highest(), start.wrapping_add(highest as u32));
            }
        }
    }
}
