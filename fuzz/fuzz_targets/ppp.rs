//! `cargo +nightly fuzz run ppp --features libfuzzer`: see [`trunkline_fuzz::ppp`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trunkline_fuzz::ppp(input));
