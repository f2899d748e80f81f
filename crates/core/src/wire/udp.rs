//! UDP (RFC 768; over IPv6 RFC 8200, 8.1).
//!
//! A checksum of zero means that there is none. Over IPv4 that is accepted; over IPv6 it is refused,
//! and the exception of RFC 6935 is not made. A checksum that comes out as zero is sent as 0xffff.

use super::ipv4::Protocol;
use super::{Error, Integrity};

pub use super::ip::Addresses;

#[cfg(test)]
mod tests;

/// Bytes of a header.
pub const HEADER_LEN: usize = 8;

/// A view of a datagram whose length has been checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
    elided: u32,
}

impl<'a> Packet<'a> {
    /// Checks the length of a datagram of `bytes` followed by `elided` zero bytes. What is beyond the
    /// length is no part of the datagram and cut off.
    ///
    /// # Errors
    /// [`Error::Truncated`] when the header is not in memory or the length promises more than is there;
    /// [`Error::Malformed`] when the length does not even cover the header.
    #[inline]
    pub fn new_checked(bytes: &'a [u8], elided: u32) -> Result<Packet<'a>, Error> {
        let (header, rest) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(Error::Truncated)?;
        let len = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let payload_len = len.checked_sub(HEADER_LEN).ok_or(Error::Malformed)?;
        let payload = &rest[..rest.len().min(payload_len)];
        let missing = (payload_len - payload.len()) as u32;
        if missing > elided {
            return Err(Error::Truncated);
        }
        Ok(Packet { header, payload, elided: missing })
    }

    /// The part of the payload that is in memory.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Zero bytes of the payload that follow [`Packet::payload`] and are not in memory.
    #[inline]
    pub fn payload_elided(&self) -> u32 {
        self.elided
    }

    /// Length of the payload in bytes, elided ones included.
    #[inline]
    pub fn payload_len(&self) -> usize {
        self.payload.len() + self.elided as usize
    }

    /// The source port; not covered by any check before [`Repr::parse`].
    #[inline]
    pub fn src_port(&self) -> u16 {
        u16::from_be_bytes([self.header[0], self.header[1]])
    }

    /// The destination port; not covered by any check before [`Repr::parse`].
    #[inline]
    pub fn dst_port(&self) -> u16 {
        u16::from_be_bytes([self.header[2], self.header[3]])
    }

    fn verifies(&self, addresses: &Addresses) -> bool {
        if self.header[6..] == [0, 0] {
            return matches!(addresses, Addresses::V4 { .. });
        }
        // Elided zeros come last and are no part of the sum.
        let len = u16::from_be_bytes([self.header[4], self.header[5]]);
        let mut checksum = addresses.pseudo_header(Protocol::UDP, u32::from(len));
        checksum.add_words(self.header);
        checksum.add_bytes(self.payload);
        checksum.finish() == 0
    }
}

/// What a header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct Repr {
    /// Source port; 0 when no answer is wanted.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
}

impl Repr {
    /// Verifies and reads a header.
    ///
    /// # Errors
    /// [`Error::Checksum`] when the checksum does not verify, is missing over IPv6, or `integrity` says
    /// that it cannot verify.
    #[inline]
    pub fn parse(
        packet: &Packet<'_>,
        addresses: &Addresses,
        integrity: Integrity,
    ) -> Result<Repr, Error> {
        integrity.accepts(|| packet.verifies(addresses))?;
        Ok(Repr { src_port: packet.src_port(), dst_port: packet.dst_port() })
    }

    /// Writes the header into the first [`HEADER_LEN`] bytes of `buf`, for `payload` followed by
    /// `elided` zero bytes.
    ///
    /// # Panics
    /// When `buf` is shorter than the header, or header and payload are more than 65,535 bytes.
    pub fn emit(&self, buf: &mut [u8], payload: &[u8], elided: u32, addresses: &Addresses) {
        let len = HEADER_LEN + payload.len() + elided as usize;
        let len = u16::try_from(len).expect("a datagram fits its length field");
        let header =
            u64::from(self.src_port) << 48 | u64::from(self.dst_port) << 32 | u64::from(len) << 16;
        let mut checksum = addresses.pseudo_header(Protocol::UDP, u32::from(len));
        checksum.add_u64(header);
        checksum.add_bytes(payload);
        let checksum = match checksum.finish() {
            0 => 0xffff,
            other => other,
        };
        let header = header | u64::from(checksum);
        buf[..HEADER_LEN].copy_from_slice(&header.to_be_bytes());
    }
}
