//! Bonds: several links behave as one.
//!
//! The master side gives packets to [`Bond::send`]; they wait in the ingress queue until the scheduler
//! commits each to a member, whose driver takes it with [`Bond::poll_transmit`] and reports it with
//! [`Bond::handle_transmitted`]. `eql` and `eql-early` commit at arrival, as the driver they model did.
//! Frames that arrive from members come out as events, in the order they came; only a [`trunk`], whose
//! members carry sequences, puts flows back into their order.

mod active_backup;
mod earliest;
pub mod eql;
mod eql_early;
pub mod hash;
mod ingress;
mod member;
mod mode;
mod round_robin;
mod scheduler;
#[cfg(test)]
mod tests;
mod traffic;
pub mod trunk;
mod trunking;
mod ways;

pub use earliest::{Earliest, OrderedBy};
pub use hash::{HashInputs, HashPolicy};
pub use ingress::IngressConfig;
pub use member::{Member, MemberConfig, MemberStats};
pub use mode::Mode;
pub use round_robin::RoundRobin;
pub use scheduler::{FrameMeta, Pick, Scheduler, Target};
pub use ways::Ways;

use crate::Context;
use crate::frame::{Burst, Frame, LinkChange, LinkId, Place};
use crate::queue::Limit;
use crate::time::{Duration, Instant, Reason};
use crate::trace;
use crate::units::BitRate;
use crate::wire::ip::{Marked, set_ce};
use crate::wire::trunk::HEADER_LEN;
use crate::work::DropReason;
use ingress::Ingress;
use member::Waiting;
use std::collections::VecDeque;
use std::fmt;
use trunk::Trunk;

/// What a bond is told at the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BondConfig {
    /// The scheduling policy.
    pub mode: Mode,
    /// The longest packet taken, in bytes.
    pub mtu: u16,
    /// How many members the EQL modes accept; the others have no limit.
    pub max_slaves: u16,
    /// How packets wait before the scheduler.
    pub ingress: IngressConfig,
    /// Whether members carry our header, and what it is for.
    pub trunk: Option<trunk::Config>,
    /// After how long without traffic a member that only receives is held for down; none is never.
    pub traffic: Option<Duration>,
}

impl BondConfig {
    /// A bond of this mode and MTU with four members at most and 64 packets of ingress.
    pub const fn new(mode: Mode, mtu: u16) -> Self {
        let ingress = IngressConfig::DropTail(Limit::Packets(64));
        BondConfig { mode, mtu, max_slaves: eql::MAX_SLAVES, ingress, trunk: None, traffic: None }
    }
}

/// Why a bond refused a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BondError {
    /// The bond has `max_slaves` members already.
    Full,
    /// A member needs a rate above zero.
    ZeroRate,
    /// A bond needs room for one member.
    ZeroMembers,
    /// The link is no member.
    NotMember,
    /// Only trunks watch their paths.
    NotTrunk,
    /// A monitor that probes not at all, or not before it takes a path for dead.
    SlowProbe,
}

impl fmt::Display for BondError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BondError::Full => "the bond has max_slaves members already",
            BondError::ZeroRate => "a member needs a rate above zero",
            BondError::ZeroMembers => "max_slaves must be at least 1",
            BondError::NotMember => "the link is not a member of the bond",
            BondError::NotTrunk => "the bond is no trunk",
            BondError::SlowProbe => "probe must be above zero and shorter than down_after",
        })
    }
}

impl std::error::Error for BondError {}

/// What the layer above should know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A packet arrived over one of the members.
    Received(Frame),
}

/// Totals of the master. Receiving is counted on the members.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BondStats {
    /// Packets committed to a member, also those its queue then dropped.
    pub tx_packets: u64,
    /// Their bytes.
    pub tx_bytes: u64,
    /// Packets never committed: too long, no room in the ingress queue, congestion there, or no usable
    /// member.
    pub tx_dropped: u64,
    /// Packets the ingress queue has marked with congestion.
    pub tx_marked: u64,
}

/// Several links as one.
#[derive(Clone, Debug)]
pub struct Bond {
    config: BondConfig,
    scheduler: Scheduler,
    members: Vec<Member>,
    ingress: Ingress,
    /// The scheduler has nobody for the first packet, and nothing has happened since.
    is_held: bool,
    /// Packets wait that came before an EQL mode was chosen: they are committed as there is room.
    catching_up: bool,
    received: VecDeque<Frame>,
    trunk: Option<Trunk>,
    next_decay: Instant,
    stats: BondStats,
}

impl Bond {
    /// A bond that is open and has no members.
    ///
    /// # Panics
    /// When the ingress limit is a time.
    pub fn new(now: Instant, config: BondConfig) -> Self {
        Bond {
            config,
            scheduler: scheduler(&config),
            members: Vec::new(),
            ingress: Ingress::new(config.ingress),
            is_held: false,
            catching_up: false,
            received: VecDeque::new(),
            trunk: config.trunk.map(Trunk::new),
            next_decay: now + eql::DECAY_PERIOD,
            stats: BondStats::default(),
        }
    }

    /// Closes and opens the bond: its members are gone with what they held, `max_slaves` is four
    /// again and the scheduler starts anew.
    pub fn reopen(&mut self, now: Instant, cx: &mut Context) {
        while let Some(mut member) = self.members.pop() {
            purge(&mut member, now, cx);
            cx.trace.record(now, trace::Event::Emancipated(member.link()));
        }
        while let Some(waiting) = self.ingress.take_any() {
            self.drop_frame(now, cx, waiting.frame, DropReason::NoMember);
        }
        self.config.max_slaves = eql::MAX_SLAVES;
        self.scheduler = scheduler(&self.config);
        self.next_decay = now + eql::DECAY_PERIOD;
        if let Some(trunk) = &self.trunk {
            self.received.extend(trunk.held());
        }
        self.trunk = self.config.trunk.map(Trunk::new);
    }

    /// The configuration in force.
    pub const fn config(&self) -> &BondConfig {
        &self.config
    }

    /// Changes how many members are accepted. Those above a lower limit stay.
    pub fn set_config(&mut self, max_slaves: u16) -> Result<(), BondError> {
        if max_slaves == 0 {
            return Err(BondError::ZeroMembers);
        }
        self.config.max_slaves = max_slaves;
        Ok(())
    }

    /// Goes on with another scheduling policy. Members stay, and what waits for them; what waits in the
    /// bond is scheduled by the new one.
    ///
    /// # Errors
    /// An EQL mode takes no more than `max_slaves` members.
    pub fn set_mode(
        &mut self,
        now: Instant,
        cx: &mut Context,
        mode: Mode,
    ) -> Result<(), BondError> {
        let (was_eql, is_eql) = (self.config.mode.is_eql(), mode.is_eql());
        if is_eql && self.members.len() > usize::from(self.config.max_slaves) {
            return Err(BondError::Full);
        }
        if was_eql != is_eql {
            // Both keep their order of enslaving, seen from its other end.
            self.members.reverse();
            self.members.iter_mut().for_each(Member::forget_eql);
            self.next_decay = now + eql::DECAY_PERIOD;
        }
        self.config.mode = mode;
        self.scheduler = scheduler(&self.config);
        self.catching_up = is_eql;
        self.drain(now, cx);
        Ok(())
    }

    /// Changes how a trunk watches its paths, from now on.
    ///
    /// # Errors
    /// The bond is no trunk, or the values do not fit together.
    pub fn set_monitor(&mut self, now: Instant, monitor: trunk::Monitor) -> Result<(), BondError> {
        let (Some(trunk), Some(config)) = (&mut self.trunk, &mut self.config.trunk) else {
            return Err(BondError::NotTrunk);
        };
        if !monitor.is_sound() {
            return Err(BondError::SlowProbe);
        }
        config.monitor = monitor;
        trunk.set_monitor(now, monitor);
        Ok(())
    }

    /// Totals so far.
    pub const fn stats(&self) -> &BondStats {
        &self.stats
    }

    /// The members in list order: newest first in the EQL modes, oldest first in the others.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// One member.
    pub fn member(&self, link: LinkId) -> Option<&Member> {
        self.members.iter().find(|m| m.link() == link)
    }

    /// Frames that are here and nowhere else: nobody has taken them yet.
    pub fn held_frames(&self) -> usize {
        let waiting: usize = self.members.iter().map(Member::waiting_frames).sum();
        let held = self.trunk.as_ref().map_or(0, Trunk::held_frames);
        self.ingress.len() + waiting + held + self.received.len()
    }

    /// Packets waiting for the scheduler.
    pub fn ingress_frames(&self) -> usize {
        self.ingress.len()
    }

    /// Their bytes.
    pub fn ingress_bytes(&self) -> u64 {
        self.ingress.bytes()
    }

    /// Takes a link in, up until [`Bond::handle_link`] says otherwise. A link that is a member
    /// already gets a new record and keeps its state and the frames it holds.
    pub fn enslave(
        &mut self,
        now: Instant,
        cx: &mut Context,
        config: MemberConfig,
    ) -> Result<(), BondError> {
        if config.rate.is_zero() {
            return Err(BondError::ZeroRate);
        }
        let eql = self.config.mode.is_eql();
        let member = match self.index(config.link) {
            Some(index) => {
                let mut member = self.members.remove(index);
                member.reconfigure(now, config);
                member
            }
            None if eql && self.members.len() >= usize::from(self.config.max_slaves) => {
                return Err(BondError::Full);
            }
            None => Member::new(config, self.config.trunk.map_or(0, |_| HEADER_LEN as u32)),
        };
        if let Some(trunk) = &mut self.trunk {
            trunk.add(now, &member, self.config.mtu);
        }
        let place = if eql { 0 } else { self.members.len() };
        self.members.insert(place, member);
        self.members[place].ear.hear(now);
        if !config.direction.sends() {
            self.reclaim(place);
        }
        cx.trace.record(now, trace::Event::Enslaved(config.link));
        self.drain(now, cx);
        Ok(())
    }

    /// Lets a link go. What waited for it is sent over the others.
    pub fn emancipate(
        &mut self,
        now: Instant,
        cx: &mut Context,
        link: LinkId,
    ) -> Result<(), BondError> {
        let index = self.index(link).ok_or(BondError::NotMember)?;
        self.reclaim(index);
        self.members.remove(index);
        cx.trace.record(now, trace::Event::Emancipated(link));
        if let Some(trunk) = &mut self.trunk {
            trunk.remove(link);
        }
        self.follow_paths(now, cx);
        self.drain(now, cx);
        Ok(())
    }

    /// Changes what EQL is told about a member's rate, at once.
    pub fn set_member(&mut self, link: LinkId, weight: BitRate) -> Result<(), BondError> {
        let index = self.index(link).ok_or(BondError::NotMember)?;
        self.members[index].set_weight(weight);
        Ok(())
    }

    /// Whether one more packet is better sent now than later; always in the EQL modes and with FQ-CoDel.
    pub fn has_room(&self) -> bool {
        self.ingress.has_room(u32::from(self.config.mtu))
    }

    /// Takes a packet from the master side.
    pub fn send(&mut self, now: Instant, cx: &mut Context, frame: Frame, meta: FrameMeta) {
        if meta.len > u32::from(self.config.mtu) {
            self.drop_frame(now, cx, frame, DropReason::TooBig);
            return;
        }
        let waiting = Waiting { frame, flow: meta.flow, turn: None };
        cx.frames.set_waiting(frame, Place::Queue);
        let stats = &mut self.stats;
        self.ingress.push(now, waiting, meta.len, |lost| {
            give_up(stats, now, cx, lost.frame, DropReason::QueueFull);
        });
        if !self.is_held {
            self.drain(now, cx);
        }
    }

    /// A frame arrived from a link; one that is no member is not listened to.
    #[inline]
    pub fn handle_frame(&mut self, now: Instant, cx: &mut Context, link: LinkId, frame: Frame) {
        match self.index(link) {
            Some(index) if self.trunk.is_some() => self.handle_datagram(now, cx, index, frame),
            Some(index) => {
                self.members[index].ear.hear(now);
                let stats = &mut self.members[index].stats;
                stats.rx_packets += 1;
                stats.rx_bytes += cx.frames.len(frame) as u64;
                self.received.push_back(frame);
            }
            None => drop_on(link, now, cx, frame, DropReason::NoMember),
        }
    }

    /// The wire has taken `bytes` of what was handed out for a link.
    pub fn handle_transmitted(&mut self, now: Instant, cx: &mut Context, link: LinkId, bytes: u64) {
        if let Some(index) = self.index(link) {
            self.members[index].transmitted(now, bytes);
            self.drain(now, cx);
        }
    }

    /// A link changed state. What waits for a member that goes down is sent over the others, except
    /// in the EQL modes, where it is lost as a device loses its queue, and the member is buried later.
    pub fn handle_link(
        &mut self,
        now: Instant,
        cx: &mut Context,
        link: LinkId,
        change: LinkChange,
    ) {
        let Some(index) = self.index(link) else {
            return;
        };
        self.members[index].set_state(change);
        self.members[index].ear.hear(now);
        if let Some(trunk) = &mut self.trunk {
            trunk.handle_link(now, link, change);
        }
        if change == LinkChange::Down {
            if self.config.mode.is_eql() {
                purge(&mut self.members[index], now, cx);
            } else {
                self.reclaim(index);
            }
            self.members[index].forget_in_flight();
        }
        self.follow_paths(now, cx);
        self.drain(now, cx);
    }

    /// The deadline of [`Bond::poll_timeout`] has passed.
    pub fn handle_timeout(&mut self, now: Instant, cx: &mut Context) {
        if self.config.mode.is_eql() && now >= self.next_decay {
            self.decay(now, cx);
        }
        self.judge_silence(now);
        let due = self.trunk.as_ref().and_then(Trunk::poll_timeout);
        if let Some(trunk) = &mut self.trunk
            && due.is_some_and(|(at, _)| at <= now)
        {
            trunk.handle_timeout(now, &mut self.received);
            cx.work.timer_arms += 1;
            self.follow_paths(now, cx);
        }
    }

    fn decay(&mut self, now: Instant, cx: &mut Context) {
        let periods = 1 + (now - self.next_decay).as_nanos() / eql::DECAY_PERIOD.as_nanos();
        self.next_decay += eql::DECAY_PERIOD * periods;
        let dead: Vec<LinkId> =
            self.members.iter().filter(|m| m.sends() && !m.is_up()).map(Member::link).collect();
        for link in dead {
            self.bury(now, cx, link);
        }
        for member in &mut self.members {
            member.eql.decay(periods);
        }
        cx.work.timer_arms += 1;
    }

    /// The next deadline: the decay in the EQL modes, silence of a member that only receives, and what a
    /// trunk has to watch.
    pub fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        let decay = self.config.mode.is_eql().then_some((self.next_decay, Reason::Decay));
        let trunk = self.trunk.as_ref().and_then(Trunk::poll_timeout);
        let silence = self.silent_at().map(|at| (at, Reason::Path));
        decay.into_iter().chain(silence).chain(trunk).min_by_key(|(at, _)| *at)
    }

    /// The next deadline, without its reason.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        if self.trunk.is_none() && !self.config.mode.is_eql() && self.config.traffic.is_none() {
            return None;
        }
        self.poll_timeout().map(|(at, _)| at)
    }

    /// Hands out what may be sent on a link now. What it appends belongs to the caller.
    #[inline]
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        cx: &mut Context,
        link: LinkId,
        burst: &mut Burst,
    ) {
        if let Some(index) = self.index(link)
            && (self.trunk.is_some() || self.members[index].waiting_frames() > 0)
        {
            self.hand_out(now, cx, index, burst);
        }
    }

    #[inline(never)]
    fn hand_out(&mut self, now: Instant, cx: &mut Context, index: usize, burst: &mut Burst) {
        let member = &mut self.members[index];
        let was_full = member.is_full(u32::from(self.config.mtu));
        if self.trunk.is_some() {
            self.transmit_datagrams(now, cx, index, burst);
        } else if member.can_send() {
            member.transmit(now, burst, |_, _| {});
        }
        for frame in &burst.frames {
            cx.frames.set_waiting(*frame, Place::Transmitter);
        }
        if was_full && self.is_held {
            self.drain(now, cx);
        }
    }

    /// The next thing the layer above should know.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.received.pop_front().map(Event::Received)
    }

    fn index(&self, link: LinkId) -> Option<usize> {
        self.members.iter().position(|m| m.link() == link)
    }

    /// Commits what waits, first to last, until the scheduler holds.
    #[inline]
    fn drain(&mut self, now: Instant, cx: &mut Context) {
        self.is_held = false;
        match self.ingress.is_empty() {
            true => self.catching_up = false,
            false => self.commit_waiting(now, cx),
        }
    }

    #[inline(never)]
    fn commit_waiting(&mut self, now: Instant, cx: &mut Context) {
        while let Some((waiting, len)) = self.first(now, cx) {
            let meta = FrameMeta { len, flow: waiting.flow };
            let pick = self.scheduler.pick(now, &self.members, meta);
            let target = match pick.target {
                Target::One { member, .. }
                    if self.catching_up && self.members[member].is_full(len) =>
                {
                    Target::Hold
                }
                target => target,
            };
            match target {
                Target::One { member, allowance } => self.commit_run(now, cx, member, allowance),
                Target::Hold => {}
                Target::None => {
                    self.ingress.take_first();
                    self.drop_frame(now, cx, waiting.frame, DropReason::NoMember);
                }
            }
            if let Some(dead) = pick.bury {
                self.bury(now, cx, dead);
            }
            if target == Target::Hold {
                self.is_held = true;
                return;
            }
        }
        self.catching_up = false;
    }

    /// Commits the first packet to a member, and those behind it within the allowance.
    fn commit_run(&mut self, now: Instant, cx: &mut Context, member: usize, allowance: u32) {
        let mut left = allowance;
        while let Some((waiting, len)) = self.ingress.take_first() {
            self.commit(now, cx, member, waiting, len);
            left = left.saturating_sub(len);
            if left == 0 {
                break;
            }
            let next = self.first(now, cx).map(|(_, next)| next);
            if next.is_none_or(|next| next > left || self.members[member].is_full(next)) {
                break;
            }
        }
    }

    /// The packet that is next, and its length; those before it that had to are marked or dropped.
    #[inline]
    fn first(&mut self, now: Instant, cx: &mut Context) -> Option<(Waiting, u32)> {
        match &self.ingress {
            Ingress::DropTail(queue) => queue.peek().copied(),
            Ingress::FqCodel { .. } => self.judge_first(now, cx),
        }
    }

    #[inline(never)]
    fn judge_first(&mut self, now: Instant, cx: &mut Context) -> Option<(Waiting, u32)> {
        let stats = &mut self.stats;
        self.ingress.first(now, |waiting| match set_ce(cx.frames.bytes_mut(waiting.frame)) {
            Marked::Marked => {
                stats.tx_marked += 1;
                Some(waiting)
            }
            Marked::NotCapable => {
                give_up(stats, now, cx, waiting.frame, DropReason::Congestion);
                None
            }
        })
    }

    fn commit(
        &mut self,
        now: Instant,
        cx: &mut Context,
        member: usize,
        mut waiting: Waiting,
        len: u32,
    ) {
        if let Some(trunk) = &mut self.trunk {
            waiting.turn.get_or_insert_with(|| trunk.take_turn(waiting.flow));
        }
        let meta = FrameMeta { len, flow: waiting.flow };
        self.scheduler.commit(now, &mut self.members, member, meta);
        self.stats.tx_packets += 1;
        self.stats.tx_bytes += u64::from(len);
        let member = &mut self.members[member];
        if let Err(refused) = member.push(waiting, len) {
            drop_on(member.link(), now, cx, refused.frame, DropReason::QueueFull);
        }
    }

    /// Puts what waits for a member back in front of the ingress queue, in order.
    fn reclaim(&mut self, index: usize) {
        while let Some((waiting, len)) = self.members[index].take_back() {
            self.stats.tx_packets -= 1;
            self.stats.tx_bytes -= u64::from(len);
            self.ingress.push_front(waiting, len);
        }
    }

    /// Removes a dead member with what it holds. A trunk keeps it: it is watched, and comes back.
    fn bury(&mut self, now: Instant, cx: &mut Context, link: LinkId) {
        if let Some(index) = self.index(link).filter(|_| self.trunk.is_none()) {
            let mut member = self.members.remove(index);
            purge(&mut member, now, cx);
            cx.trace.record(now, trace::Event::Buried(link));
        }
    }

    fn drop_frame(&mut self, now: Instant, cx: &mut Context, frame: Frame, reason: DropReason) {
        give_up(&mut self.stats, now, cx, frame, reason);
    }

    /// Asserts what must always hold.
    ///
    /// # Panics
    /// When it does not: that is a bug of the bond.
    pub fn check_invariants(&self) {
        let mut frames: Vec<Frame> = Vec::new();
        let mut links: Vec<LinkId> = Vec::new();
        for member in &self.members {
            member.check_invariants();
            links.push(member.link());
            frames.extend(member.frames());
        }
        // Once, because every flow has a queue.
        let (mut ingress_packets, mut ingress_bytes) = (0, 0);
        for (waiting, len) in self.ingress.iter() {
            frames.push(waiting.frame);
            ingress_packets += 1;
            ingress_bytes += u64::from(len);
        }
        frames.extend(&self.received);
        if let Some(trunk) = &self.trunk {
            trunk.check_invariants();
            frames.extend(trunk.held());
        }
        assert!(all_differ(&frames), "a frame is in two places");
        assert!(all_differ(&links), "a link is a member twice");
        assert_eq!(self.ingress.len(), ingress_packets, "ingress packets");
        assert_eq!(self.ingress.bytes(), ingress_bytes, "ingress bytes");
        let may_wait = !self.config.mode.is_eql() || self.catching_up;
        assert!(may_wait || self.ingress.is_empty(), "EQL commits at arrival");
    }
}

/// The policy of a bond; a resequencer at the other end takes the order of flows off its hands.
fn scheduler(config: &BondConfig) -> Scheduler {
    match (config.mode, config.trunk.map(|trunk| trunk.reorder)) {
        (Mode::Earliest, Some(trunk::Reorder::PerFlow { .. })) => {
            Scheduler::Earliest(Box::new(Earliest::new(OrderedBy::Receiver)))
        }
        (mode, _) => Scheduler::new(mode),
    }
}

fn give_up(
    stats: &mut BondStats,
    now: Instant,
    cx: &mut Context,
    frame: Frame,
    reason: DropReason,
) {
    stats.tx_dropped += 1;
    cx.drop_frame(frame, reason);
    cx.trace.record(now, trace::Event::Drop { link: None, reason });
}

fn drop_on(link: LinkId, now: Instant, cx: &mut Context, frame: Frame, reason: DropReason) {
    cx.drop_frame(frame, reason);
    let link = Some(link);
    cx.trace.record(now, trace::Event::Drop { link, reason });
}

/// Loses what waits for a member whose device is gone.
fn purge(member: &mut Member, now: Instant, cx: &mut Context) {
    let link = member.link();
    while let Some(frame) = member.purge_one() {
        drop_on(link, now, cx, frame, DropReason::MemberDown);
    }
}

fn all_differ<T: PartialEq>(items: &[T]) -> bool {
    (1..items.len()).all(|i| !items[..i].contains(&items[i]))
}
