//! Workloads of the wire formats.

use std::hint::black_box;
use trunkline_core::wire::checksum::{Checksum, ones_complement_sum};

/// Bytes of payload in a full segment with timestamps on Ethernet.
const PAYLOAD: usize = 1448;

/// The Internet checksum of one full segment's payload per unit.
pub fn checksum(units: usize) {
    let payload: Vec<u8> = (0..PAYLOAD).map(|at| at as u8).collect();
    for _ in 0..units {
        black_box(ones_complement_sum(black_box(&payload)));
    }
}

/// One full segment's payload copied and summed on the way, per unit.
pub fn copy_checksum(units: usize) {
    let payload: Vec<u8> = (0..PAYLOAD).map(|at| at as u8).collect();
    let mut copy = vec![0; PAYLOAD];
    for _ in 0..units {
        let mut checksum = Checksum::new();
        checksum.copy_bytes(black_box(&mut copy), black_box(&payload));
        black_box(checksum.finish());
    }
}

/// One full segment's payload copied by the C library, per unit: what [`copy_checksum`] compares with.
pub fn memcpy(units: usize) {
    let payload: Vec<u8> = (0..PAYLOAD).map(|at| at as u8).collect();
    let mut copy = vec![0; PAYLOAD];
    for _ in 0..units {
        black_box(&mut copy).copy_from_slice(black_box(&payload));
    }
}
