//! What the core did, counted. In the lab a CPU model turns these into busy time; live they are the metrics.

/// Why a frame was given up. Peer faults and full queues are counted here, never asserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// A queue had no room.
    QueueFull,
    /// The scheduler knew no member that could carry it.
    NoMember,
    /// A member went down with the frame on board.
    MemberDown,
    /// The wire lost it.
    WireLoss,
    /// The link was cut while it was on the wire.
    LinkDown,
    /// A checksum did not verify.
    Checksum,
    /// Not a valid packet.
    Malformed,
    /// For an address that is not ours.
    NotForUs,
    /// No connection or listener for it.
    NoConnection,
    /// Larger than the link's MTU.
    TooBig,
    /// A queue told its sender about congestion, and it could not be marked.
    Congestion,
    /// Shorter than its header says or needs.
    Truncated,
    /// A datagram for another bond, or from a stranger.
    Foreign,
    /// It has been received before.
    Duplicate,
    /// It collided too often on a cable that many share.
    Collisions,
    /// It came before the receiver was done with those before.
    Overrun,
    /// Its answer would not go back the way it came.
    ReversePath,
    /// It was to be sent over a device that only receives.
    NoTransmitter,
    /// It had made as many hops as it may.
    HopsExceeded,
    /// Nobody told which station has its address.
    Unresolved,
    /// Other fragments of its packet did not come in time.
    Unfinished,
}

impl DropReason {
    /// Every reason, in counter order.
    pub const ALL: [DropReason; 21] = [
        DropReason::QueueFull,
        DropReason::NoMember,
        DropReason::MemberDown,
        DropReason::WireLoss,
        DropReason::LinkDown,
        DropReason::Checksum,
        DropReason::Malformed,
        DropReason::NotForUs,
        DropReason::NoConnection,
        DropReason::TooBig,
        DropReason::Congestion,
        DropReason::Truncated,
        DropReason::Foreign,
        DropReason::Duplicate,
        DropReason::Collisions,
        DropReason::Overrun,
        DropReason::ReversePath,
        DropReason::NoTransmitter,
        DropReason::HopsExceeded,
        DropReason::Unresolved,
        DropReason::Unfinished,
    ];

    /// The metric label.
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::QueueFull => "queue_full",
            DropReason::NoMember => "no_member",
            DropReason::MemberDown => "member_down",
            DropReason::WireLoss => "wire_loss",
            DropReason::LinkDown => "link_down",
            DropReason::Checksum => "checksum",
            DropReason::Malformed => "malformed",
            DropReason::NotForUs => "not_for_us",
            DropReason::NoConnection => "no_connection",
            DropReason::TooBig => "too_big",
            DropReason::Congestion => "congestion",
            DropReason::Truncated => "truncated",
            DropReason::Foreign => "foreign",
            DropReason::Duplicate => "duplicate",
            DropReason::Collisions => "collisions",
            DropReason::Overrun => "overrun",
            DropReason::ReversePath => "reverse_path",
            DropReason::NoTransmitter => "no_transmitter",
            DropReason::HopsExceeded => "hops_exceeded",
            DropReason::Unresolved => "unresolved",
            DropReason::Unfinished => "unfinished",
        }
    }
}

/// Counters of work done, logical bytes (elided ones included).
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Work {
    /// Payload bytes moved between buffers.
    pub bytes_copied: u64,
    /// Bytes covered by a checksum.
    pub bytes_checksummed: u64,
    /// TCP segments built.
    pub segments_sent: u64,
    /// TCP segments accepted for processing.
    pub segments_received: u64,
    /// Received segments that header prediction handled.
    pub fast_path_hits: u64,
    /// Deadlines set or moved.
    pub timer_arms: u64,
    /// Frames handed to a transmitter.
    pub frames_sent: u64,
    /// Frames that reached a host.
    pub frames_received: u64,
    /// Frames that queues marked with "congestion experienced".
    pub frames_marked: u64,
    /// Frames given up, by reason (index = position in [`DropReason::ALL`]).
    pub drops: [u64; DropReason::ALL.len()],
}

impl Work {
    /// Counts a dropped frame.
    pub fn drop_frame(&mut self, reason: DropReason) {
        self.drops[reason as usize] += 1;
    }
    /// Frames dropped for one reason.
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.drops[reason as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_counter() {
        let mut work = Work::default();
        for (i, reason) in DropReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, i);
            work.drop_frame(reason);
        }
        assert_eq!(work.drops, [1; DropReason::ALL.len()]);
    }
}
