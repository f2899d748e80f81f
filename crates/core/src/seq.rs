//! TCP sequence numbers: arithmetic modulo 2^32 (RFC 9293, 3.4).

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A TCP sequence number. Ordered only within half of the space, so it implements no `Ord`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SeqNumber(pub u32);

impl SeqNumber {
    /// Strictly earlier in sequence space.
    pub const fn lt(self, other: SeqNumber) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }
    /// Earlier or equal.
    pub const fn le(self, other: SeqNumber) -> bool {
        (self.0.wrapping_sub(other.0) as i32) <= 0
    }
    /// Strictly later.
    pub const fn gt(self, other: SeqNumber) -> bool {
        other.lt(self)
    }
    /// Later or equal.
    pub const fn ge(self, other: SeqNumber) -> bool {
        other.le(self)
    }
    /// The later of two.
    pub const fn max(self, other: SeqNumber) -> SeqNumber {
        if self.lt(other) { other } else { self }
    }
    /// The earlier of two.
    pub const fn min(self, other: SeqNumber) -> SeqNumber {
        if self.lt(other) { self } else { other }
    }
    /// Whether `self` lies in the half-open range `[from, to)`.
    pub const fn within(self, from: SeqNumber, to: SeqNumber) -> bool {
        self.0.wrapping_sub(from.0) < to.0.wrapping_sub(from.0)
    }
}

impl Add<u32> for SeqNumber {
    type Output = SeqNumber;
    fn add(self, n: u32) -> SeqNumber {
        SeqNumber(self.0.wrapping_add(n))
    }
}
impl AddAssign<u32> for SeqNumber {
    fn add_assign(&mut self, n: u32) {
        *self = *self + n;
    }
}
impl Sub<u32> for SeqNumber {
    type Output = SeqNumber;
    fn sub(self, n: u32) -> SeqNumber {
        SeqNumber(self.0.wrapping_sub(n))
    }
}
/// Bytes from `rhs` forward to `self`, modulo 2^32.
impl Sub for SeqNumber {
    type Output = u32;
    fn sub(self, rhs: SeqNumber) -> u32 {
        self.0.wrapping_sub(rhs.0)
    }
}
impl fmt::Debug for SeqNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn order_survives_the_wrap() {
        let near_end = SeqNumber(u32::MAX - 1);
        let past_wrap = near_end + 5;
        assert!(near_end.lt(past_wrap));
        assert_eq!(past_wrap - near_end, 5);
        assert_eq!(near_end.max(past_wrap), past_wrap);
        assert!(SeqNumber(u32::MAX).within(near_end, past_wrap));
        assert!(!past_wrap.within(near_end, past_wrap));
    }

    proptest! {
        #[test]
        fn laws(a: u32, n in 1u32..=0x7fff_ffff, m in 0u32..=0x7fff_ffff) {
            let s = SeqNumber(a);
            let t = s + n;
            prop_assert!(s.lt(t) && t.gt(s) && s.le(t) && t.ge(s) && !t.lt(s));
            prop_assert_eq!(t - s, n);
            prop_assert_eq!(t - n, s);
            prop_assert_eq!((s + n) + m, (s + m) + n);
            prop_assert_eq!(s.max(t), t);
            prop_assert_eq!(s.min(t), s);
        }
    }
}
