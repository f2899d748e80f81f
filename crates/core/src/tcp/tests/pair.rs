//! Two connections and the wires between them, in virtual time.

use crate::Context;
use crate::frame::Frame;
use crate::rng::Rng;
use crate::seq::SeqNumber;
use crate::tcp::{Chunk, Config, Connection, Data, Event, Profile, Segment, State, Tuple};
use crate::time::{Duration, Instant};
use crate::units::{BitRate, Ratio};
use crate::wire::ip::{Marked, set_ce};
use crate::wire::tcp::{Flags, Integrity, Repr};
use crate::wire::{ipv4, ipv6, tcp};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

pub const A: usize = 0;
pub const B: usize = 1;

/// A segment as it went on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Instant,
    pub from: usize,
    pub repr: Repr,
    pub ecn: ipv4::Ecn,
    pub len: u32,
    /// Whether the wire marked it.
    pub marked: bool,
}

impl Sent {
    pub fn has(&self, flag: Flags) -> bool {
        self.repr.flags.contains(flag)
    }
}

struct Flying {
    at: Instant,
    order: u64,
    to: usize,
    frame: Frame,
}

/// What a wire does to frames beside delaying them.
#[derive(Clone, Copy)]
pub struct Faults {
    pub loss: Ratio,
    pub duplication: Ratio,
    /// Extra delay, drawn evenly up to this.
    pub jitter: Duration,
}

pub struct Pair {
    pub now: Instant,
    pub cx: Context,
    pub ends: [Option<Connection>; 2],
    pub configs: [Config; 2],
    pub delay: Duration,
    pub rate: Option<BitRate>,
    pub log: Vec<Sent>,
    pub logging: bool,
    /// Data segments of A to lose, counted from 0 over first transmissions and repeats alike.
    pub drop_data: Vec<u64>,
    /// Data segments of A to delay longer, counted in the same way, and how much longer.
    pub late_data: Vec<u64>,
    pub late_by: Duration,
    /// Data segments of A to mark, counted likewise.
    pub mark_data: Vec<u64>,
    /// Frames to mark by their place among all frames of an end.
    pub mark_nth: [Vec<u64>; 2],
    /// Frames that wait longer than this for the wire are marked.
    pub mark_after: Option<Duration>,
    /// The codepoint of segments that are made up.
    pub made_up: ipv4::Ecn,
    /// Frames to lose by their place among all frames of an end.
    pub drop_nth: [Vec<u64>; 2],
    pub cut: [bool; 2],
    /// Packets longer than this are lost.
    pub path_mtu: Option<usize>,
    pub faults: Option<Faults>,
    pub reads: [bool; 2],
    pub received: [Vec<u8>; 2],
    pub received_len: [u64; 2],
    pub keep_bytes: bool,
    pub events: [Vec<Event>; 2],
    flying: Vec<Flying>,
    order: u64,
    idle_at: [Instant; 2],
    data_sent: u64,
    frames_sent: [u64; 2],
    rng: Rng,
    pub iss: [SeqNumber; 2],
    tuples: [Tuple; 2],
}

pub fn tuple(end: usize) -> Tuple {
    let addr = |n: u8| SocketAddr::from((Ipv4Addr::new(10, 0, 0, n), 1000 + u16::from(n)));
    match end {
        A => Tuple { local: addr(1), remote: addr(2) },
        _ => Tuple { local: addr(2), remote: addr(1) },
    }
}

fn tuple_v6(end: usize) -> Tuple {
    let addr = |n: u16| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, n);
    let [a, b] = [1, 2].map(|n| SocketAddr::from((addr(n), 1000 + n)));
    match end {
        A => Tuple { local: a, remote: b },
        _ => Tuple { local: b, remote: a },
    }
}

/// Parses a whole packet, checksums verified.
pub fn parse(cx: &Context, frame: Frame) -> Segment {
    let bytes = cx.frames.bytes(frame);
    if bytes[0] >> 4 == 6 {
        return parse_v6(bytes, cx.frames.elided(frame));
    }
    let packet = ipv4::Packet::new_checked(bytes, cx.frames.elided(frame)).unwrap();
    let ip = ipv4::Repr::parse(&packet).unwrap();
    let segment = tcp::Packet::new_checked(packet.payload(), packet.payload_elided()).unwrap();
    let repr = Repr::parse(&segment, ip.src, ip.dst, Integrity::Intact).unwrap();
    Segment {
        repr,
        ecn: ip.ecn,
        payload_offset: packet.header_len() + segment.header_len(),
        payload_len: segment.payload_len() as u32,
    }
}

fn parse_v6(bytes: &[u8], elided: u32) -> Segment {
    let packet = ipv6::Packet::new_checked(bytes, elided).unwrap();
    let ip = ipv6::Repr::parse(&packet).unwrap();
    let segment = tcp::Packet::new_checked(packet.payload(), packet.payload_elided()).unwrap();
    Segment {
        repr: Repr::parse(&segment, ip.src, ip.dst, Integrity::Intact).unwrap(),
        ecn: ip.ecn,
        payload_offset: ipv6::HEADER_LEN + segment.header_len(),
        payload_len: segment.payload_len() as u32,
    }
}

impl Pair {
    pub fn new(a: Config, b: Config) -> Pair {
        Pair {
            now: Instant::ZERO,
            cx: Context::new(),
            ends: [None, None],
            configs: [a, b],
            delay: Duration::from_millis(50),
            rate: None,
            log: Vec::new(),
            logging: true,
            drop_data: Vec::new(),
            late_data: Vec::new(),
            late_by: Duration::ZERO,
            mark_data: Vec::new(),
            mark_nth: [Vec::new(), Vec::new()],
            mark_after: None,
            made_up: ipv4::Ecn::NotEct,
            drop_nth: [Vec::new(), Vec::new()],
            cut: [false; 2],
            path_mtu: None,
            faults: None,
            reads: [true; 2],
            received: [Vec::new(), Vec::new()],
            received_len: [0; 2],
            keep_bytes: true,
            events: [Vec::new(), Vec::new()],
            flying: Vec::new(),
            order: 0,
            idle_at: [Instant::ZERO; 2],
            data_sent: 0,
            frames_sent: [0; 2],
            rng: Rng::new(1),
            iss: [SeqNumber(0xffff_f000), SeqNumber(77)],
            tuples: [tuple(A), tuple(B)],
        }
    }

    pub fn modern() -> Pair {
        let config = Config::new(Profile::Modern, 1500);
        Pair::new(config.clone(), config)
    }

    pub fn over_ipv6(mut self) -> Pair {
        self.tuples = [tuple_v6(A), tuple_v6(B)];
        self
    }

    pub fn seed(&mut self, seed: u64) {
        self.rng = Rng::new(seed);
    }

    pub fn end(&mut self, end: usize) -> &mut Connection {
        self.ends[end].as_mut().unwrap()
    }

    pub fn connect(&mut self, end: usize) {
        let config = self.configs[end].clone();
        let (now, iss, tuple) = (self.now, self.iss[end], self.tuples[end]);
        self.ends[end] = Some(Connection::connect(now, &mut self.cx, config, tuple, iss));
        self.pump();
    }

    /// A connected pair; the log is empty.
    pub fn established(mut self) -> Pair {
        self.connect(A);
        self.run_for(Duration::from_secs(1));
        assert_eq!(self.end(A).state(), State::Established);
        assert_eq!(self.end(B).state(), State::Established);
        self.log.clear();
        self.data_sent = 0;
        self.frames_sent = [0; 2];
        self
    }

    pub fn write(&mut self, end: usize, data: Data<'_>) -> usize {
        let now = self.now;
        let n = self.end(end).write(now, data);
        self.pump();
        n
    }

    pub fn close(&mut self, end: usize) {
        let now = self.now;
        self.end(end).close(now);
        self.pump();
    }

    pub fn abort(&mut self, end: usize) {
        let now = self.now;
        self.end(end).abort(now);
        self.pump();
    }

    /// Reads all an end has.
    pub fn read(&mut self, end: usize) -> usize {
        let n = self.drain(end, usize::MAX);
        self.pump();
        n
    }

    /// Reads at most `max` bytes of what an end has.
    pub fn read_up_to(&mut self, end: usize, max: usize) {
        self.drain(end, max);
    }

    fn drain(&mut self, end: usize, max: usize) -> usize {
        let (kept, keep) = (&mut self.received[end], self.keep_bytes);
        let n = self.ends[end].as_mut().unwrap().read(&mut self.cx, max, |chunk| {
            if keep {
                match chunk {
                    Chunk::Bytes(bytes) => kept.extend_from_slice(bytes),
                    Chunk::Elided(n) => kept.resize(kept.len() + n, 0),
                }
            }
        });
        self.received_len[end] += n as u64;
        n
    }

    /// Takes what the ends want to send and say, until both are silent.
    pub fn pump(&mut self) {
        for end in [A, B] {
            while let Some(connection) = self.ends[end].as_mut() {
                connection.check_invariants();
                while let Some(event) = connection.poll_event() {
                    self.events[end].push(event);
                }
                if self.reads[end] && connection.readable() > 0 {
                    self.drain(end, usize::MAX);
                }
                let connection = self.ends[end].as_mut().unwrap();
                let Some(frame) = connection.poll_transmit(self.now, &mut self.cx) else {
                    assert!(connection.poll_transmit(self.now, &mut self.cx).is_none());
                    break;
                };
                self.launch(end, frame);
            }
        }
    }

    fn launch(&mut self, from: usize, frame: Frame) {
        let segment = parse(&self.cx, frame);
        let len = self.cx.frames.len(frame);
        assert!(len <= usize::from(self.configs[from].mtu));
        let serial = self.rate.map_or(Duration::ZERO, |r| r.time_for_bits(len as u64 * 8));
        let starts = self.idle_at[from].max(self.now);
        let leaves = starts + serial;
        self.idle_at[from] = leaves;
        let nth = self.frames_sent[from];
        self.frames_sent[from] += 1;
        let mut late = Duration::ZERO;
        let mut lost = self.cut[from] || self.drop_nth[from].contains(&nth);
        lost |= self.path_mtu.is_some_and(|mtu| len > mtu);
        let mut marked = self.mark_nth[from].contains(&nth)
            || self.mark_after.is_some_and(|longest| starts - self.now > longest);
        if from == A && segment.payload_len > 0 {
            lost |= self.drop_data.contains(&self.data_sent);
            if self.late_data.contains(&self.data_sent) {
                late = self.late_by;
            }
            marked |= self.mark_data.contains(&self.data_sent);
            self.data_sent += 1;
        }
        marked = marked && set_ce(self.cx.frames.bytes_mut(frame)) == Marked::Marked;
        if self.logging {
            let Segment { repr, ecn, payload_len: len, .. } = segment;
            self.log.push(Sent { at: self.now, from, repr, ecn, len, marked });
        }
        let mut arrives = leaves + self.delay + late;
        if let Some(faults) = self.faults {
            lost |= self.rng.chance(faults.loss);
            if self.rng.chance(faults.duplication) {
                let copy = self.cx.frames.duplicate(frame);
                let late = Duration::from_nanos(self.rng.below(faults.jitter.as_nanos() + 1));
                self.fly(arrives + late, 1 - from, copy);
            }
            arrives += Duration::from_nanos(self.rng.below(faults.jitter.as_nanos() + 1));
        }
        match lost {
            true => self.cx.frames.remove(frame),
            false => self.fly(arrives, 1 - from, frame),
        }
    }

    fn fly(&mut self, at: Instant, to: usize, frame: Frame) {
        let order = self.order;
        self.order += 1;
        let place = self.flying.partition_point(|f| (f.at, f.order) > (at, order));
        self.flying.insert(place, Flying { at, order, to, frame });
    }

    fn arrive(&mut self, to: usize, frame: Frame) {
        let segment = parse(&self.cx, frame);
        let now = self.now;
        if self.ends[to].is_none() {
            let opening = Flags::SYN | Flags::ACK;
            if segment.repr.flags.0 & opening.0 == Flags::SYN.0 {
                let config = self.configs[to].clone();
                let iss = self.iss[to];
                let tuple = self.tuples[to];
                let fresh = Connection::accept(now, &mut self.cx, config, tuple, iss, &segment);
                self.ends[to] = Some(fresh);
            }
            self.cx.frames.remove(frame);
            return;
        }
        let cx = &mut self.cx;
        self.ends[to].as_mut().unwrap().handle_frame(now, cx, frame, &segment);
    }

    /// Hands a made-up segment to an end.
    pub fn inject(&mut self, to: usize, repr: Repr, payload: &[u8]) {
        let from = self.tuples[1 - to];
        let repr = Repr { src_port: from.local.port(), dst_port: from.remote.port(), ..repr };
        let frame = self.cx.frames.insert(payload, 0);
        let segment = Segment {
            repr,
            ecn: self.made_up,
            payload_offset: 0,
            payload_len: payload.len() as u32,
        };
        let now = self.now;
        let cx = &mut self.cx;
        self.ends[to].as_mut().unwrap().handle_frame(now, cx, frame, &segment);
        self.pump();
    }

    fn next_at(&self) -> Option<Instant> {
        let timers = self.ends.iter().flatten().filter_map(|c| c.poll_timeout()).map(|t| t.0);
        timers.chain(self.flying.last().map(|f| f.at)).min()
    }

    /// One event; false when there is none until `until`.
    pub fn step(&mut self, until: Instant) -> bool {
        let Some(at) = self.next_at().filter(|at| *at <= until) else {
            self.now = self.now.max(until);
            return false;
        };
        self.now = self.now.max(at);
        if self.flying.last().is_some_and(|f| f.at <= at) {
            let flying = self.flying.pop().unwrap();
            self.arrive(flying.to, flying.frame);
        } else {
            for end in self.ends.iter_mut().flatten() {
                if end.poll_timeout().is_some_and(|(due, _)| due <= at) {
                    end.handle_timeout(self.now, &mut self.cx);
                }
            }
        }
        self.pump();
        true
    }

    pub fn run_for(&mut self, span: Duration) {
        let until = self.now + span;
        while self.step(until) {}
    }

    /// Writes `total` elided bytes at A as room appears and runs until B has them; returns the time.
    pub fn bulk(&mut self, total: u64, limit: Duration) -> Duration {
        let start = self.now;
        let goal = self.received_len[B] + total;
        let mut left = total;
        while self.received_len[B] < goal {
            let chunk = left.min(1 << 20) as usize;
            if chunk > 0 {
                left -= self.end(A).write(start, Data::Elided(chunk)) as u64;
                self.pump();
            }
            assert!(self.step(start + limit), "not delivered in {limit:?}");
        }
        self.now - start
    }

    pub fn sent_by(&self, from: usize) -> impl DoubleEndedIterator<Item = &Sent> {
        self.log.iter().filter(move |s| s.from == from)
    }

    pub fn data_lens(&self, from: usize) -> Vec<u32> {
        self.sent_by(from).map(|s| s.len).filter(|n| *n > 0).collect()
    }
}

/// Bytes that tell their place.
pub fn pattern(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i * 7 + i / 251 + 1) as u8).collect()
}
