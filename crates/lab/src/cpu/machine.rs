//! What waits for a host's processor: frames its cards have received, processes that have something to do,
//! and the driver's queues, each with room for so many frames.
//!
//! A place in a driver's queue is free again when its frame is out and the card's signal has reached the
//! driver. With room for one frame nobody prepares the next while the card sends; with room for more the
//! signal's way costs nothing.

use super::ledger::{Ledger, Packet};
use super::processor::{Processor, Rest};
use std::collections::VecDeque;
use trunkline_core::frame::{Frame, LinkId};
use trunkline_core::host::{ConnectionId, Event};
use trunkline_core::tcp;
use trunkline_core::time::{Duration, Instant};
use trunkline_plan::cpu::{CostTable, Item};

/// A frame that a card has received.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    /// When the driver hears of it.
    ready: Instant,
    link: LinkId,
    frame: Frame,
}

/// A frame that is out.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// When the driver hears of it.
    ready: Instant,
    link: LinkId,
}

/// What a machine has counted after the warm-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) interrupts: u64,
    pub(crate) wakeups: u64,
    /// Frames lost because the processor was too late.
    pub(crate) overruns: u64,
}

/// What the processor does, by what may interrupt it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Job {
    /// Serving an interrupt, and passing packets on: nothing may.
    Interrupt,
    /// Anything else: a frame that comes in may.
    Process,
}

/// One computer.
pub(crate) struct Machine {
    pub(crate) name: String,
    costs: CostTable,
    pub(crate) processor: Processor,
    job: Job,
    /// What an interrupt has put off.
    put_off: Option<Rest>,
    pub(crate) ledger: Ledger,
    arrived: VecDeque<Arrived>,
    /// Frames that were here when the interrupt came: the next one is without another.
    in_interrupt: usize,
    sent: VecDeque<Sent>,
    events: VecDeque<Event>,
    /// By link: frames the driver holds.
    queued: Vec<(LinkId, u64)>,
    /// Frames that leave for the card when an interrupt has been served, and when another job ends.
    leaving: [Vec<(LinkId, Frame)>; 2],
    /// Frames of a burst that its driver had no room for.
    beyond: VecDeque<(LinkId, Frame)>,
    /// The card that is asked first whether its driver has room.
    pub(crate) next_card: usize,
    totals: Totals,
}

impl Machine {
    /// An idle computer with these costs.
    pub(crate) fn new(name: &str, costs: CostTable, warmup: Duration) -> Machine {
        Machine {
            name: name.to_owned(),
            processor: Processor::new(Instant::ZERO + warmup),
            job: Job::Process,
            put_off: None,
            ledger: Ledger::new(costs.clone()),
            costs,
            arrived: VecDeque::new(),
            in_interrupt: 0,
            sent: VecDeque::new(),
            events: VecDeque::new(),
            queued: Vec::new(),
            leaving: [Vec::new(), Vec::new()],
            beyond: VecDeque::new(),
            next_card: 0,
            totals: Totals::default(),
        }
    }

    pub(crate) fn totals(&self) -> Totals {
        self.totals
    }

    /// Whether a card has a place for one frame more.
    pub(crate) fn has_place(&self) -> bool {
        (self.arrived.len() as u64) < self.costs.value(Item::ReceiveRing)
    }

    /// A card has received a frame; gives it back when there is no room.
    pub(crate) fn frame_arrived(
        &mut self,
        now: Instant,
        link: LinkId,
        frame: Frame,
    ) -> Result<(), Frame> {
        if !self.has_place() {
            self.totals.overruns += 1;
            return Err(frame);
        }
        let ready = self.heard(now);
        self.arrived.push_back(Arrived { ready, link, frame });
        Ok(())
    }

    /// A frame is out.
    pub(crate) fn frame_sent(&mut self, now: Instant, link: LinkId) {
        let ready = self.heard(now);
        self.sent.push_back(Sent { ready, link });
    }

    /// When the driver hears of what its card says now: a processor that does nothing takes a while.
    fn heard(&mut self, now: Instant) -> Instant {
        self.processor.advance(now);
        match self.processor.is_busy() {
            true => now,
            false => now + self.costs.time(Item::Dispatch),
        }
    }

    /// Begins what takes `cost`.
    pub(crate) fn begin(&mut self, now: Instant, job: Job, cost: Duration) {
        self.job = job;
        self.processor.start(now, cost);
    }

    /// Begins to serve an interrupt; what the processor was at has to wait.
    pub(crate) fn begin_interrupt(&mut self, now: Instant, cost: Duration) {
        let rest = self.processor.put_off();
        assert!(rest.is_none() || self.put_off.is_none(), "one job at a time is put off");
        self.put_off = self.put_off.or(rest);
        self.job = Job::Interrupt;
        self.processor.start(now, cost);
    }

    /// Lets time pass. When a job ends, its frames leave.
    pub(crate) fn advance(&mut self, now: Instant) -> Vec<(LinkId, Frame)> {
        if !self.processor.advance(now) {
            return Vec::new();
        }
        self.processor.put_off();
        std::mem::take(&mut self.leaving[self.job as usize])
    }

    /// Goes on with what an interrupt had put off. Answers whether there was something.
    pub(crate) fn go_on(&mut self) -> bool {
        let Some(rest) = self.put_off.take() else { return false };
        self.job = Job::Process;
        self.processor.resume(rest);
        true
    }

    /// Whether a frame is on its way to the driver, which none may overtake.
    pub(crate) fn is_sending(&self) -> bool {
        self.leaving.iter().any(|frames| !frames.is_empty())
    }

    /// Whether a frame that has come in is served now.
    pub(crate) fn can_be_interrupted(&self) -> bool {
        !self.processor.is_busy() || self.job == Job::Process
    }

    /// Frees the places of frames that are out, as far as the driver has heard of it.
    pub(crate) fn free_places(&mut self, now: Instant) {
        while let Some(sent) = self.sent.front().copied().filter(|sent| sent.ready <= now) {
            self.sent.pop_front();
            let queued = self.queued_mut(sent.link);
            *queued = queued.saturating_sub(1);
        }
    }

    /// The next frame received that the driver has heard of, and what the interrupt for it takes.
    pub(crate) fn next_arrived(&mut self, now: Instant) -> Option<(LinkId, Frame, Duration)> {
        let first = *self.arrived.front().filter(|first| first.ready <= now)?;
        let mut cost = Duration::ZERO;
        if self.in_interrupt == 0 {
            self.in_interrupt = self.arrived.iter().filter(|a| a.ready <= now).count();
            self.totals.interrupts += 1;
            cost = self.ledger.interrupted();
        }
        self.in_interrupt -= 1;
        self.arrived.pop_front();
        Some((first.link, first.frame, cost))
    }

    /// Takes note of what processes are to be told.
    pub(crate) fn tell(&mut self, event: Event) {
        if !self.events.contains(&event) {
            self.events.push_back(event);
        }
    }

    /// Forgets what was to be told of a connection.
    pub(crate) fn forget(&mut self, id: ConnectionId) {
        self.events.retain(|event| event.connection() != Some(id));
    }

    /// What processes are told when they run, without those that wait for more: a writer for room for a
    /// whole chunk, or for the buffer to be empty. `space` is what a connection's buffer has, and holds.
    pub(crate) fn take_events(
        &mut self,
        space: impl Fn(ConnectionId) -> Option<(usize, usize)>,
    ) -> Vec<Event> {
        let chunk = self.costs.value(Item::Chunk) as usize;
        let waits = |event: &Event| match event {
            Event::Tcp(id, tcp::Event::Writable) => {
                space(*id).is_some_and(|(room, held)| room < chunk && held > 0)
            }
            _ => false,
        };
        let (waiting, due): (VecDeque<Event>, VecDeque<Event>) =
            self.events.drain(..).partition(waits);
        self.events = waiting;
        due.into()
    }

    /// Wakes the processes that these events are for; answers what that takes.
    pub(crate) fn wake(&mut self, events: &[Event]) -> Duration {
        let mut woken: Vec<Option<ConnectionId>> = events.iter().map(Event::connection).collect();
        woken.sort_unstable();
        woken.dedup();
        self.totals.wakeups += woken.len() as u64;
        self.ledger.woken(woken.len() as u32)
    }

    /// Whether a driver's queue has room for a frame.
    pub(crate) fn has_room(&self, link: LinkId) -> bool {
        let queued = self.queued.iter().find(|(known, _)| *known == link);
        queued.is_none_or(|(_, queued)| *queued < self.costs.value(Item::DriverQueue))
    }

    /// A frame is on its way to the driver's queue, at the end of a job; answers what that takes.
    pub(crate) fn hand_over(
        &mut self,
        job: Job,
        link: LinkId,
        frame: Frame,
        packet: Packet,
    ) -> Duration {
        *self.queued_mut(link) += 1;
        self.leaving[job as usize].push((link, frame));
        self.ledger.sent(packet)
    }

    /// A frame has to wait for room with its driver.
    pub(crate) fn put_beyond(&mut self, link: LinkId, frame: Frame) {
        self.beyond.push_back((link, frame));
    }

    /// The next frame that has waited for room with a driver.
    pub(crate) fn take_beyond(&mut self, link: LinkId) -> Option<Frame> {
        let place = self.beyond.iter().position(|(known, _)| *known == link)?;
        self.beyond.remove(place).map(|(_, frame)| frame)
    }

    fn queued_mut(&mut self, link: LinkId) -> &mut u64 {
        let place = self.queued.iter().position(|(known, _)| *known == link);
        let place = place.unwrap_or_else(|| {
            self.queued.push((link, 0));
            self.queued.len() - 1
        });
        &mut self.queued[place].1
    }

    /// When something happens here by itself: the job ends, the driver hears of something.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let arrived = self.arrived.front().map(|arrived| arrived.ready);
        if let Some(ends) = self.processor.deadline() {
            let arrived = arrived.filter(|_| self.can_be_interrupted());
            return Some(arrived.map_or(ends, |ready| ready.min(ends)));
        }
        let sent = self.sent.front().map(|sent| sent.ready);
        match (arrived, sent) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Frames that wait here.
    pub(crate) fn held_frames(&self) -> usize {
        let leaving = self.leaving.iter().map(Vec::len).sum::<usize>();
        self.arrived.len() + leaving + self.beyond.len()
    }

    /// Asserts what must always hold.
    pub(crate) fn check_invariants(&self) {
        let arrived = self.arrived.len();
        assert!(arrived as u64 <= self.costs.value(Item::ReceiveRing), "{}: ring", self.name);
        assert!(self.in_interrupt <= arrived, "{}: an interrupt for what is not there", self.name);
        let most = self.costs.value(Item::DriverQueue);
        let fits = self.queued.iter().all(|(_, queued)| *queued <= most);
        assert!(fits, "{}: {:?} of {most} frames with the driver", self.name, self.queued);
        self.processor.check_invariants();
        self.ledger.check_invariants();
    }
}
