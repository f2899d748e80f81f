//! Who a frame is for: by the address of the packet in it, because machines and the addresses of their cards are
//! known from the start, as to somebody who has heard from all of them.

use std::net::Ipv4Addr;
use trunkline_core::Context;
use trunkline_core::frame::Frame;
use trunkline_core::host::Subnet;
use trunkline_core::wire::ethernet::View;
use trunkline_core::wire::mac::MacAddress;
use trunkline_plan::model::Plan;
use trunkline_plan::network::Resolution;

/// The address of the first machine; the others follow.
pub(crate) const FIRST_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 128, 0, 1);
/// Bits of an address that are the same for all machines.
const PREFIX: u32 = 16;
/// The same where there are no subnets: a class A network.
const PREFIX_CLASS_A: u32 = 8;
/// Addresses from the first on that none of the forms of broadcast has.
const MACHINES_MAX: usize = 0xfffe;
/// Where an IPv4 header has its source and its destination.
const SOURCE_OFFSET: usize = 12;
const DESTINATION_OFFSET: usize = 16;

/// Who a frame is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Destination {
    /// One machine, by its position; there may be none of that.
    Machine(usize),
    /// Everybody.
    All,
}

/// The address of a machine.
pub(crate) fn address(machine: usize) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(FIRST_ADDRESS) + machine as u32)
}

/// The first network of segments whose stations ask each other for addresses; each has one of its own.
const FIRST_SEGMENT: u32 = u32::from_be_bytes([10, 129, 0, 0]);

/// The address that the station `number` of a segment has, with its network, where stations ask each other.
pub(crate) fn station_address(segment: usize, number: usize) -> Subnet {
    let network = FIRST_SEGMENT + ((segment as u32) << (32 - PREFIX));
    let address = Ipv4Addr::from(network + number as u32 + 1);
    Subnet::new(address, PREFIX as u8).expect("a prefix of a network")
}

/// What a station is called on its cable.
pub(crate) const fn mac(number: usize) -> MacAddress {
    MacAddress::local(number as u32)
}

/// The address of a machine of a plan.
pub(crate) fn address_of(plan: &Plan, machine: usize) -> Ipv4Addr {
    let station = plan.lab.machines[machine].station();
    let asks = |segment: usize| plan.lab.segments[segment].resolution == Resolution::Arp;
    match station.filter(|station| asks(station.segment)) {
        Some(station) => station_address(station.segment, machine).address(),
        None => address(machine),
    }
}

/// The station that a frame with its own Ethernet header is for.
pub(crate) fn station(cx: &Context, frame: Frame) -> Destination {
    let to = View::new_checked(cx.frames.bytes(frame)).map(|view| view.dst());
    match to {
        Ok(to) if to.is_broadcast() => Destination::All,
        Ok(MacAddress([0x02, 0, a, b, c, d])) => {
            Destination::Machine(u32::from_be_bytes([a, b, c, d]) as usize)
        }
        _ => Destination::Machine(usize::MAX),
    }
}

/// The machine that has an address; none is so far from the first.
fn machine(address: Ipv4Addr) -> usize {
    u32::from(address).wrapping_sub(u32::from(FIRST_ADDRESS)) as usize
}

/// Who a frame is for.
pub(crate) fn destination(cx: &Context, frame: Frame) -> Destination {
    match field(cx, frame, DESTINATION_OFFSET) {
        Some(address) if machine(address) < MACHINES_MAX => Destination::Machine(machine(address)),
        Some(address) if is_broadcast(address) => Destination::All,
        _ => Destination::Machine(usize::MAX),
    }
}

/// The machine a frame says it is from.
pub(crate) fn source(cx: &Context, frame: Frame) -> usize {
    field(cx, frame, SOURCE_OFFSET).map_or(usize::MAX, machine)
}

/// Whether an address means everybody: all ones and all zeros, of the whole, of the subnet and of the network
/// (RFC 1122, 3.2.1.3 and 3.3.6).
fn is_broadcast(address: Ipv4Addr) -> bool {
    let (bits, ours) = (u32::from(address), u32::from(FIRST_ADDRESS));
    let of_net = |prefix: u32| {
        let host = u32::MAX >> prefix;
        bits & !host == ours & !host && (bits & host == host || bits & host == 0)
    };
    bits == 0 || bits == u32::MAX || of_net(PREFIX) || of_net(PREFIX_CLASS_A)
}

#[inline]
fn field(cx: &Context, frame: Frame, offset: usize) -> Option<Ipv4Addr> {
    let bytes = cx.frames.bytes(frame).get(offset..)?.first_chunk::<4>()?;
    Some(Ipv4Addr::from(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_broadcast_is_for_all_and_no_machine_has_one() {
        for all in [
            "255.255.255.255",
            "0.0.0.0",
            "10.128.255.255",
            "10.128.0.0",
            "10.255.255.255",
            "10.0.0.0",
        ] {
            assert!(is_broadcast(all.parse().expect("an address")), "{all}");
        }
        for one in ["10.128.0.1", "10.128.0.255", "10.128.1.0", "10.1.255.255", "10.127.255.255"] {
            assert!(!is_broadcast(one.parse().expect("an address")), "{one}");
        }
        assert_eq!(machine(address(77)), 77);
        assert!((0..MACHINES_MAX).all(|machine| !is_broadcast(address(machine))));
    }
}
