//! ICMP echo request and reply (RFC 792).
//!
//! Deviations: no other message is read or sent.

use super::checksum::Checksum;
use super::{Error, Integrity};

#[cfg(test)]
mod tests;

/// Bytes of an echo header.
pub const HEADER_LEN: usize = 8;

const ECHO_REPLY: u8 = 0;
const ECHO_REQUEST: u8 = 8;

/// Which of the two messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Kind {
    /// Type 8: please answer.
    EchoRequest,
    /// Type 0: the answer.
    EchoReply,
}

/// A view of a message whose length has been checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    pub(super) header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
    elided: u32,
}

impl<'a> Packet<'a> {
    /// Checks the length of a message of `bytes` followed by `elided` zero bytes.
    ///
    /// # Errors
    /// [`Error::Truncated`] when the header is not in memory.
    #[inline]
    pub fn new_checked(bytes: &'a [u8], elided: u32) -> Result<Packet<'a>, Error> {
        let (header, payload) = bytes.split_first_chunk().ok_or(Error::Truncated)?;
        Ok(Packet { header, payload, elided })
    }

    /// The part of the payload that is in memory.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Zero bytes of the payload that follow [`Packet::payload`] and are not in memory.
    #[inline]
    pub fn elided(&self) -> u32 {
        self.elided
    }

    /// Length of the payload in bytes, elided ones included.
    #[inline]
    pub fn payload_len(&self) -> usize {
        self.payload.len() + self.elided as usize
    }

    fn verifies(&self) -> bool {
        // Elided zeros come last and are no part of the sum.
        let mut checksum = Checksum::new();
        checksum.add_bytes(self.header);
        checksum.add_bytes(self.payload);
        checksum.finish() == 0
    }
}

/// What a header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Repr {
    /// Request or reply.
    pub kind: Kind,
    /// Identifier: which series of requests.
    pub ident: u16,
    /// Sequence number within the series.
    pub seq: u16,
}

impl Repr {
    /// Verifies and reads a header.
    ///
    /// # Errors
    /// [`Error::Checksum`] when the checksum does not verify or `integrity` says it cannot;
    /// [`Error::Malformed`] for any other type or code.
    pub fn parse(packet: &Packet<'_>, integrity: Integrity) -> Result<Repr, Error> {
        integrity.accepts(|| packet.verifies())?;
        Repr::read(packet, ECHO_REQUEST, ECHO_REPLY)
    }

    /// Reads a header whose types for echo are these.
    pub(super) fn read(packet: &Packet<'_>, request: u8, reply: u8) -> Result<Repr, Error> {
        let [kind, code, _, _, i0, i1, s0, s1] = *packet.header;
        let kind = match (kind, code) {
            (kind, 0) if kind == request => Kind::EchoRequest,
            (kind, 0) if kind == reply => Kind::EchoReply,
            _ => return Err(Error::Malformed),
        };
        Ok(Repr { kind, ident: u16::from_be_bytes([i0, i1]), seq: u16::from_be_bytes([s0, s1]) })
    }

    /// Writes the header into the first [`HEADER_LEN`] bytes of `buf`, with a checksum that covers
    /// `payload` too. Elided zeros after it change nothing: they are no part of the sum, and the format
    /// has no length field.
    ///
    /// # Panics
    /// When `buf` is shorter than the header.
    pub fn emit(&self, buf: &mut [u8], payload: &[u8]) {
        let kind = match self.kind {
            Kind::EchoRequest => ECHO_REQUEST,
            Kind::EchoReply => ECHO_REPLY,
        };
        let header = u64::from(kind) << 56 | u64::from(self.ident) << 16 | u64::from(self.seq);
        let mut checksum = Checksum::new();
        checksum.add_u64(header);
        checksum.add_bytes(payload);
        let header = header | u64::from(checksum.finish()) << 32;
        buf[..HEADER_LEN].copy_from_slice(&header.to_be_bytes());
    }
}
