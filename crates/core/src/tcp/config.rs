//! What a connection may be told, and the profiles: named tables of features with their origins.

mod profiles;
mod tables;

pub use super::keepalive::Keepalive;
pub use super::mtu::PmtuProbing;
pub use crate::cc::{Algorithm, Growth, Tuning};
use crate::time::{Duration, Instant};

/// A named table of features.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Profile {
    /// Linux 1.1.84, February 1995.
    Linux11,
    /// What RFC 9293 and today's kernels do.
    Modern,
    /// 4.3BSD-Reno, 1990.
    Bsd43,
    /// Linux 2.2, 1999.
    Linux22,
    /// Linux 2.4, 2001.
    Linux24,
    /// Linux 3.18, December 2014.
    Linux318,
}

impl Profile {
    /// Every profile there is.
    pub const ALL: [Profile; 6] = [
        Profile::Modern,
        Profile::Linux11,
        Profile::Bsd43,
        Profile::Linux22,
        Profile::Linux24,
        Profile::Linux318,
    ];

    /// The name in plans and output.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Linux11 => "linux-1.1",
            Profile::Modern => "modern",
            Profile::Bsd43 => "bsd-4.3",
            Profile::Linux22 => "linux-2.2",
            Profile::Linux24 => "linux-2.4",
            Profile::Linux318 => "linux-3.18",
        }
    }
}

/// How losses are repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Recovery {
    /// Only the retransmission timer repairs.
    TimeoutOnly,
    /// Fast retransmit, and a fast recovery that the first advancing acknowledgment ends (1990).
    Reno,
    /// Fast retransmit, NewReno fast recovery (RFC 6582).
    NewReno,
    /// SACK-based recovery (RFC 6675) where the peer permits it, NewReno otherwise.
    Sack,
    /// The same, but losses are found by time (RACK, RFC 8985).
    Rack,
}

impl Recovery {
    /// Every way there is.
    pub const ALL: [Recovery; 5] =
        [Recovery::TimeoutOnly, Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Rack];

    /// The name in plans.
    pub const fn name(self) -> &'static str {
        match self {
            Recovery::TimeoutOnly => "timeout",
            Recovery::Reno => "reno",
            Recovery::NewReno => "newreno",
            Recovery::Sack => "sack",
            Recovery::Rack => "rack",
        }
    }

    /// Whether SACK is offered (RFC 2018).
    pub const fn uses_sack(self) -> bool {
        matches!(self, Recovery::Sack | Recovery::Rack)
    }
}

/// How the retransmission timeout follows from round-trip samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum RtoRule {
    /// SRTT + 4·RTTVAR, starting at SRTT = R and RTTVAR = R/2 (RFC 6298).
    Rfc6298,
    /// SRTT + 2·mean deviation in ticks of 10 ms, with an estimator that starts from zero: the first
    /// sample gives 0.625 round trips.
    Linux11,
    /// SRTT + 4·deviation in ticks of a timer that runs every 500 ms; deadlines fall on its ticks.
    Bsd43,
}

/// What the congestion window is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum CwndUnit {
    /// Bytes in flight.
    Bytes,
    /// Packets in flight, short ones included.
    Packets,
}

/// What is sent again after a retransmission timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum AfterTimeout {
    /// Everything outstanding counts as lost and is sent again in slow start (RFC 5681, RFC 6675 5.1).
    SlowStart,
    /// The first segment; then every advancing acknowledgment sends the first `cwnd` segments of what
    /// was outstanding once more, and new data waits until all of it is acknowledged.
    ResendListByCwnd,
}

/// How much of the receive buffer is offered as a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum WindowRule {
    /// What is free, in steps that avoid the silly window (RFC 1122, 4.2.3.3).
    Free,
    /// Half of what is free less 2048 bytes; announced after a read when it grew by more than an MTU.
    HalfLess2048,
}

/// When a writer that had to wait is told that there is room.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum WakeWriter {
    /// As soon as a full segment fits.
    AtOneSegment,
    /// When a third of the buffer is free, so that writers are woken rarely.
    AtOneThird,
}

/// Whether a connection uses ECN (RFC 3168). A congestion control that cannot do without asks for it unless
/// this is `Off`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum EcnMode {
    /// Neither asked for nor answered.
    Off,
    /// Answered where the peer asks for it.
    OnRequest,
    /// Asked for, and answered.
    On,
}

impl EcnMode {
    /// Every mode there is.
    pub const ALL: [EcnMode; 3] = [EcnMode::Off, EcnMode::OnRequest, EcnMode::On];

    /// The name in plans and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            EcnMode::Off => "off",
            EcnMode::OnRequest => "on-request",
            EcnMode::On => "on",
        }
    }
}

/// Whether SYN and SYN-ACK are ECN-capable packets themselves where ECN is asked for or agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum EctOnSyn {
    /// As the congestion control is about all its packets: with DCTCP they are (RFC 8257, 3.5).
    WithAlgorithm,
    /// They are.
    Capable,
    /// They are not (RFC 3168, 6.1.1).
    NotCapable,
}

/// One row of a profile's table: what it does and where that is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feature {
    /// What is told.
    pub name: &'static str,
    /// What this profile does.
    pub value: &'static str,
    /// The source, or `assumed`.
    pub origin: &'static str,
}

/// Everything a connection is configured with. Start from [`Config::new`] and change single fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The table this started from.
    pub profile: Profile,
    /// Congestion control.
    pub algorithm: Algorithm,
    /// What single algorithms are told.
    pub tuning: Tuning,
    /// Largest packet, IP header included, in bytes.
    pub mtu: u16,
    /// Payload of a full segment is `mtu - header_allowance`, less what options take in `modern`
    /// (40 there; 64 in `linux-1.1`, whose packets carry 40 bytes of headers all the same).
    pub header_allowance: u16,
    /// A lower limit on the payload than the MTU gives, in bytes.
    pub mss: Option<u16>,
    /// Receive buffer in bytes: the largest window offered.
    pub receive_buffer: u32,
    /// How much of the receive buffer is offered.
    pub window_rule: WindowRule,
    /// Send buffer in bytes: what a writer may hand over before it has to wait.
    pub send_buffer: u32,
    /// Bytes charged to the send buffer per segment beside its payload.
    pub segment_overhead: u32,
    /// When a writer that had to wait is woken.
    pub wake_writer: WakeWriter,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Slow-start threshold of a new connection in segments; none means no limit.
    pub initial_ssthresh: Option<u32>,
    /// Ceiling of the congestion window in segments.
    pub cwnd_max: u32,
    /// What makes the congestion window grow.
    pub growth: Growth,
    /// What the congestion window limits.
    pub cwnd_unit: CwndUnit,
    /// After an idle RTO fall back to the initial window (RFC 5681, 4.1).
    pub idle_restart: bool,
    /// Offer window scaling (RFC 7323).
    pub window_scale: bool,
    /// Offer timestamps (RFC 7323).
    pub timestamps: bool,
    /// Whether ECN is used.
    pub ecn: EcnMode,
    /// Whether the packets of the handshake are ECN-capable.
    pub ect_on_syn: EctOnSyn,
    /// The differentiated services codepoint of every packet (RFC 2474), below 64.
    pub dscp: u8,
    /// The flow label of every packet over IPv6 (RFC 6437), of 20 bits; zero is none. It must not tell of
    /// sequence numbers: who looks on reads it.
    pub flow_label: u32,
    /// How losses are repaired; `Sack` and `Rack` also offer SACK (RFC 2018).
    pub recovery: Recovery,
    /// Probe for losses at the end of a flight (RFC 8985, 7). Needs SACK.
    pub tlp: bool,
    /// Reduce in proportion to what is delivered (RFC 6937, RFC 9937), for losses and marks. Needs SACK.
    pub prr: bool,
    /// Ask with new data whether a timeout was spurious (RFC 5682). Needs SACK.
    pub frto: bool,
    /// The first duplicates let new segments go beyond the window (RFC 3042).
    pub limited_transmit: bool,
    /// Tell what arrives twice, and believe it (RFC 2883). Needs SACK.
    pub dsack: bool,
    /// Duplicate ACKs that trigger fast retransmit.
    pub dup_ack_threshold: u8,
    /// Undo a spurious timeout told by timestamps (Eifel, RFC 3522 and 4015). Needs timestamps.
    pub eifel: bool,
    /// What is sent again after a timeout.
    pub after_timeout: AfterTimeout,
    /// Nagle's algorithm (RFC 1122, 4.2.3.4).
    pub nagle: bool,
    /// Acknowledge at least every this many full segments.
    pub ack_every: u8,
    /// How long an acknowledgment may be held back.
    pub delayed_ack: Duration,
    /// Acknowledgments held back leave with a timer that runs all the time, every `delayed_ack`.
    pub ack_ticks: bool,
    /// Data segments acknowledged at once at the start, so that the peer's slow start is not held up.
    pub quick_acks: u8,
    /// Repeat the acknowledgment of an out-of-order segment after this long without another.
    pub repeat_ack: Option<Duration>,
    /// How the RTO follows from samples.
    pub rto_rule: RtoRule,
    /// RTO before the first sample (RFC 6298).
    pub rto_initial: Duration,
    /// Floor of the RTO.
    pub rto_min: Duration,
    /// Ceiling of the RTO.
    pub rto_max: Duration,
    /// Retransmissions of one segment before the connection is given up.
    pub retries: u8,
    /// Retransmissions of a SYN or SYN-ACK before the connection is given up.
    pub syn_retries: u8,
    /// Header prediction on receive.
    pub header_prediction: bool,
    /// How long TIME-WAIT lasts.
    pub time_wait: Duration,
    /// Ask a silent peer whether it is still there (RFC 1122, 4.2.3.6).
    pub keepalive: Option<Keepalive>,
    /// Whether the path's MTU is looked for (RFC 4821).
    pub pmtu_probing: PmtuProbing,
    /// Spread data over the round trip even where the congestion control asks for no rate.
    pub pacing: bool,
    /// Of a listener: connections that may wait for the end of their handshake, and as many for the
    /// application.
    pub backlog: u16,
    /// Of a listener: answer SYNs beyond the backlog with cookies (RFC 4987, 3.6) instead of dropping them.
    pub syn_cookies: bool,
}

impl Config {
    /// The table of `profile` for packets of at most `mtu` bytes.
    pub fn new(profile: Profile, mtu: u16) -> Config {
        match profile {
            Profile::Modern => Config::modern(mtu),
            Profile::Linux11 => Config::linux_1_1(mtu),
            Profile::Bsd43 => Config::bsd_4_3(mtu),
            Profile::Linux22 => Config::linux_2_2(mtu),
            Profile::Linux24 => Config::linux_2_4(mtu),
            Profile::Linux318 => Config::linux_3_18(mtu),
        }
    }

    /// When an acknowledgment held back now leaves.
    pub(super) fn ack_deadline(&self, now: Instant) -> Instant {
        if !self.ack_ticks {
            return now + self.delayed_ack;
        }
        let period = self.delayed_ack.as_nanos().max(1);
        Instant::from_nanos((now.as_nanos() / period + 1) * period)
    }

    /// The profile's table with the origin of each row, for documents and output.
    pub fn feature_table(profile: Profile) -> &'static [Feature] {
        tables::of(profile)
    }
}
