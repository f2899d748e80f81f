//! `cargo +nightly fuzz run bond_receive --features libfuzzer`: see [`trunkline_fuzz::bond_receive`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trunkline_fuzz::bond_receive(input));
