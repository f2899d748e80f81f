//! SipHash-2-4 (Aumasson and Bernstein, 2012): a short keyed hash that nobody without the key can foretell.

use crate::tcp::Tuple;
use std::net::SocketAddr;

/// Bytes that an address and a port are hashed as.
const END_LEN: usize = 18;
/// Bytes that a connection's two ends are hashed as.
pub(super) const ENDS_LEN: usize = 2 * END_LEN;

/// A connection's two ends as a hash takes them.
pub(super) fn ends(tuple: &Tuple) -> [u8; ENDS_LEN] {
    let mut bytes = [0; ENDS_LEN];
    bytes[..END_LEN].copy_from_slice(&end(&tuple.local));
    bytes[END_LEN..].copy_from_slice(&end(&tuple.remote));
    bytes
}

fn end(of: &SocketAddr) -> [u8; END_LEN] {
    let ip = match of {
        SocketAddr::V4(v4) => v4.ip().to_ipv6_mapped(),
        SocketAddr::V6(v6) => *v6.ip(),
    };
    let mut bytes = [0; END_LEN];
    bytes[..16].copy_from_slice(&ip.octets());
    bytes[16..].copy_from_slice(&of.port().to_be_bytes());
    bytes
}

/// The hash of `bytes` under a key.
pub(super) fn siphash(key: [u64; 2], bytes: &[u8]) -> u64 {
    let mut v = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    last[7] = bytes.len() as u8;
    for word in words.iter().chain([&last]) {
        let word = u64::from_le_bytes(*word);
        v[3] ^= word;
        rounds(&mut v, 2);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    rounds(&mut v, 4);
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn rounds(v: &mut [u64; 4], n: usize) {
    let [mut a, mut b, mut c, mut d] = *v;
    for _ in 0..n {
        a = a.wrapping_add(b);
        b = b.rotate_left(13) ^ a;
        a = a.rotate_left(32);
        c = c.wrapping_add(d);
        d = d.rotate_left(16) ^ c;
        a = a.wrapping_add(d);
        d = d.rotate_left(21) ^ a;
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        c = c.rotate_left(32);
    }
    *v = [a, b, c, d];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_paper() {
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let bytes: Vec<u8> = (0..16).collect();
        assert_eq!(siphash(key, &bytes[..15]), 0xa129_ca61_49be_45e5);
        assert_eq!(siphash(key, &[]), 0x726f_db47_dd0e_0e31);
        assert_eq!(siphash(key, &bytes[..8]), 0x93f5_f579_9a93_2462);
    }
}
