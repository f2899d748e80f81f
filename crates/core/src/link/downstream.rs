//! The downstream of a cable television network: one transmitter at the head end, heard by every modem.
//!
//! Packets travel in cells (see [`super::tuner`]). Each logical channel has its own queue at the head end, and
//! those that have something take turns, a cell each. Beside the packets of the link whose channel this is, the
//! head end sends those of others: broadcasts, and what other subscribers have asked for. They take the cable's
//! time, and what the link's own modem does not filter reaches its host.
//!
//! Deviations: cells begin when there is one, without a common clock; nothing is sent where nothing waits;
//! what others send comes in a fixed rhythm. The modem judges a cell as it leaves the head end; the way to it
//! is the link's wire, which comes behind.

use super::csma::Outcome;
use super::tuner::{COUNTS, Cell, Heard, Pid, Piece, To, Tuner, TunerConfig, TunerStats};
use crate::Context;
use crate::frame::Frame;
use crate::time::{Duration, Instant};
use crate::units::{BitRate, RateClock};
use std::collections::VecDeque;

/// Bytes of a cell on the cable, and of those what it carries of a packet.
pub const CELL_BYTES: u64 = 188;
/// Bytes of a packet in a cell.
pub const CELL_DATA: u64 = 184;
/// Addresses, type and check sequence around a packet, as around an Ethernet's: an assumption.
pub const PACKET_HEADER: u64 = 14 + 4;
/// Packets of others that wait at the head end for each PID.
const STREAM_QUEUE: usize = 64;

/// How many cells a packet of `len` bytes takes.
pub const fn cells(len: u64) -> u64 {
    (len + PACKET_HEADER).div_ceil(CELL_DATA)
}

/// What the head end is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DownstreamConfig {
    /// Bits per second of cells. Above zero.
    pub rate: BitRate,
    /// What the caller knows the link's channel as.
    pub slot: u16,
    /// The logical channel of its packets.
    pub pid: Pid,
    /// The modem at its end.
    pub tuner: TunerConfig,
}

/// Packets of others, one like the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream {
    /// Their logical channel.
    pub pid: Pid,
    /// Whom they are for.
    pub to: To,
    /// What is in each, from the IP header on.
    pub bytes: Vec<u8>,
    /// Zeros behind that.
    pub elided: u32,
    /// From one to the next. Above zero.
    pub interval: Duration,
}

/// Whose a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    Link,
    Stream(usize),
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    owner: Owner,
    to: To,
    cells: u16,
    left: u16,
}

#[derive(Clone, Debug)]
struct Queue {
    pid: Pid,
    count: u8,
    packets: VecDeque<Packet>,
}

/// The head end's transmitter, what waits for it, and the one modem that matters.
#[derive(Clone, Debug)]
pub struct Downstream {
    config: DownstreamConfig,
    clock: RateClock,
    tuner: Tuner,
    streams: Vec<Stream>,
    /// When the next packet of each stream comes.
    next: Vec<Instant>,
    queues: Vec<Queue>,
    /// The queue whose cell is being sent, and until when.
    sending: Option<(usize, Instant)>,
    turn: usize,
    finished: VecDeque<Outcome>,
    strays: VecDeque<usize>,
    /// Packets of others that found no room at the head end.
    crowded_out: u64,
    /// Up to when everything has happened.
    now: Instant,
}

impl Downstream {
    /// A silent cable. Each stream begins after its first interval.
    ///
    /// # Panics
    /// When the rate or an interval is zero.
    pub fn new(config: DownstreamConfig, streams: Vec<Stream>) -> Self {
        assert!(streams.iter().all(|s| !s.interval.is_zero()), "a stream needs an interval");
        let mut pids: Vec<Pid> = streams.iter().map(|stream| stream.pid).collect();
        pids.push(config.pid);
        pids.sort_unstable();
        pids.dedup();
        let queue = |pid: Pid| Queue { pid, count: 0, packets: VecDeque::new() };
        Downstream {
            config,
            clock: RateClock::new(config.rate),
            tuner: Tuner::new(config.tuner),
            next: streams.iter().map(|stream| Instant::ZERO + stream.interval).collect(),
            streams,
            queues: pids.into_iter().map(queue).collect(),
            sending: None,
            turn: 0,
            finished: VecDeque::new(),
            strays: VecDeque::new(),
            crowded_out: 0,
            now: Instant::ZERO,
        }
    }

    /// What the modem has seen.
    pub const fn tuner(&self) -> &TunerStats {
        self.tuner.stats()
    }

    /// Packets of others that found no room at the head end.
    pub const fn crowded_out(&self) -> u64 {
        self.crowded_out
    }

    /// The link's channel begins with a frame of so many bits, which are whole cells.
    pub fn start(&mut self, now: Instant, bits: u64) {
        self.advance(now);
        let cells = u16::try_from(bits / (CELL_BYTES * 8)).unwrap_or(u16::MAX).max(1);
        let to = To::Station(self.config.tuner.station);
        let packet = Packet { owner: Owner::Link, to, cells, left: cells };
        self.queue(self.config.pid).push_back(packet);
        self.begin(now);
    }

    /// When there may be something to poll for.
    pub fn next_finish(&self) -> Option<Instant> {
        if !self.finished.is_empty() || !self.strays.is_empty() {
            return Some(self.now);
        }
        let cell = self.sending.map(|(_, end)| end);
        cell.into_iter().chain(self.next.iter().copied()).min()
    }

    /// Takes the end of the link's frame, if that has come by `now`.
    pub fn poll_finished(&mut self, now: Instant) -> Option<(u16, Outcome)> {
        self.advance(now);
        self.finished.pop_front().map(|outcome| (self.config.slot, outcome))
    }

    /// Takes a packet of others that the modem has not kept off its host.
    pub fn poll_stray(&mut self, now: Instant, cx: &mut Context) -> Option<(u16, Frame)> {
        self.advance(now);
        let stream = &self.streams[self.strays.pop_front()?];
        Some((self.config.slot, cx.frames.insert(&stream.bytes, stream.elided)))
    }

    fn queue(&mut self, pid: Pid) -> &mut VecDeque<Packet> {
        let known = self.queues.iter_mut().find(|queue| queue.pid == pid);
        &mut known.expect("a queue for every PID").packets
    }

    /// Lets happen what happens until `now`: ends of cells first, then packets of others.
    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
        loop {
            let cell = self.sending.filter(|(_, end)| *end <= now);
            let stream = (0..self.next.len()).min_by_key(|index| self.next[*index]);
            let stream = stream.filter(|index| self.next[*index] <= now);
            match (cell, stream) {
                (None, None) => return,
                (Some((queue, end)), Some(stream)) if end <= self.next[stream] => {
                    self.cell_sent(end, queue);
                }
                (Some((queue, end)), None) => self.cell_sent(end, queue),
                (_, Some(stream)) => self.stream_due(stream),
            }
        }
    }

    fn stream_due(&mut self, stream: usize) {
        let at = self.next[stream];
        let Stream { pid, to, bytes, elided, interval } = &self.streams[stream];
        let (pid, to, len) = (*pid, *to, bytes.len() as u64 + u64::from(*elided));
        self.next[stream] = at + *interval;
        let cells = u16::try_from(cells(len)).unwrap_or(u16::MAX);
        let queue = self.queue(pid);
        if queue.len() >= STREAM_QUEUE {
            self.crowded_out += 1;
            return;
        }
        queue.push_back(Packet { owner: Owner::Stream(stream), to, cells, left: cells });
        self.begin(at);
    }

    /// Begins with a cell of the queue whose turn it is, unless one is being sent.
    fn begin(&mut self, now: Instant) {
        if self.sending.is_some() {
            return;
        }
        let count = self.queues.len();
        let mut turns = (0..count).map(|n| (self.turn + n) % count);
        if let Some(queue) = turns.find(|index| !self.queues[*index].packets.is_empty()) {
            self.turn = (queue + 1) % count;
            self.sending = Some((queue, now + self.clock.advance(CELL_BYTES * 8)));
        }
    }

    fn cell_sent(&mut self, now: Instant, index: usize) {
        self.sending = None;
        let queue = &mut self.queues[index];
        let Some(packet) = queue.packets.front_mut() else {
            return;
        };
        let piece = match packet.left == packet.cells {
            true => Piece::First { to: packet.to, cells: packet.cells },
            false => Piece::Next,
        };
        let heard = self.tuner.hear(Cell { pid: queue.pid, count: queue.count, piece });
        queue.count = (queue.count + 1) % COUNTS;
        packet.left -= 1;
        if packet.left == 0 {
            let owner = packet.owner;
            queue.packets.pop_front();
            match (owner, heard) {
                (Owner::Link, Heard::Packet) => self.finished.push_back(Outcome::Sent),
                (Owner::Link, Heard::Nothing) => self.finished.push_back(Outcome::GivenUp),
                (Owner::Stream(stream), Heard::Packet) => self.strays.push_back(stream),
                (Owner::Stream(_), Heard::Nothing) => {}
            }
        }
        self.begin(now);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tuner::{Broadcasts, PIDS_MAX, Station};
    use super::*;

    /// A microsecond a bit, so that a cell takes 1.504 ms.
    const CELL_MICROS: u64 = CELL_BYTES * 8;

    fn cable(streams: Vec<Stream>, broadcasts: Broadcasts) -> Downstream {
        let station = Station::of_serial(1);
        let mut pids = [None; PIDS_MAX];
        pids[0] = Some(Pid(1));
        let tuner = TunerConfig { station, pids, broadcasts };
        let rate = BitRate::from_bps(1_000_000);
        Downstream::new(DownstreamConfig { rate, slot: 3, pid: Pid(1), tuner }, streams)
    }

    fn stream(pid: u16, to: To, len: u32, interval_ms: u64) -> Stream {
        let interval = Duration::from_millis(interval_ms);
        Stream { pid: Pid(pid), to, bytes: vec![0x45], elided: len - 1, interval }
    }

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    #[test]
    fn a_packet_takes_its_cells() {
        assert_eq!([0, 40, 166, 167, 1500].map(cells), [1, 1, 1, 2, 9]);
        let mut cable = cable(Vec::new(), Broadcasts::Taken);
        assert_eq!(cable.next_finish(), None);
        cable.start(at(0), 9 * CELL_BYTES * 8);
        assert_eq!(cable.poll_finished(at(9 * CELL_MICROS - 1)), None);
        assert_eq!(cable.poll_finished(at(9 * CELL_MICROS)), Some((3, Outcome::Sent)));
        assert_eq!(cable.next_finish(), None);
    }

    #[test]
    fn logical_channels_take_turns_by_the_cell() {
        let other = To::Station(Station::of_serial(2));
        let mut cable = cable(vec![stream(2, other, 700, 1)], Broadcasts::Taken);
        // 700 bytes are four cells, of which one is out when ours begin.
        cable.start(at(1000), 2 * CELL_BYTES * 8);
        assert_eq!(cable.poll_finished(at(1000 + 4 * CELL_MICROS - 1)), None);
        assert_eq!(cable.poll_finished(at(1000 + 4 * CELL_MICROS)), Some((3, Outcome::Sent)));
        assert_eq!(cable.tuner().broken, 0);
    }

    #[test]
    fn nobroadcast_keeps_a_flood_off_the_host_but_not_off_the_cable() {
        for (broadcasts, reach) in [(Broadcasts::Taken, 10), (Broadcasts::Refused, 0)] {
            let mut cable = cable(vec![stream(1, To::Everybody, 100, 10)], broadcasts);
            let mut cx = Context::new();
            let mut strays = 0;
            while let Some((slot, frame)) = cable.poll_stray(at(109_000), &mut cx) {
                assert_eq!((slot, cx.frames.len(frame)), (3, 100));
                strays += 1;
            }
            assert_eq!(strays, reach);
            assert_eq!(cable.tuner().broadcasts + cable.tuner().refused, 10);
        }
    }

    /// What has happened before a start was asked for is told at once, and not in the past.
    #[test]
    fn a_start_forgets_nothing_that_is_to_be_taken() {
        let mut cable = cable(vec![stream(1, To::Everybody, 100, 10)], Broadcasts::Taken);
        let mut cx = Context::new();
        cable.start(at(20_000), CELL_BYTES * 8);
        assert_eq!(cable.next_finish(), Some(at(20_000)));
        assert!(cable.poll_stray(at(20_000), &mut cx).is_some());
        assert!(cable.next_finish().is_some_and(|next| next > at(20_000)));
    }

    #[test]
    fn what_the_cable_cannot_carry_is_lost_at_the_head_end() {
        let mut cable = cable(vec![stream(1, To::Everybody, 1500, 1)], Broadcasts::Refused);
        cable.poll_finished(at(2_000_000));
        let sent = cable.tuner().refused;
        assert_eq!(sent, (2_000_000 - 1000) / (9 * CELL_MICROS));
        assert_eq!(cable.crowded_out(), 2000 - sent - STREAM_QUEUE as u64);
    }
}
