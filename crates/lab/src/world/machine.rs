//! Hosts that take time: their frames wait until the processor has got so far.

use super::{Source, World};
use crate::cpu::ledger::{Counts, Kind, Packet};
use crate::cpu::{Job, Machine};
use std::collections::VecDeque;
use trunkline_core::frame::{Frame, LinkId};
use trunkline_core::link::channel::Started;
use trunkline_core::time::Duration;
use trunkline_core::work::DropReason;

impl World {
    /// Gives a host a processor.
    pub(crate) fn slow_down(&mut self, host: usize, machine: Machine) {
        self.machines[host] = Some(Box::new(machine));
        self.is_slow = true;
    }

    /// The host of this name, if it takes time.
    pub(crate) fn machine_named(&self, name: &str) -> Option<&Machine> {
        self.machines.iter().flatten().find(|machine| machine.name == name).map(Box::as_ref)
    }

    /// A frame has come in at a host that takes time.
    pub(super) fn machine_received(&mut self, host: usize, link: LinkId, frame: Frame) {
        let now = self.now;
        let machine = self.machines[host].as_mut().expect("a host that takes time");
        if let Err(frame) = machine.frame_arrived(now, link, frame) {
            self.cx.drop_frame(frame, DropReason::Overrun);
        }
        self.turn(host);
    }

    /// A frame has come in from a segment at a host that takes time: who would take it was not known before,
    /// so the card's share of the bus is taken now.
    pub(super) fn machine_heard(&mut self, host: usize, link: LinkId, from: usize, frame: Frame) {
        let has_room = self.machines[host].as_ref().is_some_and(|machine| machine.has_place());
        if !has_room {
            return self.machine_received(host, link, frame);
        }
        let bytes = self.cx.frames.len(frame) as u64;
        let rate = self.fabric.cables[from].channel.config().rate;
        let lasts = Started::At(self.now + rate.time_for_bits(8 * bytes));
        self.cards_move([Some(host), None], bytes, lasts);
        self.machine_received(host, link, frame);
    }

    /// A card of a host that takes time has sent a frame.
    pub(super) fn machine_sent(&mut self, host: usize, link: LinkId, bytes: u64) {
        let now = self.now;
        if self.shares_bond(host, link) {
            let before = Counts::of(&self.cx.work);
            self.hosts[host].handle_transmitted(now, &mut self.cx, link, bytes);
            self.note_built(host, before);
        }
        let machine = self.machines[host].as_mut().expect("a host that takes time");
        machine.frame_sent(now, link);
        self.turn(host);
    }

    /// A card begins to send: it and the card at the other end share their processors' buses.
    pub(super) fn cards_move(&mut self, hosts: [Option<usize>; 2], bytes: u64, started: Started) {
        let lasts = match started {
            Started::At(end) => end - self.now,
            Started::OnChip { bits, rate } => rate.time_for_bits(bits),
        };
        for host in hosts.into_iter().flatten() {
            if let Some(machine) = &mut self.machines[host] {
                let need = machine.ledger.bus(bytes);
                machine.processor.transfer(self.now, lasts, need);
                self.arm_machine(host);
            }
        }
    }

    /// A host that takes time has something to do, or has done it.
    pub(super) fn turn(&mut self, host: usize) {
        let now = self.now;
        let Some(machine) = &mut self.machines[host] else { return };
        for (link, frame) in machine.advance(now) {
            self.give_card(host, link, frame);
        }
        while self.begin_interrupt(host) || self.begin_job(host) {}
        self.arm_machine(host);
    }

    fn arm_machine(&mut self, host: usize) {
        let Some(machine) = &self.machines[host] else { return };
        let own = machine.deadline();
        let timers = match machine.processor.is_busy() {
            true => None,
            false => self.hosts[host].next_deadline(),
        };
        let next = match (own, timers) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.arm(Source::Host(host), next.map(|at| at.max(self.now)));
    }

    /// Lets the core take in a frame, if one is there and the processor may be interrupted for it.
    fn begin_interrupt(&mut self, host: usize) -> bool {
        let now = self.now;
        let Some(machine) = self.machines[host].as_mut().filter(|m| m.can_be_interrupted()) else {
            return false;
        };
        let Some((link, frame, interrupt)) = machine.next_arrived(now) else { return false };
        let packet = self.packet(host, link, frame);
        let before = Counts::of(&self.cx.work);
        self.hosts[host].handle_frame(now, &mut self.cx, link, frame);
        let counts = Counts::of(&self.cx.work).since(before);
        let Some(machine) = &mut self.machines[host] else { return false };
        let mut cost = interrupt + machine.ledger.received(packet, counts);
        let is_sending = machine.is_sending();
        if !is_sending {
            // The card says at once what it has sent.
            machine.free_places(now);
        }
        self.tell_drivers(host);
        if !is_sending {
            // The answer is sent before anything else.
            let answer = self.fill_driver(host, Job::Interrupt);
            cost += answer.map_or(Duration::ZERO, |(_, cost)| cost);
        }
        if let Some(machine) = &mut self.machines[host] {
            machine.begin_interrupt(now, cost);
        }
        true
    }

    /// Tells drivers at once what processes are told when they run.
    fn tell_drivers(&mut self, host: usize) {
        if !self.has_driver(host) {
            return;
        }
        while let Some(event) = self.hosts[host].poll_event() {
            let mut apps = 0..self.apps.len();
            let is_taken =
                apps.any(|app| self.apps[app].is_driver() && self.offer(app, host, &event));
            if let (false, Some(machine)) = (is_taken, &mut self.machines[host]) {
                machine.tell(event);
            }
        }
    }

    /// Lets the core do what is most urgent when the processor is free: what was put off, cards that have
    /// sent, timers, then processes, then what can be sent. Answers whether there was something.
    fn begin_job(&mut self, host: usize) -> bool {
        let now = self.now;
        let Some(machine) = self.machines[host].as_mut().filter(|m| !m.processor.is_busy()) else {
            return false;
        };
        if machine.go_on() {
            return true;
        }
        machine.free_places(now);
        let before = Counts::of(&self.cx.work);
        if self.hosts[host].next_deadline().is_some_and(|at| at <= now) {
            self.hosts[host].handle_timeout(now, &mut self.cx);
            self.note_built(host, before);
            return true;
        }
        let ran = self.run_processes(host).map(|cost| (Job::Process, cost));
        // What a driver sends is not put off by what comes in.
        let job = if self.has_driver(host) { Job::Interrupt } else { Job::Process };
        let begun = ran.or_else(|| self.fill_driver(host, job));
        if let (Some((job, cost)), Some(machine)) = (begun, &mut self.machines[host]) {
            machine.begin(now, job, cost);
        }
        begun.is_some()
    }

    /// Whether a part of a driver runs on a host.
    fn has_driver(&self, host: usize) -> bool {
        self.apps.iter().any(|app| app.is_driver() && app.hosts().contains(&host))
    }

    /// What the core has built since is owed for.
    fn note_built(&mut self, host: usize, before: Counts) {
        let counts = Counts::of(&self.cx.work).since(before);
        if let Some(machine) = &mut self.machines[host] {
            machine.ledger.built(counts);
        }
    }

    /// Lets the processes run that have been told something.
    fn run_processes(&mut self, host: usize) -> Option<Duration> {
        let machine = self.machines[host].as_mut()?;
        while let Some(event) = self.hosts[host].poll_event() {
            machine.tell(event);
        }
        let connections = &self.hosts[host];
        let events = machine.take_events(|id| {
            let connection = connections.connection(id)?;
            Some((connection.send_space(), connection.queued()))
        });
        if events.is_empty() {
            return None;
        }
        let cost = machine.wake(&events);
        let before = Counts::of(&self.cx.work);
        let mut events = VecDeque::from(events);
        while let Some(event) = events.pop_front() {
            self.dispatch(host, &event);
            let gone = event.connection().filter(|id| self.hosts[host].connection(*id).is_none());
            if let (Some(id), Some(machine)) = (gone, &mut self.machines[host]) {
                // What was still to be told of it is nobody's, as in the host itself.
                events.retain(|event| event.connection() != Some(id));
                machine.forget(id);
            }
        }
        let ran = Counts::of(&self.cx.work).since(before);
        let machine = self.machines[host].as_mut()?;
        Some(cost + machine.ledger.ran(ran))
    }

    /// A frame of one of a host's cards as far as its price depends on it.
    fn packet(&self, host: usize, link: LinkId, frame: Frame) -> Packet {
        let cables = self.fabric.cards.get(host).into_iter().flatten();
        let mut cables = cables.map(|cable| &self.fabric.cables[*cable]);
        let skip = match cables.find(|cable| cable.link == link) {
            Some(cable) => cable.header_len(),
            None => self.links.get(usize::from(link.0)).map_or(0, |link| link.skip),
        };
        let (bytes, len) = (self.cx.frames.bytes(frame), self.cx.frames.len(frame));
        Packet::read(bytes.get(skip..).unwrap_or_default(), len.saturating_sub(skip))
    }

    /// The same of a frame that leaves: what somebody else has sent is passed on.
    fn leaving_packet(&self, host: usize, link: LinkId, frame: Frame) -> Packet {
        let packet = self.packet(host, link, frame);
        match packet.source {
            Some(source) if !self.hosts[host].has_address(source) => {
                Packet { kind: Kind::PassedOn, ..packet }
            }
            _ => packet,
        }
    }

    /// Takes a packet for the first card whose driver has room. Answers as what job, and what it takes.
    fn fill_driver(&mut self, host: usize, job: Job) -> Option<(Job, Duration)> {
        let (ports, cards) = (self.ports[host].len(), self.fabric.cards_of(host));
        // In turn, so that packets leave in the order a bond has spread them.
        let first = self.machines[host].as_ref().map_or(0, |machine| machine.next_card);
        for at in (0..ports + cards).map(|at| (first + at) % (ports + cards)) {
            let link = match at.checked_sub(ports) {
                None if !self.links[self.ports[host][at].0].up => continue,
                None => LinkId(self.ports[host][at].0 as u16),
                Some(card) => self.fabric.cables[self.fabric.cards[host][card]].link,
            };
            if let Some(taken) = self.take_packet(host, job, link) {
                if let Some(machine) = &mut self.machines[host] {
                    machine.next_card = at + 1;
                }
                return Some(taken);
            }
        }
        None
    }

    fn take_packet(&mut self, host: usize, job: Job, link: LinkId) -> Option<(Job, Duration)> {
        let machine = self.machines[host].as_mut().filter(|machine| machine.has_room(link))?;
        if let Some(frame) = machine.take_beyond(link) {
            return self.hand_over(host, job, link, frame, None);
        }
        self.burst.clear();
        let before = Counts::of(&self.cx.work);
        self.hosts[host].poll_transmit(self.now, &mut self.cx, link, &mut self.burst);
        let mut taken: Option<(Job, Duration)> = None;
        let mut bytes = 0;
        for at in 0..self.burst.frames.len() {
            let frame = self.burst.frames[at];
            bytes += self.cx.frames.len(frame) as u64;
            let machine = self.machines[host].as_mut()?;
            match machine.has_room(link) {
                true => taken = self.hand_over(host, job, link, frame, taken),
                false => machine.put_beyond(link, frame),
            }
        }
        if taken.is_some() && !self.shares_bond(host, link) {
            // It is the driver's now, whose queue decides when there is room for the next.
            self.hosts[host].handle_transmitted(self.now, &mut self.cx, link, bytes);
        }
        self.note_built(host, before);
        taken
    }

    /// Hands a frame to the driver; answers in what job, and what that takes with what was `taken` before.
    fn hand_over(
        &mut self,
        host: usize,
        job: Job,
        link: LinkId,
        frame: Frame,
        taken: Option<(Job, Duration)>,
    ) -> Option<(Job, Duration)> {
        let packet = self.leaving_packet(host, link, frame);
        // What no process sends is sent as it came in: no frame that comes in puts it off.
        let own = if packet.is_of_process() { job } else { Job::Interrupt };
        let (job, cost) = taken.unwrap_or((own, Duration::ZERO));
        let machine = self.machines[host].as_mut()?;
        Some((job, cost + machine.hand_over(job, link, frame, packet)))
    }

    /// Whether a card is one of several of a bond, which has to know which of them has sent how much.
    fn shares_bond(&self, host: usize, link: LinkId) -> bool {
        let (ports, cards) = (&self.ports[host], self.fabric.cards.get(host));
        let ports = ports.iter().map(|(link, _)| LinkId(*link as u16));
        let cards = cards.into_iter().flatten().map(|cable| self.fabric.cables[*cable].link);
        let bond = self.hosts[host].interface_of(link);
        ports.chain(cards).filter(|link| self.hosts[host].interface_of(*link) == bond).count() > 1
    }

    /// The processor is done with a frame: it is the card's.
    fn give_card(&mut self, host: usize, link: LinkId, frame: Frame) {
        let index = usize::from(link.0);
        let lane = self
            .links
            .get(index)
            .and_then(|link| link.lanes.iter().position(|lane| lane.from == host));
        match lane {
            Some(lane) => {
                self.links[index].lanes[lane].handed.push_back(frame);
                self.begin_next(index, lane);
            }
            None => self.give_cable(host, link, frame),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::build;
    use trunkline_core::time::{Duration, Instant};
    use trunkline_plan::Document;

    #[test]
    fn a_driver_takes_of_a_burst_what_it_has_room_for() {
        let text = "name = \"t\"\n[[link]]\nname = \"e\"\ncount = 2\nkind = \"ethernet\"\nrate = \"1gbit\"\n\
                    [bond.b]\nends = [\"a\", \"z\"]\nmembers = [\"e*\"]\nmode = \"balance-rr\"\n\
                    [[lab.host]]\nname = \"a\"\ncpu = { base = \"modern\", driver_queue = \"2p\" }\n\
                    [[lab.flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"z\"\n\
                    app = { kind = \"bulk\", bytes = \"1MB\" }\n";
        let document = Document::parse("t.toml", text, &|_| Err(String::new())).expect("TOML");
        let plan = document.experiment().and_then(|experiment| experiment.plan(0, None));
        let mut world = build::world(&plan.unwrap_or_else(|errors| panic!("{errors}")), 1);
        world.start();
        while world.step(Instant::ZERO + Duration::from_secs(9)) {
            world.check_invariants();
        }
        world.check_frames().expect("no frame is lost or doubled");
        assert!(world.apps.iter().all(crate::apps::App::is_done));
    }
}
