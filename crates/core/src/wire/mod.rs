//! Wire formats: one file per format, each a checked zero-copy view and a plain `Repr` with `parse`
//! and `emit` that round-trip. Parsing never panics; what it refuses is an [`Error`] to be counted.
//!
//! A frame may end in `elided` zero bytes that are not in memory (see [`crate::frame`]); every parser
//! takes their count beside the bytes.

pub mod arp;
pub mod checksum;
pub mod ethernet;
pub mod icmp;
pub mod icmp_error;
pub mod icmpv6;
pub mod ip;
pub mod ipv4;
pub mod ipv6;
pub mod mac;
pub mod ppp;
pub mod rip;
pub mod slip;
pub mod tcp;
pub mod too_big;
pub mod trunk;
pub mod udp;
pub mod vj;
pub mod vnet;

/// Why bytes are not a valid packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// Fewer bytes than the format or its own length field needs.
    Truncated,
    /// A field has a value the format does not allow.
    Malformed,
    /// The checksum does not verify.
    Checksum,
}

/// What is known about the bytes of a packet before its checksum is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Integrity {
    /// The bytes are what arrived: verify the checksum.
    Intact,
    /// The wire damaged bytes that are not in memory: the checksum cannot verify.
    Corrupt,
    /// Somebody trusted has verified the checksum, or it was never filled in: do not look at it.
    Offloaded,
}

impl Integrity {
    /// Whether the packet may be read; `verifies` computes the checksum and is asked only when needed.
    #[inline]
    fn accepts(self, verifies: impl FnOnce() -> bool) -> Result<(), Error> {
        let sound = match self {
            Integrity::Intact => verifies(),
            Integrity::Corrupt => false,
            Integrity::Offloaded => true,
        };
        if sound { Ok(()) } else { Err(Error::Checksum) }
    }
}
