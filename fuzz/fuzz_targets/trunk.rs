//! `cargo +nightly fuzz run trunk --features libfuzzer`: see [`trunkline_fuzz::trunk`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trunkline_fuzz::trunk(input));
