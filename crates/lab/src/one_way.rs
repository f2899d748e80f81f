//! Links that carry one way, from a plan to the core's types: a cable's head end with what it sends besides, and
//! the devices at the ends of such links.

use std::net::Ipv4Addr;
use trunkline_core::host::{Host, InterfaceId, ReversePath};
use trunkline_core::link::channel::Channel;
use trunkline_core::link::tuner::PIDS_MAX;
use trunkline_core::link::{
    Downstream, DownstreamConfig, Medium, Pid, Station, Stream, To, TunerConfig,
};
use trunkline_core::wire::ip::Addresses;
use trunkline_core::wire::ipv4::{self, Ecn, Protocol};
use trunkline_core::wire::udp;
use trunkline_plan::model::{Bond, Link, Others, OthersTo, Plan};

/// Somebody in the Internet who sends without having been asked (RFC 5737).
const STRANGER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
/// The station of another subscriber.
const NEIGHBOUR: Station = Station([0, 0, 0xff, 0xff, 0xff, 0xff]);
/// A port that is scanned, of those who did not ask for it: NetBIOS names.
const PORT: u16 = 137;
/// Hops left of a packet that came from far.
const TTL: u8 = 48;

/// The positions of the links that are cables, in the order of their media.
pub(crate) fn cables(plan: &Plan) -> impl Iterator<Item = usize> {
    (0..plan.links.len()).filter(|link| plan.links[*link].cable.is_some())
}

/// The head end of a cable.
pub(crate) fn medium(plan: &Plan, index: usize) -> Option<Medium> {
    let link = &plan.links[index];
    let cable = link.cable.as_ref()?;
    let lane = sender(link);
    let mut pids = [None; PIDS_MAX];
    for (place, pid) in pids.iter_mut().zip(&cable.pids) {
        *place = Some(*pid);
    }
    let tuner = TunerConfig { station: cable.station, pids, broadcasts: cable.broadcasts };
    let config = DownstreamConfig {
        rate: if lane == 0 { link.rate.up } else { link.rate.down },
        slot: (2 * index + lane) as u16,
        pid: cable.pids.first().copied().unwrap_or(Pid(1)),
        tuner,
    };
    let streams = cable.others.iter().map(stream).collect();
    Some(Medium::Downstream(Box::new(Downstream::new(config, streams))))
}

/// The end of a one-way link that sends, 0 or 1; the first where both do.
pub(crate) fn sender(link: &Link) -> usize {
    usize::from(!link.carries_from(0))
}

/// UDP datagrams that nobody has asked for.
fn stream(others: &Others) -> Stream {
    let Others { pid, to, interval, size } = *others;
    let payload_len = size.saturating_sub(ipv4::HEADER_LEN as u16);
    let mut bytes = vec![0; ipv4::HEADER_LEN + udp::HEADER_LEN];
    let to = match to {
        OthersTo::Everybody => To::Everybody,
        OthersTo::Subscribers => To::Station(NEIGHBOUR),
    };
    let ip = ipv4::Repr {
        src: STRANGER,
        dst: Ipv4Addr::BROADCAST,
        protocol: Protocol::UDP,
        dscp: 0,
        ecn: Ecn::NotEct,
        ident: 0,
        dont_fragment: false,
        ttl: TTL,
        payload_len,
    };
    ip.emit(&mut bytes);
    let elided = u32::from(payload_len).saturating_sub(udp::HEADER_LEN as u32);
    let ports = udp::Repr { src_port: PORT, dst_port: PORT };
    let addresses = Addresses::V4 { src: ip.src, dst: ip.dst };
    ports.emit(&mut bytes[ipv4::HEADER_LEN..], &[], elided, &addresses);
    Stream { pid, to, bytes, elided, interval }
}

/// The channel of a lane from this end: without a transmitter where the link carries the other way only.
pub(crate) fn channel(channel: Channel, link: &Link, end: usize) -> Channel {
    match link.carries_from(end) {
        true => channel,
        false => channel.without_transmitter(),
    }
}

/// Sets up what both ends of a bond ask of the way a packet has come.
pub(crate) fn filter_ways(
    plan: &Plan,
    bond: &Bond,
    hosts: &mut [Host],
    ends: [usize; 2],
    interfaces: [InterfaceId; 2],
) {
    for side in [0, 1] {
        let end = plan.ends.iter().find(|end| end.name == bond.ends[side]);
        let mode = end.map_or(ReversePath::Off, |end| end.rp_filter);
        hosts[ends[side]].set_reverse_path(interfaces[side], mode);
    }
}
