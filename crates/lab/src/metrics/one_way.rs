//! Metrics of links that carry one way.

use super::Metrics;
use crate::one_way;
use crate::world::World;
use trunkline_core::frame::LinkId;
use trunkline_core::link::Medium;
use trunkline_core::time::Instant;
use trunkline_plan::model::Plan;

/// Adds what only a one-way link has: nothing to others.
pub(super) fn add(metrics: &mut Metrics, plan: &Plan, world: &World, index: usize, end: Instant) {
    let link = &plan.links[index];
    if link.direction.is_none() {
        return;
    }
    let sender = one_way::sender(link);
    let this = &world.links[index];
    let (lane, back) = (&this.lanes[sender], &this.lanes[1 - sender]);
    let host = &world.hosts[back.from];
    let seconds = end.as_secs_f64();
    let share = |time: f64| (seconds > 0.0).then(|| time / seconds);
    let member = host.bond(back.interface).member(LinkId(index as u16));
    let silence = member.map(|member| member.silence(end).as_secs_f64());
    let up = silence.and_then(share).map(|silent| 1.0 - silent);
    metrics.insert("up".into(), up);
    metrics.insert("refused".into(), Some(host.refused(back.interface) as f64));
    if let Some(ring) = &lane.ring {
        let stats = ring.stats();
        metrics.insert("overruns".into(), Some(stats.overruns as f64));
        metrics.insert("reading".into(), share(stats.reading.as_secs_f64()));
    }
    let medium = this.medium.map(|medium| &world.media[medium]);
    if let Some(Medium::Downstream(cable)) = medium {
        let tuner = cable.tuner();
        metrics.insert("strays".into(), Some(tuner.broadcasts as f64));
        metrics.insert("filtered".into(), Some((tuner.refused + tuner.others) as f64));
    }
}
