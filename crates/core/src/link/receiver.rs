//! An Ethernet receiver that is not ready for the next frame at once.
//!
//! The Intel 82586 is known to lose a frame that follows the one before at the shortest gap; V. Jacobson names it as
//! what made NFS over UDP lose fragments (note of 1988). Modelled: of two frames for one station that are less than a
//! time apart, the second is lost with a probability.
//!
//! Deviation: what the receiver hears and does not take costs it nothing.

use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::Ratio;

/// The 82586's time. How often it is late differs with the machine around it.
pub const SPAN_82586: Duration = Duration::from_micros(20);

/// What a receiver needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recovery {
    /// The time after a frame in which it may lose the next.
    pub span: Duration,
    /// How often it does then.
    pub loss: Ratio,
}

/// Whether a receiver has taken a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reception {
    /// It has.
    Taken,
    /// It was not ready.
    Lost,
}

/// One station's receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    recovery: Recovery,
    rng: Rng,
    /// The end of the frame before.
    before: Option<Instant>,
}

impl Receiver {
    /// A receiver that has heard nothing yet and draws its losses from `rng`.
    pub const fn new(recovery: Recovery, rng: Rng) -> Receiver {
        Receiver { recovery, rng, before: None }
    }

    /// A frame for it, which lasted so long with its preamble, was heard to its `end`.
    pub fn hear(&mut self, end: Instant, lasted: Duration) -> Reception {
        let is_close = |before| end < before + self.recovery.span + lasted;
        let is_close = self.before.is_some_and(is_close);
        self.before = Some(end);
        match is_close && self.rng.chance(self.recovery.loss) {
            true => Reception::Lost,
            false => Reception::Taken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(n)
    }

    #[test]
    fn only_frames_close_behind_another_are_lost() {
        let always = Recovery { span: SPAN_82586, loss: Ratio::ONE };
        let mut receiver = Receiver::new(always, Rng::new(1));
        let mut hear = |from: u64, to: u64| receiver.hear(us(to), us(to) - us(from));
        assert_eq!(hear(0, 1000), Reception::Taken);
        assert_eq!(hear(1010, 2000), Reception::Lost);
        // One that was lost keeps the receiver as busy.
        assert_eq!(hear(2010, 3000), Reception::Lost);
        assert_eq!(hear(3020, 4000), Reception::Taken);
    }

    #[test]
    fn they_are_lost_as_often_as_is_said() {
        let some = Recovery { span: SPAN_82586, loss: Ratio::from_ppb(300_000_000) };
        let mut receiver = Receiver::new(some, Rng::new(7));
        let lasted = Duration::from_micros(90);
        let hear = |i: u64| receiver.hear(us(100 * i + 100), lasted);
        let lost = (0..10_000).map(hear).filter(|seen| *seen == Reception::Lost).count();
        assert!((2_800..3_200).contains(&lost), "{lost} of 10000 at 30 %");
    }
}
