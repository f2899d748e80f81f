//! Ports of a switch that lead to one machine together, and what hangs on each of them.
//!
//! A packet's hash, modulo the number of ports with a carrier, names the port it leaves by, as Linux' bonding
//! does it (`core/bond/hash.rs`); a vendor's own hash may spread flows otherwise. What waits at a port that
//! loses its carrier is lost with it.

use super::{FIRST_ADDRESS, Fabric};
use std::net::Ipv4Addr;
use trunkline_core::bond::{HashInputs, HashPolicy};
use trunkline_core::frame::LinkChange;
use trunkline_core::wire::ipv4;
use trunkline_core::wire::mac::Mac;

/// The first bytes of an address that nobody has given: it is administered locally (IEEE 802).
const LOCAL: [u8; 2] = [0x02, 0x00];

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
        let usable = || self.ports.iter().filter(|(_, state)| *state == LinkChange::Up);
        let index = match self.policy {
            Some(policy) => policy.choose(frame, usable().count())?,
            None => 0,
        };
        usable().nth(index).map(|(port, _)| *port)
    }
}

/// Where a link of the plan is plugged in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plug {
    pub(crate) host: usize,
    /// The machine's outgoing cable; its way back is the next.
    pub(crate) cable: usize,
    pub(crate) switch: usize,
    pub(crate) port: usize,
    /// Whether its ends see a carrier.
    pub(crate) up: bool,
    /// Whether it loses everything while they do.
    pub(crate) dark: bool,
}

impl Fabric {
    /// Where a link of the plan is plugged in, if it leads to a switch.
    pub(crate) fn plug(&self, link: usize) -> Option<Plug> {
        self.plugs.get(link).copied().flatten()
    }

    /// The port of a switch that a packet for a machine leaves by; `first` is the first that leads there.
    pub(crate) fn port_for(
        &self,
        switch: usize,
        machine: usize,
        first: usize,
        packet: &[u8],
    ) -> Option<usize> {
        let groups = &self.switches[switch].groups;
        let is_its = |group: &&Group| group.ports.first().is_some_and(|(port, _)| *port == first);
        let Some(group) = groups.iter().find(is_its) else {
            return Some(first);
        };
        let src = source(packet).and_then(|machine| self.macs.get(machine));
        let (src, dst) = (src.copied().unwrap_or(Mac([0; 6])), self.macs[machine]);
        group.choose(&HashInputs::of_packet(src, dst, packet))
    }
}

/// The machine a packet is from.
fn source(packet: &[u8]) -> Option<usize> {
    let bytes = packet.first_chunk::<{ ipv4::HEADER_LEN }>()?.get(12..16)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*bytes).wrapping_sub(u32::from(FIRST_ADDRESS)) as usize)
}

/// The Ethernet address that follows from an IPv4 address.
pub(crate) fn mac_of(address: Ipv4Addr) -> Mac {
    let [a, b, c, d] = address.octets();
    Mac([LOCAL[0], LOCAL[1], a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_of_a_port_without_carrier_take_the_others() {
        let mut group = Group::new([4, 7].into_iter(), Some(HashPolicy::Layer2));
        let frame = |last| {
            let (src, dst) = (mac_of(Ipv4Addr::new(10, 128, 0, last)), Mac([0; 6]));
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
        let frame = HashInputs { src: Mac([0; 6]), dst: Mac([1; 6]), ethertype: 1, packet: &[] };
        assert_eq!(group.choose(&frame), Some(4));
        group.handle_link(4, LinkChange::Down);
        assert_eq!(group.choose(&frame), Some(7));
    }
}
