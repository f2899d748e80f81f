//! Congestion control: a small trait, one file and one table row per algorithm.
//!
//! An algorithm owns the congestion window in bytes and never sees the connection: what it needs to
//! know comes in an [`AckSample`] or as a call. Loss detection and retransmission stay with the
//! connection; the algorithm only answers how much may be in flight.

pub mod ce_echo;
pub mod cubic;
pub mod dctcp;
pub mod hystart;
pub mod reno;
pub mod round;
pub mod state;
#[cfg(test)]
mod tests;
pub mod vegas;

pub use ce_echo::CeEcho;
pub use round::Round;
pub use state::State;

use crate::seq::SeqNumber;
use crate::time::{Duration, Instant};
use crate::units::BitRate;
use std::fmt::Debug;

/// The congestion control algorithms there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Algorithm {
    /// RFC 5681, in the form Linux deploys.
    Reno,
    /// RFC 9438.
    Cubic,
    /// Brakmo and Peterson 1995, in the form Linux deploys.
    Vegas,
    /// RFC 8257.
    Dctcp,
}

impl Algorithm {
    /// Every algorithm there is.
    pub const ALL: [Algorithm; 4] =
        [Algorithm::Reno, Algorithm::Cubic, Algorithm::Vegas, Algorithm::Dctcp];

    /// The name in plans and output.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Reno => "reno",
            Algorithm::Cubic => "cubic",
            Algorithm::Vegas => "vegas",
            Algorithm::Dctcp => "dctcp",
        }
    }
}

/// What makes the congestion window grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Growth {
    /// Bytes acknowledged (RFC 3465, RFC 5681).
    PerByte,
    /// Each advancing acknowledgment counts one packet, however much it covers.
    PerAck,
}

/// What single algorithms may be told; each looks at its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tuning {
    /// For [`Algorithm::Cubic`].
    pub cubic: cubic::Parameters,
    /// For [`Algorithm::Vegas`].
    pub vegas: vegas::Parameters,
    /// For [`Algorithm::Dctcp`].
    pub dctcp: dctcp::Parameters,
    /// Outside of slow start marks cut less than a loss, for the queue that marks is short (RFC 8511): by a
    /// fifth with Reno's window, by 15 % with CUBIC's.
    pub abe: bool,
}

/// Whether marks can come back from the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum EcnPath {
    /// Both ends have agreed on ECN, or, before the handshake, still may.
    Usable,
    /// They have not.
    Absent,
}

/// What an algorithm starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Which algorithm.
    pub algorithm: Algorithm,
    /// What makes the window grow.
    pub growth: Growth,
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Initial slow-start threshold in segments; none means no limit.
    pub initial_ssthresh: Option<u32>,
    /// Ceiling of the window in segments.
    pub cwnd_max: u32,
    /// The algorithms' own parameters.
    pub tuning: Tuning,
    /// What the handshake said about ECN.
    pub ecn: EcnPath,
}

/// Where the connection's loss recovery stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Phase {
    /// No loss is being repaired.
    Open,
    /// Fast recovery, or the window of data after marks: the window has been reduced and does not grow.
    Recovery,
    /// After a timeout: slow start from one segment.
    Loss,
}

/// What one advancing acknowledgment told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckSample {
    /// When it arrived.
    pub now: Instant,
    /// Bytes newly acknowledged cumulatively.
    pub acked: u32,
    /// Those of them that the receiver says arrived marked: where it reports every mark, all of an
    /// acknowledgment with ECE.
    pub acked_ce: u32,
    /// A round-trip sample free of retransmission ambiguity.
    pub rtt: Option<Duration>,
    /// Bytes in flight before it arrived.
    pub in_flight_before: u32,
    /// First unacknowledged sequence number after it.
    pub snd_una: SeqNumber,
    /// Next sequence number to be sent.
    pub snd_nxt: SeqNumber,
    /// Where loss recovery stands.
    pub phase: Phase,
}

/// Signs of congestion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Congestion {
    /// A loss found by acknowledgments: fast recovery begins.
    Loss,
    /// The retransmission timer expired.
    Timeout,
    /// It expired again for the same data.
    TimeoutAgain,
    /// Packets arrived marked (ECE). Told once per window of data, after the acknowledgment that said so,
    /// and not while a loss is repaired; [`CongestionControl::on_recovery_end`] follows when that window
    /// is acknowledged, and there is nothing to undo. A loss in the meantime is not told.
    Marks,
}

/// Whether and how the algorithm uses explicit congestion notification.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum EcnUse {
    /// It asks for nothing; marks, if there are any, are worth a loss.
    Off,
    /// Every packet says it is ECN-capable, and the receiver reports every mark (RFC 8257).
    EveryMark,
}

/// A congestion control algorithm.
pub trait CongestionControl: Debug + Send {
    /// `bytes` of payload left; `in_flight` counts them.
    fn on_sent(&mut self, now: Instant, bytes: u32, in_flight: u32);
    /// An acknowledgment advanced.
    fn on_ack(&mut self, sample: &AckSample);
    /// Congestion was found with `in_flight` bytes outstanding.
    fn on_congestion(&mut self, now: Instant, sign: Congestion, in_flight: u32);
    /// Fast recovery or the repair after a timeout is complete.
    fn on_recovery_end(&mut self, now: Instant);
    /// The last congestion was no congestion: take the reaction back. It may be told after the end of the
    /// recovery, once, and only for the last reaction to a loss.
    fn on_undo(&mut self, now: Instant);
    /// Sending resumes after an idle time of more than one RTO.
    fn on_idle_restart(&mut self, now: Instant);
    /// Congestion window in bytes.
    fn cwnd(&self) -> u32;
    /// Slow-start threshold in bytes.
    fn ssthresh(&self) -> u32;
    /// Whether it ever has a [`CongestionControl::pacing_rate`]; it is asked once.
    fn paces(&self) -> bool {
        false
    }
    /// The rate segments should leave at; none means as fast as the window allows.
    fn pacing_rate(&self) -> Option<BitRate>;
    /// How ECN is used.
    fn ecn(&self) -> EcnUse;
    /// What there is to tell.
    fn state(&self) -> State;
}

/// One row of the table of algorithms.
pub struct Row {
    /// Which.
    pub algorithm: Algorithm,
    /// Where it is written.
    pub source: &'static str,
    build: fn(&Settings) -> Box<dyn CongestionControl>,
}

/// Every algorithm, in the order of [`Algorithm::ALL`].
pub const TABLE: [Row; Algorithm::ALL.len()] = [
    Row {
        algorithm: Algorithm::Reno,
        source: "RFC 5681 and Linux tcp_cong.c",
        build: |settings| Box::new(reno::Reno::new(settings)),
    },
    Row {
        algorithm: Algorithm::Cubic,
        source: "RFC 9438, RFC 9406",
        build: |settings| Box::new(cubic::Cubic::new(settings)),
    },
    Row {
        algorithm: Algorithm::Vegas,
        source: "Brakmo and Peterson, JSAC 13(8), 1995, and Linux tcp_vegas.c",
        build: |settings| Box::new(vegas::Vegas::new(settings)),
    },
    Row {
        algorithm: Algorithm::Dctcp,
        source: "RFC 8257 and Linux tcp_dctcp.c",
        build: |settings| Box::new(dctcp::Dctcp::new(settings)),
    },
];

/// An algorithm at its start.
pub fn build(settings: &Settings) -> Box<dyn CongestionControl> {
    (TABLE[settings.algorithm as usize].build)(settings)
}
