//! `cargo +nightly fuzz run plan --features libfuzzer`: see [`trunkline_fuzz::plan`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trunkline_fuzz::plan(input));
