//! Our TCP and smoltcp in turns in one process: the times of single runs say little about a machine, their
//! ratio does.

use crate::{smoltcp, tcp};
use std::time::Instant;

/// Data segments of one turn.
const SEGMENTS: usize = 40_000;

/// Carries `rounds` turns through each and prints nanoseconds per kilobyte and the ratio.
pub fn run(rounds: usize) {
    let (mut ours, mut theirs) = (tcp::Pair::new(), smoltcp::Pair::new());
    let mut ratios = Vec::new();
    println!("round\ttrunkline ns/kB\tsmoltcp ns/kB\tratio");
    for round in 1..=rounds {
        let a = nanos_per_kilobyte(|| ours.carry(SEGMENTS));
        let b = nanos_per_kilobyte(|| theirs.carry(SEGMENTS));
        ratios.push(b / a);
        println!("{round}\t{a:.1}\t{b:.1}\t{:.2}", b / a);
    }
    ratios.sort_by(f64::total_cmp);
    if let Some(median) = ratios.get(ratios.len() / 2) {
        println!("median\t\t\t{median:.2}");
    }
}

fn nanos_per_kilobyte(carry: impl FnOnce() -> u64) -> f64 {
    let start = Instant::now();
    let bytes = carry();
    start.elapsed().as_nanos() as f64 / (bytes as f64 / 1000.0)
}
