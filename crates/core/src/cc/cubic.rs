//! CUBIC (RFC 9438): after a loss the window follows a cubic curve of time, flat where the loss was.
//!
//! All in integers: windows in bytes, time in ticks of 1/1024 s, one cube root per epoch. What a step
//! leaves over is carried, so small windows grow as they should. The first slow start is that of
//! HyStart++ (RFC 9406).
//!
//! Deviations: the reaction is computed from the window and not from the flight, as deployed systems
//! do; the window grows only while it is in use.

use super::hystart::{HyStart, Step};
use super::{AckSample, Congestion, CongestionControl, EcnUse, Growth, Phase, Settings, State};
use crate::time::{Duration, Instant};
use crate::units::BitRate;

#[cfg(test)]
mod tests;

/// One second in ticks, as a power of two.
const TICK_BITS: u32 = 10;
/// Half-nanoseconds of one tick: 10^9 / 1024 is not whole.
const TICK_HALF_NANOS: u64 = 1_953_125;
/// The curve is not followed beyond this distance from its flat part: 17 minutes, far above any window.
const DISTANCE_MAX: u64 = 1 << 20;

/// The multiplicative decrease 0.7 (RFC 9438, 4.6).
const fn reduced(cwnd: u32) -> u32 {
    (cwnd as u64 * 7 / 10) as u32
}

/// The same for marks of a short queue: 0.85 (RFC 8511, 3.1).
const fn reduced_for_marks(cwnd: u32) -> u32 {
    (cwnd as u64 * 17 / 20) as u32
}

/// Where the next curve has its flat part when flows must make room: `(1 + 0.7) / 2` (RFC 9438, 4.7).
const fn converged(cwnd: u32) -> u32 {
    (cwnd as u64 * 17 / 20) as u32
}

const fn ticks(span: Duration) -> u64 {
    span.as_nanos() / TICK_HALF_NANOS * 2 + span.as_nanos() % TICK_HALF_NANOS * 2 / TICK_HALF_NANOS
}

const fn from_ticks(ticks: u64) -> Duration {
    Duration::from_nanos(ticks.saturating_mul(TICK_HALF_NANOS) / 2)
}

/// The largest whole number whose cube is not above `n`.
fn cube_root(n: u64) -> u64 {
    (0..22).rev().fold(0u64, |root, bit| {
        let larger = root | 1 << bit;
        let fits = larger.checked_pow(3).is_some_and(|cube| cube <= n);
        if fits { larger } else { root }
    })
}

/// K, the ticks until the curve has made up `deficit` bytes: `cbrt(deficit / C)` with C = 0.4
/// segments/s^3 (RFC 9438, equation 2).
fn ticks_to_make_up(deficit: u32, mss: u32) -> u64 {
    cube_root((u64::from(deficit) << (3 * TICK_BITS)) / 2 * 5 / u64::from(mss))
}

/// Bytes between the curve and its flat part, `distance` ticks away from it: `C * distance^3`.
fn rise(distance: u64, mss: u32) -> u64 {
    let cube = distance.min(DISTANCE_MAX).pow(3);
    // In 1024ths of a segment first: the whole product would not fit.
    let segment_1024ths = (cube * 2 / 5) >> (2 * TICK_BITS);
    (segment_1024ths * u64::from(mss)) >> TICK_BITS
}

/// One stretch of congestion avoidance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Epoch {
    /// When it began; moved on by the time the window was not in use (RFC 9438, 5.8).
    start: Instant,
    /// Ticks from the start to the flat part.
    k: u64,
    /// The window where the curve is flat, in bytes.
    origin: u32,
    /// What Reno with the same decrease would have, in bytes (RFC 9438, 4.3).
    w_est: u32,
    /// What the last steps of the two windows left over.
    w_est_rest: u64,
    cwnd_rest: u64,
}

impl Epoch {
    /// The curve at `at`, in bytes (RFC 9438, equation 1).
    fn curve(&self, at: Instant, mss: u32) -> u32 {
        let t = ticks(at - self.start);
        let rise = rise(t.abs_diff(self.k), mss);
        let origin = u64::from(self.origin);
        let window = if t < self.k { origin.saturating_sub(rise) } else { origin + rise };
        u32::try_from(window).unwrap_or(u32::MAX)
    }
}

/// What CUBIC may be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// Leave the first slow start when the round trip grows (HyStart++).
    pub hystart: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Parameters { hystart: true }
    }
}

/// What one congestion changes and an undo restores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Window {
    cwnd: u32,
    ssthresh: u32,
    /// The window before the last reaction, lowered by fast convergence; 0 when there is none to return to.
    w_max: u32,
    /// The window before the last reaction.
    cwnd_prior: u32,
    epoch: Option<Epoch>,
}

/// The state of CUBIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cubic {
    mss: u32,
    growth: Growth,
    initial: u32,
    cwnd_max: u32,
    /// Marks cut less than a loss (RFC 8511).
    abe: bool,
    window: Window,
    /// The window before the last reaction, for its undoing.
    prior: Option<Window>,
    /// None when it is not wanted.
    hystart: Option<HyStart>,
    /// Smoothed round-trip time.
    srtt: Option<Duration>,
    /// Until when time has been accounted for.
    seen: Instant,
}

impl Cubic {
    /// CUBIC at the start of a connection.
    pub fn new(settings: &Settings) -> Self {
        let mss = settings.mss.max(1);
        let initial = mss.saturating_mul(settings.initial_window.max(1));
        Cubic {
            mss,
            growth: settings.growth,
            initial,
            cwnd_max: mss.saturating_mul(settings.cwnd_max).max(initial),
            abe: settings.tuning.abe,
            window: Window {
                cwnd: initial,
                ssthresh: settings.initial_ssthresh.map_or(u32::MAX, |n| n.saturating_mul(mss)),
                w_max: 0,
                cwnd_prior: 0,
                epoch: None,
            },
            prior: None,
            hystart: settings.tuning.cubic.hystart.then(HyStart::default),
            srtt: None,
            seen: Instant::ZERO,
        }
    }

    /// Linux's `tcp_is_cwnd_limited`: in slow start half a window in use is enough.
    fn is_limited(&self, in_flight: u32) -> bool {
        if self.window.cwnd < self.window.ssthresh {
            in_flight.saturating_mul(2) >= self.window.cwnd
        } else {
            in_flight.saturating_add(self.mss) > self.window.cwnd
        }
    }

    /// The time since the last event does not count for the curve.
    fn skip_time(&mut self, now: Instant) {
        if let Some(epoch) = &mut self.window.epoch {
            epoch.start += now - self.seen;
        }
    }

    fn smooth(&mut self, rtt: Duration) {
        let nanos = match self.srtt {
            None => rtt.as_nanos(),
            Some(srtt) => srtt.as_nanos() - srtt.as_nanos() / 8 + rtt.as_nanos() / 8,
        };
        self.srtt = Some(Duration::from_nanos(nanos));
    }

    /// The first slow start: nothing is known yet that would end it (RFC 9406, 4.3).
    fn is_first_slow_start(&self) -> bool {
        self.window.ssthresh == u32::MAX
    }

    /// What of `acked` counts: all of it beyond the first slow start.
    fn counted(&mut self, sample: &AckSample, acked: u32) -> u32 {
        let is_first = self.is_first_slow_start();
        match self.hystart.as_mut().filter(|_| is_first) {
            None => acked,
            Some(hystart) => match hystart.on_ack(sample, acked, self.mss) {
                Step::Grow(bytes) => bytes,
                Step::Leave => {
                    self.window.ssthresh = self.window.cwnd;
                    acked
                }
            },
        }
    }

    fn grow(&mut self, now: Instant, acked: u32) {
        let window = &mut self.window;
        let slow_start = acked.min(window.ssthresh.saturating_sub(window.cwnd));
        window.cwnd = window.cwnd.saturating_add(slow_start);
        if acked > slow_start {
            self.avoid_congestion(now, acked - slow_start);
        }
        self.window.cwnd = self.window.cwnd.min(self.cwnd_max);
    }

    fn avoid_congestion(&mut self, now: Instant, acked: u32) {
        let mss = self.mss;
        let window = &mut self.window;
        let epoch = window.epoch.get_or_insert_with(|| {
            let deficit = window.w_max.saturating_sub(window.cwnd);
            Epoch {
                start: now,
                k: ticks_to_make_up(deficit, mss),
                origin: window.w_max.max(window.cwnd),
                w_est: window.cwnd,
                w_est_rest: 0,
                cwnd_rest: 0,
            }
        });
        let (cwnd, acked) = (u64::from(window.cwnd), u64::from(acked));

        // 9/17 = 3 (1 - 0.7) / (1 + 0.7) makes up for the gentler decrease, until the old window is back.
        let alpha_17ths = if epoch.w_est < window.cwnd_prior { 9 } else { 17 };
        epoch.w_est_rest += alpha_17ths * u64::from(mss) * acked;
        let step = epoch.w_est_rest / (17 * cwnd);
        epoch.w_est_rest -= step * 17 * cwnd;
        epoch.w_est = epoch.w_est.saturating_add(u32::try_from(step).unwrap_or(u32::MAX));

        if epoch.curve(now, mss) < epoch.w_est {
            window.cwnd = window.cwnd.max(epoch.w_est);
            epoch.cwnd_rest = 0;
            return;
        }
        let rtt = self.srtt.unwrap_or(Duration::ZERO);
        let target = u64::from(epoch.curve(now + rtt, mss)).clamp(cwnd, cwnd + cwnd / 2);
        epoch.cwnd_rest += (target - cwnd) * acked;
        let step = epoch.cwnd_rest / cwnd;
        epoch.cwnd_rest -= step * cwnd;
        window.cwnd = window.cwnd.saturating_add(u32::try_from(step).unwrap_or(u32::MAX));
    }

    fn reduce(&mut self, sign: Congestion) {
        self.prior = Some(self.window);
        let Window { cwnd, ssthresh, w_max, .. } = self.window;
        self.window.cwnd_prior = cwnd;
        let is_abe = self.abe && sign == Congestion::Marks && cwnd >= ssthresh;
        let after = if is_abe { reduced_for_marks(cwnd) } else { reduced(cwnd) };
        self.window.ssthresh = after.max(self.mss.saturating_mul(2));
        self.window.w_max = match sign {
            Congestion::Loss | Congestion::Marks if cwnd < w_max => converged(cwnd),
            Congestion::Loss | Congestion::Marks => cwnd,
            // The first curve after a timeout begins with its flat part (RFC 9438, 4.8).
            Congestion::Timeout | Congestion::TimeoutAgain => 0,
        };
    }
}

impl CongestionControl for Cubic {
    fn on_sent(&mut self, now: Instant, bytes: u32, in_flight: u32) {
        // Nothing was in flight before: the time since the last event was idle.
        if in_flight <= bytes {
            self.skip_time(now);
            self.seen = now;
        }
    }

    fn on_ack(&mut self, sample: &AckSample) {
        if let Some(rtt) = sample.rtt {
            self.smooth(rtt);
        }
        let acked = match self.growth {
            Growth::PerByte => sample.acked,
            Growth::PerAck => self.mss,
        };
        let acked = self.counted(sample, acked);
        if sample.phase != Phase::Recovery && self.is_limited(sample.in_flight_before) {
            self.grow(sample.now, acked);
        } else {
            self.skip_time(sample.now);
        }
        self.seen = sample.now;
    }

    fn on_congestion(&mut self, _now: Instant, sign: Congestion, _in_flight: u32) {
        if sign != Congestion::TimeoutAgain {
            self.reduce(sign);
        }
        self.window.cwnd = match sign {
            Congestion::Loss => self.window.ssthresh,
            Congestion::Marks => self.window.ssthresh.min(self.window.cwnd),
            Congestion::Timeout | Congestion::TimeoutAgain => self.mss,
        };
        self.window.epoch = None;
        if sign == Congestion::Marks {
            self.prior = None;
        }
    }

    fn on_recovery_end(&mut self, _now: Instant) {}

    fn on_undo(&mut self, _now: Instant) {
        if let Some(prior) = self.prior.take() {
            let cwnd = self.window.cwnd.max(prior.cwnd);
            self.window = Window { cwnd, ..prior };
        }
    }

    fn on_idle_restart(&mut self, _now: Instant) {
        // What was learnt stays known: ssthresh remembers three quarters of the window (RFC 2861).
        let window = &mut self.window;
        window.ssthresh = window.ssthresh.max(window.cwnd / 4 * 3);
        window.cwnd = window.cwnd.min(self.initial);
        window.epoch = None;
        self.hystart = self.hystart.map(|_| HyStart::default());
    }

    fn cwnd(&self) -> u32 {
        self.window.cwnd
    }
    fn ssthresh(&self) -> u32 {
        self.window.ssthresh
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
    fn ecn(&self) -> EcnUse {
        EcnUse::Off
    }
    fn state(&self) -> State {
        let epoch = self.window.epoch;
        State::Cubic {
            w_max: self.window.w_max,
            k: epoch.map(|epoch| from_ticks(epoch.k)),
            w_est: epoch.map_or(0, |epoch| epoch.w_est),
            epoch_start: epoch.map(|epoch| epoch.start),
        }
    }
}
