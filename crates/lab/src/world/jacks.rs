//! Links to switches that go down and come back.

use super::{Fault, Source, World};
use crate::fabric::group::Jack;
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
            self.enslave_card(jack);
            self.serve(jack.host);
        }
        if begins {
            self.arm(Source::Fault(fault), up_at);
        }
    }

    /// Enslaves a card again that has a carrier and was buried without. Until then the switch sends to it what
    /// its host does not take.
    fn enslave_card(&mut self, jack: Jack) {
        let host = &mut self.hosts[jack.host];
        let Some(bond) = host.interface_of(jack.member.link).filter(|_| jack.up) else { return };
        host.with_bond(self.now, &mut self.cx, bond, |bond, cx| {
            if bond.member(jack.member.link).is_none() {
                // An EQL bond that is full refuses; the link then stays outside.
                let _full = bond.enslave(self.now, cx, jack.member);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::build;
    use trunkline_core::frame::LinkId;
    use trunkline_core::time::{Duration, Instant};
    use trunkline_plan::Document;

    #[test]
    fn a_card_that_eql_has_buried_is_a_member_again_when_its_carrier_is_back() {
        let text = "name = \"t\"\n[[link]]\nname = \"p\"\ncount = 2\nkind = \"ethernet\"\nrate = \"10mbit\"\n\
                    [bond.b]\nends = [\"h\", \"w\"]\nmembers = [\"p*\"]\nmode = \"eql\"\n\
                    [[lab.switch]]\nname = \"w\"\ntrunk = { members = [\"p*\"] }\n\
                    [[lab.host]]\nname = \"other\"\nlink = { to = \"w\", rate = \"10mbit\" }\n\
                    [[lab.flow]]\nname = \"f\"\nfrom = \"h\"\nto = \"other\"\napp = { kind = \"bulk\" }\n\
                    [[lab.fault]]\nlink = \"p1\"\ndown_at = \"1s\"\nup_after = \"2s\"\n";
        let document = Document::parse("t.toml", text, &|_| Err(String::new())).expect("TOML");
        let plan = document.experiment().and_then(|experiment| experiment.plan(0, None));
        let mut world = build::world(&plan.unwrap_or_else(|errors| panic!("{errors}")), 1);
        world.start();
        let mut members = Vec::new();
        for millis in [900, 2900, 4000] {
            while world.step(Instant::ZERO + Duration::from_millis(millis)) {}
            let jack = world.fabric.jack(1).expect("the link leads to a switch");
            let id = world.hosts[jack.host].interface_of(LinkId(1)).expect("a card of the bond");
            members.push(world.hosts[jack.host].bond(id).member(LinkId(1)).is_some());
        }
        assert_eq!(members, [true, false, true]);
    }
}
