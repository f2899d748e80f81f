//! The receiver's half.

use super::{Error, HEADERS_LEN_MAX, Headers, Kind, at, ipv4, mask};
use crate::wire::tcp::Flags;

/// A packet as it was sent: [`Restored::header`] in place of the first `replaced` bytes that came in.
#[derive(Clone, Copy)]
pub struct Restored {
    /// Bytes of what came in that the header replaces.
    pub replaced: usize,
    bytes: [u8; HEADERS_LEN_MAX],
    len: u8,
}

impl Restored {
    const AS_IT_IS: Restored = Restored { replaced: 0, bytes: [0; HEADERS_LEN_MAX], len: 0 };

    /// What stands in place of the replaced bytes.
    pub fn header(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// What a [`Decompressor`] has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Packets restored, those included that were sent as they are.
    pub packets: u64,
    /// Packets that make no sense: an unknown slot, a header that is cut off.
    pub errors: u64,
    /// Packets given up after an error, because they did not say whose they are.
    pub tossed: u64,
}

/// Restores the headers of all packets that come in on one line.
#[derive(Clone)]
pub struct Decompressor {
    slots: Vec<Headers>,
    /// The slot of a header that does not name one.
    last: u8,
    /// Whether something is missing, so that such a header may be of another connection.
    toss: bool,
    counters: Counters,
}

impl std::fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decompressor").field("toss", &self.toss).finish_non_exhaustive()
    }
}

impl Decompressor {
    /// A decompressor for a sender that keeps up to `slots` connections. Until the first packet that says
    /// whose it is, others are tossed.
    pub fn new(slots: u8) -> Self {
        Decompressor {
            slots: vec![Headers::EMPTY; usize::from(slots)],
            last: 0,
            toss: true,
            counters: Counters::default(),
        }
    }

    /// What has been seen so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The framing has lost something: compressed packets are tossed until one names its slot.
    pub fn handle_error(&mut self) {
        self.toss = true;
    }

    /// Restores a packet of `bytes` followed by `elided` more that are not in memory.
    ///
    /// # Errors
    /// [`Error::Truncated`] and [`Error::Malformed`] when it makes no sense, which is an error of the
    /// framing as well; [`Error::Checksum`] when it has to be tossed.
    pub fn decompress(&mut self, kind: Kind, bytes: &[u8], elided: u32) -> Result<Restored, Error> {
        let restored = match kind {
            Kind::Ip => Ok(Restored::AS_IT_IS),
            Kind::UncompressedTcp => self.uncompressed(bytes),
            Kind::CompressedTcp => self.compressed(bytes, elided),
        };
        match restored {
            Ok(_) => self.counters.packets += 1,
            Err(Error::Checksum) => self.counters.tossed += 1,
            Err(_) => {
                self.counters.errors += 1;
                self.toss = true;
            }
        }
        restored
    }

    fn uncompressed(&mut self, bytes: &[u8]) -> Result<Restored, Error> {
        let mut headers = Headers::of(bytes).ok_or(Error::Malformed)?;
        let slot = std::mem::replace(&mut headers.bytes[at::PROTOCOL], ipv4::Protocol::TCP.0);
        *self.slots.get_mut(usize::from(slot)).ok_or(Error::Malformed)? = headers;
        self.last = slot;
        self.toss = false;
        let len = at::PROTOCOL + 1;
        let mut restored = Restored { replaced: len, len: len as u8, ..Restored::AS_IT_IS };
        restored.bytes[..len].copy_from_slice(&headers.bytes[..len]);
        Ok(restored)
    }

    fn compressed(&mut self, bytes: &[u8], elided: u32) -> Result<Restored, Error> {
        let mut input = Input { rest: bytes };
        let first = input.byte()?;
        if first & mask::CONNECTION != 0 {
            let slot = input.byte()?;
            let known = self.slots.get(usize::from(slot)).is_some_and(|known| known.ip_len > 0);
            if !known {
                return Err(Error::Malformed);
            }
            self.last = slot;
            self.toss = false;
        } else if self.toss {
            return Err(Error::Checksum);
        }
        let slot = self.slots.get_mut(usize::from(self.last)).ok_or(Error::Malformed)?;
        let mut headers = *slot;
        apply(&mut headers, first, &mut input)?;
        let payload_len = input.rest.len() as u64 + u64::from(elided);
        let total_len = headers.len() as u64 + payload_len;
        headers.set_u16(at::TOTAL_LEN, u16::try_from(total_len).map_err(|_| Error::Malformed)?);
        headers.seal();
        *slot = headers;
        let replaced = bytes.len() - input.rest.len();
        Ok(Restored { replaced, bytes: headers.bytes, len: headers.len() as u8 })
    }
}

/// Makes the headers of the segment before those of this one, but for the total length.
fn apply(headers: &mut Headers, first: u8, input: &mut Input<'_>) -> Result<(), Error> {
    headers.set_tcp_u16(at::TCP_CHECKSUM, input.u16()?);
    let before = headers.payload_len();
    let special = first & mask::SPECIAL;
    let is_special = matches!(special, mask::ECHOED | mask::ONE_WAY);
    let mut flags = headers.flags() & !(Flags::PSH.0 | Flags::URG.0);
    if first & mask::PUSH != 0 {
        flags |= Flags::PSH.0;
    }
    if !is_special && first & mask::URGENT != 0 {
        flags |= Flags::URG.0;
    }
    headers.set_flags(flags);
    if is_special {
        headers.add_tcp_u32(at::SEQUENCE, before);
        if special == mask::ECHOED {
            headers.add_tcp_u32(at::ACK, before);
        }
    } else {
        if first & mask::URGENT != 0 {
            headers.set_tcp_u16(at::URGENT, input.change()?);
        }
        if first & mask::WINDOW != 0 {
            let window = headers.tcp_u16(at::WINDOW).wrapping_add(input.change()?);
            headers.set_tcp_u16(at::WINDOW, window);
        }
        if first & mask::ACK != 0 {
            headers.add_tcp_u32(at::ACK, input.change()?.into());
        }
        if first & mask::SEQUENCE != 0 {
            headers.add_tcp_u32(at::SEQUENCE, input.change()?.into());
        }
    }
    let ident = if first & mask::IDENT != 0 { input.change()? } else { 1 };
    headers.set_u16(at::IDENT, headers.u16(at::IDENT).wrapping_add(ident));
    Ok(())
}

struct Input<'a> {
    rest: &'a [u8],
}

impl Input<'_> {
    fn byte(&mut self) -> Result<u8, Error> {
        let (byte, rest) = self.rest.split_first().ok_or(Error::Truncated)?;
        self.rest = rest;
        Ok(*byte)
    }

    fn u16(&mut self) -> Result<u16, Error> {
        Ok(u16::from_be_bytes([self.byte()?, self.byte()?]))
    }

    /// From 1 to 255 in one byte, or any in two behind a zero.
    fn change(&mut self) -> Result<u16, Error> {
        match self.byte()? {
            0 => self.u16(),
            byte => Ok(byte.into()),
        }
    }
}
