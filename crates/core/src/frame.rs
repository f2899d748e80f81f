//! Frames live in a slab and travel as 32-bit handles.
//!
//! A frame holds its first bytes (headers, up to 128 inline, more in a pooled buffer) and a count of
//! trailing `elided` bytes that exist in length but not in memory. Elided bytes are zeros, so checksums
//! over them are exact and a capture can be verified. Frames of a real wire elide nothing.
//!
//! Headers come and go at the front without moving what is behind: inline bytes lie at the end of their
//! space, and a pooled buffer keeps [`HEADROOM`] in front.

use std::ops::Range;

/// A handle to a frame in [`Frames`]. Whoever holds it passes it on or gives it back with
/// [`Frames::remove`]; it is `Copy` only so that queues stay plain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Frame(u32);

/// Which link a frame leaves or came in by: the position of the `[[link]]` in the plan, the same at both ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct LinkId(pub u16);

/// A change of a link's carrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum LinkChange {
    /// The link can carry frames.
    Up,
    /// The link is dead; frames on it are lost.
    Down,
}

/// Bytes a slot holds without a buffer of its own.
pub const INLINE_BYTES: usize = 128;
/// Bytes a pooled buffer keeps free in front of a frame for headers to come.
pub const HEADROOM: usize = 64;

#[derive(Clone)]
struct Slot {
    inline: [u8; INLINE_BYTES],
    /// Where the bytes in memory begin; they reach to the end of `inline` or `buffer`.
    start: u32,
    elided: u32,
    /// How often the slot has been taken: tells a frame from the next one in its slot.
    serial: u32,
    live: bool,
    corrupt: bool,
    waiting: bool,
    /// Whether the bytes are in `buffer` and not in `inline`.
    pooled: bool,
    buffer: Vec<u8>,
}

impl Slot {
    const EMPTY: Slot = Slot {
        inline: [0; INLINE_BYTES],
        start: 0,
        elided: 0,
        serial: 0,
        live: false,
        corrupt: false,
        waiting: false,
        pooled: false,
        buffer: Vec::new(),
    };

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        let start = self.start as usize;
        if self.pooled { &self.buffer[start..] } else { &self.inline[start..] }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let start = self.start as usize;
        if self.pooled { &mut self.buffer[start..] } else { &mut self.inline[start..] }
    }

    /// Room for `held` bytes, with more in front. What is in it is of no meaning.
    #[inline]
    fn space(&mut self, held: usize) -> &mut [u8] {
        self.pooled = held > INLINE_BYTES;
        if self.pooled {
            self.start = HEADROOM as u32;
            self.buffer.resize(HEADROOM + held, 0);
            &mut self.buffer[HEADROOM..]
        } else {
            self.start = (INLINE_BYTES - held) as u32;
            &mut self.inline[INLINE_BYTES - held..]
        }
    }

    /// Moves the bytes so that `room` more fit in front.
    fn make_room(&mut self, room: usize) {
        if self.pooled {
            let more = (room + HEADROOM).saturating_sub(self.start as usize);
            self.buffer.splice(..0, std::iter::repeat_n(0, more));
            self.start += more as u32;
        } else {
            let start = self.start as usize;
            self.buffer.clear();
            self.buffer.resize(HEADROOM + room, 0);
            self.buffer.extend_from_slice(&self.inline[start..]);
            self.pooled = true;
            self.start = (HEADROOM + room) as u32;
        }
    }
}

/// Where a frame is on its way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In a queue of this machine.
    Queue,
    /// With a transmitter, or beyond.
    Transmitter,
}

/// Names one frame for ever, also when its slot has gone to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    frame: Frame,
    serial: u32,
}

/// The slab of all frames of one world. Slots and their buffers are reused, so steady traffic
/// allocates nothing.
#[derive(Default, Clone)]
pub struct Frames {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Frames {
    /// An empty slab.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores a frame of `bytes` followed by `elided` zero bytes.
    pub fn insert(&mut self, bytes: &[u8], elided: u32) -> Frame {
        self.insert_parts(bytes, &[], elided)
    }

    /// Stores a frame of `header`, then `payload`, then `elided` zero bytes.
    pub fn insert_parts(&mut self, header: &[u8], payload: &[u8], elided: u32) -> Frame {
        self.insert_with(header.len() + payload.len(), elided, |space| {
            let (front, back) = space.split_at_mut(header.len());
            front.copy_from_slice(header);
            back.copy_from_slice(payload);
        })
    }

    /// Stores a frame of `len` bytes, all of which `fill` has to write, followed by `elided` zero bytes.
    #[inline]
    pub fn insert_with(&mut self, len: usize, elided: u32, fill: impl FnOnce(&mut [u8])) -> Frame {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::EMPTY);
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        slot.elided = elided;
        slot.serial = slot.serial.wrapping_add(1);
        slot.live = true;
        slot.corrupt = false;
        slot.waiting = false;
        fill(slot.space(len));
        Frame(index)
    }

    #[inline(always)]
    fn slot(&self, frame: Frame) -> &Slot {
        let slot = &self.slots[frame.0 as usize];
        assert!(slot.live, "a frame was used after it was given back");
        slot
    }

    #[inline]
    fn slot_mut(&mut self, frame: Frame) -> &mut Slot {
        let slot = &mut self.slots[frame.0 as usize];
        assert!(slot.live, "a frame was used after it was given back");
        slot
    }

    /// The bytes that are in memory.
    #[inline(always)]
    pub fn bytes(&self, frame: Frame) -> &[u8] {
        self.slot(frame).bytes()
    }

    /// The bytes that are in memory, to change in place.
    pub fn bytes_mut(&mut self, frame: Frame) -> &mut [u8] {
        self.slot_mut(frame).bytes_mut()
    }

    /// Puts a header in front of a frame.
    pub fn prepend(&mut self, frame: Frame, header: &[u8]) {
        let slot = self.slot_mut(frame);
        if (slot.start as usize) < header.len() {
            slot.make_room(header.len());
        }
        slot.start -= header.len() as u32;
        slot.bytes_mut()[..header.len()].copy_from_slice(header);
    }

    /// Copies the bytes `range` of one frame over those of another from `at` on.
    ///
    /// # Panics
    /// When either has fewer in memory, or both are the same frame.
    pub fn copy_within(&mut self, from: Frame, range: Range<usize>, to: Frame, at: usize) {
        let pair = self.slots.get_disjoint_mut([from.0 as usize, to.0 as usize]);
        let [from, to] = pair.expect("two frames");
        assert!(from.live && to.live, "a frame was used after it was given back");
        to.bytes_mut()[at..at + range.len()].copy_from_slice(&from.bytes()[range]);
    }

    /// Takes `len` bytes off the front of a frame.
    ///
    /// # Panics
    /// When fewer than that are in memory.
    pub fn strip_front(&mut self, frame: Frame, len: usize) {
        let slot = self.slot_mut(frame);
        assert!(len <= slot.bytes().len(), "more than the frame has in memory");
        slot.start += len as u32;
    }

    /// How many bytes are in memory.
    #[inline]
    pub fn in_memory(&self, frame: Frame) -> usize {
        let slot = self.slot(frame);
        let end = if slot.pooled { slot.buffer.len() } else { INLINE_BYTES };
        end - slot.start as usize
    }

    /// Trailing zero bytes that are not in memory.
    #[inline]
    pub fn elided(&self, frame: Frame) -> u32 {
        self.slot(frame).elided
    }

    /// Logical length in bytes, elided ones included.
    #[inline]
    pub fn len(&self, frame: Frame) -> usize {
        let slot = self.slot(frame);
        slot.bytes().len() + slot.elided as usize
    }

    /// Whether the wire damaged the frame somewhere the bytes in memory may not show.
    #[inline]
    pub fn is_corrupt(&self, frame: Frame) -> bool {
        self.slot(frame).corrupt
    }

    /// Marks the frame as damaged: its checksum will not verify.
    pub fn mark_corrupt(&mut self, frame: Frame) {
        self.slot_mut(frame).corrupt = true;
    }

    /// Notes whether the frame waits in a queue of this machine, before any transmitter.
    pub fn set_waiting(&mut self, frame: Frame, place: Place) {
        self.slot_mut(frame).waiting = place == Place::Queue;
    }

    /// A name for the frame that outlives it.
    pub fn ticket(&self, frame: Frame) -> Ticket {
        Ticket { frame, serial: self.slot(frame).serial }
    }

    /// Whether the frame still waits in a queue of this machine: not if it has left or is gone.
    pub fn is_waiting(&self, ticket: Ticket) -> bool {
        let slot = &self.slots[ticket.frame.0 as usize];
        slot.live && slot.serial == ticket.serial && slot.waiting
    }

    /// A second frame with the same content.
    pub fn duplicate(&mut self, frame: Frame) -> Frame {
        let mut copy = self.slot(frame).clone();
        match self.free.pop() {
            Some(index) => {
                copy.serial = self.slots[index as usize].serial.wrapping_add(1);
                self.slots[index as usize] = copy;
                Frame(index)
            }
            None => {
                self.slots.push(copy);
                Frame((self.slots.len() - 1) as u32)
            }
        }
    }

    /// Gives the slot back.
    #[inline(always)]
    pub fn remove(&mut self, frame: Frame) {
        let slot = &mut self.slots[frame.0 as usize];
        assert!(slot.live, "a frame was given back twice");
        slot.live = false;
        self.free.push(frame.0);
    }

    /// Frames that are held by somebody.
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

/// What one `poll_transmit` hands out: frames for one link, first to last. On fast links a run of
/// equal-sized datagrams, the last perhaps shorter, that one offloaded send can carry; on slow ones a
/// single frame.
#[derive(Default, Debug)]
pub struct Burst {
    /// The frames, in order of sending.
    pub frames: Vec<Frame>,
    /// Their summed logical lengths in bytes.
    pub bytes: u64,
}

impl Burst {
    /// An empty burst; keep it and clear it rather than making new ones.
    pub fn new() -> Self {
        Self::default()
    }
    /// Appends a frame of `len` logical bytes.
    pub fn push(&mut self, frame: Frame, len: usize) {
        self.frames.push(frame);
        self.bytes += len as u64;
    }
    /// Forgets the frames (which must have been taken over).
    pub fn clear(&mut self) {
        self.frames.clear();
        self.bytes = 0;
    }
    /// Whether nothing was handed out.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_reused_and_lengths_count_elided_bytes() {
        let mut frames = Frames::new();
        let a = frames.insert(&[1, 2, 3], 997);
        assert_eq!(
            (frames.len(a), frames.bytes(a), frames.elided(a)),
            (1000, &[1u8, 2, 3][..], 997)
        );
        assert_eq!(frames.in_memory(a), 3);
        let long = frames.insert_parts(&[7; 40], &[8; 500], 0);
        assert_eq!((frames.bytes(long).len(), frames.in_memory(long)), (540, 540));
        assert_eq!(frames.bytes(long)[39..41], [7, 8]);
        frames.remove(a);
        assert_eq!(frames.live(), 1);
        let b = frames.insert(&[9], 0);
        assert_eq!(b, a);
        let copy = frames.duplicate(long);
        frames.bytes_mut(copy)[0] = 1;
        assert_eq!(frames.bytes(long)[0], 7);
    }

    #[test]
    fn a_ticket_tells_a_frame_from_the_next_in_its_slot() {
        let mut frames = Frames::new();
        let a = frames.insert(&[1], 0);
        let ticket = frames.ticket(a);
        assert!(!frames.is_waiting(ticket));
        frames.set_waiting(a, Place::Queue);
        assert!(frames.is_waiting(ticket));
        frames.set_waiting(a, Place::Transmitter);
        assert!(!frames.is_waiting(ticket));
        frames.remove(a);
        let b = frames.insert(&[2], 0);
        assert_eq!(a, b);
        frames.set_waiting(b, Place::Queue);
        assert!(!frames.is_waiting(ticket));
    }

    #[test]
    fn headers_come_and_go_in_front() {
        let mut frames = Frames::new();
        for len in [0, 1, 100, 120, 128, 129, 1400] {
            let body: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let frame = frames.insert(&body, 7);
            for round in 0..6u8 {
                frames.prepend(frame, &[round; 30]);
            }
            assert_eq!(frames.len(frame), len + 6 * 30 + 7);
            assert_eq!(frames.bytes(frame)[..31], [[5; 30].as_slice(), &[4]].concat());
            frames.strip_front(frame, 6 * 30);
            assert_eq!(frames.bytes(frame), body);
            frames.remove(frame);
        }
    }

    #[test]
    #[should_panic(expected = "given back twice")]
    fn a_second_remove_is_our_own_bug() {
        let mut frames = Frames::new();
        let a = frames.insert(&[1], 0);
        frames.remove(a);
        frames.remove(a);
    }
}
