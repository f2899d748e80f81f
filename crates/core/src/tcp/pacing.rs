//! Pacing: data leaves at a rate instead of as a train that fills the queue of the slowest link.
//!
//! The rate is the congestion control's where it has one; otherwise, where the configuration asks for it,
//! twice the window per smoothed round trip while slow start has far to go and 1.2 times after, as Linux
//! has it. Segments leave in bursts of two, or of what takes a millisecond if that is more, so that fast
//! connections do not wake for every segment. Acknowledgments and what a timeout sends again do not wait.

use super::timer::Due;
use super::{Config, Connection};
use crate::cc::CongestionControl;
use crate::time::{Duration, Instant};

/// Of the window per round trip, in percent: below half of the slow-start threshold, and above.
const PERCENT_SLOW_START: u64 = 200;
const PERCENT: u64 = 120;
/// Segments that may leave at once.
const BURST_SEGMENTS: u64 = 2;
/// What may leave at once if it is more than that.
const BURST: Duration = Duration::from_millis(1);

/// What may leave when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pacer {
    /// Whether there is ever a rate.
    is_on: bool,
    /// Bytes that may still leave with the present burst.
    burst_left: u32,
    /// When what has left is paid for at the rate of the time.
    paid_at: Instant,
}

impl Pacer {
    /// A rate comes from the configuration or from the congestion control.
    pub fn new(config: &Config, cc: &dyn CongestionControl) -> Self {
        let is_on = config.pacing || cc.paces();
        Pacer { is_on, burst_left: 0, paid_at: Instant::ZERO }
    }
}

impl Connection {
    /// How long `bytes` of payload take at the pacing rate; none when nothing is paced.
    fn pacing_time(&self, bytes: u32) -> Option<Duration> {
        let bytes = u64::from(bytes);
        if let Some(rate) = self.cc.pacing_rate() {
            return Some(rate.time_for_bits(bytes * 8));
        }
        if !self.config.pacing {
            return None;
        }
        let srtt = self.rtt.srtt()?.as_nanos();
        let cwnd = self.cc.cwnd();
        let slow_start = cwnd < self.cc.ssthresh() / 2;
        let percent = if slow_start { PERCENT_SLOW_START } else { PERCENT };
        let whole = bytes.saturating_mul(srtt).saturating_mul(100);
        Some(Duration::from_nanos(whole / (u64::from(cwnd) * percent)))
    }

    fn burst(&self) -> u32 {
        let mss = u64::from(self.agreed.mss);
        let each = self.pacing_time(self.agreed.mss).map_or(0, Duration::as_nanos).max(1);
        let segments = (BURST.as_nanos() / each).max(BURST_SEGMENTS);
        segments.saturating_mul(mss).min(u64::from(u32::MAX)) as u32
    }

    /// Whether data has to wait; the timer then says until when.
    #[inline]
    pub(super) fn is_paced_out(&mut self, now: Instant) -> bool {
        let waits = self.pacer.burst_left == 0 && now < self.pacer.paid_at;
        if waits {
            self.timers.pacing = Due::at(self.pacer.paid_at);
        }
        waits
    }

    /// So many bytes of payload have left.
    #[inline]
    pub(super) fn pace(&mut self, now: Instant, bytes: u32) {
        if self.pacer.is_on {
            self.pay(now, bytes);
        }
    }

    #[inline(never)]
    fn pay(&mut self, now: Instant, bytes: u32) {
        let Some(time) = self.pacing_time(bytes) else {
            return;
        };
        if now >= self.pacer.paid_at {
            (self.pacer.burst_left, self.pacer.paid_at) = (self.burst(), now);
        }
        self.pacer.paid_at += time;
        self.pacer.burst_left = self.pacer.burst_left.saturating_sub(bytes);
    }
}
