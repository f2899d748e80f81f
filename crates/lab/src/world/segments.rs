//! What happens on half-duplex segments: stations begin, the medium says what became of it, and all hear.

use super::{Source, World};
use crate::fabric::End;
use crate::fabric::segment::slot;
use trunkline_core::frame::Frame;
use trunkline_core::link::{Outcome, Reception};
use trunkline_core::units::BitRate;
use trunkline_core::work::DropReason;

impl World {
    /// The card with a slot; none where it is a link's.
    pub(super) fn card_of(&self, slot: u16) -> Option<usize> {
        usize::from(slot).checked_sub(2 * self.links.len())
    }

    /// A card has a frame for its segment.
    pub(super) fn start_on_segment(&mut self, cable: usize, bits: u64, rate: BitRate) {
        let End::Segment(segment) = self.fabric.cables[cable].to else {
            unreachable!("only a segment decides when a card sends")
        };
        let (medium, slot) = (self.fabric.segments[segment].medium, slot(self.links.len(), cable));
        self.media[medium].start(self.now, slot, bits, rate);
        let next = self.media[medium].next_finish();
        self.arm(Source::Medium(medium), next);
    }

    /// The medium is done with a card's frame.
    pub(super) fn card_finished(&mut self, cable: usize, outcome: Outcome) {
        if outcome == Outcome::GivenUp {
            self.fabric.cables[cable].channel.give_up();
        }
        self.cable_finished(cable);
    }

    /// A card's frame has come to the ends of its segment: those it is for take it.
    pub(super) fn heard(&mut self, segment: usize, from: usize, frame: Frame) {
        let this = &self.fabric.segments[segment];
        let takers = this.takers(this.destination(&self.cx, frame));
        let last = takers.end;
        if takers.is_empty() {
            return self.cx.drop_frame(frame, DropReason::NotForUs);
        }
        for station in takers {
            // The last has the frame itself.
            let is_last = station + 1 == last;
            let copy = if is_last { frame } else { self.cx.frames.duplicate(frame) };
            self.take(segment, station, from, copy);
        }
    }

    fn take(&mut self, segment: usize, station: usize, from: usize, frame: Frame) {
        let this = &mut self.fabric.segments[segment];
        if this.stations[station].cable == from {
            // Nobody hears himself.
            return self.cx.frames.remove(frame);
        }
        let (host, link) = (this.stations[station].host, this.stations[station].link);
        if this.hear(self.now, station, self.cx.frames.len(frame)) == Reception::Lost {
            return self.cx.drop_frame(frame, DropReason::Overrun);
        }
        if self.machines[host].is_some() {
            return self.machine_heard(host, link, from, frame);
        }
        self.hosts[host].handle_frame(self.now, &mut self.cx, link, frame);
        self.serve(host);
    }
}

#[cfg(test)]
mod tests {
    use crate::build;
    use crate::fabric::address::address;
    use crate::world::World;
    use std::net::Ipv4Addr;
    use trunkline_core::time::{Duration, Instant};
    use trunkline_core::wire::ipv4::{self, Ecn, Protocol};
    use trunkline_core::work::DropReason;
    use trunkline_plan::Document;

    /// Four hosts, each with this `link`, after these tables.
    fn world(tables: &str, link: &str) -> World {
        let text =
            format!("name = \"w\"\n{tables}[[lab.host]]\nname = \"h\"\ncount = 4\nlink = {link}\n");
        let document = Document::parse("w.toml", text, &|_| Err(String::new())).expect("TOML");
        let plan = document.experiment().and_then(|experiment| experiment.plan(0, None));
        let mut world = build::world(&plan.unwrap_or_else(|errors| panic!("{errors}")), 1);
        world.start();
        world
    }

    /// A packet from one host's card; how many frames came to hosts.
    fn received(world: &mut World, from: usize, dst: Ipv4Addr) -> u64 {
        let mut packet = [0; 48];
        let ip = ipv4::Repr {
            src: address(from),
            dst,
            protocol: Protocol::UDP,
            dscp: 0,
            ecn: Ecn::NotEct,
            ident: 1,
            dont_fragment: false,
            ttl: 64,
            payload_len: 28,
        };
        ip.emit(&mut packet);
        let before = world.cx.work.frames_received;
        let frame = world.cx.frames.insert(&packet, 0);
        let card = world.fabric.cards[from][0];
        world.start_on(card, frame);
        let end = world.now + Duration::from_millis(10);
        while world.step(end) {}
        world.check_frames().expect("no frame is lost or doubled");
        world.cx.work.frames_received - before
    }

    #[test]
    fn a_broadcast_is_taken_by_all_others_and_everything_else_by_one() {
        let segment = "[[lab.segment]]\nname = \"s\"\nrate = \"10mbit\"\n";
        let switch = "[[lab.switch]]\nname = \"s\"\n";
        for (tables, link) in
            [(segment, "{ to = \"s\" }"), (switch, "{ to = \"s\", rate = \"10mbit\" }")]
        {
            let mut world = world(tables, link);
            assert_eq!(received(&mut world, 0, Ipv4Addr::BROADCAST), 3, "{tables}");
            assert_eq!(received(&mut world, 1, Ipv4Addr::new(10, 128, 255, 255)), 3, "{tables}");
            assert_eq!(received(&mut world, 2, address(3)), 1, "{tables}");
            let strangers = world.cx.work.dropped(DropReason::NotForUs);
            assert_eq!(received(&mut world, 2, address(77)), 0, "{tables}");
            assert_eq!(world.cx.work.dropped(DropReason::NotForUs), strangers + 1, "{tables}");
        }
    }

    #[test]
    fn a_switch_that_learns_sends_to_all_until_it_has_heard_from_somebody() {
        let tables = "[[lab.switch]]\nname = \"s\"\nlearning = true\n";
        let mut world = world(tables, "{ to = \"s\", rate = \"10mbit\" }");
        assert_eq!(received(&mut world, 0, address(3)), 3);
        assert_eq!(received(&mut world, 3, address(0)), 1);
        assert_eq!(received(&mut world, 0, address(3)), 1);
        assert_eq!(received(&mut world, 1, address(2)), 3);
    }

    #[test]
    fn what_is_flooded_to_a_switch_that_knows_better_does_not_come_back() {
        let tables = "[[lab.switch]]\nname = \"s\"\nlearning = true\n\
                      [[lab.switch]]\nname = \"below\"\nlink = { to = \"s\", rate = \"10mbit\" }\n";
        let mut world = world(tables, "{ to = \"s\", rate = \"10mbit\" }");
        assert_eq!(received(&mut world, 0, address(3)), 3);
        // The first switch has not been told that the first host is behind the other.
        assert_eq!(received(&mut world, 3, address(0)), 1);
    }

    #[test]
    fn a_frame_takes_its_time_and_the_way_to_the_far_end() {
        let segment = "[[lab.segment]]\nname = \"s\"\nrate = \"10mbit\"\npropagation = \"5us\"\n";
        let mut world = world(segment, "{ to = \"s\" }");
        let card = world.fabric.cards[0][0];
        let frame = world.cx.frames.insert(&[0; 46], 0);
        world.start_on(card, frame);
        let mut last = Instant::ZERO;
        while world.step(Instant::ZERO + Duration::from_millis(1)) {
            last = world.now;
        }
        // 64 bytes behind their preamble, and the cable.
        assert_eq!(last, Instant::from_nanos(72 * 800 + 5_000));
    }
}
