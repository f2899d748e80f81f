//! A member of a bond: the frames committed to it and what is known about its line.
//!
//! A frame counts against its member from the moment it is committed until the wire has it. Backlogs
//! are kept as times on the wire, framing included.

use super::eql;
use super::traffic::Ear;
use super::trunk::Standing;
use super::ways::Ways;
use crate::frame::{Burst, Frame, LinkChange, LinkId};
use crate::link::Framing;
use crate::queue::{DropTail, Limit};
use crate::time::{Duration, Instant};
use crate::units::BitRate;
use crate::wire::trunk::Turn;
use std::collections::VecDeque;

/// The longest run committed and handed out at once, at the member's rate (but always one frame).
const RUN_TIME: Duration = Duration::from_millis(1);

/// What a bond is told about a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemberConfig {
    /// The link.
    pub link: LinkId,
    /// What the wire does, in bit/s of the line. Above zero.
    pub rate: BitRate,
    /// What EQL is told the wire does.
    pub weight: BitRate,
    /// Which way it carries frames.
    pub direction: Ways,
    /// Propagation time.
    pub delay: Duration,
    /// How much may wait for the transmitter; at least one frame.
    pub queue: Limit,
    /// Which member `active-backup` prefers: the highest, then the one enslaved first.
    pub priority: i32,
    /// What a packet costs in bits.
    pub framing: Framing,
}

/// Totals of one member.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemberStats {
    /// Packets committed to the member.
    pub tx_packets: u64,
    /// Their bytes.
    pub tx_bytes: u64,
    /// Of these, packets its queue had no room for, or lost when it went down.
    pub tx_dropped: u64,
    /// Packets received from it.
    pub rx_packets: u64,
    /// Their bytes.
    pub rx_bytes: u64,
}

/// A packet that waits, with what a scheduler needs to know about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Waiting {
    pub(super) frame: Frame,
    pub(super) flow: u32,
    /// Its place in its flow, once it has been committed to a member of a trunk.
    pub(super) turn: Option<Turn>,
}

/// Whether frames may be sent over a member: noted when it changes, since it is asked for every frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sending {
    /// They may.
    Ready,
    /// Its link is down, or in a trunk its path to be avoided.
    Down,
    /// It has no transmitter.
    Never,
}

/// One member: a link as its bond sees it.
#[derive(Clone, Debug)]
pub struct Member {
    config: MemberConfig,
    sending: Sending,
    state: LinkChange,
    /// Down while a trunk's path is not to be used.
    standing: Standing,
    /// Propagation time: as configured, until a trunk has measured it.
    delay: Duration,
    /// Bytes that go in front of every packet.
    header: u32,
    waiting: DropTail<Waiting>,
    /// Lengths of the frames handed out that the wire has not reported yet.
    in_flight: VecDeque<u32>,
    in_flight_bytes: u64,
    /// Reported bytes that do not make up the first frame in flight yet.
    reported: u64,
    /// Time on the wire of all frames held.
    backlog: Duration,
    /// What every packet takes on the wire, and what each of its bytes adds in 2^-16 nanoseconds.
    per_packet: Duration,
    per_byte: u64,
    /// When the first frame in flight should be out, and when the last; the origin when none is.
    head_done: Instant,
    all_done: Instant,
    /// What of the backlog is the first frame in flight.
    head_time: Duration,
    run_bytes: u32,
    pub(super) eql: eql::Record,
    pub(super) ear: Ear,
    pub(super) stats: MemberStats,
}

/// Whole bits that a packet of `len` bytes takes on the wire in the mean.
fn framing_bits(config: &MemberConfig, len: u64) -> u64 {
    config.framing.mean_wire_millibits(len) / 1000
}

/// The slope of the mean time on the wire over the packet's length, in 2^-16 nanoseconds per byte.
fn nanos_per_byte(config: &MemberConfig) -> u64 {
    const SPAN: u64 = 4096;
    let millibits =
        config.framing.mean_wire_millibits(SPAN) - config.framing.mean_wire_millibits(0);
    let nanos = (u128::from(millibits) * 1_000_000) << 16;
    u64::try_from(nanos / u128::from(SPAN * config.rate.as_bps())).unwrap_or(u64::MAX)
}

const fn sending(direction: Ways, state: LinkChange, standing: Standing) -> Sending {
    match (direction.sends(), state, standing) {
        (false, ..) => Sending::Never,
        (true, LinkChange::Down, _) | (true, _, Standing::Down) => Sending::Down,
        (true, ..) => Sending::Ready,
    }
}

impl Member {
    /// A member with nothing committed. `header` bytes go in front of each packet.
    pub(super) fn new(config: MemberConfig, header: u32) -> Self {
        let limit = match config.queue.at_rate(config.rate) {
            Limit::Packets(n) => Limit::Packets(n.max(1)),
            other => other,
        };
        Member {
            config,
            sending: sending(config.direction, LinkChange::Up, Standing::Good),
            state: LinkChange::Up,
            standing: Standing::Good,
            delay: config.delay,
            header,
            waiting: DropTail::new(limit),
            in_flight: VecDeque::new(),
            in_flight_bytes: 0,
            reported: 0,
            backlog: Duration::ZERO,
            per_packet: config.rate.time_for_bits(framing_bits(&config, u64::from(header))),
            per_byte: nanos_per_byte(&config),
            head_done: Instant::ZERO,
            all_done: Instant::ZERO,
            head_time: Duration::ZERO,
            run_bytes: u32::try_from(config.rate.bits_in(RUN_TIME) / 8).unwrap_or(u32::MAX),
            eql: eql::Record::new(config.weight),
            ear: Ear::NEW,
            stats: MemberStats::default(),
        }
    }

    /// The link.
    pub const fn link(&self) -> LinkId {
        self.config.link
    }
    /// What the bond was told about it.
    pub const fn config(&self) -> &MemberConfig {
        &self.config
    }
    /// Whether its link is up, in a trunk its path not to be avoided, and one that only receives not silent.
    pub const fn is_up(&self) -> bool {
        self.has_carrier() && !matches!(self.standing, Standing::Down) && !self.ear.is_silent()
    }
    /// Whether it has a transmitter at all.
    pub const fn sends(&self) -> bool {
        !matches!(self.sending, Sending::Never)
    }
    /// Whether frames may be sent over it now.
    pub const fn can_send(&self) -> bool {
        matches!(self.sending, Sending::Ready)
    }
    /// Whether frames may be sent over it now, and if not, whether they ever may.
    pub(super) const fn sending(&self) -> Sending {
        self.sending
    }
    /// How long it has been held for silent in all: one that only receives, where the bond goes by traffic.
    pub fn silence(&self, now: Instant) -> Duration {
        self.ear.silence(now)
    }
    /// How often it fell silent.
    pub const fn silences(&self) -> u64 {
        self.ear.silences()
    }
    /// Whether its link is up.
    pub const fn has_carrier(&self) -> bool {
        matches!(self.state, LinkChange::Up)
    }
    /// Propagation time: as configured, or in a trunk how much later than over the quickest member.
    pub const fn delay(&self) -> Duration {
        self.delay
    }
    /// Bytes committed to it that the wire does not have yet.
    pub const fn held_bytes(&self) -> u64 {
        self.waiting.bytes() + self.in_flight_bytes
    }
    /// Frames committed to it that the wire does not have yet.
    pub fn held_frames(&self) -> usize {
        self.waiting.len() + self.in_flight.len()
    }
    /// Frames committed to it that nobody has taken yet.
    pub fn waiting_frames(&self) -> usize {
        self.waiting.len()
    }
    /// EQL's own count of bytes, which is an estimate that decays and not what is really held.
    pub const fn bytes_queued(&self) -> u64 {
        self.eql.bytes_queued
    }
    /// Totals so far.
    pub const fn stats(&self) -> &MemberStats {
        &self.stats
    }
    /// Whether a frame of `len` bytes finds no room in its queue.
    pub fn is_full(&self, len: u32) -> bool {
        !self.waiting.fits(len)
    }
    /// Whether a frame of `len` bytes may be committed to it: it sends, is up and has room.
    pub fn can_take(&self, len: u32) -> bool {
        self.can_send() && !self.is_full(len)
    }
    /// The time a frame of `len` bytes takes on its wire, in the mean.
    pub fn wire_time(&self, len: u32) -> Duration {
        self.per_packet + Duration::from_nanos(u64::from(len).saturating_mul(self.per_byte) >> 16)
    }
    /// The time everything it holds takes on its wire.
    pub const fn backlog_time(&self) -> Duration {
        self.backlog
    }
    /// When a frame of `len` bytes committed now would arrive at the far end.
    pub fn arrival(&self, now: Instant, len: u32) -> Instant {
        let behind = self.backlog - self.head_time;
        now.max(self.head_done) + behind + self.wire_time(len) + self.delay
    }
    /// The most bytes that follow each other to it at once, unless one frame is longer.
    pub const fn run_bytes(&self) -> u32 {
        self.run_bytes
    }

    pub(super) fn set_state(&mut self, state: LinkChange) {
        self.state = state;
        self.sending = sending(self.config.direction, state, self.standing);
    }

    pub(super) fn set_standing(&mut self, standing: Standing) {
        self.standing = standing;
        self.sending = sending(self.config.direction, self.state, standing);
    }

    pub(super) fn set_delay(&mut self, delay: Duration) {
        self.delay = delay;
    }

    pub(super) fn set_weight(&mut self, weight: BitRate) {
        self.config.weight = weight;
        self.eql.weight = weight;
    }

    /// EQL's count starts again.
    pub(super) fn forget_eql(&mut self) {
        self.eql = eql::Record::new(self.config.weight);
    }

    /// Takes what the bond is told anew; the frames held stay, EQL's count starts again. What is in flight
    /// is out no later than at the new rate: what a line was believed to do says nothing any more.
    pub(super) fn reconfigure(&mut self, now: Instant, config: MemberConfig) {
        let mut fresh = Member::new(config, self.header);
        for (waiting, len) in self.waiting.drain() {
            fresh.backlog += fresh.wire_time(len);
            fresh.waiting.push_back_unbounded(waiting, len);
        }
        let in_flight: Duration = self.in_flight.iter().map(|len| fresh.wire_time(*len)).sum();
        let head = self.in_flight.front().map_or(Duration::ZERO, |len| fresh.wire_time(*len));
        fresh.backlog += in_flight;
        fresh.head_time = head;
        fresh.head_done = self.head_done.min(now + head);
        fresh.all_done = self.all_done.min(now + in_flight);
        fresh.in_flight = std::mem::take(&mut self.in_flight);
        fresh.in_flight_bytes = self.in_flight_bytes;
        fresh.reported = self.reported;
        if self.header > 0 {
            // A trunk has measured it.
            fresh.delay = self.delay;
        }
        fresh.set_state(self.state);
        fresh.set_standing(self.standing);
        fresh.ear = self.ear;
        fresh.stats = self.stats;
        *self = fresh;
    }

    /// Commits a frame, or gives it back when the queue is full.
    pub(super) fn push(&mut self, waiting: Waiting, len: u32) -> Result<(), Waiting> {
        self.stats.tx_packets += 1;
        self.stats.tx_bytes += u64::from(len);
        let pushed = self.waiting.push(waiting, len);
        match pushed {
            Ok(()) => self.backlog += self.wire_time(len),
            Err(_) => self.stats.tx_dropped += 1,
        }
        pushed
    }

    /// Takes back the last frame committed that nobody has taken, as if it had never been.
    pub(super) fn take_back(&mut self) -> Option<(Waiting, u32)> {
        let (waiting, len) = self.waiting.pop_back()?;
        self.backlog = self.backlog - self.wire_time(len);
        self.stats.tx_packets -= 1;
        self.stats.tx_bytes -= u64::from(len);
        Some((waiting, len))
    }

    /// Loses the first frame that waits.
    pub(super) fn purge_one(&mut self) -> Option<Frame> {
        let (waiting, len) = self.waiting.pop()?;
        self.backlog = self.backlog - self.wire_time(len);
        self.stats.tx_dropped += 1;
        Some(waiting.frame)
    }

    /// Forgets the frames handed out: a dead link reports nothing.
    pub(super) fn forget_in_flight(&mut self) {
        while let Some(len) = self.in_flight.pop_front() {
            self.backlog = self.backlog - self.wire_time(len);
        }
        self.in_flight_bytes = 0;
        self.reported = 0;
        self.head_time = Duration::ZERO;
        (self.head_done, self.all_done) = (Instant::ZERO, Instant::ZERO);
    }

    /// Counts a frame of `len` bytes as handed out; answers when it should be out.
    fn fly(&mut self, now: Instant, len: u32) -> Instant {
        let time = self.wire_time(len);
        if self.in_flight.is_empty() {
            (self.head_done, self.head_time) = (now + time, time);
        }
        self.in_flight.push_back(len);
        self.in_flight_bytes += u64::from(len);
        self.all_done = self.all_done.max(now) + time;
        self.all_done
    }

    /// Counts a frame of a trunk's own as handed out; answers when it should be out.
    pub(super) fn transmit_control(&mut self, now: Instant, len: u32) -> Instant {
        self.backlog += self.wire_time(len);
        self.fly(now, len)
    }

    /// Hands out a run of equal frames of at most [`RUN_TIME`], the last of which may be shorter, or one
    /// frame. `seal` gets each with the time it should be out, to put its header on.
    #[inline]
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        burst: &mut Burst,
        mut seal: impl FnMut(&Waiting, Instant),
    ) {
        let mut left = self.run_bytes;
        let Some(first) = self.waiting.peek_len() else {
            return;
        };
        while let Some((waiting, len)) = self.waiting.pop() {
            let out = self.fly(now, len);
            seal(&waiting, out);
            burst.push(waiting.frame, (len + self.header) as usize);
            left = left.saturating_sub(len);
            let more = self.waiting.peek_len();
            if len < first || more.is_none_or(|next| next > first || next > left) {
                break;
            }
        }
    }

    /// The wire has `bytes` more of what was handed out. More than that is from before this
    /// member's time and ignored.
    pub(super) fn transmitted(&mut self, now: Instant, bytes: u64) {
        self.reported += bytes;
        while let Some(len) = self.in_flight.front().copied() {
            let handed_out = u64::from(len + self.header);
            if handed_out > self.reported {
                break;
            }
            self.in_flight.pop_front();
            self.reported -= handed_out;
            self.in_flight_bytes -= u64::from(len);
            self.backlog = self.backlog - self.wire_time(len);
        }
        match self.in_flight.front() {
            Some(head) => {
                self.head_time = self.wire_time(*head);
                self.head_done = now + self.head_time;
            }
            None => {
                (self.reported, self.all_done) = (0, now);
                (self.head_done, self.head_time) = (Instant::ZERO, Duration::ZERO);
            }
        }
    }

    pub(super) fn frames(&self) -> impl Iterator<Item = Frame> {
        self.waiting.iter().map(|(waiting, _)| waiting.frame)
    }

    pub(super) fn check_invariants(&self) {
        let waiting = || self.waiting.iter().map(|(_, len)| *len);
        let in_flight = || self.in_flight.iter().copied();
        let sum = |lens: &mut dyn Iterator<Item = u32>| lens.map(u64::from).sum::<u64>();
        assert_eq!(self.waiting.bytes(), sum(&mut waiting()), "waiting bytes");
        assert_eq!(self.in_flight_bytes, sum(&mut in_flight()), "bytes in flight");
        let backlog: Duration = waiting().chain(in_flight()).map(|l| self.wire_time(l)).sum();
        assert_eq!(self.backlog, backlog, "backlog");
        let head = self.in_flight.front().map_or(Duration::ZERO, |len| self.wire_time(*len));
        assert_eq!(self.head_time, head, "first frame in flight");
        assert!(self.reported == 0 || !self.in_flight.is_empty(), "reported bytes");
        let now_sending = sending(self.config.direction, self.state, self.standing);
        assert_eq!(self.sending, now_sending, "whether it may send");
    }
}
