//! CoDel (RFC 8289): when packets have waited longer than a target for a whole interval, one is
//! signalled, and the next sooner and sooner, until the wait is short again.
//!
//! Deviation: the time of the next signal moves on with each signal, also when the packet behind it
//! ends the episode. The inverse square root of the control law is exact in integers.

use crate::time::{Duration, Instant};

/// What waiting is acceptable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodelConfig {
    /// The standing wait that is acceptable.
    pub target: Duration,
    /// A time in the order of the longest usual round trip.
    pub interval: Duration,
    /// No signal while at most this many bytes stay behind: one packet is no standing queue.
    pub mtu: u32,
}

impl CodelConfig {
    /// 5 ms and 100 ms (RFC 8289, 4.3 and 4.4).
    pub const fn new(mtu: u32) -> Self {
        CodelConfig { target: Duration::from_millis(5), interval: Duration::from_millis(100), mtu }
    }

    /// The control law: the interval divided by the square root of `count`.
    fn spacing(&self, count: u32) -> Duration {
        let interval = u128::from(self.interval.as_nanos());
        let nanos = (interval * interval / u128::from(count.max(1))).isqrt();
        Duration::from_nanos(nanos as u64)
    }
}

/// What shall happen to a packet that is about to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It leaves as it is.
    Pass,
    /// It tells its sender about congestion: by a mark, or by being dropped.
    Signal,
}

/// The state of CoDel for one queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Codel {
    /// The wait will have been too long for an interval at this time.
    above_until: Option<Instant>,
    signalling: bool,
    /// When the next signal is due.
    next: Instant,
    /// Signals in this episode.
    count: u32,
    /// What `count` started from.
    count_at_start: u32,
}

impl Default for Codel {
    fn default() -> Self {
        Codel {
            above_until: None,
            signalling: false,
            next: Instant::ZERO,
            count: 0,
            count_at_start: 0,
        }
    }
}

impl Codel {
    /// Decides about a packet that was taken after waiting for `waited`, with `behind` bytes left.
    pub fn judge(
        &mut self,
        now: Instant,
        waited: Duration,
        behind: u64,
        config: &CodelConfig,
    ) -> Verdict {
        if !self.is_standing(now, waited, behind, config) {
            self.signalling = false;
            return Verdict::Pass;
        }
        if !self.signalling {
            self.begin(now, config);
            return Verdict::Signal;
        }
        if now < self.next {
            return Verdict::Pass;
        }
        self.count = self.count.saturating_add(1);
        self.next += config.spacing(self.count);
        Verdict::Signal
    }

    /// The queue was found empty.
    pub fn on_empty(&mut self) {
        self.above_until = None;
        self.signalling = false;
    }

    /// Whether the wait has been too long for a whole interval.
    fn is_standing(
        &mut self,
        now: Instant,
        waited: Duration,
        behind: u64,
        config: &CodelConfig,
    ) -> bool {
        if waited < config.target || behind <= u64::from(config.mtu) {
            self.above_until = None;
            return false;
        }
        now >= *self.above_until.get_or_insert(now + config.interval)
    }

    /// An episode soon after the last goes on with the pace that one ended with.
    fn begin(&mut self, now: Instant, config: &CodelConfig) {
        let signals = self.count - self.count_at_start;
        let recent = (now - self.next).as_nanos() < config.interval.as_nanos().saturating_mul(16);
        self.count = if signals > 1 && recent { signals } else { 1 };
        self.count_at_start = self.count;
        self.next = now + config.spacing(self.count);
        self.signalling = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: CodelConfig = CodelConfig::new(1500);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn judge(codel: &mut Codel, ms: u64, waited_ms: u64) -> Verdict {
        codel.judge(at(ms), Duration::from_millis(waited_ms), 15_000, &CONFIG)
    }

    /// When signals are given to packets that leave every millisecond and have waited for 20.
    fn signals(codel: &mut Codel, from_ms: u64, to_ms: u64) -> Vec<u64> {
        (from_ms..to_ms).filter(|&ms| judge(codel, ms, 20) == Verdict::Signal).collect()
    }

    #[test]
    fn signals_come_after_an_interval_and_then_sooner_and_sooner() {
        let mut codel = Codel::default();
        // 100 ms, then 100/sqrt(1), 100/sqrt(2), 100/sqrt(3) …
        assert_eq!(signals(&mut codel, 0, 460), [100, 200, 271, 329, 379, 424]);
    }

    #[test]
    fn one_short_wait_ends_it_and_a_soon_return_keeps_the_pace() {
        let mut codel = Codel::default();
        assert_eq!(signals(&mut codel, 0, 430).len(), 6);
        assert_eq!(judge(&mut codel, 430, 4), Verdict::Pass);
        // Six signals, the first of which was the start: the pace is that of five.
        assert_eq!(signals(&mut codel, 431, 600), [531, 576]);
        judge(&mut codel, 600, 4);
        assert_eq!(signals(&mut codel, 9000, 9250), [9100, 9200]);
    }

    #[test]
    fn a_last_packet_and_an_empty_queue_are_no_standing_queue() {
        let mut codel = Codel::default();
        let long = Duration::from_secs(9);
        for ms in 0..500 {
            assert_eq!(codel.judge(at(ms), long, 1500, &CONFIG), Verdict::Pass);
        }
        assert_eq!(signals(&mut codel, 500, 580), []);
        codel.on_empty();
        assert_eq!(signals(&mut codel, 580, 680), []);
    }

    #[test]
    fn the_control_law_is_the_inverse_square_root() {
        for (count, micros) in
            [(0, 100_000), (1, 100_000), (2, 70_710), (4, 50_000), (10_000, 1_000)]
        {
            assert_eq!(CONFIG.spacing(count).as_micros(), micros);
        }
        let endless = CodelConfig { interval: Duration::MAX, ..CONFIG };
        assert_eq!(endless.spacing(1), Duration::MAX);
    }
}
