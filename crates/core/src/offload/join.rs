//! Joining: runs of TCP segments that follow each other become one packet of many segments, so that the
//! machine takes them in one piece. Kept for a moment only: whoever delivers takes what there is.

use super::header::{FIRST_ONLY, HEADERS_MAX, LAST_ONLY, Version, sequence, tcp};
use crate::frame::{Frame, Frames};
use crate::wire::checksum::Checksum;
use crate::wire::ip::flow_hash;
use crate::wire::ipv4::Protocol;
use crate::wire::tcp::Flags;
use crate::wire::vnet::{self, Cwr, Kind, Unfinished};

/// Packets in one run at most.
pub const PACKETS_MAX: usize = 64;
/// Runs that are collected before they must be delivered: flows that may take turns.
const RUNS_MAX: usize = 32;
/// The longest packet.
const BYTES_MAX: usize = u16::MAX as usize;
/// Bytes in front of a run's payloads at most.
pub const HEAD_BYTES_MAX: usize = vnet::HEADER_LEN + HEADERS_MAX;

/// Where a segment that may be joined has what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Segment {
    version: Version,
    upper_at: usize,
    payload_at: usize,
    flags: u8,
}

impl Segment {
    /// Whole TCP segments with payload, nothing but ordinary flags, and no IP options.
    fn parse(packet: &[u8]) -> Option<Segment> {
        let version = Version::of(packet)?;
        let u16_at = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
        let (upper_at, protocol, len) = match version {
            Version::V4 => (20, packet[9], usize::from(u16_at(2))),
            Version::V6 => (40, packet[6], usize::from(u16_at(4)) + 40),
        };
        // No options, and no part of a larger packet.
        let is_plain = version == Version::V6 || packet[0] == 0x45 && u16_at(6) & 0x3fff == 0;
        if !is_plain || protocol != Protocol::TCP.0 || len != packet.len() {
            return None;
        }
        let header = packet.get(upper_at..upper_at + crate::wire::tcp::HEADER_LEN_MIN)?;
        let header_len = usize::from(header[tcp::OFFSET] >> 4) * 4;
        let payload_at = upper_at + header_len;
        let flags = header[tcp::FLAGS];
        let ordinary = LAST_ONLY | Flags::ACK.0 | Flags::ECE.0 | FIRST_ONLY;
        let fits = header_len >= header.len() && payload_at < packet.len();
        let is_data = flags & !ordinary == 0 && flags & Flags::ACK.0 != 0;
        (fits && is_data).then_some(Segment { version, upper_at, payload_at, flags })
    }

    /// Whether the packet's checksums are right.
    fn verifies(&self, packet: &[u8]) -> bool {
        let (ip, upper) = packet.split_at(self.upper_at);
        let mut checksum = Checksum::new();
        if self.version == Version::V4 {
            checksum.add_words(ip);
            if checksum.finish() != 0 {
                return false;
            }
        }
        let mut checksum = self.version.pseudo_header(ip, Protocol::TCP.0, upper.len());
        checksum.add_bytes(upper);
        checksum.finish() == 0
    }

    /// Whether two packets have the same headers but for what a run counts on.
    fn is_like(&self, first: &[u8], packet: &[u8]) -> bool {
        let same = |from: usize, to: usize| first[from..to] == packet[from..to];
        let ip = match self.version {
            Version::V4 => same(0, 2) && same(6, 10) && same(12, 20),
            Version::V6 => same(0, 4) && same(6, 40),
        };
        let at = self.upper_at;
        // Ports; acknowledgment and offset; window; urgent pointer and options.
        ip && same(at, at + 4)
            && same(at + 8, at + 13)
            && same(at + 14, at + 16)
            && same(at + 18, self.payload_at)
    }
}

/// Packets of one flow in order: many that are one, or one.
#[derive(Clone, Default, Debug)]
pub struct Run {
    flow: u32,
    frames: Vec<Frame>,
    /// What the first is; `None` when nothing may follow any more.
    open: Option<Segment>,
    payload_at: usize,
    /// Payload of every segment but the last.
    segment_bytes: usize,
    payload_bytes: usize,
    next_seq: u32,
    last_flags: u8,
}

impl Run {
    fn begin(&mut self, flow: u32, frame: Frame, packet: &[u8]) {
        self.flow = flow;
        self.frames.clear();
        self.frames.push(frame);
        self.open = Segment::parse(packet);
        if let Some(segment) = self.open {
            self.payload_at = segment.payload_at;
            self.segment_bytes = packet.len() - segment.payload_at;
            self.payload_bytes = 0;
            self.next_seq = sequence(&packet[segment.upper_at..]);
            self.note(segment, self.segment_bytes);
        }
    }

    /// Counts the last packet, and closes the run when nothing may follow it.
    fn note(&mut self, segment: Segment, payload: usize) {
        self.payload_bytes += payload;
        self.next_seq = self.next_seq.wrapping_add(payload as u32);
        self.last_flags = segment.flags;
        let longest = self.payload_at + self.payload_bytes + self.segment_bytes;
        if segment.flags & LAST_ONLY != 0
            || payload < self.segment_bytes
            || self.frames.len() == PACKETS_MAX
            || longest > BYTES_MAX
        {
            self.open = None;
        }
    }

    /// Takes the packet if it is what comes next.
    fn extend(&mut self, frames: &Frames, frame: Frame, packet: &[u8]) -> bool {
        let Some((head, segment)) = self.open.zip(Segment::parse(packet)) else {
            return false;
        };
        let first = frames.bytes(self.frames[0]);
        let payload = packet.len() - segment.payload_at;
        let nth = self.frames.len() as u16;
        let identification = match head.version {
            Version::V4 => head.version.identification(first).wrapping_add(nth),
            Version::V6 => 0,
        };
        let follows = (head.version, head.payload_at) == (segment.version, segment.payload_at)
            && sequence(&packet[segment.upper_at..]) == self.next_seq
            && payload <= self.segment_bytes
            && segment.flags & !LAST_ONLY == head.flags & !FIRST_ONLY
            && segment.version.identification(packet) == identification
            && segment.is_like(first, packet)
            && segment.verifies(packet)
            && (nth > 1 || head.verifies(first));
        if follows {
            self.frames.push(frame);
            self.note(segment, payload);
        }
        follows
    }

    /// The packets, first to last.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Writes what goes in front of the bodies: the device's header, and of a run its headers. Answers
    /// how many bytes these are.
    pub fn emit_head(&self, frames: &Frames, head: &mut [u8; HEAD_BYTES_MAX]) -> usize {
        let (vnet, rest) = head.split_at_mut(vnet::HEADER_LEN);
        let first = frames.bytes(self.frames[0]);
        let Some(segment) = Segment::parse(first).filter(|_| self.frames.len() > 1) else {
            vnet.copy_from_slice(&vnet::Repr::default().emit());
            return vnet::HEADER_LEN;
        };
        let headers = &mut rest[..self.payload_at];
        headers.copy_from_slice(&first[..self.payload_at]);
        let (ip, header) = headers.split_at_mut(segment.upper_at);
        header[tcp::FLAGS] |= self.last_flags & LAST_ONLY;
        let upper_len = header.len() + self.payload_bytes;
        let partial = !segment.version.pseudo_header(ip, Protocol::TCP.0, upper_len).finish();
        header[tcp::CHECKSUM].copy_from_slice(&partial.to_be_bytes());
        let identification = segment.version.identification(ip);
        segment.version.seal(ip, self.payload_at + self.payload_bytes, identification);
        let repr = vnet::Repr {
            checksum: Some(Unfinished { start: segment.upper_at as u16, field: 16 }),
            run: Some(vnet::Run {
                kind: match segment.version {
                    Version::V4 => Kind::TcpV4,
                    Version::V6 => Kind::TcpV6,
                },
                cwr: if segment.flags & FIRST_ONLY != 0 { Cwr::First } else { Cwr::Clear },
                headers: self.payload_at as u16,
                payload: self.segment_bytes as u16,
            }),
        };
        vnet.copy_from_slice(&repr.emit());
        vnet::HEADER_LEN + self.payload_at
    }

    /// What comes behind the head: of a run the payloads, else the packet.
    pub fn bodies<'f>(&self, frames: &'f Frames) -> impl Iterator<Item = &'f [u8]> {
        let skipped = if self.frames.len() > 1 { self.payload_at } else { 0 };
        self.frames.iter().map(move |frame| &frames.bytes(*frame)[skipped..])
    }
}

/// Collects packets and joins those that may be joined. Flows keep their order.
#[derive(Clone, Default, Debug)]
pub struct Joiner {
    runs: Vec<Run>,
    /// How many of them are in use: the others keep their room.
    used: usize,
}

impl Joiner {
    /// One that has nothing.
    pub fn new() -> Joiner {
        Joiner::default()
    }

    /// Takes a packet, in the order it is to be delivered in. Must not be called when
    /// [`Joiner::is_full`].
    pub fn push(&mut self, frames: &Frames, frame: Frame) {
        let packet = frames.bytes(frame);
        let used = &mut self.runs[..self.used];
        // Most packets go on with the last run, and need no hash.
        if used.last_mut().is_some_and(|run| run.extend(frames, frame, packet)) {
            return;
        }
        let flow = flow_hash(packet);
        let latest = used.iter_mut().rev().find(|run| run.flow == flow);
        if latest.is_some_and(|run| run.extend(frames, frame, packet)) {
            return;
        }
        if self.used == self.runs.len() {
            self.runs.push(Run::default());
        }
        self.runs[self.used].begin(flow, frame, packet);
        self.used += 1;
    }

    /// Whether it must be emptied before it takes more.
    pub const fn is_full(&self) -> bool {
        self.used >= RUNS_MAX
    }

    /// What it has, in an order that keeps that of each flow.
    pub fn runs(&self) -> &[Run] {
        &self.runs[..self.used]
    }

    /// Forgets what it has; the frames are the caller's.
    pub fn clear(&mut self) {
        self.used = 0;
    }
}
