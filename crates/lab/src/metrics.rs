//! What a finished run is worth: the metrics of its flows and links, by name.
//!
//! | flow metric | unit | meaning |
//! |---|---|---|
//! | `goodput` | bit/s | payload received, from the first byte sent to the last received, warm-up left out |
//! | `put_rate` | bit/s | payload over the stop-watch of the sending program, start cost included |
//! | `seconds` | s | that stop-watch |
//! | `payload` | B | payload of a full segment |
//! | `ceiling` | bit/s | what framing and the headers actually sent allow over all members |
//! | `of_ceiling` | ratio | `goodput / ceiling` |
//! | `overhead` | ratio | 1 − `goodput` / sum of the members' payload rates at their bits per byte |
//! | `retransmitted` | segments | sent more than once |
//! | `timeouts` | | retransmission timeouts |
//! | `undos` | | congestion reactions taken back as spurious |
//! | `reorder_places` | packets | the largest reordering extent (RFC 4737, 4.2) |
//! | `longest_gap` | s | the longest time without a byte received |
//! | `fast_path_share` | ratio | received segments that header prediction handled, both ends |
//! | `rtt_min`, `rtt_median`, `rtt_mean`, `rtt_max` | s | echo round trips |
//! | `loss` | ratio | echoes without an answer |
//!
//! A link has `rate` (bit/s, up), `share` (of the bond's packets in the direction of its first flow)
//! and `utilisation` (of the time the flows ran, up).

use crate::apps::{App, bulk, ping};
use crate::build::FIRST_PORT;
use crate::result::median;
use crate::world::{Ended, World};
use std::collections::BTreeMap;
use trunkline_core::host::ConnectionId;
use trunkline_core::tcp::{Connection, Stats};
use trunkline_core::time::{Duration, Instant};
use trunkline_plan::model::{self, Clock, Plan};

/// Metrics of one thing, by name; none where one does not apply.
pub(crate) type Metrics = BTreeMap<String, Option<f64>>;

/// The metrics of one run.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Measured {
    pub(crate) flows: BTreeMap<String, Metrics>,
    pub(crate) links: BTreeMap<String, Metrics>,
    pub(crate) packet_hops: u64,
    pub(crate) virtual_time: Duration,
}

impl Measured {
    /// The value of `flow.metric` or `link.metric`; none when there is none.
    pub(crate) fn value(&self, name: &str) -> Option<f64> {
        let (owner, metric) = name.rsplit_once('.')?;
        let metrics = self.flows.get(owner).or_else(|| self.links.get(owner))?;
        metrics.get(metric).copied().flatten()
    }
}

/// Takes the measure of a finished world.
pub(crate) fn measure(plan: &Plan, world: &World, ended: Ended) -> Measured {
    let end = world.now;
    let mut flows = BTreeMap::new();
    for (index, (flow, app)) in plan.lab.flows.iter().zip(&world.apps).enumerate() {
        let metrics = match app {
            App::Bulk(bulk) => bulk_metrics(plan, world, index, flow, bulk, end, ended),
            App::Ping(ping) => ping_metrics(ping),
        };
        flows.insert(flow.name.clone(), metrics);
    }
    let links = (0..plan.links.len())
        .map(|index| (plan.links[index].name.clone(), link_metrics(plan, world, index, end)))
        .collect();
    Measured { flows, links, packet_hops: world.packet_hops, virtual_time: end - Instant::ZERO }
}

fn bulk_metrics(
    plan: &Plan,
    world: &World,
    index: usize,
    flow: &model::Flow,
    bulk: &bulk::Bulk,
    end: Instant,
    ended: Ended,
) -> Metrics {
    let record = &bulk.record;
    let goodput = goodput(plan, bulk, end, ended);
    let watch = stop_watch(flow, bulk);
    let sender = connection(world, bulk.hosts()[0], bulk.sender());
    let receiver = connection(world, bulk.hosts()[1], bulk.receiver());
    let ceiling = sender.and_then(|c| ceiling(plan, flow, c));
    let raw: f64 = members(plan, flow)
        .map(|(rate, link)| 8.0 * rate / link.framing.line.bits_per_byte() as f64)
        .sum();
    let order = world.observer.order(FIRST_PORT + index as u16);
    let stats = |pick: fn(&Stats) -> u64| sender.map(|c| pick(c.stats()) as f64);
    let hits = |c: &Connection| c.stats().predicted_acks + c.stats().predicted_data;
    let both = sender.zip(receiver);
    Metrics::from([
        ("bytes".into(), Some(record.received as f64)),
        ("complete".into(), Some(f64::from(u8::from(bulk.is_done())))),
        ("goodput".into(), goodput),
        ("put_rate".into(), watch.map(|s| 8.0 * record.written as f64 / s)),
        ("seconds".into(), watch),
        ("ceiling".into(), ceiling),
        ("payload".into(), sender.map(|c| f64::from(c.snapshot().mss))),
        ("of_ceiling".into(), goodput.zip(ceiling).map(|(g, c)| g / c)),
        ("overhead".into(), goodput.map(|g| 1.0 - g / raw)),
        ("retransmitted".into(), stats(|s| s.retransmissions)),
        ("timeouts".into(), stats(|s| s.timeouts)),
        ("undos".into(), stats(|s| s.undos)),
        ("reordered".into(), order.map(|o| o.late as f64)),
        ("reorder_places".into(), order.map(|o| o.extent_max as f64)),
        ("longest_gap".into(), Some(record.longest_gap.as_secs_f64())),
        (
            "fast_path_share".into(),
            both.map(|(s, r)| {
                let received = s.stats().segments_received + r.stats().segments_received;
                (hits(s) + hits(r)) as f64 / received.max(1) as f64
            }),
        ),
    ])
}

fn connection(world: &World, host: usize, id: Option<ConnectionId>) -> Option<&Connection> {
    world.hosts[host].connection(id?)
}

/// Payload per second from the first byte sent, or the end of the warm-up, to the last byte received;
/// a transfer without an end is measured to the end of the run. An unfinished one has no goodput.
fn goodput(plan: &Plan, bulk: &bulk::Bulk, end: Instant, ended: Ended) -> Option<f64> {
    let record = &bulk.record;
    if bulk.is_finite() && !record.complete {
        return None;
    }
    let from = record.first_write_at?.max(Instant::ZERO + plan.lab.warmup);
    let to = if bulk.is_finite() || ended == Ended::Complete { record.last_byte_at? } else { end };
    let bytes = record.received - record.received_in_warmup;
    let seconds = (to - from).as_secs_f64();
    (seconds > 0.0).then(|| 8.0 * bytes as f64 / seconds)
}

/// What the sending program's stop-watch shows.
fn stop_watch(flow: &model::Flow, bulk: &bulk::Bulk) -> Option<f64> {
    let model::App::Bulk(plan) = &flow.app else {
        return None;
    };
    let record = &bulk.record;
    let from = record.opened_at?;
    let to = match plan.clock {
        Clock::LastWrite => record.last_write_at?,
        Clock::FirstToLastByte => record.last_byte_at.filter(|_| record.complete)?,
    };
    Some((to - from + plan.start_cost).as_secs_f64())
}

/// The members of a flow's bond with their rates in its direction, in bits per second.
fn members<'a>(plan: &'a Plan, flow: &model::Flow) -> impl Iterator<Item = (f64, &'a model::Link)> {
    let up = flow.direction == model::Direction::Up;
    plan.bonds[flow.bond].members.iter().map(move |&member| {
        let link = &plan.links[member];
        let rate = if up { link.rate.up } else { link.rate.down };
        (rate.as_bps() as f64, link)
    })
}

/// The sum over the members of rate times payload over bits on the wire, for the full segments this
/// connection sends with the headers it sends.
fn ceiling(plan: &Plan, flow: &model::Flow, connection: &Connection) -> Option<f64> {
    let snapshot = connection.snapshot();
    let payload = u64::from(snapshot.mss);
    let len = payload + u64::from(snapshot.header_len);
    (payload > 0).then(|| {
        members(plan, flow)
            .map(|(rate, link)| {
                let wire_bits = link.mean_wire_millibits(len) as f64 / 1000.0;
                rate * 8.0 * payload as f64 / wire_bits
            })
            .sum()
    })
}

fn ping_metrics(ping: &ping::Ping) -> Metrics {
    let trips: Vec<f64> = ping.round_trips.iter().map(|d| d.as_secs_f64()).collect();
    let count = trips.len() as f64;
    let mean = (count > 0.0).then(|| trips.iter().sum::<f64>() / count);
    let sent = ping.sent() as f64;
    Metrics::from([
        ("rtt_min".into(), trips.iter().copied().reduce(f64::min)),
        ("rtt_max".into(), trips.iter().copied().reduce(f64::max)),
        ("rtt_mean".into(), mean),
        ("rtt_median".into(), median(trips)),
        ("loss".into(), (sent > 0.0).then(|| 1.0 - count / sent)),
    ])
}

fn link_metrics(plan: &Plan, world: &World, index: usize, end: Instant) -> Metrics {
    let bond = plan.bonds.iter().position(|b| b.members.contains(&index)).unwrap_or(0);
    let first = plan.lab.flows.iter().find(|f| f.bond == bond);
    let lane = first.map_or(0, |f| f.direction.sender());
    let frames = |link: usize| world.links[link].lanes[lane].channel.stats().bytes as f64;
    let total: f64 = plan.bonds[bond].members.iter().map(|&m| frames(m)).sum();
    let busy = world.links[index].lanes[lane].channel.stats().busy.as_secs_f64();
    let seconds = end.as_secs_f64();
    Metrics::from([
        ("rate".into(), Some(plan.links[index].rate.up.as_bps() as f64)),
        ("share".into(), (total > 0.0).then(|| frames(index) / total)),
        ("utilisation".into(), (seconds > 0.0).then(|| busy / seconds)),
    ])
}
