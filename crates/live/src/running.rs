//! A bond that is up: what it owns, and what it says of that in its state.

use crate::control::Control;
use crate::driver::Driver;
use crate::error::Error;
use crate::netlink::{LinkNews, Netlink};
use crate::networks;
use crate::setup::{BondSetup, LinkSetup};
use crate::state::{RunDir, STATE_SCHEMA, State};
use trunkline_core::time::Instant;

/// Reads the plan of one bond and end again.
pub type PlanReader = Box<dyn Fn() -> Result<BondSetup, Error>>;

/// A bond that is up. Dropping it takes it down; clients of the control socket are let go last, so
/// that whoever asked for the end knows when it has come.
pub struct Running {
    pub(crate) driver: Driver,
    pub(crate) run_dir: RunDir,
    pub(crate) control: Control,
    pub(crate) plan: String,
    pub(crate) read_plan: PlanReader,
}

impl Running {
    /// What has been made of the machine.
    pub fn state(&self) -> State {
        let setup = &self.driver.setup;
        let prefixed = |list: &[trunkline_plan::model::Address]| {
            list.iter().map(|a| format!("{}/{}", a.ip, a.prefix)).collect()
        };
        State {
            schema: STATE_SCHEMA.into(),
            pid: std::process::id(),
            bond: setup.name.clone(),
            end: setup.end.clone(),
            plan: self.plan.clone(),
            device: setup.device.clone(),
            addresses: prefixed(&setup.addresses),
            routes: prefixed(&setup.routes),
            sockets: self.driver.paths().iter().map(|p| describe(setup, &p.setup)).collect(),
        }
    }

    /// A device of this machine has changed. When it is the bond's own and is back, it gets again what the
    /// kernel took from it.
    pub(crate) fn handle_news(&mut self, now: Instant, news: &LinkNews) {
        self.driver.handle_carrier(now, news);
        if news.is_running && news.name == self.driver.setup.device {
            // What cannot be had back now is tried with the next change.
            let _missing = Netlink::open()
                .map(|mut netlink| networks::restore(&mut netlink, news.index, &self.driver.setup));
        }
    }

    /// The folder of this bond.
    pub fn run_dir(&self) -> &RunDir {
        &self.run_dir
    }
}

/// A path in words.
pub(crate) fn describe(setup: &BondSetup, link: &LinkSetup) -> String {
    let local = setup.local(link);
    let over = link.device.as_ref().map_or(String::new(), |device| format!(" over {device}"));
    let port = link.remote.port.map_or("its own port".into(), |port| format!("port {port}"));
    format!("{local}{over} to {}, {port}", link.remote.ip)
}
