//! A switch whose ports share one memory, each port limited to a share of what is free (dynamic
//! thresholds, Choudhury and Hahne 1998): a port that alone is busy gets much, many busy ones leave each
//! other room, and some memory always stays free for a port that wakes up.

use super::{Queue, Refused};
use crate::Context;
use crate::frame::Frame;
use crate::time::Instant;
use crate::work::DropReason;

#[cfg(test)]
mod tests;

/// How much of the free memory one port may fill: a fraction above zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Alpha {
    numerator: u32,
    denominator: u32,
}

impl Alpha {
    /// The fraction; none when either is zero.
    pub const fn new(numerator: u32, denominator: u32) -> Option<Self> {
        match (numerator, denominator) {
            (0, _) | (_, 0) => None,
            _ => Some(Alpha { numerator, denominator }),
        }
    }

    fn of(self, bytes: u64) -> u64 {
        let share = u128::from(bytes) * u128::from(self.numerator) / u128::from(self.denominator);
        u64::try_from(share).unwrap_or(u64::MAX)
    }
}

/// The output queues of a switch and the memory they share.
#[derive(Clone, Debug)]
pub struct SharedBuffer {
    capacity: u64,
    alpha: Alpha,
    ports: Vec<Queue>,
    /// Bytes waiting at all ports.
    bytes: u64,
}

impl SharedBuffer {
    /// Ports with these empty queues over `capacity` bytes of memory. The limits of the queues hold too.
    pub fn new(capacity: u64, alpha: Alpha, ports: Vec<Queue>) -> Self {
        SharedBuffer { capacity, alpha, ports, bytes: 0 }
    }

    /// What a port may hold now, in bytes.
    pub fn threshold(&self) -> u64 {
        self.alpha.of(self.capacity - self.bytes)
    }

    /// Bytes waiting at all ports.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The queue of a port; none when there is no such port.
    pub fn port(&self, port: usize) -> Option<&Queue> {
        self.ports.get(port)
    }

    /// Takes in a frame for a port, or refuses it: for want of memory, or as the port's queue does. For a
    /// port that is not there it has no room.
    pub fn push(
        &mut self,
        now: Instant,
        cx: &mut Context,
        port: usize,
        frame: Frame,
    ) -> Result<(), Refused> {
        let threshold = self.threshold();
        let fits = cx.frames.len(frame) as u64 <= self.capacity - self.bytes;
        let full = Refused { frame, reason: DropReason::QueueFull };
        let queue = self.ports.get_mut(port).ok_or(full)?;
        let before = queue.bytes();
        if !fits || before >= threshold {
            return Err(full);
        }
        let pushed = queue.push(now, cx, frame);
        self.bytes = self.bytes - before + queue.bytes();
        pushed
    }

    /// Takes the next frame a port sends and its length.
    pub fn pop(&mut self, now: Instant, cx: &mut Context, port: usize) -> Option<(Frame, u32)> {
        let queue = self.ports.get_mut(port)?;
        let before = queue.bytes();
        let popped = queue.pop(now, cx);
        self.bytes = self.bytes - before + queue.bytes();
        popped
    }
}
