//! Links to switches that go down and come back.

use super::{Fault, Source, World};
use trunkline_core::frame::{LinkChange, LinkId};
use trunkline_plan::model::FaultKind;

impl World {
    /// A fault of a link to a switch begins or ends.
    pub(super) fn jack_fault_due(&mut self, fault: usize) {
        let Fault { link, kind, up_at, .. } = self.faults[fault];
        let Some(jack) = self.fabric.jacks[link].as_mut() else { return };
        let begins = match kind {
            FaultKind::Carrier => jack.up,
            FaultKind::Blackhole => !jack.dark,
        };
        match kind {
            FaultKind::Carrier => jack.up = !begins,
            FaultKind::Blackhole => jack.dark = begins,
        }
        let jack = *jack;
        let carries = if jack.up && !jack.dark { LinkChange::Up } else { LinkChange::Down };
        for cable in [jack.cable, jack.cable + 1] {
            let channel = &mut self.fabric.cables[cable].channel;
            channel.handle_link(self.now, &mut self.cx, carries);
            self.arm_arrival(cable);
        }
        if kind == FaultKind::Carrier {
            let seen = if jack.up { LinkChange::Up } else { LinkChange::Down };
            for group in &mut self.fabric.switches[jack.switch].groups {
                group.handle_link(jack.port, seen);
            }
            let host = &mut self.hosts[jack.host];
            host.handle_link(self.now, &mut self.cx, LinkId(link as u16), seen);
            self.serve(jack.host);
        }
        if begins {
            self.arm(Source::Fault(fault), up_at);
        }
    }
}
