//! Ports of a switch that lead to one machine together, and what hangs on each of them.
//!
//! A packet's hash, modulo the number of ports with a carrier, names the port it leaves by, as Linux' bonding
//! does it (`core/bond/hash.rs`); a vendor's own hash may spread flows otherwise. What waits at a port that
//! loses its carrier is lost with it.

use super::Fabric;
use super::address::{Destination, destination, source};
use std::net::Ipv4Addr;
use trunkline_core::Context;
use trunkline_core::bond::{HashInputs, HashPolicy, MemberConfig};
use trunkline_core::frame::{Frame, LinkChange};
use trunkline_core::wire::mac::MacAddress;

/// Ports that are one towards a machine.
pub(crate) struct Group {
    /// In the order of the machine's cards; with the state of each.
    ports: Vec<(usize, LinkChange)>,
    /// Without one everything leaves by the first port that has a carrier.
    policy: Option<HashPolicy>,
}

impl Group {
    pub(crate) fn new(ports: impl Iterator<Item = usize>, policy: Option<HashPolicy>) -> Group {
        Group { ports: ports.map(|port| (port, LinkChange::Up)).collect(), policy }
    }

    /// A port of it has lost its carrier, or has it again.
    pub(crate) fn handle_link(&mut self, port: usize, change: LinkChange) {
        for (_, state) in self.ports.iter_mut().filter(|(known, _)| *known == port) {
            *state = change;
        }
    }

    /// The port a frame leaves by; none when no cable has a carrier.
    fn choose(&self, frame: &HashInputs<'_>) -> Option<usize> {
        let index = match self.policy {
            Some(policy) => policy.choose(frame, self.usable().count())?,
            None => 0,
        };
        self.usable().nth(index)
    }

    /// The ports that have a carrier.
    fn usable(&self) -> impl Iterator<Item = usize> {
        let usable = self.ports.iter().filter(|(_, state)| *state == LinkChange::Up);
        usable.map(|(port, _)| *port)
    }

    fn has(&self, port: usize) -> bool {
        self.ports.iter().any(|(known, _)| *known == port)
    }
}

/// Where a link of the plan is plugged in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jack {
    pub(crate) host: usize,
    /// The machine's outgoing cable; its way back is the next.
    pub(crate) cable: usize,
    pub(crate) switch: usize,
    pub(crate) port: usize,
    /// Whether its ends see a carrier.
    pub(crate) up: bool,
    /// Whether it loses everything while they do.
    pub(crate) dark: bool,
    /// What its host's bond is told of it.
    pub(crate) member: MemberConfig,
}

impl Fabric {
    /// Where a link of the plan is plugged in, if it leads to a switch.
    pub(crate) fn jack(&self, link: usize) -> Option<Jack> {
        self.jacks.get(link).copied().flatten()
    }

    /// How many cables there are, of both ways, that are no links of the plan.
    pub(crate) fn nameless_cables(&self) -> usize {
        self.cables.len() / 2 - self.jacks.iter().flatten().count()
    }

    /// The port that a frame leaves by which is for a machine behind `known`; none when no cable of that
    /// group has a carrier.
    pub(crate) fn port_for(
        &self,
        cx: &Context,
        switch: usize,
        known: usize,
        frame: Frame,
    ) -> Option<usize> {
        let groups = &self.switches[switch].groups;
        let Some(group) = groups.iter().find(|group| group.has(known)) else {
            return Some(known);
        };
        let mac = |machine: usize| self.macs.get(machine).copied().unwrap_or(MacAddress::UNKNOWN);
        let dst = match destination(cx, frame) {
            Destination::Machine(machine) => mac(machine),
            Destination::All => MacAddress::UNKNOWN,
        };
        group.choose(&HashInputs::of_packet(mac(source(cx, frame)), dst, cx.frames.bytes(frame)))
    }

    /// Whether a frame for everybody that has come in at a port leaves by another: by one of each group, and
    /// by none of that it came in by.
    pub(crate) fn floods(&self, switch: usize, port: usize, from: usize) -> bool {
        let group = self.switches[switch].groups.iter().find(|group| group.has(port));
        group.is_none_or(|group| !group.has(from) && group.usable().next() == Some(port))
    }
}

/// The Ethernet address that follows from an IPv4 address.
pub(crate) fn mac_of(address: Ipv4Addr) -> MacAddress {
    MacAddress::local(u32::from(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_of_a_port_without_carrier_take_the_others() {
        let mut group = Group::new([4, 7].into_iter(), Some(HashPolicy::Layer2));
        let frame = |last| {
            let (src, dst) = (mac_of(Ipv4Addr::new(10, 128, 0, last)), MacAddress([0; 6]));
            HashInputs { src, dst, ethertype: 0x0800, packet: &[] }
        };
        let ports = |group: &Group| [1, 2, 3].map(|last| group.choose(&frame(last)));
        assert_eq!(ports(&group), [Some(7), Some(4), Some(7)]);
        group.handle_link(7, LinkChange::Down);
        assert_eq!(ports(&group), [Some(4); 3]);
        group.handle_link(4, LinkChange::Down);
        assert_eq!(ports(&group), [None; 3]);
        group.handle_link(7, LinkChange::Up);
        assert_eq!(ports(&group), [Some(7); 3]);
    }

    #[test]
    fn a_switch_that_knows_no_group_takes_the_first_port_with_a_carrier() {
        let mut group = Group::new([4, 7].into_iter(), None);
        let frame = HashInputs {
            src: MacAddress([0; 6]),
            dst: MacAddress([1; 6]),
            ethertype: 1,
            packet: &[],
        };
        assert_eq!(group.choose(&frame), Some(4));
        group.handle_link(4, LinkChange::Down);
        assert_eq!(group.choose(&frame), Some(7));
    }
}
