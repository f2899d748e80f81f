//! Looks at the flows of a group: how much each has received, in a fixed rhythm.

use trunkline_core::time::{Duration, Instant};

/// What the looks at one group have seen.
#[derive(Clone, Debug)]
pub(crate) struct Looks {
    /// Positions of the flows.
    pub(crate) flows: Vec<usize>,
    pub(crate) interval: Duration,
    /// Bytes received by each flow, at each look in turn; the first is at the beginning.
    pub(crate) received: Vec<Vec<u64>>,
}

impl Looks {
    pub(crate) fn new(flows: Vec<usize>, interval: Duration) -> Looks {
        Looks { flows, interval, received: Vec::new() }
    }

    /// When the next look is due.
    pub(crate) fn next_at(&self) -> Instant {
        Instant::ZERO + self.interval * self.received.len() as u64
    }

    /// The rates of the flows between two looks, in bits per second; the interval begins at the first.
    pub(crate) fn rates(&self) -> impl Iterator<Item = (Instant, Vec<f64>)> {
        let seconds = self.interval.as_secs_f64();
        self.received.windows(2).enumerate().map(move |(i, pair)| {
            let rate = |(before, after): (&u64, &u64)| 8.0 * (after - before) as f64 / seconds;
            let rates = pair[0].iter().zip(&pair[1]).map(rate).collect();
            (Instant::ZERO + self.interval * i as u64, rates)
        })
    }
}
