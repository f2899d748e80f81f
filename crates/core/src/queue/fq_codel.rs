//! FlowQueue-CoDel (RFC 8290): a queue per flow, served in turns by bytes, each with a CoDel of its own
//! (RFC 8289). A flow that starts or sends little goes first; a full memory is relieved at the fattest.
//!
//! Deviations: flows are told apart by the caller's hash, without a perturbation of our own; the limit
//! is in packets or bytes, whichever the caller says.

use super::Limit;
use super::codel::{Codel, CodelConfig, Verdict};
use crate::frame::Frame;
use crate::time::Instant;
use std::collections::VecDeque;

#[cfg(test)]
mod tests;

/// How a flow queue is set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FqCodelConfig {
    /// What all queues together may hold.
    pub limit: Limit,
    /// How many queues flows are hashed to.
    pub queues: u16,
    /// Bytes a queue may send per turn: the MTU, so that a turn is at least one packet.
    pub quantum: u32,
    /// When a queue's wait is too long.
    pub codel: CodelConfig,
}

impl FqCodelConfig {
    /// 1024 queues, a quantum of one MTU, 5 ms of 100 ms (RFC 8290, 5.2), 4 MiB of memory.
    pub const fn new(mtu: u16) -> Self {
        FqCodelConfig {
            limit: Limit::Bytes(4 << 20),
            queues: 1024,
            quantum: mtu as u32,
            codel: CodelConfig::new(mtu as u32),
        }
    }
}

#[derive(Clone, Debug)]
struct Entry<T> {
    item: T,
    len: u32,
    since: Instant,
}

/// Which of the two lists a queue is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    None,
    New,
    Old,
}

#[derive(Clone, Debug)]
struct FlowQueue<T> {
    entries: VecDeque<Entry<T>>,
    /// Bytes it may still send in its turn.
    deficit: i64,
    turn: Turn,
    codel: Codel,
}

/// Queues of frames by flow, or of `T` where more than the frame has to wait.
#[derive(Clone, Debug)]
pub struct FqCodel<T = Frame> {
    config: FqCodelConfig,
    queues: Vec<FlowQueue<T>>,
    /// Bytes in each queue, apart from them so that the fattest is found quickly.
    backlogs: Vec<u64>,
    new: VecDeque<u16>,
    old: VecDeque<u16>,
    len: usize,
    bytes: u64,
}

impl<T> FqCodel<T> {
    /// Empty queues.
    ///
    /// # Panics
    /// When there are no queues, the quantum is zero, or the limit is a time: resolve that first with
    /// [`Limit::at_rate`].
    pub fn new(config: FqCodelConfig) -> Self {
        assert!(config.queues > 0 && config.quantum > 0, "no queue can ever send");
        assert!(!matches!(config.limit, Limit::Time(_)), "a queue limit in time needs a rate");
        let count = usize::from(config.queues);
        let empty = || FlowQueue {
            entries: VecDeque::new(),
            deficit: 0,
            turn: Turn::None,
            codel: Codel::default(),
        };
        FqCodel {
            config,
            queues: std::iter::repeat_with(empty).take(count).collect(),
            backlogs: vec![0; count],
            new: VecDeque::with_capacity(count),
            old: VecDeque::with_capacity(count),
            len: 0,
            bytes: 0,
        }
    }

    /// How it was set up.
    pub const fn config(&self) -> &FqCodelConfig {
        &self.config
    }

    /// Judges by other times from now on.
    pub fn set_codel(&mut self, codel: CodelConfig) {
        self.config.codel = codel;
    }

    /// Takes in an item of `len` bytes of the flow with this hash. What has to go for it, perhaps the
    /// item itself, is given to `overflow`.
    pub fn push(
        &mut self,
        now: Instant,
        item: T,
        len: u32,
        flow: u32,
        mut overflow: impl FnMut(T),
    ) {
        while self.len > 0 && !self.config.limit.admits(self.len, self.bytes, len) {
            let fattest = self.fattest(index_of(flow, self.config.queues), len);
            match self.take(fattest) {
                Some(entry) => overflow(entry.item),
                // The arriving item alone makes its queue the fattest.
                None => return overflow(item),
            }
        }
        let index = index_of(flow, self.config.queues);
        self.queues[usize::from(index)].entries.push_back(Entry { item, len, since: now });
        self.backlogs[usize::from(index)] += u64::from(len);
        self.len += 1;
        self.bytes += u64::from(len);
        let queue = &mut self.queues[usize::from(index)];
        if queue.turn == Turn::None {
            queue.turn = Turn::New;
            queue.deficit = i64::from(self.config.quantum);
            self.new.push_back(index);
        }
    }

    /// Takes the next item to send and its length. `signal` gets each item that shall tell its sender
    /// about congestion: it gives it back marked, or keeps it, which drops it.
    pub fn pop(
        &mut self,
        now: Instant,
        mut signal: impl FnMut(T) -> Option<T>,
    ) -> Option<(T, u32)> {
        loop {
            let index = *self.new.front().or(self.old.front())?;
            let queue = &mut self.queues[usize::from(index)];
            if queue.deficit <= 0 {
                queue.deficit += i64::from(self.config.quantum);
                self.go_to_old(index);
            } else if let Some((item, len)) = self.pop_from(index, now, &mut signal) {
                self.queues[usize::from(index)].deficit -= i64::from(len);
                return Some((item, len));
            } else if self.queues[usize::from(index)].turn == Turn::New {
                // Not forgotten at once, or a flow that comes and goes would always be first.
                self.go_to_old(index);
            } else {
                self.old.pop_front();
                self.queues[usize::from(index)].turn = Turn::None;
            }
        }
    }

    /// Items waiting.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Bytes waiting.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether nothing waits.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Every item and its length, flow by flow.
    pub fn iter(&self) -> impl Iterator<Item = (T, u32)>
    where
        T: Copy,
    {
        let entries = self.queues.iter().flat_map(|queue| &queue.entries);
        entries.map(|entry| (entry.item, entry.len))
    }

    /// Takes an item of any flow, without judging it; those of one flow in their order.
    pub fn take_any(&mut self) -> Option<(T, u32)> {
        let index = self.queues.iter().position(|queue| !queue.entries.is_empty())?;
        self.take(index as u16).map(|entry| (entry.item, entry.len))
    }

    /// Takes from one queue what CoDel lets pass.
    fn pop_from(
        &mut self,
        index: u16,
        now: Instant,
        signal: &mut impl FnMut(T) -> Option<T>,
    ) -> Option<(T, u32)> {
        while let Some(Entry { item, len, since }) = self.take(index) {
            let behind = self.backlogs[usize::from(index)];
            let codel = &mut self.queues[usize::from(index)].codel;
            let item = match codel.judge(now, now - since, behind, &self.config.codel) {
                Verdict::Pass => Some(item),
                Verdict::Signal => signal(item),
            };
            if let Some(item) = item {
                return Some((item, len));
            }
        }
        self.queues[usize::from(index)].codel.on_empty();
        None
    }

    fn take(&mut self, index: u16) -> Option<Entry<T>> {
        let entry = self.queues[usize::from(index)].entries.pop_front()?;
        self.backlogs[usize::from(index)] -= u64::from(entry.len);
        self.len -= 1;
        self.bytes -= u64::from(entry.len);
        Some(entry)
    }

    /// The queue with the most bytes once `arriving` has got `len` more; the first of equal ones.
    fn fattest(&self, arriving: u16, len: u32) -> u16 {
        let mut fattest = arriving;
        let mut most = self.backlogs[usize::from(arriving)] + u64::from(len);
        for (index, &backlog) in self.backlogs.iter().enumerate() {
            if backlog > most {
                (fattest, most) = (index as u16, backlog);
            }
        }
        fattest
    }

    /// Moves the queue whose turn it is to the end of the old ones.
    fn go_to_old(&mut self, index: u16) {
        let queue = &mut self.queues[usize::from(index)];
        match queue.turn {
            Turn::New => self.new.pop_front(),
            Turn::Old | Turn::None => self.old.pop_front(),
        };
        queue.turn = Turn::Old;
        self.old.push_back(index);
    }
}

const fn index_of(flow: u32, queues: u16) -> u16 {
    (flow % queues as u32) as u16
}
