//! Segments in: the steps of RFC 9293, 3.10.7.4 in their order, with the checks of RFC 5961 and the
//! timestamps of RFC 7323. Header prediction (`predict`) takes the common ones before they come here.

use super::config::{AfterTimeout, WakeWriter};
use super::options::Repair;
use super::reassembly::Piece;
use super::timer::Due;
use super::{Connection, Event, Fin, Segment, State};
use crate::Context;
use crate::cc::AckSample;
use crate::frame::Frame;
use crate::seq::SeqNumber;
use crate::time::{Duration, Instant};
use crate::wire::tcp::Flags;

/// Challenge ACKs per second (RFC 5961, 7).
const CHALLENGES_PER_SECOND: u8 = 10;

impl Connection {
    /// Whether the peer may still send data.
    pub(super) fn can_receive(&self) -> bool {
        matches!(self.state, State::Established | State::FinWait1 | State::FinWait2)
    }

    /// Takes any segment; the frame is consumed.
    pub(super) fn take_segment(
        &mut self,
        now: Instant,
        cx: &mut Context,
        frame: Frame,
        segment: &Segment,
    ) {
        match self.state {
            State::Closed => cx.frames.remove(frame),
            State::SynSent => {
                self.take_in_syn_sent(now, cx, segment);
                cx.frames.remove(frame);
            }
            _ if self.is_repeated_syn(segment) => {
                self.take_repeated_syn(now, cx, segment);
                cx.frames.remove(frame);
            }
            _ => {
                if !self.take_control(now, segment) || !self.take_ack(now, cx, segment) {
                    cx.frames.remove(frame);
                } else {
                    self.take_payload(now, cx, frame, segment);
                }
            }
        }
        if self.state == State::Closed {
            self.release(cx);
        }
    }

    /// Steps one to four: SYN, timestamps, sequence, RST. Returns whether the segment is taken further.
    fn take_control(&mut self, now: Instant, segment: &Segment) -> bool {
        let repr = &segment.repr;
        let is_reset = repr.flags.contains(Flags::RST);
        // Wherever it lies and whatever options it has (RFC 5961, 4): a peer that has lost the connection
        // and opens it anew learns of it by the answer, and resets it.
        if repr.flags.contains(Flags::SYN) && !is_reset {
            self.challenge(now);
            return false;
        }
        if self.agreed.timestamps && !is_reset {
            match repr.options.timestamps {
                Some(stamps) if self.agreed.is_old(now, stamps.value) => {
                    self.stats.paws_drops += 1;
                    self.acking.due = true;
                    self.report_old(segment);
                    return false;
                }
                Some(_) => {}
                None => return false,
            }
        }
        if !self.is_acceptable(segment) {
            if !is_reset {
                self.acking.due = true;
                self.report_old(segment);
                self.restart_time_wait(now, segment);
            }
            return false;
        }
        if is_reset {
            match self.state {
                _ if repr.seq != self.rcv_nxt => self.challenge(now),
                // The end has been told; a peer that has forgotten us resets what we repeat.
                State::TimeWait => self.leave_time_wait(),
                _ => self.enter_closed(Event::Reset),
            }
            return false;
        }
        self.note_timestamp(now, segment);
        true
    }

    /// RFC 9293, 3.10.7.4, first: some of the segment lies in the window.
    fn is_acceptable(&self, segment: &Segment) -> bool {
        let (seq, len) = (segment.repr.seq, segment.sequence_len());
        let window = self.rcv_wnd();
        let in_window = |s: SeqNumber| s.ge(self.rcv_nxt) && s.lt(self.rcv_edge);
        match (len, window) {
            (0, 0) => seq == self.rcv_nxt,
            (0, _) => in_window(seq) || seq == self.rcv_edge,
            // With no window the ACK of an in-order segment still counts; its payload is cut off.
            (_, 0) => seq == self.rcv_nxt,
            _ => in_window(seq) || in_window(seq + (len - 1)),
        }
    }

    /// TS.Recent follows segments that span the last acknowledgment sent (RFC 7323, 4.3).
    pub(super) fn note_timestamp(&mut self, now: Instant, segment: &Segment) {
        if let (true, Some(stamps)) = (self.agreed.timestamps, segment.repr.options.timestamps)
            && segment.repr.seq.le(self.acking.last_sent)
            && !self.agreed.is_old(now, stamps.value)
        {
            self.agreed.remember(now, stamps.value);
        }
    }

    fn challenge(&mut self, now: Instant) {
        let (since, count) = &mut self.acking.challenges;
        if now - *since >= Duration::from_secs(1) {
            (*since, *count) = (now, 0);
        }
        if *count < CHALLENGES_PER_SECOND {
            *count += 1;
            self.stats.challenge_acks += 1;
            self.acking.due = true;
        }
    }

    fn restart_time_wait(&mut self, now: Instant, segment: &Segment) {
        if self.state == State::TimeWait && segment.repr.flags.contains(Flags::FIN) {
            self.timers.time_wait = Due::at(now + self.config.time_wait);
        }
    }

    /// Step five: the acknowledgment and the window. Returns whether the segment is taken further.
    fn take_ack(&mut self, now: Instant, cx: &mut Context, segment: &Segment) -> bool {
        let repr = &segment.repr;
        if !repr.flags.contains(Flags::ACK) {
            return false;
        }
        if self.state == State::SynReceived && !self.take_handshake_ack(segment) {
            return false;
        }
        if repr.ack.gt(self.snd_nxt) {
            self.challenge(now);
            return false;
        }
        if repr.ack.lt(self.snd_una) {
            let too_old = self.snd_una - repr.ack > self.snd_wnd_max;
            if too_old {
                self.challenge(now);
            }
            return !too_old;
        }
        self.hear_echo(repr.flags);
        let window_changed = self.take_window(segment);
        let before = self.take_sacks(segment);
        if repr.ack.gt(self.snd_una) {
            self.advance(now, cx, repr.ack, repr.options.timestamps.map(|t| t.echo));
        } else {
            let is_pure = segment.sequence_len() == 0 && !window_changed;
            self.take_duplicate_ack(now, is_pure, before.newly_sacked);
        }
        self.timers.probes_unanswered = 0;
        self.judge_ack(now, &before, segment);
        self.answer_echo(now, &before);
        self.step_closing(now);
        true
    }

    fn take_duplicate_ack(&mut self, now: Instant, is_pure: bool, newly_sacked: u32) {
        if self.board.is_empty() {
            return;
        }
        let counts = match self.agreed.repair {
            Repair::Sack | Repair::Rack => newly_sacked > 0,
            Repair::NewReno | Repair::Reno | Repair::TimeoutOnly => is_pure,
        };
        if counts {
            self.stats.dup_acks += 1;
            self.repairing.count_duplicate();
        }
        if is_pure && self.config.after_timeout == AfterTimeout::ResendListByCwnd {
            self.take_duplicate_ack_linux_1_1(now);
        }
    }

    /// `snd_una` moves to `ack`, which lies in (snd_una, snd_nxt]: the one place where what is in flight
    /// is taken off, time is sampled and the window grows.
    pub(super) fn advance(
        &mut self,
        now: Instant,
        cx: &mut Context,
        ack: SeqNumber,
        echo: Option<u32>,
    ) {
        let in_flight_before = self.pipe();
        let acked = self.board.ack_to(ack);
        self.snd_una = ack;
        self.send.acked(acked.payload);
        self.note_size_acked();
        self.stats.bytes_acked += u64::from(acked.payload);
        if acked.fin {
            self.fin = Fin::Acked;
        }
        let rtt = self.sample_rtt(now, &acked, echo);
        let phase = self.repairing.phase();
        self.recover_on_advance(now, &acked, echo);
        self.end_cut(now);
        // Where growth is per ACK, the active opener's SYN counts and the passive opener's does not.
        if acked.payload > 0 || self.is_own_active_syn(&acked) {
            self.cc.on_ack(&AckSample {
                now,
                acked: acked.payload,
                acked_ce: self.ecn.marked_of(acked.payload),
                rtt,
                in_flight_before,
                snd_una: self.snd_una,
                snd_nxt: self.snd_nxt,
                phase: self.ecn.phase(phase),
            });
        }
        self.trim_resend_list();
        self.restart_retransmit_timer(now, cx, phase);
        self.wake_writer();
    }

    fn wake_writer(&mut self) {
        let needed = match self.config.wake_writer {
            WakeWriter::AtOneSegment => (self.agreed.mss as usize).min(self.send.capacity()),
            WakeWriter::AtOneThird => self.send.capacity() / 3,
        };
        if self.writer_waits && self.send.space() >= needed {
            self.writer_waits = false;
            self.pending.raise(Event::Writable);
        }
    }

    /// The state machine after our FIN may have been acknowledged.
    pub(super) fn step_closing(&mut self, now: Instant) {
        if self.fin != Fin::Acked {
            return;
        }
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.enter_time_wait(now),
            State::LastAck => self.enter_closed(Event::Closed),
            _ => {}
        }
    }

    /// Steps six to eight: urgent data is ordinary data here; payload; FIN.
    fn take_payload(&mut self, now: Instant, cx: &mut Context, frame: Frame, segment: &Segment) {
        let repr = &segment.repr;
        if segment.sequence_len() == 0 || self.state == State::Closed {
            cx.frames.remove(frame);
            return;
        }
        if !self.can_receive() {
            self.acking.due = true;
            self.restart_time_wait(now, segment);
            cx.frames.remove(frame);
            return;
        }
        if repr.flags.contains(Flags::FIN) {
            let fin = repr.seq + segment.payload_len;
            if fin.le(self.rcv_edge) && self.peer_fin.is_none() {
                self.peer_fin = Some(fin);
            }
        }
        self.take_data(now, cx, frame, segment);
        self.take_fin(now, cx);
    }

    fn take_data(&mut self, now: Instant, cx: &mut Context, frame: Frame, segment: &Segment) {
        let seq = segment.repr.seq;
        let skip = if seq.lt(self.rcv_nxt) { self.rcv_nxt - seq } else { 0 };
        let room = self.rcv_edge - seq.max(self.rcv_nxt);
        let len = segment.payload_len.saturating_sub(skip).min(room);
        self.report_old(segment);
        if len == 0 {
            if segment.payload_len > 0 {
                self.acking.due = true;
            }
            cx.frames.remove(frame);
            return;
        }
        self.take_mark(segment);
        let piece =
            Piece { seq: seq + skip, len, frame, offset: segment.payload_offset as u32 + skip };
        if piece.seq == self.rcv_nxt && self.reassembly.is_empty() {
            self.append(cx, piece);
            self.schedule_ack(now, cx, segment.payload_len);
            return;
        }
        if piece.seq != self.rcv_nxt {
            self.stats.out_of_order += 1;
            self.acking.repeat = true;
        }
        self.acking.due = true;
        if let Some((left, right)) = self.reassembly.insert(&mut cx.frames, piece) {
            self.report_duplicate(left, right);
        }
        while let Some(piece) = self.reassembly.pop(&mut cx.frames, self.rcv_nxt) {
            self.append(cx, piece);
        }
        self.reassembly.settle(self.rcv_nxt);
    }

    /// Moves a piece that continues at `rcv_nxt` into the receive buffer.
    #[inline(always)]
    pub(super) fn append(&mut self, cx: &mut Context, piece: Piece) {
        self.receive.append(&mut cx.frames, piece);
        cx.work.bytes_copied += u64::from(piece.len);
        self.rcv_nxt += piece.len;
        self.stats.bytes_received += u64::from(piece.len);
        self.pending.raise(Event::Readable);
    }

    /// In-order data arrived: acknowledge now or hold it back (RFC 1122, 4.2.3.2).
    #[inline(always)]
    pub(super) fn schedule_ack(&mut self, now: Instant, cx: &mut Context, payload_len: u32) {
        self.acking.rcv_mss = self.acking.rcv_mss.max(payload_len);
        let unacked = self.rcv_nxt - self.acking.last_sent;
        let held = u32::from(self.config.ack_every.saturating_sub(1)) * self.acking.rcv_mss;
        if self.acking.quick > 0 {
            self.acking.quick -= 1;
            self.acking.due = true;
        } else if unacked > held || self.config.delayed_ack.is_zero() {
            self.acking.due = true;
        } else if self.timers.delayed_ack.is_never() {
            self.timers.delayed_ack = Due::at(self.config.ack_deadline(now));
            cx.work.timer_arms += 1;
        }
    }

    fn take_fin(&mut self, now: Instant, cx: &mut Context) {
        let Some(fin) = self.peer_fin else {
            return;
        };
        self.acking.due = true;
        if fin.gt(self.rcv_nxt) {
            return;
        }
        // Whatever is held beyond a FIN is nonsense.
        self.reassembly.clear(&mut cx.frames);
        self.rcv_nxt += 1;
        self.rcv_edge = self.rcv_edge.max(self.rcv_nxt);
        self.pending.raise(Event::PeerClosed);
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now),
            _ => {}
        }
        self.step_closing(now);
    }

    fn enter_time_wait(&mut self, now: Instant) {
        self.state = State::TimeWait;
        self.timers.clear();
        self.timers.time_wait = Due::at(now + self.config.time_wait);
        self.pending.raise(Event::Closed);
    }

    /// Old segments have died out, or the peer says so.
    pub(super) fn leave_time_wait(&mut self) {
        self.state = State::Closed;
        self.timers.clear();
    }
}
