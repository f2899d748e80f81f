//! What waits in a bond before its scheduler.
//!
//! A drop-tail queue is short and refuses what is beyond; whoever sends asks first whether it has room.
//! FQ-CoDel (RFC 8290) is for packets of strangers who do not ask: it takes every packet and keeps the
//! wait short by telling senders about congestion. Its memory is relieved at the fattest flow, so it
//! always has room. Were its limit a reason to stop reading, packets of all flows would queue and be lost
//! in front of it instead, where nobody tells them apart.
//!
//! CoDel's interval is the longest usual round trip of those who send (RFC 8289, 4.3). The one it is set up with
//! stands for what lies beyond the bond; the round trip of the bond's own slowest path is added to it, and the
//! target stays the same share of it. Else one flow over long paths would be told too early to fill them.
//!
//! A scheduler looks at the first packet before it decides. FQ-CoDel has none until it has judged one, so
//! the first is taken out and kept in front, where packets that come back from a member also go.

use super::member::Waiting;
use crate::queue::codel::CodelConfig;
use crate::queue::{DropTail, FqCodel, FqCodelConfig, Limit};
use crate::time::{Duration, Instant};

/// How packets wait before the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IngressConfig {
    /// First in, first out, up to this limit in bytes or packets.
    DropTail(Limit),
    /// A queue per flow, with a bound on the wait.
    FqCodel(FqCodelConfig),
}

/// The packets that wait.
#[derive(Clone, Debug)]
pub(super) enum Ingress {
    DropTail(DropTail<Waiting>),
    FqCodel {
        front: DropTail<Waiting>,
        queues: FqCodel<Waiting>,
        /// Without the paths.
        usual: CodelConfig,
    },
}

impl Ingress {
    pub(super) fn new(config: IngressConfig) -> Ingress {
        match config {
            IngressConfig::DropTail(limit) => Ingress::DropTail(DropTail::new(limit)),
            IngressConfig::FqCodel(config) => Ingress::FqCodel {
                // What the members held, and one more.
                front: DropTail::new(Limit::Packets(u32::MAX)),
                queues: FqCodel::new(config),
                usual: config.codel,
            },
        }
    }

    /// Learns the round trip of the bond's slowest path.
    pub(super) fn set_round_trip(&mut self, trip: Duration) {
        if let Ingress::FqCodel { queues, usual, .. } = self {
            let interval = usual.interval + trip;
            let share = u128::from(usual.target.as_nanos()) * u128::from(interval.as_nanos());
            let target = share / u128::from(usual.interval.as_nanos().max(1));
            let target = Duration::from_nanos(u64::try_from(target).unwrap_or(u64::MAX));
            queues.set_codel(CodelConfig { target, interval, ..*usual });
        }
    }

    /// Whether a packet of `len` bytes is better sent now than later.
    pub(super) fn has_room(&self, len: u32) -> bool {
        match self {
            Ingress::DropTail(queue) => queue.fits(len),
            Ingress::FqCodel { .. } => true,
        }
    }

    /// Takes in a packet. What has to go for it, perhaps the packet itself, is given to `overflow`.
    pub(super) fn push(
        &mut self,
        now: Instant,
        waiting: Waiting,
        len: u32,
        mut overflow: impl FnMut(Waiting),
    ) {
        match self {
            Ingress::DropTail(queue) => {
                if let Err(refused) = queue.push(waiting, len) {
                    overflow(refused);
                }
            }
            Ingress::FqCodel { queues, .. } => {
                queues.push(now, waiting, len, waiting.flow, overflow)
            }
        }
    }

    /// Puts a packet that was here before back in front, limit or not.
    pub(super) fn push_front(&mut self, waiting: Waiting, len: u32) {
        match self {
            Ingress::DropTail(front) | Ingress::FqCodel { front, .. } => {
                front.push_front(waiting, len);
            }
        }
    }

    /// The packet that is next, and its length. `signal` gets each that shall tell its sender about
    /// congestion: it gives it back marked, or keeps it.
    #[inline]
    pub(super) fn first(
        &mut self,
        now: Instant,
        signal: impl FnMut(Waiting) -> Option<Waiting>,
    ) -> Option<(Waiting, u32)> {
        match self {
            Ingress::DropTail(queue) => queue.peek().copied(),
            Ingress::FqCodel { front, queues, .. } => {
                if front.is_empty() {
                    let (waiting, len) = queues.pop(now, signal)?;
                    front.push_front(waiting, len);
                }
                front.peek().copied()
            }
        }
    }

    /// Takes the packet that [`Ingress::first`] has told of.
    pub(super) fn take_first(&mut self) -> Option<(Waiting, u32)> {
        match self {
            Ingress::DropTail(front) | Ingress::FqCodel { front, .. } => front.pop(),
        }
    }

    /// Takes a packet of any flow without judging it.
    pub(super) fn take_any(&mut self) -> Option<Waiting> {
        let taken = match self {
            Ingress::DropTail(queue) => queue.pop(),
            Ingress::FqCodel { front, queues, .. } => front.pop().or_else(|| queues.take_any()),
        };
        taken.map(|(waiting, _)| waiting)
    }

    /// Packets waiting.
    pub(super) fn len(&self) -> usize {
        match self {
            Ingress::DropTail(queue) => queue.len(),
            Ingress::FqCodel { front, queues, .. } => front.len() + queues.len(),
        }
    }

    /// Bytes waiting.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Ingress::DropTail(queue) => queue.bytes(),
            Ingress::FqCodel { front, queues, .. } => front.bytes() + queues.bytes(),
        }
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every packet and its length, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Waiting, u32)> {
        let (front, queues) = match self {
            Ingress::DropTail(front) => (front, None),
            Ingress::FqCodel { front, queues, .. } => (front, Some(queues)),
        };
        front.iter().copied().chain(queues.into_iter().flat_map(FqCodel::iter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_stretch_interval_and_target_alike() {
        let config = FqCodelConfig::new(1456);
        let mut ingress = Ingress::new(IngressConfig::FqCodel(config));
        for (trip, target, interval) in
            [(0, 5_000, 100_000), (120, 11_000, 220_000), (0, 5_000, 100_000)]
        {
            ingress.set_round_trip(Duration::from_millis(trip));
            let Ingress::FqCodel { queues, .. } = &ingress else { panic!("it was FQ-CoDel") };
            let codel = queues.config().codel;
            assert_eq!(codel.target, Duration::from_micros(target));
            assert_eq!(codel.interval, Duration::from_micros(interval));
        }
    }
}
