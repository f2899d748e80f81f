//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624, equation 3).
//!
//! The sum is kept modulo 2^64-1 in the byte order of the machine: since 2^16-1 divides 2^64-1 and
//! swapping bytes only multiplies by 256, folding and one swap at the end give the sum of the 16-bit
//! words. A run of bytes that starts at an odd offset is the same run rotated by eight bits.

use std::net::Ipv4Addr;

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

impl Checksum {
    /// The checksum of nothing.
    #[inline]
    pub const fn new() -> Self {
        Checksum {
            sum: 0,
            parity: Parity::Even,
        }
    }

    /// Starts with the IPv4 pseudo-header of TCP and UDP (RFC 9293, 3.1); `len` is that of the header
    /// and the payload together.
    #[inline]
    pub fn pseudo_header(src: Ipv4Addr, dst: Ipv4Addr, protocol: u8, len: u32) -> Self {
        let mut checksum = Checksum::new();
        checksum.add_u64(u64::from(src.to_bits()) << 32 | u64::from(dst.to_bits()));
        checksum.add_u64(u64::from(protocol) << 32 | u64::from(len));
        checksum
    }

    /// Adds `bytes`.
    #[inline]
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        self.add_native(sum_bytes(bytes));
        self.parity = self.parity.after(bytes.len());
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

    /// Adds the eight bytes of a field or of several fields packed together.
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
    // The upper half counts the carries: they leave the chain of additions free of dependencies.
    let mut sum = 0u128;
    let (words, mut rest) = bytes.as_chunks::<8>();
    for word in words {
        sum += u128::from(u64::from_ne_bytes(*word));
    }
    if let Some((word, tail)) = rest.split_first_chunk::<4>() {
        sum += u128::from(u32::from_ne_bytes(*word));
        rest = tail;
    }
    if let Some((word, tail)) = rest.split_first_chunk::<2>() {
        sum += u128::from(u16::from_ne_bytes(*word));
        rest = tail;
    }
    if let [last] = *rest {
        sum += u128::from(u16::from_ne_bytes([last, 0]));
    }
    add_end_around(sum as u64, (sum >> 64) as u64)
}

/// Folds to 16 bits and turns to the value a big-endian header means.
#[inline]
fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    u16::from_be(sum as u16)
}
