//! What an algorithm tells about itself, in the words of `ss -ti` and of the kernel's `inet_diag`.

use super::ce_echo::Mark;
use crate::time::{Duration, Instant};
use std::fmt;

/// What the kernel's Vegas shows before the first sample, in microseconds.
const NO_RTT: u64 = i32::MAX as u64;

/// What an algorithm tells about itself for diagnostics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Reno has nothing beside window and threshold.
    Reno,
    /// CUBIC's curve.
    Cubic {
        /// The window before the last loss, lowered by fast convergence, in bytes; 0 when there was none.
        w_max: u32,
        /// From the start of the epoch to the flat part of the curve; none outside congestion avoidance.
        k: Option<Duration>,
        /// What Reno would have reached in this epoch, in bytes.
        w_est: u32,
        /// When the epoch began, moved on by idle times.
        epoch_start: Option<Instant>,
    },
    /// What Vegas measured.
    Vegas {
        /// Whether Vegas decides; when not, it is Reno: while a loss is repaired, or switched off.
        enabled: bool,
        /// Round-trip samples of the current round.
        rtt_count: u32,
        /// The shortest round trip of the connection, with nothing of its own in the queues.
        base_rtt: Option<Duration>,
        /// The shortest round trip of the current round.
        min_rtt: Option<Duration>,
    },
    /// What DCTCP estimates.
    Dctcp {
        /// The share of marked bytes in 1024ths.
        alpha: u16,
        /// Bytes of the current window that arrived marked.
        acked_ce: u64,
        /// Bytes of the current window acknowledged.
        acked: u64,
        /// What the receiver of this end saw last; its connection fills it in.
        ce_state: Mark,
    },
    /// DCTCP without ECN: Reno.
    DctcpReno,
}

impl State {
    /// The algorithm at work.
    pub const fn name(&self) -> &'static str {
        match self {
            State::Reno => "reno",
            State::Cubic { .. } => "cubic",
            State::Vegas { .. } => "vegas",
            State::Dctcp { .. } => "dctcp",
            State::DctcpReno => "dctcp-reno",
        }
    }
}

/// The name, and behind it what there is to tell as `name:(key:value,…)`; times in microseconds.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            State::Reno | State::Cubic { .. } => Ok(()),
            State::Vegas { enabled, rtt_count, base_rtt, min_rtt } => {
                let micros =
                    |rtt: &Option<Duration>| rtt.map_or(NO_RTT, |rtt| rtt.as_nanos() / 1000);
                let (enabled, rtt, minrtt) =
                    (u8::from(*enabled), micros(base_rtt), micros(min_rtt));
                write!(f, " vegas:(enabled:{enabled},rttcnt:{rtt_count},rtt:{rtt},minrtt:{minrtt})")
            }
            State::Dctcp { alpha, acked_ce, acked, ce_state } => {
                let ce = u8::from(*ce_state == Mark::Ce);
                write!(f, " dctcp:(ce_state:{ce},alpha:{alpha},ab_ecn:{acked_ce},ab_tot:{acked})")
            }
            State::DctcpReno => f.write_str(" dctcp:fallback_mode"),
        }
    }
}
