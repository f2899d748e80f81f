//! What a device would do for a machine's own protocols, done by us, because the device is ours: packets
//! of many segments are cut into those that go on a wire, and joined again behind it.
//!
//! [`Split`] and [`Joiner`] are inverses: of a run that was cut, joining gives the run, and cutting what
//! was joined gives the packets, byte for byte. Codepoints, timestamps and the end of a push stay where
//! they were. Nothing is joined that would hide anything: each segment's checksums are verified first.

mod header;
mod join;
mod split;
#[cfg(test)]
mod tests;

pub use join::{HEAD_BYTES_MAX, Joiner, PACKETS_MAX, Run};
pub use split::Split;
