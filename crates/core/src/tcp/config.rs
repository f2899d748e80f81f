//! What a connection may be told, and the profiles: named tables of features with their origins.

use crate::time::Duration;

/// A named table of features.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Profile {
    /// Linux 1.1.84, February 1995.
    Linux11,
    /// What RFC 9293 and today's kernels do.
    Modern,
}

impl Profile {
    /// Every profile there is.
    pub const ALL: [Profile; 2] = [Profile::Modern, Profile::Linux11];

    /// The name in plans and output.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Linux11 => "linux-1.1",
            Profile::Modern => "modern",
        }
    }
}

/// The congestion control algorithms there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Algorithm {
    /// RFC 5681, in the form Linux deploys.
    Reno,
}

impl Algorithm {
    /// Every algorithm there is.
    pub const ALL: [Algorithm; 1] = [Algorithm::Reno];

    /// The name in plans and output.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Reno => "reno",
        }
    }
}

/// How losses are repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Recovery {
    /// Only the retransmission timer repairs.
    TimeoutOnly,
    /// Fast retransmit, NewReno fast recovery (RFC 6582).
    NewReno,
    /// SACK-based recovery (RFC 6675) where the peer permits it, NewReno otherwise.
    Sack,
}

/// Everything a connection is configured with. Start from [`Config::new`] and change single fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The table this started from.
    pub profile: Profile,
    /// Congestion control.
    pub algorithm: Algorithm,
    /// Largest packet, IP header included, in bytes.
    pub mtu: u16,
    /// Payload of a full segment is `mtu - header_allowance`, less what options take in `modern`
    /// (40 there; 64 in `linux-1.1`, whose packets carry 40 bytes of headers all the same).
    pub header_allowance: u16,
    /// Receive buffer in bytes: the largest window offered.
    pub receive_buffer: u32,
    /// Send buffer in bytes: what a writer may hand over before it has to wait.
    pub send_buffer: u32,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Offer window scaling (RFC 7323).
    pub window_scale: bool,
    /// Offer timestamps (RFC 7323).
    pub timestamps: bool,
    /// How losses are repaired; `Sack` also offers SACK (RFC 2018).
    pub recovery: Recovery,
    /// Duplicate ACKs that trigger fast retransmit.
    pub dup_ack_threshold: u8,
    /// Undo a spurious timeout told by timestamps (Eifel, RFC 3522 and 4015). Needs timestamps.
    pub eifel: bool,
    /// On timeout resend everything outstanding at once rather than the first segment.
    pub go_back_n: bool,
    /// Nagle's algorithm (RFC 1122, 4.2.3.4).
    pub nagle: bool,
    /// Acknowledge at least every this many full segments.
    pub ack_every: u8,
    /// How long an acknowledgment may be held back.
    pub delayed_ack: Duration,
    /// RTO before the first sample (RFC 6298).
    pub rto_initial: Duration,
    /// Floor of the RTO.
    pub rto_min: Duration,
    /// Ceiling of the RTO.
    pub rto_max: Duration,
    /// Retransmissions of one segment before the connection is given up.
    pub retries: u8,
    /// Header prediction on receive.
    pub header_prediction: bool,
    /// How long TIME-WAIT lasts.
    pub time_wait: Duration,
}
