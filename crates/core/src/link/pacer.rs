//! When the wire has what was sent: what takes everything at once and says nothing, such as a socket, has
//! its frames counted out at the member's rate.
//!
//! The next burst is due when the last bit of the one before is out. A wake-up that comes late is made
//! up for, within two milliseconds: otherwise every late timer would cost rate.

use super::Framing;
use crate::time::{Duration, Instant};
use crate::units::{BitRate, RateClock};

/// How far a burst may be counted back: twice the longest burst. It is also how much a member that has
/// been idle may be ahead of its rate.
const CREDIT: Duration = Duration::from_millis(2);

/// One member's wire, as a clock.
#[derive(Clone, Debug)]
pub struct Pacer {
    clock: RateClock,
    framing: Framing,
    /// When the last bit handed out will be on the wire.
    free_at: Instant,
    /// Bytes handed out and not reported, with the time of their last bit.
    in_flight: Option<(Instant, u64)>,
}

impl Pacer {
    /// An idle wire of this rate, which must be above zero, and framing.
    pub fn new(rate: BitRate, framing: Framing) -> Pacer {
        let clock = RateClock::new(rate);
        Pacer { clock, framing, free_at: Instant::ZERO, in_flight: None }
    }

    /// Changes the rate. What is under way is out no later than at the new rate, or a rate that was far
    /// too low would last as long as it says.
    pub fn set_rate(&mut self, now: Instant, rate: BitRate, framing: Framing) {
        self.clock = RateClock::new(rate);
        self.framing = framing;
        let bytes = self.in_flight.map_or(0, |(_, bytes)| bytes);
        let time = rate.time_for_bits(framing.mean_wire_millibits(bytes) / 1000);
        self.free_at = self.free_at.min(now + time);
        self.in_flight = self.in_flight.map(|(_, bytes)| (self.free_at, bytes));
    }

    /// Whether the wire takes a burst.
    pub const fn is_idle(&self) -> bool {
        self.in_flight.is_none()
    }

    /// A burst of frames of these lengths is on its way.
    pub fn start(&mut self, now: Instant, lens: impl Iterator<Item = usize>) {
        let (mut bytes, mut millibits) = (0, 0);
        for len in lens.map(|len| len as u64) {
            bytes += len;
            millibits += self.framing.mean_wire_millibits(len);
        }
        let earliest = now - CREDIT;
        self.free_at = self.free_at.max(earliest) + self.clock.advance(millibits / 1000);
        self.in_flight = Some((self.free_at, bytes));
    }

    /// When [`Pacer::finish`] has something to tell.
    pub fn deadline(&self) -> Option<Instant> {
        self.in_flight.map(|(at, _)| at)
    }

    /// The bytes the wire has taken by now.
    pub fn finish(&mut self, now: Instant) -> Option<u64> {
        self.in_flight.take_if(|(at, _)| *at <= now).map(|(_, bytes)| bytes)
    }

    /// Forgets what is under way: the link went down, or came back.
    pub fn reset(&mut self) {
        self.in_flight = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn late_wake_ups_cost_no_rate() {
        let mut pacer = Pacer::new(BitRate::from_bps(8_000_000), Framing::PLAIN);
        let mut now = at(10_000);
        for _ in 0..1000 {
            pacer.start(now, [1000].into_iter());
            let due = pacer.deadline().unwrap();
            assert_eq!(pacer.finish(due - Duration::from_nanos(0)), Some(1000));
            now = due.max(now) + Duration::from_micros(300);
        }
        let ideal = Duration::from_millis(1000);
        let spent = now - at(10_000);
        assert!(spent <= ideal + Duration::from_millis(1), "{spent}");
    }

    #[test]
    fn an_idle_wire_saves_up_no_more_than_its_credit() {
        let mut pacer = Pacer::new(BitRate::from_bps(8_000_000), Framing::PLAIN);
        pacer.start(at(1_000_000), [5000].into_iter());
        assert_eq!(pacer.deadline(), Some(at(1_003_000)));
        assert!(!pacer.is_idle());
        assert_eq!(pacer.finish(at(1_002_999)), None);
        assert_eq!(pacer.finish(at(1_003_000)), Some(5000));
        assert!(pacer.is_idle());
    }
    #[test]
    fn a_rate_that_was_far_too_low_does_not_last() {
        let mut pacer = Pacer::new(BitRate::from_bps(300), Framing::PLAIN);
        pacer.start(at(1_000_000), [1000].into_iter());
        pacer.set_rate(at(2_000_000), BitRate::from_bps(8_000_000), Framing::PLAIN);
        assert_eq!(pacer.deadline(), Some(at(2_001_000)));
        pacer.set_rate(at(2_000_000), BitRate::from_bps(300), Framing::PLAIN);
        assert_eq!(pacer.finish(at(2_001_000)), Some(1000));
    }
}
