//! A processor and the memory bus it shares with a card.
//!
//! The processor has one job at a time. While the card moves a frame it takes a share of the bus, and the
//! processor gets on by so much less; without a job that costs nobody anything. So a card that always sends
//! makes its processor slower, and one whose processor waits for it does not.

use trunkline_core::time::{Duration, Instant};

/// Parts that a share of the bus is counted in.
const WHOLE: u64 = 1_000_000;

/// The card moves a frame.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    until: Instant,
    /// Its share of the bus, in millionths.
    share: u64,
}

/// What is left of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rest(u64);

/// A processor.
#[derive(Clone, Debug)]
pub(crate) struct Processor {
    /// What is left of the job, in millionths of nanoseconds; none when it is idle.
    left: Option<u64>,
    transfers: Vec<Transfer>,
    /// Until when all this is up to date.
    clock: Instant,
    /// From when on time is counted.
    counted_from: Instant,
    busy: Duration,
    bus: Duration,
}

impl Processor {
    /// An idle one. What it does before `counted_from` is in no sum.
    pub(crate) fn new(counted_from: Instant) -> Processor {
        Processor {
            left: None,
            transfers: Vec::new(),
            clock: Instant::ZERO,
            counted_from,
            busy: Duration::ZERO,
            bus: Duration::ZERO,
        }
    }

    /// Whether it has a job.
    pub(crate) fn is_busy(&self) -> bool {
        self.left.is_some()
    }

    /// Begins a job that takes `cost` on a free bus.
    ///
    /// # Panics
    /// When it has one.
    pub(crate) fn start(&mut self, now: Instant, cost: Duration) {
        self.advance(now);
        assert!(self.left.is_none(), "the processor has a job");
        self.left = Some(cost.as_nanos().saturating_mul(WHOLE));
    }

    /// The card moves a frame for a while, and needs the bus for `need` of it.
    pub(crate) fn transfer(&mut self, now: Instant, lasts: Duration, need: Duration) {
        self.advance(now);
        if lasts.is_zero() || need.is_zero() {
            return;
        }
        let share = u128::from(need.as_nanos()) * u128::from(WHOLE) / u128::from(lasts.as_nanos());
        let share = u64::try_from(share).unwrap_or(WHOLE).min(WHOLE);
        let until = now + lasts;
        let place = self.transfers.partition_point(|other| other.until <= until);
        self.transfers.insert(place, Transfer { until, share });
    }

    /// Lets time pass. Answers whether the job has ended.
    pub(crate) fn advance(&mut self, now: Instant) -> bool {
        while self.clock < now {
            let end = self.transfers.first().map_or(now, |first| first.until.min(now));
            self.pass(end);
        }
        self.left == Some(0)
    }

    /// Gives the job up, and with it what is left of it.
    pub(crate) fn put_off(&mut self) -> Option<Rest> {
        self.left.take().map(Rest)
    }

    /// Goes on with a job that was put off.
    pub(crate) fn resume(&mut self, rest: Rest) {
        self.left = Some(rest.0);
    }

    /// When the job ends if no other frame is moved until then.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let mut left = self.left?;
        let mut at = self.clock;
        let mut taken = self.taken();
        for transfer in &self.transfers {
            let span = (transfer.until - at).as_nanos();
            let speed = WHOLE.saturating_sub(taken);
            if left <= span.saturating_mul(speed) {
                break;
            }
            left -= span.saturating_mul(speed);
            at = transfer.until;
            taken -= transfer.share;
        }
        Some(at + Duration::from_nanos(left.div_ceil(WHOLE.saturating_sub(taken).max(1))))
    }

    /// Time it had a job, the bus it waited for included.
    pub(crate) fn busy(&self) -> Duration {
        self.busy
    }

    /// Time its card had the bus.
    pub(crate) fn bus(&self) -> Duration {
        self.bus
    }

    /// Asserts what must always hold.
    pub(crate) fn check_invariants(&self) {
        let span = self.clock.max(self.counted_from) - self.counted_from;
        assert!(self.busy <= span, "busy for {} of {span}", self.busy);
        assert!(self.bus <= span, "the bus is taken for {} of {span}", self.bus);
    }

    fn taken(&self) -> u64 {
        self.transfers.iter().map(|transfer| transfer.share).sum()
    }

    /// Lets the time until `end` pass, within which no transfer ends.
    fn pass(&mut self, end: Instant) {
        let span = (end - self.clock).as_nanos();
        let counted = end.max(self.counted_from) - self.clock.max(self.counted_from);
        let taken = self.taken();
        if let Some(left) = &mut self.left {
            let before = *left;
            let speed = WHOLE.saturating_sub(taken);
            *left = before.saturating_sub(span.saturating_mul(speed));
            self.busy += counted;
        }
        let share = u128::from(counted.as_nanos()) * u128::from(taken.min(WHOLE));
        self.bus += Duration::from_nanos((share / u128::from(WHOLE)) as u64);
        self.clock = end;
        self.transfers.retain(|transfer| transfer.until > end);
    }
}
