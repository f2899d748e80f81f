//! What a running bond tells about itself: the labels of `/proc/net/bonding` where there are any.

use crate::path::Path;
use crate::running::Running;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trunkline_core::bond::{Bond, Member};
use trunkline_core::frame::LinkId;
use trunkline_core::time::Duration;
use trunkline_core::units::Ratio;
use trunkline_core::work::DropReason;
use trunkline_plan::model::Address;

/// The name and version of [`BondReport`].
pub const BOND_SCHEMA: &str = "trunkline.bond/1";

/// A bond, its members and what they did. Rates are in bit/s, sizes in bytes, times in seconds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BondReport {
    /// The version of this document.
    pub schema: String,
    /// The bond's name.
    pub bond: String,
    /// Which of its ends this is.
    pub end: String,
    /// The process.
    pub pid: u32,
    /// The plan.
    pub plan: String,
    /// The scheduling policy.
    pub bonding_mode: String,
    /// `up` when a member is.
    pub mii_status: String,
    /// The device programs see.
    pub device: String,
    /// The longest packet.
    pub mtu: u16,
    /// Addresses with prefix.
    pub addresses: Vec<String>,
    /// Networks reached over the device, with prefix.
    pub routes: Vec<String>,
    /// Packets waiting for the scheduler.
    pub ingress_packets: u64,
    /// Their bytes.
    pub ingress_bytes: u64,
    /// Packets from programs.
    pub tun_rx_packets: u64,
    /// Packets to programs.
    pub tun_tx_packets: u64,
    /// Packets that are in this process now, wherever they wait.
    pub frames: u64,
    /// Packets committed to members.
    pub tx_packets: u64,
    /// Their bytes.
    pub tx_bytes: u64,
    /// Packets no member took; `drops` has the reasons.
    pub tx_dropped: u64,
    /// Packets marked with congestion while they waited for the scheduler.
    pub tx_marked: u64,
    /// What puts flows back into order, where something does.
    pub resequencer: Option<ResequencerReport>,
    /// Everything that was given up, by reason; reasons that never came up are left out.
    pub drops: BTreeMap<String, u64>,
    /// The members, in the order they were enslaved.
    pub slaves: Vec<LinkReport>,
}

/// What puts flows back into order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ResequencerReport {
    /// Packets waiting for their predecessors now.
    pub waiting: u64,
    /// Packets that waited at all.
    pub held: u64,
    /// Gaps given up because every path had passed them.
    pub passed: u64,
    /// Gaps given up because of the wait.
    pub expired: u64,
    /// Packets that came after they had been given up.
    pub late: u64,
}

/// What a trunk knows about a member's path.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PathReport {
    /// `good`, `suspect` or `down`.
    pub standing: String,
    /// Smoothed round-trip time beyond our own transmitter; none before the first.
    pub srtt: Option<f64>,
    /// Its mean deviation.
    pub rttvar: f64,
    /// The shortest round trip.
    pub rtt_min: Option<f64>,
    /// How much longer it takes to the far end than the quickest path.
    pub delay: f64,
    /// Share of our datagrams that do not arrive.
    pub loss: f64,
    /// Datagrams sent, probes and feedback included.
    pub tx_datagrams: u64,
    /// Datagrams received once, probes and feedback included.
    pub rx_datagrams: u64,
    /// Of these, those that came after one sent later.
    pub rx_late: u64,
    /// Datagrams received again.
    pub rx_duplicates: u64,
    /// How often it was found dead.
    pub deaths: u64,
}

/// A member.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LinkReport {
    /// The link's name.
    pub slave_interface: String,
    /// `up` when the bond uses it.
    pub mii_status: String,
    /// Bits per second.
    pub rate: u64,
    /// What EQL is told of that.
    pub weight: u64,
    /// The device it is bound to.
    pub device: Option<String>,
    /// Whether that has a carrier.
    pub carrier: bool,
    /// The far end, with its port when that is known.
    pub remote: String,
    /// Bytes it holds that the wire does not have.
    pub queued_bytes: u64,
    /// Packets committed to it.
    pub tx_packets: u64,
    /// Their bytes.
    pub tx_bytes: u64,
    /// Of these, packets it lost.
    pub tx_dropped: u64,
    /// Datagrams the kernel refused.
    pub tx_errors: u64,
    /// Packets received.
    pub rx_packets: u64,
    /// Their bytes.
    pub rx_bytes: u64,
    /// Datagrams that met congestion on their way here.
    pub rx_ce: u64,
    /// Its path, in a trunk.
    pub path: Option<PathReport>,
}

/// The report of a running bond.
pub(crate) fn bond(running: &Running) -> BondReport {
    let driver = &running.driver;
    let (setup, stats) = (&driver.setup, driver.bond.stats());
    let is_up = driver.bond.members().iter().any(Member::is_up);
    let prefixed = |list: &[Address]| {
        list.iter().map(|a| format!("{}/{}", a.ip, a.prefix)).collect::<Vec<String>>()
    };
    BondReport {
        schema: BOND_SCHEMA.into(),
        bond: setup.name.clone(),
        end: setup.end.clone(),
        pid: std::process::id(),
        plan: running.plan.clone(),
        bonding_mode: driver.bond.config().mode.name().into(),
        mii_status: up_or_down(is_up),
        device: setup.device.clone(),
        mtu: setup.bond.mtu,
        addresses: prefixed(&setup.addresses),
        routes: prefixed(&setup.routes),
        ingress_packets: driver.bond.ingress_frames() as u64,
        ingress_bytes: driver.bond.ingress_bytes(),
        tun_rx_packets: driver.stats.tun_rx,
        tun_tx_packets: driver.stats.tun_tx,
        frames: driver.cx.frames.live() as u64,
        tx_packets: stats.tx_packets,
        tx_bytes: stats.tx_bytes,
        tx_dropped: stats.tx_dropped,
        tx_marked: stats.tx_marked,
        resequencer: resequencer(&driver.bond),
        drops: drops(running),
        slaves: driver.paths().iter().map(|path| link(running, path)).collect(),
    }
}

fn resequencer(bond: &Bond) -> Option<ResequencerReport> {
    let stats = bond.resequencer_stats()?;
    Some(ResequencerReport {
        waiting: bond.resequencing_frames() as u64,
        held: stats.held,
        passed: stats.passed,
        expired: stats.expired,
        late: stats.late,
    })
}

fn path(bond: &Bond, link: LinkId) -> Option<PathReport> {
    let (path, member) = (bond.path(link)?, bond.member(link)?);
    let stats = path.stats();
    Some(PathReport {
        standing: path.standing().name().into(),
        srtt: stats.srtt.map(Duration::as_secs_f64),
        rttvar: stats.rttvar.as_secs_f64(),
        rtt_min: stats.rtt_min.map(Duration::as_secs_f64),
        delay: member.delay().as_secs_f64(),
        loss: f64::from(stats.loss.as_ppb()) / f64::from(Ratio::ONE.as_ppb()),
        tx_datagrams: stats.tx_datagrams,
        rx_datagrams: stats.rx_datagrams,
        rx_late: stats.rx_late,
        rx_duplicates: stats.rx_duplicates,
        deaths: stats.deaths,
    })
}

fn drops(running: &Running) -> BTreeMap<String, u64> {
    let (work, stats) = (&running.driver.cx.work, &running.driver.stats);
    let core = DropReason::ALL.iter().map(|reason| (reason.name(), work.dropped(*reason)));
    let own = [
        ("foreign", stats.foreign),
        ("truncated", stats.truncated),
        ("tun_refused", stats.tun_errors),
        ("tun_malformed", stats.tun_malformed),
        ("ce_unheard", stats.ce_unheard),
    ];
    let mut drops = BTreeMap::new();
    for (name, count) in core.chain(own).filter(|(_, count)| *count > 0) {
        *drops.entry(name.to_owned()).or_default() += count;
    }
    drops
}

fn link(running: &Running, path: &Path) -> LinkReport {
    let setup = &path.setup;
    let member = running.driver.bond.member(setup.member.link);
    let stats = member.map(|member| *member.stats()).unwrap_or_default();
    let remote = path.destination().map_or(setup.remote.ip.to_string(), |to| to.to_string());
    LinkReport {
        slave_interface: setup.name.clone(),
        mii_status: up_or_down(member.is_some_and(Member::is_up)),
        rate: setup.member.rate.as_bps(),
        weight: setup.member.weight.as_bps(),
        device: setup.device.clone(),
        carrier: path.has_carrier(),
        remote,
        queued_bytes: member.map_or(0, Member::held_bytes),
        tx_packets: stats.tx_packets,
        tx_bytes: stats.tx_bytes,
        tx_dropped: stats.tx_dropped,
        tx_errors: path.stats.tx_errors,
        rx_packets: stats.rx_packets,
        rx_bytes: stats.rx_bytes,
        rx_ce: path.stats.rx_ce,
        path: self::path(&running.driver.bond, setup.member.link),
    }
}

fn up_or_down(is_up: bool) -> String {
    if is_up { "up".into() } else { "down".into() }
}
