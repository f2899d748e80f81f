//! Linux 1.1: after a timeout what was outstanding becomes a list. The first packet is sent again; each
//! advancing acknowledgment sends the first `cwnd` packets of the list again, also those already sent
//! again, and new data waits until the whole list is acknowledged.

use crate::frame::Frames;
use crate::seq::SeqNumber;
use crate::tcp::Connection;
use crate::tcp::config::AfterTimeout;
use crate::tcp::scoreboard::Record;
use crate::tcp::timer::Due;
use crate::time::Instant;

/// What is to be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) struct ResendList {
    /// What was outstanding at the timeout ends here.
    end: SeqNumber,
    /// The next record to send, and how many from the head on may go.
    next: usize,
    budget: usize,
}

impl Connection {
    /// The window in packets.
    pub(in crate::tcp) fn cwnd_packets(&self) -> usize {
        (self.cc.cwnd() / self.agreed.mss).max(1) as usize
    }

    pub(super) fn start_resend_list(&mut self) {
        let end = self.repairing.list.map_or(self.snd_nxt, |list| list.end);
        self.repairing.list = Some(ResendList { end, next: 0, budget: 1 });
    }

    /// After an advancing acknowledgment and the growth it brings: the list is done, or its head is sent
    /// again by cwnd.
    pub(in crate::tcp) fn trim_resend_list(&mut self) {
        let budget = self.cwnd_packets();
        let una = self.snd_una;
        self.repairing.list = self
            .repairing
            .list
            .filter(|list| list.end.gt(una))
            .map(|list| ResendList { next: 0, budget, ..list });
    }

    /// The next record of the list that may go now. One that still waits in the local device is not
    /// sent twice but counts, and its time starts anew.
    pub(in crate::tcp) fn next_of_list(&mut self, now: Instant, frames: &Frames) -> Option<usize> {
        loop {
            let list = self.repairing.list.as_mut()?;
            let index = list.next;
            let may_go = index < list.budget
                && index < self.board.len()
                && self.board.record(index).seq.lt(list.end);
            if !may_go {
                return None;
            }
            list.next += 1;
            let last = self.board.record(index).packet;
            if !last.is_some_and(|packet| frames.is_waiting(packet)) {
                return Some(index);
            }
            self.board.touch(index, now);
        }
    }

    /// The timer runs from the last segment sent, but what it stands for is the head: if that left less
    /// than an RTO ago, it is waited for. Returns whether it is.
    pub(super) fn wait_for_head(&mut self, now: Instant, head: &Record) -> bool {
        if self.config.after_timeout != AfterTimeout::ResendListByCwnd {
            return false;
        }
        let due = head.sent_at + self.rtt.rto();
        if due <= now {
            return false;
        }
        self.timers.retransmit = Due::at(due);
        true
    }

    /// No duplicate is counted, but each lets the timer be looked at: a head older than the RTO is a
    /// timeout, and with nothing left to send the timer starts anew.
    pub(in crate::tcp) fn take_duplicate_ack_linux_1_1(&mut self, now: Instant) {
        let rto = self.rtt.rto();
        let Some(head) = self.board.front() else {
            return;
        };
        if head.sent_at + rto < now {
            self.timers.retransmit = Due::at(now);
        } else if self.unsent() == 0 {
            self.timers.retransmit = Due::at(now + rto);
        }
    }
}
