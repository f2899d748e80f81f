//! What must hold of a world when its run is over, besides that every byte has arrived.

use super::draw::themes::Outcome;
use crate::apps::App;
use crate::metrics::{self, Measured};
use crate::world::World;
use trunkline_core::host::{ArpReplies, Host};
use trunkline_core::time::Duration;
use trunkline_core::work::DropReason;
use trunkline_plan::model::{self, Flow, Link, Plan};

/// Shares, of time and of others.
const SHARES: [&str; 8] =
    ["utilisation", "busy", "cpu", "bus", "share", "up", "reading", "protocol_share"];
/// Rounding of floating-point sums.
const ROUNDING: f64 = 1e-9;
/// A patience no call exhausts while nothing is lost.
const PATIENT: Duration = Duration::from_secs(60);
/// Hops that a packet makes at most.
const HOPS: f64 = 63.0;
/// Signs of life that may be late.
const SIGNS: u64 = 3;

/// Checks all of them.
pub(super) fn check(plan: &Plan, world: &World, outcome: Outcome) -> Result<(), String> {
    let measured = metrics::measure(plan, world);
    shares(&measured)?;
    questions(plan, world)?;
    damage(plan, world)?;
    for (flow, app) in plan.lab.flows.iter().zip(&world.apps) {
        datagrams(flow, app).map_err(|what| format!("{}: {what}", flow.name))?;
        if is_lossless(world) && outcome == Outcome::Delivered {
            lossless(flow, app)
                .map_err(|what| format!("{}: {what}, and nothing is lost", flow.name))?;
        }
    }
    match outcome {
        Outcome::Told => told(plan, world, &measured),
        Outcome::Circling => circling(plan, world, &measured),
        Outcome::Delivered | Outcome::Bounded => Ok(()),
    }
}

/// Everything measured is a number, and no share is more than one.
fn shares(measured: &Measured) -> Result<(), String> {
    let all = [&measured.flows, &measured.links, &measured.hosts].into_iter().flatten();
    for (owner, metrics) in all {
        for (name, value) in metrics {
            let Some(value) = *value else { continue };
            let is_share = SHARES.contains(&name.as_str());
            if !value.is_finite() || (is_share && !(0.0..=1.0 + ROUNDING).contains(&value)) {
                return Err(format!("{owner}.{name} is {value}"));
            }
        }
    }
    Ok(())
}

/// Where hosts answer for their own address only, a question has one answer.
fn questions(plan: &Plan, world: &World) -> Result<(), String> {
    let machines = plan.lab.machines.iter();
    if machines.into_iter().any(|machine| machine.network.replies == ArpReplies::Everybody) {
        return Ok(());
    }
    let stats = world.hosts.iter().map(Host::network_stats);
    let (asked, answered) = stats.fold((0, 0), |(asked, answered), stats| {
        (asked + stats.arp_requests_sent, answered + stats.arp_replies_sent)
    });
    match answered <= asked {
        true => Ok(()),
        false => Err(format!("{asked} questions for addresses have {answered} answers")),
    }
}

/// What no wire loses or damages is not damaged when it comes: neither are headers that are restored.
fn damage(plan: &Plan, world: &World) -> Result<(), String> {
    let is_clean = |link: &Link| link.lab.loss.is_zero() && link.lab.corrupt.is_zero();
    let damaged = world.cx.work.dropped(DropReason::Checksum);
    match damaged > 0 && plan.links.iter().all(is_clean) && plan.lab.faults.is_empty() {
        true => Err(format!("{damaged} packets are damaged, and no wire does that")),
        false => Ok(()),
    }
}

/// Whether all that was sent came to where it was for.
fn is_lossless(world: &World) -> bool {
    let harmless = [DropReason::NotForUs, DropReason::NoConnection, DropReason::Duplicate];
    let reasons = DropReason::ALL.into_iter().filter(|reason| !harmless.contains(reason));
    reasons.map(|reason| world.cx.work.dropped(reason)).sum::<u64>() == 0
}

/// Nobody hears more than was said.
fn datagrams(flow: &Flow, app: &App) -> Result<(), String> {
    let (sent, heard, what) = match (app, &flow.app) {
        (App::Rpc(rpc), model::App::Rpc(calls)) => {
            let answered = rpc.trips.len() as u64;
            let clients = rpc.hosts().len() as u64 - 1;
            let most = calls.count.map_or(rpc.calls, |count| u64::from(count) * clients);
            if rpc.is_done() && calls.count.is_some() && answered != most {
                return Err(format!("{answered} of {most} calls are answered"));
            }
            (rpc.calls.min(most), answered, "calls")
        }
        (App::Datagrams(datagrams), _) => {
            let arrived = datagrams.delays.len() as u64;
            (datagrams.sent(), arrived + datagrams.lost, "datagrams")
        }
        (App::Heartbeat(heartbeat), _) => (heartbeat.sent, heartbeat.heard, "signs of life"),
        _ => return Ok(()),
    };
    match heard <= sent {
        true => Ok(()),
        false => Err(format!("{heard} of {sent} {what} arrived")),
    }
}

/// Where nothing is lost nothing is missing, and nothing is asked twice.
fn lossless(flow: &Flow, app: &App) -> Result<(), String> {
    let what = match (app, &flow.app) {
        (App::Rpc(rpc), model::App::Rpc(calls)) if calls.timeout >= PATIENT => {
            (rpc.retransmitted, "calls are made again")
        }
        (App::Datagrams(datagrams), _) => (datagrams.lost, "datagrams are missing"),
        (App::Heartbeat(heartbeat), model::App::Heartbeat(plan))
            if plan.patience >= plan.interval * SIGNS =>
        {
            (heartbeat.crashes, "members have left")
        }
        _ => return Ok(()),
    };
    match what {
        (0, _) => Ok(()),
        (count, what) => Err(format!("{count} {what}")),
    }
}

/// What is told to everybody causes no other frame (RFC 1122, 3.2.2 and 3.3.6).
fn told(plan: &Plan, world: &World, measured: &Measured) -> Result<(), String> {
    // A router that hears several segments counts for the first flow.
    let tellers = world.apps.iter().filter_map(|app| match app {
        App::Rip(rip) => Some((rip.sent * rip.hosts().len() as u64, rip.heard)),
        _ => None,
    });
    let (copies, heard) = tellers.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    if heard > copies {
        return Err(format!("{heard} of {copies} copies arrived"));
    }
    let value =
        |name: &str, metric: &str| measured.value(&format!("{name}.{metric}")).unwrap_or(0.0);
    let sent: f64 = plan.lab.segments.iter().map(|s| value(&s.name, "sent")).sum();
    let said: f64 = plan.lab.flows.iter().map(|flow| value(&flow.name, "sent")).sum();
    if sent > said {
        return Err(format!("{said} datagrams told became {sent} frames"));
    }
    let stats = world.hosts.iter().map(Host::network_stats);
    let caused: u64 =
        stats.map(|s| s.arp_requests_sent + s.arp_replies_sent + s.forwarded + s.errors_sent).sum();
    match caused {
        0 => Ok(()),
        _ => Err(format!("{said} datagrams told caused {caused} others")),
    }
}

/// What two hosts pass on to each other ends with its hops.
fn circling(plan: &Plan, world: &World, measured: &Measured) -> Result<(), String> {
    let value =
        |name: &str, metric: &str| measured.value(&format!("{name}.{metric}")).unwrap_or(0.0);
    let sent: f64 = plan.lab.segments.iter().map(|s| value(&s.name, "sent")).sum();
    let said: f64 = plan.lab.flows.iter().map(|flow| value(&flow.name, "sent")).sum();
    let stats = world.hosts.iter().map(Host::network_stats);
    let asked: u64 = stats.map(|s| s.arp_requests_sent + s.arp_replies_sent + s.errors_sent).sum();
    match sent <= said * (1.0 + 2.0 * HOPS) + asked as f64 {
        true => Ok(()),
        false => Err(format!("{said} datagrams told became {sent} frames, with {asked} questions")),
    }
}
