//! The engine: hosts, links and what links share on one virtual time line.
//!
//! Every source of events (a host's timers, a channel, a medium, an application, a fault) has one
//! deadline. The loop takes the earliest, ties in the order they were scheduled, lets it happen and
//! serves the hosts it touched until nothing moves any more.

mod cables;
mod jacks;
mod lane;
mod links;
mod machine;
mod segments;

use crate::apps::{App, Call};
use crate::cpu::Machine;
use crate::fabric::Fabric;
use crate::look::Looks;
use crate::observe::Observer;
use crate::tap::Tap;
use trunkline_core::Context;
use trunkline_core::deadlines::Deadlines;
use trunkline_core::frame::{Burst, Frame, LinkChange, LinkId};
use trunkline_core::host::{Event, Host};
use trunkline_core::link::channel::{Offered, Started};
use trunkline_core::link::{Medium, Outcome};
use trunkline_core::time::{Duration, Instant};
use trunkline_plan::model::FaultKind;

pub(crate) use lane::Lane;
pub(crate) use links::Links;

/// Nobody has a connection yet.
const NOBODY: u32 = u32::MAX;

/// Events between two reports of progress.
const STEPS_PER_REPORT: u32 = 16_384;

/// A link: a lane up and a lane down.
pub(crate) struct Link {
    pub(crate) lanes: [Lane; 2],
    /// What it shares with other links.
    pub(crate) medium: Option<usize>,
    /// Whether its ends see a carrier.
    pub(crate) up: bool,
    /// Whether it loses everything while they do.
    pub(crate) dark: bool,
    /// Bytes of our header in front of each packet.
    pub(crate) skip: usize,
}

/// A link that goes down, and comes back.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) link: usize,
    pub(crate) kind: FaultKind,
    pub(crate) down_at: Instant,
    pub(crate) up_at: Option<Instant>,
}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Every flow had finished.
    Complete,
    /// The plan's duration was over.
    Duration,
}

/// A whole simulated network.
pub struct World {
    pub(crate) now: Instant,
    pub(crate) cx: Context,
    pub(crate) hosts: Vec<Host>,
    pub(crate) links: Links,
    pub(crate) media: Vec<Medium>,
    pub(crate) apps: Vec<App>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) fabric: Fabric,
    pub(crate) looks: Vec<Looks>,
    pub(crate) observer: Observer,
    /// Per host its processor, if what it does takes time.
    machines: Vec<Option<Box<Machine>>>,
    /// Whether there is such a host.
    is_slow: bool,
    /// Who listens in on a host, if anybody does.
    pub(crate) tap: Option<Tap>,
    /// The lanes of each host that are paced.
    paced: Vec<Vec<(usize, usize)>>,
    /// Events handled and frames serialised, for progress and speed.
    pub(crate) packet_hops: u64,
    /// Per host, the lanes it sends into: link and direction.
    ports: Vec<Vec<(usize, usize)>>,
    sources: Deadlines,
    pub(crate) burst: Burst,
    /// Per host and connection the application that takes its events.
    owners: Vec<Vec<u32>>,
}

/// Who a deadline belongs to; packed into the number [`Deadlines`] wants.
#[derive(Clone, Copy)]
enum Source {
    Host(usize),
    Lane(usize, usize),
    Medium(usize),
    App(usize),
    Fault(usize),
    Cable(usize),
    Arrival(usize),
    Looks(usize),
}

impl Source {
    const KINDS: u32 = 8;

    fn pack(self) -> u32 {
        let (kind, index) = match self {
            Source::Host(i) => (0, i),
            Source::Lane(link, lane) => (1, 2 * link + lane),
            Source::Medium(i) => (2, i),
            Source::App(i) => (3, i),
            Source::Fault(i) => (4, i),
            Source::Cable(i) => (5, i),
            Source::Arrival(i) => (6, i),
            Source::Looks(i) => (7, i),
        };
        index as u32 * Self::KINDS + kind
    }

    fn unpack(number: u32) -> Source {
        let index = (number / Self::KINDS) as usize;
        match number % Self::KINDS {
            0 => Source::Host(index),
            1 => Source::Lane(index / 2, index % 2),
            2 => Source::Medium(index),
            3 => Source::App(index),
            4 => Source::Fault(index),
            5 => Source::Cable(index),
            6 => Source::Arrival(index),
            _ => Source::Looks(index),
        }
    }
}

impl World {
    /// Frames that a transmitter has begun to serialise: the packet-hops of the run.
    pub fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    pub(crate) fn new(hosts: Vec<Host>, links: Links, media: Vec<Medium>, cx: Context) -> World {
        let mut paced = vec![Vec::new(); hosts.len()];
        for (index, link) in links.iter() {
            for (lane, this) in link.lanes.iter().enumerate().filter(|(_, l)| l.pacer.is_some()) {
                paced[this.from].push((index, lane));
            }
        }
        World {
            paced,
            machines: hosts.iter().map(|_| None).collect(),
            is_slow: false,
            tap: None,
            now: Instant::ZERO,
            cx,
            ports: (0..hosts.len()).map(|host| ports(&links, host)).collect(),
            owners: vec![Vec::new(); hosts.len()],
            hosts,
            links,
            media,
            apps: Vec::new(),
            faults: Vec::new(),
            fabric: Fabric::default(),
            looks: Vec::new(),
            observer: Observer::default(),
            packet_hops: 0,
            sources: Deadlines::new(),
            burst: Burst::new(),
        }
    }

    /// Runs until every flow is done, or for `duration` where one has no end of its own.
    pub fn run(&mut self, duration: Duration) -> Ended {
        self.run_reporting(duration, &mut |_| ())
    }

    /// [`World::run`] that tells now and then which share of it is done.
    pub fn run_reporting(&mut self, duration: Duration, report: &mut dyn FnMut(f64)) -> Ended {
        self.start();
        let end = Instant::ZERO + duration;
        let mut until_report = STEPS_PER_REPORT;
        while self.step(end) {
            until_report -= 1;
            if until_report == 0 {
                until_report = STEPS_PER_REPORT;
                report(self.share_done(duration));
            }
            if self.apps.iter().all(|app| app.is_finite() && app.is_done()) {
                return Ended::Complete;
            }
        }
        Ended::Duration
    }

    /// The share of the duration that is over, or of the slowest flow where all have an end.
    fn share_done(&self, duration: Duration) -> f64 {
        let time = self.now.as_secs_f64() / duration.as_secs_f64();
        let flows = self.apps.iter().map(App::share_done);
        let slowest = flows.map(|share| share.unwrap_or(0.0)).reduce(f64::min);
        time.max(slowest.unwrap_or(0.0)).clamp(0.0, 1.0)
    }

    /// Arms everything that has a deadline from the start.
    pub fn start(&mut self) {
        for i in 0..self.apps.len() {
            self.arm(Source::App(i), self.apps[i].poll_timeout());
        }
        for i in 0..self.faults.len() {
            self.arm(Source::Fault(i), Some(self.faults[i].down_at));
        }
        for i in 0..self.media.len() {
            if let Some(at) = self.media[i].next_finish() {
                self.arm(Source::Medium(i), Some(at));
            }
        }
        for i in 0..self.looks.len() {
            self.arm(Source::Looks(i), Some(self.looks[i].next_at()));
        }
        for host in 0..self.hosts.len() {
            self.serve(host);
        }
    }

    /// Lets the next event before `end` happen. Answers whether there was one.
    pub fn step(&mut self, end: Instant) -> bool {
        let Some((at, source)) = self.sources.pop(end) else {
            self.now = end;
            return false;
        };
        self.now = at;
        match Source::unpack(source) {
            Source::Host(host) if self.machines[host].is_some() => self.turn(host),
            Source::Host(host) => {
                if !self.paced[host].is_empty() {
                    self.due(host);
                }
                self.hosts[host].handle_timeout(at, &mut self.cx);
                self.serve(host);
            }
            Source::Lane(link, lane) => self.lane_due(link, lane),
            Source::Medium(medium) => self.medium_due(medium),
            Source::App(app) => self.app_due(app),
            Source::Fault(fault) => self.fault_due(fault),
            Source::Cable(cable) => self.cable_finished(cable),
            Source::Arrival(cable) => self.cable_arrival(cable),
            Source::Looks(group) => self.look(group),
        }
        true
    }

    fn app_due(&mut self, app: usize) {
        let mut call = Call { now: self.now, cx: &mut self.cx, hosts: &mut self.hosts };
        self.apps[app].handle_timeout(&mut call);
        self.arm(Source::App(app), self.apps[app].poll_timeout());
        for index in 0..self.apps[app].hosts().len() {
            self.serve(self.apps[app].hosts()[index]);
        }
    }

    /// Notes what the flows of a group have received.
    fn look(&mut self, group: usize) {
        let looks = &mut self.looks[group];
        let received = looks.flows.iter().map(|flow| self.apps[*flow].received()).collect();
        looks.received.push(received);
        let next = looks.next_at();
        self.arm(Source::Looks(group), Some(next));
    }

    fn arm(&mut self, source: Source, at: Option<Instant>) {
        self.sources.set(source.pack(), at);
    }

    /// A lane's transmitter has finished, or its pacer, or its wire has something to deliver.
    fn lane_due(&mut self, link: usize, lane: usize) {
        let this = &self.links[link].lanes[lane];
        let (from, is_paced) = (this.from, this.pacer.is_some());
        if this.counted_out().is_some_and(|at| at <= self.now) {
            self.serve(from);
        }
        let finishes = self.links[link].lanes[lane].channel.finishes();
        let has_finished = finishes.is_some_and(|at| at <= self.now);
        if has_finished {
            self.finish(link, lane);
        }
        let this = &mut self.links[link].lanes[lane];
        let mut is_armed = has_finished && !is_paced && this.ring.is_none();
        while let Some(frame) = self.links[link].lanes[lane].poll_arrival(self.now, &mut self.cx) {
            self.arrived(link, lane, frame);
            is_armed = false;
        }
        if !is_armed {
            self.arm_lane(link, lane);
        }
    }

    /// A frame has arrived at the end of a lane.
    fn arrived(&mut self, link: usize, lane: usize, frame: Frame) {
        let this = &self.links[link];
        let (to, id) = (this.lanes[lane].to, LinkId(link as u16));
        self.observer.arrived(&self.cx, frame, this.skip);
        if let Some(tap) = &mut self.tap {
            tap.arrived(self.now, to, id, self.cx.frames.bytes(frame));
        }
        if self.machines[to].is_some() {
            return self.machine_received(to, id, frame);
        }
        self.hosts[to].handle_frame(self.now, &mut self.cx, id, frame);
        self.serve(to);
    }

    fn medium_due(&mut self, medium: usize) {
        while let Some((slot, outcome)) = self.media[medium].poll_finished(self.now) {
            if let Some(card) = self.card_of(slot) {
                self.card_finished(card, outcome);
                continue;
            }
            let (link, lane) = (usize::from(slot) / 2, usize::from(slot) % 2);
            if outcome == Outcome::GivenUp {
                self.links[link].lanes[lane].channel.give_up();
            }
            self.finish(link, lane);
        }
        while let Some((slot, frame)) = self.media[medium].poll_stray(self.now, &mut self.cx) {
            let (link, lane) = (usize::from(slot) / 2, usize::from(slot) % 2);
            let channel = &mut self.links[link].lanes[lane].channel;
            channel.overhear(self.now, &mut self.cx, frame);
            self.arm_lane(link, lane);
        }
        let next = self.media[medium].next_finish();
        self.arm(Source::Medium(medium), next);
    }

    /// A frame has left the transmitter: begin the next, and tell a sender that nothing else tells.
    fn finish(&mut self, link: usize, lane: usize) {
        let this = &mut self.links[link].lanes[lane];
        let bytes = this.channel.finish(self.now, &mut self.cx);
        if this.has_queue()
            && let Some(started) = this.channel.resume(self.now, &mut self.cx)
        {
            self.started(link, lane, started);
        }
        let this = &self.links[link].lanes[lane];
        let (from, is_paced) = (this.from, this.pacer.is_some());
        self.begin_next(link, lane);
        if self.machines[from].is_some() {
            self.machine_sent(from, LinkId(link as u16), bytes);
        } else if !is_paced {
            self.hosts[from].handle_transmitted(self.now, &mut self.cx, LinkId(link as u16), bytes);
            self.serve(from);
        }
        let this = &self.links[link];
        let arms_itself = this.medium.is_none() && !is_paced;
        if !arms_itself || this.lanes[lane].channel.idle() {
            self.arm_lane(link, lane);
        }
    }

    /// Gives the channel what it can take of the frames handed over.
    fn begin_next(&mut self, link: usize, lane: usize) {
        let this = &mut self.links[link].lanes[lane];
        if this.has_queue() {
            while let Some(frame) = self.links[link].lanes[lane].handed.pop_front() {
                let this = &mut self.links[link].lanes[lane];
                if let Offered::Started(started) = this.channel.offer(self.now, &mut self.cx, frame)
                {
                    self.started(link, lane, started);
                }
            }
            return self.arm_lane(link, lane);
        }
        if this.channel.idle()
            && let Some(frame) = this.handed.pop_front()
        {
            self.begin(link, lane, frame);
        }
    }

    /// Starts a frame on a channel that is idle.
    fn begin(&mut self, link: usize, lane: usize, frame: Frame) {
        let this = &mut self.links[link].lanes[lane];
        let started = this.channel.start(self.now, &mut self.cx, frame);
        if self.is_slow {
            let ends = [this.from, this.to].map(Some);
            self.cards_move(ends, self.cx.frames.len(frame) as u64, started);
        }
        self.started(link, lane, started);
        if matches!(started, Started::At(_)) {
            self.arm_lane(link, lane);
        }
    }

    /// A channel has begun with a frame; where a medium decides when that ends, it has to know.
    fn started(&mut self, link: usize, lane: usize, started: Started) {
        self.packet_hops += 1;
        if let (Started::OnChip { bits, rate }, Some(medium)) = (started, self.links[link].medium) {
            self.media[medium].start(self.now, (2 * link + lane) as u16, bits, rate);
            let next = self.media[medium].next_finish();
            self.arm(Source::Medium(medium), next);
        }
    }

    fn arm_lane(&mut self, link: usize, lane: usize) {
        let next = self.links[link].lanes[lane].next_timeout();
        // A pacer that makes up for idle time is done in the past.
        self.arm(Source::Lane(link, lane), next.map(|at| at.max(self.now)));
    }

    /// What is due at a host with paced links, in the order of a turn on a real wire: what has been counted
    /// out, then its timers.
    fn due(&mut self, host: usize) {
        for index in 0..self.paced[host].len() {
            let (link, lane) = self.paced[host][index];
            let pacer = self.links[link].lanes[lane].pacer.as_mut();
            if let Some(bytes) = pacer.and_then(|pacer| pacer.finish(self.now)) {
                let id = LinkId(link as u16);
                self.hosts[host].handle_transmitted(self.now, &mut self.cx, id, bytes);
                self.arm_lane(link, lane);
            }
        }
        self.hosts[host].handle_timeout(self.now, &mut self.cx);
    }

    /// Serves a host: its events to the applications, its frames to the links that are free, one burst
    /// a link a pass, until a whole pass is empty.
    pub(crate) fn serve(&mut self, host: usize) {
        if self.machines[host].is_some() {
            return self.turn(host);
        }
        if !self.paced[host].is_empty() {
            self.due(host);
        }
        loop {
            while let Some(event) = self.hosts[host].poll_event() {
                self.dispatch(host, &event);
            }
            let mut moved = false;
            for at in 0..self.ports[host].len() {
                let (link, lane) = self.ports[host][at];
                let this = &self.links[link];
                if this.up && this.lanes[lane].is_free() {
                    moved |= self.serve_lane(host, link, lane);
                }
            }
            for card in 0..self.fabric.cards_of(host) {
                moved |= self.serve_card(host, card);
            }
            if !moved {
                break;
            }
        }
        let next = self.hosts[host].wake_at();
        self.arm(Source::Host(host), next);
    }

    /// Asks a host for a burst on a lane that can take one.
    fn serve_lane(&mut self, host: usize, link: usize, lane: usize) -> bool {
        self.burst.clear();
        let id = LinkId(link as u16);
        self.hosts[host].poll_transmit(self.now, &mut self.cx, id, &mut self.burst);
        let Some((&first, rest)) = self.burst.frames.split_first() else {
            return false;
        };
        if let Some(tap) = &mut self.tap {
            let frames = self.burst.frames.iter().map(|frame| self.cx.frames.bytes(*frame));
            tap.handed_out(self.now, host, id, frames);
        }
        let this = &mut self.links[link].lanes[lane];
        if let Some(pacer) = &mut this.pacer {
            pacer.start(self.now, self.burst.frames.iter().map(|frame| self.cx.frames.len(*frame)));
            this.handed.extend(&self.burst.frames);
            self.begin_next(link, lane);
            self.arm_lane(link, lane);
        } else {
            if !rest.is_empty() {
                this.handed.extend(rest);
            }
            self.begin(link, lane, first);
        }
        true
    }

    /// Gives an event to the application it is meant for.
    #[inline]
    fn dispatch(&mut self, host: usize, event: &Event) {
        let connection = match event {
            Event::Tcp(id, _) => Some(id.index()),
            _ => None,
        };
        let owner = connection.and_then(|index| self.owners[host].get(index)).copied();
        if let Some(owner) = owner.filter(|owner| *owner != NOBODY)
            && self.offer(owner as usize, host, event)
        {
            return;
        }
        let taker = (0..self.apps.len()).find(|app| self.offer(*app, host, event));
        if let (Some(index), Some(app)) = (connection, taker) {
            let owners = &mut self.owners[host];
            if index >= owners.len() {
                owners.resize(index + 1, NOBODY);
            }
            owners[index] = app as u32;
        }
    }

    /// Offers an event to an application. Answers whether it was meant for it.
    #[inline]
    fn offer(&mut self, app: usize, host: usize, event: &Event) -> bool {
        let mut call = Call { now: self.now, cx: &mut self.cx, hosts: &mut self.hosts };
        let is_taken = self.apps[app].handle_event(&mut call, host, event);
        if is_taken {
            let next = self.apps[app].poll_timeout();
            self.arm(Source::App(app), next);
        }
        is_taken
    }

    /// A fault begins or ends. Faults of one link never overlap: the plan sees to that.
    fn fault_due(&mut self, fault: usize) {
        let Fault { link, kind, up_at, .. } = self.faults[fault];
        if self.fabric.jack(link).is_some() {
            return self.jack_fault_due(fault);
        }
        let Link { up, dark, .. } = self.links[link];
        match (kind, up, dark) {
            (FaultKind::Carrier, true, _) => self.cut(link),
            (FaultKind::Blackhole, _, false) => self.darken(link),
            (FaultKind::Carrier, false, _) => return self.restore(link),
            (FaultKind::Blackhole, _, true) => return self.lighten(link),
        }
        self.arm(Source::Fault(fault), up_at);
    }

    /// Loses what is sent from now on and what is on the wires, and tells nobody.
    pub(crate) fn darken(&mut self, link: usize) {
        self.links[link].dark = true;
        self.change_channels(link, LinkChange::Down);
    }

    /// Ends what [`World::darken`] began.
    pub(crate) fn lighten(&mut self, link: usize) {
        self.links[link].dark = false;
        if self.links[link].up {
            self.change_channels(link, LinkChange::Up);
        }
    }

    fn change_channels(&mut self, link: usize, change: LinkChange) {
        for lane in 0..2 {
            let channel = &mut self.links[link].lanes[lane].channel;
            channel.handle_link(self.now, &mut self.cx, change);
            self.arm_lane(link, lane);
        }
    }

    /// Cuts a link: what its transmitters send from now on and what is on its wires is lost, and both
    /// ends see no carrier.
    pub(crate) fn cut(&mut self, link: usize) {
        self.links[link].up = false;
        self.change_channels(link, LinkChange::Down);
        self.tell(link, LinkChange::Down);
    }

    /// Brings a link back. Its connection manager enslaves it again where the bond has buried it.
    pub(crate) fn restore(&mut self, link: usize) {
        self.links[link].up = true;
        if !self.links[link].dark {
            self.change_channels(link, LinkChange::Up);
        }
        self.tell(link, LinkChange::Up);
        self.enslave(link);
        for lane in 0..2 {
            self.serve(self.links[link].lanes[lane].from);
        }
    }

    /// Enslaves a link at both its ends where it is no member. A bond that is full refuses, as it would
    /// refuse the manager's command; the link then stays outside at both ends, because what one end
    /// sends on it the other would not listen to.
    pub(crate) fn enslave(&mut self, link: usize) {
        let id = LinkId(link as u16);
        let mut is_refused = false;
        for lane in &self.links[link].lanes {
            let host = &mut self.hosts[lane.from];
            host.with_bond(self.now, &mut self.cx, lane.interface, |bond, cx| {
                if bond.member(id).is_none() {
                    is_refused |= bond.enslave(self.now, cx, lane.member).is_err();
                }
            });
        }
        for lane in self.links[link].lanes.iter().filter(|_| is_refused) {
            let host = &mut self.hosts[lane.from];
            host.with_bond(self.now, &mut self.cx, lane.interface, |bond, cx| {
                // It is no member at the end that refused it.
                let _no_member = bond.emancipate(self.now, cx, id);
            });
        }
    }

    fn tell(&mut self, link: usize, change: LinkChange) {
        for lane in 0..2 {
            if let Some(pacer) = &mut self.links[link].lanes[lane].pacer {
                pacer.reset();
                self.arm_lane(link, lane);
            }
        }
        for lane in 0..2 {
            let from = self.links[link].lanes[lane].from;
            self.hosts[from].handle_link(self.now, &mut self.cx, LinkId(link as u16), change);
            self.serve(from);
        }
    }

    /// Checks that every frame is somewhere: none leaked, none in two places.
    pub fn check_frames(&self) -> Result<(), String> {
        let lanes = self.links.iter().flat_map(|(_, link)| &link.lanes);
        let on_lanes: usize = lanes.map(Lane::held_frames).sum();
        let on_links = on_lanes + self.fabric.held_frames();
        let at_processors = self.machines.iter().flatten().map(|m| m.held_frames());
        let in_hosts = self.hosts.iter().map(Host::held_frames).chain(at_processors).sum::<usize>();
        let live = self.cx.frames.live();
        match live == on_links + in_hosts {
            true => Ok(()),
            false => {
                Err(format!("{live} frames live, {on_links} on links and {in_hosts} in hosts"))
            }
        }
    }

    /// Asserts what must always hold.
    pub fn check_invariants(&self) {
        (0..self.hosts.len()).for_each(|host| self.check_host(host));
    }

    /// Asserts what must always hold of one host, and of its processor.
    pub(crate) fn check_host(&self, host: usize) {
        self.hosts[host].check_invariants();
        if let Some(machine) = &self.machines[host] {
            machine.check_invariants();
        }
    }
}

/// The lanes that a host sends into.
fn ports(links: &Links, host: usize) -> Vec<(usize, usize)> {
    let lane = |link: &Link| link.lanes.iter().position(|lane| lane.from == host);
    links.iter().filter_map(|(at, link)| Some((at, lane(link)?))).collect()
}
