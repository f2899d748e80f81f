//! Which member carries the next frame.
//!
//! `pick` decides and changes nothing: the same scheduler, members, time and frame give the same
//! answer. `commit` then counts the frame. Everything else a decision asks for (a burial) is returned.

use super::active_backup;
use super::earliest::Earliest;
use super::eql;
use super::eql_early;
use super::member::Member;
use super::mode::Mode;
use super::round_robin::RoundRobin;
use crate::frame::LinkId;
use crate::time::Instant;

/// What a scheduler knows about a frame; it never parses one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameMeta {
    /// Packet length in bytes.
    pub len: u32,
    /// Hash of the flow it belongs to.
    pub flow: u32,
}

/// A decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pick {
    /// Who carries the frame.
    pub target: Target,
    /// A dead member found on the way, to be removed once the frame is committed.
    pub bury: Option<LinkId>,
}

/// Who carries a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// One member.
    One {
        /// Its place in the member list.
        member: usize,
        /// How many bytes may follow each other to it without asking again.
        allowance: u32,
    },
    /// Nobody yet: it waits in the bond.
    Hold,
    /// Nobody: it is dropped.
    None,
}

impl Target {
    /// One frame for one member.
    pub(super) const fn single(member: usize, meta: FrameMeta) -> Target {
        Target::One { member, allowance: meta.len }
    }
}

impl From<Target> for Pick {
    fn from(target: Target) -> Pick {
        Pick { target, bury: None }
    }
}

/// The policies. An enum, not a trait: the set is closed and the call is hot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scheduler {
    /// [`Mode::Eql`]
    Eql,
    /// [`Mode::EqlEarly`]
    EqlEarly,
    /// [`Mode::Earliest`]
    Earliest(Box<Earliest>),
    /// [`Mode::BalanceRr`]
    RoundRobin(RoundRobin),
    /// [`Mode::ActiveBackup`]
    ActiveBackup,
}

impl Scheduler {
    /// The policy of a mode, as at the start.
    pub fn new(mode: Mode) -> Self {
        match mode {
            Mode::Eql => Scheduler::Eql,
            Mode::EqlEarly => Scheduler::EqlEarly,
            Mode::Earliest => Scheduler::Earliest(Box::default()),
            Mode::BalanceRr => Scheduler::RoundRobin(RoundRobin::default()),
            Mode::ActiveBackup => Scheduler::ActiveBackup,
        }
    }

    /// Who carries a frame now.
    pub fn pick(&self, now: Instant, members: &[Member], meta: FrameMeta) -> Pick {
        match self {
            Scheduler::Eql => eql::pick(members, meta),
            Scheduler::EqlEarly => eql_early::pick(members, meta),
            Scheduler::Earliest(earliest) => earliest.pick(now, members, meta).into(),
            Scheduler::RoundRobin(rr) => rr.pick(members, meta).into(),
            Scheduler::ActiveBackup => active_backup::pick(members, meta).into(),
        }
    }

    /// A frame goes to `members[member]`, which does not hold it yet.
    pub fn commit(&mut self, now: Instant, members: &mut [Member], member: usize, meta: FrameMeta) {
        match self {
            Scheduler::Eql | Scheduler::EqlEarly => members[member].eql.add(meta.len),
            Scheduler::RoundRobin(rr) => rr.commit(),
            Scheduler::Earliest(earliest) => earliest.commit(now, &members[member], meta),
            Scheduler::ActiveBackup => {}
        }
    }
}
