//! Sums of whole blocks, also while they are copied: with AVX2 where the processor has it, else eight
//! bytes at a time with carry. Every way gives a sum that folds to the same checksum.
//!
//! AVX2 multiplies and adds 16-bit words in pairs, but as signed ones: each word is taken less 2^15, and
//! as many times 2^15 is added at the end.

#![allow(unsafe_code)]

use super::{BLOCK, add_end_around};

/// The sum of blocks, in words of the machine's byte order.
#[inline]
pub(super) fn sum_blocks(blocks: &[[u8; BLOCK]]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { avx2::sum_blocks(blocks) };
    }
    portable::sum_blocks(blocks)
}

/// Copies blocks and gives their sum.
#[inline]
pub(super) fn copy_blocks(to: &mut [[u8; BLOCK]], from: &[[u8; BLOCK]]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { avx2::copy_blocks(to, from) };
    }
    to.copy_from_slice(from);
    portable::sum_blocks(from)
}

mod portable {
    use super::{BLOCK, add_end_around};

    /// Words of eight bytes in one chain of additions with carry.
    pub(super) fn sum_blocks(blocks: &[[u8; BLOCK]]) -> u64 {
        let mut sum = 0u64;
        let mut carry = false;
        for block in blocks {
            for word in block.as_chunks::<8>().0 {
                (sum, carry) = sum.carrying_add(u64::from_ne_bytes(*word), carry);
            }
        }
        add_end_around(sum, u64::from(carry))
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::BLOCK;
    use std::arch::x86_64::*;

    /// Bytes of a vector.
    const VECTOR: usize = 32;
    /// Blocks after which the 32-bit lanes are emptied: a block adds at most 2^18 to a lane.
    const RUN: usize = 1 << 12;
    /// What was taken off the words of a block: 2^15 each.
    const BIAS: u64 = (BLOCK as u64 / 2) << 15;

    fn vectors(block: &[u8; BLOCK]) -> &[[u8; VECTOR]; BLOCK / VECTOR] {
        block.as_chunks().0.first_chunk().expect("a block is four vectors")
    }

    fn vectors_mut(block: &mut [u8; BLOCK]) -> &mut [[u8; VECTOR]; BLOCK / VECTOR] {
        block.as_chunks_mut().0.first_chunk_mut().expect("a block is four vectors")
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn sum_blocks(blocks: &[[u8; BLOCK]]) -> u64 {
        let mut sum = 0;
        for run in blocks.chunks(RUN) {
            let mut lanes = _mm256_setzero_si256();
            for [a, b, c, d] in run.iter().map(vectors) {
                lanes = add(add(lanes, load(a)), load(b));
                lanes = add(add(lanes, load(c)), load(d));
            }
            sum += total(lanes, run.len());
        }
        sum
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn copy_blocks(to: &mut [[u8; BLOCK]], from: &[[u8; BLOCK]]) -> u64 {
        let mut sum = 0;
        for (to, from) in to.chunks_mut(RUN).zip(from.chunks(RUN)) {
            let mut lanes = _mm256_setzero_si256();
            for (to, [a, b, c, d]) in to.iter_mut().zip(from.iter().map(vectors)) {
                let [to_a, to_b, to_c, to_d] = vectors_mut(to);
                lanes = add(add(lanes, copy(to_a, a)), copy(to_b, b));
                lanes = add(add(lanes, copy(to_c, c)), copy(to_d, d));
            }
            sum += total(lanes, from.len());
        }
        sum
    }

    #[target_feature(enable = "avx2")]
    fn load(vector: &[u8; VECTOR]) -> __m256i {
        // SAFETY: it is as long, and the load asks for no alignment.
        unsafe { _mm256_loadu_si256(vector.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx2")]
    fn copy(to: &mut [u8; VECTOR], from: &[u8; VECTOR]) -> __m256i {
        let words = load(from);
        // SAFETY: it is as long, and the store asks for no alignment.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), words) };
        words
    }

    /// Adds the words of a vector, less 2^15 each, to eight lanes.
    #[target_feature(enable = "avx2")]
    fn add(lanes: __m256i, words: __m256i) -> __m256i {
        let less = _mm256_xor_si256(words, _mm256_set1_epi16(i16::MIN));
        _mm256_add_epi32(lanes, _mm256_madd_epi16(less, _mm256_set1_epi16(1)))
    }

    /// What the lanes hold of so many blocks.
    #[target_feature(enable = "avx2")]
    fn total(lanes: __m256i, blocks: usize) -> u64 {
        let (low, high) = (_mm256_castsi256_si128(lanes), _mm256_extracti128_si256::<1>(lanes));
        let wide = _mm256_add_epi64(_mm256_cvtepi32_epi64(low), _mm256_cvtepi32_epi64(high));
        let halves =
            _mm_add_epi64(_mm256_castsi256_si128(wide), _mm256_extracti128_si256::<1>(wide));
        let sum = _mm_extract_epi64::<0>(halves).wrapping_add(_mm_extract_epi64::<1>(halves));
        sum.wrapping_add_unsigned(blocks as u64 * BIAS) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::fold;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_way_gives_the_same_checksum(
            seed in prop::collection::vec(any::<u8>(), 1..BLOCK),
            blocks in 0usize..40,
        ) {
            let bytes: Vec<u8> = seed.iter().copied().cycle().take(blocks * BLOCK).collect();
            let (from, _) = bytes.as_chunks::<BLOCK>();
            let plain = fold(portable::sum_blocks(from));
            prop_assert_eq!(fold(sum_blocks(from)), plain);
            let mut to = vec![[0; BLOCK]; blocks];
            prop_assert_eq!(fold(copy_blocks(&mut to, from)), plain);
            prop_assert_eq!(to.as_flattened(), &bytes[..]);
        }
    }

    #[test]
    fn lanes_never_overflow() {
        for byte in [0, 0x7f, 0x80, 0xff] {
            let blocks = vec![[byte; BLOCK]; 10_000];
            assert_eq!(fold(sum_blocks(&blocks)), fold(portable::sum_blocks(&blocks)), "{byte}");
        }
    }
}
