//! What a finished run is worth: the metrics of its flows and links, by name. Their names are those of
//! [`trunkline_plan::metric`], their meaning stands in `docs/plan.md`, section "Metrics".

mod jack;
mod machine;
mod one_way;
mod segment;
mod services;
mod switched;

use crate::apps::{App, bulk, ping};
use crate::build::FIRST_PORT;
use crate::result::median;
use crate::world::{Lane, World};
use std::collections::BTreeMap;
use trunkline_core::cc;
use trunkline_core::frame::LinkId;
use trunkline_core::host::ConnectionId;
use trunkline_core::tcp::{Connection, Stats};
use trunkline_core::time::{Duration, Instant};
use trunkline_core::units::BitRate;
use trunkline_plan::model::{self, Clock, Plan};

/// Metrics of one thing, by name; none where one does not apply.
pub(crate) type Metrics = BTreeMap<String, Option<f64>>;

/// The metrics of one run.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Measured {
    pub(crate) flows: BTreeMap<String, Metrics>,
    pub(crate) links: BTreeMap<String, Metrics>,
    /// Of hosts and routers that take time.
    pub(crate) hosts: BTreeMap<String, Metrics>,
    /// Why a flow has no value for some metric, by its name.
    causes: BTreeMap<String, String>,
    /// Flows that broke or delivered wrong bytes, and how.
    pub(crate) failures: Vec<(String, String)>,
    /// What else a reader should know of a flow, by its name.
    pub(crate) notes: BTreeMap<String, String>,
    /// What `ss -ti` would tell of a flow's sender, by its name.
    pub(crate) tokens: BTreeMap<String, String>,
    pub(crate) packet_hops: u64,
    pub(crate) virtual_time: Duration,
}

impl Measured {
    /// The value of `flow.metric` or `link.metric`; none when there is none.
    pub(crate) fn value(&self, name: &str) -> Option<f64> {
        let (owner, metric) = name.rsplit_once('.')?;
        // A router that takes time is in two of them.
        let owners = [&self.flows, &self.links, &self.hosts];
        let mut metrics = owners.into_iter().filter_map(|metrics| metrics.get(owner));
        metrics.find_map(|metrics| metrics.get(metric)).copied().flatten()
    }

    /// Why `flow.metric` or `link.metric` has no value.
    pub(crate) fn cause(&self, name: &str) -> String {
        let owner = name.rsplit_once('.').map_or(name, |(owner, _)| owner);
        let cause = self.causes.get(owner).map(|cause| format!("{owner}: {cause}"));
        cause.unwrap_or_else(|| format!("there was nothing to measure `{name}` of"))
    }
}

/// Takes the measure of a finished world.
pub(crate) fn measure(plan: &Plan, world: &World) -> Measured {
    let end = world.now;
    let mut flows = BTreeMap::new();
    let mut causes = BTreeMap::new();
    let mut failures = Vec::new();
    let mut notes = BTreeMap::new();
    let mut tokens = BTreeMap::new();
    for (index, (flow, app)) in plan.lab.flows.iter().zip(&world.apps).enumerate() {
        let (metrics, cause) = match app {
            App::Bulk(bulk) => {
                failures.extend(failure(&bulk.record).map(|how| (flow.name.clone(), how)));
                notes.extend(bulk_note(world, bulk).map(|note| (flow.name.clone(), note)));
                let sender = connection(world, bulk.hosts()[0], bulk.sender());
                tokens.extend(sender.map(|c| (flow.name.clone(), c.tokens().to_string())));
                (bulk_metrics(plan, world, index, flow, bulk), bulk_cause(bulk))
            }
            App::Ping(ping) => (ping_metrics(ping, end), ping_cause(ping)),
            app => {
                failures.extend(switched::failures(app).map(|how| (flow.name.clone(), how)));
                notes.extend(
                    switched::note(plan, world, flow, app).map(|note| (flow.name.clone(), note)),
                );
                (switched::metrics(plan, world, flow, app), switched::cause(app))
            }
        };
        flows.insert(flow.name.clone(), metrics);
        causes.extend(cause.map(|cause| (flow.name.clone(), cause)));
    }
    for (group, looks) in plan.lab.groups.iter().zip(&world.looks) {
        flows.insert(group.name.clone(), switched::of_group(world, looks));
    }
    let links = (0..plan.links.len())
        .map(|index| (plan.links[index].name.clone(), link_metrics(plan, world, index, end)));
    let ports = (0..plan.lab.machines.len()).filter_map(|m| switched::of_port(plan, world, m));
    let hosts = plan.lab.slow.iter().filter_map(|slow| {
        Some((slow.name.clone(), machine::metrics(world, plan.lab.warmup, &slow.name)?))
    });
    let hosts = hosts.collect();
    let segments = 0..plan.lab.segments.len();
    let segments = segments.filter_map(|index| segment::of_segment(plan, world, index));
    let routers = services::of_routers(plan, world);
    let links = links.chain(ports).chain(segments).chain(routers).collect();
    let virtual_time = end - Instant::ZERO;
    let packet_hops = world.packet_hops;
    Measured { flows, links, hosts, causes, failures, notes, tokens, packet_hops, virtual_time }
}

/// How a transfer failed, whatever it was worth until then.
fn failure(record: &bulk::Record) -> Option<String> {
    match record.broken {
        Some(why) => Some(format!("the connection broke: {why}")),
        None if record.wrong > 0 => Some(format!("{} bytes are not what was sent", record.wrong)),
        None => None,
    }
}

/// Why a transfer lacks metrics, if it does.
fn bulk_cause(bulk: &bulk::Bulk) -> Option<String> {
    let record = &bulk.record;
    if record.broken.is_some() {
        return failure(record);
    }
    let cause = match (record.opened_at, record.last_byte_at) {
        (None, _) => "it had not begun when the run ended",
        (Some(_), None) => "nothing was received within the plan's duration",
        (Some(_), Some(_)) if bulk.is_finite() && !record.complete => {
            "the transfer did not finish within the plan's duration"
        }
        _ if !bulk.is_finite() && record.measured_from.is_none() => {
            "the warm-up is longer than the transfer: nothing was received after it"
        }
        _ if !bulk.is_finite() => "a transfer without an end has no such metric",
        _ => return None,
    };
    Some(cause.to_owned())
}

/// Where congestion control is not what the plan asked for.
fn bulk_note(world: &World, bulk: &bulk::Bulk) -> Option<String> {
    let state = connection(world, bulk.hosts()[0], bulk.sender())?.cc_state();
    (state == cc::State::DctcpReno).then(|| FELL_BACK.to_owned())
}

/// What a reader should know where DCTCP could not be what it is.
const FELL_BACK: &str = "no ECN on the connection: dctcp ran as dctcp-reno, which is reno";

fn ping_cause(ping: &ping::Ping) -> Option<String> {
    let cause = match (ping.sent(), ping.round_trips.len()) {
        (0, _) => "no echo request was sent before the run ended",
        (_, 0) => "no echo reply",
        _ => return None,
    };
    Some(cause.to_owned())
}

fn bulk_metrics(
    plan: &Plan,
    world: &World,
    index: usize,
    flow: &model::Flow,
    bulk: &bulk::Bulk,
) -> Metrics {
    let record = &bulk.record;
    let goodput = goodput(bulk, world.now);
    let watch = stop_watch(flow, bulk);
    let sender = connection(world, bulk.hosts()[0], bulk.sender());
    let receiver = connection(world, bulk.hosts()[1], bulk.receiver());
    let ceiling = sender.and_then(|c| ceiling(plan, flow, c));
    let raw: f64 = members(plan, flow)
        .map(|(rate, link)| 8.0 * rate.as_bps() as f64 / link.framing.line.bits_per_byte() as f64)
        .sum();
    let order = world.observer.order(FIRST_PORT + index as u16);
    let stats = |pick: fn(&Stats) -> u64| sender.map(|c| pick(c.stats()) as f64);
    let both = sender.zip(receiver);
    Metrics::from([
        ("bytes".into(), Some(record.received as f64)),
        ("complete".into(), bulk.is_finite().then(|| one_or_zero(record.complete))),
        ("broken".into(), Some(one_or_zero(record.broken.is_some()))),
        ("wrong".into(), Some(record.wrong as f64)),
        ("goodput".into(), goodput),
        ("put_rate".into(), watch.map(|s| 8.0 * record.written as f64 / s)),
        ("seconds".into(), watch),
        ("ceiling".into(), ceiling),
        ("payload".into(), sender.map(|c| f64::from(c.snapshot().mss))),
        ("of_ceiling".into(), goodput.zip(ceiling).map(|(g, c)| g / c)),
        ("overhead".into(), ceiling.map(|c| 1.0 - c / raw)),
        ("unused".into(), goodput.map(|g| 1.0 - g / raw)),
        ("retransmitted".into(), stats(|s| s.retransmissions)),
        ("timeouts".into(), stats(|s| s.timeouts)),
        ("undos".into(), stats(|s| s.undos)),
        ("reordered".into(), order.map(|o| o.late as f64)),
        ("reorder_places".into(), order.map(|o| o.extent_max as f64)),
        ("longest_gap".into(), Some(record.longest_gap.as_secs_f64())),
        ("fast_path_share".into(), both.map(|(s, r)| fast_path_share(s, r))),
    ])
}

fn one_or_zero(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// The share of the segments received at both ends that header prediction handled.
fn fast_path_share(sender: &Connection, receiver: &Connection) -> f64 {
    let both = [sender.stats(), receiver.stats()];
    let hits: u64 = both.iter().map(|s| s.predicted_acks + s.predicted_data).sum();
    let received: u64 = both.iter().map(|s| s.segments_received).sum();
    hits as f64 / received.max(1) as f64
}

fn connection(world: &World, host: usize, id: Option<ConnectionId>) -> Option<&Connection> {
    world.hosts[host].connection(id?)
}

/// Payload per second. A file: from the first byte sent to the last received, without regard to the
/// warm-up; none when it is not complete. A transfer without an end: from the first bytes received
/// after the warm-up, which do not count themselves, to the end of the run.
fn goodput(bulk: &bulk::Bulk, end: Instant) -> Option<f64> {
    let record = &bulk.record;
    let (bytes, time) = if bulk.is_finite() {
        let last = record.last_byte_at.filter(|_| record.complete)?;
        (record.received, last - record.first_write_at?)
    } else {
        let (from, before) = record.measured_from?;
        (record.received - before, end - from)
    };
    (!time.is_zero()).then(|| 8.0 * bytes as f64 / time.as_secs_f64())
}

/// What the sending program's stop-watch shows of a file that has arrived whole.
fn stop_watch(flow: &model::Flow, bulk: &bulk::Bulk) -> Option<f64> {
    let model::App::Bulk(plan) = &flow.app else {
        return None;
    };
    let record = &bulk.record;
    let from = record.opened_at.filter(|_| record.complete)?;
    let to = match plan.clock {
        Clock::LastWrite => record.last_write_at?,
        Clock::FirstToLastByte => record.last_byte_at?,
    };
    Some((to - from + plan.start_cost).as_secs_f64())
}

/// The members of a flow's bond with their rates in its direction, in bits per second.
fn members<'a>(
    plan: &'a Plan,
    flow: &model::Flow,
) -> impl Iterator<Item = (BitRate, &'a model::Link)> {
    let way = flow.bond().map(|(bond, direction)| (&plan.bonds[bond].members, direction));
    let up = way.is_some_and(|(_, direction)| direction == model::Direction::Up);
    let links = way.into_iter().flat_map(|(members, _)| members).map(|member| &plan.links[*member]);
    links.filter(move |link| link.carries_from(usize::from(!up))).map(move |link| {
        let rate = if up { link.rate.up } else { link.rate.down };
        (rate, link)
    })
}

/// The sum over the members of rate times payload over bits on the wire, for the full segments this
/// connection sends with the headers it sends.
fn ceiling(plan: &Plan, flow: &model::Flow, connection: &Connection) -> Option<f64> {
    let snapshot = connection.snapshot();
    let payload = u64::from(snapshot.mss);
    let header = u64::from(snapshot.header_len);
    (payload > 0).then(|| {
        members(plan, flow)
            .map(|(rate, link)| {
                let wire_bits = link.mean_segment_millibits(rate, payload, header) as f64 / 1000.0;
                rate.as_bps() as f64 * 8.0 * payload as f64 / wire_bits
            })
            .sum()
    })
}

fn ping_metrics(ping: &ping::Ping, end: Instant) -> Metrics {
    let trips: Vec<f64> = ping.round_trips.iter().map(|d| d.as_secs_f64()).collect();
    let count = trips.len() as f64;
    let mean = (count > 0.0).then(|| trips.iter().sum::<f64>() / count);
    Metrics::from([
        ("rtt_min".into(), trips.iter().copied().reduce(f64::min)),
        ("rtt_max".into(), trips.iter().copied().reduce(f64::max)),
        ("rtt_mean".into(), mean),
        ("rtt_median".into(), median(trips)),
        ("loss".into(), ping.loss(end)),
    ])
}

/// In the one direction it carries, or in that of the first flow over the link's bond; `dropped` is of both.
fn link_metrics(plan: &Plan, world: &World, index: usize, end: Instant) -> Metrics {
    if let Some(jack) = world.fabric.jack(index) {
        return jack::metrics(plan, world, index, jack);
    }
    let bond = plan.bonds.iter().position(|b| b.members.contains(&index)).unwrap_or(0);
    let ways = plan.lab.flows.iter().filter_map(model::Flow::bond);
    let first = ways.filter(|(over, _)| *over == bond).map(|(_, direction)| direction).next();
    let way = plan.links[index].direction.or(first);
    let lane = way.map_or(0, model::Direction::sender);
    let bytes = |link: usize| world.links[link].lanes[lane].channel.stats().bytes as f64;
    let total: f64 = plan.bonds[bond].members.iter().map(|&m| bytes(m)).sum();
    let busy = world.links[index].lanes[lane].channel.stats().busy.as_secs_f64();
    let seconds = end.as_secs_f64();
    let rates = plan.links[index].rate;
    let rate = if lane == 0 { rates.up } else { rates.down };
    let mut metrics = Metrics::from([
        ("rate".into(), Some(rate.as_bps() as f64)),
        ("share".into(), (total > 0.0).then(|| bytes(index) / total)),
        ("utilisation".into(), (seconds > 0.0).then(|| busy / seconds)),
        ("dropped".into(), Some(dropped(world, index) as f64)),
    ]);
    one_way::add(&mut metrics, plan, world, index, end);
    metrics
}

/// Packets given up on a link, both ways: by its channels, and by the bonds at its ends.
fn dropped(world: &World, link: usize) -> u64 {
    let lane = |lane: &Lane| {
        let bond = world.hosts[lane.from].bond(lane.interface);
        let member = bond.member(LinkId(link as u16));
        lane.channel.stats().drops + member.map_or(0, |m| m.stats().tx_dropped)
    };
    world.links[link].lanes.iter().map(lane).sum()
}
