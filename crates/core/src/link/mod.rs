//! Links: transmitters, wires with faults, and the media that decide who may send and how fast.
//! Sans-I/O, so virtual time and emulation run the same code.

pub mod channel;
pub mod chip;
pub mod framing;
pub mod wire;
