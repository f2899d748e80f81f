//! The deadlines of a connection and what happens when they pass.

use super::config::AfterTimeout;
use super::options::Repair;
use super::scoreboard::Record;
use super::{Connection, Event};
use crate::Context;
use crate::cc::Phase;
use crate::time::{Duration, Instant, Reason};

/// All deadlines.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub(super) struct Timers {
    pub retransmit: Option<Instant>,
    /// A segment may be overdue then (RFC 8985, 6.2).
    pub reorder: Option<Instant>,
    /// A tail loss probe leaves then (RFC 8985, 7).
    pub probe: Option<Instant>,
    pub delayed_ack: Option<Instant>,
    pub repeat_ack: Option<Instant>,
    pub time_wait: Option<Instant>,
    pub keepalive: Option<Instant>,
    pub pacing: Option<Instant>,
    persist: Option<Instant>,
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
        self.persist = None;
        self.persist_backoff = 0;
    }
    pub fn persist_is_running(&self) -> bool {
        self.persist.is_some()
    }
    pub fn start_persist(&mut self, now: Instant, interval: Duration, max: Duration) {
        let interval = interval * (1u64 << self.persist_backoff.min(32));
        self.persist = Some(now + interval.min(max));
    }

    #[inline]
    fn earliest(&self) -> Option<Instant> {
        let at = |deadline: Option<Instant>| deadline.unwrap_or(Instant::FAR_FUTURE);
        let acks = at(self.delayed_ack).min(at(self.repeat_ack));
        let rest = at(self.persist).min(at(self.time_wait));
        let rest = rest.min(at(self.keepalive)).min(at(self.pacing));
        let losses = at(self.retransmit).min(at(self.reorder)).min(at(self.probe));
        let earliest = losses.min(acks).min(rest);
        (earliest != Instant::FAR_FUTURE).then_some(earliest)
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
            if let Some(at) = deadline
                && next.is_none_or(|(earliest, _)| at < earliest)
            {
                next = Some((at, reason));
            }
        }
        next
    }
}

fn take_if_due(deadline: &mut Option<Instant>, now: Instant) -> bool {
    let due = deadline.is_some_and(|at| at <= now);
    if due {
        *deadline = None;
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
            self.timers.retransmit = None;
            self.timers.probe = None;
            return;
        }
        let partial = phase == Phase::Recovery
            && self.repairing.phase() == Phase::Recovery
            && self.agreed.repair == Repair::NewReno;
        if partial && self.repairing.partial_was_seen() {
            return;
        }
        self.timers.retransmit = Some(self.rtt.deadline(now));
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
        if self.timers.retransmit.is_none() || every_send || head_again {
            self.timers.retransmit = Some(self.rtt.deadline(now));
            cx.work.timer_arms += 1;
        }
        if !again {
            self.start_probe_timer(now);
        }
    }
}
