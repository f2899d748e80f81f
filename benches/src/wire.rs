//! Workloads of the wire formats.

use std::hint::black_box;
use trunkline_core::wire::checksum::ones_complement_sum;

/// Bytes of payload in a full segment with timestamps on Ethernet.
const PAYLOAD: usize = 1448;

/// The Internet checksum of one full segment's payload per unit.
pub fn checksum(units: usize) {
    let payload: Vec<u8> = (0..PAYLOAD).map(|at| at as u8).collect();
    for _ in 0..units {
        black_box(ones_complement_sum(black_box(&payload)));
    }
}
