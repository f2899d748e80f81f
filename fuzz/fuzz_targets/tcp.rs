//! `cargo +nightly fuzz run tcp --features libfuzzer`: see [`trunkline_fuzz::tcp`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trunkline_fuzz::tcp(input));
