//! Quantities with their unit in the type.

use crate::time::Duration;
use std::fmt;

/// A rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BitRate(u64);

/// A probability in parts per thousand million.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ratio(u32);

/// Turns bit counts into time at a fixed rate and carries the remainder, so that rounding to
/// nanoseconds never drifts: after any number of frames the error is below one nanosecond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateClock {
    rate: BitRate,
    /// Bit-nanoseconds not yet given out, below `rate`.
    remainder: u64,
}

impl BitRate {
    /// A rate of `n` bits per second.
    pub const fn from_bps(n: u64) -> Self {
        BitRate(n)
    }
    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Whether nothing can ever be sent at this rate.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// The time `bits` take, rounded up; [`Duration::MAX`] at rate zero.
    pub fn time_for_bits(self, bits: u64) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        let nanos = (u128::from(bits) * 1_000_000_000).div_ceil(u128::from(self.0));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
    /// Whole bits that pass within `span`.
    pub fn bits_in(self, span: Duration) -> u64 {
        let bits = u128::from(self.0) * u128::from(span.as_nanos()) / 1_000_000_000;
        u64::try_from(bits).unwrap_or(u64::MAX)
    }
}

impl Ratio {
    /// Never.
    pub const ZERO: Ratio = Ratio(0);
    /// Always.
    pub const ONE: Ratio = Ratio(1_000_000_000);

    /// `n` parts per thousand million; more than all is all.
    pub const fn from_ppb(n: u32) -> Self {
        if n > Self::ONE.0 { Self::ONE } else { Ratio(n) }
    }
    /// Parts per thousand million.
    pub const fn as_ppb(self) -> u32 {
        self.0
    }
    /// Whether it is never.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl RateClock {
    /// A clock at `rate`, which must not be zero.
    pub fn new(rate: BitRate) -> Self {
        assert!(!rate.is_zero(), "a transmitter needs a rate above zero");
        RateClock { rate, remainder: 0 }
    }
    /// The clock's rate.
    pub const fn rate(&self) -> BitRate {
        self.rate
    }
    /// The time the next `bits` take.
    pub fn advance(&mut self, bits: u64) -> Duration {
        let rate = self.rate.0;
        if let Some(scaled) =
            bits.checked_mul(1_000_000_000).and_then(|n| n.checked_add(self.remainder))
        {
            self.remainder = scaled % rate;
            return Duration::from_nanos(scaled / rate);
        }
        let scaled = u128::from(bits) * 1_000_000_000 + u128::from(self.remainder);
        self.remainder = (scaled % u128::from(rate)) as u64;
        Duration::from_nanos(u64::try_from(scaled / u128::from(rate)).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (scale, suffix) in [(1_000_000_000, "gbit"), (1_000_000, "mbit"), (1_000, "kbit")] {
            if self.0 >= scale {
                let whole = self.0 / scale;
                let thousandths = self.0 % scale * 1000 / scale;
                return match thousandths {
                    0 => write!(f, "{whole}{suffix}"),
                    t => write!(f, "{whole}.{}{suffix}", format!("{t:03}").trim_end_matches('0')),
                };
            }
        }
        write!(f, "{}bit", self.0)
    }
}
impl fmt::Debug for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Debug for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", f64::from(self.0) / 1e7)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_print_as_tc_reads_them() {
        assert_eq!(BitRate::from_bps(28_800).to_string(), "28.8kbit");
        assert_eq!(BitRate::from_bps(1_000_000_000).to_string(), "1gbit");
        assert_eq!(BitRate::from_bps(300).to_string(), "300bit");
    }

    proptest! {
        #[test]
        fn rounding_never_drifts(rate in 1u64..10_000_000_000, frames in prop::collection::vec(1u64..100_000, 1..200)) {
            let mut clock = RateClock::new(BitRate::from_bps(rate));
            let total: u128 = frames.iter().map(|b| u128::from(clock.advance(*b).as_nanos())).sum();
            let exact: u128 = frames.iter().map(|b| u128::from(*b)).sum::<u128>() * 1_000_000_000;
            let slack = exact - total * u128::from(rate);
            prop_assert!(slack < u128::from(rate));
        }
    }
}
