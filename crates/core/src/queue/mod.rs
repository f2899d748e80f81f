//! Queues of frames with a discipline. An enum, not a trait: the set is closed and the call is hot.

pub mod classes;
pub mod codel;
pub mod drop_tail;
pub mod fq_codel;
pub mod red;
pub mod shared;
pub mod step_ecn;

use crate::Context;
use crate::frame::Frame;
use crate::time::{Duration, Instant};
use crate::units::BitRate;
use crate::wire::ip::{self, Marked};
use crate::wire::ipv4::Ecn;
use crate::work::DropReason;
pub use classes::{Class, Classes, DscpSet, Sharing};
pub use drop_tail::DropTail;
pub use fq_codel::{FqCodel, FqCodelConfig};
pub use red::{Red, RedConfig};
pub use shared::SharedBuffer;
pub use step_ecn::StepEcn;

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

impl Limit {
    /// The limit with a time turned into the bytes that pass within it at `rate`.
    pub fn at_rate(self, rate: BitRate) -> Limit {
        match self {
            Limit::Time(span) => Limit::Bytes(rate.bits_in(span) / 8),
            other => other,
        }
    }

    /// Whether one more frame of `len` bytes has room beside `packets` frames of `bytes` bytes. A limit
    /// in bytes never refuses the only frame; one in time, not resolved, refuses all.
    fn admits(self, packets: usize, bytes: u64, len: u32) -> bool {
        match self {
            Limit::Packets(n) => packets < n as usize,
            Limit::Bytes(n) => packets == 0 || bytes + u64::from(len) <= n,
            Limit::Time(_) => false,
        }
    }
}

/// A queue of frames. Every discipline has the same methods.
#[derive(Clone, Debug)]
pub enum Queue {
    /// First in, first out; what does not fit is refused.
    DropTail(DropTail),
    /// First in, first out; marks beyond a threshold.
    StepEcn(StepEcn),
    /// A queue per flow, served in turns, with a bound on the wait.
    FqCodel(FqCodel),
    /// First in, first out; signals early and at random.
    Red(Red),
    /// A queue per class of packets, each of its own discipline.
    Classes(Classes),
}

/// A frame that a queue did not take; it is the caller's again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The frame.
    pub frame: Frame,
    /// Why.
    pub reason: DropReason,
}

/// Marks a frame, and counts it unless it was marked before.
fn mark(cx: &mut Context, frame: Frame) -> Marked {
    let bytes = cx.frames.bytes_mut(frame);
    let was_marked = ip::dscp_ecn(bytes).is_some_and(|(_, ecn)| ecn == Ecn::Ce);
    let marked = ip::set_ce(bytes);
    cx.work.frames_marked += u64::from(marked == Marked::Marked && !was_marked);
    marked
}

impl Queue {
    /// Takes in a frame, marked where the discipline says so, or refuses it. FQ-CoDel refuses nothing:
    /// it gives up others for it, or the frame itself, and counts them.
    #[inline]
    pub fn push(&mut self, now: Instant, cx: &mut Context, frame: Frame) -> Result<(), Refused> {
        let len = cx.frames.len(frame) as u32;
        let refused = |(frame, reason)| Refused { frame, reason };
        match self {
            Queue::DropTail(q) => {
                q.push(frame, len).map_err(|frame| refused((frame, DropReason::QueueFull)))
            }
            Queue::StepEcn(q) => q.push(frame, len, |frame| mark(cx, *frame)).map_err(refused),
            Queue::FqCodel(q) => {
                let flow = ip::flow_hash(cx.frames.bytes(frame));
                q.push(now, frame, len, flow, |frame| cx.drop_frame(frame, DropReason::QueueFull));
                Ok(())
            }
            Queue::Red(q) => q.push(now, frame, len, |frame| mark(cx, *frame)).map_err(refused),
            Queue::Classes(q) => q.push(now, cx, frame),
        }
    }

    /// Takes the next frame to send and its length in bytes. CoDel marks or gives up frames on the way
    /// and counts those, so there may be none though some waited.
    #[inline]
    pub fn pop(&mut self, now: Instant, cx: &mut Context) -> Option<(Frame, u32)> {
        match self {
            Queue::DropTail(q) => q.pop(),
            Queue::StepEcn(q) => q.pop(),
            Queue::FqCodel(q) => q.pop(now, |frame| match mark(cx, frame) {
                Marked::Marked => Some(frame),
                Marked::NotCapable => {
                    cx.drop_frame(frame, DropReason::Congestion);
                    None
                }
            }),
            Queue::Red(q) => q.pop(now),
            Queue::Classes(q) => q.pop(now, cx),
        }
    }

    /// Frames waiting.
    pub fn len(&self) -> usize {
        match self {
            Queue::DropTail(q) => q.len(),
            Queue::StepEcn(q) => q.len(),
            Queue::FqCodel(q) => q.len(),
            Queue::Red(q) => q.len(),
            Queue::Classes(q) => q.len(),
        }
    }

    /// Bytes waiting.
    pub fn bytes(&self) -> u64 {
        match self {
            Queue::DropTail(q) => q.bytes(),
            Queue::StepEcn(q) => q.bytes(),
            Queue::FqCodel(q) => q.bytes(),
            Queue::Red(q) => q.bytes(),
            Queue::Classes(q) => q.bytes(),
        }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes a frame as it is, without judging it; those of one flow in their order.
    fn take_any(&mut self) -> Option<(Frame, u32)> {
        match self {
            Queue::DropTail(q) => q.pop(),
            Queue::StepEcn(q) => q.pop(),
            Queue::FqCodel(q) => q.take_any(),
            Queue::Red(q) => q.take_any(),
            Queue::Classes(q) => q.take_any(),
        }
    }

    /// Takes everything as it is, each flow in its order.
    pub fn drain(&mut self) -> impl Iterator<Item = (Frame, u32)> + '_ {
        std::iter::from_fn(move || self.take_any())
    }
}

#[cfg(test)]
mod tests;
