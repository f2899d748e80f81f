//! Deadlines of the near future: slots of equal length, each in order, and one bit for each that tells
//! whether something is in it. What a fast link brings soon goes in and out without moving the rest.

use super::heap::Entry;

/// Bits of a time in nanoseconds within its slot: a quarter of a microsecond, a fifth of what a full
/// packet takes at 10 Gbit/s.
const SLOT_BITS: u32 = 8;
/// Slots there are, bits of a word: 16 microseconds.
const SLOTS: u64 = u64::BITS as u64;

/// The entries of one slot in order; those before `head` have been taken off.
#[derive(Clone, Default, Debug)]
struct Slot {
    entries: Vec<Entry>,
    head: usize,
}

impl Slot {
    /// Puts an entry in, mostly behind all others.
    #[inline]
    fn insert(&mut self, entry: Entry) {
        let mut at = self.entries.len();
        self.entries.push(entry);
        let entries = &mut self.entries[..];
        while at > self.head && entry < entries[at - 1] {
            entries[at] = entries[at - 1];
            at -= 1;
        }
        entries[at] = entry;
    }
}

/// Entries that are near the earliest, the earliest first.
#[derive(Clone, Default, Debug)]
pub(super) struct Wheel {
    /// Made with the first entry.
    slots: Vec<Slot>,
    /// The bit of each slot that is not empty.
    filled: u64,
    /// The number of the first slot, counted from the origin of time: none has an entry before it.
    first: u64,
}

/// The number of an entry's slot, counted from the origin of time.
#[inline]
const fn number(entry: Entry) -> u64 {
    entry.at().as_nanos() >> SLOT_BITS
}

impl Wheel {
    /// Puts an entry in if it is near.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry) -> bool {
        let number = number(entry);
        if number.wrapping_sub(self.first) >= SLOTS {
            return false;
        }
        let place = number % SLOTS;
        if self.slots.is_empty() {
            self.slots.resize(SLOTS as usize, Slot::default());
        }
        self.filled |= 1 << place;
        self.slots[place as usize].insert(entry);
        true
    }

    /// The earliest entry and its slot.
    #[inline]
    pub(super) fn first(&self) -> Option<(Entry, usize)> {
        if self.filled == 0 {
            return None;
        }
        let from_first = self.filled.rotate_right((self.first % SLOTS) as u32);
        let at = ((self.first + u64::from(from_first.trailing_zeros())) % SLOTS) as usize;
        let slot = &self.slots[at];
        slot.entries.get(slot.head).map(|entry| (*entry, at))
    }

    /// Takes off the earliest entry of a slot.
    #[inline]
    pub(super) fn remove_first(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        slot.head += 1;
        if slot.head >= slot.entries.len() {
            slot.entries.clear();
            slot.head = 0;
            self.filled &= !(1 << at);
        }
    }

    /// This entry is the earliest of all: time goes on from there.
    #[inline]
    pub(super) fn turn_to(&mut self, entry: Entry) {
        self.first = self.first.max(number(entry));
    }
}
