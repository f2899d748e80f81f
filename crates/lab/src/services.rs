//! From a plan's flows of datagrams to their applications.

use crate::apps::App;
use crate::apps::datagrams::Datagrams;
use crate::apps::heartbeat::Heartbeat;
use crate::apps::rip::Rip;
use crate::apps::rpc::Rpc;
use crate::etiquette::card_on;
use crate::fabric::address::address_of;
use crate::world::World;
use std::net::SocketAddrV4;
use trunkline_core::host::{BindError, Host, NetworkConfig};
use trunkline_core::rng::Rng;
use trunkline_core::time::Duration;
use trunkline_core::wire::rip;
use trunkline_plan::model::{self, Plan};

/// Gives an application of the host its port. On a host of a segment two may hear the same.
fn bind(host: &mut Host, port: u16) {
    if host.bind(port) == Err(BindError::NoNetwork) {
        // Where everybody is known a host needs nothing but sockets.
        host.join(NetworkConfig::default());
        let bound = host.bind(port);
        assert!(bound.is_ok(), "a host that has just joined has no sockets");
    }
}

/// What sends one host datagrams from others: the receiver is a machine and its host.
pub(crate) fn to_host(
    world: &mut World,
    plan: &Plan,
    (index, port): (usize, u16),
    senders: Vec<usize>,
    (to, receiver): (usize, usize),
    (start, rng): (Duration, &Rng),
) -> App {
    let flow = &plan.lab.flows[index];
    let to = SocketAddrV4::new(address_of(plan, to), port);
    bind(&mut world.hosts[receiver], port);
    match &flow.app {
        model::App::Datagrams(datagrams) => {
            let (datagrams, rng) = (datagrams.clone(), rng.fork("datagrams"));
            let times = [start, plan.lab.warmup];
            let datagrams = Datagrams::new(datagrams, senders, receiver, to, times, rng);
            App::Datagrams(Box::new(datagrams))
        }
        model::App::Rpc(calls) => {
            senders.iter().for_each(|client| bind(&mut world.hosts[*client], port));
            let times = [flow.start, plan.lab.warmup];
            App::Rpc(Box::new(Rpc::new(*calls, &senders, (receiver, to), times, rng)))
        }
        other => unreachable!("the plan lets no {other:?} go to one host"),
    }
}

/// What machines, each with its host, tell everybody on their segment.
pub(crate) fn to_segment(
    world: &mut World,
    plan: &Plan,
    (index, port): (usize, u16),
    from: &[(usize, usize)],
    segment: usize,
    rng: &Rng,
) -> App {
    let flow = &plan.lab.flows[index];
    let rng = rng.fork("flow").fork(&flow.name);
    match flow.app {
        model::App::Heartbeat(heartbeat) => {
            let member = |(machine, host): &(usize, usize)| (*host, address_of(plan, *machine));
            from.iter().for_each(|(_, host)| bind(&mut world.hosts[*host], port));
            let members: Vec<_> = from.iter().map(member).collect();
            App::Heartbeat(Heartbeat::new(heartbeat, &members, port, [flow.start, plan.lab.warmup]))
        }
        model::App::Rip(routes) => {
            let stations = &world.fabric.segments[segment].stations;
            let hosts: Vec<usize> = stations.iter().map(|station| station.host).collect();
            hosts.iter().for_each(|host| bind(&mut world.hosts[*host], rip::PORT));
            let speaker =
                |(_, host): &(usize, usize)| Some((*host, card_on(&world.hosts[*host], segment)?));
            let speakers: Vec<_> = from.iter().filter_map(speaker).collect();
            App::Rip(Rip::new(routes, &speakers, hosts, flow.start, &rng))
        }
        ref other => unreachable!("the plan lets no {other:?} go to a segment"),
    }
}
