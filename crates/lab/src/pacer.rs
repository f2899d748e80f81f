//! A sender that keeps to a rate, in front of a network that carries another.
//!
//! The frame counts as transmitted when its time at the sender's rate is over; then it is the network's.

use trunkline_core::Context;
use trunkline_core::frame::Frame;
use trunkline_core::link::framing::{Framer, Framing};
use trunkline_core::time::Instant;
use trunkline_core::units::{BitRate, RateClock};

/// One frame at a time, at a rate.
pub(crate) struct Pacer {
    clock: RateClock,
    framer: Framer,
    current: Option<(Instant, Frame)>,
}

impl Pacer {
    pub(crate) fn new(rate: BitRate, framing: Framing) -> Pacer {
        Pacer { clock: RateClock::new(rate), framer: Framer::new(framing), current: None }
    }

    /// Whether it can take a frame.
    pub(crate) const fn idle(&self) -> bool {
        self.current.is_none()
    }

    /// Takes a frame; it must be idle.
    pub(crate) fn start(&mut self, now: Instant, cx: &Context, frame: Frame) {
        let bits = self.framer.wire_bits(cx.frames.bytes(frame), cx.frames.elided(frame));
        self.current = Some((now + self.clock.advance(bits), frame));
    }

    /// When the frame's time is over.
    pub(crate) fn finishes(&self) -> Option<Instant> {
        self.current.map(|(at, _)| at)
    }

    /// Gives up the frame whose time is over.
    pub(crate) fn finish(&mut self, now: Instant) -> Option<Frame> {
        self.current.take_if(|(at, _)| *at <= now).map(|(_, frame)| frame)
    }
}
