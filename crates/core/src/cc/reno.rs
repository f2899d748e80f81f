//! Reno (RFC 5681) in the form Linux deploys: grow only while the window is in use, appropriate byte
//! counting, ssthresh from the window rather than from the flight.
//!
//! With [`Growth::PerAck`] it is the window of Linux 1.1: packets, one count per advancing
//! acknowledgment, no test whether the window is in use, and ssthresh may fall to zero.

use super::{AckSample, Congestion, CongestionControl, EcnUse, Growth, Phase, Settings, State};
use crate::time::Instant;
use crate::units::BitRate;

/// The state of Reno.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reno {
    mss: u32,
    growth: Growth,
    initial: u32,
    cwnd_max: u32,
    cwnd: u32,
    ssthresh: u32,
    /// Avoidance: bytes acknowledged (or acknowledgments) since the last step.
    counter: u32,
    /// Marks cut less than a loss (RFC 8511).
    abe: bool,
    /// Window and threshold before the last reaction, for its undoing.
    prior: Option<(u32, u32)>,
}

impl Reno {
    /// Reno at the start of a connection.
    pub fn new(settings: &Settings) -> Self {
        let mss = settings.mss.max(1);
        let initial = mss.saturating_mul(settings.initial_window.max(1));
        Reno {
            mss,
            growth: settings.growth,
            initial,
            cwnd_max: mss.saturating_mul(settings.cwnd_max).max(initial),
            cwnd: initial,
            ssthresh: settings.initial_ssthresh.map_or(u32::MAX, |n| n.saturating_mul(mss)),
            counter: 0,
            abe: settings.tuning.abe,
            prior: None,
        }
    }

    /// Linux's `tcp_is_cwnd_limited`: in slow start half a window in use is enough.
    fn is_limited(&self, in_flight: u32) -> bool {
        if self.is_in_slow_start() {
            in_flight.saturating_mul(2) >= self.cwnd
        } else {
            in_flight.saturating_add(self.mss) > self.cwnd
        }
    }

    fn grow_per_byte(&mut self, mut acked: u32) {
        if self.cwnd < self.ssthresh {
            let step = acked.min(self.ssthresh - self.cwnd);
            self.cwnd = self.cwnd.saturating_add(step);
            acked -= step;
        }
        self.counter = self.counter.saturating_add(acked);
        if self.counter >= self.cwnd {
            let windows = self.counter / self.cwnd;
            self.counter -= windows * self.cwnd;
            self.cwnd = self.cwnd.saturating_add(windows.saturating_mul(self.mss));
        }
    }

    /// The counter is compared before it is raised, so a step takes cwnd + 1 acknowledgments.
    fn grow_per_ack(&mut self) {
        if self.cwnd >= self.cwnd_max {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.cwnd += self.mss;
        } else if self.counter >= self.cwnd / self.mss {
            self.cwnd += self.mss;
            self.counter = 0;
        } else {
            self.counter += 1;
        }
    }

    pub(super) fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// The window in whole segments.
    pub(super) fn segments(&self) -> u32 {
        self.cwnd / self.mss
    }

    /// Grows as slow start does, never beyond the threshold.
    pub(super) fn grow_in_slow_start(&mut self, sample: &AckSample) {
        if self.growth == Growth::PerAck {
            self.grow_per_ack();
        } else if self.is_limited(sample.in_flight_before) {
            let room = self.ssthresh.saturating_sub(self.cwnd);
            self.cwnd = self.cwnd.saturating_add(sample.acked.min(room)).min(self.cwnd_max);
        }
    }

    /// One segment more, if the window is in use.
    pub(super) fn add_segment(&mut self, sample: &AckSample) {
        if self.is_limited(sample.in_flight_before) {
            self.cwnd = self.cwnd.saturating_add(self.mss).min(self.cwnd_max);
        }
    }

    /// The answer to marks: the window becomes `segments`, at least two or what it is. Nothing to be undone later.
    pub(super) fn cut_to(&mut self, segments: u32) {
        self.ssthresh = segments.max(2).saturating_mul(self.mss);
        self.cwnd = self.cwnd.min(self.ssthresh);
        self.counter = 0;
        self.prior = None;
    }

    /// Shrinks the window to `segments`, at least two, and ends slow start. Nothing to be undone later.
    pub(super) fn shrink_to(&mut self, segments: u32) {
        let cwnd = segments.max(2).saturating_mul(self.mss);
        self.cwnd = self.cwnd.min(cwnd);
        self.ssthresh = self.ssthresh.min(self.cwnd);
    }

    /// The threshold follows a growing window: three quarters of it are known to be good.
    pub(super) fn raise_ssthresh(&mut self) {
        self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
    }

    fn reduced(&self, sign: Congestion) -> u32 {
        let is_abe = self.abe && sign == Congestion::Marks && !self.is_in_slow_start();
        match self.growth {
            // RFC 8511, 3.1: 0.8 of the window.
            Growth::PerByte if is_abe => (self.cwnd - self.cwnd / 5).max(2 * self.mss),
            Growth::PerByte => (self.cwnd / 2).max(2 * self.mss),
            Growth::PerAck => self.cwnd / self.mss / 2 * self.mss,
        }
    }
}

impl CongestionControl for Reno {
    fn on_sent(&mut self, _now: Instant, _bytes: u32, _in_flight: u32) {}

    fn on_ack(&mut self, sample: &AckSample) {
        match self.growth {
            Growth::PerAck => self.grow_per_ack(),
            Growth::PerByte => {
                if sample.phase != Phase::Recovery && self.is_limited(sample.in_flight_before) {
                    self.grow_per_byte(sample.acked);
                    self.cwnd = self.cwnd.min(self.cwnd_max);
                }
            }
        }
    }

    fn on_congestion(&mut self, _now: Instant, sign: Congestion, _in_flight: u32) {
        let once_more = sign == Congestion::TimeoutAgain && self.growth == Growth::PerByte;
        if !once_more {
            self.prior = Some((self.cwnd, self.ssthresh));
            self.ssthresh = self.reduced(sign);
        }
        if sign == Congestion::Marks {
            self.prior = None;
        }
        self.cwnd = match sign {
            Congestion::Loss => self.ssthresh.max(self.mss),
            Congestion::Marks => self.ssthresh.max(self.mss).min(self.cwnd),
            Congestion::Timeout | Congestion::TimeoutAgain => self.mss,
        };
        if self.growth == Growth::PerByte {
            self.counter = 0;
        }
    }

    fn on_recovery_end(&mut self, _now: Instant) {}

    fn on_undo(&mut self, _now: Instant) {
        if let Some((cwnd, ssthresh)) = self.prior.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = ssthresh;
            self.counter = 0;
        }
    }

    fn on_idle_restart(&mut self, _now: Instant) {
        // What was learnt stays known: ssthresh remembers three quarters of the window (RFC 2861).
        self.raise_ssthresh();
        self.cwnd = self.cwnd.min(self.initial);
        self.counter = 0;
    }

    fn cwnd(&self) -> u32 {
        self.cwnd
    }
    fn ssthresh(&self) -> u32 {
        self.ssthresh
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
    fn ecn(&self) -> EcnUse {
        EcnUse::Off
    }
    fn state(&self) -> State {
        State::Reno
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{Algorithm, EcnPath};
    use crate::seq::SeqNumber;

    const MSS: u32 = 1000;

    fn reno(growth: Growth, initial_window: u32, initial_ssthresh: Option<u32>) -> Reno {
        Reno::new(&Settings {
            algorithm: Algorithm::Reno,
            growth,
            mss: MSS,
            initial_window,
            initial_ssthresh,
            cwnd_max: 2048,
            tuning: Default::default(),
            ecn: EcnPath::Absent,
        })
    }

    fn ack(reno: &mut Reno, acked: u32, in_flight_before: u32, phase: Phase) {
        reno.on_ack(&AckSample {
            now: Instant::ZERO,
            acked,
            acked_ce: 0,
            rtt: None,
            in_flight_before,
            snd_una: SeqNumber(0),
            snd_nxt: SeqNumber(0),
            phase,
        });
    }

    #[test]
    fn slow_start_doubles_and_avoidance_adds_one_per_window() {
        let mut reno = reno(Growth::PerByte, 10, Some(20));
        for _ in 0..10 {
            let cwnd = reno.cwnd();
            ack(&mut reno, MSS, cwnd, Phase::Open);
        }
        assert_eq!(reno.cwnd(), 20 * MSS);
        for _ in 0..20 {
            ack(&mut reno, MSS, 20 * MSS, Phase::Open);
        }
        assert_eq!(reno.cwnd(), 21 * MSS);
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let mut reno = reno(Growth::PerByte, 10, None);
        ack(&mut reno, MSS, 4 * MSS, Phase::Open);
        assert_eq!(reno.cwnd(), 10 * MSS);
        ack(&mut reno, MSS, 5 * MSS, Phase::Open);
        assert_eq!(reno.cwnd(), 11 * MSS);
    }

    #[test]
    fn loss_halves_timeout_restarts_and_undo_restores() {
        let mut reno = reno(Growth::PerByte, 20, None);
        reno.on_congestion(Instant::ZERO, Congestion::Loss, 20 * MSS);
        assert_eq!((reno.cwnd(), reno.ssthresh()), (10 * MSS, 10 * MSS));
        ack(&mut reno, MSS, 10 * MSS, Phase::Recovery);
        assert_eq!(reno.cwnd(), 10 * MSS);
        reno.on_undo(Instant::ZERO);
        assert_eq!((reno.cwnd(), reno.ssthresh()), (20 * MSS, u32::MAX));
        reno.on_congestion(Instant::ZERO, Congestion::Timeout, 20 * MSS);
        reno.on_congestion(Instant::ZERO, Congestion::TimeoutAgain, MSS);
        assert_eq!((reno.cwnd(), reno.ssthresh()), (MSS, 10 * MSS));
        reno.on_undo(Instant::ZERO);
        assert_eq!(reno.cwnd(), 20 * MSS);
    }

    #[test]
    fn linux_1_1_counts_acknowledgments_and_has_no_slow_start_at_first() {
        let mut reno = reno(Growth::PerAck, 1, Some(0));
        let mut steps = Vec::new();
        for n in 1..=20 {
            let before = reno.cwnd();
            ack(&mut reno, 5 * MSS, 0, Phase::Open);
            if reno.cwnd() > before {
                steps.push((n, reno.cwnd() / MSS));
            }
        }
        assert_eq!(steps, [(2, 2), (5, 3), (9, 4), (14, 5), (20, 6)]);
        reno.on_congestion(Instant::ZERO, Congestion::Timeout, 0);
        assert_eq!((reno.cwnd(), reno.ssthresh()), (MSS, 3 * MSS));
        reno.on_congestion(Instant::ZERO, Congestion::TimeoutAgain, 0);
        assert_eq!(reno.ssthresh(), 0);
    }
}
