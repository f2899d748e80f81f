//! Propagation, one direction, with faults: what happens to a frame between the transmitter's last
//! bit and the receiver.
//!
//! Frames arrive in the order they were pushed: jitter delays but never overtakes. Only a frame drawn
//! for reordering leaves the line, by `reorder_delay` more, and lets later ones pass.

use crate::Context;
use crate::frame::{Frame, LinkChange};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::Ratio;
use crate::work::DropReason;
use std::collections::VecDeque;

/// How a wire treats frames. The default is a perfect wire without delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WireConfig {
    /// Propagation time.
    pub delay: Duration,
    /// Up to this much more, drawn evenly for each frame.
    pub jitter: Duration,
    /// How often a frame is lost.
    pub loss: Ratio,
    /// How often a frame arrives twice.
    pub duplication: Ratio,
    /// How often a frame is delayed past its successors.
    pub reorder: Ratio,
    /// By how much such a frame is delayed.
    pub reorder_delay: Duration,
    /// How often one bit of a frame is flipped.
    pub corruption: Ratio,
}

impl WireConfig {
    /// Whether nothing is left to chance.
    const fn is_perfect(&self) -> bool {
        self.jitter.is_zero()
            && self.loss.is_zero()
            && self.duplication.is_zero()
            && self.reorder.is_zero()
            && self.corruption.is_zero()
    }
}

/// What became of a frame that was pushed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is on its way.
    Carried,
    /// It is on its way, and damaged.
    Damaged,
    /// The wire lost it.
    Lost,
}

/// One direction of a wire with the frames on it.
#[derive(Clone, Debug)]
pub struct Wire {
    config: WireConfig,
    /// Whether every frame fares alike: only the delay counts.
    is_perfect: bool,
    rng: Rng,
    /// By arrival; equal arrivals in order of pushing.
    frames: VecDeque<(Instant, Frame)>,
    /// Arrival of the last frame that kept its place.
    last_in_order: Instant,
}

impl Wire {
    /// An empty wire that draws its faults from `rng`.
    pub fn new(config: WireConfig, rng: Rng) -> Self {
        let is_perfect = config.is_perfect();
        Wire { config, is_perfect, rng, frames: VecDeque::new(), last_in_order: Instant::ZERO }
    }

    /// How the wire treats frames.
    pub const fn config(&self) -> &WireConfig {
        &self.config
    }

    /// Changes the faults and the delay of frames pushed from now on.
    pub fn set_config(&mut self, config: WireConfig) {
        self.config = config;
        self.is_perfect = config.is_perfect();
    }

    /// Takes a frame whose last bit has left the transmitter at `now`.
    #[inline]
    pub fn push(&mut self, now: Instant, cx: &mut Context, frame: Frame) -> Fate {
        if self.is_perfect {
            self.keep_place(now + self.config.delay, frame);
            return Fate::Carried;
        }
        self.draw(now, cx, frame)
    }

    /// Lets chance decide what happens to a frame.
    fn draw(&mut self, now: Instant, cx: &mut Context, frame: Frame) -> Fate {
        if self.rng.chance(self.config.loss) {
            cx.drop_frame(frame, DropReason::WireLoss);
            return Fate::Lost;
        }
        if self.rng.chance(self.config.duplication) {
            let copy = cx.frames.duplicate(frame);
            self.launch(now, cx, copy);
        }
        self.launch(now, cx, frame)
    }

    fn launch(&mut self, now: Instant, cx: &mut Context, frame: Frame) -> Fate {
        let fate = match self.rng.chance(self.config.corruption) {
            true => Fate::Damaged,
            false => Fate::Carried,
        };
        if fate == Fate::Damaged {
            self.flip_one_bit(cx, frame);
        }
        let mut arrival = now + self.config.delay;
        if !self.config.jitter.is_zero() {
            arrival += Duration::from_nanos(self.rng.between(0, self.config.jitter.as_nanos()));
        }
        if self.rng.chance(self.config.reorder) {
            self.insert(arrival + self.config.reorder_delay, frame);
            return fate;
        }
        self.keep_place(arrival, frame);
        fate
    }

    /// A frame arrives, but not before the one in front of it.
    fn keep_place(&mut self, arrival: Instant, frame: Frame) {
        self.last_in_order = self.last_in_order.max(arrival);
        self.insert(self.last_in_order, frame);
    }

    #[inline(always)]
    fn insert(&mut self, arrival: Instant, frame: Frame) {
        if self.frames.back().is_none_or(|(last, _)| *last <= arrival) {
            self.frames.push_back((arrival, frame));
        } else {
            let place = self.frames.partition_point(|(at, _)| *at <= arrival);
            self.frames.insert(place, (arrival, frame));
        }
    }

    /// A hit in the bytes in memory shows there; in the elided rest it could not, so each is marked.
    fn flip_one_bit(&mut self, cx: &mut Context, frame: Frame) {
        let bit = self.rng.below(cx.frames.len(frame) as u64 * 8);
        let index = (bit / 8) as usize;
        if let Some(byte) = cx.frames.bytes_mut(frame).get_mut(index) {
            *byte ^= 1 << (bit % 8);
        }
        cx.frames.mark_corrupt(frame);
    }

    /// When the next frame arrives.
    pub fn next_arrival(&self) -> Option<Instant> {
        self.frames.front().map(|(at, _)| *at)
    }

    /// Takes a frame that has arrived by `now`.
    pub fn poll_arrival(&mut self, now: Instant) -> Option<Frame> {
        self.frames.pop_front_if(|(at, _)| *at <= now).map(|(_, frame)| frame)
    }

    /// Frames on the wire.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether no frame is on the wire.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// A cut loses everything on the wire; returns how many frames that were.
    pub fn handle_link(&mut self, _now: Instant, cx: &mut Context, change: LinkChange) -> usize {
        match change {
            LinkChange::Up => 0,
            LinkChange::Down => {
                let lost = self.frames.len();
                for (_, frame) in self.frames.drain(..) {
                    cx.drop_frame(frame, DropReason::LinkDown);
                }
                lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    fn perfect(delay: u64) -> WireConfig {
        WireConfig { delay: Duration::from_millis(delay), ..WireConfig::default() }
    }

    fn arrivals(wire: &mut Wire) -> Vec<Frame> {
        std::iter::from_fn(|| wire.poll_arrival(Instant::FAR_FUTURE)).collect()
    }

    #[test]
    fn frames_arrive_after_the_delay_and_not_before() {
        let mut cx = Context::new();
        let mut wire = Wire::new(perfect(10), Rng::new(1));
        let frame = cx.frames.insert(&[1], 0);
        assert_eq!(wire.push(ms(0), &mut cx, frame), Fate::Carried);
        assert_eq!(wire.next_arrival(), Some(ms(10)));
        assert_eq!(wire.poll_arrival(ms(9)), None);
        assert_eq!(wire.poll_arrival(ms(10)), Some(frame));
    }

    #[test]
    fn jitter_delays_but_never_overtakes() {
        let mut cx = Context::new();
        let mut config = perfect(5);
        config.jitter = Duration::from_millis(50);
        let mut wire = Wire::new(config, Rng::new(2));
        let pushed: Vec<Frame> = (0..200)
            .map(|i| {
                let frame = cx.frames.insert(&[], i);
                wire.push(ms(u64::from(i)), &mut cx, frame);
                frame
            })
            .collect();
        assert_eq!(arrivals(&mut wire), pushed);
    }

    #[test]
    fn a_reordered_frame_lets_later_ones_pass() {
        let mut cx = Context::new();
        let mut config = perfect(0);
        config.reorder = Ratio::from_ppb(200_000_000);
        config.reorder_delay = Duration::from_millis(3);
        let mut wire = Wire::new(config, Rng::new(3));
        let pushed: Vec<Frame> = (0..100)
            .map(|i| {
                let frame = cx.frames.insert(&[], 1);
                wire.push(ms(i), &mut cx, frame);
                frame
            })
            .collect();
        let mut got = arrivals(&mut wire);
        assert_ne!(got, pushed);
        got.sort_by_key(|f| pushed.iter().position(|p| p == f));
        assert_eq!(got, pushed);
    }

    #[test]
    fn faults_are_drawn_at_their_ratios_and_counted() {
        let mut cx = Context::new();
        let mut config = perfect(0);
        config.loss = Ratio::from_ppb(100_000_000);
        config.duplication = Ratio::from_ppb(100_000_000);
        config.corruption = Ratio::ONE;
        let mut wire = Wire::new(config, Rng::new(4));
        for _ in 0..1000 {
            let frame = cx.frames.insert(&[0; 10], 90);
            wire.push(ms(0), &mut cx, frame);
        }
        let lost = cx.work.dropped(DropReason::WireLoss);
        assert!((70..130).contains(&lost), "{lost}");
        let doubled = wire.len() as u64 + lost - 1000;
        assert!((60..130).contains(&doubled), "{doubled}");
        let (mut shown, mut marked) = (0, 0);
        for frame in arrivals(&mut wire) {
            marked += u64::from(cx.frames.is_corrupt(frame));
            shown += cx.frames.bytes(frame).iter().map(|b| b.count_ones()).sum::<u32>();
        }
        assert_eq!(marked, 1000 - lost + doubled);
        assert!((50..200).contains(&shown), "{shown}");
    }

    #[test]
    fn a_cut_loses_what_is_on_the_wire() {
        let mut cx = Context::new();
        let mut wire = Wire::new(perfect(10), Rng::new(5));
        for _ in 0..3 {
            let frame = cx.frames.insert(&[], 5);
            wire.push(ms(0), &mut cx, frame);
        }
        assert_eq!(wire.handle_link(ms(1), &mut cx, LinkChange::Down), 3);
        assert_eq!(cx.work.dropped(DropReason::LinkDown), 3);
        assert_eq!((wire.next_arrival(), cx.frames.live()), (None, 0));
    }
}
