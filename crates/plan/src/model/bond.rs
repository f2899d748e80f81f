//! What a bond and its members are told, in the core's own types, by every world that runs a plan.

use super::{Bond, LinkKind, Plan, Trunk};
use trunkline_core::bond::trunk::{self, MEMBER_QUEUE};
use trunkline_core::bond::{BondConfig, IngressConfig, MemberConfig};
use trunkline_core::frame::LinkId;
use trunkline_core::queue::codel::CodelConfig;
use trunkline_core::queue::{FqCodelConfig, Limit};
use trunkline_core::time::Duration;

impl Plan {
    /// What a bond is told at one of its ends, 0 or 1, in every world. Where its members are no trunk
    /// packets wait in a queue of this limit: who sends there asks for room. A trunk carries whatever
    /// comes, and has FQ-CoDel.
    ///
    /// # Panics
    /// When the plan has no such bond or end.
    pub fn bond_config(&self, bond: usize, end: usize, epoch: u32, plain: Limit) -> BondConfig {
        let bond = &self.bonds[bond];
        let (trunk, ingress) = match bond.trunk {
            Trunk::Off => (None, IngressConfig::DropTail(plain)),
            Trunk::On => (
                Some(self.trunk_config(bond, end, epoch)),
                IngressConfig::FqCodel(ingress(bond.mtu)),
            ),
        };
        BondConfig {
            mode: bond.mode[end],
            mtu: bond.mtu,
            max_slaves: bond.max_slaves,
            ingress,
            trunk,
            traffic: bond.traffic,
        }
    }

    /// What a bond is told of a link at one of its ends, 0 or 1, in every world. What a tunnel's path is like
    /// the bond has to find out; `plain` is the queue of one that is no trunk. A link that is no member
    /// comes behind all that are.
    ///
    /// # Panics
    /// When the plan has no such bond, link or end.
    pub fn member_config(
        &self,
        bond: usize,
        link: usize,
        end: usize,
        plain: Limit,
    ) -> MemberConfig {
        let (members, index) = (&self.bonds[bond].members, link);
        let link = &self.links[index];
        let (delay, queue) = match (link.kind, link.trunk) {
            (LinkKind::Serial | LinkKind::Device, _) if link.lab.modem.is_some() => {
                (Duration::ZERO, plain)
            }
            (LinkKind::Ethernet, _) if link.lab.rate.is_some() => (Duration::ZERO, plain),
            (LinkKind::Udp, Trunk::On) => (Duration::ZERO, MEMBER_QUEUE),
            (LinkKind::Udp, Trunk::Off) => (Duration::ZERO, plain),
            (LinkKind::Serial | LinkKind::Device | LinkKind::Ethernet | LinkKind::Cable, _) => {
                (link.lab.delay, link.lab.queue)
            }
        };
        let (rate, framing) = link.pace(end);
        let place = members.iter().position(|member| *member == index).unwrap_or(members.len());
        MemberConfig {
            link: LinkId(index as u16),
            rate,
            weight: link.weight,
            direction: link.ways(end),
            delay,
            queue,
            priority: -(place as i32),
            framing,
        }
    }

    /// In clear nothing is agreed on beforehand: the numbers of a trunk's two ends follow from their names.
    fn trunk_config(&self, bond: &Bond, end: usize, epoch: u32) -> trunk::Config {
        let index = |end: &str| number(&format!("{}\0{}\0{end}", self.name, bond.name));
        trunk::Config {
            local_index: index(&bond.ends[end]),
            peer_index: index(&bond.ends[1 - end]),
            epoch,
            reorder: bond.reorder,
            monitor: bond.monitor,
        }
    }
}

/// FQ-CoDel before a trunk: 10 ms of 100 ms instead of 5, the upper end of what RFC 8289 recommends (4.3:
/// 5 to 10 % of the interval). A bond's wait is less even than a wire's, since packets leave in runs and as
/// its members have room, and at 5 ms a lone Reno flow leaves 8 % of a path of 20 ms unused.
fn ingress(mtu: u16) -> FqCodelConfig {
    let codel = CodelConfig { target: Duration::from_millis(10), ..CodelConfig::new(mtu.into()) };
    FqCodelConfig { codel, ..FqCodelConfig::new(mtu) }
}

/// A number for a name: FNV-1a with 32 bits.
fn number(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
