//! Deciding what was lost, and what to do about it.
//!
//! One machine for all: the scoreboard says what is lost, `pipe` how much is in the network, and lost
//! segments leave before new ones while `pipe` is below the congestion window (RFC 6675). NewReno has no
//! SACK to fill the scoreboard, so each duplicate acknowledgment counts as one segment that left the
//! network: the same as inflating the window (RFC 6582), without touching it.
//!
//! Deviation: with SACK the entry does not look at `recover`, and a segment lost a second time waits
//! for the timer.

mod eifel;
mod linux_1_1;
mod newreno;
mod sack;

pub(super) use linux_1_1::ResendList;

use super::config::{AfterTimeout, RtoRule};
use super::options::Repair;
use super::scoreboard::Acked;
use super::{Connection, Event};
use crate::Context;
use crate::cc::{Congestion, Phase};
use crate::seq::SeqNumber;
use crate::time::{Duration, Instant};
use eifel::Suspicion;

/// Where the repair of losses stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Repairing {
    phase: Phase,
    /// The repair ends when this is acknowledged.
    recover: SeqNumber,
    dup_acks: u32,
    /// One segment leaves whatever the window says.
    force: bool,
    /// The retransmission timer was restarted for a partial acknowledgment (RFC 6582, "impatient").
    partial_seen: bool,
    suspicion: Suspicion,
    /// Timeouts without progress in between.
    timeouts: u32,
    /// A SYN of ours timed out.
    pub syn_timed_out: bool,
    pub list: Option<ResendList>,
}

impl Repairing {
    pub fn new(iss: SeqNumber) -> Self {
        Repairing {
            phase: Phase::Open,
            recover: iss,
            dup_acks: 0,
            // The first SYN waits for no window.
            force: true,
            partial_seen: false,
            suspicion: Suspicion::Decided,
            timeouts: 0,
            syn_timed_out: false,
            list: None,
        }
    }
    pub fn phase(&self) -> Phase {
        self.phase
    }
    pub fn force_resend(&mut self) {
        self.force = true;
    }
    pub fn is_forced(&self) -> bool {
        self.force
    }
    /// The first sending of a record uses up what was forced for it.
    pub fn settle_first_send(&mut self) {
        self.force = false;
    }
    /// Whether this is not the first partial acknowledgment of the episode.
    pub fn partial_was_seen(&mut self) -> bool {
        std::mem::replace(&mut self.partial_seen, true)
    }
    pub fn count_duplicate(&mut self) {
        self.dup_acks = self.dup_acks.saturating_add(1);
    }
    /// Nothing is being repaired and nothing points to a loss.
    pub fn is_quiet(&self) -> bool {
        self.phase == Phase::Open && self.dup_acks == 0 && self.list.is_none()
    }
}

impl Connection {
    /// Bytes believed to be in the network.
    pub(super) fn pipe(&self) -> u32 {
        let pipe = self.board.pipe();
        match self.agreed.repair {
            Repair::NewReno => {
                pipe.saturating_sub(self.repairing.dup_acks.saturating_mul(self.agreed.mss))
            }
            Repair::Sack | Repair::TimeoutOnly => pipe,
        }
    }

    /// Takes the round-trip sample an acknowledgment gives, if it is a clean one (Karn).
    pub(super) fn sample_rtt(
        &mut self,
        now: Instant,
        acked: &Acked,
        echo: Option<u32>,
    ) -> Option<Duration> {
        let is_linux_1_1 = self.config.rto_rule == RtoRule::Linux11;
        if is_linux_1_1 && (self.repairing.list.is_some() || self.is_own_active_syn(acked)) {
            return None;
        }
        let sample = match acked.sampled_from {
            Some(sent_at) => self.rtt.sample_between(sent_at, now),
            None if acked.records > 0 => self.sample_by_echo(now, echo)?,
            None => return None,
        };
        self.stats.rtt_samples += 1;
        Some(sample)
    }

    pub(super) fn is_own_active_syn(&self, acked: &Acked) -> bool {
        acked.syn && self.state == super::State::SynSent
    }

    /// What was sent twice is told apart by the timestamp it brings back (RFC 7323, 4).
    fn sample_by_echo(&mut self, now: Instant, echo: Option<u32>) -> Option<Duration> {
        let rtt = self.echoed_rtt(now, echo)?;
        self.rtt.sample(rtt);
        Some(rtt)
    }

    /// The state of repair after `snd_una` has advanced and before the window grows.
    pub(super) fn recover_on_advance(&mut self, now: Instant, acked: &Acked, echo: Option<u32>) {
        self.repairing.timeouts = 0;
        if self.undo_if_spurious(now, echo) {
            return;
        }
        let complete = self.snd_una.ge(self.repairing.recover);
        match self.repairing.phase {
            Phase::Open => {
                self.repairing.dup_acks = 0;
                // Pulled along, or it would lie ahead once the sequence space has wrapped.
                if self.snd_una.gt(self.repairing.recover) {
                    self.repairing.recover = self.snd_una - 1;
                }
            }
            _ if complete => self.end_repair(now),
            Phase::Loss => self.repairing.dup_acks = 0,
            Phase::Recovery => match self.agreed.repair {
                Repair::NewReno => self.newreno_partial_ack(acked),
                Repair::Sack | Repair::TimeoutOnly => {}
            },
        }
    }

    fn end_repair(&mut self, now: Instant) {
        self.repairing.phase = Phase::Open;
        self.repairing.dup_acks = 0;
        self.repairing.force = false;
        self.cc.on_recovery_end(now);
    }

    /// Looks whether the acknowledgment just taken proves a loss.
    pub(super) fn detect_loss(&mut self, now: Instant) {
        let lost = match self.agreed.repair {
            Repair::TimeoutOnly => false,
            Repair::NewReno => self.newreno_finds_loss(),
            Repair::Sack => self.sack_finds_loss(),
        };
        if lost && self.repairing.phase == Phase::Open && !self.board.is_empty() {
            self.enter_recovery(now);
        }
    }

    fn enter_recovery(&mut self, now: Instant) {
        self.stats.fast_recoveries += 1;
        self.repairing.phase = Phase::Recovery;
        self.repairing.recover = self.snd_nxt;
        self.repairing.force = true;
        self.repairing.partial_seen = false;
        self.repairing.suspicion = Suspicion::Open;
        self.board.mark_front_lost();
        self.tell_loss(now);
        self.timers.retransmit = Some(now + self.rtt.rto());
    }

    /// The retransmission timer expired (RFC 6298, 5.4 to 5.6).
    pub(super) fn take_retransmit_timeout(&mut self, now: Instant, cx: &mut Context) {
        self.ecn.stop_waiting();
        let Some(front) = self.board.front().copied() else {
            self.timers.retransmit = None;
            return;
        };
        if self.wait_for_head(now, &front) {
            return;
        }
        self.repairing.timeouts += 1;
        self.stats.timeouts += 1;
        let tries = if front.syn { self.config.syn_retries } else { self.config.retries };
        if self.repairing.timeouts > u32::from(tries) {
            self.enter_closed(Event::TimedOut);
            self.release(cx);
            return;
        }
        self.rtt.back_off();
        self.timers.retransmit = Some(now + self.rtt.rto());
        cx.work.timer_arms += 1;
        if front.syn {
            self.repairing.syn_timed_out = true;
        } else {
            let sign = match self.repairing.timeouts {
                1 => Congestion::Timeout,
                _ => Congestion::TimeoutAgain,
            };
            self.cc.on_congestion(now, sign, self.board.flight());
            self.ecn.cut_by_loss(self.snd_nxt);
            self.repairing.phase = Phase::Loss;
        }
        self.repairing.recover = self.snd_nxt;
        self.repairing.dup_acks = 0;
        self.repairing.force = true;
        if self.repairing.timeouts == 1 {
            self.repairing.suspicion = Suspicion::Open;
        }
        match self.config.after_timeout {
            AfterTimeout::SlowStart => self.board.mark_all_lost(),
            AfterTimeout::ResendListByCwnd => self.start_resend_list(),
        }
    }

    /// Notes that a segment was sent again.
    pub(super) fn note_resend(&mut self, now: Instant) {
        self.repairing.force = false;
        self.stats.retransmissions += 1;
        self.suspect(now);
    }
}
