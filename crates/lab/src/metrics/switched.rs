//! Metrics of flows over switches, of groups of them, and of ports.

use super::{Metrics, connection, failure, goodput, one_or_zero, services, stop_watch};
use crate::apps::App;
use crate::apps::attempts::Attempts;
use crate::apps::bulk::Bulk;
use crate::apps::datagrams::Datagrams;
use crate::apps::messages::{Messages, Totals};
use crate::apps::requests::Requests;
use crate::apps::streams::Streams;
use crate::apps::web::Web;
use crate::look::Looks;
use crate::result::median;
use crate::world::World;
use trunkline_core::cc;
use trunkline_core::host::ConnectionId;
use trunkline_core::time::{Duration, Instant};
use trunkline_plan::model::{Discipline, Flow, Plan, Route};
use trunkline_plan::network::{self, ETHERNET, Plug, PortQueue};

/// Rates of a group are fair when the largest and the smallest differ by less than this share of their sum:
/// 0.5 of 10 Gbit/s.
const FAIR_SHARE: f64 = 0.05;
/// A group has recovered when it carries this share of what all its flows carried together in the mean.
const RECOVERED_SHARE: f64 = 0.95;

/// Jain's index of some amounts: 1 when all are equal, 1/n when one has everything.
pub(crate) fn jain(amounts: &[f64]) -> Option<f64> {
    let sum: f64 = amounts.iter().sum();
    let squares: f64 = amounts.iter().map(|amount| amount * amount).sum();
    (squares > 0.0).then(|| sum * sum / (amounts.len() as f64 * squares))
}

/// The smallest value that this share of all do not exceed (nearest rank).
pub(crate) fn percentile(mut values: Vec<f64>, share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let rank = (share * values.len() as f64).ceil().max(1.0) as usize;
    values.get(rank - 1).copied()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The deviation of a sample.
fn stddev(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

fn seconds(spans: &[Duration]) -> Vec<f64> {
    spans.iter().map(|span| span.as_secs_f64()).collect()
}

fn totals(world: &World, ends: impl Iterator<Item = (usize, Option<ConnectionId>)>) -> Totals {
    let mut totals = Totals::default();
    for (host, id) in ends {
        if let Some(id) = id {
            totals.add(&world.hosts[host], id);
        }
    }
    totals
}

fn share(totals: &Totals) -> Option<f64> {
    let sent = totals.data_segments as f64;
    (sent > 0.0).then(|| totals.retransmitted as f64 / sent)
}

/// How a flow went wrong, if it did.
pub(super) fn failures(app: &App) -> Option<String> {
    match app {
        App::Streams(streams) => streams.bulks.iter().find_map(|bulk| failure(&bulk.record)),
        App::Requests(requests) => {
            requests.broken.map(|why| format!("the connection broke: {why}"))
        }
        App::Web(web) => web.broken.map(|why| format!("the connection broke: {why}")),
        App::Messages(messages) if messages.broken > 0 => {
            Some(format!("{} connections broke", messages.broken))
        }
        _ => None,
    }
}

/// Why a flow lacks metrics, if it does.
pub(super) fn cause(app: &App) -> Option<String> {
    let cause = match app {
        App::Streams(streams) if !streams.is_done() && streams.is_finite() => {
            "not all transfers finished within the plan's duration"
        }
        App::Requests(requests) if requests.trips.is_empty() => {
            "no round was over after the warm-up"
        }
        App::Attempts(attempts) if attempts.connected + attempts.failed == 0 => {
            "no attempt was over after the warm-up"
        }
        App::Web(web) if web.trips.is_empty() => "no page was there after the warm-up",
        App::Messages(messages) if messages.trips.is_empty() => {
            "no message had arrived after the warm-up"
        }
        App::Datagrams(datagrams) if datagrams.delays.is_empty() => {
            "no datagram had arrived after the warm-up"
        }
        _ => return services::cause(app).map(str::to_owned).or_else(|| failures(app)),
    };
    Some(cause.to_owned())
}

/// The metrics of a flow over switches that is no ping, and of pages, wherever they go.
pub(super) fn metrics(plan: &Plan, world: &World, flow: &Flow, app: &App) -> Metrics {
    match app {
        App::Streams(streams) => of_streams(plan, world, flow, streams),
        App::Requests(requests) => of_requests(plan, world, requests),
        App::Attempts(attempts) => of_attempts(attempts),
        App::Messages(messages) => of_messages(plan, world, messages),
        App::Web(web) => of_web(plan, world, web),
        App::Rpc(_) | App::Rip(_) | App::Heartbeat(_) => {
            services::metrics(plan, world, flow, app).unwrap_or_default()
        }
        App::Datagrams(datagrams) => of_datagrams(plan, world, datagrams),
        App::Bulk(_) | App::Ping(_) => Metrics::new(),
    }
}

/// What a transfer is worth; one without an end that got nothing after the warm-up is worth nothing.
fn rate(bulk: &Bulk, end: Instant) -> Option<f64> {
    let rate = goodput(bulk, end);
    if bulk.is_finite() { rate } else { rate.or(Some(0.0)) }
}

/// What all transfers of a flow brought in the time that they have in common, from the first byte of any to the
/// last. The sum of their rates would say more than the cable carries, where each counts from its own first
/// byte and some stall before.
fn together(bulks: &[Bulk], end: Instant) -> Option<f64> {
    let records = || bulks.iter().map(|bulk| &bulk.record);
    let (bytes, from, to): (u64, _, _) = if bulks.iter().all(Bulk::is_finite) {
        let from = records().filter_map(|record| record.first_write_at).min();
        let to = records().filter_map(|record| record.last_byte_at).max();
        (records().map(|record| record.received).sum(), from, to)
    } else {
        let measured = || records().filter_map(|r| r.measured_from.map(|from| (r, from)));
        let bytes = measured().map(|(record, (_, before))| record.received - before).sum();
        (bytes, measured().map(|(_, (from, _))| from).min(), Some(end))
    };
    match from.zip(to) {
        Some((from, to)) if to > from => Some(8.0 * bytes as f64 / (to - from).as_secs_f64()),
        _ => Some(0.0),
    }
}

fn of_streams(plan: &Plan, world: &World, flow: &Flow, streams: &Streams) -> Metrics {
    let bulks = &streams.bulks;
    let rates: Option<Vec<f64>> = bulks.iter().map(|bulk| rate(bulk, world.now)).collect();
    let all = |pick: fn(&[f64]) -> Option<f64>| rates.as_deref().and_then(pick);
    let put = |bulk| stop_watch(flow, bulk).map(|s| 8.0 * bulk.record.written as f64 / s);
    let put_rates: Option<Vec<f64>> = bulks.iter().map(put).collect();
    let put_rate: Option<f64> = put_rates.as_ref().map(|rates| rates.iter().sum());
    let goodput = rates.as_ref().and_then(|_| together(bulks, world.now));
    let senders = || bulks.iter().map(|bulk| (bulk.hosts()[0], bulk.sender()));
    let totals = totals(world, senders());
    let timeouts = senders().filter_map(|(host, id)| connection(world, host, id));
    let timeouts_max = timeouts.map(|c| c.stats().timeouts).max();
    let gap = bulks.iter().map(|bulk| bulk.record.longest_gap).max().unwrap_or(Duration::ZERO);
    let sender = senders().find_map(|(host, id)| connection(world, host, id));
    let snapshot = sender.map(|connection| connection.snapshot());
    let ceiling = snapshot.zip(receiver_rate(plan, flow)).and_then(|(snapshot, rate)| {
        let len = u64::from(snapshot.mss + snapshot.header_len);
        let wire = ETHERNET.mean_wire_millibits(len) as f64 / 1000.0;
        (snapshot.mss > 0).then(|| rate * 8.0 * f64::from(snapshot.mss) / wire)
    });
    let is_broken = bulks.iter().any(|bulk| bulk.record.broken.is_some());
    let wrong: u64 = bulks.iter().map(|bulk| bulk.record.wrong).sum();
    let is_complete = bulks.iter().all(|bulk| bulk.record.complete);
    Metrics::from([
        ("bytes".into(), Some(streams.received() as f64)),
        ("complete".into(), streams.is_finite().then(|| one_or_zero(is_complete))),
        ("broken".into(), Some(one_or_zero(is_broken))),
        ("wrong".into(), Some(wrong as f64)),
        ("goodput".into(), goodput),
        ("goodput_mean".into(), all(mean)),
        ("goodput_median".into(), all(|rates| median(rates.to_vec()))),
        ("goodput_min".into(), all(|rates| rates.iter().copied().reduce(f64::min))),
        ("goodput_max".into(), all(|rates| rates.iter().copied().reduce(f64::max))),
        ("goodput_stddev".into(), all(stddev)),
        ("put_rate".into(), put_rate),
        ("put_rate_mean".into(), put_rates.as_deref().and_then(mean)),
        ("jain".into(), all(jain)),
        ("seconds".into(), duration(bulks).filter(|_| is_complete)),
        ("ceiling".into(), ceiling),
        ("of_ceiling".into(), goodput.zip(ceiling).map(|(goodput, ceiling)| goodput / ceiling)),
        ("retransmitted".into(), Some(totals.retransmitted as f64)),
        ("retransmitted_share".into(), share(&totals)),
        ("timeouts".into(), Some(totals.timeouts as f64)),
        ("timeouts_max".into(), timeouts_max.map(|timeouts| timeouts as f64)),
        ("longest_gap".into(), Some(gap.as_secs_f64())),
        ("payload".into(), snapshot.map(|snapshot| f64::from(snapshot.mss))),
    ])
}

/// The rate of the receiver's cables, or its segment, in bits per second.
fn receiver_rate(plan: &Plan, flow: &Flow) -> Option<f64> {
    let Route::Switches { to, .. } = flow.route else { return None };
    let machine = &plan.lab.machines[to];
    if let Some(cards) = &machine.bond {
        return Some(
            cards.links.iter().map(|link| plan.links[*link].rate.up.as_bps() as f64).sum(),
        );
    }
    let rate = match machine.plug {
        Plug::Cable(cable) => cable.rate,
        Plug::Station(station) => plan.lab.segments[station.segment].rate,
    };
    Some(rate.as_bps() as f64)
}

/// From the first connection asked for to the last byte received.
fn duration(bulks: &[Bulk]) -> Option<f64> {
    let from = bulks.iter().filter_map(|bulk| bulk.record.opened_at).min()?;
    let to = bulks.iter().filter_map(|bulk| bulk.record.last_byte_at).max()?;
    Some((to - from).as_secs_f64())
}

/// The time after the warm-up, up to the last byte where the flow has an end.
fn measured_time(plan: &Plan, end: Instant) -> Option<f64> {
    let from = Instant::ZERO + plan.lab.warmup;
    (end > from).then(|| (end - from).as_secs_f64())
}

fn of_requests(plan: &Plan, world: &World, requests: &Requests) -> Metrics {
    let trips = seconds(&requests.trips);
    let totals = totals(world, requests.ends());
    let received: Vec<f64> = requests.servers.iter().map(|s| 8.0 * s.received as f64).collect();
    let end = requests.last_byte_at.filter(|_| requests.is_done()).unwrap_or(world.now);
    let goodput = measured_time(plan, end).map(|time| received.iter().sum::<f64>() / time);
    Metrics::from([
        ("rounds".into(), Some(trips.len() as f64)),
        ("round_mean".into(), mean(&trips)),
        ("round_p50".into(), percentile(trips.clone(), 0.5)),
        ("round_p99".into(), percentile(trips.clone(), 0.99)),
        ("round_max".into(), trips.iter().copied().reduce(f64::max)),
        ("goodput".into(), goodput),
        ("jain".into(), jain(&received)),
        ("broken".into(), Some(one_or_zero(requests.broken.is_some()))),
        ("retransmitted".into(), Some(totals.retransmitted as f64)),
        ("retransmitted_share".into(), share(&totals)),
        ("timeouts".into(), Some(totals.timeouts as f64)),
    ])
}

fn of_web(plan: &Plan, world: &World, web: &Web) -> Metrics {
    let trips = seconds(&web.trips);
    let totals = totals(world, web.ends());
    let end = web.last_byte_at.filter(|_| web.is_done()).unwrap_or(world.now);
    let time = measured_time(plan, end);
    Metrics::from([
        ("pages".into(), Some(trips.len() as f64)),
        ("page_mean".into(), mean(&trips)),
        ("page_p50".into(), percentile(trips.clone(), 0.5)),
        ("page_p99".into(), percentile(trips.clone(), 0.99)),
        ("page_max".into(), trips.iter().copied().reduce(f64::max)),
        ("goodput".into(), time.map(|time| 8.0 * web.received as f64 / time)),
        ("broken".into(), Some(one_or_zero(web.broken.is_some()))),
        ("retransmitted".into(), Some(totals.retransmitted as f64)),
        ("retransmitted_share".into(), share(&totals)),
        ("timeouts".into(), Some(totals.timeouts as f64)),
    ])
}

fn of_attempts(attempts: &Attempts) -> Metrics {
    let all = (attempts.connected + attempts.failed) as f64;
    let probability = (all > 0.0).then(|| attempts.connected as f64 / all);
    Metrics::from([
        ("attempts".into(), Some(all)),
        ("connected".into(), Some(attempts.connected as f64)),
        ("probability".into(), probability),
        ("connect_median".into(), median(seconds(&attempts.trips))),
    ])
}

fn of_messages(plan: &Plan, world: &World, messages: &Messages) -> Metrics {
    let trips = seconds(&messages.trips);
    let totals = messages.totals(&world.hosts);
    let time = measured_time(plan, world.now);
    Metrics::from([
        ("messages".into(), Some(trips.len() as f64)),
        ("unfinished".into(), Some(messages.unfinished() as f64)),
        ("goodput".into(), time.map(|time| 8.0 * messages.received as f64 / time)),
        ("time_mean".into(), mean(&trips)),
        ("time_p50".into(), percentile(trips.clone(), 0.5)),
        ("time_p99".into(), percentile(trips.clone(), 0.99)),
        ("broken".into(), Some(messages.broken as f64)),
        ("retransmitted".into(), Some(totals.retransmitted as f64)),
        ("retransmitted_share".into(), share(&totals)),
        ("timeouts".into(), Some(totals.timeouts as f64)),
    ])
}

fn of_datagrams(plan: &Plan, world: &World, datagrams: &Datagrams) -> Metrics {
    let delays = seconds(&datagrams.delays);
    let (received, lost) = (delays.len() as f64, datagrams.lost as f64);
    let time = measured_time(plan, world.now);
    Metrics::from([
        ("sent".into(), Some(datagrams.sent() as f64)),
        ("received".into(), Some(received)),
        ("lost".into(), Some(lost)),
        ("loss".into(), (received + lost > 0.0).then(|| lost / (received + lost))),
        ("goodput".into(), time.map(|time| 8.0 * datagrams.received_bytes as f64 / time)),
        ("delay_mean".into(), mean(&delays)),
        ("delay_p50".into(), percentile(delays.clone(), 0.5)),
        ("delay_p99".into(), percentile(delays.clone(), 0.99)),
        ("delay_max".into(), delays.iter().copied().reduce(f64::max)),
    ])
}

/// Where congestion control is not what the plan asked for.
pub(super) fn note(plan: &Plan, world: &World, flow: &Flow, app: &App) -> Option<String> {
    let App::Streams(streams) = app else { return None };
    let fell_back = |bulk: &Bulk| {
        let connection = connection(world, bulk.hosts()[0], bulk.sender());
        connection.is_some_and(|connection| connection.cc_state() == cc::State::DctcpReno)
    };
    if streams.bulks.iter().any(fell_back) {
        return Some(super::FELL_BACK.to_owned());
    }
    let is_unmarked = flow.tcp.algorithm.name() == "dctcp" && !meets_marks(plan, flow);
    is_unmarked.then(|| UNMARKED.to_owned())
}

/// What a reader should know where nothing marks what DCTCP sends.
const UNMARKED: &str =
    "no queue at the receiver's port marks these packets: dctcp hears of losses only, and is reno";

/// Whether the queue that a flow's packets wait in at its receiver's port marks any.
fn meets_marks(plan: &Plan, flow: &Flow) -> bool {
    let Route::Switches { to, .. } = flow.route else { return true };
    let Some(cable) = plan.lab.machines[to].cable() else { return false };
    let switch = &plan.lab.switches[cable.to];
    let queue = match &switch.queue {
        PortQueue::One(queue) => Some(queue),
        PortQueue::Classes { classes, .. } => {
            let listed = classes.iter().find(|class| class.dscps.contains(&flow.tcp.dscp));
            listed.or(classes.last()).map(|class| &class.queue)
        }
    };
    queue.is_some_and(|queue| queue.discipline != Discipline::DropTail)
}

/// The streams of a group.
fn members<'w>(world: &'w World, looks: &'w Looks) -> impl Iterator<Item = &'w Bulk> {
    looks.flows.iter().flat_map(|flow| match &world.apps[*flow] {
        App::Streams(streams) => streams.bulks.as_slice(),
        App::Bulk(bulk) => std::slice::from_ref(&**bulk),
        _ => &[],
    })
}

/// The metrics of a group of flows.
pub(super) fn of_group(world: &World, looks: &Looks) -> Metrics {
    let bulks: Vec<&Bulk> = members(world, looks).collect();
    let rates: Option<Vec<f64>> = bulks.iter().map(|bulk| rate(bulk, world.now)).collect();
    let totals = totals(world, bulks.iter().map(|bulk| (bulk.hosts()[0], bulk.sender())));
    let last_start = bulks.iter().filter_map(|bulk| bulk.record.opened_at).max();
    let first_end = bulks.iter().filter_map(|bulk| bulk.record.last_write_at).min();
    let looked: Vec<(Instant, Vec<f64>)> = looks.rates().collect();
    let together = |from: Instant| {
        let until = first_end.unwrap_or(world.now);
        let fits = move |at: Instant| at >= from && at + looks.interval <= until;
        looked.iter().filter(move |(at, _)| fits(*at))
    };
    let is_fair = |rates: &[f64]| {
        let [low, high] = extremes(rates);
        high - low < FAIR_SHARE * rates.iter().sum::<f64>()
    };
    let fair_at = last_start.and_then(|from| together(from).find(|(_, rates)| is_fair(rates)));
    let seen = |at: Instant, from: Instant| (at + looks.interval - from).as_secs_f64();
    let fair_after = fair_at.zip(last_start).map(|((at, _), from)| seen(*at, from));
    let indices: Vec<f64> = match last_start {
        Some(from) => {
            together(from + looks.interval).filter_map(|(_, rates)| jain(rates)).collect()
        }
        None => Vec::new(),
    };
    let sums = |from| together(from).map(|(_, rates)| rates.iter().sum()).collect::<Vec<f64>>();
    let before = last_start.and_then(|from| mean(&sums(from)));
    let recovered_at = first_end.and_then(|end| recovered_at(&looked, end, before));
    let recovered_after = recovered_at.zip(first_end).map(|(at, end)| seen(at, end));
    Metrics::from([
        ("goodput".into(), rates.as_ref().map(|rates| rates.iter().sum())),
        ("jain".into(), rates.as_deref().and_then(jain)),
        ("jain_mean".into(), mean(&indices)),
        ("jain_min".into(), indices.iter().copied().reduce(f64::min)),
        ("fair_after".into(), fair_after),
        ("recovered_after".into(), recovered_after),
        ("timeouts".into(), Some(totals.timeouts as f64)),
        ("retransmitted".into(), Some(totals.retransmitted as f64)),
    ])
}

fn extremes(rates: &[f64]) -> [f64; 2] {
    let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
    [low, rates.iter().copied().fold(0.0, f64::max)]
}

/// The first look after the end of one flow at which the others carry nearly `before`.
fn recovered_at(
    looked: &[(Instant, Vec<f64>)],
    end: Instant,
    before: Option<f64>,
) -> Option<Instant> {
    let least = RECOVERED_SHARE * before?;
    let carries = |rates: &[f64]| rates.iter().sum::<f64>() >= least;
    looked.iter().find(|(at, rates)| *at >= end && carries(rates)).map(|(at, _)| *at)
}

/// The metrics of the port towards a machine.
pub(super) fn of_port(plan: &Plan, world: &World, machine: usize) -> Option<(String, Metrics)> {
    let plugged = &plan.lab.machines[machine];
    let name = network::port_name(&plan.lab.switches, plugged)?;
    let cable = plugged.cable()?;
    let switch = &world.fabric.switches[cable.to];
    let port = switch.port_to(machine)?;
    let (meter, waiting) = switch.meter(port);
    let channel = &world.fabric.cables[switch.cable(port)].channel;
    let span = world.now.as_secs_f64();
    let busy = channel.stats().busy.as_secs_f64();
    let metrics = Metrics::from([
        ("rate".into(), Some(cable.rate.as_bps() as f64)),
        ("utilisation".into(), (span > 0.0).then(|| busy / span)),
        ("dropped".into(), Some(meter.dropped as f64)),
        ("marked".into(), Some(meter.marked as f64)),
        ("queue_mean".into(), meter.queue_mean(world.now, waiting)),
        ("queue_max".into(), Some(meter.queue_max as f64)),
    ]);
    Some((name, metrics))
}

#[cfg(test)]
mod tests {
    use super::{jain, percentile, recovered_at, stddev};
    use trunkline_core::time::{Duration, Instant};

    #[test]
    fn jain_is_one_for_equals_and_one_nth_for_one_alone() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[0.0, 8.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[0.0, 0.0]), None);
    }

    #[test]
    fn jain_follows_from_the_deviation_as_the_source_has_it() {
        // Mean 521.684 and deviation 105.891 of 19 flows are printed as 0.962.
        let relative: f64 = 105.891 / 521.684;
        let spread = relative * (18.0f64 / 19.0).sqrt();
        let rates = [1.0 - spread, 1.0 + spread];
        assert!((jain(&rates).expect("rates") - 0.962).abs() < 0.0005);
        assert_eq!(stddev(&[1.0, 3.0]), Some(2.0f64.sqrt()));
    }

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(percentile(values.clone(), 0.5), Some(50.0));
        assert_eq!(percentile(values.clone(), 0.99), Some(99.0));
        assert_eq!(percentile(vec![7.0], 0.5), Some(7.0));
        assert_eq!(percentile(vec![], 0.5), None);
    }

    #[test]
    fn recovery_is_counted_from_the_end() {
        let at = |tenths: u64| Instant::ZERO + Duration::from_millis(100 * tenths);
        let looked =
            vec![(at(0), vec![5.0, 5.0]), (at(1), vec![5.0, 0.0]), (at(2), vec![9.6, 0.0])];
        assert_eq!(recovered_at(&looked, at(1), Some(10.0)), Some(at(2)));
        assert_eq!(recovered_at(&looked, at(1), Some(10.2)), None);
    }
}
