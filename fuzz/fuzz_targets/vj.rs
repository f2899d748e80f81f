//! `cargo +nightly fuzz run vj --features libfuzzer`: see [`trunkline_fuzz::vj`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trunkline_fuzz::vj(input));
