//! The sender's half.

use super::{COMPRESSED_LEN_MAX, Headers, Kind, SlotCompression, at, ipv4, mask};
use crate::wire::tcp::Flags;

/// Control bits a compressed header can tell; ACK is always set.
const TELLABLE: u8 = Flags::ACK.0 | Flags::PSH.0 | Flags::URG.0;
/// More fragments, and the offset.
const FRAGMENT: u16 = 0x3fff;

/// A packet as it goes on the line: [`Compressed::header`] in place of its first `replaced` bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compressed {
    /// What it has become.
    pub kind: Kind,
    /// Bytes of the packet that the header replaces.
    pub replaced: usize,
    bytes: [u8; COMPRESSED_LEN_MAX],
    len: u8,
}

impl Compressed {
    const AS_IT_IS: Compressed =
        Compressed { kind: Kind::Ip, replaced: 0, bytes: [0; COMPRESSED_LEN_MAX], len: 0 };

    /// What stands in place of the replaced bytes.
    pub fn header(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// The packet with its slot in place of its protocol.
    fn uncompressed(headers: &Headers, slot: u8) -> Compressed {
        let len = at::PROTOCOL + 1;
        let mut this = Compressed {
            kind: Kind::UncompressedTcp,
            replaced: len,
            len: len as u8,
            ..Self::AS_IT_IS
        };
        this.bytes[..len].copy_from_slice(&headers.bytes[..len]);
        this.bytes[at::PROTOCOL] = slot;
        this
    }

    fn push(&mut self, bytes: &[u8]) {
        let from = usize::from(self.len);
        self.bytes[from..from + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len() as u8;
    }

    /// A change from 1 to 255 in one byte, any other in three.
    fn push_change(&mut self, change: u16) {
        match u8::try_from(change) {
            Ok(byte @ 1..) => self.push(&[byte]),
            _ => {
                let [high, low] = change.to_be_bytes();
                self.push(&[0, high, low]);
            }
        }
    }
}

/// What has changed, in the order of the line.
struct Changes {
    mask: u8,
    values: [u16; 5],
    count: usize,
}

impl Changes {
    fn add(&mut self, bit: u8, value: u16) {
        self.mask |= bit;
        self.values[self.count] = value;
        self.count += 1;
    }

    /// Replaces what has been found by a special encoding, which is all that has changed.
    fn become_special(&mut self, special: u8) {
        self.mask = special;
        self.count = 0;
    }
}

/// Compresses the headers of all packets that go out on one line.
#[derive(Clone)]
pub struct Compressor {
    slots: Vec<Headers>,
    /// Slots from the one used last to the one used longest ago.
    order: Vec<u8>,
    /// The slot the other end believes to be the current one.
    last: Option<u8>,
    slot_compression: SlotCompression,
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compressor").field("order", &self.order).field("last", &self.last).finish()
    }
}

impl Compressor {
    /// A compressor that knows no connection yet and keeps up to `slots` of them.
    ///
    /// # Panics
    /// Without a single slot.
    pub fn new(slots: u8, slot_compression: SlotCompression) -> Self {
        assert!(slots > 0, "a compressor needs a slot");
        Compressor {
            slots: vec![Headers::EMPTY; usize::from(slots)],
            order: (0..slots).rev().collect(),
            last: None,
            slot_compression,
        }
    }

    /// Compresses a packet of `bytes` followed by `elided` more that are not in memory. What is not to be
    /// compressed (other protocols, fragments, SYN, FIN, RST) stays as it is.
    pub fn compress(&mut self, bytes: &[u8], elided: u32) -> Compressed {
        let Some(new) = compressible(bytes, elided) else {
            return Compressed::AS_IT_IS;
        };
        let place = self.order.iter().position(|slot| self.is_connection(*slot, &new));
        let known = place.is_some();
        let place = place.unwrap_or(self.order.len() - 1);
        self.order[..=place].rotate_right(1);
        let slot = self.order[0];
        let old = std::mem::replace(&mut self.slots[usize::from(slot)], new);
        let changes = if known { changes(&old, &new) } else { None };
        let Some(changes) = changes else {
            self.last = Some(slot);
            return Compressed::uncompressed(&new, slot);
        };
        let mut compressed =
            Compressed { kind: Kind::CompressedTcp, replaced: new.len(), ..Compressed::AS_IT_IS };
        let mut first = changes.mask;
        if new.flags() & Flags::PSH.0 != 0 {
            first |= mask::PUSH;
        }
        let is_implied =
            self.slot_compression == SlotCompression::Allowed && self.last == Some(slot);
        if is_implied {
            compressed.push(&[first]);
        } else {
            compressed.push(&[first | mask::CONNECTION, slot]);
            self.last = Some(slot);
        }
        compressed.push(&new.tcp_u16(at::TCP_CHECKSUM).to_be_bytes());
        changes.values[..changes.count].iter().for_each(|change| compressed.push_change(*change));
        compressed
    }

    fn is_connection(&self, slot: u8, new: &Headers) -> bool {
        let old = &self.slots[usize::from(slot)];
        let ports = |headers: &Headers| headers.tcp_u32(0);
        old.ip_len > 0 && ports(old) == ports(new) && old.addresses() == new.addresses()
    }
}

/// The headers of a packet whose header may be compressed.
fn compressible(bytes: &[u8], elided: u32) -> Option<Headers> {
    let headers = Headers::of(bytes)?;
    let len = bytes.len() as u64 + u64::from(elided);
    let is_tcp = headers.bytes[at::PROTOCOL] == ipv4::Protocol::TCP.0;
    let is_fragment = headers.u16(at::FRAGMENT) & FRAGMENT != 0;
    let is_whole = u64::from(headers.u16(at::TOTAL_LEN)) == len;
    let flags = headers.flags();
    let is_plain = flags & Flags::ACK.0 != 0 && flags & !TELLABLE == 0;
    (is_tcp && !is_fragment && is_whole && is_plain).then_some(headers)
}

/// What has changed from one segment of a connection to the next; none where it has to be sent whole.
fn changes(old: &Headers, new: &Headers) -> Option<Changes> {
    if !is_like(old, new) {
        return None;
    }
    let mut changes = Changes { mask: 0, values: [0; 5], count: 0 };
    let urgent = new.tcp_u16(at::URGENT);
    if new.flags() & Flags::URG.0 != 0 {
        changes.add(mask::URGENT, urgent);
    } else if urgent != old.tcp_u16(at::URGENT) {
        return None;
    }
    let window = new.tcp_u16(at::WINDOW).wrapping_sub(old.tcp_u16(at::WINDOW));
    if window != 0 {
        changes.add(mask::WINDOW, window);
    }
    let advance = |at| u16::try_from(new.tcp_u32(at).wrapping_sub(old.tcp_u32(at))).ok();
    let (ack, sequence) = (advance(at::ACK)?, advance(at::SEQUENCE)?);
    if ack != 0 {
        changes.add(mask::ACK, ack);
    }
    if sequence != 0 {
        changes.add(mask::SEQUENCE, sequence);
    }
    let is_what_was_sent = u32::from(sequence) == old.payload_len();
    match changes.mask {
        // A retransmission, a repeated acknowledgment or a probe, unless the one before had no data: the
        // other end may have missed something.
        0 if old.payload_len() > 0 || new.payload_len() == 0 => return None,
        // They would be taken for the special encodings.
        mask::ECHOED | mask::ONE_WAY => return None,
        both if both == mask::SEQUENCE | mask::ACK && sequence == ack && is_what_was_sent => {
            changes.become_special(mask::ECHOED);
        }
        mask::SEQUENCE if is_what_was_sent => changes.become_special(mask::ONE_WAY),
        _ => {}
    }
    let ident = new.u16(at::IDENT).wrapping_sub(old.u16(at::IDENT));
    if ident != 1 {
        changes.add(mask::IDENT, ident);
    }
    Some(changes)
}

/// Whether all fields agree that a compressed header cannot tell.
fn is_like(old: &Headers, new: &Headers) -> bool {
    old.ip_len == new.ip_len
        && old.tcp_len == new.tcp_len
        && old.bytes[..at::TOTAL_LEN] == new.bytes[..at::TOTAL_LEN]
        && old.bytes[at::FRAGMENT..at::CHECKSUM] == new.bytes[at::FRAGMENT..at::CHECKSUM]
        && old.bytes[old.tcp(at::OFFSET)] == new.bytes[new.tcp(at::OFFSET)]
        && old.ip_options() == new.ip_options()
        && old.tcp_options() == new.tcp_options()
}
