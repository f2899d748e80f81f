//! Deciding what was lost, and what to do about it.
//!
//! One machine for all: the scoreboard says what is lost, `pipe` how much is in the network, and lost
//! segments leave before new ones while `pipe` is below the congestion window (RFC 6675), which during
//! fast recovery, and after marks, is that of PRR. NewReno has no SACK to fill the scoreboard, so each duplicate
//! acknowledgment counts as one segment that left the network: the same as inflating the window
//! (RFC 6582), without touching it.
//!
//! Deviation: with SACK the entry does not look at `recover`, and without RACK a segment lost a second
//! time waits for the timer.

mod dsack;
mod eifel;
mod frto;
mod linux_1_1;
mod newreno;
mod probe;
mod prr;
mod rack;
mod reno;
mod sack;

pub(super) use linux_1_1::ResendList;

use super::config::{AfterTimeout, RtoRule};
use super::options::Repair;
use super::scoreboard::Acked;
use super::timer::Due;
use super::{Connection, Event, Segment};
use crate::Context;
use crate::cc::{Congestion, Phase};
use crate::seq::SeqNumber;
use crate::time::{Duration, Instant};
use dsack::Episode;
use eifel::Suspicion;
use frto::Frto;
use probe::Probe;
use prr::{Progress, Prr};
use rack::Rack;

/// New segments on the first duplicates, beyond the congestion window (RFC 3042).
const LIMITED_TRANSMIT: u32 = 2;

/// What held before an acknowledgment was taken, and what its SACK option says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub snd_una: SeqNumber,
    /// Sequence numbers not known to have arrived.
    outstanding: u32,
    /// Sequence numbers this one SACKs.
    pub newly_sacked: u32,
    /// What it reports to have arrived twice.
    told_twice: Option<(SeqNumber, SeqNumber)>,
}

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
    /// The end of the flight was sent again in this recovery (RFC 6675, rule 4 of NextSeg).
    rescued: bool,
    /// New segments that may leave whatever the congestion window says.
    beyond_window: u8,
    suspicion: Suspicion,
    rack: Rack,
    probe: Probe,
    prr: Option<Prr>,
    frto: Frto,
    episode: Option<Episode>,
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
            rescued: false,
            beyond_window: 0,
            suspicion: Suspicion::Decided,
            rack: Rack::new(),
            probe: Probe::default(),
            prr: None,
            frto: Frto::Off,
            episode: None,
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
        self.phase == Phase::Open
            && self.dup_acks == 0
            && self.list.is_none()
            && self.prr.is_none()
            && self.probe.is_idle()
    }
    /// Whether new data may leave whatever the congestion window says.
    pub fn is_beyond_window(&self) -> bool {
        self.beyond_window > 0
    }
    /// Whether what is lost waits for the answer to new data.
    pub fn holds_resends(&self) -> bool {
        self.frto == Frto::SentNew
    }
    /// `bytes` left.
    pub fn note_sent(&mut self, bytes: u32) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent(bytes);
        }
    }
}

impl Connection {
    /// Bytes believed to be in the network.
    pub(super) fn pipe(&self) -> u32 {
        let pipe = self.board.pipe();
        let limit = match (self.repairing.phase, self.config.limited_transmit) {
            (Phase::Open, true) => LIMITED_TRANSMIT,
            (Phase::Open, false) => 0,
            (Phase::Recovery | Phase::Loss, _) => u32::MAX,
        };
        match self.agreed.repair {
            Repair::NewReno | Repair::Reno => {
                let left = self.repairing.dup_acks.min(limit);
                pipe.saturating_sub(left.saturating_mul(self.agreed.mss))
            }
            Repair::Sack | Repair::Rack if limit == 0 => pipe + self.board.sacked(),
            Repair::Sack | Repair::Rack | Repair::TimeoutOnly => pipe,
        }
    }

    /// What `pipe` is compared with: the congestion window, while it is reduced on its way to ssthresh.
    pub(super) fn window(&self) -> u32 {
        self.repairing.prr.as_ref().map_or(self.cc.cwnd(), Prr::window)
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
        self.cancel_due_probe();
        self.repairing.rack.on_advance(self.snd_una);
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
                let una = self.snd_una;
                self.repairing.episode = self.repairing.episode.filter(|e| !e.is_past(una));
            }
            _ if complete => self.end_repair(now),
            Phase::Loss => self.repairing.dup_acks = 0,
            Phase::Recovery => match self.agreed.repair {
                Repair::NewReno => self.newreno_partial_ack(acked),
                Repair::Reno => self.end_repair(now),
                Repair::Sack | Repair::Rack => self.repairing.partial_seen = true,
                Repair::TimeoutOnly => {}
            },
        }
    }

    fn end_repair(&mut self, now: Instant) {
        self.leave_repair();
        self.repairing.rack.on_recovery_end();
        if let Some(episode) = &mut self.repairing.episode {
            episode.on_end(self.snd_nxt);
        }
        self.cc.on_recovery_end(now);
    }

    fn leave_repair(&mut self) {
        self.repairing.phase = Phase::Open;
        self.repairing.dup_acks = 0;
        self.repairing.force = false;
        self.repairing.prr = None;
        self.stop_frto();
    }

    /// All that was sent again had arrived: the reaction to the loss is taken back.
    fn undo(&mut self, now: Instant) {
        self.stats.undos += 1;
        if self.repairing.phase == Phase::Recovery {
            self.repairing.rack.on_undo();
        }
        self.board.unmark_lost();
        self.leave_repair();
        self.repairing.episode = None;
        self.cc.on_undo(now);
        self.ecn.uncut();
        self.rtt.forget_backoff();
    }

    /// What was lost was one probe of the path's MTU: the reaction is taken back, the loss stays.
    pub(super) fn take_back_reaction(&mut self, now: Instant) {
        self.leave_repair();
        self.repairing.episode = None;
        self.cc.on_undo(now);
        self.ecn.uncut();
    }

    /// What is to be compared with after a step.
    fn before_ack(&self) -> Before {
        Before {
            snd_una: self.snd_una,
            outstanding: self.board.outstanding(),
            newly_sacked: 0,
            told_twice: None,
        }
    }

    /// Before an acknowledgment is taken: what its SACK option says goes to the scoreboard.
    pub(super) fn take_sacks(&mut self, segment: &Segment) -> Before {
        let mut before = self.before_ack();
        let (ack, sack) = (segment.repr.ack, &segment.repr.options.sack);
        if self.agreed.repair.uses_sack() && !sack.is_empty() {
            before.told_twice = dsack::duplicate_in(sack, ack).filter(|_| self.config.dsack);
            before.newly_sacked = self.board.apply_sack(sack, ack, self.snd_nxt);
        }
        before
    }

    /// After an acknowledgment was taken: what it proves of what was sent.
    pub(super) fn judge_ack(&mut self, now: Instant, before: &Before, segment: &Segment) {
        let echo = segment.repr.options.timestamps.map(|stamps| stamps.echo);
        let told = self.learn_delivered(now, echo);
        self.take_probe_answer(now, before, segment);
        if let Some(block) = before.told_twice {
            self.take_duplicate(now, block);
        }
        self.take_frto_answer(now, before, &told);
        self.repair_losses(now, before);
        self.board.settle_reach();
    }

    /// Looks what is lost now, enters fast recovery for it, and says what may leave until the next
    /// acknowledgment.
    fn repair_losses(&mut self, now: Instant, before: &Before) {
        let found = match self.agreed.repair {
            Repair::TimeoutOnly => false,
            Repair::Reno => self.reno_finds_loss(),
            Repair::NewReno => self.newreno_finds_loss(),
            Repair::Sack => self.sack_finds_loss(),
            Repair::Rack => self.rack_finds_loss(now),
        };
        if found && self.repairing.phase == Phase::Open && !self.board.is_empty() {
            self.enter_recovery(now, before);
        }
        let advanced = self.snd_una.gt(before.snd_una);
        let progress = if advanced && !found { Progress::Good } else { Progress::Doubtful };
        self.step_reduction(before, progress);
    }

    fn enter_recovery(&mut self, now: Instant, before: &Before) {
        self.stats.fast_recoveries += 1;
        self.repairing.phase = Phase::Recovery;
        self.repairing.recover = self.snd_nxt;
        self.repairing.force = true;
        self.repairing.partial_seen = false;
        self.repairing.rescued = false;
        self.repairing.suspicion = Suspicion::Open;
        self.repairing.episode = Some(Episode::new(self.snd_una));
        self.repairing.probe = Probe::default();
        self.repairing.beyond_window = 0;
        if self.agreed.repair != Repair::Rack {
            self.board.mark_front_lost();
        }
        self.tell_loss(now);
        self.start_reduction(before);
        self.timers.probe = Due::NEVER;
        self.timers.retransmit = Due::at(self.rtt.deadline(now));
    }

    /// The retransmission timer expired (RFC 6298, 5.4 to 5.6).
    pub(super) fn take_retransmit_timeout(&mut self, now: Instant, cx: &mut Context) {
        self.ecn.stop_waiting();
        let Some(front) = self.board.front().copied() else {
            self.timers.retransmit = Due::NEVER;
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
        self.timers.retransmit = Due::at(self.rtt.deadline(now));
        self.timers.probe = Due::NEVER;
        cx.work.timer_arms += 1;
        self.repairing.probe = Probe::default();
        self.repairing.beyond_window = 0;
        if front.syn {
            self.repairing.syn_timed_out = true;
        } else {
            self.start_frto();
            let sign = match self.repairing.timeouts {
                1 => Congestion::Timeout,
                _ => Congestion::TimeoutAgain,
            };
            self.cc.on_congestion(now, sign, self.board.flight());
            self.ecn.cut_by_loss(self.snd_nxt);
            self.repairing.phase = Phase::Loss;
        }
        self.repairing.prr = None;
        self.repairing.recover = self.snd_nxt;
        self.repairing.dup_acks = 0;
        self.repairing.force = true;
        if self.repairing.timeouts == 1 {
            self.repairing.suspicion = Suspicion::Open;
            self.repairing.episode = Some(Episode::new(self.snd_una));
        }
        match (self.config.after_timeout, self.agreed.repair) {
            (AfterTimeout::ResendListByCwnd, _) => self.start_resend_list(),
            (AfterTimeout::SlowStart, Repair::Rack) => self.rack_mark_timeout(now),
            (AfterTimeout::SlowStart, _) => self.board.mark_all_lost(),
        }
    }

    /// Notes that a segment was sent again.
    pub(super) fn note_resend(&mut self, now: Instant) {
        self.repairing.force = false;
        self.stats.retransmissions += 1;
        if self.repairing.phase != Phase::Open
            && let Some(episode) = &mut self.repairing.episode
        {
            episode.on_resend();
        }
        self.suspect(now);
    }
}
