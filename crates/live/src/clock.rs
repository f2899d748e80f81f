//! The clock of the real world: `CLOCK_MONOTONIC` as the core's time.

use crate::sys;
use trunkline_core::time::Instant;

/// Now.
pub fn now() -> Instant {
    Instant::from_nanos(sys::monotonic_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_never_goes_back() {
        let first = now();
        assert!(first > Instant::ZERO && now() >= first);
    }
}
