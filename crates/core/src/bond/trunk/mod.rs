//! Trunks: bonds whose members carry our header (see [`crate::wire::trunk`]), because both ends are ours.
//!
//! The header's sequences make three things possible that a plain member cannot do: the receiver puts
//! flows back into order, each end learns delay and loss of every path, and a path that dies silently is
//! found and left. A [`Path`] stands beside each member; the resequencer is the whole bond's.
//!
//! A packet gets its place in its bucket when it is committed and its path sequence when it is handed
//! out. So a packet that comes back from a dying path keeps its place.

mod path;
mod resequencer;
mod window;

#[cfg(test)]
mod tests;

pub use path::{Path, PathStats, Standing};
pub use resequencer::ResequencerStats;

use super::member::Member;
use crate::Context;
use crate::frame::{Frame, LinkChange, LinkId};
use crate::queue::Limit;
use crate::time::{Duration, Instant, Reason};
use crate::wire::trunk::{BUCKETS, BucketSeq, CONTROL_LEN, HEADER_LEN, Kind, Record, Repr, Turn};
use path::{Arrived, Others, micros};
use resequencer::{Arrival, Resequencer};
use std::collections::VecDeque;

/// What may wait in a trunk member's queue: enough to cover the delays that are worth bonding.
pub const MEMBER_QUEUE: Limit = Limit::Time(Duration::from_millis(100));
/// Waited beyond the paths' difference: timers and the rounding of rates.
const MARGIN: Duration = Duration::from_millis(5);
/// Waited beyond the paths' difference, in mean deviations of the delay.
const MARGIN_JITTERS: u64 = 4;

/// Whether flows are put back into order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reorder {
    /// Packets come out as they arrive.
    Off,
    /// Each flow for itself.
    PerFlow {
        /// The longest that a packet is held for its predecessors.
        max: Duration,
    },
}

/// How paths are watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Monitor {
    /// From one probe to the next on paths that nothing else confirms. Above zero.
    pub probe: Duration,
    /// A path is dead when nothing confirms it for this long.
    pub down_after: Duration,
    /// A dead path is used again when it has answered for this long.
    pub up_after: Duration,
}

impl Monitor {
    /// Whether a path is probed at all, and before it is taken for dead.
    pub fn is_sound(&self) -> bool {
        !self.probe.is_zero() && self.probe < self.down_after
    }
}

impl Default for Monitor {
    /// Fit for tunnels over the Internet.
    fn default() -> Self {
        Monitor {
            probe: Duration::from_millis(50),
            down_after: Duration::from_millis(200),
            up_after: Duration::from_secs(1),
        }
    }
}

/// What a trunk is told at the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Our number for the bond: what arrives must carry it.
    pub local_index: u32,
    /// The peer's number for the bond.
    pub peer_index: u32,
    /// Our incarnation, drawn anew at each start: the peer sees by it that we began anew, and our
    /// sequences begin at it.
    pub epoch: u32,
    /// Whether flows are put back into order.
    pub reorder: Reorder,
    /// How paths are watched.
    pub monitor: Monitor,
}

/// Bytes of a control datagram beyond the header, which is how members count packets.
const CONTROL_BODY: u32 = (CONTROL_LEN - HEADER_LEN) as u32;

/// The trunk of a bond.
#[derive(Clone, Debug)]
pub(super) struct Trunk {
    config: Config,
    /// The next sequence of each bucket.
    next: Box<[BucketSeq]>,
    paths: Vec<Path>,
    /// Beyond every path sequence of links that have left, whose ways others may use by now: the peer
    /// would take lower ones for datagrams it has had.
    beyond_left: u32,
    resequencer: Option<Resequencer>,
    peer_epoch: Option<u32>,
}

/// What a datagram turned out to be.
pub(super) enum Received {
    /// A packet; it has gone where it belongs.
    Data,
    /// News about a path.
    Control,
    /// It was there before.
    Duplicate,
}

impl Trunk {
    pub(super) fn new(config: Config) -> Trunk {
        Trunk {
            config,
            next: vec![BucketSeq::new(config.epoch); usize::from(BUCKETS)].into(),
            paths: Vec::new(),
            beyond_left: config.epoch,
            resequencer: match config.reorder {
                Reorder::Off => None,
                Reorder::PerFlow { max } => Some(Resequencer::new(max)),
            },
            peer_epoch: None,
        }
    }

    pub(super) const fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn resequencer_stats(&self) -> Option<&ResequencerStats> {
        self.resequencer.as_ref().map(Resequencer::stats)
    }

    pub(super) fn set_monitor(&mut self, now: Instant, monitor: Monitor) {
        self.config.monitor = monitor;
        self.paths.iter_mut().for_each(|path| path.set_monitor(now, monitor));
    }

    /// How many packets wait for their predecessors.
    pub(super) fn held_frames(&self) -> usize {
        self.resequencer.as_ref().map_or(0, Resequencer::held_frames)
    }

    pub(super) fn handle_link(&mut self, now: Instant, link: LinkId, change: LinkChange) {
        if let Some(path) = self.path_mut(link) {
            path.handle_link(now, change);
        }
    }

    pub(super) fn path(&self, link: LinkId) -> Option<&Path> {
        self.paths.iter().find(|path| path.link() == link)
    }

    fn path_mut(&mut self, link: LinkId) -> Option<&mut Path> {
        self.paths.iter_mut().find(|path| path.link() == link)
    }

    /// Watches a member's path, from its beginning unless it is watched already.
    pub(super) fn add(&mut self, now: Instant, member: &Member, mtu: u16) {
        let link = member.link();
        if self.path(link).is_none() {
            self.paths.push(Path::new(now, link, self.beyond_left, self.config.monitor));
        }
        let times = (member.wire_time(CONTROL_BODY), member.wire_time(u32::from(mtu)));
        if let Some(path) = self.path_mut(link) {
            path.set_line(times.0, times.1);
        }
    }

    pub(super) fn remove(&mut self, link: LinkId) {
        let Some(index) = self.paths.iter().position(|path| path.link() == link) else {
            return;
        };
        let next = self.paths.remove(index).next_seq();
        if next.wrapping_sub(self.beyond_left).cast_signed() > 0 {
            self.beyond_left = next;
        }
    }

    /// The next place in a flow's bucket.
    pub(super) fn take_turn(&mut self, flow: u32) -> Turn {
        let bucket = (flow % u32::from(BUCKETS)) as u16;
        let next = &mut self.next[usize::from(bucket)];
        let seq = *next;
        *next = seq.plus(1);
        Turn { bucket, seq }
    }

    /// The header of a datagram that is handed out now and should have left at `out`.
    pub(super) fn header(
        &mut self,
        now: Instant,
        link: LinkId,
        kind: Kind,
        out: Instant,
    ) -> [u8; HEADER_LEN] {
        let receiver = self.config.peer_index;
        let path_seq = self.path_mut(link).map_or(0, |path| path.sent(now, kind));
        Repr { receiver, path_seq, kind, timestamp: micros(out) }.emit()
    }

    /// The control datagram that is due on a member's path, if one is.
    pub(super) fn control(
        &mut self,
        now: Instant,
        cx: &mut Context,
        member: &mut Member,
    ) -> Option<Frame> {
        let link = member.link();
        let kind = self.path_mut(link)?.pending.take()?.kind();
        let out = member.transmit_control(now, CONTROL_BODY);
        let epoch = self.config.epoch;
        let record = self.path_mut(link)?.record(epoch, out);
        let header = self.header(now, link, kind, out);
        Some(cx.frames.insert_parts(&header, &record.emit(), 0))
    }

    /// Takes a datagram whose header has been read: a packet goes to `out` when its turn has come.
    pub(super) fn handle(
        &mut self,
        now: Instant,
        cx: &mut Context,
        link: LinkId,
        (repr, frame): (Repr, Frame),
        out: &mut VecDeque<Frame>,
    ) -> Result<Received, crate::wire::Error> {
        let record = match repr.kind {
            Kind::Data(_) => None,
            Kind::Probe | Kind::Feedback => {
                Some(Record::parse(&cx.frames.bytes(frame)[HEADER_LEN..])?)
            }
        };
        if let Some(record) = &record {
            self.meet(record.epoch, out);
        }
        let others = self.others(link);
        let Some(path) = self.path_mut(link) else {
            return Ok(Received::Duplicate);
        };
        if path.arrived(now, repr.path_seq, repr.timestamp, repr.kind) == Arrived::Again {
            return Ok(Received::Duplicate);
        }
        if let Some(record) = &record {
            path.confirmed(now, record, others);
            return Ok(Received::Control);
        }
        cx.frames.strip_front(frame, HEADER_LEN);
        match (&mut self.resequencer, repr.kind) {
            (Some(resequencer), Kind::Data(turn)) => {
                let arrival = Arrival { frame, link, turn };
                resequencer.arrive(now, cx, arrival, &self.paths, out);
            }
            _ => out.push_back(frame),
        }
        Ok(Received::Data)
    }

    /// Whether any other path than this one is up.
    fn others(&self, link: LinkId) -> Others {
        match self.paths.iter().any(|path| path.link() != link && path.is_up()) {
            true => Others::SomeUp,
            false => Others::AllDown,
        }
    }

    /// Notes the peer's incarnation. With a new one all its sequences begin anew.
    fn meet(&mut self, epoch: u32, out: &mut VecDeque<Frame>) {
        if self.peer_epoch.replace(epoch).is_some_and(|old| old != epoch) {
            self.paths.iter_mut().for_each(Path::forget_incoming);
            if let Some(resequencer) = &mut self.resequencer {
                resequencer.reset(out);
            }
        }
    }

    /// Whether a member may get packets: its path is good, or it is up and none is good.
    pub(super) fn may_carry(&self, link: LinkId) -> bool {
        let Some(path) = self.path(link) else {
            return false;
        };
        path.is_good() || path.is_up() && !self.paths.iter().any(Path::is_good)
    }

    /// How much longer a path takes than the quickest; none before anything is known. A path nothing is
    /// known of yet is taken to be as slow as the slowest that is known.
    pub(super) fn delay(&self, link: LinkId) -> Option<Duration> {
        let up = || self.paths.iter().filter(|path| path.is_up());
        let base = up().find_map(Path::delay_out)?;
        let later = |delay: u32| i64::from(delay.wrapping_sub(base).cast_signed());
        let known = || up().filter_map(Path::delay_out).map(later);
        let (least, most) = (known().min()?, known().max()?);
        let own = self.path(link)?.delay_out().map_or(most, later);
        Some(Duration::from_micros(u64::try_from(own - least).unwrap_or(0)))
    }

    /// The round trip of the slowest path that is up; none is known at first.
    pub(super) fn round_trip(&self) -> Duration {
        let up = self.paths.iter().filter(|path| path.is_up());
        up.filter_map(|path| path.stats().srtt).max().unwrap_or(Duration::ZERO)
    }

    pub(super) fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        let held = self.resequencer.as_ref().and_then(Resequencer::next_deadline);
        let held = held.map(|at| (at, Reason::Resequence));
        self.paths.iter().filter_map(Path::poll_timeout).chain(held).min_by_key(|(at, _)| *at)
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, out: &mut VecDeque<Frame>) {
        for path in &mut self.paths {
            path.handle_timeout(now);
        }
        if let Some(resequencer) = &mut self.resequencer {
            resequencer.handle_timeout(now, &self.paths, out);
        }
    }

    /// Packets that wait for their predecessors.
    pub(super) fn held(&self) -> impl Iterator<Item = Frame> {
        self.resequencer.iter().flat_map(Resequencer::frames)
    }

    pub(super) fn check_invariants(&self) {
        if let Some(resequencer) = &self.resequencer {
            resequencer.check_invariants();
        }
    }
}

/// How far apart the delays of the paths that are up are, as we receive; none while nothing has come over
/// one of them.
fn skew(paths: &[Path]) -> Option<Duration> {
    let mut up = paths.iter().filter(|path| path.is_up()).map(Path::delay_in);
    let (base, _) = up.next()??;
    let (mut least, mut most) = (0, 0);
    for path in up {
        let later = i64::from(path?.0.wrapping_sub(base).cast_signed());
        (least, most) = (later.min(least), later.max(most));
    }
    Some(Duration::from_micros((most - least).cast_unsigned()))
}

/// What the delays of the paths vary by, beyond [`skew`].
fn margin(paths: &[Path]) -> Duration {
    let jitters = paths.iter().filter_map(Path::delay_in).map(|(_, jitter)| u64::from(jitter));
    MARGIN + Duration::from_micros(jitters.max().unwrap_or(0)) * MARGIN_JITTERS
}
