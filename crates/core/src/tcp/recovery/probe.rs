//! Tail loss probe (RFC 8985, 7): when the end of a flight is not acknowledged within two round trips,
//! one segment more draws out what would otherwise wait for the retransmission timer.

use super::{Before, Repairing};
use crate::cc::Phase;
use crate::seq::SeqNumber;
use crate::tcp::timer::Due;
use crate::tcp::{Connection, Segment, Stats};
use crate::time::{Duration, Instant};

/// What a single segment waits longer, because the receiver may hold its acknowledgment back.
const ACK_DELAY_MAX: Duration = Duration::from_millis(200);

/// What a probe was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    New,
    Again,
}

/// A probe on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sent {
    kind: Kind,
    /// `snd_nxt` when it had left.
    end: SeqNumber,
}

/// Where the probe of this flight stands.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(in crate::tcp) struct Probe {
    due: bool,
    sent: Option<Sent>,
}

impl Probe {
    pub fn is_idle(&self) -> bool {
        !self.due && self.sent.is_none()
    }
}

impl Repairing {
    /// New data has left up to `snd_nxt`: what was allowed beyond the window is used up.
    pub fn settle_new_send(&mut self, snd_nxt: SeqNumber, stats: &mut Stats) {
        self.beyond_window = self.beyond_window.saturating_sub(1);
        if self.probe.due {
            self.probe = Probe { due: false, sent: Some(Sent { kind: Kind::New, end: snd_nxt }) };
            stats.tail_probes += 1;
        }
    }
}

impl Connection {
    fn probe_may_be_needed(&self) -> bool {
        self.config.tlp
            && self.agreed.repair.uses_sack()
            && self.repairing.phase == Phase::Open
            && self.repairing.probe.is_idle()
            && self.may_send_data()
            && !self.board.is_empty()
            && !self.board.has_sacked()
    }

    /// After new data or an advancing acknowledgment: the probe is due after two round trips, and never
    /// after the retransmission timer (7.2).
    pub(in crate::tcp) fn start_probe_timer(&mut self, now: Instant) {
        self.timers.probe = Due::NEVER;
        if !self.probe_may_be_needed() {
            return;
        }
        let alone = self.board.len() == 1;
        let timeout = match self.rtt.srtt() {
            Some(srtt) => srtt * 2 + if alone { ACK_DELAY_MAX } else { Duration::ZERO },
            None => Duration::from_secs(1),
        };
        let at = now + timeout;
        self.timers.probe = Due::at(at).min(self.timers.retransmit);
    }

    /// The probe timer expired: new data if there is any, whatever the congestion window says, or else
    /// the last segment once more (7.3).
    pub(in crate::tcp) fn take_probe_timeout(&mut self, now: Instant) {
        if self.probe_may_be_needed() {
            self.repairing.probe.due = true;
            self.repairing.beyond_window = 1;
            self.timers.retransmit = Due::at(self.rtt.deadline(now));
        }
    }

    /// The segment to send again as a probe, when one is due and there is nothing new.
    pub(in crate::tcp) fn next_probe(&mut self) -> Option<usize> {
        if !self.repairing.probe.due {
            return None;
        }
        self.repairing.beyond_window = 0;
        self.repairing.probe = Probe::default();
        self.board.unsacked_tail()?;
        let sent = Sent { kind: Kind::Again, end: self.snd_nxt };
        self.repairing.probe.sent = Some(sent);
        self.stats.tail_probes += 1;
        Some(self.board.len() - 1)
    }

    /// Something was acknowledged, so a probe that has not left yet is not needed.
    pub(super) fn cancel_due_probe(&mut self) {
        if std::mem::take(&mut self.repairing.probe.due) {
            self.repairing.beyond_window = 0;
        }
    }

    /// What an acknowledgment says of the probe (7.4). Where the last segment was sent again and only
    /// one of the two arrived, a loss was repaired that nobody else notices: the window answers it once.
    pub(super) fn take_probe_answer(&mut self, now: Instant, before: &Before, segment: &Segment) {
        let ack = segment.repr.ack;
        let Some(sent) = self.repairing.probe.sent.filter(|sent| ack.ge(sent.end)) else {
            return;
        };
        let is_duplicate = ack == before.snd_una
            && segment.sequence_len() == 0
            && segment.repr.options.sack.is_empty();
        let arrived_twice =
            before.told_twice.is_some_and(|block| block.1 == sent.end) || is_duplicate;
        if sent.kind == Kind::New || arrived_twice {
            self.repairing.probe.sent = None;
        } else if ack.gt(sent.end) {
            self.repairing.probe.sent = None;
            if self.repairing.phase == Phase::Open {
                self.stats.tail_losses += 1;
                self.repairing.episode = None;
                self.tell_loss(now);
                self.cc.on_recovery_end(now);
            }
        }
    }
}
