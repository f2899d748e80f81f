//! What a host has done, as time: what the core counted, at the prices of a cost table.
//!
//! The core builds segments a little ahead of the card. What building one took is owed until the card's
//! driver takes it, so that a driver who has room for one makes the processor wait for the wire. What
//! has been received is copied when the process that reads it runs.

use std::collections::VecDeque;
use std::net::IpAddr;
use trunkline_core::time::Duration;
use trunkline_core::wire::{ipv6, udp};
use trunkline_core::work::Work;
use trunkline_plan::cpu::{CostTable, Item};

/// Of this many switches to the same process as before one is to another (80 % in the note of 1988).
const SWITCHES_PER_OTHER: u32 = 5;

/// What is counted of a host's work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) copied: u64,
    pub(crate) checksummed: u64,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) predicted: u64,
}

impl Counts {
    /// The counters as they stand.
    pub(crate) fn of(work: &Work) -> Counts {
        Counts {
            copied: work.bytes_copied,
            checksummed: work.bytes_checksummed,
            sent: work.segments_sent,
            received: work.segments_received,
            predicted: work.fast_path_hits,
        }
    }

    /// What has been added since.
    pub(crate) fn since(self, before: Counts) -> Counts {
        Counts {
            copied: self.copied - before.copied,
            checksummed: self.checksummed - before.checksummed,
            sent: self.sent - before.sent,
            received: self.received - before.received,
            predicted: self.predicted - before.predicted,
        }
    }
}

/// What a packet is to the protocols of its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Kind {
    /// A segment of TCP.
    Segment,
    /// A datagram of UDP, or a part of one.
    Datagram,
    /// Anything else: ICMP, ARP.
    #[default]
    Other,
    /// For somebody else, whatever is in it.
    PassedOn,
}

/// A packet as far as its price depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Packet {
    /// Bytes behind the headers, elided ones included; of TCP and UDP only.
    pub(crate) payload: u64,
    /// Bytes behind the IP header.
    pub(crate) upper: u64,
    /// Bytes of headers of IP and what is in it.
    pub(crate) headers: u64,
    pub(crate) kind: Kind,
    /// Who sent it; none where it is no packet of IP.
    pub(crate) source: Option<IpAddr>,
}

impl Packet {
    /// Reads as much of a packet of IP as is needed; what is no packet, such as a question for an address,
    /// costs as one without anything.
    pub(crate) fn read(bytes: &[u8], len: usize) -> Packet {
        let at = |place: usize| bytes.get(place).copied().unwrap_or_default();
        let (ip, protocol, is_later_part) = match at(0) >> 4 {
            4 => (usize::from(at(0) & 0xf) * 4, at(9), (at(6) & 0x1f, at(7)) != (0, 0)),
            6 => (ipv6::HEADER_LEN, at(6), false),
            _ => return Packet::default(),
        };
        let (kind, upper) = match protocol {
            6 => (Kind::Segment, usize::from(at(ip + 12) >> 4) * 4),
            17 => (Kind::Datagram, udp::HEADER_LEN),
            _ => (Kind::Other, 0),
        };
        let headers = if is_later_part { ip } else { (ip + upper).min(len) };
        Packet {
            payload: if kind == Kind::Other { 0 } else { (len - headers.min(len)) as u64 },
            upper: len.saturating_sub(ip) as u64,
            headers: headers as u64,
            kind,
            source: source(bytes),
        }
    }

    /// Whether a process sends it; what else leaves is an answer to what came in, or is passed on.
    pub(crate) fn is_of_process(&self) -> bool {
        matches!(self.kind, Kind::Segment | Kind::Datagram)
    }
}

/// The source address of a packet.
fn source(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.first()? >> 4 {
        4 => Some(IpAddr::from(*bytes.get(12..)?.first_chunk::<4>()?)),
        6 => Some(IpAddr::from(*bytes.get(8..)?.first_chunk::<16>()?)),
        _ => None,
    }
}

/// Segments that were built and not taken by the driver yet.
#[derive(Clone, Copy, Debug)]
struct Owed {
    segments: u64,
    copied: u64,
    checksummed: u64,
}

/// Where time went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Spent {
    /// In protocols: of fixed costs only, without copies and checksums.
    pub(crate) protocols: Duration,
    /// On all other fixed costs.
    pub(crate) rest: Duration,
    /// On bytes.
    pub(crate) bytes: Duration,
}

/// The prices, and what is owed.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    costs: CostTable,
    owed: VecDeque<Owed>,
    /// Bytes received and not copied to their reader.
    unread: u64,
    /// Bytes copied from the writer and not sent.
    ahead: u64,
    switches: u32,
    spent: Spent,
}

impl Ledger {
    pub(crate) fn new(costs: CostTable) -> Ledger {
        Ledger {
            costs,
            owed: VecDeque::new(),
            unread: 0,
            ahead: 0,
            switches: 0,
            spent: Spent::default(),
        }
    }

    pub(crate) fn spent(&self) -> Spent {
        self.spent
    }

    /// The host has built segments.
    pub(crate) fn built(&mut self, counts: Counts) {
        if counts.sent > 0 {
            let Counts { sent: segments, copied, checksummed, .. } = counts;
            self.owed.push_back(Owed { segments, copied, checksummed });
        }
    }

    /// What taking in a packet takes; segments built on the way are owed.
    pub(crate) fn received(&mut self, packet: Packet, counts: Counts) -> Duration {
        let pullup = match self.costs.is_on(Item::PullsUp) {
            true => self.costs.time(Item::Pullup),
            false => Duration::ZERO,
        };
        self.spent.rest += pullup;
        let is_segment = counts.received > 0;
        let copied = if is_segment { counts.copied.min(packet.payload) } else { 0 };
        // All fragments of a datagram are summed when the last is there.
        let checksummed = match counts.sent {
            0 => counts.checksummed,
            _ => counts.checksummed.min(packet.upper),
        };
        self.unread += copied;
        self.built(Counts {
            copied: counts.copied - copied,
            checksummed: counts.checksummed - checksummed,
            ..counts
        });
        let item = match (counts.predicted, packet.payload) {
            _ if !is_segment => Item::Packet,
            (1.., _) => Item::Segment,
            (0, 0) => Item::SlowAck,
            (0, _) => Item::SlowData,
        };
        pullup + self.protocols(item) + self.bytes(Item::Checksum, checksummed)
    }

    /// What handing a packet to the card takes, with what was owed for building it. One that is passed on
    /// lies in the one buffer it came in.
    pub(crate) fn sent(&mut self, packet: Packet) -> Duration {
        let is_passed_on = packet.kind == Kind::PassedOn;
        let has_data = packet.payload > 0 && !is_passed_on;
        let buffers = if has_data { 2 } else { 1 };
        let mut rest = self.costs.time(Item::Device) * buffers;
        if has_data && packet.kind == Kind::Segment {
            rest += self.costs.time(Item::Stall);
        }
        if has_data && packet.headers + ETHERNET_HEADER < self.costs.value(Item::FirstBuffer) {
            rest += self.costs.time(Item::Rebuffer);
        }
        self.spent.rest += rest;
        let bytes = match packet.kind {
            Kind::PassedOn => Duration::ZERO,
            Kind::Other => self.bytes(Item::Checksum, packet.upper),
            Kind::Datagram => self.copied_and_checksummed(packet.payload, packet.upper),
            Kind::Segment => {
                let (copied, checksummed) = self.settle(packet);
                let chunks = match self.costs.is_on(Item::Combined) {
                    true => copied,
                    false => self.chunks(copied),
                };
                self.copied_and_checksummed(chunks, checksummed)
            }
        };
        let item = if packet.kind == Kind::Segment { Item::Segment } else { Item::Packet };
        rest + self.protocols(item) + bytes
    }

    /// What a process that has run is to pay at once: datagrams it has read. What it has built is owed.
    pub(crate) fn ran(&mut self, counts: Counts) -> Duration {
        self.built(counts);
        match counts.sent {
            0 => self.bytes(Item::Copy, counts.copied),
            _ => Duration::ZERO,
        }
    }

    /// What waking so many processes takes, and what they read.
    pub(crate) fn woken(&mut self, processes: u32) -> Duration {
        let mut rest = Duration::ZERO;
        for _ in 0..processes {
            self.switches = (self.switches + 1) % SWITCHES_PER_OTHER;
            rest += self.costs.time(Item::Wakeup);
            if self.switches == 0 || !self.costs.is_on(Item::SkipSameProcess) {
                rest += self.costs.time(Item::Switch);
            }
        }
        self.spent.rest += rest;
        let unread = std::mem::take(&mut self.unread);
        rest + self.bytes(Item::Copy, unread)
    }

    /// What serving an interrupt takes.
    pub(crate) fn interrupted(&mut self) -> Duration {
        let interrupt = self.costs.time(Item::Interrupt);
        self.spent.rest += interrupt;
        interrupt
    }

    /// What the card needs of the bus for a packet.
    pub(crate) fn bus(&self, bytes: u64) -> Duration {
        per_byte(self.costs.value(Item::Bus), bytes)
    }

    /// Asserts what must always hold.
    pub(crate) fn check_invariants(&self) {
        assert!(self.owed.iter().all(|owed| owed.segments > 0), "owed for no segment");
        let chunk = self.costs.value(Item::Chunk).max(1);
        assert!(self.ahead < chunk, "{} bytes copied ahead of a chunk of {chunk}", self.ahead);
    }

    /// What is owed for a segment: bytes copied and bytes checksummed. For one that nobody has counted it is
    /// all that is in it.
    fn settle(&mut self, packet: Packet) -> (u64, u64) {
        let Some(first) = self.owed.front_mut() else { return (packet.payload, packet.upper) };
        // Those that were built at once are alike.
        let share = |total: u64| total / first.segments;
        let (copied, checksummed) = (share(first.copied), share(first.checksummed));
        first.segments -= 1;
        first.copied -= copied;
        first.checksummed -= checksummed;
        if first.segments == 0 {
            self.owed.pop_front();
        }
        (copied, checksummed)
    }

    /// What is sent is copied and summed.
    fn copied_and_checksummed(&mut self, copied: u64, checksummed: u64) -> Duration {
        if !self.costs.is_on(Item::Combined) {
            return self.bytes(Item::Copy, copied) + self.bytes(Item::Checksum, checksummed);
        }
        let both = copied.min(checksummed);
        self.bytes(Item::CopyAndChecksum, both) + self.bytes(Item::Checksum, checksummed - both)
    }

    /// Bytes to copy so that `needed` can be sent: whole chunks.
    fn chunks(&mut self, needed: u64) -> u64 {
        let chunk = self.costs.value(Item::Chunk).max(1);
        let missing = needed.saturating_sub(self.ahead);
        let copied = missing.div_ceil(chunk) * chunk;
        self.ahead = self.ahead + copied - needed;
        copied
    }

    fn protocols(&mut self, item: Item) -> Duration {
        let cost = self.costs.time(item);
        self.spent.protocols += cost;
        cost
    }

    fn bytes(&mut self, item: Item, bytes: u64) -> Duration {
        let cost = per_byte(self.costs.value(item), bytes);
        self.spent.bytes += cost;
        cost
    }
}

/// Bytes in front of a packet in its first buffer.
const ETHERNET_HEADER: u64 = 14;

fn per_byte(picos: u64, bytes: u64) -> Duration {
    Duration::from_nanos(picos.saturating_mul(bytes) / 1000)
}
