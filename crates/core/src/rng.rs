//! Seeded randomness (PCG), passed in by the caller. `fork` gives every consumer its own stream, so a
//! new consumer does not shift what the others draw.

use crate::units::Ratio;
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng as _;

/// A deterministic random stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    seed: u64,
    stream: u64,
    inner: Pcg32,
}

impl Rng {
    /// The root stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self::with_stream(seed, 0)
    }

    fn with_stream(seed: u64, stream: u64) -> Self {
        Rng { seed, stream, inner: Pcg32::new(seed ^ stream.rotate_left(32), stream) }
    }

    /// The stream named `label` below this one. It depends on the seed and the labels on the way,
    /// never on how much was drawn before.
    pub fn fork(&self, label: &str) -> Rng {
        let mut hash = 0xcbf2_9ce4_8422_2325 ^ self.stream;
        for byte in label.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        hash ^= hash >> 29;
        Self::with_stream(self.seed, hash.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The next 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        self.inner.next_u32()
    }
    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }
    /// A number in `0..n`; 0 when `n` is 0. The bias is below 2^-32.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.inner.next_u64()) * u128::from(n)) >> 64) as u64
    }
    /// A number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }
    /// Whether an event of this probability happens. Draws nothing when it cannot.
    pub fn chance(&mut self, ratio: Ratio) -> bool {
        !ratio.is_zero() && self.below(u64::from(Ratio::ONE.as_ppb())) < u64::from(ratio.as_ppb())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forks_do_not_depend_on_what_was_drawn() {
        let fresh = Rng::new(7);
        let mut used = Rng::new(7);
        used.next_u64();
        assert_eq!(fresh.fork("loss"), used.fork("loss"));
        assert_ne!(fresh.fork("loss"), fresh.fork("jitter"));
        assert_ne!(fresh.fork("a").fork("b"), fresh.fork("b").fork("a"));
    }

    #[test]
    fn below_covers_its_range() {
        let mut rng = Rng::new(1);
        let mut seen = [0u32; 5];
        for _ in 0..5000 {
            seen[rng.below(5) as usize] += 1;
        }
        assert!(seen.iter().all(|n| (800..1200).contains(n)), "{seen:?}");
        assert_eq!(rng.below(0), 0);
    }

    #[test]
    fn chance_is_near_its_ratio() {
        let mut rng = Rng::new(3);
        let hits = (0..100_000).filter(|_| rng.chance(Ratio::from_ppb(10_000_000))).count();
        assert!((850..1150).contains(&hits), "{hits}");
        assert!(!rng.chance(Ratio::ZERO) && rng.chance(Ratio::ONE));
    }
}
