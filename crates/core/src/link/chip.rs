//! Several lines on one UART chip: together they get no more than the chip's capacity.
//!
//! The capacity is shared max-min fair among the lines that are sending: no line gets more than its
//! own rate, and what a slow line leaves is split among the others (fluid processor sharing). A real
//! chip serves its channels byte by byte; with frames of hundreds of bytes the fluid is its limit.
//!
//! Work is counted in integers, micro-bit/s times nanoseconds. A frame ends at the first whole
//! nanosecond by which all its bits are out, and what was served beyond that is credited to the
//! line's next frame, so that rounding never drifts.

use crate::time::{Duration, Instant};
use crate::units::BitRate;
use std::collections::VecDeque;

/// Resolution of a share: millionths of a bit per second.
const MICRO: u128 = 1_000_000;
/// Work of one bit: micro-bit/s × ns.
const WORK_PER_BIT: u128 = MICRO * 1_000_000_000;

#[derive(Clone, Debug)]
struct Line {
    slot: u16,
    rate: BitRate,
    /// What it is served at now, in micro-bit/s; zero while it is silent.
    share: u128,
    /// Work left, zero while it is silent.
    left: u128,
    /// Work served beyond the end of its last frame.
    credit: u128,
}

/// A chip and the frames its lines are sending.
#[derive(Clone, Debug)]
pub struct Chip {
    capacity: Option<BitRate>,
    lines: Vec<Line>,
    /// Up to when the work is counted.
    clock: Instant,
    next_finish: Option<Instant>,
    finished: VecDeque<u16>,
}

impl Chip {
    /// A silent chip; without a capacity every line runs at its own rate.
    ///
    /// # Panics
    /// When the capacity is zero.
    pub fn new(capacity: Option<BitRate>) -> Self {
        assert!(capacity.is_none_or(|c| !c.is_zero()), "a chip needs a capacity above zero");
        Chip {
            capacity,
            lines: Vec::new(),
            clock: Instant::ZERO,
            next_finish: None,
            finished: VecDeque::new(),
        }
    }

    /// Begins to send `bits` on the line the caller knows as `slot`.
    ///
    /// # Panics
    /// When the line is still sending, or its rate is zero.
    pub fn start(&mut self, now: Instant, slot: u16, bits: u64, line_rate: BitRate) {
        assert!(!line_rate.is_zero(), "a line needs a rate above zero");
        self.advance(now);
        assert!(!self.finished.contains(&slot), "its last frame was not collected");
        let index = self.line_index(slot);
        let line = &mut self.lines[index];
        assert!(line.left == 0, "the line is still sending");
        line.rate = line_rate;
        let work = u128::from(bits) * WORK_PER_BIT;
        // Never zero, so that even an empty frame is seen to finish.
        line.left = work.saturating_sub(line.credit).max(1);
        line.credit = 0;
        self.share_out();
    }

    /// When the first of the frames being sent ends, unless another one is started before.
    pub fn next_finish(&self) -> Option<Instant> {
        match self.finished.is_empty() {
            true => self.next_finish,
            false => Some(self.clock),
        }
    }

    /// Takes a line whose frame has ended by `now`.
    pub fn poll_finished(&mut self, now: Instant) -> Option<u16> {
        self.advance(now);
        self.finished.pop_front()
    }

    /// Lines that are sending.
    pub fn active(&self) -> usize {
        self.lines.iter().filter(|l| l.left > 0).count()
    }

    fn line_index(&mut self, slot: u16) -> usize {
        if let Some(index) = self.lines.iter().position(|l| l.slot == slot) {
            return index;
        }
        self.lines.push(Line { slot, rate: BitRate::default(), share: 0, left: 0, credit: 0 });
        self.lines.len() - 1
    }

    /// Serves all lines up to `now`; shares change at every end of a frame on the way.
    fn advance(&mut self, now: Instant) {
        while let Some(end) = self.next_finish.filter(|end| *end <= now) {
            self.serve(end);
            self.share_out();
        }
        self.serve(now);
    }

    fn serve(&mut self, until: Instant) {
        let nanos = u128::from((until - self.clock).as_nanos());
        self.clock = self.clock.max(until);
        if nanos == 0 {
            return;
        }
        for line in self.lines.iter_mut().filter(|l| l.left > 0) {
            let served = line.share * nanos;
            if served < line.left {
                line.left -= served;
            } else {
                line.credit = served - line.left;
                line.left = 0;
                self.finished.push_back(line.slot);
            }
        }
    }

    /// Gives every sending line its max-min fair share and finds the next end.
    fn share_out(&mut self) {
        let mut unserved = 0;
        for line in &mut self.lines {
            line.share = 0;
            unserved += u128::from(line.left > 0);
        }
        let mut spare = self.capacity.map_or(u128::MAX, |c| u128::from(c.as_bps()) * MICRO);
        while unserved > 0 {
            let fair = spare / unserved;
            let mut modest = 0;
            for line in self.lines.iter_mut().filter(|l| l.left > 0 && l.share == 0) {
                let own = u128::from(line.rate.as_bps()) * MICRO;
                if own <= fair {
                    line.share = own;
                    spare -= own;
                    modest += 1;
                }
            }
            unserved -= modest;
            if modest == 0 {
                for line in self.lines.iter_mut().filter(|l| l.left > 0 && l.share == 0) {
                    line.share = fair.max(1);
                }
                break;
            }
        }
        self.next_finish = self
            .lines
            .iter()
            .filter(|l| l.left > 0)
            .map(|l| {
                let nanos = l.left.div_ceil(l.share);
                self.clock + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            })
            .min();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bps(n: u64) -> BitRate {
        BitRate::from_bps(n)
    }

    fn run(chip: &mut Chip) -> Vec<(u16, u64)> {
        let mut ends = Vec::new();
        while let Some(at) = chip.next_finish() {
            while let Some(slot) = chip.poll_finished(at) {
                ends.push((slot, at.as_nanos()));
            }
        }
        ends
    }

    #[test]
    fn enough_capacity_leaves_every_line_its_own_rate() {
        for capacity in [None, Some(bps(124_800))] {
            let mut chip = Chip::new(capacity);
            chip.start(Instant::ZERO, 0, 9_600, bps(9_600));
            chip.start(Instant::ZERO, 1, 1_000, bps(115_200));
            assert_eq!(run(&mut chip), [(1, 8_680_556), (0, 1_000_000_000)]);
        }
    }

    #[test]
    fn what_a_slow_line_leaves_goes_to_the_fast_ones() {
        // 160 = 10 + 75 + 75; when one fast line ends the other gets its own 115.2.
        let mut chip = Chip::new(Some(bps(160_000)));
        chip.start(Instant::ZERO, 7, 10_000, bps(10_000));
        chip.start(Instant::ZERO, 8, 37_500, bps(115_200));
        chip.start(Instant::ZERO, 9, 95_100, bps(115_200));
        let ends = run(&mut chip);
        assert_eq!(ends, [(8, 500_000_000), (7, 1_000_000_000), (9, 1_000_000_000)]);
    }

    #[test]
    fn a_late_caller_sees_the_same_ends_in_order() {
        let mut chip = Chip::new(Some(bps(100)));
        chip.start(Instant::ZERO, 1, 100, bps(100));
        chip.start(Instant::ZERO, 2, 150, bps(100));
        let late = Instant::ZERO + Duration::from_secs(60);
        assert_eq!(chip.poll_finished(late), Some(1));
        assert_eq!(chip.poll_finished(late), Some(2));
        assert_eq!(chip.poll_finished(late), None);
        assert_eq!(chip.next_finish(), None);
    }

    proptest! {
        #[test]
        fn back_to_back_frames_never_drift(rate in 1u64..1_000_000, frames in prop::collection::vec(1u64..20_000, 1..50)) {
            let mut chip = Chip::new(None);
            let mut now = Instant::ZERO;
            for bits in &frames {
                chip.start(now, 0, *bits, bps(rate));
                now = chip.next_finish().unwrap();
                prop_assert_eq!(chip.poll_finished(now), Some(0));
            }
            prop_assert_eq!(now - Instant::ZERO, bps(rate).time_for_bits(frames.iter().sum()));
        }

        #[test]
        fn a_busy_chip_serves_its_whole_capacity(lines in prop::collection::vec((1u64..20_000, 1_000u64..200_000), 1..6), capacity in 1_000u64..300_000) {
            let mut chip = Chip::new(Some(bps(capacity)));
            for (slot, (bits, rate)) in lines.iter().enumerate() {
                chip.start(Instant::ZERO, slot as u16, *bits, bps(*rate));
            }
            let ends = run(&mut chip);
            prop_assert_eq!(ends.len(), lines.len());
            let all: u64 = lines.iter().map(|(bits, _)| bits).sum();
            let last = ends.iter().map(|(_, at)| *at).max().unwrap();
            prop_assert!(last + 1 >= bps(capacity).time_for_bits(all).as_nanos());
            for (slot, at) in ends {
                let (bits, rate) = lines[slot as usize];
                prop_assert!(at + 1 >= bps(rate).time_for_bits(bits).as_nanos());
            }
        }
    }
}
