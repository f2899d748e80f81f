//! DCTCP (RFC 8257), the sender's half: the window is cut by half the share of bytes that arrived marked,
//! so that a short queue with a step of marking keeps a link busy. The receiver's half, which reports
//! every mark, is [`super::CeEcho`].
//!
//! In the form Linux deploys: the share is kept in 1024ths and reaches zero, the window is cut by whole
//! segments, growth and the answer to losses are Reno's. Where the ends have not agreed on ECN it *is*
//! Reno, and says so as `dctcp-reno`.
//!
//! Only where every sender through a queue is of this kind: beside senders that wait for losses it
//! starves, and without a marking queue it is worth no more than Reno.

use super::ce_echo::Mark;
use super::reno::Reno;
use super::{AckSample, Congestion, CongestionControl, EcnPath, EcnUse, Round, Settings, State};
use crate::time::Instant;
use crate::units::BitRate;

#[cfg(test)]
mod tests;

/// A share of 1.
pub const ALPHA_ONE: u16 = 1 << ALPHA_BITS;
const ALPHA_BITS: u32 = 10;
/// The largest `shift_g`: a gain below 1/1024 could not be told from none.
pub const SHIFT_G_MAX: u8 = 10;

/// How the share fades while nothing arrives marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Fading {
    /// Once its part is less than one, all of it goes: it reaches zero (Linux since 4.3).
    ToZero,
    /// Only whole parts go: it stays below 2 to the power of `shift_g` for ever (Linux 3.18). Half of that
    /// share of a window of a hundred segments is less than one, so nothing is cut.
    Sticks,
}

/// What DCTCP may be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// The gain of a window's share is 2 to the power of minus this; at most [`SHIFT_G_MAX`].
    pub shift_g: u8,
    /// The share assumed at the start in 1024ths; at most [`ALPHA_ONE`].
    pub alpha_on_init: u16,
    /// How the share fades.
    pub fading: Fading,
}

impl Default for Parameters {
    fn default() -> Self {
        Parameters { shift_g: 4, alpha_on_init: ALPHA_ONE, fading: Fading::ToZero }
    }
}

/// The state of DCTCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dctcp {
    shift_g: u32,
    fading: Fading,
    /// The window.
    reno: Reno,
    ecn: EcnPath,
    /// The share of marked bytes in 1024ths, smoothed over windows.
    alpha: u64,
    /// None until the first acknowledgment.
    round: Option<Round>,
    /// Bytes acknowledged in this round, and those of them that arrived marked.
    acked: u64,
    acked_ce: u64,
}

impl Dctcp {
    /// DCTCP at the start of a connection.
    pub fn new(settings: &Settings) -> Self {
        let parameters = settings.tuning.dctcp;
        Dctcp {
            shift_g: u32::from(parameters.shift_g.min(SHIFT_G_MAX)),
            fading: parameters.fading,
            reno: Reno::new(settings),
            ecn: settings.ecn,
            alpha: u64::from(parameters.alpha_on_init.min(ALPHA_ONE)),
            round: None,
            acked: 0,
            acked_ce: 0,
        }
    }

    fn estimate(&mut self, sample: &AckSample) {
        self.acked += u64::from(sample.acked);
        self.acked_ce += u64::from(sample.acked_ce.min(sample.acked));
        let mut round = self.round.unwrap_or(Round::starting(sample.snd_nxt));
        if round.at(sample.snd_una, sample.snd_nxt) {
            self.update_alpha();
        }
        self.round = Some(round);
    }

    /// `alpha = (1 - g) * alpha + g * marked share` (RFC 8257, 3.3).
    fn update_alpha(&mut self) {
        let part = match (self.alpha >> self.shift_g, self.fading) {
            (0, Fading::ToZero) => self.alpha,
            (part, _) => part,
        };
        let fresh = (self.acked_ce << (ALPHA_BITS - self.shift_g)) / self.acked.max(1);
        self.alpha = (self.alpha - part + fresh).min(u64::from(ALPHA_ONE));
        self.acked = 0;
        self.acked_ce = 0;
    }
}

impl CongestionControl for Dctcp {
    fn on_sent(&mut self, _now: Instant, _bytes: u32, _in_flight: u32) {}

    fn on_ack(&mut self, sample: &AckSample) {
        // The acknowledgment of a SYN is no window of data.
        if self.ecn == EcnPath::Usable && sample.acked > 0 {
            self.estimate(sample);
        }
        self.reno.on_ack(sample);
    }

    fn on_congestion(&mut self, now: Instant, sign: Congestion, in_flight: u32) {
        if sign == Congestion::Marks && self.ecn == EcnPath::Usable {
            let segments = self.reno.segments();
            let cut = (u64::from(segments) * self.alpha) >> (ALPHA_BITS + 1);
            self.reno.cut_to(segments - cut as u32);
        } else {
            self.reno.on_congestion(now, sign, in_flight);
        }
    }

    fn on_recovery_end(&mut self, now: Instant) {
        self.reno.on_recovery_end(now);
    }
    fn on_undo(&mut self, now: Instant) {
        self.reno.on_undo(now);
    }
    fn on_idle_restart(&mut self, now: Instant) {
        self.reno.on_idle_restart(now);
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
        match self.ecn {
            EcnPath::Usable => EcnUse::EveryMark,
            EcnPath::Absent => EcnUse::Off,
        }
    }
    fn state(&self) -> State {
        match self.ecn {
            EcnPath::Usable => State::Dctcp {
                alpha: self.alpha as u16,
                acked_ce: self.acked_ce,
                acked: self.acked,
                ce_state: Mark::None,
            },
            EcnPath::Absent => State::DctcpReno,
        }
    }
}
