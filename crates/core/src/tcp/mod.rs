//! TCP (RFC 9293), split by direction and event.
//!
//! [`Connection`] is sans-I/O: frames and deadlines go in, frames and events come out. `mod` has the
//! verbs and the socket calls; `handshake`, `input` and `predict` take segments in, `output` builds
//! them, `scoreboard` remembers what is in flight, `recovery` decides what was lost of it, `timer` keeps
//! the deadlines, `window` both windows. `ecn`, `mtu`, `pacing`, `keepalive` and `time_wait` each have a
//! matter of their own, and `diagnostics` tells what `ss -ti` would.
//!
//! Deviations: sequence numbers sent are never taken back (`snd_nxt` is what some call `snd_max`): what
//! has to be sent again is told by the scoreboard. A zero-window probe is an empty segment below the
//! window, as deployed systems send it, not one byte beyond. The state becomes FIN-WAIT-1 or LAST-ACK
//! with the call to [`Connection::close`], though the FIN leaves after the data queued before it.

pub mod config;
mod diagnostics;
mod ecn;
mod handshake;
mod input;
mod keepalive;
mod mtu;
mod options;
mod output;
mod pacing;
mod predict;
mod reassembly;
mod receive_buffer;
mod recovery;
mod rtt;
mod runs;
mod scoreboard;
mod send_buffer;
mod stats;
mod time_wait;
mod timer;
mod tuple;
mod window;

#[cfg(test)]
mod tests;

pub use config::{Config, Profile};
pub use diagnostics::Tokens;
pub use handshake::reset_for;
pub(crate) use options::stamp;
pub use options::{MSS_DEFAULT, MSS_DEFAULT_V6, MSS_MIN, WINDOW_SHIFT_MAX};
pub use runs::Chunk;
pub use send_buffer::Data;
pub use stats::Stats;
pub use tuple::Tuple;

use crate::Context;
use crate::cc::{self, CongestionControl};
use crate::frame::{Frame, Frames};
use crate::seq::SeqNumber;
use crate::time::{Duration, Instant};
use crate::wire;
use crate::wire::ipv4::Ecn;
use ecn::EcnState;
use keepalive::Silence;
use mtu::PathMtu;
use options::Agreed;
use pacing::Pacer;
use reassembly::Reassembly;
use receive_buffer::ReceiveBuffer;
use recovery::Repairing;
use rtt::Estimator;
use scoreboard::Scoreboard;
use send_buffer::SendBuffer;
use std::net::Ipv4Addr;
use timer::Timers;

/// A segment whose headers have been parsed and verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// What the TCP header says.
    pub repr: wire::tcp::Repr,
    /// The congestion codepoint of the packet it came in.
    pub ecn: Ecn,
    /// Where the payload begins in the frame's bytes.
    pub payload_offset: usize,
    /// Payload in bytes, elided ones included.
    pub payload_len: u32,
}

impl Segment {
    /// The segment in a packet of the usual shape, and the packet's addresses. None says only that it has to
    /// be read step by step.
    #[inline]
    pub fn read(frames: &Frames, frame: Frame) -> Option<(Segment, Ipv4Addr, Ipv4Addr)> {
        if frames.is_corrupt(frame) {
            return None;
        }
        let (bytes, elided) = (frames.bytes(frame), frames.elided(frame));
        let read = wire::tcp::read_stamped(bytes, elided)?;
        let segment = Segment {
            repr: read.repr,
            ecn: read.ecn,
            payload_offset: wire::tcp::STAMPED_LEN,
            payload_len: (bytes.len() - wire::tcp::STAMPED_LEN) as u32 + elided,
        };
        Some((segment, read.src, read.dst))
    }

    /// Sequence numbers it takes: payload, SYN and FIN.
    pub fn sequence_len(&self) -> u32 {
        use wire::tcp::Flags;
        let flag = |f| u32::from(self.repr.flags.contains(f));
        self.payload_len + flag(Flags::SYN) + flag(Flags::FIN)
    }
}

/// The states of RFC 9293, 3.3.2. LISTEN is a matter of the host, which calls [`Connection::accept`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum State {
    /// We have sent a SYN.
    SynSent,
    /// Both SYNs are known, ours is not acknowledged.
    SynReceived,
    /// Data flows.
    Established,
    /// We have closed.
    FinWait1,
    /// We have closed and the peer knows.
    FinWait2,
    /// The peer has closed.
    CloseWait,
    /// Both have closed at once; the peer does not know of ours yet.
    Closing,
    /// The peer has closed, then we.
    LastAck,
    /// All is said; old segments die out.
    TimeWait,
    /// There is no connection.
    Closed,
}

/// What the application should know. Each is told once per cause, so nobody has to poll.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum Event {
    /// The handshake is complete: data can be written.
    Connected,
    /// There is room again after a write that was not taken whole.
    Writable,
    /// New data can be read.
    Readable,
    /// The peer sends no more: after what is readable comes the end.
    PeerClosed,
    /// Both directions are closed in order.
    Closed,
    /// The peer reset the connection.
    Reset,
    /// The peer answered no retransmission.
    TimedOut,
}

const EVENTS: [Event; 7] = [
    Event::Connected,
    Event::Writable,
    Event::Readable,
    Event::PeerClosed,
    Event::Closed,
    Event::Reset,
    Event::TimedOut,
];

/// Events not yet told, one bit each, told in the order of [`EVENTS`].
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
struct Pending(u8);

impl Pending {
    fn raise(&mut self, event: Event) {
        self.0 |= 1 << event as u8;
    }
    fn take(&mut self) -> Option<Event> {
        let first = EVENTS.get(self.0.trailing_zeros() as usize)?;
        self.0 &= self.0 - 1;
        Some(*first)
    }
}

/// Where our FIN stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fin {
    NotYet,
    Queued,
    Sent,
    Acked,
}

/// When to acknowledge.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Acking {
    /// An acknowledgment leaves with the next poll.
    due: bool,
    /// What the last segment sent acknowledged (Last.ACK.sent of RFC 7323).
    last_sent: SeqNumber,
    /// The largest segment the peer has sent.
    rcv_mss: u32,
    /// Segments still acknowledged at once.
    quick: u8,
    /// The next acknowledgment is to be repeated unless another one follows.
    repeat: bool,
    /// What arrived a second time, told with the next acknowledgment (RFC 2883).
    duplicate: Option<(SeqNumber, SeqNumber)>,
    /// Challenge ACKs in the second that began here.
    challenges: (Instant, u8),
}

/// One TCP connection.
#[derive(Debug)]
pub struct Connection {
    config: Config,
    tuple: Tuple,
    /// The headers of most segments, over IPv4.
    template: Option<wire::tcp::Template>,
    state: State,
    stats: Stats,
    cc: Box<dyn CongestionControl>,

    iss: SeqNumber,
    snd_una: SeqNumber,
    snd_nxt: SeqNumber,
    snd_wnd: u32,
    snd_wnd_max: u32,
    snd_wl1: SeqNumber,
    snd_wl2: SeqNumber,
    send: SendBuffer,
    writer_waits: bool,
    fin: Fin,
    board: Scoreboard,
    rtt: Estimator,
    repairing: Repairing,
    ecn: EcnState,
    last_sent_at: Instant,
    pacer: Pacer,
    probe_due: bool,
    /// The sequence number of a RST that leaves with the next poll.
    reset_due: Option<SeqNumber>,

    irs: SeqNumber,
    rcv_nxt: SeqNumber,
    /// The right edge of the window offered.
    rcv_edge: SeqNumber,
    receive: ReceiveBuffer,
    reassembly: Reassembly,
    /// Sequence number of the peer's FIN once it is known.
    peer_fin: Option<SeqNumber>,
    acking: Acking,
    silence: Silence,

    agreed: Agreed,
    path_mtu: PathMtu,
    timers: Timers,
    pending: Pending,
    ident: u16,
}

/// What the round-trip estimator and the windows say, for diagnostics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// Congestion window in bytes.
    pub cwnd: u32,
    /// Slow-start threshold in bytes.
    pub ssthresh: u32,
    /// The window the peer offers in bytes.
    pub snd_wnd: u32,
    /// The window we offer in bytes.
    pub rcv_wnd: u32,
    /// Bytes sent and not acknowledged.
    pub flight: u32,
    /// Payload of a full segment.
    pub mss: u32,
    /// IP and TCP headers of a data segment in bytes, options included.
    pub header_len: u32,
    /// Smoothed round-trip time, none before the first sample.
    pub srtt: Option<Duration>,
    /// Its mean deviation.
    pub rttvar: Duration,
    /// Retransmission timeout in force.
    pub rto: Duration,
    /// Where loss recovery stands.
    pub phase: cc::Phase,
}

impl Connection {
    /// Queues data for sending and returns how many bytes were taken: as many as the send buffer has
    /// room for, none after [`Connection::close`]. When not all were taken, [`Event::Writable`] follows.
    pub fn write(&mut self, _now: Instant, data: Data<'_>) -> usize {
        if self.fin != Fin::NotYet || !self.can_send() {
            return 0;
        }
        let taken = self.send.write(data);
        self.writer_waits = taken < data.len();
        taken
    }

    /// Hands at most `max` bytes that arrived in order to `sink` and returns how many there were. A
    /// window update is sent if the window has opened far enough.
    pub fn read(&mut self, cx: &mut Context, max: usize, sink: impl FnMut(Chunk<'_>)) -> usize {
        let read = self.receive.read(&mut cx.frames, max, sink);
        if read > 0 && self.window_update_is_due() {
            self.acking.due = true;
        }
        read
    }

    /// Bytes that can be read now.
    pub fn readable(&self) -> usize {
        self.receive.len()
    }
    /// Bytes that can be written now.
    pub fn send_space(&self) -> usize {
        match self.fin {
            Fin::NotYet => self.send.space(),
            _ => 0,
        }
    }
    /// Bytes written and never sent.
    pub fn unsent(&self) -> usize {
        match self.fin {
            // The FIN, once sent, is beyond the end of the buffer.
            Fin::Sent | Fin::Acked => 0,
            _ if self.state == State::Closed => 0,
            _ => (self.send.end() - self.snd_nxt) as usize,
        }
    }
    /// Bytes written and not acknowledged.
    pub fn queued(&self) -> usize {
        self.send.len()
    }

    /// Sends FIN after the data queued so far; data still arrives until the peer closes too.
    pub fn close(&mut self, _now: Instant) {
        if self.fin != Fin::NotYet {
            return;
        }
        match self.state {
            State::SynSent if self.send.len() == 0 => {
                self.board.clear();
                self.snd_nxt = self.snd_una;
                self.enter_closed(Event::Closed);
            }
            State::SynSent | State::SynReceived => self.fin = Fin::Queued,
            State::Established => {
                self.fin = Fin::Queued;
                self.state = State::FinWait1;
            }
            State::CloseWait => {
                self.fin = Fin::Queued;
                self.state = State::LastAck;
            }
            _ => {}
        }
    }

    /// Gives the connection up: one RST leaves with the next poll, nothing more is delivered.
    pub fn abort(&mut self, _now: Instant) {
        match self.state {
            State::Closed => return,
            State::SynSent | State::TimeWait => {}
            _ => self.reset_due = Some(self.snd_nxt),
        }
        self.state = State::Closed;
        self.timers.clear();
        self.pending.raise(Event::Closed);
    }

    /// The state of RFC 9293.
    pub fn state(&self) -> State {
        self.state
    }
    /// What was counted.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    /// The two ends.
    pub fn tuple(&self) -> Tuple {
        self.tuple
    }
    /// The configuration it was made with; over IPv6 the header allowance is larger by the larger header.
    pub fn config(&self) -> &Config {
        &self.config
    }
    /// What congestion control has to tell.
    pub fn cc_state(&self) -> cc::State {
        match self.cc.state() {
            cc::State::Dctcp { alpha, acked_ce, acked, .. } => {
                cc::State::Dctcp { alpha, acked_ce, acked, ce_state: self.ecn.echoed() }
            }
            state => state,
        }
    }
    /// Windows and timing as they stand.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            cwnd: self.window(),
            ssthresh: self.cc.ssthresh(),
            snd_wnd: self.snd_wnd,
            rcv_wnd: self.rcv_wnd(),
            flight: self.board.flight(),
            mss: self.agreed.mss,
            header_len: self.header_len(),
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            rto: self.rtt.rto(),
            phase: self.repairing.phase(),
        }
    }
    /// IP and TCP headers of a data segment in bytes, options included.
    fn header_len(&self) -> u32 {
        let bare = self.tuple.addresses().header_len() + wire::tcp::HEADER_LEN_MIN;
        bare as u32 + u32::from(self.agreed.timestamps) * options::TIMESTAMPS_LEN
    }
    /// The next thing the application should know.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.pending.take()
    }

    /// Gives back every frame that is held; what arrived in order can still be read. To be called before
    /// a connection is dropped early; in CLOSED nothing is held once the last poll came back empty.
    pub fn release(&mut self, cx: &mut Context) {
        self.reassembly.clear(&mut cx.frames);
        self.receive.give_back(&mut cx.frames);
    }

    /// Frames held: those that arrived before their turn, and those with much that has not been read.
    pub fn held_frames(&self) -> usize {
        self.reassembly.frames() + self.receive.frames()
    }

    /// Whether data may still be written.
    fn can_send(&self) -> bool {
        matches!(
            self.state,
            State::SynSent | State::SynReceived | State::Established | State::CloseWait
        )
    }

    /// Takes one frame whose headers are parsed in `segment`; the frame is consumed.
    pub fn handle_frame(
        &mut self,
        now: Instant,
        cx: &mut Context,
        frame: Frame,
        segment: &Segment,
    ) {
        cx.work.segments_received += 1;
        self.stats.segments_received += 1;
        self.silence.heard_at = now;
        let predicted = self.config.header_prediction && self.predict(now, cx, frame, segment);
        if !predicted {
            self.take_segment(now, cx, frame, segment);
        }
    }

    /// The connection ends; frames held are given back with the next poll.
    fn enter_closed(&mut self, event: Event) {
        self.state = State::Closed;
        self.timers.clear();
        self.pending.raise(event);
    }

    /// Asserts what must hold between any two calls.
    pub fn check_invariants(&self) {
        self.board.check_invariants(self.snd_una, self.snd_nxt);
        assert!(self.snd_una.le(self.snd_nxt));
        assert!(self.rcv_nxt.le(self.rcv_edge));
        assert!(self.cc.cwnd() > 0);
        self.reassembly.check_invariants(self.rcv_nxt);
        assert!(self.receive.len() <= self.config.receive_buffer as usize);
        assert!(self.send.len() <= self.send.capacity());
        if !self.board.is_empty() && self.state != State::Closed {
            let unsent = self.board.front().is_some_and(|r| r.transmissions == 0);
            assert!(unsent || !self.timers.retransmit.is_never(), "data in flight without a timer");
        }
        if matches!(self.state, State::FinWait2 | State::TimeWait) {
            assert_eq!(self.fin, Fin::Acked);
        }
    }
}

#[cfg(test)]
impl Connection {
    /// What the peer will send next, and its newest timestamp.
    pub(crate) fn newest_of_peer(&self) -> (SeqNumber, u32) {
        (self.rcv_nxt, self.agreed.ts_recent())
    }

    /// All state but the configuration and what counts the prediction itself.
    fn fingerprint(&self) -> String {
        let stats = Stats { predicted_acks: 0, predicted_data: 0, ..self.stats };
        let sending = (self.snd_una, self.snd_nxt, self.snd_wnd, self.snd_wl1, self.snd_wl2);
        let receiving = (self.rcv_nxt, self.rcv_edge, &self.receive, &self.reassembly);
        let rest = (&self.acking, &self.agreed, &self.timers, self.pending, self.fin);
        let repair = (&self.board, &self.rtt, &self.repairing, &self.cc, &self.pacer, &self.ecn);
        let repair = (repair, &self.path_mtu);
        format!("{:?}", (self.state, stats, sending, receiving, rest, repair))
    }
}
