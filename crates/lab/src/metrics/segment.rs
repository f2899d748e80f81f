//! Metrics of half-duplex segments.

use super::Metrics;
use crate::world::World;
use trunkline_core::link::Medium;
use trunkline_plan::model::Plan;

/// What a segment has seen; the segments' media come after the chips.
pub(super) fn of_segment(plan: &Plan, world: &World, index: usize) -> Option<(String, Metrics)> {
    let segment = &plan.lab.segments[index];
    let Medium::Cable(cable) = world.media.get(plan.lab.chips.len() + index)? else { return None };
    let counters = cable.counters(world.now);
    let span = world.now.as_secs_f64();
    let over_time = |amount: f64| (span > 0.0).then(|| amount / span);
    let busy = counters.busy.as_secs_f64();
    let since = cable.began().filter(|began| world.now > *began);
    let busy_since_first = since.map(|began| busy / (world.now - began).as_secs_f64());
    let rate = segment.rate.as_bps() as f64;
    let stations = &world.fabric.segments[index].stations;
    let stats = stations.iter().map(|station| world.hosts[station.host].network_stats());
    let asked: u64 = stats.map(|stats| stats.arp_requests_sent).sum();
    let metrics = Metrics::from([
        ("rate".into(), Some(rate)),
        ("utilisation".into(), over_time(counters.sent_bits as f64 / rate)),
        ("busy".into(), over_time(busy)),
        ("busy_since_first".into(), busy_since_first),
        ("sent".into(), Some(counters.sent as f64)),
        ("collisions".into(), Some(counters.collisions as f64)),
        ("deferred".into(), Some(counters.deferred as f64)),
        ("attempts_mean".into(), counters.attempts_mean()),
        ("given_up".into(), Some(counters.given_up as f64)),
        ("missed".into(), Some(world.fabric.segments[index].missed as f64)),
        ("arp_requests".into(), Some(asked as f64)),
    ]);
    Some((segment.name.clone(), metrics))
}
