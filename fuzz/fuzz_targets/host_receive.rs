//! `cargo +nightly fuzz run host_receive --features libfuzzer`: see [`trunkline_fuzz::host_receive`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trunkline_fuzz::host_receive(input));
