//! Time as a value. Nothing in the core reads a clock: `now` is an argument.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A point on the caller's monotonic time line, in nanoseconds from an origin of the caller's choice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A span of time in nanoseconds, never negative; arithmetic saturates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

/// Why a deadline was set; it travels with the deadline so that a busy loop can be read from a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Reason {
    /// TCP retransmission timeout (RFC 6298).
    Retransmit,
    /// TCP: a segment may be overdue (RFC 8985, 6.2).
    Reorder,
    /// TCP tail loss probe (RFC 8985, 7).
    TailProbe,
    /// TCP delayed acknowledgment (RFC 1122, 4.2.3.2).
    DelayedAck,
    /// TCP zero-window probe (RFC 9293, 3.8.6.1).
    Persist,
    /// TCP sender-side silly-window override (RFC 1122, 4.2.3.4).
    SwsOverride,
    /// TCP TIME-WAIT expiry.
    TimeWait,
    /// TCP keepalive (RFC 1122, 4.2.3.6).
    Keepalive,
    /// Paced TCP data may leave.
    Pacing,
    /// EQL's one-second queue decay.
    Decay,
    /// A path is due to be probed, to send feedback or to be judged.
    Path,
    /// A packet held for its predecessors has waited long enough.
    Resequence,
    /// A frame that a transmitter, wire or medium is about to finish.
    Link,
    /// An address to be asked for again, or a packet of which pieces are missing.
    Network,
    /// An application's own schedule.
    App,
}

impl Instant {
    /// The origin of the time line.
    pub const ZERO: Instant = Instant(0);
    /// Later than anything that is ever scheduled.
    pub const FAR_FUTURE: Instant = Instant(u64::MAX);

    /// The instant `nanos` after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Instant(nanos)
    }
    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Seconds since the origin, for reports only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }
    /// Whole milliseconds since the origin.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// The longest span that can be expressed.
    pub const MAX: Duration = Duration(u64::MAX);

    /// A span of `n` nanoseconds.
    pub const fn from_nanos(n: u64) -> Self {
        Duration(n)
    }
    /// A span of `n` microseconds.
    pub const fn from_micros(n: u64) -> Self {
        Duration(n.saturating_mul(1_000))
    }
    /// A span of `n` milliseconds.
    pub const fn from_millis(n: u64) -> Self {
        Duration(n.saturating_mul(1_000_000))
    }
    /// A span of `n` seconds.
    pub const fn from_secs(n: u64) -> Self {
        Duration(n.saturating_mul(NANOS_PER_SEC))
    }
    /// The span in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// The span in whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }
    /// The span in whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }
    /// The span in seconds, for reports only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }
    /// Whether the span is empty.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// The absolute difference of two spans.
    pub const fn abs_diff(self, other: Duration) -> Duration {
        Duration(self.0.abs_diff(other.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, d: Duration) -> Instant {
        Instant(self.0.saturating_add(d.0))
    }
}
impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}
impl Sub<Duration> for Instant {
    type Output = Instant;
    fn sub(self, d: Duration) -> Instant {
        Instant(self.0.saturating_sub(d.0))
    }
}
/// The span between two instants; zero when the right one is later.
impl Sub<Instant> for Instant {
    type Output = Duration;
    fn sub(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}
impl Add for Duration {
    type Output = Duration;
    fn add(self, d: Duration) -> Duration {
        Duration(self.0.saturating_add(d.0))
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}
impl Sub for Duration {
    type Output = Duration;
    fn sub(self, d: Duration) -> Duration {
        Duration(self.0.saturating_sub(d.0))
    }
}
impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, n: u64) -> Duration {
        Duration(self.0.saturating_mul(n))
    }
}
impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, n: u64) -> Duration {
        Duration(self.0 / n)
    }
}
impl Sum for Duration {
    fn sum<I: Iterator<Item = Duration>>(iter: I) -> Duration {
        iter.fold(Duration::ZERO, Add::add)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9}s", self.as_secs_f64())
    }
}
impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}s", self.as_secs_f64())
    }
}
impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => write!(f, "0s"),
            n if n % NANOS_PER_SEC == 0 => write!(f, "{}s", n / NANOS_PER_SEC),
            n if n % 1_000_000 == 0 => write!(f, "{}ms", n / 1_000_000),
            n if n % 1_000 == 0 => write!(f, "{}us", n / 1_000),
            n => write!(f, "{n}ns"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_never_go_below_zero() {
        let a = Instant::from_nanos(5);
        let b = Instant::from_nanos(9);
        assert_eq!(b - a, Duration::from_nanos(4));
        assert_eq!(a - b, Duration::ZERO);
    }

    #[test]
    fn spans_print_in_their_largest_whole_unit() {
        assert_eq!(Duration::from_millis(1500).to_string(), "1500ms");
        assert_eq!(Duration::from_secs(3).to_string(), "3s");
        assert_eq!(Duration::from_nanos(7).to_string(), "7ns");
    }
}
