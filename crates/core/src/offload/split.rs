//! Cutting: segmentation of TCP and UDP, and checksums that a sender left to its device.

use super::header::{FIRST_ONLY, HEADERS_MAX, LAST_ONLY, Version, sequence, tcp};
use crate::wire::checksum::Checksum;
use crate::wire::ipv4::Protocol;
use crate::wire::vnet::{self, Kind, Unfinished};
use crate::wire::{Error, udp};

/// What the pieces are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pieces {
    /// The packet itself, in one.
    Whole,
    /// TCP segments; the sequence and flags of the run.
    Tcp { seq: u32, flags: u8 },
    /// UDP datagrams.
    Udp,
}

/// A packet on its way to being cut. The packet stays where it is and is given to every call, so that
/// cutting may pause while there is no room for more.
#[derive(Clone, Debug)]
pub struct Split {
    pieces: Pieces,
    /// Of what is cut.
    version: Version,
    /// The headers of the next piece.
    headers: [u8; HEADERS_MAX],
    headers_len: usize,
    upper_at: usize,
    identification: u16,
    /// Bytes of payload in a piece.
    size: usize,
    /// Where in the packet the next piece begins, and where the last ends.
    at: usize,
    end: usize,
}

impl Split {
    /// Begins with a packet as its sender left it: `told` is what came in front. A checksum that was
    /// not finished is finished in place.
    ///
    /// # Errors
    /// [`Error::Truncated`] when the packet ends before its headers do; [`Error::Malformed`] when it is
    /// not what `told` says.
    pub fn new(packet: &mut [u8], told: &vnet::Repr) -> Result<Split, Error> {
        let mut split = Split {
            pieces: Pieces::Whole,
            version: Version::V4,
            headers: [0; HEADERS_MAX],
            headers_len: 0,
            upper_at: 0,
            identification: 0,
            size: packet.len(),
            at: 0,
            end: packet.len(),
        };
        match (told.run, told.checksum) {
            (None, None) => {}
            (None, Some(checksum)) => finish_checksum(packet, checksum)?,
            // Where the upper header is, the sender knows: it has left the checksum to us too.
            (Some(run), Some(checksum)) => {
                split.prepare(packet, run, usize::from(checksum.start))?
            }
            (Some(_), None) => return Err(Error::Malformed),
        }
        Ok(split)
    }

    fn prepare(&mut self, packet: &[u8], run: vnet::Run, upper_at: usize) -> Result<(), Error> {
        self.version = Version::of(packet).ok_or(Error::Malformed)?;
        self.identification = self.version.identification(packet);
        let (ip, upper) = packet.split_at_checked(upper_at).ok_or(Error::Truncated)?;
        let in_front = match self.version {
            Version::V4 => usize::from(packet[0] & 0x0f) * 4 == upper_at,
            Version::V6 => upper_at >= crate::wire::ipv6::HEADER_LEN && upper_at.is_multiple_of(8),
        };
        let protocol = match self.version {
            Version::V4 => Some(Protocol(ip.get(9).copied().unwrap_or(0))),
            Version::V6 if upper_at == crate::wire::ipv6::HEADER_LEN => Some(Protocol(ip[6])),
            Version::V6 => None,
        };
        let is = |wanted: Protocol| protocol.is_none_or(|protocol| protocol == wanted);
        let header_len = match (run.kind, self.version) {
            (Kind::TcpV4, Version::V4) | (Kind::TcpV6, Version::V6) if is(Protocol::TCP) => {
                let header = upper.first_chunk::<{ crate::wire::tcp::HEADER_LEN_MIN }>();
                let header = header.ok_or(Error::Truncated)?;
                self.pieces = Pieces::Tcp { seq: sequence(header), flags: header[tcp::FLAGS] };
                let len = usize::from(header[tcp::OFFSET] >> 4) * 4;
                if len < header.len() {
                    return Err(Error::Malformed);
                }
                len
            }
            (Kind::Udp, _) if is(Protocol::UDP) => {
                self.pieces = Pieces::Udp;
                udp::HEADER_LEN
            }
            _ => return Err(Error::Malformed),
        };
        let headers_len = upper_at + header_len;
        if headers_len >= packet.len() {
            return Err(Error::Truncated);
        }
        let size = usize::from(run.payload);
        if !in_front || headers_len > HEADERS_MAX || headers_len + size > usize::from(u16::MAX) {
            return Err(Error::Malformed);
        }
        self.headers[..headers_len].copy_from_slice(&packet[..headers_len]);
        (self.upper_at, self.headers_len) = (upper_at, headers_len);
        (self.at, self.size) = (headers_len, size);
        Ok(())
    }

    /// Whether every piece has been taken.
    pub const fn is_done(&self) -> bool {
        self.at == self.end
    }

    /// The next piece of the packet [`Split::new`] got: its headers and its payload.
    pub fn next<'a>(&'a mut self, packet: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        if self.is_done() {
            return None;
        }
        let start = self.at;
        self.at = (start + self.size).min(self.end);
        let payload = &packet[start..self.at];
        match self.pieces {
            Pieces::Whole => {}
            Pieces::Tcp { seq, flags } => {
                let offset = start - self.headers_len;
                self.seal_tcp(seq.wrapping_add(offset as u32), flags, offset, payload);
            }
            Pieces::Udp => self.seal_udp(payload),
        }
        Some((&self.headers[..self.headers_len], payload))
    }

    fn seal_tcp(&mut self, seq: u32, mut flags: u8, offset: usize, payload: &[u8]) {
        if offset > 0 {
            flags &= !FIRST_ONLY;
        }
        if !self.is_done() {
            flags &= !LAST_ONLY;
        }
        let (ip, header) = self.headers[..self.headers_len].split_at_mut(self.upper_at);
        header[tcp::SEQ].copy_from_slice(&seq.to_be_bytes());
        header[tcp::FLAGS] = flags;
        header[tcp::CHECKSUM].fill(0);
        let len = header.len() + payload.len();
        let mut checksum = self.version.pseudo_header(ip, Protocol::TCP.0, len);
        checksum.add_words(header);
        checksum.add_bytes(payload);
        header[tcp::CHECKSUM].copy_from_slice(&checksum.finish().to_be_bytes());
        self.seal_ip(payload);
    }

    fn seal_udp(&mut self, payload: &[u8]) {
        let (ip, header) = self.headers[..self.headers_len].split_at_mut(self.upper_at);
        let len = header.len() + payload.len();
        header[4..6].copy_from_slice(&(len as u16).to_be_bytes());
        header[6..8].fill(0);
        let mut checksum = self.version.pseudo_header(ip, Protocol::UDP.0, len);
        checksum.add_words(header);
        checksum.add_bytes(payload);
        header[6..8].copy_from_slice(&never_zero(checksum.finish()).to_be_bytes());
        self.seal_ip(payload);
    }

    fn seal_ip(&mut self, payload: &[u8]) {
        let ip = &mut self.headers[..self.upper_at];
        self.version.seal(ip, self.headers_len + payload.len(), self.identification);
        self.identification = self.identification.wrapping_add(1);
    }
}

/// UDP sends a sum of zero as all ones: zero says that there is none (RFC 768).
const fn never_zero(checksum: u16) -> u16 {
    if checksum == 0 { 0xffff } else { checksum }
}

/// What is left to do for a packet that is not a run.
fn finish_checksum(
    packet: &mut [u8],
    Unfinished { start, field }: Unfinished,
) -> Result<(), Error> {
    let summed = packet.get_mut(usize::from(start)..).ok_or(Error::Truncated)?;
    let mut checksum = Checksum::new();
    checksum.add_bytes(summed);
    let value = match field {
        6 => never_zero(checksum.finish()),
        _ => checksum.finish(),
    };
    let field = usize::from(field);
    let field = summed.get_mut(field..field + 2).ok_or(Error::Truncated)?;
    field.copy_from_slice(&value.to_be_bytes());
    Ok(())
}
