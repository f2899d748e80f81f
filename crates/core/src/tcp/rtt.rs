//! Round-trip estimation and the retransmission timeout: RFC 6298, and the rules of Linux 1.1 and of
//! 4.3BSD. The shortest round trip of the last minutes is kept beside them (RFC 8985, 6.2 step 1).
//!
//! Deviation: the clock granularity G of RFC 6298 is one nanosecond, so the term max(G, 4·RTTVAR) is
//! 4·RTTVAR; the floor is configured instead.

use super::config::{Config, RtoRule};
use crate::time::{Duration, Instant};

/// Linux 1.1 counted time in ticks of 10 ms.
const TICK: Duration = Duration::from_millis(10);

/// 4.3BSD counted time in ticks of its slow timer.
const SLOW_TICK: Duration = Duration::from_millis(500);

/// How long the shortest round trip is remembered, at least; twice as long at most.
const RTT_MIN_LIFE: Duration = Duration::from_secs(300);

/// The shortest round trip of this window of time and of the one before.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Shortest {
    since: Instant,
    this: Option<Duration>,
    last: Option<Duration>,
}

impl Shortest {
    fn sample(&mut self, now: Instant, rtt: Duration) {
        if now - self.since >= RTT_MIN_LIFE {
            (self.since, self.last, self.this) = (now, self.this, None);
        }
        if self.this.is_none_or(|this| rtt < this) {
            self.this = Some(rtt);
        }
    }
    fn get(&self) -> Duration {
        let known = self.this.into_iter().chain(self.last);
        known.min().unwrap_or(Duration::ZERO)
    }
}

/// The estimator and its backoff.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Estimator {
    rule: RtoRule,
    min: Duration,
    max: Duration,
    srtt: Option<Duration>,
    rttvar: Duration,
    shortest: Shortest,
    /// Linux 1.1 and 4.3BSD: eight times the mean and four times the deviation, in ticks.
    srtt8: u64,
    mdev4: u64,
    /// Timeout without backoff.
    base: Duration,
    /// Times it is doubled.
    backoff: u32,
}

impl Estimator {
    pub fn new(config: &Config) -> Self {
        Estimator {
            rule: config.rto_rule,
            min: config.rto_min,
            max: config.rto_max,
            srtt: None,
            rttvar: Duration::ZERO,
            shortest: Shortest::default(),
            srtt8: 0,
            mdev4: 0,
            base: config.rto_initial,
            backoff: 0,
        }
    }

    /// Smoothed round-trip time, none before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.srtt
    }
    /// Mean deviation.
    pub fn rttvar(&self) -> Duration {
        self.rttvar
    }
    /// The timeout now in force.
    pub fn rto(&self) -> Duration {
        (self.base * (1u64 << self.backoff.min(32))).min(self.max)
    }
    /// The shortest round trip of the last minutes; zero before the first sample.
    pub fn rtt_min(&self) -> Duration {
        self.shortest.get()
    }
    /// When the timeout that begins now ends: in 4.3BSD with a tick of the slow timer.
    pub fn deadline(&self, now: Instant) -> Instant {
        match self.rule {
            RtoRule::Rfc6298 | RtoRule::Linux11 => now + self.rto(),
            RtoRule::Bsd43 => {
                let count = self.rto().as_nanos().div_ceil(SLOW_TICK.as_nanos());
                Instant::ZERO + SLOW_TICK * (ticks(now, SLOW_TICK) + count)
            }
        }
    }
    /// The timeout without its doublings.
    pub fn rto_base(&self) -> Duration {
        self.base
    }
    /// The timeout is doubled until there is a clean sample (Karn).
    pub fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
    }
    /// Takes the doublings back.
    pub fn forget_backoff(&mut self) {
        self.backoff = 0;
    }

    /// At least `floor` while there is no sample (RFC 6298, 5.7).
    pub fn raise_initial(&mut self, floor: Duration) {
        if self.srtt.is_none() {
            self.base = floor.max(self.base);
            self.backoff = 0;
        }
    }

    /// Takes a clean sample of what was sent at `sent_at`.
    pub fn sample_between(&mut self, sent_at: Instant, now: Instant) -> Duration {
        match self.rule {
            RtoRule::Rfc6298 => self.sample(now - sent_at),
            RtoRule::Linux11 => self.sample_ticks(ticks(now, TICK) - ticks(sent_at, TICK)),
            RtoRule::Bsd43 => {
                self.sample_slow_ticks(ticks(now, SLOW_TICK) - ticks(sent_at, SLOW_TICK));
            }
        }
        self.shortest.sample(now, now - sent_at);
        now - sent_at
    }

    /// Takes a clean sample (RFC 6298, 2).
    pub fn sample(&mut self, rtt: Duration) {
        let srtt = match self.srtt {
            None => {
                self.rttvar = rtt / 2;
                rtt
            }
            Some(srtt) => {
                self.rttvar = (self.rttvar * 3 + srtt.abs_diff(rtt)) / 4;
                (srtt * 7 + rtt) / 8
            }
        };
        self.settle(srtt);
    }

    fn settle(&mut self, srtt: Duration) {
        self.srtt = Some(srtt);
        self.base = (srtt + self.rttvar * 4).max(self.min).min(self.max);
        self.backoff = 0;
    }

    /// After a spurious timeout the estimate takes the true round trip for real (RFC 4015, 3.3).
    pub fn adopt_spurious(&mut self, rtt: Duration) {
        let srtt = self.srtt.map_or(rtt, |srtt| srtt.max(rtt));
        self.rttvar = self.rttvar.max(rtt / 2);
        self.settle(srtt);
    }

    /// Linux 1.1: mean and deviation start from zero, timeout = mean + 2 deviations.
    fn sample_ticks(&mut self, m: u64) {
        let error = m.abs_diff(self.srtt8 / 8);
        self.srtt8 = self.srtt8 - self.srtt8 / 8 + m;
        self.mdev4 = match self.srtt {
            None => m,
            Some(_) => self.mdev4 - self.mdev4 / 4 + error,
        };
        self.srtt = Some(TICK * self.srtt8 / 8);
        self.rttvar = TICK * self.mdev4 / 4;
        let rto = TICK * ((self.srtt8 / 4 + self.mdev4) / 2);
        self.base = rto.max(self.min).min(self.max);
        self.backoff = 0;
    }

    /// 4.3BSD: mean and deviation in ticks, neither below the least that can be told, timeout = mean + 4
    /// deviations. A segment that is acknowledged within its tick counts one.
    fn sample_slow_ticks(&mut self, elapsed: u64) {
        match self.srtt {
            None => (self.srtt8, self.mdev4) = ((elapsed + 1) * 8, (elapsed + 1) * 2),
            Some(_) => {
                let mean = self.srtt8 / 8;
                let error = elapsed.abs_diff(mean);
                self.srtt8 = (self.srtt8 + elapsed).saturating_sub(mean).max(1);
                self.mdev4 = (self.mdev4 + error).saturating_sub(self.mdev4 / 4).max(1);
            }
        }
        self.srtt = Some(SLOW_TICK * self.srtt8 / 8);
        self.rttvar = SLOW_TICK * self.mdev4 / 4;
        let rto = SLOW_TICK * (self.srtt8 / 8 + self.mdev4);
        self.base = rto.max(self.min).min(self.max);
        self.backoff = 0;
    }
}

fn ticks(at: Instant, tick: Duration) -> u64 {
    at.as_nanos() / tick.as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::Profile;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn tcp_2_samples_of_100_100_200_ms_match_the_formulas() {
        let mut config = Config::new(Profile::Modern, 1500);
        config.rto_min = Duration::ZERO;
        let mut rtt = Estimator::new(&config);
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        rtt.sample(MS(100));
        assert_eq!((rtt.srtt(), rtt.rttvar, rtt.rto()), (Some(MS(100)), MS(50), MS(300)));
        rtt.sample(MS(100));
        assert_eq!((rtt.rttvar, rtt.rto()), (Duration::from_micros(37_500), MS(250)));
        rtt.sample(MS(200));
        assert_eq!(rtt.srtt(), Some(Duration::from_micros(112_500)));
        assert_eq!(rtt.rttvar, Duration::from_nanos(53_125_000));
        assert_eq!(rtt.rto(), MS(325));
    }

    #[test]
    fn the_floor_holds_and_backoff_doubles_until_a_clean_sample() {
        let mut rtt = Estimator::new(&Config::new(Profile::Modern, 1500));
        rtt.sample(MS(1));
        assert_eq!(rtt.rto(), MS(200));
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto(), MS(800));
        for _ in 0..100 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(120));
        rtt.sample(MS(1));
        assert_eq!(rtt.rto(), MS(200));
    }

    #[test]
    fn bsd_counts_in_half_seconds_and_waits_at_least_a_second() {
        let mut rtt = Estimator::new(&Config::new(Profile::Bsd43, 1500));
        assert_eq!(rtt.rto(), Duration::from_secs(6));
        let at = |ms| Instant::ZERO + MS(ms);
        // Whole ticks: a deviation of three quarters of one never falls.
        for _ in 0..12 {
            rtt.sample_between(at(10), at(30));
            assert_eq!(rtt.rto(), MS(1500));
        }
        assert_eq!(rtt.deadline(at(700)), at(2000), "counted from the last tick");
        for _ in 0..40 {
            rtt.sample_between(at(0), at(2000));
        }
        assert_eq!(rtt.srtt(), Some(MS(2000)));
        assert!(rtt.rto() >= MS(2500));
    }

    #[test]
    fn the_shortest_round_trip_is_forgotten_after_minutes() {
        let mut rtt = Estimator::new(&Config::new(Profile::Modern, 1500));
        let sample = |rtt: &mut Estimator, s: u64, ms: u64| {
            let sent = Instant::ZERO + Duration::from_secs(s);
            rtt.sample_between(sent, sent + MS(ms));
            rtt.rtt_min()
        };
        assert_eq!(sample(&mut rtt, 0, 20), MS(20));
        assert_eq!(sample(&mut rtt, 299, 30), MS(20));
        assert_eq!(sample(&mut rtt, 301, 40), MS(20));
        assert_eq!(sample(&mut rtt, 602, 50), MS(40));
    }

    #[test]
    fn linux_1_1_starts_with_five_eighths_of_the_round_trip() {
        let mut rtt = Estimator::new(&Config::new(Profile::Linux11, 600));
        assert_eq!(rtt.rto(), Duration::from_secs(3));
        let m = Duration::from_secs(8);
        let mut rtos = Vec::new();
        for _ in 0..4 {
            rtt.sample_between(Instant::ZERO, Instant::ZERO + m);
            rtos.push(rtt.rto().as_millis() as f64 / m.as_millis() as f64);
        }
        for (rto, expected) in rtos.iter().zip([0.625, 1.05, 1.32, 1.49]) {
            assert!((rto - expected).abs() < 0.01, "{rtos:?}");
        }
    }
}
