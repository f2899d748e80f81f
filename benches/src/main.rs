//! Instruction-count benchmarks.
fn main() {}
