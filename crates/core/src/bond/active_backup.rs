//! `active-backup`: one member carries everything until it goes down, then the next (`bonding.rst`
//! mode 1 with `primary_reselect=always`: the preferred member takes over again when it is back).
//!
//! The active member is the one that sends and is up with the highest priority, the one enslaved first on ties. Frames
//! are accepted from every member: on point-to-point lines a backup has no copies to suppress.

use super::member::Member;
use super::scheduler::{FrameMeta, Target};

pub(super) fn pick(members: &[Member], meta: FrameMeta) -> Target {
    match active(members) {
        None => Target::None,
        Some(index) if members[index].is_full(meta.len) => Target::Hold,
        Some(index) => Target::single(index, meta),
    }
}

fn active(members: &[Member]) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (index, member) in members.iter().enumerate().filter(|(_, m)| m.can_send()) {
        if best.is_none_or(|b| member.config().priority > members[b].config().priority) {
            best = Some(index);
        }
    }
    best
}
