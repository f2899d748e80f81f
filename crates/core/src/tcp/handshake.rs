//! Opening: active, passive and simultaneous (RFC 9293, 3.5 and 3.10.7.3), and the answer to segments
//! that belong to no connection.

use super::ecn::EcnState;
use super::keepalive::Silence;
use super::mtu::PathMtu;
use super::options::{Agreed, MSS_DEFAULT_V6};
use super::pacing::Pacer;
use super::recovery::Repairing;
use super::rtt::Estimator;
use super::scoreboard::{Fate, Record, Scoreboard};
use super::send_buffer::SendBuffer;
use super::timer::Timers;
use super::{Acking, Config, Connection, Event, Fin, Pending, Segment, State, Stats, Tuple};
use crate::Context;
use crate::cc::{self, CongestionControl};
use crate::seq::SeqNumber;
use crate::time::{Duration, Instant};
use crate::wire::ip::Addresses;
use crate::wire::tcp::{Flags, Repr};
use crate::wire::{ipv4, ipv6};

/// The RTO of the data phase when a SYN timed out and nothing was measured (RFC 6298, 5.7).
const RTO_AFTER_LOST_SYN: Duration = Duration::from_secs(3);

/// Bytes an IPv6 header is longer than an IPv4 one.
const IPV6_MORE: u16 = (ipv6::HEADER_LEN - ipv4::HEADER_LEN) as u16;

/// The answer to a segment that belongs to no connection (RFC 9293, 3.10.7.1); none to a RST. `tuple`
/// is seen from the side that answers.
pub fn reset_for(segment: &Segment, tuple: Tuple) -> Option<Repr> {
    let repr = &segment.repr;
    if repr.flags.contains(Flags::RST) {
        return None;
    }
    let (seq, ack, flags) = if repr.flags.contains(Flags::ACK) {
        (repr.ack, SeqNumber(0), Flags::RST)
    } else {
        let ack = repr.seq + segment.sequence_len();
        (SeqNumber(0), ack, Flags::RST | Flags::ACK)
    };
    Some(Repr {
        src_port: tuple.local.port(),
        dst_port: tuple.remote.port(),
        seq,
        ack,
        flags,
        ..Repr::default()
    })
}

fn build_cc(
    config: &Config,
    mss: u32,
    initial_window: u32,
    ecn: cc::EcnPath,
) -> Box<dyn CongestionControl> {
    cc::build(&cc::Settings {
        algorithm: config.algorithm,
        growth: config.growth,
        mss,
        initial_window,
        initial_ssthresh: config.initial_ssthresh,
        cwnd_max: config.cwnd_max,
        tuning: config.tuning,
        ecn,
    })
}

/// The SYN is a record like any other: it waits to be sent, and is sent again when it is lost.
fn board_of_syn(now: Instant, iss: SeqNumber) -> Scoreboard {
    let mut board = Scoreboard::default();
    board.push(Record {
        seq: iss,
        len: 1,
        sent_at: now,
        order: 0,
        packet: None,
        transmissions: 0,
        fate: Fate::Lost,
        syn: true,
        fin: false,
        sacked_run: 1,
    });
    board
}

impl Acking {
    /// Nothing has arrived.
    fn new(now: Instant, quick: u8) -> Acking {
        Acking {
            due: false,
            last_sent: SeqNumber(0),
            rcv_mss: 1,
            quick,
            repeat: false,
            duplicate: None,
            challenges: (now, 0),
        }
    }
}

impl Connection {
    /// Opens actively: the SYN leaves with the next poll.
    pub fn connect(
        now: Instant,
        _cx: &mut Context,
        config: Config,
        tuple: Tuple,
        iss: SeqNumber,
    ) -> Connection {
        Self::new(now, config, tuple, iss, State::SynSent)
    }

    /// Opens passively in answer to `syn`: the SYN-ACK leaves with the next poll, and silently again
    /// until it is acknowledged. The frame of the SYN stays with the caller.
    pub fn accept(
        now: Instant,
        cx: &mut Context,
        config: Config,
        tuple: Tuple,
        iss: SeqNumber,
        syn: &Segment,
    ) -> Connection {
        let mut connection = Self::new(now, config, tuple, iss, State::SynReceived);
        cx.work.segments_received += 1;
        connection.stats.segments_received += 1;
        connection.take_peer_syn(now, syn);
        connection
    }

    /// Opens passively where the SYN has been answered already by a SYN-ACK that nothing was kept of. The
    /// segment that acknowledges it has to follow at once.
    pub fn accept_answered(
        now: Instant,
        cx: &mut Context,
        config: Config,
        tuple: Tuple,
        iss: SeqNumber,
        syn: &Segment,
    ) -> Connection {
        let mut connection = Self::accept(now, cx, config, tuple, iss, syn);
        // Sent twice, so that no round trip is measured from here, and not for the first time.
        connection.board.sent(0, now);
        connection.board.sent(0, now);
        connection.repairing.settle_first_send();
        let record = connection.board.record(0);
        connection.start_retransmit_timer(now, cx, &record);
        connection
    }

    fn new(
        now: Instant,
        mut config: Config,
        tuple: Tuple,
        iss: SeqNumber,
        state: State,
    ) -> Connection {
        let is_v6 = matches!(tuple.addresses(), Addresses::V6 { .. });
        if is_v6 {
            config.header_allowance = config.header_allowance.saturating_add(IPV6_MORE);
        }
        let mut agreed = Agreed::before(&config);
        if is_v6 {
            agreed.mss_untold = MSS_DEFAULT_V6;
        }
        let path = config.ecn.possible_path();
        let cc = build_cc(&config, agreed.mss, config.initial_window, path);
        Connection {
            tuple,
            template: Connection::template(&tuple, config.dscp),
            state,
            stats: Stats::default(),
            ecn: EcnState::before(&config, cc.ecn(), state),
            pacer: Pacer::new(&config, &*cc),
            cc,
            iss,
            snd_una: iss,
            snd_nxt: iss + 1,
            snd_wnd: 0,
            snd_wnd_max: 0,
            snd_wl1: SeqNumber(0),
            snd_wl2: SeqNumber(0),
            send: SendBuffer::new(iss + 1, SendBuffer::capacity_for(&config, agreed.mss)),
            writer_waits: false,
            fin: Fin::NotYet,
            board: board_of_syn(now, iss),
            rtt: Estimator::new(&config),
            repairing: Repairing::new(iss),
            last_sent_at: now,
            probe_due: false,
            reset_due: None,
            irs: SeqNumber(0),
            rcv_nxt: SeqNumber(0),
            rcv_edge: SeqNumber(0),
            receive: Default::default(),
            reassembly: Default::default(),
            peer_fin: None,
            acking: Acking::new(now, config.quick_acks),
            silence: Silence::new(now),
            agreed,
            path_mtu: PathMtu::new(),
            timers: Timers::default(),
            pending: Pending::default(),
            ident: iss.0 as u16,
            config,
        }
    }

    /// Learns the peer's first sequence number and options.
    fn take_peer_syn(&mut self, now: Instant, syn: &Segment) {
        let repr = &syn.repr;
        self.irs = repr.seq;
        self.rcv_nxt = repr.seq + 1;
        self.rcv_edge = self.rcv_nxt + u32::from(self.offer_window_in_syn());
        self.acking.last_sent = self.rcv_nxt;
        self.agreed.settle(now, &self.config, &repr.options);
        self.start_path_mtu(now);
        // The window in a SYN is never scaled.
        self.snd_wnd = u32::from(repr.window);
        self.snd_wnd_max = self.snd_wnd;
        (self.snd_wl1, self.snd_wl2) = (repr.seq, repr.ack);
        let capacity = SendBuffer::capacity_for(&self.config, self.agreed.mss);
        self.send.set_capacity(capacity.max(self.send.len()));
        let path = self.agree_on_ecn(repr.flags);
        self.restart_cc(path);
    }

    /// Congestion control from its start, now that the peer's options are known.
    fn restart_cc(&mut self, path: cc::EcnPath) {
        // One lost SYN may be a spurious timeout; after two the initial window is one segment.
        let sent = self.board.front().map_or(0, |syn| syn.transmissions);
        let window = if sent > 2 { 1 } else { self.config.initial_window };
        self.cc = build_cc(&self.config, self.agreed.mss, window, path);
    }

    /// A segment in SYN-SENT (RFC 9293, 3.10.7.3).
    pub(super) fn take_in_syn_sent(&mut self, now: Instant, cx: &mut Context, segment: &Segment) {
        let repr = &segment.repr;
        let has_ack = repr.flags.contains(Flags::ACK);
        let acceptable = has_ack && repr.ack.gt(self.iss) && repr.ack.le(self.snd_nxt);
        if has_ack && !acceptable {
            // An old connection of the peer's: it learns by our RST, made from its own ACK field.
            if !repr.flags.contains(Flags::RST) {
                self.reset_due = Some(repr.ack);
            }
            return;
        }
        if repr.flags.contains(Flags::RST) {
            if acceptable {
                self.enter_closed(Event::Reset);
            }
            return;
        }
        if !repr.flags.contains(Flags::SYN) {
            return;
        }
        self.take_peer_syn(now, segment);
        if has_ack {
            self.acking.due = true;
            self.advance(now, cx, repr.ack, repr.options.timestamps.map(|t| t.echo));
            self.establish();
        } else {
            // Simultaneous open: our SYN goes out once more, now with an ACK.
            self.state = State::SynReceived;
            self.board.mark_all_lost();
            self.repairing.force_resend();
        }
    }

    /// Our SYN is acknowledged.
    pub(super) fn establish(&mut self) {
        self.state = match self.fin {
            Fin::NotYet => State::Established,
            _ => State::FinWait1,
        };
        self.board.take_delivered();
        if self.repairing.syn_timed_out {
            self.rtt.raise_initial(RTO_AFTER_LOST_SYN);
        }
        self.start_keepalive();
        self.pending.raise(Event::Connected);
    }

    /// The acknowledgment that a connection in SYN-RECEIVED waits for (RFC 9293, 3.10.7.4). Returns
    /// whether the segment is to be taken further.
    pub(super) fn take_handshake_ack(&mut self, segment: &Segment) -> bool {
        let repr = &segment.repr;
        if !(repr.ack.gt(self.snd_una) && repr.ack.le(self.snd_nxt)) {
            self.reset_due = Some(repr.ack);
            return false;
        }
        // From here on windows are scaled.
        self.snd_wnd = u32::from(repr.window) << self.agreed.snd_shift;
        self.snd_wnd_max = self.snd_wnd;
        (self.snd_wl1, self.snd_wl2) = (repr.seq, repr.ack);
        self.establish();
        true
    }

    /// A SYN of the peer's in SYN-RECEIVED that is the one we know: our SYN-ACK was lost.
    pub(super) fn is_repeated_syn(&self, segment: &Segment) -> bool {
        self.state == State::SynReceived
            && segment.repr.flags.contains(Flags::SYN)
            && segment.repr.seq == self.irs
    }

    /// A repeated SYN is answered with the SYN-ACK; one that acknowledges ours completes a simultaneous
    /// open.
    pub(super) fn take_repeated_syn(&mut self, now: Instant, cx: &mut Context, segment: &Segment) {
        let repr = &segment.repr;
        if self.disagree_on_ecn(repr.flags) {
            self.restart_cc(cc::EcnPath::Absent);
        }
        if repr.flags.contains(Flags::ACK) && repr.ack == self.snd_nxt {
            self.advance(now, cx, repr.ack, repr.options.timestamps.map(|t| t.echo));
            self.establish();
            self.acking.due = true;
        } else {
            self.board.mark_all_lost();
            self.repairing.force_resend();
        }
    }
}
