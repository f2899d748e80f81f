//! Half-duplex Ethernet, one medium for all (IEEE 802.3, clause 4: CSMA/CD). Everything counts in bit times, so
//! 10 and 100 Mbit/s behave alike.
//!
//! A station that hears somebody waits until he is done, and the gap longer. A signal in the first two thirds of the
//! gap begins it anew; in the last third, and in the gap after a transmission of its own, none does: all who wait
//! begin together. Who began before he could hear another collides with him. He sends his preamble to its end and
//! the jam, and waits a number of slots that is drawn evenly from a range which doubles with each collision of his
//! frame. After the sixteenth the frame is given up.
//!
//! A station whose frame got through begins anew with the next, the losers keep their counts: the winner wins
//! again, which is known as capture. It follows from the counts and is written down nowhere.
//!
//! What a station hears is worked out from the signals that are still under way, each as long as it takes to the
//! station's place, and only for stations that want to send: idle ones cost nothing.
//!
//! Deviations: a fragment never looks like a frame; a collision after the slot time, which a medium as long as the
//! standard allows does not have, is treated as any other.

mod counters;
#[cfg(test)]
mod tests;

use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::BitRate;
use std::collections::VecDeque;

pub use counters::Counters;

/// Silence between two frames.
pub const GAP_BITS: u64 = 96;
/// The part of it in which a signal begins it anew.
const GAP_FIRST_BITS: u64 = 64;
/// What a collision may take, and the unit of waiting after it.
pub const SLOT_BITS: u64 = 512;
/// What tells everybody of a collision.
const JAM_BITS: u64 = 32;
/// What a frame begins with, its delimiter included.
const PREAMBLE_BITS: u64 = 64;
/// The shortest frame, without its preamble.
const FRAME_BITS_MIN: u64 = 512;
/// Collisions after which a frame is given up.
pub const ATTEMPTS_MAX: u8 = 16;
/// Collisions after which the mean wait doubles no more.
const BACKOFF_MAX: u8 = 10;

/// What became of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Everybody hears it.
    Sent,
    /// It collided too often.
    GivenUp,
}

/// How far apart stations are, as time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Every two of them this far: a repeater in the middle of cables of one length.
    Star(Duration),
    /// A cable this long from end to end; each station has its place on it.
    Bus(Duration),
}

impl Layout {
    /// The longest way from one station to another.
    pub const fn propagation(self) -> Duration {
        match self {
            Layout::Star(span) | Layout::Bus(span) => span,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Station {
    slot: u16,
    place: Duration,
    /// Of the frame it has, with its preamble; 0 when it has none.
    bits: u64,
    /// Of that frame.
    collisions: u8,
    /// From when on it wants to send.
    ready: Instant,
    /// When it will, as far as is known.
    begins: Instant,
}

/// One transmission, as long as somebody may hear it or wait for the end of the gap behind it.
#[derive(Clone, Copy, Debug)]
struct Signal {
    station: usize,
    start: Instant,
    end: Instant,
    collided: bool,
    /// Whether its station is still at it.
    is_on: bool,
}

/// A signal as one station hears it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Heard {
    from: Instant,
    to: Instant,
    own: bool,
}

/// What the standard counts in bits.
#[derive(Clone, Copy, Debug)]
struct Times {
    gap: Duration,
    gap_first: Duration,
    preamble: Duration,
    jam: Duration,
    slot: Duration,
}

/// One medium with its stations.
#[derive(Clone, Debug)]
pub struct Csma {
    rate: BitRate,
    layout: Layout,
    times: Times,
    rng: Rng,
    stations: Vec<Station>,
    /// The station of each slot.
    by_slot: Vec<Option<u32>>,
    /// Stations that have a frame and are not sending.
    waiting: Vec<usize>,
    signals: Vec<Signal>,
    /// What one station hears, while that is worked out.
    heard: Vec<Heard>,
    finished: VecDeque<(u16, Outcome)>,
    /// When the next station begins, and when the next transmission ends.
    next_begin: Instant,
    next_end: Instant,
    clock: Instant,
    counters: Counters,
    /// Since when there is a signal, if there is one.
    busy_since: Option<Instant>,
    /// When somebody sent first.
    began: Option<Instant>,
}

impl Csma {
    /// A silent medium of this rate. Waits are drawn from `rng`.
    ///
    /// # Panics
    /// When the rate is zero.
    pub fn new(rate: BitRate, layout: Layout, rng: Rng) -> Self {
        assert!(!rate.is_zero(), "a cable needs a rate above zero");
        let times = Times {
            gap: rate.time_for_bits(GAP_BITS),
            gap_first: rate.time_for_bits(GAP_FIRST_BITS),
            preamble: rate.time_for_bits(PREAMBLE_BITS),
            jam: rate.time_for_bits(JAM_BITS),
            slot: rate.time_for_bits(SLOT_BITS),
        };
        Csma {
            rate,
            layout,
            times,
            rng,
            stations: Vec::new(),
            by_slot: Vec::new(),
            waiting: Vec::new(),
            signals: Vec::new(),
            heard: Vec::new(),
            finished: VecDeque::new(),
            next_begin: Instant::FAR_FUTURE,
            next_end: Instant::FAR_FUTURE,
            clock: Instant::ZERO,
            counters: Counters::default(),
            busy_since: None,
            began: None,
        }
    }

    /// Bits per second.
    pub const fn rate(&self) -> BitRate {
        self.rate
    }

    /// What has been seen until `now`.
    pub fn counters(&self, now: Instant) -> Counters {
        let busy = self.busy_since.map_or(Duration::ZERO, |since| now - since);
        Counters { busy: self.counters.busy + busy, ..self.counters }
    }

    /// When somebody sent first, if anybody has.
    pub const fn began(&self) -> Option<Instant> {
        self.began
    }

    /// The station the caller knows as `slot` is so far from the first end of a [`Layout::Bus`]. Nobody needs a
    /// place to take part; without one it is at that end.
    ///
    /// # Panics
    /// When that is beyond the other end.
    pub fn place(&mut self, slot: u16, place: Duration) {
        assert!(place <= self.layout.propagation(), "a station beyond the end of its cable");
        let index = self.station(slot);
        self.stations[index].place = place;
    }

    /// How long a signal takes from one station to another.
    pub fn way(&mut self, from: u16, to: u16) -> Duration {
        let (from, to) = (self.station(from), self.station(to));
        self.apart(from, to)
    }

    /// The station the caller knows as `slot` wants to send a frame of `bits`, its preamble and the gap behind it
    /// included. One shorter than the shortest is sent as long as that.
    ///
    /// # Panics
    /// When it has not done with the frame before.
    pub fn start(&mut self, now: Instant, slot: u16, bits: u64) {
        self.advance(now);
        let index = self.station(slot);
        let is_collected = self.finished.iter().all(|done| done.0 != slot);
        assert!(is_collected, "its last frame was not collected");
        assert!(self.stations[index].bits == 0, "the station is still sending");
        let bits = bits.saturating_sub(GAP_BITS).max(PREAMBLE_BITS + FRAME_BITS_MIN);
        let station = &mut self.stations[index];
        (station.bits, station.collisions) = (bits, 0);
        let begins = self.wait(index, now);
        let is_heard = |signal: &Signal| {
            let apart = self.apart(signal.station, index);
            signal.station != index && signal.end + apart + self.times.gap > now
        };
        let hears_others = begins > now && self.signals.iter().any(is_heard);
        self.counters.deferred += u64::from(hears_others);
        self.advance(now);
    }

    /// When the next transmission begins or ends.
    pub fn next_finish(&self) -> Option<Instant> {
        match self.finished.is_empty() {
            true => self.next_event(),
            false => Some(self.clock),
        }
    }

    /// Takes a station whose frame has come to an end by `now`.
    pub fn poll_finished(&mut self, now: Instant) -> Option<(u16, Outcome)> {
        self.advance(now);
        self.finished.pop_front()
    }

    /// The position of the station with this slot, which is new when nobody has heard of it.
    fn station(&mut self, slot: u16) -> usize {
        let at = usize::from(slot);
        if self.by_slot.len() <= at {
            self.by_slot.resize(at + 1, None);
        }
        if let Some(known) = self.by_slot[at] {
            return known as usize;
        }
        let index = self.stations.len();
        self.by_slot[at] = Some(index as u32);
        self.stations.push(Station {
            slot,
            place: Duration::ZERO,
            bits: 0,
            collisions: 0,
            ready: Instant::ZERO,
            begins: Instant::ZERO,
        });
        index
    }

    fn apart(&self, one: usize, other: usize) -> Duration {
        match self.layout {
            Layout::Star(_) if one == other => Duration::ZERO,
            Layout::Star(span) => span,
            Layout::Bus(_) => self.stations[one].place.abs_diff(self.stations[other].place),
        }
    }

    /// Lets all transmissions begin and end that do so by `now`.
    fn advance(&mut self, now: Instant) {
        self.clock = self.clock.max(now);
        while let Some(next) = self.next_event().filter(|next| *next <= now) {
            if self.next_end <= self.next_begin {
                self.end(next);
            } else {
                self.begin(next);
            }
        }
    }

    /// When a transmission begins or ends next.
    fn next_event(&self) -> Option<Instant> {
        let next = self.next_begin.min(self.next_end);
        (next < Instant::FAR_FUTURE).then_some(next)
    }

    /// A station wants to send from `ready` on. Answers when it will.
    fn wait(&mut self, index: usize, ready: Instant) -> Instant {
        self.stations[index].ready = ready;
        let begins = self.silence(index);
        self.stations[index].begins = begins;
        self.waiting.push(index);
        self.next_begin = self.next_begin.min(begins);
        begins
    }

    /// When a station that waits may begin, as far as it is to hear what is under way.
    fn silence(&mut self, index: usize) -> Instant {
        let ready = self.stations[index].ready;
        let mut heard = std::mem::take(&mut self.heard);
        heard.clear();
        heard.extend(self.signals.iter().map(|signal| {
            let apart = self.apart(signal.station, index);
            let own = signal.station == index;
            Heard { from: signal.start + apart, to: signal.end + apart, own }
        }));
        heard.sort_unstable();
        let begins = self.times.opening(ready, &heard);
        self.heard = heard;
        begins
    }

    /// The first of those that wait begins.
    fn begin(&mut self, now: Instant) {
        let stations = &self.stations;
        let first = self.waiting.iter().position(|index| stations[*index].begins == now);
        let Some(first) = first else { unreachable!("somebody was to begin") };
        let index = self.waiting.swap_remove(first);
        let fades = self.layout.propagation() + self.times.gap;
        self.signals.retain(|signal| signal.is_on || signal.end + fades >= now);
        self.busy_since.get_or_insert(now);
        self.began.get_or_insert(now);
        let signal = self.collide(index, now);
        self.signals.push(signal);
        // What others wait for has changed.
        self.next_begin = Instant::FAR_FUTURE;
        for at in 0..self.waiting.len() {
            let other = self.waiting[at];
            // What it has waited for so far may be forgotten by now.
            let ready = &mut self.stations[other].ready;
            *ready = now.max(*ready);
            let begins = self.silence(other);
            assert!(begins >= now, "a station should have begun before");
            self.stations[other].begins = begins;
            self.next_begin = self.next_begin.min(begins);
        }
        self.look_for_end();
    }

    /// The signal of a station that begins now. What it meets on the way is cut short, as it is itself.
    fn collide(&mut self, index: usize, now: Instant) -> Signal {
        let end = now + self.rate.time_for_bits(self.stations[index].bits);
        let mut signal = Signal { station: index, start: now, end, collided: false, is_on: true };
        let mut is_known = false;
        for at in 0..self.signals.len() {
            let apart = self.apart(self.signals[at].station, index);
            let other = &mut self.signals[at];
            if other.end + apart <= now {
                continue;
            }
            is_known |= other.collided;
            self.times.cut(&mut signal, (other.start + apart).max(now));
            if other.is_on {
                self.times.cut(other, now + apart);
            }
        }
        self.counters.collisions += u64::from(signal.collided && !is_known);
        signal
    }

    /// The first of those that send is done.
    fn end(&mut self, now: Instant) {
        let is_meant = |signal: &Signal| signal.is_on && signal.end == now;
        let Some(at) = self.signals.iter().position(is_meant) else {
            unreachable!("somebody was to end")
        };
        let signal = &mut self.signals[at];
        signal.is_on = false;
        let (index, collided) = (signal.station, signal.collided);
        self.look_for_end();
        if self.next_end == Instant::FAR_FUTURE {
            let since = self.busy_since.take().unwrap_or(now);
            self.counters.busy += now - since;
        }
        if collided {
            return self.back_off(index, now);
        }
        let station = &mut self.stations[index];
        self.counters.note_sent(station.collisions, station.bits - PREAMBLE_BITS);
        station.bits = 0;
        self.finished.push_back((station.slot, Outcome::Sent));
    }

    fn look_for_end(&mut self) {
        let ends = self.signals.iter().filter(|signal| signal.is_on).map(|signal| signal.end);
        self.next_end = ends.min().unwrap_or(Instant::FAR_FUTURE);
    }

    /// A station's frame has collided once more.
    fn back_off(&mut self, index: usize, now: Instant) {
        let station = &mut self.stations[index];
        station.collisions += 1;
        if station.collisions == ATTEMPTS_MAX {
            station.bits = 0;
            self.finished.push_back((station.slot, Outcome::GivenUp));
            self.counters.given_up += 1;
            return;
        }
        let slots = draw(&mut self.rng, station.collisions);
        self.wait(index, now + self.times.slot * slots);
    }
}

/// How many slots a frame waits after so many collisions.
fn draw(rng: &mut Rng, collisions: u8) -> u64 {
    rng.below(1 << collisions.min(BACKOFF_MAX))
}

impl Times {
    /// When a station may begin that wants to from `ready` on and hears this, in the order of its beginning.
    fn opening(&self, ready: Instant, heard: &[Heard]) -> Instant {
        let Some((first, rest)) = heard.split_first() else { return ready };
        // Nobody stops at what he hears in the very moment.
        if ready <= first.from {
            return ready;
        }
        let mut busy = *first;
        for next in rest {
            let in_gap = next.from > busy.to && (busy.own || next.from >= busy.to + self.gap_first);
            if !in_gap {
                busy.to = busy.to.max(next.to);
                busy.own |= next.own;
                continue;
            }
            let open = busy.to + self.gap;
            if ready <= open.max(next.from) {
                return ready.max(open);
            }
            busy = *next;
        }
        ready.max(busy.to + self.gap)
    }

    /// A station hears another while it sends, if it still does: it is cut short.
    fn cut(&self, signal: &mut Signal, heard: Instant) {
        if heard < signal.end {
            signal.collided = true;
            signal.end = signal.end.min(heard.max(signal.start + self.preamble) + self.jam);
        }
    }
}
