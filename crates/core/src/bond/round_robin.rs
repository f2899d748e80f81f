//! `balance-rr`: one packet to each member in turn (`bonding.rst` mode 0, `packets_per_slave` 1).
//!
//! The packet counter modulo the number of all members that send names the member; when that one is down the next
//! usable one in list order takes the packet. A full member is waited for, so the turn is never
//! skipped: the bond is then as fast as its slowest member times their number. The kernel's driver
//! would let the member's queue drop instead.

use super::member::Member;
use super::scheduler::{FrameMeta, Target};

/// The packet counter.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RoundRobin {
    packets: u32,
}

impl RoundRobin {
    pub(super) fn pick(&self, members: &[Member], meta: FrameMeta) -> Target {
        // Mostly all send, which is quicker to see than to count.
        let count = match members.iter().all(Member::sends) {
            true => members.len() as u32,
            false => members.iter().filter(|member| member.sends()).count() as u32,
        };
        if count == 0 {
            return Target::None;
        }
        let mut until_turn = self.packets % count;
        let (mut turn, mut before) = (None, None);
        for (index, member) in members.iter().enumerate() {
            if until_turn > 0 {
                until_turn -= u32::from(member.sends());
                before = before.or_else(|| member.can_send().then_some(index));
            } else if member.can_send() {
                turn = Some(index);
                break;
            }
        }
        match turn.or(before) {
            None => Target::None,
            Some(index) if members[index].is_full(meta.len) => Target::Hold,
            Some(index) => Target::single(index, meta),
        }
    }

    pub(super) const fn commit(&mut self) {
        self.packets = self.packets.wrapping_add(1);
    }
}
