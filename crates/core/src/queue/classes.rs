//! Classes by differentiated services codepoint (RFC 2474), each in a queue of its own discipline on one
//! link: the first always before the others, or in turns by bytes (deficit round robin, Shreedhar and
//! Varghese 1995).
//!
//! Deviation: a class may send while it has anything left of its turn, and what it sends too much is
//! taken off its next one. So nobody has to look at a frame before taking it.

use super::{Queue, Refused};
use crate::Context;
use crate::frame::Frame;
use crate::time::Instant;
use crate::wire::ip;

/// A set of codepoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct DscpSet(u64);

impl DscpSet {
    /// The set of these codepoints, each below 64.
    pub fn of(codepoints: &[u8]) -> Self {
        DscpSet(codepoints.iter().fold(0, |set, dscp| set | 1 << (dscp & 63)))
    }

    /// Whether it is in.
    pub const fn contains(self, dscp: u8) -> bool {
        self.0 >> (dscp & 63) & 1 == 1
    }
}

/// Who may send next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Sharing {
    /// A class sends when all before it are empty.
    Strict,
    /// In turns, each class as many bytes as its quantum says.
    Drr,
}

/// One class.
#[derive(Clone, Debug)]
pub struct Class {
    /// What belongs to it. The last class takes what no other lists, and what is no IP packet.
    pub dscps: DscpSet,
    /// Bytes per turn under [`Sharing::Drr`]; above zero.
    pub quantum: u32,
    /// Its queue.
    pub queue: Queue,
}

/// Queues by class.
#[derive(Clone, Debug)]
pub struct Classes {
    classes: Vec<Class>,
    /// What each class has left of its turn, in bytes.
    deficits: Vec<i64>,
    sharing: Sharing,
    /// Whose turn it is.
    turn: usize,
}

impl Classes {
    /// These classes; a packet belongs to the first that lists its codepoint.
    ///
    /// # Panics
    /// When there is no class, or one has no quantum.
    pub fn new(classes: Vec<Class>, sharing: Sharing) -> Self {
        assert!(!classes.is_empty(), "a packet must belong somewhere");
        assert!(classes.iter().all(|class| class.quantum > 0), "a class could never send");
        let deficits = vec![0; classes.len()];
        Classes { classes, deficits, sharing, turn: 0 }
    }

    /// The classes in their order.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// Takes in a frame where it belongs, or refuses it as the queue there does.
    pub fn push(&mut self, now: Instant, cx: &mut Context, frame: Frame) -> Result<(), Refused> {
        let dscp = ip::dscp_ecn(cx.frames.bytes(frame)).map(|(dscp, _)| dscp);
        let listed = |class: &Class| dscp.is_some_and(|dscp| class.dscps.contains(dscp));
        let last = self.classes.len() - 1;
        let index = self.classes.iter().position(listed).unwrap_or(last);
        self.classes[index].queue.push(now, cx, frame)
    }

    /// Takes the next frame to send and its length.
    pub fn pop(&mut self, now: Instant, cx: &mut Context) -> Option<(Frame, u32)> {
        match self.sharing {
            Sharing::Strict => self.classes.iter_mut().find_map(|class| class.queue.pop(now, cx)),
            Sharing::Drr => self.pop_in_turns(now, cx),
        }
    }

    fn pop_in_turns(&mut self, now: Instant, cx: &mut Context) -> Option<(Frame, u32)> {
        // Each round gives every waiting class a quantum, so a debt of one frame is paid off.
        while !self.is_empty() {
            let class = &mut self.classes[self.turn];
            let deficit = &mut self.deficits[self.turn];
            if *deficit > 0
                && let Some((frame, len)) = class.queue.pop(now, cx)
            {
                *deficit -= i64::from(len);
                return Some((frame, len));
            }
            // A class without anything to send saves nothing up.
            if class.queue.is_empty() {
                *deficit = (*deficit).min(0);
            }
            self.turn = (self.turn + 1) % self.classes.len();
            if !self.classes[self.turn].queue.is_empty() {
                self.deficits[self.turn] += i64::from(self.classes[self.turn].quantum);
            }
        }
        None
    }

    /// Frames waiting.
    pub fn len(&self) -> usize {
        self.classes.iter().map(|class| class.queue.len()).sum()
    }

    /// Bytes waiting.
    pub fn bytes(&self) -> u64 {
        self.classes.iter().map(|class| class.queue.bytes()).sum()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.classes.iter().all(|class| class.queue.is_empty())
    }

    /// Takes a frame of any class, without judging it; those of one class in their order.
    pub fn take_any(&mut self) -> Option<(Frame, u32)> {
        self.classes.iter_mut().find_map(|class| class.queue.take_any())
    }
}
