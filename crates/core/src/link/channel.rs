//! One direction of one link: a transmitter that serialises frames and the wire behind it.
//!
//! The driver starts a frame, learns when its last bit is out, and then calls [`Channel::finish`]:
//! the frame goes onto the wire and its bytes are reported as transmitted. On a chip shared by several
//! lines the chip decides when that is ([`Started::OnChip`]); whoever owns the [`super::Chip`] drives it.
//!
//! A cut link keeps clocking bits into nothing, as a modem without carrier does: frames still finish,
//! and are lost then. So the sender above always gets its completions.

use super::framing::{Framer, Framing};
use super::modem::{Modem, ModemConfig, Passage};
use super::wire::{Fate, Wire, WireConfig};
use crate::Context;
use crate::frame::{Frame, LinkChange, LinkId};
use crate::queue::{DropTail, Limit, Queue, Refused};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::{Direction, Event};
use crate::units::{BitRate, RateClock};
use crate::work::DropReason;

/// What decides how long a frame takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clocking {
    /// The channel's own rate.
    Own,
    /// A chip that several lines share; the rate is this line's limit.
    Chip,
    /// A modem, whose line has the channel's rate: a frame is finished when the modem takes the next one,
    /// and then still on its way through the modem's buffer.
    Modem(ModemConfig),
}

/// One direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChannelConfig {
    /// The link, for the records.
    pub link: LinkId,
    /// Which way it goes, for the records.
    pub direction: Direction,
    /// Line rate, above zero.
    pub rate: BitRate,
    /// What a packet costs in bits.
    pub framing: Framing,
    /// What decides how long a frame takes.
    pub clocking: Clocking,
    /// The wire behind the transmitter.
    pub wire: WireConfig,
    /// A buffer in front of the transmitter that belongs to the link (a modem's own), if it has one.
    pub queue: Option<Limit>,
}

/// A frame is being serialised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Started {
    /// Its last bit is out at this time: call [`Channel::finish`] then.
    At(Instant),
    /// The chip decides: hand it these bits at this line rate, and finish when it says so.
    OnChip {
        /// Bits to serialise.
        bits: u64,
        /// The line's own rate.
        rate: BitRate,
    },
}

/// What became of a frame that was offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offered {
    /// It is being serialised.
    Started(Started),
    /// It waits in the channel's buffer.
    Queued,
    /// There was no room; it was dropped and counted.
    Dropped,
}

/// Totals of one channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChannelStats {
    /// Frames serialised.
    pub frames: u64,
    /// Their logical bytes.
    pub bytes: u64,
    /// Their bits on the wire, framing included.
    pub wire_bits: u64,
    /// Time spent serialising.
    pub busy: Duration,
    /// Frames given up: no room, lost by the wire, or cut.
    pub drops: u64,
}

#[derive(Clone, Copy, Debug)]
struct Serialising {
    frame: Frame,
    len: u64,
    started: Instant,
    finishes: Option<Instant>,
    /// Why it will not reach the wire.
    lost: Option<DropReason>,
}

/// One direction of one link with the frames on it.
#[derive(Clone, Debug)]
pub struct Channel {
    config: ChannelConfig,
    clock: RateClock,
    framer: Framer,
    modem: Option<Modem>,
    state: LinkChange,
    queue: Option<Queue>,
    current: Option<Serialising>,
    /// When its last bit is out and for how long it keeps a line busy, where that is not until it finishes.
    passage: Option<Passage>,
    wire: Wire,
    stats: ChannelStats,
    transmitter: Transmitter,
}

/// Whether there is something that sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Transmitter {
    There,
    Missing,
}

impl Channel {
    /// An idle channel whose link is up.
    ///
    /// # Panics
    /// When the rate is zero.
    pub fn new(config: ChannelConfig, rng: Rng) -> Self {
        Channel {
            config,
            clock: RateClock::new(config.rate),
            framer: Framer::new(config.framing),
            modem: match config.clocking {
                Clocking::Modem(modem) => Some(Modem::new(modem, config.rate)),
                Clocking::Own | Clocking::Chip => None,
            },
            state: LinkChange::Up,
            queue: config
                .queue
                .map(|limit| Queue::DropTail(DropTail::new(limit.at_rate(config.rate)))),
            current: None,
            passage: None,
            wire: Wire::new(config.wire, rng),
            stats: ChannelStats::default(),
            transmitter: Transmitter::There,
        }
    }

    /// The channel with this buffer in front of its transmitter instead of a drop-tail one.
    pub fn with_queue(self, queue: Queue) -> Self {
        Channel { queue: Some(queue), ..self }
    }

    /// The channel of a device that only receives. What it is given to send is counted and freed, and reported as
    /// sent at once: such a driver tells nobody.
    pub fn without_transmitter(self) -> Self {
        Channel { transmitter: Transmitter::Missing, ..self }
    }

    /// The channel's configuration.
    pub const fn config(&self) -> &ChannelConfig {
        &self.config
    }

    /// The wire behind the transmitter.
    pub const fn wire(&self) -> &Wire {
        &self.wire
    }

    /// The wire, to change its faults.
    pub const fn wire_mut(&mut self) -> &mut Wire {
        &mut self.wire
    }

    /// Totals so far.
    pub const fn stats(&self) -> &ChannelStats {
        &self.stats
    }

    /// Whether the link carries frames or loses them.
    pub const fn state(&self) -> LinkChange {
        self.state
    }

    /// Frames in the channel's own buffer.
    pub fn queued(&self) -> usize {
        self.queue.as_ref().map_or(0, Queue::len)
    }

    /// Whether the transmitter can start a frame.
    pub const fn idle(&self) -> bool {
        self.current.is_none()
    }

    /// Begins to serialise a frame, recording it when records are kept.
    ///
    /// # Panics
    /// When the transmitter is not idle.
    #[inline(always)]
    pub fn start(&mut self, now: Instant, cx: &mut Context, frame: Frame) -> Started {
        assert!(self.idle(), "the transmitter is busy");
        if self.transmitter == Transmitter::Missing {
            return self.swallow(now, cx, frame);
        }
        let bytes = cx.frames.bytes(frame);
        let elided = cx.frames.elided(frame);
        let len = bytes.len() as u64 + u64::from(elided);
        let bits = match &mut self.modem {
            None => self.framer.wire_bits(bytes, elided),
            Some(modem) => {
                let passage = modem.start(now, self.framer.frame(bytes, elided));
                self.passage = Some(passage);
                passage.bits
            }
        };
        if cx.trace.is_enabled() {
            let event = Event::Frame {
                link: self.config.link,
                direction: self.config.direction,
                bytes: bytes.to_vec(),
                len: len as u32,
            };
            cx.trace.record(now, event);
        }
        cx.work.frames_sent += 1;
        self.stats.frames += 1;
        self.stats.bytes += len;
        self.stats.wire_bits += bits;
        let (finishes, started) = match self.config.clocking {
            Clocking::Own => {
                let end = now + self.clock.advance(bits);
                (Some(end), Started::At(end))
            }
            Clocking::Chip => {
                let rate = self.config.rate;
                (None, Started::OnChip { bits, rate })
            }
            Clocking::Modem(_) => {
                let free = self.passage.map_or(now, |passage| passage.free);
                (Some(free), Started::At(free))
            }
        };
        self.current = Some(Serialising {
            frame,
            len,
            started: now,
            finishes,
            lost: match self.state {
                LinkChange::Up => None,
                LinkChange::Down => Some(DropReason::LinkDown),
            },
        });
        started
    }

    /// Takes a frame without a transmitter for it: it is finished at once, and reaches no wire.
    #[inline(never)]
    fn swallow(&mut self, now: Instant, cx: &Context, frame: Frame) -> Started {
        let len = cx.frames.len(frame) as u64;
        let lost = Some(DropReason::NoTransmitter);
        self.current = Some(Serialising { frame, len, started: now, finishes: Some(now), lost });
        Started::At(now)
    }

    /// A frame that somebody else has sent on the medium is on its way to this channel's far end.
    pub fn overhear(&mut self, now: Instant, cx: &mut Context, frame: Frame) {
        match self.state {
            LinkChange::Down => self.drop_frame(now, cx, frame, DropReason::LinkDown),
            LinkChange::Up => {
                if self.wire.push(now, cx, frame) == Fate::Lost {
                    self.record_drop(now, cx, DropReason::WireLoss);
                }
            }
        }
    }

    /// Starts a frame, or puts it into the channel's own buffer, or drops it.
    pub fn offer(&mut self, now: Instant, cx: &mut Context, frame: Frame) -> Offered {
        if self.idle() && self.queued() == 0 {
            return Offered::Started(self.start(now, cx, frame));
        }
        let full = Refused { frame, reason: DropReason::QueueFull };
        let before = cx.work.dropped(DropReason::QueueFull);
        match self.queue.as_mut().map_or(Err(full), |q| q.push(now, cx, frame)) {
            Ok(()) => {
                self.record_drops_since(before, now, cx, DropReason::QueueFull);
                Offered::Queued
            }
            Err(Refused { frame, reason }) => {
                self.drop_frame(now, cx, frame, reason);
                Offered::Dropped
            }
        }
    }

    /// Starts the next frame of the channel's own buffer; call it after [`Channel::finish`].
    pub fn resume(&mut self, now: Instant, cx: &mut Context) -> Option<Started> {
        if !self.idle() {
            return None;
        }
        let before = cx.work.dropped(DropReason::Congestion);
        let next = self.queue.as_mut()?.pop(now, cx);
        self.record_drops_since(before, now, cx, DropReason::Congestion);
        let (frame, _) = next?;
        Some(self.start(now, cx, frame))
    }

    /// When the frame being serialised ends; none when idle or when a chip decides.
    pub fn finishes(&self) -> Option<Instant> {
        self.current.as_ref()?.finishes
    }

    /// Ends the frame being serialised: it goes onto the wire. Returns its logical bytes, for
    /// `handle_transmitted` of whoever sent it.
    ///
    /// # Panics
    /// When the transmitter is idle.
    #[inline(always)]
    pub fn finish(&mut self, now: Instant, cx: &mut Context) -> u64 {
        let done = self.current.take().expect("a frame is being serialised");
        let (out, busy) = match self.passage.take() {
            None => (now, now - done.started),
            Some(passage) => (passage.out, passage.busy),
        };
        self.stats.busy += busy;
        match done.lost {
            Some(reason) => self.drop_frame(now, cx, done.frame, reason),
            None => {
                let fate = self.wire.push(out, cx, done.frame);
                self.framer.receive(cx, done.frame, fate);
                if fate == Fate::Lost {
                    self.record_drop(now, cx, DropReason::WireLoss);
                }
            }
        }
        done.len
    }

    /// The medium has given up the frame being serialised: it will finish without reaching the wire.
    pub fn give_up(&mut self) {
        if let Some(current) = &mut self.current {
            current.lost.get_or_insert(DropReason::Collisions);
        }
    }

    /// The next time something happens here: a frame ends or one arrives.
    pub fn next_timeout(&self) -> Option<Instant> {
        match (self.finishes(), self.wire.next_arrival()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Takes a frame that has arrived at the far end by `now`.
    pub fn poll_arrival(&mut self, now: Instant) -> Option<Frame> {
        self.wire.poll_arrival(now)
    }

    /// Cuts or restores the link. A cut loses what is on the wire and what is being serialised.
    pub fn handle_link(&mut self, now: Instant, cx: &mut Context, change: LinkChange) {
        self.state = change;
        if let (LinkChange::Down, Some(current)) = (change, &mut self.current) {
            current.lost = Some(DropReason::LinkDown);
        }
        if let (LinkChange::Down, Some(modem)) = (change, &mut self.modem) {
            modem.clear(now);
        }
        if change == LinkChange::Up {
            self.framer.restart();
        }
        for _ in 0..self.wire.handle_link(now, cx, change) {
            self.record_drop(now, cx, DropReason::LinkDown);
        }
    }

    /// Records what the queue itself has given up and counted, when `before` had been until then.
    fn record_drops_since(
        &mut self,
        before: u64,
        now: Instant,
        cx: &mut Context,
        reason: DropReason,
    ) {
        for _ in before..cx.work.dropped(reason) {
            self.record_drop(now, cx, reason);
        }
    }

    fn drop_frame(&mut self, now: Instant, cx: &mut Context, frame: Frame, reason: DropReason) {
        cx.drop_frame(frame, reason);
        self.record_drop(now, cx, reason);
    }

    fn record_drop(&mut self, now: Instant, cx: &mut Context, reason: DropReason) {
        self.stats.drops += 1;
        let link = Some(self.config.link);
        cx.trace.record(now, Event::Drop { link, reason });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::chip::Chip;
    use crate::link::framing::{Header, LineCoding, Payload};
    use crate::queue::{FqCodel, FqCodelConfig};
    use crate::trace::Trace;

    fn config(rate: u64) -> ChannelConfig {
        ChannelConfig {
            link: LinkId(3),
            direction: Direction::Up,
            rate: BitRate::from_bps(rate),
            framing: Framing {
                line: LineCoding::Async8n1,
                header: Header::Slip,
                payload: Payload::Zeros,
                ..Framing::PLAIN
            },
            clocking: Clocking::Own,
            wire: WireConfig { delay: Duration::from_millis(5), ..WireConfig::default() },
            queue: None,
        }
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// The driver of a card that only receives frees what it is given to send and reports success.
    #[test]
    fn a_frame_for_a_card_that_only_receives_is_counted_freed_and_reported_as_sent() {
        let mut cx = Context::new();
        let mut channel = Channel::new(config(9600), Rng::new(1)).without_transmitter();
        for count in 1..=2 {
            let frame = cx.frames.insert(&[1, 2, 3], 97);
            assert_eq!(channel.start(at(7), &mut cx, frame), Started::At(at(7)));
            assert_eq!(channel.finish(at(7), &mut cx), 100, "as if it had been sent");
            assert_eq!(cx.work.dropped(DropReason::NoTransmitter), count);
            assert_eq!((channel.stats().drops, channel.stats().frames), (count, 0));
        }
        assert_eq!((cx.frames.live(), cx.work.frames_sent, channel.wire().len()), (0, 0, 0));
        assert_eq!(channel.next_timeout(), None);
    }

    #[test]
    fn a_modem_takes_the_next_frame_while_the_one_before_is_on_the_line() {
        let mut cx = Context::new();
        let modem = ModemConfig {
            dte: BitRate::from_bps(100_000),
            line: LineCoding::Sync,
            blocks: None,
            payload_ppm: 1_000_000,
            buffer: 500,
        };
        let framing = Framing { header: Header::None, ..config(10_000).framing };
        let clocking = Clocking::Modem(modem);
        let mut channel =
            Channel::new(ChannelConfig { framing, clocking, ..config(10_000) }, Rng::new(1));
        let mut now = Instant::ZERO;
        for _ in 0..3 {
            let frame = cx.frames.insert(&[1; 200], 0);
            let Started::At(free) = channel.start(now, &mut cx, frame) else { unreachable!() };
            channel.finish(free, &mut cx);
            now = free;
        }
        // 20 ms a frame over the port, 160 ms on the line; the third fills the buffer until the first has
        // left, a byte after it came in.
        let ms = |at: Instant| (at - Instant::ZERO).as_micros();
        assert_eq!(ms(now), 160_100);
        let arrivals: Vec<u64> = std::iter::from_fn(|| {
            let at = channel.next_timeout()?;
            if let Some(frame) = channel.poll_arrival(at) {
                cx.frames.remove(frame);
            }
            Some(ms(at))
        })
        .collect();
        assert_eq!(arrivals, [165_100, 325_100, 485_100]);
        assert_eq!(channel.stats().busy, Duration::from_millis(480));
        assert_eq!(channel.stats().wire_bits, 4800);
    }

    #[test]
    fn a_frame_is_serialised_then_propagates() {
        let mut cx = Context::new();
        cx.trace = Trace::enabled();
        let mut channel = Channel::new(config(10_000), Rng::new(1));
        let frame = cx.frames.insert(&[0x45; 40], 58);
        assert_eq!(channel.start(at(0), &mut cx, frame), Started::At(at(100)));
        assert!(!channel.idle());
        assert_eq!(channel.next_timeout(), Some(at(100)));
        assert_eq!(channel.finish(at(100), &mut cx), 98);
        assert_eq!(channel.next_timeout(), Some(at(105)));
        assert_eq!(channel.poll_arrival(at(104)), None);
        assert_eq!(channel.poll_arrival(at(105)), Some(frame));
        let stats = channel.stats();
        assert_eq!((stats.frames, stats.bytes, stats.wire_bits), (1, 98, 1000));
        assert_eq!(stats.busy, Duration::from_millis(100));
        assert_eq!(cx.trace.drain().len(), 1);
    }

    #[test]
    fn the_links_own_buffer_takes_frames_while_busy_and_drops_beyond() {
        let mut cx = Context::new();
        let mut channel = Channel::new(
            ChannelConfig { queue: Some(Limit::Packets(1)), ..config(10_000) },
            Rng::new(1),
        );
        let offer = |channel: &mut Channel, cx: &mut Context| {
            let frame = cx.frames.insert(&[], 98);
            channel.offer(at(0), cx, frame)
        };
        assert_eq!(offer(&mut channel, &mut cx), Offered::Started(Started::At(at(100))));
        assert_eq!(offer(&mut channel, &mut cx), Offered::Queued);
        assert_eq!(offer(&mut channel, &mut cx), Offered::Dropped);
        assert_eq!(cx.work.dropped(DropReason::QueueFull), 1);
        channel.finish(at(100), &mut cx);
        assert_eq!(channel.resume(at(100), &mut cx), Some(Started::At(at(200))));
        assert_eq!(channel.resume(at(100), &mut cx), None);
    }

    #[test]
    fn another_buffer_takes_the_place_of_drop_tail_and_its_drops_are_the_channels() {
        let mut cx = Context::new();
        let limit = Limit::Packets(2);
        let buffer = FqCodel::new(FqCodelConfig { limit, ..FqCodelConfig::new(1500) });
        let mut channel =
            Channel::new(config(10_000), Rng::new(1)).with_queue(Queue::FqCodel(buffer));
        for _ in 0..5 {
            let frame = cx.frames.insert(&[], 98);
            assert_ne!(channel.offer(at(0), &mut cx, frame), Offered::Dropped);
        }
        assert_eq!((channel.queued(), channel.stats().drops), (2, 2));
        assert_eq!(cx.work.dropped(DropReason::QueueFull), 2);
    }

    #[test]
    fn a_cut_loses_everything_but_still_completes() {
        let mut cx = Context::new();
        let mut channel = Channel::new(config(10_000), Rng::new(1));
        let first = cx.frames.insert(&[], 98);
        channel.start(at(0), &mut cx, first);
        channel.finish(at(100), &mut cx);
        let second = cx.frames.insert(&[], 98);
        channel.start(at(100), &mut cx, second);
        channel.handle_link(at(101), &mut cx, LinkChange::Down);
        channel.handle_link(at(102), &mut cx, LinkChange::Up);
        assert_eq!(channel.finish(at(200), &mut cx), 98);
        assert_eq!(channel.next_timeout(), None);
        assert_eq!(channel.stats().drops, 2);
        assert_eq!(cx.work.dropped(DropReason::LinkDown), 2);
        assert_eq!(cx.frames.live(), 0);
    }

    #[test]
    fn on_a_chip_the_chip_says_when_a_frame_ends() {
        let mut cx = Context::new();
        let mut chip = Chip::new(Some(BitRate::from_bps(10_000)));
        let mut channels: Vec<Channel> = (0..2)
            .map(|_| {
                let clocking = Clocking::Chip;
                Channel::new(ChannelConfig { clocking, ..config(10_000) }, Rng::new(1))
            })
            .collect();
        for (slot, channel) in channels.iter_mut().enumerate() {
            let frame = cx.frames.insert(&[], 98);
            match channel.start(at(0), &mut cx, frame) {
                Started::OnChip { bits, rate } => chip.start(at(0), slot as u16, bits, rate),
                Started::At(_) => unreachable!("the chip decides"),
            }
            assert_eq!(channel.finishes(), None);
        }
        assert_eq!(chip.next_finish(), Some(at(200)));
        while let Some(slot) = chip.poll_finished(at(200)) {
            assert_eq!(channels[usize::from(slot)].finish(at(200), &mut cx), 98);
        }
        assert!(channels.iter().all(|c| c.idle() && c.next_timeout() == Some(at(205))));
    }
}
