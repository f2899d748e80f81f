//! Queues of frames with a discipline. An enum, not a trait: the set is closed and the call is hot.

pub mod drop_tail;

use crate::time::Duration;

/// How much a queue may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// This many frames.
    Packets(u32),
    /// This many bytes.
    Bytes(u64),
    /// As many bytes as the link sends in this time.
    Time(Duration),
}
