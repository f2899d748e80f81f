//! `earliest`: a frame goes where it is expected to arrive first. Ours, and the default.
//!
//! Expected arrival is what the member still has to send, plus the frame, at the member's rate with its
//! framing, plus its propagation time. Committing late keeps the choice fresh, but a fast member must
//! be committed far enough ahead that a frame on the slowest one is overtaken by nothing: so members
//! are filled up to a horizon, the longest time a frame needs on any of them, and at least two frames.
//! When the best member is filled the frame waits in the bond, even if a slower one has room: waiting
//! still gets it there first.
//!
//! Frames of equal length leave in an order that arrives in order. A shorter one could pass a longer one
//! of its own flow that went to a slower member, and nobody puts them in order again: so it takes the
//! first member that gets it there after its predecessor, if one has room. Other flows it may pass.
//! Where the receiver puts flows back into order, each frame simply goes where it arrives first.
//!
//! While every member that sends is down frames wait too, as far as the bond's ingress queue goes: a flap shorter
//! than that loses nothing.

use super::member::Member;
use super::scheduler::{FrameMeta, Target};
use crate::time::{Duration, Instant};

/// The least that is committed ahead, in frames.
const FRAMES_AHEAD: u64 = 2;
/// The longest packet is forgotten by one part in so many with each packet.
const FORGET: u32 = 16;
/// Flows are told apart by this many low bits of their hash: two that share them keep their order with
/// each other, which costs nothing but a little choice.
const FLOW_BITS: u32 = 6;

/// Who sees to the order of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OrderedBy {
    /// The scheduler, as far as it can.
    #[default]
    Sender,
    /// The peer's resequencer.
    Receiver,
}

/// The policy's memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Earliest {
    /// Length of the longest of the last packets, slowly forgotten: it sets the horizon, so that a short
    /// packet finds it where the long ones have it.
    longest: u32,
    /// Expected arrival of the last frame of each flow.
    last_arrival: [Instant; 1 << FLOW_BITS],
    ordered_by: OrderedBy,
}

impl Default for Earliest {
    fn default() -> Self {
        Earliest::new(OrderedBy::Sender)
    }
}

/// A member and when the frame would arrive over it.
type Choice = Option<(usize, Instant)>;

fn sooner(best: Choice, index: usize, arrival: Instant) -> Choice {
    match best {
        Some((_, earliest)) if earliest <= arrival => best,
        _ => Some((index, arrival)),
    }
}

impl Earliest {
    /// The policy at its start.
    pub const fn new(ordered_by: OrderedBy) -> Self {
        Earliest { longest: 0, last_arrival: [Instant::ZERO; 1 << FLOW_BITS], ordered_by }
    }

    pub(super) fn pick(&self, now: Instant, members: &[Member], meta: FrameMeta) -> Target {
        match members {
            [] => return Target::None,
            [only] => return self.pick_only(only, meta),
            _ => {}
        }
        let predecessor = match self.ordered_by {
            OrderedBy::Sender => self.last_arrival[bucket(meta.flow)],
            OrderedBy::Receiver => Instant::ZERO,
        };
        let longest = self.longest.max(meta.len);
        let mut horizon = Duration::ZERO;
        let (mut first, mut in_order): (Choice, Choice) = (None, None);
        for (index, member) in members.iter().enumerate().filter(|(_, m)| m.can_send()) {
            horizon = horizon.max(member.wire_time(longest) + member.delay());
            let arrival = member.arrival(now, meta.len);
            first = sooner(first, index, arrival);
            if arrival >= predecessor {
                in_order = sooner(in_order, index, arrival);
            }
        }
        let Some((first, _)) = first else {
            return if members.iter().any(Member::sends) { Target::Hold } else { Target::None };
        };
        let has_room = |index: usize| has_room(&members[index], horizon, meta.len);
        let in_order = in_order.map(|(index, _)| index).filter(|index| has_room(*index));
        let member = in_order.unwrap_or(first);
        if in_order.is_none() && !has_room(first) {
            return Target::Hold;
        }
        let allowance = meta.len.max(members[member].run_bytes());
        Target::One { member, allowance }
    }

    /// The same where there is nothing to choose: it goes or it waits.
    fn pick_only(&self, member: &Member, meta: FrameMeta) -> Target {
        let horizon = member.wire_time(self.longest.max(meta.len)) + member.delay();
        if !member.sends() {
            return Target::None;
        }
        if !member.is_up() || !has_room(member, horizon, meta.len) {
            return Target::Hold;
        }
        Target::One { member: 0, allowance: meta.len.max(member.run_bytes()) }
    }

    /// A frame goes to a member, which does not hold it yet.
    pub(super) fn commit(&mut self, now: Instant, member: &Member, meta: FrameMeta) {
        self.longest = meta.len.max(self.longest - self.longest.div_ceil(FORGET));
        let last = &mut self.last_arrival[bucket(meta.flow)];
        *last = member.arrival(now, meta.len).max(*last);
    }
}

/// Whether a member is filled less than to the horizon, or less than two such frames, and has a place.
fn has_room(member: &Member, horizon: Duration, len: u32) -> bool {
    let is_ahead = member.backlog_time() < horizon
        || member.backlog_time() < member.wire_time(len) * FRAMES_AHEAD;
    is_ahead && !member.is_full(len)
}

fn bucket(flow: u32) -> usize {
    (flow & ((1 << FLOW_BITS) - 1)) as usize
}
