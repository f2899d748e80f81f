//! What a running bond tells about itself: the labels of `/proc/net/bonding` where there are any.

use crate::path::Path;
use crate::running::Running;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trunkline_core::bond::Member;
use trunkline_core::work::DropReason;

/// The name and version of [`BondReport`].
pub const BOND_SCHEMA: &str = "trunkline.bond/1";

/// A bond, its members and what they did. Rates are in bit/s, sizes in bytes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
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
    /// Packets waiting for the scheduler.
    pub ingress_packets: u64,
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
    /// Packets no member took.
    pub tx_dropped: u64,
    /// Everything that was given up, by reason; reasons that never came up are left out.
    pub drops: BTreeMap<String, u64>,
    /// The members, in the order they were enslaved.
    pub slaves: Vec<LinkReport>,
}

/// A member.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
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
}

/// The report of a running bond.
pub(crate) fn bond(running: &Running) -> BondReport {
    let driver = &running.driver;
    let (setup, stats) = (&driver.setup, driver.bond.stats());
    let is_up = driver.bond.members().iter().any(Member::is_up);
    let addresses = setup.addresses.iter().map(|a| format!("{}/{}", a.ip, a.prefix));
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
        addresses: addresses.collect(),
        ingress_packets: driver.bond.ingress_frames() as u64,
        tun_rx_packets: driver.stats.tun_rx,
        tun_tx_packets: driver.stats.tun_tx,
        frames: driver.cx.frames.live() as u64,
        tx_packets: stats.tx_packets,
        tx_bytes: stats.tx_bytes,
        tx_dropped: stats.tx_dropped,
        drops: drops(running),
        slaves: driver.paths().iter().map(|path| link(running, path)).collect(),
    }
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
        carrier: path.has_carrier,
        remote,
        queued_bytes: member.map_or(0, Member::held_bytes),
        tx_packets: stats.tx_packets,
        tx_bytes: stats.tx_bytes,
        tx_dropped: stats.tx_dropped,
        tx_errors: path.stats.tx_errors,
        rx_packets: stats.rx_packets,
        rx_bytes: stats.rx_bytes,
        rx_ce: path.stats.rx_ce,
    }
}

fn up_or_down(is_up: bool) -> String {
    if is_up { "up".into() } else { "down".into() }
}
