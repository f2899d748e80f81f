//! Links to switches that go down and come back.

use super::{Fault, Source, World};
use trunkline_core::frame::{LinkChange, LinkId};
use trunkline_plan::model::FaultKind;

impl World {
    /// A fault of a link to a switch begins or ends.
    pub(super) fn plug_fault_due(&mut self, fault: usize) {
        let Fault { link, kind, up_at, .. } = self.faults[fault];
        let Some(plug) = self.fabric.plugs[link].as_mut() else { return };
        let begins = match kind {
            FaultKind::Carrier => plug.up,
            FaultKind::Blackhole => !plug.dark,
        };
        match kind {
            FaultKind::Carrier => plug.up = !begins,
            FaultKind::Blackhole => plug.dark = begins,
        }
        let plug = *plug;
        let carries = if plug.up && !plug.dark { LinkChange::Up } else { LinkChange::Down };
        for cable in [plug.cable, plug.cable + 1] {
            let channel = &mut self.fabric.cables[cable].channel;
            channel.handle_link(self.now, &mut self.cx, carries);
            self.arm_arrival(cable);
        }
        if kind == FaultKind::Carrier {
            let seen = if plug.up { LinkChange::Up } else { LinkChange::Down };
            for group in &mut self.fabric.switches[plug.switch].groups {
                group.handle_link(plug.port, seen);
            }
            let host = &mut self.hosts[plug.host];
            host.handle_link(self.now, &mut self.cx, LinkId(link as u16), seen);
            self.serve(plug.host);
        }
        if begins {
            self.arm(Source::Fault(fault), up_at);
        }
    }
}
