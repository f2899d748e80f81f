//! What a connection may be told, and the profiles: named tables of features with their origins.

pub use super::keepalive::Keepalive;
pub use super::mtu::PmtuProbing;
pub use crate::cc::{Algorithm, Growth, Tuning};
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

/// How the retransmission timeout follows from round-trip samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum RtoRule {
    /// SRTT + 4·RTTVAR, starting at SRTT = R and RTTVAR = R/2 (RFC 6298).
    Rfc6298,
    /// SRTT + 2·mean deviation in ticks of 10 ms, with an estimator that starts from zero: the first
    /// sample gives 0.625 round trips.
    Linux11,
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
    /// How losses are repaired; `Sack` also offers SACK (RFC 2018).
    pub recovery: Recovery,
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
        }
    }

    fn modern(mtu: u16) -> Config {
        Config {
            profile: Profile::Modern,
            algorithm: Algorithm::Reno,
            tuning: Tuning::default(),
            mtu,
            header_allowance: 40,
            mss: None,
            receive_buffer: 4 << 20,
            window_rule: WindowRule::Free,
            send_buffer: 4 << 20,
            segment_overhead: 0,
            wake_writer: WakeWriter::AtOneThird,
            initial_window: 10,
            initial_ssthresh: None,
            cwnd_max: u32::MAX,
            growth: Growth::PerByte,
            cwnd_unit: CwndUnit::Bytes,
            idle_restart: true,
            window_scale: true,
            timestamps: true,
            recovery: Recovery::Sack,
            dup_ack_threshold: 3,
            eifel: true,
            after_timeout: AfterTimeout::SlowStart,
            nagle: true,
            ack_every: 2,
            delayed_ack: Duration::from_millis(40),
            quick_acks: 16,
            repeat_ack: None,
            rto_rule: RtoRule::Rfc6298,
            rto_initial: Duration::from_secs(1),
            rto_min: Duration::from_millis(200),
            rto_max: Duration::from_secs(120),
            retries: 15,
            syn_retries: 6,
            header_prediction: true,
            time_wait: Duration::from_secs(60),
            keepalive: None,
            pmtu_probing: PmtuProbing::Off,
            pacing: false,
            backlog: 256,
            syn_cookies: true,
        }
    }

    fn linux_1_1(mtu: u16) -> Config {
        Config {
            profile: Profile::Linux11,
            header_allowance: 64,
            receive_buffer: 32_767,
            window_rule: WindowRule::HalfLess2048,
            send_buffer: 32_767,
            segment_overhead: 216,
            wake_writer: WakeWriter::AtOneSegment,
            initial_window: 1,
            initial_ssthresh: Some(0),
            cwnd_max: 2048,
            growth: Growth::PerAck,
            cwnd_unit: CwndUnit::Packets,
            idle_restart: false,
            window_scale: false,
            timestamps: false,
            recovery: Recovery::TimeoutOnly,
            eifel: false,
            after_timeout: AfterTimeout::ResendListByCwnd,
            ack_every: 1,
            delayed_ack: Duration::ZERO,
            quick_acks: 0,
            repeat_ack: Some(Duration::from_secs(3)),
            rto_rule: RtoRule::Linux11,
            rto_initial: Duration::from_secs(3),
            syn_retries: 5,
            syn_cookies: false,
            ..Config::modern(mtu)
        }
    }

    /// The profile's table with the origin of each row, for documents and output.
    pub fn feature_table(profile: Profile) -> &'static [Feature] {
        match profile {
            Profile::Modern => MODERN,
            Profile::Linux11 => LINUX_1_1,
        }
    }
}

const fn row(name: &'static str, value: &'static str, origin: &'static str) -> Feature {
    Feature { name, value, origin }
}

const MODERN: &[Feature] = &[
    row("payload", "MTU - 40 - options", "RFC 9293 3.7.1, RFC 6691"),
    row("initial window", "10 segments", "RFC 6928"),
    row("initial ssthresh", "none", "RFC 5681 3.1"),
    row("window growth", "per byte acknowledged", "RFC 5681 3.1"),
    row("idle restart", "after one RTO", "RFC 5681 4.1"),
    row("window scale", "offered, shift up to 14", "RFC 7323 2"),
    row("timestamps", "offered, PAWS", "RFC 7323 3, 5"),
    row("recovery", "SACK, NewReno without", "RFC 6675, RFC 6582"),
    row("spurious timeouts", "undone by timestamps", "RFC 3522, RFC 4015"),
    row("delayed ACK", "2 segments or 40 ms", "RFC 1122 4.2.3.2; Linux"),
    row("quick ACKs", "first 16 segments", "Linux"),
    row("Nagle", "on", "RFC 1122 4.2.3.4"),
    row("RTO", "srtt + 4 rttvar, 200 ms to 120 s, first 1 s", "RFC 6298; floor: Linux"),
    row("buffers", "4 MiB each way", "assumed"),
    row("retries", "15, SYN 6", "Linux"),
    row("TIME-WAIT", "60 s", "Linux; RFC 9293 says 4 min"),
    row("backlog", "256 half open, then SYN cookies", "RFC 4987; size: assumed"),
];

const TCP_C: &str = "Linux 1.1.89 net/inet/tcp.c";

const LINUX_1_1: &[Feature] = &[
    row("payload", "MTU - 64 to a peer on the same net", TCP_C),
    row("initial window", "1 segment", TCP_C),
    row("initial ssthresh", "0: no slow start on a new connection", TCP_C),
    row("window growth", "+1 every cwnd + 1 advancing ACKs, up to 2048", TCP_C),
    row("window unit", "packets", TCP_C),
    row("window scale", "none", TCP_C),
    row("timestamps", "none", TCP_C),
    row("recovery", "timeout only, no duplicate-ACK counter", TCP_C),
    row("after a timeout", "resends the list by cwnd on each advancing ACK", TCP_C),
    row("ACK", "each data segment at once; out of order repeated after 3 s", TCP_C),
    row("Nagle", "on", TCP_C),
    row("RTO", "srtt + 2 mdev from zero, 0.2 to 120 s, first 3 s, 10 ms ticks", TCP_C),
    row("receive window", "(32767 / 2) - 2048 = 14335, never shrunk", TCP_C),
    row("window update", "when it would grow by more than an MTU", TCP_C),
    row("send buffer", "32767 with 216 bytes of overhead per segment", TCP_C),
    row("waiting writer", "woken when a segment fits", TCP_C),
    row("retries", "15", TCP_C),
    row("SYN retries", "5", "assumed"),
    row("TIME-WAIT", "60 s", "assumed"),
    row("backlog", "256 half open, no SYN cookies", "assumed"),
    row("header prediction", "on: it changes no result, only the work", "assumed"),
];
