//! TCP segments (RFC 9293, 3.1) with the options MSS, window scale and timestamps (RFC 7323) and SACK
//! (RFC 2018).
//!
//! Deviations: other options are skipped; the four reserved header bits are sent as zero and ignored.

use std::fmt;
use std::ops::BitOr;

use super::Error;
use super::checksum::{Address, Checksum};
use super::ipv4::Protocol;
use crate::seq::SeqNumber;

mod options;
mod template;
#[cfg(test)]
mod tests;

pub use super::Integrity;
pub use options::{Options, SACK_BLOCKS_MAX, SackBlocks, Timestamps};
pub use template::{Read, STAMPED_LEN, Stamped, Template, read_stamped};

/// Bytes of a header without options.
pub const HEADER_LEN_MIN: usize = 20;

/// Bytes of a header with as many options as it can hold.
pub const HEADER_LEN_MAX: usize = HEADER_LEN_MIN + options::LEN_MAX;

/// The control bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// No bit at all.
    pub const NONE: Flags = Flags(0);
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x04);
    /// Push what has been received to the application.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgment field is significant.
    pub const ACK: Flags = Flags(0x10);
    /// The urgent pointer is significant.
    pub const URG: Flags = Flags(0x20);
    /// Congestion experienced is echoed (RFC 3168).
    pub const ECE: Flags = Flags(0x40);
    /// The congestion window was reduced (RFC 3168).
    pub const CWR: Flags = Flags(0x80);

    /// Whether all bits of `other` are set.
    #[inline]
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any bit of `other` is set.
    #[inline]
    pub const fn intersects(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    /// The bits of both.
    #[inline]
    pub const fn union(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl BitOr for Flags {
    type Output = Flags;
    #[inline]
    fn bitor(self, other: Flags) -> Flags {
        self.union(other)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
        if self.0 == 0 {
            return f.write_str("-");
        }
        let mut separator = "";
        for (bit, name) in NAMES.iter().enumerate() {
            if self.0 & 1 << bit != 0 {
                write!(f, "{separator}{name}")?;
                separator = "|";
            }
        }
        Ok(())
    }
}

/// A view of a segment whose header length has been checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    fixed: &'a [u8; HEADER_LEN_MIN],
    options: &'a [u8],
    payload: &'a [u8],
    elided: u32,
}

impl<'a> Packet<'a> {
    /// Checks the header length of a segment of `bytes` followed by `elided` zero bytes.
    ///
    /// # Errors
    /// [`Error::Truncated`] when the header is not in memory, [`Error::Malformed`] when the data offset
    /// points into the fixed header.
    #[inline]
    pub fn new_checked(bytes: &'a [u8], elided: u32) -> Result<Packet<'a>, Error> {
        let (fixed, rest) = bytes.split_first_chunk::<HEADER_LEN_MIN>().ok_or(Error::Truncated)?;
        let options_len = (usize::from(fixed[12] >> 4) * 4)
            .checked_sub(HEADER_LEN_MIN)
            .ok_or(Error::Malformed)?;
        let (options, payload) = rest.split_at_checked(options_len).ok_or(Error::Truncated)?;
        Ok(Packet { fixed, options, payload, elided })
    }

    /// Bytes of the header, options included.
    #[inline]
    pub fn header_len(&self) -> usize {
        HEADER_LEN_MIN + self.options.len()
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

    /// The source port; not covered by any check before [`Repr::parse`].
    #[inline]
    pub fn src_port(&self) -> u16 {
        u16::from_be_bytes([self.fixed[0], self.fixed[1]])
    }

    /// The destination port; not covered by any check before [`Repr::parse`].
    #[inline]
    pub fn dst_port(&self) -> u16 {
        u16::from_be_bytes([self.fixed[2], self.fixed[3]])
    }

    /// Whether the checksum over pseudo-header, header, payload and elided zeros verifies.
    #[inline]
    fn verifies<A: Address>(&self, src: A, dst: A) -> bool {
        // The elided zeros count in the length; they come last, so they shift nothing.
        let len = ((self.header_len() + self.payload.len()) as u32).saturating_add(self.elided);
        let mut checksum = A::pseudo_header(src, dst, Protocol::TCP.0, len);
        checksum.add_words(self.fixed);
        checksum.add_words(self.options);
        checksum.add_bytes(self.payload);
        checksum.finish() == 0
    }
}

/// What a header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Repr {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the first byte of payload, or of the SYN.
    pub seq: SeqNumber,
    /// The next sequence number expected, significant with [`Flags::ACK`].
    pub ack: SeqNumber,
    /// Control bits.
    pub flags: Flags,
    /// The window field as sent, not scaled.
    pub window: u16,
    /// Urgent pointer, significant with [`Flags::URG`].
    pub urgent: u16,
    /// Options.
    pub options: Options,
}

impl Repr {
    /// Bytes [`Repr::emit`] writes: the header with its options, a multiple of four.
    #[inline]
    pub fn header_len(&self) -> usize {
        HEADER_LEN_MIN + self.options.len()
    }

    /// Verifies and reads a header. The window scale is told as sent, even above 14; options that
    /// belong to a SYN are told wherever they stand.
    ///
    /// # Errors
    /// [`Error::Checksum`] when the checksum does not verify or `integrity` says it cannot;
    /// [`Error::Malformed`] when an option has an impossible length.
    #[inline]
    pub fn parse<A: Address>(
        packet: &Packet<'_>,
        src: A,
        dst: A,
        integrity: Integrity,
    ) -> Result<Repr, Error> {
        integrity.accepts(|| packet.verifies(src, dst))?;
        let fixed = packet.fixed;
        let u16_at = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let seq_at = |at: usize| {
            SeqNumber(u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]))
        };
        Ok(Repr {
            src_port: u16_at(0),
            dst_port: u16_at(2),
            seq: seq_at(4),
            ack: seq_at(8),
            flags: Flags(fixed[13]),
            window: u16_at(14),
            urgent: u16_at(18),
            options: Options::parse(packet.options)?,
        })
    }

    /// Writes the header into the first [`Repr::header_len`] bytes of `buf`, with a checksum that covers
    /// the pseudo-header of `src` and `dst`, the header, `payload` and `elided` zero bytes after it.
    ///
    /// SACK blocks that do not fit are left out: three fit beside timestamps, four without.
    ///
    /// # Panics
    /// When `buf` is shorter than the header.
    #[inline]
    pub fn emit<A: Address>(&self, buf: &mut [u8], payload: &[u8], elided: u32, src: A, dst: A) {
        let mut sum = Checksum::new();
        sum.add_bytes(payload);
        self.emit_summed(buf, sum, (payload.len() as u32).saturating_add(elided), src, dst);
    }

    /// [`Repr::emit`] for a payload of `payload_len` bytes whose sum is known.
    ///
    /// # Panics
    /// When `buf` is shorter than the header.
    #[inline]
    pub fn emit_summed<A: Address>(
        &self,
        buf: &mut [u8],
        payload: Checksum,
        payload_len: u32,
        src: A,
        dst: A,
    ) {
        let header_len = self.header_len();
        let len = (header_len as u32).saturating_add(payload_len);
        let mut checksum = A::pseudo_header(src, dst, Protocol::TCP.0, len);
        let (fixed, options) = buf[..header_len].split_at_mut(HEADER_LEN_MIN);

        // Summed in registers: reading back what was just stored in other widths would stall.
        let lead =
            u64::from(self.src_port) << 48 | u64::from(self.dst_port) << 32 | u64::from(self.seq.0);
        let control = u64::from(self.ack.0) << 32
            | (header_len as u64 / 4) << 28
            | u64::from(self.flags.0) << 16
            | u64::from(self.window);
        checksum.add_u64(lead);
        checksum.add_u64(control);
        checksum.add_u64(self.options.emit(options) + u64::from(self.urgent));
        checksum.add_run(payload);

        fixed[..8].copy_from_slice(&lead.to_be_bytes());
        fixed[8..16].copy_from_slice(&control.to_be_bytes());
        fixed[16..18].copy_from_slice(&checksum.finish().to_be_bytes());
        fixed[18..].copy_from_slice(&self.urgent.to_be_bytes());
    }
}
