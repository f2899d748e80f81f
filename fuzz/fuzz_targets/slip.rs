//! `cargo +nightly fuzz run slip --features libfuzzer`: see [`trunkline_fuzz::slip`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trunkline_fuzz::slip(input));
