//! TCP over memory: two connections that hand each other frames, with headers written, parsed and
//! checksummed, and nothing in between.

use std::hint::black_box;
use std::net::{Ipv4Addr, SocketAddr};
use trunkline_core::Context;
use trunkline_core::frame::Frame;
use trunkline_core::seq::SeqNumber;
use trunkline_core::tcp::{Config, Connection, Data, Profile, Segment, Tuple};
use trunkline_core::time::{Duration, Instant};
use trunkline_core::wire::{Integrity, ipv4, tcp};

const MTU: u16 = 1500;
/// Payload of a full segment with timestamps.
const PAYLOAD: usize = 1448;
/// The time a segment takes from one end to the other.
const HOP: Duration = Duration::from_micros(10);

/// Whether the usual segments are taken by header prediction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Prediction {
    On,
    Off,
}

/// Two ends that are connected.
pub struct Pair {
    now: Instant,
    cx: Context,
    ends: [Connection; 2],
    bytes: Vec<u8>,
}

/// As a host reads a packet.
fn parse(cx: &Context, frame: Frame) -> Segment {
    if let Some((segment, ..)) = Segment::read(&cx.frames, frame) {
        return segment;
    }
    let bytes = cx.frames.bytes(frame);
    let packet = ipv4::Packet::new_checked(bytes, cx.frames.elided(frame)).expect("our own packet");
    let ip = ipv4::Repr::parse(&packet).expect("our own header");
    let view =
        tcp::Packet::new_checked(packet.payload(), packet.payload_elided()).expect("our segment");
    let repr =
        tcp::Repr::parse(&view, ip.src, ip.dst, Integrity::Intact).expect("our own checksum");
    Segment {
        repr,
        ecn: ip.ecn,
        payload_offset: packet.header_len() + view.header_len(),
        payload_len: view.payload_len() as u32,
    }
}

impl Pair {
    /// Two connections in ESTABLISHED, with the first part of slow start behind them.
    pub fn new() -> Pair {
        Pair::with(Prediction::On)
    }

    fn with(prediction: Prediction) -> Pair {
        let mut cx = Context::new();
        let now = Instant::ZERO;
        let mut config = Config::new(Profile::Modern, MTU);
        config.header_prediction = prediction == Prediction::On;
        let a = SocketAddr::from((Ipv4Addr::new(10, 0, 0, 1), 1000));
        let b = SocketAddr::from((Ipv4Addr::new(10, 0, 0, 2), 2000));
        let ours = Tuple { local: a, remote: b };
        let theirs = Tuple { local: b, remote: a };
        let mut client = Connection::connect(now, &mut cx, config.clone(), ours, SeqNumber(1));
        let syn = client.poll_transmit(now, &mut cx).expect("a SYN");
        let segment = parse(&cx, syn);
        cx.frames.remove(syn);
        let server = Connection::accept(now, &mut cx, config, theirs, SeqNumber(2), &segment);
        let mut pair = Pair { now, cx, ends: [client, server], bytes: vec![0x5a; PAYLOAD * 64] };
        pair.carry(500);
        pair
    }

    /// Moves everything one end has to send to the other; returns the data segments moved.
    fn exchange(&mut self, from: usize) -> usize {
        let mut segments = 0;
        while let Some(frame) = self.ends[from].poll_transmit(self.now, &mut self.cx) {
            let segment = parse(&self.cx, frame);
            segments += usize::from(segment.payload_len > 0);
            self.ends[1 - from].handle_frame(self.now, &mut self.cx, frame, &segment);
        }
        segments
    }

    /// Carries at least so many full data segments from the first end to the second; returns their bytes.
    pub fn carry(&mut self, segments: usize) -> u64 {
        let (mut carried, mut bytes) = (0, 0);
        while carried < segments {
            self.now += HOP;
            let space = self.ends[0].send_space().min(self.bytes.len());
            self.ends[0].write(self.now, Data::Bytes(&self.bytes[..space]));
            carried += self.exchange(0);
            bytes += self.ends[1].read(&mut self.cx, usize::MAX, |chunk| {
                black_box(chunk);
            }) as u64;
            self.now += HOP;
            self.exchange(1);
            for end in &mut self.ends {
                while end.poll_event().is_some() {}
                if end.poll_timeout().is_some_and(|(at, _)| at <= self.now) {
                    end.handle_timeout(self.now, &mut self.cx);
                }
            }
        }
        bytes
    }
}

/// Both ends of one data segment and its share of an acknowledgment, real bytes, checksums on.
pub fn segment(units: usize) {
    Pair::new().carry(units);
}

/// Both ends of one data segment and its share of an acknowledgment, without a byte in memory: no copy, and no
/// checksum but the header's.
pub fn elided(units: usize, prediction: Prediction) {
    let mut pair = Pair::with(prediction);
    let mut carried = 0;
    while carried < units {
        pair.now += HOP;
        let space = pair.ends[0].send_space();
        pair.ends[0].write(pair.now, Data::Elided(space.min(PAYLOAD * 64)));
        carried += pair.exchange(0);
        pair.ends[1].read(&mut pair.cx, usize::MAX, |chunk| {
            black_box(chunk);
        });
        pair.now += HOP;
        pair.exchange(1);
        for end in &mut pair.ends {
            while end.poll_event().is_some() {}
        }
    }
}

/// The receiver's part of predicted data segments, counted in [`take_predicted`] alone: no payload bytes
/// in memory, so no copy and no checksum over them.
pub fn predicted(units: usize) {
    let mut pair = Pair::new();
    let mut frames = Vec::new();
    let mut taken = 0;
    while taken < units {
        pair.now += HOP;
        let space = pair.ends[0].send_space();
        pair.ends[0].write(pair.now, Data::Elided(space.min(PAYLOAD * 64)));
        while let Some(frame) = pair.ends[0].poll_transmit(pair.now, &mut pair.cx) {
            frames.push((frame, parse(&pair.cx, frame)));
        }
        for (frame, segment) in frames.drain(..) {
            taken += 1;
            take_predicted(&mut pair, frame, &segment);
        }
        pair.ends[1].read(&mut pair.cx, usize::MAX, |chunk| {
            black_box(chunk);
        });
        pair.now += HOP;
        pair.exchange(1);
        while pair.ends[0].poll_event().is_some() {}
        while pair.ends[1].poll_event().is_some() {}
    }
}

/// What one predicted segment costs its receiver.
#[inline(never)]
fn take_predicted(pair: &mut Pair, frame: Frame, segment: &Segment) {
    pair.ends[1].handle_frame(pair.now, &mut pair.cx, frame, segment);
}
