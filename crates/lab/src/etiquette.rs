//! Hosts and routers on segments whose stations ask each other for addresses: how they behave, and their ways
//! to other segments.

use crate::card::Card;
use crate::fabric::address::{mac, station_address};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use trunkline_core::Context;
use trunkline_core::host::{
    ArpReplies, Asking, CardConfig, Form, Forwarding, Host, InterfaceId, NetworkConfig, Route,
    Rule, Rules, Subnet,
};
use trunkline_core::time::Duration;
use trunkline_core::wire::ethernet::HEADER_LEN;
use trunkline_plan::model::Plan;
use trunkline_plan::network::{HostNetwork, Resolution, reach};

/// How long 4.2BSD waits for the rest of a packet (RFC 1122 asks for a minute at least).
const REASSEMBLY_BSD: Duration = Duration::from_secs(30);

/// How a host of a plan behaves.
pub(crate) fn config(network: &HostNetwork) -> NetworkConfig {
    let &HostNetwork { rules, form, forwarding, .. } = network;
    let usual = NetworkConfig::default();
    let is_old = rules == Rules::BSD_4_2;
    let reassembly = if is_old { REASSEMBLY_BSD } else { usual.reassembly };
    NetworkConfig { rules, form, forwarding, reassembly }
}

/// How a router behaves.
pub(crate) fn router() -> NetworkConfig {
    NetworkConfig { forwarding: Forwarding::On, form: Form::Ones, ..NetworkConfig::default() }
}

/// The card of the station with this number of a segment.
pub(crate) fn card(network: &HostNetwork, segment: usize, number: usize) -> CardConfig {
    let asking = match network.rules.has(Rule::ArpRate) {
        true => Asking::RFC_1122,
        false => Asking::BSD_4_2,
    };
    let replies: ArpReplies = network.replies;
    CardConfig { mac: mac(number), subnet: station_address(segment, number), asking, replies }
}

/// Gives a host a card that speaks Ethernet.
pub(crate) fn plug(host: &mut Host, card: Card, own: CardConfig, cx: &mut Context) {
    let mtu = card.mtu + HEADER_LEN as u16;
    let id = card.attach(host, mtu, own.subnet.address(), cx);
    host.plug(id, own);
}

/// Tells every host and router the ways to the segments it is not on: the plan has one way to each. A host with
/// a gateway has a default route instead.
pub(crate) fn routes(plan: &Plan, hosts: &mut [Host], host_of: &dyn Fn(&str) -> usize) {
    for machine in &plan.lab.machines {
        let Some(station) = machine.station() else { continue };
        if plan.lab.segments[station.segment].resolution == Resolution::Arp {
            let host = &mut hosts[host_of(&machine.name)];
            match machine.network.gateway {
                Some(router) => add_default(plan, host, station.segment, router),
                None => add_routes(plan, host, &[station.segment], None),
            }
        }
    }
    for (nth, router) in plan.lab.routers.iter().enumerate() {
        add_routes(plan, &mut hosts[host_of(&router.name)], &router.segments, Some(nth));
    }
}

/// The way of a host on a segment to everywhere else.
fn add_default(plan: &Plan, host: &mut Host, segment: usize, router: usize) {
    let Some(interface) = card_on(host, segment) else { return };
    let gateway = Some(router_address(plan, segment, router));
    let added = host.add_route(Route { to: Subnet::ALL, gateway, interface, metric: 1 });
    assert!(added.is_ok(), "the plan has one default route");
}

/// The address of a router's card on a segment.
fn router_address(plan: &Plan, segment: usize, router: usize) -> Ipv4Addr {
    station_address(segment, plan.lab.machines.len() + router).address()
}

/// The ways of a host with a card on each of `own` segments; `itself` is what it is among the routers.
fn add_routes(plan: &Plan, host: &mut Host, own: &[usize], itself: Option<usize>) {
    let routers = &plan.lab.routers;
    for &segment in own {
        for (nth, next) in routers.iter().enumerate() {
            if Some(nth) == itself || !next.segments.contains(&segment) {
                continue;
            }
            let Some(interface) = card_on(host, segment) else { continue };
            let gateway = router_address(plan, segment, nth);
            for to in behind(plan, nth, segment) {
                let to = station_address(to, 0);
                let route = Route { to, gateway: Some(gateway), interface, metric: 1 };
                let added = host.add_route(route);
                assert!(added.is_ok(), "there is one way to a segment");
            }
        }
    }
}

/// The segments that a router leads to from one it is on: several where it joins more than two.
fn behind(plan: &Plan, router: usize, segment: usize) -> BTreeSet<usize> {
    let others: Vec<_> = without(plan, segment);
    let next = others[router].segments.iter();
    next.flat_map(|beyond| reach(&others, *beyond)).collect()
}

/// The routers as they are without those on a segment, which lies behind.
fn without(plan: &Plan, segment: usize) -> Vec<trunkline_plan::network::Router> {
    let mut routers = plan.lab.routers.clone();
    routers.iter_mut().for_each(|router| router.segments.retain(|other| *other != segment));
    routers
}

/// The card of a host on a segment.
pub(crate) fn card_on(host: &Host, segment: usize) -> Option<InterfaceId> {
    host.route(station_address(segment, 0).address())
}

#[cfg(test)]
mod tests {
    use crate::build;
    use trunkline_core::time::{Duration, Instant};
    use trunkline_plan::Document;

    #[test]
    fn a_router_may_join_three_segments_and_a_fourth_lie_behind() {
        let text = "name = \"t\"\n[[lab.segment]]\nname = \"s\"\ncount = 4\nrate = \"10mbit\"\narp = true\n\
                    [[lab.router]]\nname = \"r\"\nsegments = [\"s0\", \"s1\", \"s2\"]\n\
                    [[lab.router]]\nname = \"q\"\nsegments = [\"s2\", \"s3\"]\n\
                    [[lab.host]]\nname = \"h\"\ncount = 4\nlink = { to = \"s{i}\" }\n";
        let ping = |from: usize, to: usize| {
            format!(
                "[[lab.flow]]\nname = \"p{from}{to}\"\nfrom = \"h{from}\"\nto = \"h{to}\"\n\
                 app = {{ kind = \"ping\", count = 1 }}\n"
            )
        };
        let text = text.to_owned() + &ping(0, 1) + &ping(1, 2) + &ping(0, 3) + &ping(3, 1);
        let document = Document::parse("t.toml", text, &|_| Err(String::new())).expect("TOML");
        let plan = document.experiment().and_then(|experiment| experiment.plan(0, None));
        let mut world = build::world(&plan.unwrap_or_else(|errors| panic!("{errors}")), 1);
        world.start();
        while world.step(Instant::ZERO + Duration::from_secs(5)) {}
        assert!(world.apps.iter().all(crate::apps::App::is_done), "each has its answer");
    }
}
