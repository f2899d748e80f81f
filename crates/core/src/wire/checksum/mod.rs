//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624, equation 3).
//!
//! The sum is kept modulo 2^64-1 in the byte order of the machine: since 2^16-1 divides 2^64-1 and
//! swapping bytes only multiplies by 256, folding and one swap at the end give the sum of the 16-bit
//! words. A run of bytes that starts at an odd offset is the same run rotated by eight bits.

use std::net::{Ipv4Addr, Ipv6Addr};

mod simd;
#[cfg(test)]
mod tests;

/// Where the next byte falls within a 16-bit word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Parity {
    Even,
    Odd,
}

impl Parity {
    #[inline]
    fn after(self, bytes: usize) -> Parity {
        match (self, bytes & 1) {
            (parity, 0) => parity,
            (Parity::Even, _) => Parity::Odd,
            (Parity::Odd, _) => Parity::Even,
        }
    }
}

/// An Internet checksum in the making. Pieces may have any length and are taken as one run of bytes;
/// an odd end is padded with a zero byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checksum {
    sum: u64,
    parity: Parity,
}

impl Default for Checksum {
    fn default() -> Self {
        Self::new()
    }
}

/// An address of one version of IP, as it counts in the checksums of what its packets carry.
pub trait Address: Copy {
    /// Starts with the pseudo-header of this version; `len` is that of the header and the payload together.
    fn pseudo_header(src: Self, dst: Self, protocol: u8, len: u32) -> Checksum;
}

impl Address for Ipv4Addr {
    #[inline]
    fn pseudo_header(src: Self, dst: Self, protocol: u8, len: u32) -> Checksum {
        Checksum::pseudo_header(src, dst, protocol, len)
    }
}

impl Address for Ipv6Addr {
    #[inline]
    fn pseudo_header(src: Self, dst: Self, protocol: u8, len: u32) -> Checksum {
        Checksum::pseudo_header_v6(src, dst, protocol, len)
    }
}

impl Checksum {
    /// The checksum of nothing.
    #[inline]
    pub const fn new() -> Self {
        Checksum { sum: 0, parity: Parity::Even }
    }

    /// Starts with the IPv4 pseudo-header of TCP and UDP (RFC 9293, 3.1); `len` is that of the header
    /// and the payload together.
    #[inline]
    pub fn pseudo_header(src: Ipv4Addr, dst: Ipv4Addr, protocol: u8, len: u32) -> Self {
        let mut checksum = Checksum::new();
        let addrs = u64::from(src.to_bits()) + u64::from(dst.to_bits());
        checksum.add_u64(addrs + u64::from(protocol) + u64::from(len));
        checksum
    }

    /// Starts with the IPv6 pseudo-header of upper layers (RFC 8200, 8.1); `len` is that of the header
    /// and the payload together.
    #[inline]
    pub fn pseudo_header_v6(src: Ipv6Addr, dst: Ipv6Addr, protocol: u8, len: u32) -> Self {
        let mut checksum = Checksum::new();
        checksum.add_words(&src.octets());
        checksum.add_words(&dst.octets());
        checksum.add_u64(u64::from(protocol) + u64::from(len));
        checksum
    }

    /// Adds `bytes`.
    #[inline]
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        self.add_native(sum_bytes(bytes));
        self.parity = self.parity.after(bytes.len());
    }

    /// Copies `from` to `to` and adds it on the way, which costs little more than the copy.
    ///
    /// # Panics
    /// When their lengths differ.
    #[inline(always)]
    pub fn copy_bytes(&mut self, to: &mut [u8], from: &[u8]) {
        self.add_native(simd::copy(to, from));
        self.parity = self.parity.after(from.len());
    }

    /// Adds a run of bytes that has been summed by itself.
    #[inline]
    pub fn add_run(&mut self, run: Checksum) {
        self.add_native(run.sum);
        if run.parity == Parity::Odd {
            self.parity = self.parity.after(1);
        }
    }

    /// Adds a header of whole 32-bit words, the cheap way for a few of them; bytes beyond the last whole
    /// word are not looked at.
    #[inline]
    pub fn add_words(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<4>();
        debug_assert!(rest.is_empty());
        let sum = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
        self.add_native(sum);
    }

    /// Adds eight bytes of a header.
    #[inline]
    pub fn add_chunk(&mut self, bytes: [u8; 8]) {
        self.add_native(u64::from_ne_bytes(bytes));
    }

    /// Adds the two bytes of a field.
    #[inline]
    pub fn add_u16(&mut self, value: u16) {
        self.add_native(u64::from(value.to_be()));
    }

    /// Adds the four bytes of a field.
    #[inline]
    pub fn add_u32(&mut self, value: u32) {
        self.add_native(u64::from(value.to_be()));
    }

    /// Adds the eight bytes of a field, of several fields packed together, or of an exact sum of fields:
    /// one's complement addition does not tell them apart.
    #[inline]
    pub fn add_u64(&mut self, value: u64) {
        self.add_native(value.to_be());
    }

    /// Adds `n` zero bytes: they weigh nothing and only shift what follows.
    #[inline]
    pub fn add_zeros(&mut self, n: usize) {
        self.parity = self.parity.after(n);
    }

    /// The complemented sum, as it stands in a header. Over data that already holds its checksum: 0.
    #[inline]
    pub fn finish(self) -> u16 {
        !fold(self.sum)
    }

    #[inline]
    fn add_native(&mut self, sum: u64) {
        let sum = match self.parity {
            Parity::Even => sum,
            Parity::Odd => sum.rotate_left(8),
        };
        self.sum = add_end_around(self.sum, sum);
    }
}

/// The folded sum of the 16-bit words in `bytes`, not complemented; 0xffff when `bytes` hold their own
/// checksum.
#[inline]
pub fn ones_complement_sum(bytes: &[u8]) -> u16 {
    fold(sum_bytes(bytes))
}

/// The checksum after one 16-bit word under it changed from `old` to `new` (RFC 1624, equation 3).
///
/// Equal to a recomputation, except over data that become all zeros, where this gives 0x0000 and a
/// recomputation 0xffff; both verify.
#[inline]
pub fn incremental_update(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

#[inline]
fn add_end_around(a: u64, b: u64) -> u64 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u64::from(carry)
}

/// The sum modulo 2^64-1 in the byte order of the machine.
#[inline]
fn sum_bytes(bytes: &[u8]) -> u64 {
    simd::sum(bytes)
}

/// The same, of eight bytes at a time in one chain of additions with carry.
#[inline]
fn sum_words(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let (mut sum, mut carry) = (0u64, false);
    for word in words {
        (sum, carry) = sum.carrying_add(u64::from_ne_bytes(*word), carry);
    }
    let last = if rest.is_empty() { 0 } else { last_word(rest) };
    add_end_around(add_end_around(sum, last), u64::from(carry))
}

/// Less than eight bytes as a word with zeros behind them.
#[inline]
fn last_word(bytes: &[u8]) -> u64 {
    let (mut sum, mut rest) = (0, bytes);
    if let Some((word, tail)) = rest.split_first_chunk::<4>() {
        sum += u64::from(u32::from_ne_bytes(*word));
        rest = tail;
    }
    if let Some((word, tail)) = rest.split_first_chunk::<2>() {
        sum += u64::from(u16::from_ne_bytes(*word));
        rest = tail;
    }
    if let [last] = *rest {
        sum += u64::from(u16::from_ne_bytes([last, 0]));
    }
    sum
}

/// Folds to 16 bits and turns to the value a big-endian header means.
#[inline]
fn fold(sum: u64) -> u16 {
    let (sum, carry) = (sum as u32).overflowing_add((sum >> 32) as u32);
    let sum = sum + u32::from(carry);
    let (sum, carry) = (sum as u16).overflowing_add((sum >> 16) as u16);
    u16::from_be(sum + u16::from(carry))
}
