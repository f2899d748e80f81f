//! A card's receive memory, and a host that empties it word by word.
//!
//! A card without bus mastering keeps what it has received in a small ring until the host has read it, one
//! word at a time over the I/O bus (programmed I/O). A read takes as long as the bus does, and a driver may
//! wait a little with each: `SB1000_DELAY` of the driver for the SURFboard 1000 is such a wait, for hosts that
//! "might not be able to keep up". The words of a frame are free again as they are read. A frame that finds no
//! room is lost: an overrun.
//!
//! Deviations: the host reads whenever there is something, at once and without a limit, so it has nothing else
//! to do at a higher priority, and what it reads waits for nothing else; [`ReceiveRingStats::reading`]
//! tells how much of its time goes into it. Nothing is lost while it is read.

use crate::Context;
use crate::frame::Frame;
use crate::time::{Duration, Instant};
use crate::work::DropReason;
use std::collections::VecDeque;

/// What a card keeps, and how it is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiveRingConfig {
    /// Bytes of received frames it has room for.
    pub bytes: u32,
    /// Bytes that one read takes. Above zero.
    pub word: u16,
    /// What a read takes on the bus.
    pub read: Duration,
    /// What the driver waits with each read.
    pub delay: Duration,
}

/// What a ring has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiveRingStats {
    /// Frames the host has read.
    pub frames: u64,
    /// Frames there was no room for.
    pub overruns: u64,
    /// The most bytes that waited.
    pub bytes_max: u64,
    /// Time the host was busy with reads.
    pub reading: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Reading {
    frame: Frame,
    bytes: u64,
    started: Instant,
    ends: Instant,
}

/// The ring and the host that reads it.
#[derive(Clone, Debug)]
pub struct ReceiveRing {
    config: ReceiveRingConfig,
    /// Frames not begun with, and their bytes.
    waiting: VecDeque<(Frame, u64)>,
    waiting_bytes: u64,
    reading: Option<Reading>,
    stats: ReceiveRingStats,
}

impl ReceiveRing {
    /// An empty ring.
    ///
    /// # Panics
    /// When a word is nothing.
    pub fn new(config: ReceiveRingConfig) -> Self {
        assert!(config.word > 0, "a read takes something");
        let (waiting, stats) = (VecDeque::new(), ReceiveRingStats::default());
        ReceiveRing { config, waiting, waiting_bytes: 0, reading: None, stats }
    }

    /// Totals so far.
    pub const fn stats(&self) -> &ReceiveRingStats {
        &self.stats
    }

    /// How long a frame of `bytes` takes the host to read.
    pub fn service_time(&self, bytes: u64) -> Duration {
        (self.config.read + self.config.delay) * bytes.div_ceil(u64::from(self.config.word))
    }

    /// Bytes not read yet.
    pub fn held_bytes(&self, now: Instant) -> u64 {
        let each = (self.config.read + self.config.delay).as_nanos().max(1);
        let unread = self.reading.map_or(0, |reading| {
            let words = (now - reading.started).as_nanos() / each;
            reading.bytes.saturating_sub(words * u64::from(self.config.word))
        });
        self.waiting_bytes + unread
    }

    /// Frames in it.
    pub fn held_frames(&self) -> usize {
        self.waiting.len() + usize::from(self.reading.is_some())
    }

    /// The card has received a frame: it is kept if there is room.
    pub fn handle_frame(&mut self, now: Instant, cx: &mut Context, frame: Frame) {
        let bytes = cx.frames.len(frame) as u64;
        let held = self.held_bytes(now) + bytes;
        if held > u64::from(self.config.bytes) {
            self.stats.overruns += 1;
            return cx.drop_frame(frame, DropReason::Overrun);
        }
        self.stats.bytes_max = self.stats.bytes_max.max(held);
        self.waiting.push_back((frame, bytes));
        self.waiting_bytes += bytes;
        self.read_next(now);
    }

    /// When the host has read the next frame.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.reading.map(|reading| reading.ends)
    }

    /// Takes a frame the host has read by `now`.
    pub fn poll_read(&mut self, now: Instant) -> Option<Frame> {
        let done = self.reading.filter(|reading| reading.ends <= now)?;
        self.reading = None;
        self.stats.frames += 1;
        self.stats.reading += done.ends - done.started;
        self.read_next(done.ends);
        Some(done.frame)
    }

    /// Begins with the next frame unless the host is at one.
    fn read_next(&mut self, now: Instant) {
        if self.reading.is_none()
            && let Some((frame, bytes)) = self.waiting.pop_front()
        {
            self.waiting_bytes -= bytes;
            let ends = now + self.service_time(bytes);
            self.reading = Some(Reading { frame, bytes, started: now, ends });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    fn ring(bytes: u32, delay_us: u64) -> (ReceiveRing, Context) {
        let (read, delay) = (Duration::from_micros(1), Duration::from_micros(delay_us));
        (ReceiveRing::new(ReceiveRingConfig { bytes, word: 2, read, delay }), Context::new())
    }

    #[test]
    fn frames_come_out_in_order_as_fast_as_they_are_read() {
        let (mut ring, mut cx) = ring(4000, 0);
        let frames = [1500, 1000].map(|len| cx.frames.insert(&[], len));
        for frame in frames {
            ring.handle_frame(at(0), &mut cx, frame);
        }
        assert_eq!(ring.next_timeout(), Some(at(750)));
        assert_eq!((ring.poll_read(at(749)), ring.held_bytes(at(749))), (None, 1002));
        assert_eq!(ring.poll_read(at(750)), Some(frames[0]));
        // The second one was begun with when the first was done, also when nobody asked before.
        assert_eq!(ring.poll_read(at(2000)), Some(frames[1]));
        assert_eq!(ring.stats().reading, Duration::from_micros(1250));
        assert_eq!((ring.next_timeout(), ring.held_frames()), (None, 0));
    }

    /// The delay is of each read: 60 µs a frame would allow 200 Mbit/s, 60 µs a word of two bytes 33 kB/s.
    #[test]
    fn sb_4_a_host_slower_than_the_cable_overruns_the_ring() {
        let (mut ring, mut cx) = ring(8192, 60);
        assert_eq!(ring.service_time(1500), Duration::from_micros(61 * 750));
        let arrival = Duration::from_micros(445);
        let mut now = Instant::ZERO;
        let mut read = 0;
        for _ in 0..2000 {
            while let Some(frame) = ring.poll_read(now) {
                cx.frames.remove(frame);
                read += 1;
            }
            let frame = cx.frames.insert(&[], 1500);
            ring.handle_frame(now, &mut cx, frame);
            now += arrival;
        }
        assert!(ring.service_time(1500) > arrival);
        assert_eq!(read, ring.stats().frames);
        assert_eq!(ring.stats().overruns, cx.work.dropped(DropReason::Overrun));
        assert_eq!(2000, read + ring.stats().overruns + ring.held_frames() as u64);
        // It reads without a pause, so what it reads is what it can.
        let possible = (now - Instant::ZERO).as_nanos() / ring.service_time(1500).as_nanos();
        assert!(read.abs_diff(possible) <= 1, "{read} of {possible}");
        assert!(ring.stats().bytes_max <= 8192);
        // One that keeps up loses nothing.
        let (mut ring, mut cx) = super::tests::ring(8192, 0);
        assert!(ring.service_time(500) < arrival);
        for turn in 0..100 {
            let now = Instant::ZERO + arrival * turn;
            while let Some(frame) = ring.poll_read(now) {
                cx.frames.remove(frame);
            }
            let frame = cx.frames.insert(&[], 500);
            ring.handle_frame(now, &mut cx, frame);
        }
        assert_eq!(ring.stats().overruns, 0);
    }

    #[test]
    fn a_ring_without_room_for_a_frame_takes_none() {
        let (mut ring, mut cx) = ring(1000, 0);
        let frame = cx.frames.insert(&[], 1001);
        ring.handle_frame(at(0), &mut cx, frame);
        assert_eq!((ring.stats().overruns, ring.held_frames(), cx.frames.live()), (1, 0, 0));
    }
}
