//! Ethernet: switches with a queue before each port's transmitter, the cables to machines, and the cards of machines
//! on half-duplex segments.
//!
//! Store and forward. Unless it is to learn, a switch knows from the start behind which port every machine is, as one
//! that has heard from all of them does. What is for everybody leaves by all other ports. The queue is counted in
//! packets' bytes, without the Ethernet header. Ports that lead to one machine together are a [`group`].

pub(crate) mod address;
pub(crate) mod group;
pub(crate) mod segment;

use group::{Group, Jack};
use segment::Segment;
use std::collections::VecDeque;
use trunkline_core::Context;
use trunkline_core::frame::{Frame, LinkId};
use trunkline_core::link::channel::Channel;
use trunkline_core::link::framing::Header;
use trunkline_core::queue::{Queue, SharedBuffer};
use trunkline_core::time::{Duration, Instant};
use trunkline_core::wire::ethernet;
use trunkline_core::wire::mac::MacAddress;
use trunkline_core::work::{DropReason, Work};
use trunkline_plan::network::Learning;

/// What is at one end of a cable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// A host of the world.
    Host(usize),
    /// A port of a switch.
    Port {
        /// The switch.
        switch: usize,
        /// The port.
        port: usize,
    },
    /// A half-duplex segment, which all its stations hear.
    Segment(usize),
}

impl End {
    /// The host, if it is one.
    pub(crate) fn host(self) -> Option<usize> {
        match self {
            End::Host(host) => Some(host),
            End::Port { .. } | End::Segment(_) => None,
        }
    }
}

/// One direction of a cable, or a machine's way onto its segment.
pub(crate) struct Cable {
    pub(crate) channel: Channel,
    pub(crate) from: End,
    pub(crate) to: End,
    /// The cable, as its machine calls it.
    pub(crate) link: LinkId,
    /// What is left of a host's burst, and the bytes of it that are out and not reported yet.
    pub(crate) handed: VecDeque<Frame>,
    pub(crate) unreported: u64,
}

impl Cable {
    pub(crate) fn new(channel: Channel, from: End, to: End, link: LinkId) -> Cable {
        Cable { channel, from, to, link, handed: VecDeque::new(), unreported: 0 }
    }

    /// Bytes in front of a packet in its frames.
    pub(crate) fn header_len(&self) -> usize {
        match self.channel.config().framing.header {
            Header::EthernetFrame => ethernet::HEADER_LEN,
            _ => 0,
        }
    }
}

/// The memory of a switch.
pub(crate) enum Buffers {
    /// Every port has its own.
    Own(Vec<Queue>),
    /// All share one.
    Shared(SharedBuffer),
}

impl Buffers {
    fn bytes(&self, port: usize) -> u64 {
        match self {
            Buffers::Own(queues) => queues[port].bytes(),
            Buffers::Shared(shared) => shared.port(port).map_or(0, Queue::bytes),
        }
    }

    fn len(&self, port: usize) -> usize {
        match self {
            Buffers::Own(queues) => queues[port].len(),
            Buffers::Shared(shared) => shared.port(port).map_or(0, Queue::len),
        }
    }
}

/// What a port has counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter {
    /// Packets given up.
    pub(crate) dropped: u64,
    /// Packets marked.
    pub(crate) marked: u64,
    /// The most bytes that waited.
    pub(crate) queue_max: u64,
    /// Bytes waiting times nanoseconds, from the end of the warm-up on.
    area: u128,
    /// Since when the queue is as long as it is.
    since: Instant,
    warmup_until: Instant,
}

/// What queues have counted, of all ports.
#[derive(Clone, Copy)]
struct Counted {
    dropped: u64,
    marked: u64,
}

impl Counted {
    fn of(work: &Work) -> Counted {
        let dropped = work.dropped(DropReason::QueueFull) + work.dropped(DropReason::Congestion);
        Counted { dropped, marked: work.frames_marked }
    }
}

impl Meter {
    /// Whatever has been counted since then was at this port.
    fn count_since(&mut self, before: Counted, work: &Work) {
        let now = Counted::of(work);
        self.dropped += now.dropped - before.dropped;
        self.marked += now.marked - before.marked;
    }

    fn new(warmup: Duration) -> Meter {
        let warmup_until = Instant::ZERO + warmup;
        Meter { dropped: 0, marked: 0, queue_max: 0, area: 0, since: warmup_until, warmup_until }
    }

    /// The queue, `bytes` long until now, is about to change.
    fn passed(&mut self, now: Instant, bytes: u64) {
        if now > self.since {
            self.area += u128::from(bytes) * u128::from((now - self.since).as_nanos());
            self.since = now;
        }
    }

    /// The bytes that waited in the mean over time; none before the warm-up is over.
    pub(crate) fn queue_mean(&self, now: Instant, bytes: u64) -> Option<f64> {
        let mut meter = *self;
        meter.passed(now, bytes);
        let span = (now > self.warmup_until).then(|| now - self.warmup_until)?;
        Some(meter.area as f64 / span.as_nanos() as f64)
    }
}

/// A switch.
pub(crate) struct Switch {
    buffers: Buffers,
    /// The outgoing cable of each port.
    cables: Vec<usize>,
    meters: Vec<Meter>,
    /// The port that leads to each machine, the first of several.
    ports: Vec<Option<u16>>,
    learning: Learning,
    pub(crate) groups: Vec<Group>,
}

impl Switch {
    pub(crate) fn new(
        buffers: Buffers,
        cables: Vec<usize>,
        ports: Vec<Option<u16>>,
        learning: Learning,
        groups: Vec<Group>,
        warmup: Duration,
    ) -> Switch {
        let meters = vec![Meter::new(warmup); cables.len()];
        Switch { buffers, cables, meters, ports, learning, groups }
    }

    /// Whether it sends what is for a machine it has not heard from to all ports.
    pub(crate) fn learns(&self) -> bool {
        self.learning == Learning::Learns
    }

    /// A frame has come in at a port, from the machine that `source` tells.
    pub(crate) fn learn(&mut self, port: usize, source: impl FnOnce() -> usize) {
        if self.learns()
            && let Some(known) = self.ports.get_mut(source())
        {
            *known = Some(port as u16);
        }
    }

    /// How many ports it has.
    pub(crate) fn len(&self) -> usize {
        self.cables.len()
    }

    /// The port that leads to a machine, the first of several.
    pub(crate) fn port_to(&self, machine: usize) -> Option<usize> {
        self.ports.get(machine).copied().flatten().map(usize::from)
    }

    /// What a port has counted, and the bytes that wait there.
    pub(crate) fn meter(&self, port: usize) -> (&Meter, u64) {
        (&self.meters[port], self.buffers.bytes(port))
    }

    /// The outgoing cable of a port.
    pub(crate) fn cable(&self, port: usize) -> usize {
        self.cables[port]
    }

    /// Whether nothing waits at a port.
    pub(crate) fn is_empty(&self, port: usize) -> bool {
        self.buffers.len(port) == 0
    }

    fn queued(&self) -> usize {
        (0..self.cables.len()).map(|port| self.buffers.len(port)).sum()
    }

    /// Puts a frame into a port's queue, or gives it up. A queue that refuses nothing may give it up all the
    /// same, or another.
    pub(crate) fn push(&mut self, now: Instant, cx: &mut Context, port: usize, frame: Frame) {
        let before = self.buffers.bytes(port);
        let counted = Counted::of(&cx.work);
        let pushed = match &mut self.buffers {
            Buffers::Own(queues) => queues[port].push(now, cx, frame),
            Buffers::Shared(shared) => shared.push(now, cx, port, frame),
        };
        let meter = &mut self.meters[port];
        meter.passed(now, before);
        match pushed {
            Ok(()) => meter.queue_max = meter.queue_max.max(self.buffers.bytes(port)),
            Err(refused) => cx.drop_frame(refused.frame, refused.reason),
        }
        meter.count_since(counted, &cx.work);
    }

    /// The next frame of a port's queue.
    pub(crate) fn pop(&mut self, now: Instant, cx: &mut Context, port: usize) -> Option<Frame> {
        self.meters[port].passed(now, self.buffers.bytes(port));
        let counted = Counted::of(&cx.work);
        let popped = match &mut self.buffers {
            Buffers::Own(queues) => queues[port].pop(now, cx),
            Buffers::Shared(shared) => shared.pop(now, cx, port),
        };
        self.meters[port].count_since(counted, &cx.work);
        popped.map(|(frame, _)| frame)
    }
}

/// All switches and cables of a world.
#[derive(Default)]
pub(crate) struct Fabric {
    pub(crate) cables: Vec<Cable>,
    pub(crate) switches: Vec<Switch>,
    pub(crate) segments: Vec<Segment>,
    /// The outgoing cables of each host.
    pub(crate) cards: Vec<Vec<usize>>,
    /// The Ethernet address of each machine.
    pub(crate) macs: Vec<MacAddress>,
    /// Where the plan's links to switches are plugged in, by their position in the plan.
    pub(crate) jacks: Vec<Option<Jack>>,
}

impl Fabric {
    /// How many cards a host has.
    pub(crate) fn cards_of(&self, host: usize) -> usize {
        self.cards.get(host).map_or(0, Vec::len)
    }

    /// The outgoing cable of a host's card, if it is idle.
    pub(crate) fn idle_card(&self, host: usize, card: usize) -> Option<usize> {
        let cable = self.cards[host][card];
        self.cables[cable].channel.idle().then_some(cable)
    }

    /// Frames on cables and in switches.
    pub(crate) fn held_frames(&self) -> usize {
        let on =
            |c: &Cable| c.handed.len() + usize::from(!c.channel.idle()) + c.channel.wire().len();
        let cables: usize = self.cables.iter().map(on).sum();
        cables + self.switches.iter().map(Switch::queued).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use trunkline_core::queue::{FqCodel, FqCodelConfig, Limit};
    use trunkline_core::wire::ipv4::{Ecn, HEADER_LEN, Protocol, Repr};

    fn packet(cx: &mut Context, from: u8, ecn: Ecn) -> Frame {
        let repr = Repr {
            src: Ipv4Addr::new(10, 0, 0, from),
            dst: Ipv4Addr::new(10, 0, 0, 9),
            protocol: Protocol::UDP,
            dscp: 0,
            ecn,
            ident: 0,
            dont_fragment: true,
            ttl: 64,
            payload_len: 980,
        };
        let mut bytes = [0; HEADER_LEN];
        repr.emit(&mut bytes);
        cx.frames.insert(&bytes, 980)
    }

    /// A queue that refuses nothing gives up what it holds, the new frame too, and marks what leaves.
    #[test]
    fn a_port_counts_what_its_queue_gives_up_and_marks_by_itself() {
        let mut cx = Context::new();
        let limit = Limit::Packets(3);
        let queue = FqCodel::new(FqCodelConfig { limit, ..FqCodelConfig::new(1500) });
        let buffers = Buffers::Own(vec![Queue::FqCodel(queue)]);
        let (ports, learning) = (vec![Some(0)], Learning::Known);
        let mut switch = Switch::new(buffers, vec![0], ports, learning, vec![], Duration::ZERO);
        for from in [1, 2, 3, 3, 3, 3] {
            let frame = packet(&mut cx, from, Ecn::Ect0);
            switch.push(Instant::ZERO, &mut cx, 0, frame);
        }
        assert_eq!((switch.meter(0).0.dropped, cx.frames.live()), (3, 3));
        // Long enough that CoDel speaks up.
        let (mut now, mut sent) = (Instant::ZERO, 0);
        for _ in 0..40 {
            now += Duration::from_millis(50);
            let frame = packet(&mut cx, 1, Ecn::Ect0);
            switch.push(now, &mut cx, 0, frame);
            if let Some(frame) = switch.pop(now, &mut cx, 0) {
                sent += 1;
                cx.frames.remove(frame);
            }
        }
        let meter = *switch.meter(0).0;
        assert!(meter.marked > 0 && meter.marked < sent, "{} of {sent}", meter.marked);
        assert_eq!(meter.marked, cx.work.frames_marked);
    }
}
