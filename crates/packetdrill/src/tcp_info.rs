//! `struct tcp_info` of a connection, as `getsockopt(TCP_INFO)` answers it (linux/tcp.h): the first 104 bytes,
//! which every version has.
//!
//! Deviations: what the core does not tell is zero: packets SACKed and lost, the receiver's estimates.

use trunkline_core::cc::Phase;
use trunkline_core::tcp::{Connection, State};
use trunkline_core::time::Duration;

/// Linux's numbers of the states.
fn state(state: State) -> u8 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Closing => 11,
    }
}

/// Open, Recovery or Loss.
fn ca_state(phase: Phase) -> u8 {
    match phase {
        Phase::Open => 0,
        Phase::Recovery => 3,
        Phase::Loss => 4,
    }
}

fn micros(span: Duration) -> u32 {
    u32::try_from(span.as_micros()).unwrap_or(u32::MAX)
}

/// The bytes of the structure.
pub fn tcp_info(connection: &Connection) -> Vec<u8> {
    let (shown, stats) = (connection.snapshot(), connection.stats());
    let mss = shown.mss.max(1);
    let packets = |bytes: u32| bytes.div_ceil(mss);
    let mut bytes = vec![state(connection.state()), ca_state(shown.phase), 0, 0, 0, 0, 0, 0];
    let words = [
        micros(shown.rto),
        0,
        mss,
        mss,
        packets(shown.flight),
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        u32::from(connection.config().mtu),
        0,
        shown.srtt.map_or(0, micros),
        micros(shown.rttvar),
        // Linux has one value for "none".
        if shown.ssthresh >= 0x7fff_ffff { 0x7fff_ffff } else { shown.ssthresh / mss },
        shown.cwnd / mss,
        mss,
        u32::from(connection.config().dup_ack_threshold),
        0,
        0,
        stats.retransmissions as u32,
    ];
    bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    bytes
}
