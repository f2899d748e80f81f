//! Segments out: one whole IP packet per poll, in the order RST, SYN, what was lost, new data with
//! FIN, probe, acknowledgment.

use super::config::CwndUnit;
use super::ecn::Packet;
use super::options::Repair;
use super::runs::Chunk;
use super::scoreboard::{Fate, Record};
use super::{Connection, Fin, State};
use crate::Context;
use crate::frame::Frame;
use crate::seq::SeqNumber;
use crate::time::Instant;
use crate::wire::checksum::{Address, Checksum};
use crate::wire::ip::Addresses;
use crate::wire::ipv4::{self, Ecn, Protocol};
use crate::wire::ipv6;
use crate::wire::tcp::{Flags, HEADER_LEN_MIN, Options, Repr, SACK_BLOCKS_MAX, SackBlocks};

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
        if let Some(seq) = self.reset_due.take() {
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
        if std::mem::take(&mut self.probe_due) {
            self.stats.probes += 1;
            return Some(self.emit_empty(now, cx, self.snd_una - 1));
        }
        if self.acking.due && self.state != State::SynSent && self.state != State::SynReceived {
            self.stats.pure_acks_sent += 1;
            return Some(self.emit_empty(now, cx, self.snd_nxt));
        }
        None
    }

    /// The record to send (again) now.
    fn next_resend(&mut self, now: Instant, cx: &Context) -> Option<usize> {
        if self.repairing.list.is_some() {
            return self.next_of_list(now, &cx.frames);
        }
        if !self.board.has_lost() {
            return None;
        }
        let index = self.board.next_lost()?;
        let len = self.board.record(index).len;
        (self.repairing.is_forced() || self.window_admits(len)).then_some(index)
    }

    /// Whether the congestion window admits `len` more bytes in the network.
    fn window_admits(&self, len: u32) -> bool {
        if self.ecn.waits() {
            return false;
        }
        match self.config.cwnd_unit {
            CwndUnit::Packets => self.board.len() < self.cwnd_packets(),
            CwndUnit::Bytes => {
                let pipe = self.pipe();
                pipe == 0 || pipe.saturating_add(len) <= self.cc.cwnd()
            }
        }
    }

    fn may_send_data(&self) -> bool {
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
        if !self.may_send_data() || self.repairing.list.is_some() || self.board.has_lost() {
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
            _ => self.send.chunk_len(self.snd_nxt, mss),
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
        self.board.push(Record {
            seq: self.snd_nxt,
            len,
            sent_at: now,
            packet: None,
            transmissions: 0,
            fate: Fate::InFlight,
            syn: false,
            fin: segment.fin,
        });
        self.snd_nxt += len;
        self.probe_due = false;
        self.timers.stop_persist();
        self.send_record(now, cx, self.board.len() - 1)
    }

    /// Sends what a record stands for, for the first time or again.
    fn send_record(&mut self, now: Instant, cx: &mut Context, index: usize) -> Frame {
        let record = self.board.record(index);
        if record.transmissions > 0 {
            self.note_resend(now);
        } else {
            self.repairing.settle_first_send();
        }
        self.board.sent(index, now);
        self.last_sent_at = now;
        self.cc.on_sent(now, record.payload(), self.board.pipe());
        self.start_retransmit_timer(now, cx);
        let frame = self.emit_record(now, cx, &record);
        self.board.handed_out(index, cx.frames.ticket(frame));
        frame
    }

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
        let timestamps = self.agreed.stamps(now);
        let repr = Repr {
            seq,
            ack: self.rcv_nxt,
            flags,
            window,
            options: Options {
                timestamps,
                sack: self.sack_blocks(timestamps.is_some(), payload),
                ..Options::default()
            },
            ..self.ports()
        };
        self.note_ack_sent(now);
        self.emit_packet(cx, &repr, payload, ecn)
    }

    /// As many SACK blocks as fit beside the payload.
    fn sack_blocks(&self, stamped: bool, payload: u32) -> SackBlocks {
        if self.reassembly.is_empty() || self.agreed.repair != Repair::Sack {
            return SackBlocks::new();
        }
        let headers = self.tuple.addresses().header_len() + HEADER_LEN_MIN;
        let taken = headers + if stamped { 12 } else { 0 };
        let room = usize::from(self.config.mtu).saturating_sub(taken + payload as usize);
        let fitting = room.saturating_sub(SACK_BASE_LEN) / SACK_BLOCK_LEN;
        self.reassembly.blocks(fitting.min(SACK_BLOCKS_MAX))
    }

    /// An acknowledgment leaves: none is owed any more.
    fn note_ack_sent(&mut self, now: Instant) {
        self.acking.due = false;
        self.acking.last_sent = self.rcv_nxt;
        self.timers.delayed_ack = None;
        let repeat = std::mem::take(&mut self.acking.repeat);
        self.timers.repeat_ack = match (repeat, self.config.repeat_ack) {
            (true, Some(after)) => Some(now + after),
            _ => None,
        };
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
                    // One label per connection (RFC 6437): the better half of a random number.
                    flow_label: self.iss.0 >> 12,
                    hop_limit: TTL,
                    payload_len: segment_len.min(u32::from(u16::MAX)) as u16,
                };
                let emit = |headers: &mut [u8]| ip.emit(headers);
                (self.fill::<{ ipv6::HEADER_LEN }, _>(cx, repr, payload, src, dst, emit), 0)
            }
        };
        self.ident = self.ident.wrapping_add(1);
        self.stats.segments_sent += 1;
        cx.work.segments_sent += 1;
        cx.work.bytes_copied += u64::from(payload);
        cx.work.bytes_checksummed += u64::from(segment_len) + ip_checksummed as u64;
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
        let (real, elided): (&[u8], u32) = match payload {
            0 => (&[], 0),
            _ => match self.send.chunk(repr.seq, payload) {
                Chunk::Bytes(bytes) => (bytes, 0),
                Chunk::Elided(n) => (&[], n as u32),
            },
        };
        debug_assert_eq!(real.len() as u32 + elided, payload);
        cx.frames.insert_with(header_len + real.len(), elided, |space| {
            let (headers, body) = space.split_at_mut(header_len);
            let mut sum = Checksum::new();
            sum.copy_bytes(body, real);
            emit_ip(headers);
            repr.emit_summed(&mut headers[IP_LEN..], sum, payload, src, dst);
        })
    }
}
