//! What a connection counted.

/// Counters of one connection over its life.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Segments built, retransmissions and pure ACKs included.
    pub segments_sent: u64,
    /// Segments taken in.
    pub segments_received: u64,
    /// Segments sent with payload.
    pub data_segments_sent: u64,
    /// Segments that carried neither payload nor SYN, FIN or RST.
    pub pure_acks_sent: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Times fast recovery was entered.
    pub fast_recoveries: u64,
    /// Congestion reactions taken back as spurious.
    pub undos: u64,
    /// Tail loss probes sent (RFC 8985, 7).
    pub tail_probes: u64,
    /// Losses at the end of a flight that a probe repaired.
    pub tail_losses: u64,
    /// Reports received of what arrived twice (RFC 2883).
    pub dsacks_received: u64,
    /// Windows cut because packets arrived marked (RFC 3168).
    pub mark_cuts: u64,
    /// Duplicate acknowledgments received.
    pub dup_acks: u64,
    /// Zero-window probes sent.
    pub probes: u64,
    /// Segments larger than the others sent to find the path's MTU (RFC 4821).
    pub mtu_probes: u64,
    /// Those of them that were lost.
    pub mtu_probes_lost: u64,
    /// Times packets became smaller: by repeated timeouts, or by ICMP.
    pub mtu_reductions: u64,
    /// Keepalive probes sent.
    pub keepalive_probes: u64,
    /// Challenge ACKs sent (RFC 5961).
    pub challenge_acks: u64,
    /// Segments dropped for an old timestamp (RFC 7323, 5).
    pub paws_drops: u64,
    /// Segments that arrived before their turn.
    pub out_of_order: u64,
    /// Payload bytes acknowledged by the peer.
    pub bytes_acked: u64,
    /// Payload bytes received in order.
    pub bytes_received: u64,
    /// Pure acknowledgments that header prediction handled.
    pub predicted_acks: u64,
    /// Data segments that header prediction handled.
    pub predicted_data: u64,
    /// Clean round-trip samples.
    pub rtt_samples: u64,
}
