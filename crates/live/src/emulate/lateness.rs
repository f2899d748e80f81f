//! How late frames left: a histogram with steps of at most 1/16, and the exact maximum.

use trunkline_core::time::Duration;

/// Steps per doubling.
const STEPS: u64 = 16;
/// Doublings above the first: up to 2^40 ns, 18 minutes.
const DOUBLINGS: u64 = 36;
const BUCKETS: usize = (STEPS * (DOUBLINGS + 1)) as usize;

/// The distribution of how late frames left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lateness {
    counts: Vec<u64>,
    frames: u64,
    max: Duration,
}

impl Default for Lateness {
    fn default() -> Self {
        Lateness { counts: vec![0; BUCKETS], frames: 0, max: Duration::ZERO }
    }
}

impl Lateness {
    /// Notes one frame that left this much too late.
    pub fn record(&mut self, late: Duration) {
        self.counts[bucket(late.as_nanos())] += 1;
        self.frames += 1;
        self.max = self.max.max(late);
    }

    /// Frames noted.
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// The latest frame.
    pub const fn max(&self) -> Duration {
        self.max
    }

    /// The lateness that `per_mille` of the frames did not exceed, rounded up to a step; zero when
    /// there are none.
    pub fn quantile(&self, per_mille: u64) -> Duration {
        let rank = (self.frames * per_mille).div_ceil(1000);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank && seen > 0 {
                return Duration::from_nanos(upper_edge(index as u64)).min(self.max);
            }
        }
        self.max
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        self.counts.fill(0);
        self.frames = 0;
        self.max = Duration::ZERO;
    }
}

fn bucket(nanos: u64) -> usize {
    if nanos < STEPS {
        return nanos as usize;
    }
    let doubling = u64::from(nanos.ilog2() - STEPS.ilog2());
    let step = (nanos >> doubling) - STEPS;
    ((doubling + 1) * STEPS + step).min(BUCKETS as u64 - 1) as usize
}

/// The largest value of a bucket.
fn upper_edge(index: u64) -> u64 {
    if index < STEPS {
        return index;
    }
    let doubling = index / STEPS - 1;
    ((STEPS + index % STEPS + 1) << doubling) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lies_in_its_bucket_within_a_sixteenth() {
        for nanos in (0..60).map(|n| (1u64 << (n % 40)) + n * 977) {
            let index = bucket(nanos);
            let edge = upper_edge(index as u64);
            assert!(edge >= nanos && edge - nanos <= nanos / STEPS + 1, "{nanos} {edge}");
            assert!(index == 0 || upper_edge(index as u64 - 1) < nanos);
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_rise_and_end_at_the_maximum() {
        let mut late = Lateness::default();
        assert_eq!(late.quantile(990), Duration::ZERO);
        for us in 1..=1000 {
            late.record(Duration::from_micros(us));
        }
        let near = |q: Duration, us: u64| {
            let got = q.as_micros();
            assert!((us..=us + us / 15).contains(&got), "{got} for {us}");
        };
        near(late.quantile(500), 500);
        near(late.quantile(990), 990);
        assert_eq!(late.quantile(1000), Duration::from_millis(1));
        assert_eq!((late.frames(), late.max()), (1000, Duration::from_millis(1)));
        late.reset();
        assert_eq!(late, Lateness::default());
    }
}
