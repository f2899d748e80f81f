//! `earliest`: a frame goes where it is expected to arrive first. Ours, and the default.
//!
//! Expected arrival is what the member still has to send, plus the frame, at the member's rate with its
//! framing, plus its propagation time. Committing late keeps the choice fresh, but a fast member must
//! be committed far enough ahead that a frame on the slowest one is overtaken by nothing: so members
//! are filled up to a horizon, the longest time a frame needs on any of them, and at least two frames.
//! When the best member is filled the frame waits in the bond, even if a slower one has room: waiting
//! still gets it there first.
//!
//! While every member is down frames wait too, as far as the bond's ingress queue goes: a flap shorter
//! than that loses nothing.

use super::member::Member;
use super::scheduler::{FrameMeta, Target};
use crate::time::{Duration, Instant};

/// The least that is committed ahead, in frames.
const FRAMES_AHEAD: u64 = 2;
/// The longest run committed without asking again, at the member's rate (but always one frame).
const RUN_TIME: Duration = Duration::from_millis(1);

pub(super) fn pick(now: Instant, members: &[Member], meta: FrameMeta) -> Target {
    if members.is_empty() {
        return Target::None;
    }
    let mut horizon = Duration::ZERO;
    let mut best: Option<(usize, Instant)> = None;
    for (index, member) in members.iter().enumerate().filter(|(_, m)| m.is_up()) {
        horizon = horizon.max(member.wire_time(meta.len) + member.config().delay);
        let arrival = member.arrival(now, meta.len);
        if best.is_none_or(|(_, earliest)| arrival < earliest) {
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
    let run = member.config().rate.bits_in(RUN_TIME) / 8;
    Target::One {
        member: index,
        allowance: meta.len.max(u32::try_from(run).unwrap_or(u32::MAX)),
    }
}
