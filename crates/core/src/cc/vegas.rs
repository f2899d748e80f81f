//! TCP Vegas (Brakmo and Peterson, JSAC 13(8), 1995): once per round trip the window is moved so that
//! a few segments of this connection, no more, wait in the network's queues. How many wait is told by
//! how much longer the round trip takes than the shortest one seen.
//!
//! In the form Linux deploys: samples are filtered by the minimum of a round, a round of two samples or
//! fewer is a step of Reno, and finding and repairing losses is left as it is. While a loss is repaired
//! it is Reno. Slow start doubles in every round trip, and what the shortest one of a growing round says
//! is about its beginning: it overshoots, and a segment per round trip leads back. The paper's slow start,
//! which doubles in every other, can be had; it sees the queue it made.
//!
//! Deviation: the window grows only while it is in use. Deployed systems let the window of a sender with
//! little to say grow by a segment per round trip.
//!
//! Not for mixed traffic: beside a sender that fills the queue, one that avoids queues starves.

use super::reno::Reno;
use super::{AckSample, Congestion, CongestionControl, EcnUse, Phase, Round, Settings, State};
use crate::time::{Duration, Instant};
use crate::units::BitRate;

#[cfg(test)]
mod tests;

/// Samples that a round must have more than to be judged: one may be a delayed acknowledgment.
const FEW_SAMPLES: u32 = 2;

/// How fast slow start is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Doubling {
    /// As Reno's: what Linux deploys.
    EveryRound,
    /// The window rests for a round before it is judged: the paper.
    EveryOtherRound,
}

/// What Vegas may be told. Counts are segments in the network's queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// Fewer than this: the window grows.
    pub alpha: u32,
    /// More than this: it shrinks. Not below `alpha`.
    pub beta: u32,
    /// More than this: slow start ends.
    pub gamma: u32,
    /// How fast slow start is.
    pub doubling: Doubling,
    /// The switch `tcp_vegas_cong_avoid` of the first kernel patch; without it this is Reno.
    pub cong_avoid: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Parameters { alpha: 2, beta: 4, gamma: 1, doubling: Doubling::EveryRound, cong_avoid: true }
    }
}

/// What the current round has told so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Measured {
    /// None until the next acknowledgment: it says what has been sent.
    round: Option<Round>,
    rtt_count: u32,
    min_rtt: Option<Duration>,
    /// The window rests in this round.
    resting: bool,
}

/// The state of Vegas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vegas {
    parameters: Parameters,
    /// The window, and what moves it while Vegas does not decide.
    reno: Reno,
    /// Whether Vegas decides.
    enabled: bool,
    base_rtt: Option<Duration>,
    measured: Measured,
    /// What had been measured before the last reaction, for its undoing.
    prior: Option<Measured>,
}

impl Vegas {
    /// Vegas at the start of a connection.
    pub fn new(settings: &Settings) -> Self {
        let parameters = settings.tuning.vegas;
        Vegas {
            parameters,
            reno: Reno::new(settings),
            enabled: parameters.cong_avoid,
            base_rtt: None,
            measured: Measured::default(),
            prior: None,
        }
    }

    fn sample(&mut self, rtt: Duration) {
        let rtt = rtt.max(Duration::from_nanos(1));
        let shorter = |least: Option<Duration>| Some(least.map_or(rtt, |least| least.min(rtt)));
        self.base_rtt = shorter(self.base_rtt);
        self.measured.min_rtt = shorter(self.measured.min_rtt);
        self.measured.rtt_count += 1;
    }

    fn on_round_end(&mut self, sample: &AckSample) {
        let Measured { rtt_count, min_rtt, resting, .. } = self.measured;
        self.measured.rtt_count = 0;
        self.measured.min_rtt = None;
        let in_slow_start = self.reno.is_in_slow_start();
        self.measured.resting =
            in_slow_start && self.parameters.doubling == Doubling::EveryOtherRound && !resting;
        match (self.base_rtt, min_rtt) {
            (Some(base), Some(rtt)) if rtt_count > FEW_SAMPLES => {
                if in_slow_start {
                    self.judge_slow_start(sample, base, rtt);
                } else {
                    self.judge_avoidance(sample, base, rtt);
                }
                self.reno.raise_ssthresh();
            }
            _ if in_slow_start => self.slow_start(sample),
            _ => self.reno.on_ack(sample),
        }
    }

    /// Segments of ours in the network's queues: what the window holds beyond `base` of `rtt`.
    fn queued(&self, base: Duration, rtt: Duration) -> u64 {
        share_of(self.reno.segments(), rtt - base, base)
    }

    fn judge_slow_start(&mut self, sample: &AckSample, base: Duration, rtt: Duration) {
        // What grew in this round has not been seen in the round trip yet.
        let may_judge = match self.parameters.doubling {
            Doubling::EveryRound => true,
            Doubling::EveryOtherRound => !self.measured.resting,
        };
        if may_judge && self.queued(base, rtt) > u64::from(self.parameters.gamma) {
            // As much as comes back in the shortest round trip, and one.
            let target = share_of(self.reno.segments(), base, rtt) + 1;
            self.reno.shrink_to(u32::try_from(target).unwrap_or(u32::MAX));
            self.measured.resting = false;
        } else {
            self.slow_start(sample);
        }
    }

    fn judge_avoidance(&mut self, sample: &AckSample, base: Duration, rtt: Duration) {
        let queued = self.queued(base, rtt);
        if queued > u64::from(self.parameters.beta) {
            self.reno.shrink_to(self.reno.segments().saturating_sub(1));
        } else if queued < u64::from(self.parameters.alpha) {
            self.reno.add_segment(sample);
        }
    }

    fn slow_start(&mut self, sample: &AckSample) {
        if !self.measured.resting {
            self.reno.grow_in_slow_start(sample);
        }
    }

    /// Begins anew where Vegas decides again.
    fn enable(&mut self) {
        self.enabled = self.parameters.cong_avoid;
        self.measured = Measured::default();
    }
}

/// `segments * part / whole`, rounded down.
fn share_of(segments: u32, part: Duration, whole: Duration) -> u64 {
    let share = u128::from(segments) * u128::from(part.as_nanos()) / u128::from(whole.as_nanos());
    u64::try_from(share).unwrap_or(u64::MAX)
}

impl CongestionControl for Vegas {
    fn on_sent(&mut self, _now: Instant, bytes: u32, in_flight: u32) {
        // Nothing was in flight: the path may be another one since.
        if self.enabled && in_flight <= bytes {
            self.base_rtt = None;
            self.enable();
        }
    }

    fn on_ack(&mut self, sample: &AckSample) {
        if let Some(rtt) = sample.rtt {
            self.sample(rtt);
        }
        if !self.enabled {
            return self.reno.on_ack(sample);
        }
        let (snd_una, snd_nxt) = (sample.snd_una, sample.snd_nxt);
        let mut round = self.measured.round.unwrap_or(Round::starting(snd_nxt));
        let ended = round.after(snd_una, snd_nxt);
        self.measured.round = Some(round);
        if sample.phase != Phase::Open {
            // The acknowledgment that completed the repair.
            self.reno.on_ack(sample);
        } else if ended {
            self.on_round_end(sample);
        } else if self.reno.is_in_slow_start() {
            self.slow_start(sample);
        }
    }

    fn on_congestion(&mut self, now: Instant, sign: Congestion, in_flight: u32) {
        self.reno.on_congestion(now, sign, in_flight);
        match sign {
            Congestion::Loss | Congestion::Timeout => self.prior = Some(self.measured),
            Congestion::TimeoutAgain => {}
            Congestion::Marks => self.prior = None,
        }
        self.enabled = false;
        self.measured = Measured::default();
    }

    fn on_recovery_end(&mut self, now: Instant) {
        self.reno.on_recovery_end(now);
        self.prior = None;
        self.enable();
    }

    fn on_undo(&mut self, now: Instant) {
        self.reno.on_undo(now);
        // Also where marks came before the loss that was none.
        if !self.enabled {
            self.enable();
        }
        if let Some(prior) = self.prior.take() {
            self.measured = prior;
        }
    }

    fn on_idle_restart(&mut self, now: Instant) {
        self.reno.on_idle_restart(now);
        self.base_rtt = None;
        self.measured = Measured::default();
    }

    fn cwnd(&self) -> u32 {
        self.reno.cwnd()
    }
    fn ssthresh(&self) -> u32 {
        self.reno.ssthresh()
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
    fn ecn(&self) -> EcnUse {
        EcnUse::Off
    }
    fn state(&self) -> State {
        State::Vegas {
            enabled: self.enabled,
            rtt_count: self.measured.rtt_count,
            base_rtt: self.base_rtt,
            min_rtt: self.measured.min_rtt,
        }
    }
}
