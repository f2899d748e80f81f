//! Metrics of links that lead to switches.

use super::Metrics;
use crate::fabric::group::Jack;
use crate::world::World;
use trunkline_core::frame::LinkId;
use trunkline_plan::model::{Plan, Route};
use trunkline_plan::network::Cards;

/// Towards the host, or towards the switch where the first flow of this host begins there; `dropped` is of
/// both ways, with what the switch's port has dropped.
pub(super) fn metrics(plan: &Plan, world: &World, link: usize, jack: Jack) -> Metrics {
    let machines = &plan.lab.machines;
    let has_it = |cards: &Cards| cards.links.contains(&link);
    let machine = machines.iter().position(|m| m.bond.as_ref().is_some_and(has_it));
    let sends = plan.lab.flows.iter().find_map(|flow| match &flow.route {
        Route::Switches { to, .. } if Some(*to) == machine => Some(false),
        Route::Switches { from, .. } => machine.filter(|m| from.contains(m)).map(|_| true),
        Route::Bond { .. } | Route::Segment { .. } => None,
    });
    let way = usize::from(sends != Some(true));
    let stats = |jack: Jack, way: usize| world.fabric.cables[jack.cable + way].channel.stats();
    let cards = machine.and_then(|machine| machines[machine].bond.as_ref());
    let jacks = cards.into_iter().flat_map(|cards| &cards.links);
    let jacks = jacks.filter_map(|link| world.fabric.jack(*link));
    let total: u64 = jacks.map(|jack| stats(jack, way).bytes).sum();
    let (bytes, busy) = (stats(jack, way).bytes as f64, stats(jack, way).busy.as_secs_f64());
    let span = world.now.as_secs_f64();
    let id = LinkId(link as u16);
    let host = &world.hosts[jack.host];
    let member = host.interface_of(id).and_then(|interface| host.bond(interface).member(id));
    let (meter, _) = world.fabric.switches[jack.switch].meter(jack.port);
    let dropped = stats(jack, 0).drops
        + stats(jack, 1).drops
        + meter.dropped
        + member.map_or(0, |member| member.stats().tx_dropped);
    Metrics::from([
        ("rate".into(), Some(plan.links[link].rate.up.as_bps() as f64)),
        ("share".into(), (total > 0).then(|| bytes / total as f64)),
        ("utilisation".into(), (span > 0.0).then(|| busy / span)),
        ("dropped".into(), Some(dropped as f64)),
    ])
}
