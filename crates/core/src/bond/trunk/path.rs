//! One path of a trunk: its sequence numbers, what each end knows about it, and whether it works.
//!
//! Both directions of a path are one thing here: a path is confirmed when the peer tells that it has
//! received what we sent, so a path that is dead in one direction is dead.
//!
//! - While data arrives a [`Record`] goes back every 25 ms at least, on slow lines so seldom that records
//!   take a hundredth of the line. A probe asks for one at once. A path that nothing confirms is probed.
//!   Probes and answers together take a twentieth of the line, whatever the peer asks for.
//! - One-way delays are the receiver's clock minus the sender's. The offset of the clocks is in all paths
//!   of two ends alike, so their differences are true; only those are used.
//! - A path is *suspect* when data it took stays unconfirmed for three feedback intervals and two round
//!   trips: it gets no more while there is another. It is *down* when nothing confirms it for
//!   `down_after`, and up again after `up_after` of answered probes, or at once when no other is up.
//!   All waits are stretched by what slow lines take for a packet.

use super::Monitor;
use super::window::{Seen, Window};
use crate::frame::{LinkChange, LinkId};
use crate::time::{Duration, Instant, Reason};
use crate::units::Ratio;
use crate::wire::trunk::{Kind, Record};

/// Feedback comes no more often than this.
const FEEDBACK_INTERVAL: Duration = Duration::from_millis(25);
/// Feedback takes at most one part in so many of the line.
const FEEDBACK_SHARE: u64 = 100;
/// Control of all kinds takes at most one part in so many of the line.
const CONTROL_SHARE: u64 = 20;
/// How long a round trip is taken to be before one was measured (RFC 6298, 2.1).
const RTO_UNKNOWN: Duration = Duration::from_secs(1);
/// Feedback intervals that may fail before a path is suspect.
const INTERVALS_MISSED: u64 = 3;
/// A line that is faster than it is told answers before its frame should be out, by so many microseconds
/// at most.
const EARLY_MAX: i64 = 1_000_000;
/// The longest interval between records and the longest trip a peer is believed: an end in clear may be
/// anybody's, and what it says must not keep a dead path in use for ever.
const PEER_EVERY_MAX: Duration = Duration::from_secs(10);
const TRIP_MAX: Duration = Duration::from_secs(60);
/// Datagrams a loss ratio is taken over at least.
const LOSS_SPAN: u32 = 32;

/// Whether a path is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It carries.
    Good,
    /// What it took is not confirmed: it gets nothing more while another path is good.
    Suspect,
    /// It is dead, and probed.
    Down,
}

impl Standing {
    /// The name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Standing::Good => "good",
            Standing::Suspect => "suspect",
            Standing::Down => "down",
        }
    }
}

/// What is known about a path for diagnostics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathStats {
    /// Smoothed round-trip time beyond our own transmitter (RFC 6298).
    pub srtt: Option<Duration>,
    /// Its mean deviation.
    pub rttvar: Duration,
    /// The shortest round trip seen.
    pub rtt_min: Option<Duration>,
    /// Share of our datagrams that do not arrive, smoothed.
    pub loss: Ratio,
    /// Datagrams sent, control included.
    pub tx_datagrams: u64,
    /// Datagrams received once, control included.
    pub rx_datagrams: u64,
    /// Of these, those that came after one sent later.
    pub rx_late: u64,
    /// Datagrams received again and dropped.
    pub rx_duplicates: u64,
    /// How often the path was found dead.
    pub deaths: u64,
}

/// What has come in over a path.
#[derive(Clone, Debug)]
struct Incoming {
    window: Window,
    received: u32,
    echo: u32,
    echo_at: Instant,
    /// Smoothed one-way delay in microseconds, our clock minus theirs, and its mean deviation.
    delay: u32,
    jitter: u32,
    /// The least since the last record left.
    delay_min: Option<u32>,
}

/// What the peer has told about what we sent.
#[derive(Clone, Copy, Debug)]
struct Confirmed {
    highest: u32,
    received: u32,
    delay: u32,
    /// Where the running loss sample began.
    sample_highest: u32,
    sample_received: u32,
}

/// What a path is to send beside data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Control {
    Feedback,
    Probe,
}

impl Control {
    pub(super) const fn kind(self) -> Kind {
        match self {
            Control::Feedback => Kind::Feedback,
            Control::Probe => Kind::Probe,
        }
    }
}

/// One path of a trunk.
#[derive(Clone, Debug)]
pub struct Path {
    link: LinkId,
    monitor: Monitor,
    carrier: LinkChange,
    standing: Standing,
    next_seq: u32,
    incoming: Option<Incoming>,
    confirmed: Option<Confirmed>,
    /// When something we sent was last confirmed; at first, when the path was taken in.
    confirmed_at: Instant,
    /// Since when data is out with no confirmation.
    unconfirmed_since: Option<Instant>,
    /// Since when a dead path answers again.
    answers_since: Option<Instant>,
    /// What may be handed out now, what is to be once control has its share again, and when that is.
    pub(super) pending: Option<Control>,
    wanted: Option<Control>,
    control_from: Instant,
    probe_at: Instant,
    feedback_at: Option<Instant>,
    /// The time of a control datagram and of the longest packet on this path's line.
    control_time: Duration,
    packet_time: Duration,
    peer_every: Duration,
    stats: PathStats,
}

/// The clock as datagrams carry it.
pub(super) fn micros(at: Instant) -> u32 {
    (at.as_nanos() / 1000) as u32
}

fn difference(a: u32, b: u32) -> i32 {
    a.wrapping_sub(b).cast_signed()
}

impl Path {
    /// A path that is believed to work, and asks for the proof.
    pub(super) fn new(now: Instant, link: LinkId, first_seq: u32, monitor: Monitor) -> Path {
        Path {
            link,
            monitor,
            carrier: LinkChange::Up,
            standing: Standing::Good,
            next_seq: first_seq,
            incoming: None,
            confirmed: None,
            confirmed_at: now,
            unconfirmed_since: None,
            answers_since: None,
            pending: Some(Control::Probe),
            wanted: None,
            control_from: now,
            probe_at: now + monitor.probe,
            feedback_at: None,
            control_time: Duration::ZERO,
            packet_time: Duration::ZERO,
            peer_every: FEEDBACK_INTERVAL,
            stats: PathStats::default(),
        }
    }

    /// The link.
    pub const fn link(&self) -> LinkId {
        self.link
    }
    /// The number of the next datagram.
    pub(super) const fn next_seq(&self) -> u32 {
        self.next_seq
    }
    /// Whether it is used.
    pub const fn standing(&self) -> Standing {
        self.standing
    }
    /// What is known about it.
    pub const fn stats(&self) -> &PathStats {
        &self.stats
    }
    /// Whether frames may be expected from it and sent to it.
    pub const fn is_up(&self) -> bool {
        matches!(self.carrier, LinkChange::Up) && !matches!(self.standing, Standing::Down)
    }
    /// Whether it is up and nothing speaks against it.
    pub const fn is_good(&self) -> bool {
        matches!(self.carrier, LinkChange::Up) && matches!(self.standing, Standing::Good)
    }
    /// Our one-way delay in microseconds by the peer's clock, which is only good for differences.
    pub(super) fn delay_out(&self) -> Option<u32> {
        self.confirmed.map(|c| c.delay)
    }
    /// The peer's one-way delay and jitter in microseconds, by our clock.
    pub(super) fn delay_in(&self) -> Option<(u32, u32)> {
        self.incoming.as_ref().map(|i| (i.delay, i.jitter))
    }

    /// Learns what a control datagram and the longest packet take on its line.
    pub(super) fn set_line(&mut self, control: Duration, packet: Duration) {
        (self.control_time, self.packet_time) = (control, packet);
        self.peer_every = self.peer_every.max(self.every());
    }

    /// Is watched otherwise from now on.
    pub(super) fn set_monitor(&mut self, now: Instant, monitor: Monitor) {
        self.monitor = monitor;
        self.probe_at = self.probe_at.min(now + self.probe_every());
    }

    fn every(&self) -> Duration {
        FEEDBACK_INTERVAL.max(self.control_time * FEEDBACK_SHARE)
    }

    fn probe_every(&self) -> Duration {
        self.monitor.probe.max(self.control_time * CONTROL_SHARE)
    }

    /// How long a round trip takes at most, as far as is known (RFC 6298), with a packet in the way at
    /// either end.
    fn patience(&self) -> Duration {
        let trip = self.stats.srtt.map_or(RTO_UNKNOWN, |srtt| srtt + self.stats.rttvar * 4);
        trip + self.packet_time * 2
    }

    /// The number and the account of a datagram that is handed out now.
    pub(super) fn sent(&mut self, now: Instant, kind: Kind) -> u32 {
        let seq = self.next_seq;
        self.next_seq = seq.wrapping_add(1);
        self.stats.tx_datagrams += 1;
        match kind {
            Kind::Data(_) => _ = self.unconfirmed_since.get_or_insert(now),
            Kind::Probe | Kind::Feedback => {
                self.feedback_at = None;
                self.control_from = now + self.control_time * CONTROL_SHARE;
            }
        }
        seq
    }

    /// What the peer should know; `out` is when it will have left.
    pub(super) fn record(&mut self, epoch: u32, out: Instant) -> Record {
        let every = u32::try_from(self.every().as_micros()).unwrap_or(u32::MAX);
        let Some(incoming) = &mut self.incoming else {
            return Record { epoch, every, ..Record::default() };
        };
        let hold = (out - incoming.echo_at).as_micros();
        Record {
            epoch,
            received: incoming.received,
            highest: incoming.window.highest(),
            echo: incoming.echo,
            hold: u32::try_from(hold).unwrap_or(u32::MAX),
            delay: incoming.delay_min.take().unwrap_or(incoming.delay),
            every,
        }
    }

    /// A datagram arrived. Answers whether it is the first time.
    pub(super) fn arrived(
        &mut self,
        now: Instant,
        seq: u32,
        timestamp: u32,
        kind: Kind,
    ) -> Arrived {
        let delay = micros(now).wrapping_sub(timestamp);
        let seen = match &mut self.incoming {
            Some(incoming) => incoming.window.accept(seq),
            None => Seen::Anew,
        };
        match (&mut self.incoming, seen) {
            (_, Seen::Duplicate) => {
                self.stats.rx_duplicates += 1;
                return Arrived::Again;
            }
            (Some(incoming), Seen::Newest | Seen::Late) => {
                incoming.received = incoming.received.wrapping_add(1);
                incoming.note(now, timestamp, delay);
            }
            (incoming, _) => *incoming = Some(Incoming::new(now, seq, timestamp, delay)),
        }
        self.stats.rx_datagrams += 1;
        self.stats.rx_late += u64::from(seen == Seen::Late);
        if matches!(kind, Kind::Data(_)) && self.feedback_at.is_none() {
            self.feedback_at = Some(now + self.every());
        }
        if kind == Kind::Probe {
            self.want(now, Control::Feedback);
        }
        Arrived::First
    }

    fn want(&mut self, now: Instant, control: Control) {
        self.wanted = self.wanted.max(Some(control));
        if self.control_from <= now {
            self.pending = self.pending.max(self.wanted.take());
        }
    }

    /// The peer began anew: what came in before has no meaning any more.
    pub(super) fn forget_incoming(&mut self) {
        self.incoming = None;
    }

    /// The peer tells what it has received. `is_only` when no other path is up.
    pub(super) fn confirmed(&mut self, now: Instant, record: &Record, others: Others) {
        let behind = self.next_seq.wrapping_sub(1).wrapping_sub(record.highest);
        if record.received == 0 || u64::from(behind) >= self.stats.tx_datagrams {
            return;
        }
        let told = Duration::from_micros(u64::from(record.every)).min(PEER_EVERY_MAX);
        self.peer_every = FEEDBACK_INTERVAL.max(told).max(self.every());
        if let Some(last) = &self.confirmed
            && difference(record.highest, last.highest) <= 0
        {
            return;
        }
        self.learn_trip(micros(now).wrapping_sub(record.echo).wrapping_sub(record.hold));
        self.learn_loss(record);
        self.unconfirmed_since = self.unconfirmed_since.filter(|_| behind > 0).map(|_| now);
        let silent = now - self.confirmed_at;
        self.confirmed_at = now;
        self.probe_at = now + self.probe_every();
        self.revive(now, silent, others);
    }

    fn revive(&mut self, now: Instant, silent: Duration, others: Others) {
        if self.standing != Standing::Down {
            self.standing = Standing::Good;
            return;
        }
        let kept = self
            .answers_since
            .filter(|_| silent < self.probe_every() * INTERVALS_MISSED + self.patience());
        let since = *self.answers_since.insert(kept.unwrap_or(now));
        if now - since >= self.monitor.up_after || others == Others::AllDown {
            self.standing = Standing::Good;
            self.answers_since = None;
        }
    }

    fn learn_trip(&mut self, micros: u32) {
        let micros = i64::from(micros.cast_signed());
        if micros < -EARLY_MAX {
            return;
        }
        let trip = Duration::from_micros(micros.max(1).cast_unsigned());
        if trip > TRIP_MAX {
            return;
        }
        let stats = &mut self.stats;
        (stats.srtt, stats.rttvar) = match stats.srtt {
            None => (Some(trip), trip / 2),
            Some(srtt) => {
                (Some((srtt * 7 + trip) / 8), (stats.rttvar * 3 + srtt.abs_diff(trip)) / 4)
            }
        };
        stats.rtt_min = Some(stats.rtt_min.map_or(trip, |min| min.min(trip)));
    }

    fn learn_loss(&mut self, record: &Record) {
        let Record { highest, received, delay, .. } = *record;
        let Some(last) = &mut self.confirmed else {
            let (sample_highest, sample_received) = (highest, received);
            self.confirmed =
                Some(Confirmed { highest, received, delay, sample_highest, sample_received });
            return;
        };
        let change = difference(delay, last.delay);
        last.delay = last.delay.wrapping_add((change / 4).cast_unsigned());
        (last.highest, last.received) = (highest, received);
        let sent = highest.wrapping_sub(last.sample_highest);
        if sent >= LOSS_SPAN {
            let lost = sent.saturating_sub(received.wrapping_sub(last.sample_received));
            let sample = u64::from(lost) * u64::from(Ratio::ONE.as_ppb()) / u64::from(sent);
            let smoothed = (u64::from(self.stats.loss.as_ppb()) * 7 + sample) / 8;
            self.stats.loss = Ratio::from_ppb(smoothed as u32);
            (last.sample_highest, last.sample_received) = (highest, received);
        }
    }

    /// The link's carrier came or went. One that comes is believed, as for members without a trunk.
    pub(super) fn handle_link(&mut self, now: Instant, change: LinkChange) {
        self.carrier = change;
        self.unconfirmed_since = None;
        if change == LinkChange::Up {
            self.confirmed_at = now;
            self.want(now, Control::Probe);
            self.probe_at = now + self.probe_every();
        }
    }

    fn suspect_at(&self) -> Option<Instant> {
        let since = self.unconfirmed_since.filter(|_| self.standing == Standing::Good)?;
        let trips = self.stats.srtt.map_or(RTO_UNKNOWN, |srtt| srtt * 2);
        Some(since + trips.max(self.peer_every * INTERVALS_MISSED) + self.packet_time * 2)
    }

    fn down_at(&self) -> Option<Instant> {
        let wait = self.monitor.down_after.max((self.patience() + self.peer_every) * 2);
        (self.standing != Standing::Down).then_some(self.confirmed_at + wait)
    }

    /// The next thing that is due by itself; nothing without carrier.
    pub(super) fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        if self.carrier == LinkChange::Down {
            return None;
        }
        let control = self.wanted.map(|_| self.control_from);
        let others = [self.feedback_at, self.suspect_at(), self.down_at(), control];
        let due = others.into_iter().flatten().fold(self.probe_at, Instant::min);
        Some((due, Reason::Path))
    }

    /// Lets happen what is due. Control that falls due waits for [`super::Trunk`] to hand it out.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.carrier == LinkChange::Down {
            return;
        }
        if self.control_from <= now {
            self.pending = self.pending.max(self.wanted.take());
        }
        if self.feedback_at.is_some_and(|at| at <= now) {
            self.feedback_at = None;
            self.want(now, Control::Feedback);
        }
        if self.probe_at <= now {
            self.want(now, Control::Probe);
            self.probe_at = now + self.probe_every();
        }
        if self.suspect_at().is_some_and(|at| at <= now) {
            self.standing = Standing::Suspect;
        }
        if self.down_at().is_some_and(|at| at <= now) {
            self.standing = Standing::Down;
            self.answers_since = None;
            self.unconfirmed_since = None;
            self.stats.deaths += 1;
        }
    }
}

/// Whether a datagram has been there before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrived {
    First,
    Again,
}

/// What the other paths of the trunk do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Others {
    SomeUp,
    AllDown,
}

impl Incoming {
    fn new(now: Instant, seq: u32, timestamp: u32, delay: u32) -> Incoming {
        Incoming {
            window: Window::new(seq),
            received: 1,
            echo: timestamp,
            echo_at: now,
            delay,
            jitter: 0,
            delay_min: Some(delay),
        }
    }

    fn note(&mut self, now: Instant, timestamp: u32, delay: u32) {
        (self.echo, self.echo_at) = (timestamp, now);
        let off = difference(delay, self.delay);
        self.delay = self.delay.wrapping_add((off / 8).cast_unsigned());
        let jitter = i64::from(self.jitter);
        self.jitter = (jitter + (i64::from(off.unsigned_abs()) - jitter) / 8) as u32;
        self.delay_min = match self.delay_min {
            Some(min) if difference(min, delay) <= 0 => Some(min),
            _ => Some(delay),
        };
    }
}
