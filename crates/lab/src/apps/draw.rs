//! Draws that several applications make.

use trunkline_core::rng::Rng;
use trunkline_core::time::Duration;

/// A draw above zero and at most one.
pub(super) fn share(rng: &mut Rng) -> f64 {
    (f64::from(rng.next_u32()) + 1.0) / 4_294_967_296.0
}

/// A time from an exponential distribution.
pub(super) fn exponential(rng: &mut Rng, mean: Duration) -> Duration {
    Duration::from_nanos((-libm::log(share(rng)) * mean.as_nanos() as f64) as u64)
}
