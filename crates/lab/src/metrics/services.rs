//! Metrics of flows of datagrams, and of routers.

use super::Metrics;
use super::switched::percentile;
use crate::apps::App;
use crate::apps::rpc::Rpc;
use crate::world::World;
use trunkline_core::host::NetworkStats;
use trunkline_core::time::Instant;
use trunkline_plan::model::{self, Flow, Plan};

/// The metrics of a flow of datagrams; none for another.
pub(super) fn metrics(plan: &Plan, world: &World, flow: &Flow, app: &App) -> Option<Metrics> {
    let count = |count: u64| Some(count as f64);
    Some(match (app, &flow.app) {
        (App::Rpc(rpc), model::App::Rpc(calls)) => of_rpc(plan, world, calls, rpc),
        (App::Rip(rip), _) => {
            Metrics::from([("sent".into(), count(rip.sent)), ("heard".into(), count(rip.heard))])
        }
        (App::Heartbeat(heartbeat), _) => Metrics::from([
            ("sent".into(), count(heartbeat.sent)),
            ("heard".into(), count(heartbeat.heard)),
            ("silence_max".into(), Some(heartbeat.silence_max(world.now).as_secs_f64())),
            ("crashes".into(), count(heartbeat.crashes)),
            ("members".into(), count(heartbeat.members() as u64)),
        ]),
        _ => return None,
    })
}

/// Calls made after the warm-up, and the time after it that they were made in.
fn of_rpc(plan: &Plan, world: &World, calls: &model::Rpc, rpc: &Rpc) -> Metrics {
    let from = Instant::ZERO + plan.lab.warmup;
    let time = (world.now > from).then(|| (world.now - from).as_secs_f64());
    let trips: Vec<f64> = rpc.trips.iter().map(|trip| trip.as_secs_f64()).collect();
    let answered = trips.len() as f64;
    let rate = time.map(|time| answered / time);
    let bytes = f64::from(calls.request) + f64::from(calls.response);
    let mean = (answered > 0.0).then(|| trips.iter().sum::<f64>() / answered);
    let sent = (rpc.calls + rpc.retransmitted) as f64;
    Metrics::from([
        ("calls".into(), Some(answered)),
        ("rate".into(), rate),
        ("goodput".into(), rate.map(|rate| 8.0 * bytes * rate)),
        ("time_mean".into(), mean),
        ("time_p50".into(), percentile(trips.clone(), 0.5)),
        ("time_p99".into(), percentile(trips, 0.99)),
        ("retransmitted".into(), Some(rpc.retransmitted as f64)),
        ("retransmitted_share".into(), (sent > 0.0).then(|| rpc.retransmitted as f64 / sent)),
        ("unanswered".into(), Some(rpc.unanswered() as f64)),
    ])
}

/// Why a flow of datagrams lacks metrics, if it does.
pub(super) fn cause(app: &App) -> Option<&'static str> {
    match app {
        App::Rpc(rpc) if rpc.trips.is_empty() => Some("no call was answered after the warm-up"),
        _ => None,
    }
}

/// What the routers of a plan have seen.
pub(super) fn of_routers(plan: &Plan, world: &World) -> Vec<(String, Metrics)> {
    // Their hosts come last, in the order of the plan.
    let first = world.hosts.len() - plan.lab.routers.len();
    let router = |(nth, router): (usize, &trunkline_plan::network::Router)| {
        (router.name.clone(), of_station(world.hosts[first + nth].network_stats()))
    };
    plan.lab.routers.iter().enumerate().map(router).collect()
}

fn of_station(stats: NetworkStats) -> Metrics {
    let metric = |name: &str, count: u64| (name.to_owned(), Some(count as f64));
    Metrics::from([
        metric("broadcasts", stats.broadcasts_received),
        metric("arp_requests", stats.arp_requests_sent),
        metric("arp_replies", stats.arp_replies_sent),
        metric("forwarded", stats.forwarded),
        metric("icmp_errors", stats.errors_sent),
        metric("reassembled", stats.reassembled),
    ])
}
