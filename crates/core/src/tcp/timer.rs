//! The deadlines of a connection and what happens when they pass.

use super::config::AfterTimeout;
use super::options::Repair;
use super::scoreboard::Record;
use super::{Connection, Event};
use crate::Context;
use crate::cc::Phase;
use crate::time::{Duration, Instant, Reason};

/// When something is due. What never is, is in the far future, so that the earliest of many is soon found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Due(Instant);

impl Due {
    pub const NEVER: Due = Due(Instant::FAR_FUTURE);

    pub const fn at(at: Instant) -> Due {
        Due(at)
    }

    pub fn is_never(self) -> bool {
        self == Due::NEVER
    }

    /// When, if ever.
    #[inline]
    fn when(self) -> Option<Instant> {
        (!self.is_never()).then_some(self.0)
    }
}

impl Default for Due {
    fn default() -> Due {
        Due::NEVER
    }
}

impl From<Option<Instant>> for Due {
    fn from(at: Option<Instant>) -> Due {
        at.map_or(Due::NEVER, Due)
    }
}

/// All deadlines.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub(super) struct Timers {
    pub retransmit: Due,
    /// A segment may be overdue then (RFC 8985, 6.2).
    pub reorder: Due,
    /// A tail loss probe leaves then (RFC 8985, 7).
    pub probe: Due,
    pub delayed_ack: Due,
    pub repeat_ack: Due,
    pub time_wait: Due,
    pub keepalive: Due,
    pub pacing: Due,
    persist: Due,
    /// Times the persist interval is doubled.
    persist_backoff: u32,
    /// Probes since the peer was last heard.
    pub probes_unanswered: u32,
}

impl Timers {
    pub fn clear(&mut self) {
        *self = Timers::default();
    }
    pub fn stop_persist(&mut self) {
        self.persist = Due::NEVER;
        self.persist_backoff = 0;
    }
    pub fn persist_is_running(&self) -> bool {
        !self.persist.is_never()
    }
    pub fn start_persist(&mut self, now: Instant, interval: Duration, max: Duration) {
        let interval = interval * (1u64 << self.persist_backoff.min(32));
        self.persist = Due::at(now + interval.min(max));
    }

    #[inline]
    fn earliest(&self) -> Option<Instant> {
        let acks = self.delayed_ack.min(self.repeat_ack);
        let rest = self.persist.min(self.time_wait).min(self.keepalive).min(self.pacing);
        let losses = self.retransmit.min(self.reorder).min(self.probe);
        losses.min(acks).min(rest).when()
    }

    fn next(&self) -> Option<(Instant, Reason)> {
        let mut next: Option<(Instant, Reason)> = None;
        for (deadline, reason) in [
            (self.reorder, Reason::Reorder),
            (self.probe, Reason::TailProbe),
            (self.retransmit, Reason::Retransmit),
            (self.delayed_ack, Reason::DelayedAck),
            (self.repeat_ack, Reason::DelayedAck),
            (self.persist, Reason::Persist),
            (self.time_wait, Reason::TimeWait),
            (self.keepalive, Reason::Keepalive),
            (self.pacing, Reason::Pacing),
        ] {
            if let Some(at) = deadline.when()
                && next.is_none_or(|(earliest, _)| at < earliest)
            {
                next = Some((at, reason));
            }
        }
        next
    }
}

fn take_if_due(deadline: &mut Due, now: Instant) -> bool {
    let due = deadline.when().is_some_and(|at| at <= now);
    if due {
        *deadline = Due::NEVER;
    }
    due
}

impl Connection {
    /// The next deadline and why it was set. To be asked after every call that may have moved it.
    pub fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        self.timers.next()
    }

    /// The next deadline, without its reason.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.timers.earliest()
    }

    /// Deadlines up to `now` have passed.
    pub fn handle_timeout(&mut self, now: Instant, cx: &mut Context) {
        if take_if_due(&mut self.timers.delayed_ack, now) {
            self.acking.due = true;
        }
        if take_if_due(&mut self.timers.repeat_ack, now) {
            self.acking.due = true;
        }
        if take_if_due(&mut self.timers.time_wait, now) {
            self.leave_time_wait();
            self.release(cx);
        }
        if take_if_due(&mut self.timers.reorder, now) {
            self.take_reorder_timeout(now);
        }
        if take_if_due(&mut self.timers.probe, now) {
            self.take_probe_timeout(now);
        }
        if take_if_due(&mut self.timers.retransmit, now) {
            self.take_retransmit_timeout(now, cx);
            self.suspect_black_hole(now);
        }
        if take_if_due(&mut self.timers.persist, now) {
            self.take_persist_timeout(now, cx);
        }
        if take_if_due(&mut self.timers.keepalive, now) {
            self.take_keepalive_timeout(now, cx);
        }
        // What was paced out may leave with the next poll.
        take_if_due(&mut self.timers.pacing, now);
    }

    fn take_persist_timeout(&mut self, now: Instant, cx: &mut Context) {
        self.timers.probes_unanswered += 1;
        if self.timers.probes_unanswered > u32::from(self.config.retries) {
            self.enter_closed(Event::TimedOut);
            self.release(cx);
            return;
        }
        self.timers.persist_backoff += 1;
        self.timers.start_persist(now, self.rtt.rto_base(), self.config.rto_max);
        self.probe_due = true;
    }

    /// After an acknowledgment advanced: stop when nothing is in flight, start anew otherwise
    /// (RFC 6298, 5.2 and 5.3; RFC 6582 only for the first partial acknowledgment).
    pub(super) fn restart_retransmit_timer(
        &mut self,
        now: Instant,
        cx: &mut Context,
        phase: Phase,
    ) {
        if self.board.is_empty() {
            self.timers.retransmit = Due::NEVER;
            self.timers.probe = Due::NEVER;
            return;
        }
        let partial = phase == Phase::Recovery
            && self.repairing.phase() == Phase::Recovery
            && self.agreed.repair == Repair::NewReno;
        if partial && self.repairing.partial_was_seen() {
            return;
        }
        self.timers.retransmit = Due::at(self.rtt.deadline(now));
        cx.work.timer_arms += 1;
        self.start_probe_timer(now);
    }

    /// After a segment that takes sequence numbers was sent (RFC 6298, 5.1). Where what was sent again
    /// can be found lost, the timer waits for the last sending of the first segment.
    #[inline(always)]
    pub(super) fn start_retransmit_timer(
        &mut self,
        now: Instant,
        cx: &mut Context,
        record: &Record,
    ) {
        let again = record.transmissions > 0;
        let head_again = again && self.agreed.repair == Repair::Rack && record.seq == self.snd_una;
        let every_send = self.config.after_timeout == AfterTimeout::ResendListByCwnd;
        if self.timers.retransmit.is_never() || every_send || head_again {
            self.timers.retransmit = Due::at(self.rtt.deadline(now));
            cx.work.timer_arms += 1;
        }
        if !again {
            self.start_probe_timer(now);
        }
    }
}
