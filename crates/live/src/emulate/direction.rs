//! One direction of an emulated link: a queue, a transmitter and the wire behind it, from the core.
//!
//! A frame lies in the slab as the packet with its Ethernet header behind it, so that whoever marks or
//! reads the packet finds it at the start. The header does not count against the rate or the queue;
//! therefore the clock is ours and the channel is told when a frame is out, as on a shared chip.

use trunkline_core::Context;
use trunkline_core::frame::{Frame, LinkChange, LinkId};
use trunkline_core::link::channel::Clocking;
use trunkline_core::link::{Channel, ChannelConfig, Framing, WireConfig};
use trunkline_core::queue::{Limit, StepEcn};
use trunkline_core::rng::Rng;
use trunkline_core::time::{Duration, Instant};
use trunkline_core::trace::Direction as Way;
use trunkline_core::units::{BitRate, RateClock};
use trunkline_core::wire::ip::{self, Marked};
use trunkline_core::work::{DropReason, Work};

/// Bytes of an Ethernet II header (IEEE 802.3, 3.1.1, without the frame check sequence).
pub const LINK_HEADER_BYTES: usize = 14;

/// How one direction treats packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirectionConfig {
    /// The rate of the transmitter; none for a link that only delays.
    pub rate: Option<BitRate>,
    /// Bytes every packet costs beside its own.
    pub overhead: u16,
    /// What waits in front of the transmitter at most. Without a rate nothing waits.
    pub queue: Limit,
    /// From where on arriving packets are marked (step ECN); none to mark nothing.
    pub mark: Option<Limit>,
    /// Delay and faults.
    pub wire: WireConfig,
}

impl Default for DirectionConfig {
    fn default() -> Self {
        DirectionConfig {
            rate: None,
            overhead: 0,
            queue: Limit::Time(Duration::from_millis(50)),
            mark: None,
            wire: WireConfig::default(),
        }
    }
}

/// What went through one direction since the last reset. Bytes are those of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Frames offered.
    pub frames_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// Frames that arrived at the far end.
    pub frames_out: u64,
    /// Their bytes.
    pub bytes_out: u64,
    /// Frames the queue refused.
    pub queue_drops: u64,
    /// Frames it marked.
    pub marks: u64,
    /// Frames the wire lost.
    pub wire_losses: u64,
    /// Frames that were on the link when it was cut.
    pub cut_losses: u64,
    /// How long a transmitter with a rate had nothing to send, between frames.
    pub idle: Duration,
}

/// One direction of an emulated link. Sans-I/O: time is passed in.
pub struct Direction {
    config: DirectionConfig,
    cx: Context,
    clock: Option<RateClock>,
    queue: StepEcn,
    channel: Channel,
    /// When the frame being serialised is out.
    finishes: Option<Instant>,
    /// When the last one was.
    free_at: Instant,
    totals: Totals,
}

impl Direction {
    /// An idle direction that draws its faults from `rng`.
    pub fn new(config: DirectionConfig, way: Way, rng: Rng) -> Self {
        let channel = Channel::new(
            ChannelConfig {
                link: LinkId(0),
                direction: way,
                rate: config.rate.unwrap_or(BitRate::from_bps(u64::MAX)),
                framing: Framing::PLAIN,
                clocking: Clocking::Chip,
                wire: config.wire,
                queue: None,
            },
            rng,
        );
        Direction {
            config,
            cx: Context::new(),
            clock: config.rate.map(RateClock::new),
            queue: queue_of(&config),
            channel,
            finishes: None,
            free_at: Instant::ZERO,
            totals: Totals::default(),
        }
    }

    /// How packets are treated.
    pub const fn config(&self) -> &DirectionConfig {
        &self.config
    }

    /// Treats packets differently from now on; those on the wire stay, and those in the queue that the
    /// new one takes.
    pub fn configure(&mut self, config: DirectionConfig) {
        if config.rate != self.config.rate {
            self.clock = config.rate.map(RateClock::new);
        }
        let mut before = std::mem::replace(&mut self.queue, queue_of(&config));
        while let Some((frame, len)) = before.pop() {
            self.enqueue(frame, len);
        }
        self.channel.wire_mut().set_config(config.wire);
        self.config = config;
    }

    /// Takes a packet with its Ethernet header that came in at `at`. Calls need not be in order of
    /// time, but a packet starts no earlier than the one before it ended.
    pub fn offer(&mut self, at: Instant, header: &[u8; LINK_HEADER_BYTES], packet: &[u8]) {
        self.advance(at);
        self.totals.frames_in += 1;
        self.totals.bytes_in += packet.len() as u64;
        let frame = self.cx.frames.insert_parts(packet, header, 0);
        if self.finishes.is_none() {
            let start = at.max(self.free_at);
            if self.clock.is_some() && self.totals.frames_in > 1 {
                self.totals.idle += start - self.free_at;
            }
            return self.start(start, frame);
        }
        let len = self.counted(frame) as u32;
        self.enqueue(frame, len);
    }

    fn enqueue(&mut self, frame: Frame, len: u32) {
        let mut marks = 0;
        let pushed = self.queue.push(frame, len, |frame| {
            let marked = ip::set_ce(self.cx.frames.bytes_mut(*frame));
            marks += u64::from(marked == Marked::Marked);
            marked
        });
        self.totals.marks += marks;
        if let Err((frame, reason)) = pushed {
            self.cx.drop_frame(frame, reason);
        }
    }

    /// Does everything that is due by `now` up to the far end of the wire.
    pub fn advance(&mut self, now: Instant) {
        while let Some(end) = self.finishes.filter(|end| *end <= now) {
            self.channel.finish(end, &mut self.cx);
            self.finishes = None;
            self.free_at = end;
            if let Some((frame, _)) = self.queue.pop() {
                self.start(end, frame);
            }
        }
    }

    fn start(&mut self, at: Instant, frame: Frame) {
        let bits = self.counted(frame) * 8;
        self.channel.start(at, &mut self.cx, frame);
        let span = self.clock.as_mut().map_or(Duration::ZERO, |clock| clock.advance(bits));
        self.finishes = Some(at + span);
    }

    /// Bytes of a frame that count against rate and queue.
    fn counted(&self, frame: Frame) -> u64 {
        let packet = self.cx.frames.len(frame) - LINK_HEADER_BYTES;
        packet as u64 + u64::from(self.config.overhead)
    }

    /// The next time a frame can arrive at the far end.
    pub fn next_timeout(&self) -> Option<Instant> {
        // A frame that is out only matters once the delay has passed too; whatever comes in before
        // brings the transmitter up to date itself.
        let serialised = self.finishes.map(|end| end + self.config.wire.delay);
        match (serialised, self.channel.wire().next_arrival()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Takes a frame that has arrived by `now`, and when it did. Give it back with
    /// [`Direction::release`].
    pub fn poll_arrival(&mut self, now: Instant) -> Option<(Instant, Frame)> {
        self.advance(now);
        let due = self.channel.wire().next_arrival()?;
        let frame = self.channel.poll_arrival(now)?;
        self.totals.frames_out += 1;
        self.totals.bytes_out += (self.cx.frames.len(frame) - LINK_HEADER_BYTES) as u64;
        Some((due, frame))
    }

    /// An arrived frame: the packet, then the Ethernet header.
    pub fn parts(&self, frame: Frame) -> (&[u8], &[u8]) {
        let bytes = self.cx.frames.bytes(frame);
        bytes.split_at(bytes.len() - LINK_HEADER_BYTES)
    }

    /// Gives an arrived frame back.
    pub fn release(&mut self, frame: Frame) {
        self.cx.frames.remove(frame);
    }

    /// Cuts the link (what is on it is lost, and so is what follows) or restores it.
    pub fn handle_link(&mut self, now: Instant, change: LinkChange) {
        self.advance(now);
        self.channel.handle_link(now, &mut self.cx, change);
    }

    /// What went through since the last reset.
    pub fn totals(&self) -> Totals {
        Totals {
            queue_drops: [DropReason::QueueFull, DropReason::Congestion]
                .map(|reason| self.cx.work.dropped(reason))
                .iter()
                .sum(),
            wire_losses: self.cx.work.dropped(DropReason::WireLoss),
            cut_losses: self.cx.work.dropped(DropReason::LinkDown),
            ..self.totals
        }
    }

    /// Counts from zero again.
    pub fn reset(&mut self) {
        self.totals = Totals::default();
        self.cx.work = Work::default();
    }
}

/// A step at the limit itself never marks.
fn queue_of(config: &DirectionConfig) -> StepEcn {
    let resolve = |limit: Limit| config.rate.map_or(Limit::Packets(1), |rate| limit.at_rate(rate));
    StepEcn::new(resolve(config.queue), resolve(config.mark.unwrap_or(config.queue)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: [u8; LINK_HEADER_BYTES] = [2; LINK_HEADER_BYTES];

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    fn direction(config: DirectionConfig) -> Direction {
        Direction::new(config, Way::Up, Rng::new(1))
    }

    /// 1250 bytes take a millisecond.
    fn ten_mbit() -> DirectionConfig {
        DirectionConfig {
            rate: Some(BitRate::from_bps(10_000_000)),
            wire: WireConfig { delay: Duration::from_millis(5), ..WireConfig::default() },
            ..DirectionConfig::default()
        }
    }

    fn arrivals(direction: &mut Direction) -> Vec<u64> {
        let mut times = Vec::new();
        while let Some((due, frame)) = direction.poll_arrival(at(1_000_000)) {
            times.push((due - Instant::ZERO).as_micros());
            direction.release(frame);
        }
        times
    }

    #[test]
    fn packets_are_serialised_one_after_another_and_headers_are_free() {
        let mut up = direction(ten_mbit());
        for _ in 0..3 {
            up.offer(at(100), &HEADER, &[1; 1250]);
        }
        assert_eq!(up.next_timeout(), Some(at(6100)));
        assert_eq!(arrivals(&mut up), [6100, 7100, 8100]);
        assert_eq!(up.next_timeout(), None);
        let totals = up.totals();
        assert_eq!((totals.frames_out, totals.bytes_out), (3, 3750));
    }

    #[test]
    fn overhead_counts_against_the_rate() {
        let mut up = direction(DirectionConfig { overhead: 250, ..ten_mbit() });
        up.offer(at(0), &HEADER, &[1; 1000]);
        assert_eq!(arrivals(&mut up), [6000]);
    }

    #[test]
    fn a_late_driver_changes_nothing_in_the_times() {
        let mut up = direction(ten_mbit());
        up.offer(at(0), &HEADER, &[1; 1250]);
        up.advance(at(1900));
        // Stamped before the driver last looked, but after the first packet was out.
        up.offer(at(1500), &HEADER, &[1; 1250]);
        // Stamped while the second was being sent.
        up.offer(at(1600), &HEADER, &[1; 1250]);
        assert_eq!(arrivals(&mut up), [6000, 7500, 8500]);
        assert_eq!(up.totals().idle, Duration::from_micros(500));
    }

    #[test]
    fn the_queue_holds_its_time_and_refuses_more() {
        let config = DirectionConfig { queue: Limit::Time(Duration::from_millis(3)), ..ten_mbit() };
        let mut up = direction(config);
        for _ in 0..6 {
            up.offer(at(0), &HEADER, &[1; 1250]);
        }
        assert_eq!(up.totals().queue_drops, 2);
        assert_eq!(arrivals(&mut up).len(), 4);
    }

    #[test]
    fn packets_are_marked_beyond_the_step_and_not_before() {
        let config = DirectionConfig { mark: Some(Limit::Packets(2)), ..ten_mbit() };
        let mut up = direction(config);
        let mut packet = [0; 1250];
        packet[..20].copy_from_slice(&[
            0x45, 0x02, 0x04, 0xe2, 0, 0, 0, 0, 64, 17, 0x62, 0x05, 10, 0, 0, 1, 10, 0, 0, 2,
        ]);
        for _ in 0..5 {
            up.offer(at(0), &HEADER, &packet);
        }
        let mut ecn = Vec::new();
        while let Some((_, frame)) = up.poll_arrival(at(1_000_000)) {
            ecn.push(up.parts(frame).0[1] & 3);
            up.release(frame);
        }
        assert_eq!(ecn, [2, 2, 2, 3, 3]);
        assert_eq!((up.totals().marks, up.totals().queue_drops), (2, 0));
    }

    #[test]
    fn without_a_rate_packets_are_only_delayed() {
        let mut up = direction(DirectionConfig { rate: None, ..ten_mbit() });
        for us in [3, 3, 4] {
            up.offer(at(us), &HEADER, &[1; 1250]);
        }
        assert_eq!(arrivals(&mut up), [5003, 5003, 5004]);
    }

    #[test]
    fn a_frame_comes_out_as_it_went_in() {
        let mut up = direction(ten_mbit());
        up.offer(at(0), &HEADER, &[7; 300]);
        let (_, frame) = up.poll_arrival(at(1_000_000)).unwrap();
        assert_eq!(up.parts(frame), (&[7; 300][..], &HEADER[..]));
        up.release(frame);
    }

    #[test]
    fn a_cut_loses_what_is_on_the_link_until_it_is_restored() {
        let mut up = direction(ten_mbit());
        up.offer(at(0), &HEADER, &[1; 1250]);
        up.handle_link(at(2000), LinkChange::Down);
        up.offer(at(2500), &HEADER, &[1; 1250]);
        up.handle_link(at(4000), LinkChange::Up);
        up.offer(at(5000), &HEADER, &[1; 1250]);
        assert_eq!(arrivals(&mut up), [11_000]);
        assert_eq!(up.totals().cut_losses, 2);
    }

    #[test]
    fn a_new_rate_holds_for_the_packets_that_wait() {
        let mut up = direction(ten_mbit());
        for _ in 0..2 {
            up.offer(at(0), &HEADER, &[1; 1250]);
        }
        let rate = Some(BitRate::from_bps(5_000_000));
        up.configure(DirectionConfig { rate, ..ten_mbit() });
        assert_eq!(arrivals(&mut up), [6000, 8000]);
    }
}
