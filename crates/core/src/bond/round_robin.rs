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
        let senders = || (0..members.len()).filter(|index| members[*index].sends());
        let count = senders().count();
        if count == 0 {
            return Target::None;
        }
        let first = self.packets as usize % count;
        let mut turns = senders().skip(first).chain(senders().take(first));
        let turn = turns.find(|index| members[*index].is_up());
        match turn {
            None => Target::None,
            Some(index) if members[index].is_full(meta.len) => Target::Hold,
            Some(index) => Target::single(index, meta),
        }
    }

    pub(super) const fn commit(&mut self) {
        self.packets = self.packets.wrapping_add(1);
    }
}
