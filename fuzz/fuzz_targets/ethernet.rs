//! `cargo +nightly fuzz run ethernet --features libfuzzer`: see [`trunkline_fuzz::ethernet`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trunkline_fuzz::ethernet(input));
