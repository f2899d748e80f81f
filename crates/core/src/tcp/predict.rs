//! Header prediction (Van Jacobson): in bulk transfer almost every segment is the next data segment or
//! an acknowledgment that only advances, and needs none of the checks in `input`.
//!
//! The conditions are those of BSD as RFC 1323 tells them, with "not retransmitting" read
//! from the scoreboard. Both ways share the steps that change state, so they leave the same state.

use super::reassembly::Piece;
use super::{Connection, Fin, Segment, State};
use crate::Context;
use crate::frame::Frame;
use crate::time::Instant;
use crate::wire::tcp::{Flags, Timestamps};

/// The flags that must be exactly ACK; PSH says nothing here.
const LOOKED_AT: u8 = !Flags::PSH.0;

impl Connection {
    /// Handles the segment if it is a predicted one; returns whether it did, and then the frame is
    /// consumed.
    pub(super) fn predict(
        &mut self,
        now: Instant,
        cx: &mut Context,
        frame: Frame,
        segment: &Segment,
    ) -> bool {
        let repr = &segment.repr;
        let expected = self.state == State::Established
            && repr.flags.0 & LOOKED_AT == Flags::ACK.0
            && repr.seq == self.rcv_nxt
            && repr.window != 0
            && u32::from(repr.window) << self.agreed.snd_shift == self.snd_wnd
            && repr.options.sack.is_empty()
            && self.peer_fin.is_none()
            && self.fin == Fin::NotYet
            && self.repairing.is_quiet()
            && !self.board.is_marked();
        if !expected {
            return false;
        }
        let stamps = repr.options.timestamps.filter(|_| self.agreed.timestamps);
        match stamps {
            Some(stamps) if !self.agreed.is_old(now, stamps.value) => {}
            None if !self.agreed.timestamps => {}
            _ => return false,
        }
        if segment.payload_len == 0 {
            self.predict_ack(now, cx, frame, segment, stamps)
        } else {
            self.predict_data(now, cx, frame, segment, stamps)
        }
    }

    #[inline]
    fn predict_ack(
        &mut self,
        now: Instant,
        cx: &mut Context,
        frame: Frame,
        segment: &Segment,
        stamps: Option<Timestamps>,
    ) -> bool {
        let repr = &segment.repr;
        if !(repr.ack.gt(self.snd_una) && repr.ack.le(self.snd_nxt)) {
            return false;
        }
        self.note_expected(now, segment, stamps);
        let echo = repr.options.timestamps.map(|t| t.echo);
        self.advance(now, cx, repr.ack, echo);
        self.learn_delivered(now, echo);
        self.timers.probes_unanswered = 0;
        cx.frames.remove(frame);
        self.stats.predicted_acks += 1;
        cx.work.fast_path_hits += 1;
        true
    }

    /// What `note_timestamp` and `take_window` leave of a segment whose timestamp is not old and whose window
    /// is the one known.
    #[inline(always)]
    fn note_expected(&mut self, now: Instant, segment: &Segment, stamps: Option<Timestamps>) {
        let (seq, ack) = (segment.repr.seq, segment.repr.ack);
        if let Some(stamps) = stamps
            && seq.le(self.acking.last_sent)
        {
            self.agreed.remember(now, stamps.value);
        }
        if self.snd_wl1.lt(seq) || (self.snd_wl1 == seq && self.snd_wl2.le(ack)) {
            (self.snd_wl1, self.snd_wl2) = (seq, ack);
        }
    }

    #[inline(always)]
    fn predict_data(
        &mut self,
        now: Instant,
        cx: &mut Context,
        frame: Frame,
        segment: &Segment,
        stamps: Option<Timestamps>,
    ) -> bool {
        let repr = &segment.repr;
        let fits = segment.payload_len <= self.rcv_wnd();
        let in_order = repr.ack == self.snd_una && self.reassembly.is_empty();
        if !in_order || !fits || !self.ecn.is_unmoved_by(segment.ecn) {
            return false;
        }
        self.note_expected(now, segment, stamps);
        self.timers.probes_unanswered = 0;
        let piece = Piece {
            seq: repr.seq,
            len: segment.payload_len,
            frame,
            offset: segment.payload_offset as u32,
        };
        self.append(cx, piece);
        self.schedule_ack(now, cx, segment.payload_len);
        self.stats.predicted_data += 1;
        cx.work.fast_path_hits += 1;
        true
    }
}
