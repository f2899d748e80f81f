//! `cargo +nightly fuzz run control --features libfuzzer`: see [`trunkline_fuzz::control`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trunkline_fuzz::control(input));
