//! `earliest`: a frame goes where it is expected to arrive first. Ours, and the default.
//!
//! Expected arrival is what the member still has to send, plus the frame, at the member's rate with its
//! framing, plus its propagation time. Committing late keeps the choice fresh, but a fast member must
//! be committed far enough ahead that a frame on the slowest one is overtaken by nothing: so members
//! are filled up to a horizon, the longest time a frame needs on any of them, and at least two frames.
//! When the best member is filled the frame waits in the bond, even if a slower one has room: waiting
//! still gets it there first.
//!
//! A frame that would arrive before one committed earlier is not sent that way: a short packet on an idle
//! slow line must not pass the long ones before it, since nobody puts them in order again.
//!
//! While every member is down frames wait too, as far as the bond's ingress queue goes: a flap shorter
//! than that loses nothing.

use super::member::Member;
use super::scheduler::{FrameMeta, Target};
use crate::time::{Duration, Instant};

/// The least that is committed ahead, in frames.
const FRAMES_AHEAD: u64 = 2;
/// The longest packet is forgotten by one part in so many with each packet.
const FORGET: u32 = 16;

/// The policy's memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Earliest {
    /// Length of the longest of the last packets, slowly forgotten: it sets the horizon, so that a short
    /// packet finds it where the long ones have it.
    longest: u32,
}

impl Earliest {
    pub(super) fn pick(&self, now: Instant, members: &[Member], meta: FrameMeta) -> Target {
        if members.is_empty() {
            return Target::None;
        }
        let up = || members.iter().enumerate().filter(|(_, m)| m.is_up());
        let longest = self.longest.max(meta.len);
        let mut horizon = Duration::ZERO;
        let mut last_before = now;
        for (_, member) in up() {
            horizon = horizon.max(member.wire_time(longest) + member.config().delay);
            last_before = last_before.max(member.last_arrival(now));
        }
        let mut best: Option<(usize, Instant)> = None;
        for (index, member) in up() {
            let arrival = member.arrival(now, meta.len);
            if arrival >= last_before && best.is_none_or(|(_, earliest)| arrival < earliest) {
                best = Some((index, arrival));
            }
        }
        let Some((index, _)) = best else {
            return Target::Hold;
        };
        let member = &members[index];
        let ahead = horizon.max(member.wire_time(meta.len) * FRAMES_AHEAD);
        if member.is_full(meta.len) || member.backlog_time() >= ahead {
            return Target::Hold;
        }
        Target::One {
            member: index,
            allowance: meta.len.max(member.run_bytes()),
        }
    }

    pub(super) fn commit(&mut self, len: u32) {
        self.longest = len.max(self.longest - self.longest.div_ceil(FORGET));
    }
}
