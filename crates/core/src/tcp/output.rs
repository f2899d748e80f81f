//! Segments out: one whole IP packet per poll, in the order RST, SYN, what was lost, new data with
//! FIN, probe, acknowledgment.

use super::config::CwndUnit;
use super::ecn::Packet;
use super::mtu::NextProbe;
use super::runs::Chunk;
use super::scoreboard::{Fate, Record};
use super::timer::Due;
use super::{Connection, Fin, State, Tuple};
use crate::Context;
use crate::frame::Frame;
use crate::seq::SeqNumber;
use crate::time::Instant;
use crate::wire::checksum::{Address, Checksum};
use crate::wire::ip::Addresses;
use crate::wire::ipv4::{self, Ecn, Protocol};
use crate::wire::ipv6;
use crate::wire::tcp::{Flags, HEADER_LEN_MIN, Options, Repr, SACK_BLOCKS_MAX, SackBlocks};
use crate::wire::tcp::{STAMPED_LEN, Stamped, Template};
use std::net::SocketAddr;

const TTL: u8 = 64;

/// Bytes of a SACK option with no blocks, padding included, and of one block.
const SACK_BASE_LEN: usize = 4;
const SACK_BLOCK_LEN: usize = 8;

/// What one new segment takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct NewSegment {
    payload: u32,
    fin: bool,
}

impl Connection {
    /// The next packet that may leave now, none when nothing may: then nothing will until something
    /// happens.
    pub fn poll_transmit(&mut self, now: Instant, cx: &mut Context) -> Option<Frame> {
        let is_idle = cfg!(debug_assertions) && self.is_idle();
        let packet = self.next_packet(now, cx);
        debug_assert!(!is_idle || packet.is_none(), "an idle connection had a packet to send");
        packet
    }

    fn next_packet(&mut self, now: Instant, cx: &mut Context) -> Option<Frame> {
        if let Some(seq) = self.reset_due {
            self.reset_due = None;
            return Some(self.emit_reset(now, cx, seq));
        }
        if self.state == State::Closed {
            self.release(cx);
            return None;
        }
        if let Some(frame) = self.emit_owed(now, cx) {
            return Some(frame);
        }
        if let Some(index) = self.next_resend(now, cx) {
            return Some(self.send_record(now, cx, index));
        }
        if let Some(segment) = self.next_new(now, cx) {
            return Some(self.send_new(now, cx, segment));
        }
        if let Some(index) = self.next_probe().or_else(|| self.next_rescue(now)) {
            return Some(self.send_record(now, cx, index));
        }
        if std::mem::take(&mut self.probe_due) {
            self.stats.probes += 1;
            return Some(self.emit_empty(now, cx, self.snd_una - 1));
        }
        if std::mem::take(&mut self.silence.probe_due) {
            self.stats.keepalive_probes += 1;
            return Some(self.emit_empty(now, cx, self.snd_una - 1));
        }
        if self.acking.due && self.state != State::SynSent {
            self.stats.pure_acks_sent += 1;
            return Some(self.emit_empty(now, cx, self.snd_nxt));
        }
        None
    }

    /// Whether [`Connection::poll_transmit`] has nothing to hand out and nothing to do, as far as a glance
    /// tells: with data that may not leave yet it is not idle. All that `next_packet` looks at first stands
    /// here too.
    #[inline]
    pub fn is_idle(&self) -> bool {
        let has_data = match self.fin {
            Fin::NotYet => self.send.end() != self.snd_nxt,
            Fin::Queued => true,
            Fin::Sent | Fin::Acked => false,
        };
        // What is mostly so comes first.
        if has_data || self.acking.due {
            return false;
        }
        let probes = self.probe_due || self.silence.probe_due;
        let owes = self.ecn.owes() || probes || self.reset_due.is_some();
        let repairs = self.board.has_lost() || !self.repairing.is_quiet();
        !(owes || repairs || self.state == State::Closed)
    }

    /// The record to send (again) now.
    fn next_resend(&mut self, now: Instant, cx: &Context) -> Option<usize> {
        if self.repairing.list.is_some() {
            return self.next_of_list(now, &cx.frames);
        }
        if !self.board.has_lost() || self.repairing.holds_resends() {
            return None;
        }
        let index = self.board.next_lost()?;
        if self.board.record(index).payload() > self.agreed.mss {
            self.cut_lost(now, index);
        }
        let len = self.board.record(index).len;
        let may_leave =
            self.repairing.is_forced() || (self.window_admits(len) && !self.is_paced_out(now));
        may_leave.then_some(index)
    }

    /// Whether the congestion window admits `len` more bytes in the network.
    #[inline]
    pub(super) fn window_admits(&self, len: u32) -> bool {
        if self.ecn.waits() {
            return false;
        }
        match self.config.cwnd_unit {
            CwndUnit::Packets => self.board.len() < self.cwnd_packets(),
            CwndUnit::Bytes => {
                let pipe = self.pipe();
                pipe == 0
                    || pipe.saturating_add(len) <= self.window()
                    || self.repairing.is_beyond_window()
            }
        }
    }

    pub(super) fn may_send_data(&self) -> bool {
        matches!(
            self.state,
            State::Established
                | State::CloseWait
                | State::FinWait1
                | State::LastAck
                | State::Closing
        )
    }

    /// The next new segment that may leave now: congestion window, offered window, Nagle, silly window.
    fn next_new(&mut self, now: Instant, cx: &mut Context) -> Option<NewSegment> {
        if !self.may_send_data() || self.repairing.list.is_some() {
            return None;
        }
        if self.board.has_lost() && !self.repairing.is_beyond_window() {
            return None;
        }
        let fin_waits = self.fin == Fin::Queued;
        let unsent = self.unsent() as u32;
        if unsent == 0 && !fin_waits {
            return None;
        }
        self.restart_after_idle(now);
        let mss = self.agreed.mss;
        let payload = match unsent {
            0 => 0,
            _ => match self.next_size_probe(now) {
                NextProbe::None => self.send.chunk_len(self.snd_nxt, mss),
                NextProbe::Now(payload) => payload,
                NextProbe::Later => return None,
            },
        };
        let last = payload == unsent;
        if !self.window_admits(payload) && payload > 0 {
            return None;
        }
        let usable = self.usable_window();
        let takes = payload + u32::from(fin_waits && last);
        if takes <= usable {
            let is_short = payload < mss && last && !fin_waits;
            if is_short && self.config.nagle && !self.board.is_empty() {
                return None;
            }
            if self.is_paced_out(now) {
                return None;
            }
            return Some(NewSegment { payload, fin: fin_waits && last });
        }
        let fitting = self.cut_to_window(payload.min(usable));
        if fitting.is_none() {
            self.persist_if_stuck(now, cx);
        }
        fitting
    }

    /// A segment cut to the window is worth sending when it is half of the largest window seen or the
    /// persist timer asks for it (RFC 1122, 4.2.3.4).
    fn cut_to_window(&mut self, fitting: u32) -> Option<NewSegment> {
        let whole_only = self.config.cwnd_unit == CwndUnit::Packets;
        let worth = fitting >= (self.snd_wnd_max / 2).max(1) || self.probe_due;
        if fitting == 0 || !worth || (whole_only && !self.probe_due) {
            return None;
        }
        Some(NewSegment { payload: fitting, fin: false })
    }

    /// With nothing in flight nobody would tell that the window opened: probe (RFC 9293, 3.8.6.1).
    fn persist_if_stuck(&mut self, now: Instant, cx: &mut Context) {
        if self.board.is_empty() && !self.timers.persist_is_running() {
            self.timers.start_persist(now, self.rtt.rto(), self.config.rto_max);
            cx.work.timer_arms += 1;
        }
    }

    /// After an idle RTO the window says nothing about the path any more (RFC 5681, 4.1).
    fn restart_after_idle(&mut self, now: Instant) {
        let idle = self.board.is_empty() && now - self.last_sent_at > self.rtt.rto();
        if self.config.idle_restart && idle {
            self.cc.on_idle_restart(now);
            self.last_sent_at = now;
        }
    }

    fn send_new(&mut self, now: Instant, cx: &mut Context, segment: NewSegment) -> Frame {
        let len = segment.payload + u32::from(segment.fin);
        if segment.fin {
            self.fin = Fin::Sent;
        }
        self.note_size_sent(segment.payload);
        let record = Record {
            seq: self.snd_nxt,
            len,
            sent_at: now,
            order: 0,
            packet: None,
            transmissions: 0,
            fate: Fate::InFlight,
            syn: false,
            fin: segment.fin,
            sacked_run: 1,
        };
        let frame = self.emit_record(now, cx, &record);
        self.board.push_sent(&record, cx.frames.ticket(frame));
        self.snd_nxt += len;
        self.repairing.settle_new_send(self.snd_nxt, &mut self.stats);
        self.repairing.settle_first_send();
        self.probe_due = false;
        self.timers.stop_persist();
        self.note_sent(now, cx, &record);
        frame
    }

    /// Sends what a record of the scoreboard stands for, a SYN or a segment that is sent again.
    #[inline(never)]
    fn send_record(&mut self, now: Instant, cx: &mut Context, index: usize) -> Frame {
        let record = self.board.record(index);
        if record.transmissions > 0 {
            self.note_resend(now);
        } else {
            self.repairing.settle_first_send();
        }
        self.board.sent(index, now);
        self.note_sent(now, cx, &record);
        let frame = self.emit_record(now, cx, &record);
        self.board.handed_out(index, cx.frames.ticket(frame));
        frame
    }

    /// The scoreboard knows that a record leaves, which was as here before: now everybody else.
    #[inline(always)]
    fn note_sent(&mut self, now: Instant, cx: &mut Context, record: &Record) {
        self.last_sent_at = now;
        self.repairing.note_sent(record.len);
        self.pace(now, record.payload());
        self.cc.on_sent(now, record.payload(), self.board.pipe());
        self.start_retransmit_timer(now, cx, record);
    }

    #[inline(always)]
    fn emit_record(&mut self, now: Instant, cx: &mut Context, record: &Record) -> Frame {
        if record.syn {
            return self.emit_syn(now, cx);
        }
        let mut flags = Flags::ACK;
        if record.fin {
            flags = flags | Flags::FIN;
        }
        let payload = record.payload();
        if payload > 0 {
            self.stats.data_segments_sent += 1;
            if record.seq + payload == self.send.end() {
                flags = flags | Flags::PSH;
            }
        }
        let packet = match record.transmissions {
            0 if payload > 0 => Packet::NewData,
            _ => Packet::Other,
        };
        self.emit(now, cx, record.seq, flags, payload, packet)
    }

    fn emit_syn(&mut self, now: Instant, cx: &mut Context) -> Frame {
        let flags = match self.state {
            State::SynSent => Flags::SYN,
            _ => Flags::SYN | Flags::ACK,
        };
        let (flags, ecn) = self.dress_syn(flags);
        let repr = Repr {
            seq: self.iss,
            ack: self.rcv_nxt,
            flags,
            window: self.offer_window_in_syn(),
            options: self.agreed.for_syn(now, &self.config),
            ..self.ports()
        };
        if self.state != State::SynSent {
            self.note_ack_sent(now);
        }
        self.emit_packet(cx, &repr, 0, ecn)
    }

    fn emit_reset(&mut self, now: Instant, cx: &mut Context, seq: SeqNumber) -> Frame {
        let answers_stray = matches!(self.state, State::SynSent | State::SynReceived);
        let repr = Repr {
            seq,
            ack: if answers_stray { SeqNumber(0) } else { self.rcv_nxt },
            flags: if answers_stray { Flags::RST } else { Flags::RST | Flags::ACK },
            options: Options { timestamps: self.agreed.stamps(now), ..Options::default() },
            ..self.ports()
        };
        let ecn = self.ecn.codepoint(Packet::Other);
        self.emit_packet(cx, &repr, 0, ecn)
    }

    /// An empty segment: an acknowledgment, or a probe when `seq` lies below the window.
    #[inline(never)]
    fn emit_empty(&mut self, now: Instant, cx: &mut Context, seq: SeqNumber) -> Frame {
        self.emit(now, cx, seq, Flags::ACK, 0, Packet::Other)
    }

    pub(super) fn ports(&self) -> Repr {
        Repr {
            src_port: self.tuple.local.port(),
            dst_port: self.tuple.remote.port(),
            ..Repr::default()
        }
    }

    /// Every segment after the handshake: it acknowledges and offers the window.
    #[inline(always)]
    fn emit(
        &mut self,
        now: Instant,
        cx: &mut Context,
        seq: SeqNumber,
        flags: Flags,
        payload: u32,
        packet: Packet,
    ) -> Frame {
        let (flags, ecn) = self.ecn.dress(flags, packet);
        let window = self.offer_window();
        if let (Some(template), Some(timestamps), false) =
            (&self.template, self.agreed.stamps(now), self.has_sacks())
        {
            let (ident, ack) = (self.ident, self.rcv_nxt);
            let segment = Stamped { ident, ecn, seq, ack, flags, window, timestamps };
            let frame = self.emit_stamped(cx, template, &segment, payload);
            self.note_ack_sent(now);
            self.note_segment_sent(cx, payload, STAMPED_LEN as u32 + payload);
            return frame;
        }
        let timestamps = self.agreed.stamps(now);
        let sack = self.sack_blocks(timestamps.is_some(), payload);
        let repr = Repr {
            seq,
            ack: self.rcv_nxt,
            flags,
            window,
            options: Options { timestamps, sack, ..Options::default() },
            ..self.ports()
        };
        self.note_ack_sent(now);
        self.emit_packet(cx, &repr, payload, ecn)
    }

    /// Whether there is something to tell with SACK.
    #[inline]
    fn has_sacks(&self) -> bool {
        let nothing = self.reassembly.is_empty() && self.acking.duplicate.is_none();
        !nothing && self.agreed.repair.uses_sack()
    }

    /// As many SACK blocks as fit beside the payload.
    fn sack_blocks(&self, stamped: bool, payload: u32) -> SackBlocks {
        if !self.has_sacks() {
            return SackBlocks::new();
        }
        let headers = self.tuple.addresses().header_len() + HEADER_LEN_MIN;
        let taken = headers + if stamped { 12 } else { 0 };
        let room = usize::from(self.config.mtu).saturating_sub(taken + payload as usize);
        let fitting = room.saturating_sub(SACK_BASE_LEN) / SACK_BLOCK_LEN;
        self.reassembly.blocks(fitting.min(SACK_BLOCKS_MAX), self.acking.duplicate)
    }

    /// An acknowledgment leaves: none is owed any more.
    #[inline]
    fn note_ack_sent(&mut self, now: Instant) {
        self.acking.due = false;
        self.acking.duplicate = None;
        self.acking.last_sent = self.rcv_nxt;
        self.timers.delayed_ack = Due::NEVER;
        self.timers.repeat_ack = Due::NEVER;
        if self.acking.repeat {
            self.acking.repeat = false;
            self.timers.repeat_ack = Due::from(self.config.repeat_ack.map(|after| now + after));
        }
    }

    /// What is prepared for the segments of this connection.
    pub(super) fn template(tuple: &Tuple, dscp: u8) -> Option<Template> {
        match (tuple.local, tuple.remote) {
            (SocketAddr::V4(local), SocketAddr::V4(remote)) => {
                Some(Template::new(local, remote, dscp, TTL))
            }
            _ => None,
        }
    }

    /// The packet around most segments: [`Connection::emit_packet`] writes the same, with more steps.
    #[inline(never)]
    fn emit_stamped(
        &self,
        cx: &mut Context,
        template: &Template,
        segment: &Stamped,
        payload: u32,
    ) -> Frame {
        let (real, elided) = self.payload(segment.seq, payload);
        cx.frames.insert_with(STAMPED_LEN + real.len(), elided, |space| {
            if let Some((headers, body)) = space.split_first_chunk_mut() {
                let mut sum = Checksum::new();
                sum.copy_bytes(body, real);
                template.emit(headers, segment, sum, payload);
            }
        })
    }

    /// Payload from the send buffer: bytes in memory, or zeros that are not.
    #[inline]
    fn payload(&self, seq: SeqNumber, len: u32) -> (&[u8], u32) {
        let (real, elided): (&[u8], u32) = match len {
            0 => (&[], 0),
            _ => match self.send.chunk(seq, len) {
                Chunk::Bytes(bytes) => (bytes, 0),
                Chunk::Elided(n) => (&[], n as u32),
            },
        };
        debug_assert_eq!(real.len() as u32 + elided, len);
        (real, elided)
    }

    #[inline]
    fn note_segment_sent(&mut self, cx: &mut Context, payload: u32, checksummed: u32) {
        self.ident = self.ident.wrapping_add(1);
        self.stats.segments_sent += 1;
        cx.work.segments_sent += 1;
        cx.work.bytes_copied += u64::from(payload);
        cx.work.bytes_checksummed += u64::from(checksummed);
    }

    /// A packet of the connection's version of IP around one segment.
    #[inline]
    pub(super) fn emit_packet(
        &mut self,
        cx: &mut Context,
        repr: &Repr,
        payload: u32,
        ecn: Ecn,
    ) -> Frame {
        let segment_len = repr.header_len() as u32 + payload;
        let dscp = self.config.dscp;
        let (frame, ip_checksummed) = match self.tuple.addresses() {
            Addresses::V4 { src, dst } => {
                let ip = ipv4::Repr {
                    src,
                    dst,
                    protocol: Protocol::TCP,
                    dscp,
                    ecn,
                    ident: self.ident,
                    dont_fragment: true,
                    ttl: TTL,
                    payload_len: segment_len.min(u32::from(ipv4::PAYLOAD_LEN_MAX)) as u16,
                };
                let emit = |headers: &mut [u8]| ip.emit(headers);
                (
                    self.fill::<{ ipv4::HEADER_LEN }, _>(cx, repr, payload, src, dst, emit),
                    ipv4::HEADER_LEN,
                )
            }
            Addresses::V6 { src, dst } => {
                let ip = ipv6::Repr {
                    src,
                    dst,
                    next_header: Protocol::TCP,
                    dscp,
                    ecn,
                    flow_label: self.config.flow_label,
                    hop_limit: TTL,
                    payload_len: segment_len.min(u32::from(u16::MAX)) as u16,
                };
                let emit = |headers: &mut [u8]| ip.emit(headers);
                (self.fill::<{ ipv6::HEADER_LEN }, _>(cx, repr, payload, src, dst, emit), 0)
            }
        };
        self.note_segment_sent(cx, payload, segment_len + ip_checksummed as u32);
        frame
    }

    /// Headers, and payload from the send buffer, which is summed while it is copied, into a frame.
    #[inline]
    fn fill<const IP_LEN: usize, A: Address>(
        &self,
        cx: &mut Context,
        repr: &Repr,
        payload: u32,
        src: A,
        dst: A,
        emit_ip: impl FnOnce(&mut [u8]),
    ) -> Frame {
        let header_len = IP_LEN + repr.header_len();
        let (real, elided) = self.payload(repr.seq, payload);
        cx.frames.insert_with(header_len + real.len(), elided, |space| {
            let (headers, body) = space.split_at_mut(header_len);
            let mut sum = Checksum::new();
            sum.copy_bytes(body, real);
            emit_ip(headers);
            repr.emit_summed(&mut headers[IP_LEN..], sum, payload, src, dst);
        })
    }
}
