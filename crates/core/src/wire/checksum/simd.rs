//! Sums of whole vectors, also while they are copied: with AVX2 where the processor has it, else eight
//! bytes at a time with carry. Every way gives a sum that folds to the same checksum.
//!
//! Where AVX2 only sums it multiplies and adds 16-bit words in pairs, but as signed ones: each word is taken
//! less 2^15, and as many times 2^15 is added at the end.
//!
//! Where it copies, the vector is in a register anyway, and it is cheaper to add in lanes of 64 bits, which
//! tells no carries. How many there were follows from an estimate of the sum that is less than half a carry
//! off, and means of the words' upper 16 bits give one: a tree of means takes less than one instruction a
//! vector.

#![allow(unsafe_code)]

use super::{VECTOR, add_end_around};

/// The sum of vectors, in words of the machine's byte order.
#[inline]
pub(super) fn sum(vectors: &[[u8; VECTOR]]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { avx2::sum(vectors) };
    }
    portable::sum(vectors)
}

/// Copies vectors and gives their sum.
#[inline]
pub(super) fn copy(to: &mut [[u8; VECTOR]], from: &[[u8; VECTOR]]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { avx2::copy(to, from) };
    }
    to.copy_from_slice(from);
    portable::sum(from)
}

mod portable {
    use super::{VECTOR, add_end_around};

    /// Words of eight bytes in one chain of additions with carry.
    pub(super) fn sum(vectors: &[[u8; VECTOR]]) -> u64 {
        let mut sum = 0u64;
        let mut carry = false;
        for vector in vectors {
            for word in vector.as_chunks::<8>().0 {
                (sum, carry) = sum.carrying_add(u64::from_ne_bytes(*word), carry);
            }
        }
        add_end_around(sum, u64::from(carry))
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{VECTOR, add_end_around};
    use std::arch::x86_64::*;

    /// Vectors after which the lanes are emptied. A vector adds at most 2^16 to a lane of 32 bits, and puts
    /// the estimate off by at most 4 of its units, of which half a carry has 2^15.
    const RUN: usize = 1 << 12;

    #[target_feature(enable = "avx2")]
    pub(super) fn sum(vectors: &[[u8; VECTOR]]) -> u64 {
        if vectors.len() > RUN {
            return sum_runs(vectors);
        }
        sum_run(vectors)
    }

    #[cold]
    #[target_feature(enable = "avx2")]
    #[inline(never)]
    fn sum_runs(vectors: &[[u8; VECTOR]]) -> u64 {
        vectors.chunks(RUN).fold(0, |sum, run| add_end_around(sum, self::sum(run)))
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn copy(to: &mut [[u8; VECTOR]], from: &[[u8; VECTOR]]) -> u64 {
        if from.len() > RUN {
            return copy_runs(to, from);
        }
        copy_run(to, from)
    }

    #[cold]
    #[target_feature(enable = "avx2")]
    #[inline(never)]
    fn copy_runs(to: &mut [[u8; VECTOR]], from: &[[u8; VECTOR]]) -> u64 {
        let runs = to[..from.len()].chunks_mut(RUN).zip(from.chunks(RUN));
        runs.fold(0, |sum, (to, from)| add_end_around(sum, self::copy(to, from)))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn sum_run(vectors: &[[u8; VECTOR]]) -> u64 {
        let mut pairs = Pairs { lanes: _mm256_setzero_si256() };
        let (eights, rest) = vectors.as_chunks::<8>();
        for [a, b, c, d, e, f, g, h] in eights {
            pairs.add_four([a, b, c, d]);
            pairs.add_four([e, f, g, h]);
        }
        let (fours, rest) = rest.as_chunks::<4>();
        if let [[a, b, c, d]] = fours {
            pairs.add_four([a, b, c, d]);
        }
        for vector in rest {
            pairs.add(vector);
        }
        pairs.total(vectors.len())
    }

    /// Copies as many vectors as `from` has and gives their sum. The last ones are written out one by one: a
    /// loop over them would be turned into a copy by the C library and a sum of its own.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn copy_run(to: &mut [[u8; VECTOR]], from: &[[u8; VECTOR]]) -> u64 {
        let mut quads = Quads { sums: _mm256_setzero_si256(), quarters: _mm256_setzero_si256() };
        let (eights, rest) = from.as_chunks::<8>();
        let (to_eights, to_rest) = to[..from.len()].as_chunks_mut::<8>();
        for ([ta, tb, tc, td, te, tf, tg, th], [a, b, c, d, e, f, g, h]) in
            to_eights.iter_mut().zip(eights)
        {
            quads.add_four([pass(ta, a), pass(tb, b), pass(tc, c), pass(td, d)]);
            quads.add_four([pass(te, e), pass(tf, f), pass(tg, g), pass(th, h)]);
        }
        let (fours, rest) = rest.as_chunks::<4>();
        let (to_fours, to_rest) = to_rest.as_chunks_mut::<4>();
        if let ([[ta, tb, tc, td]], [[a, b, c, d]]) = (to_fours, fours) {
            quads.add_four([pass(ta, a), pass(tb, b), pass(tc, c), pass(td, d)]);
        }
        if let ([to, ..], [from, ..]) = (&mut *to_rest, rest) {
            quads.add(pass(to, from));
        }
        if let ([_, to, ..], [_, from, ..]) = (&mut *to_rest, rest) {
            quads.add(pass(to, from));
        }
        if let ([_, _, to, ..], [_, _, from, ..]) = (to_rest, rest) {
            quads.add(pass(to, from));
        }
        quads.total()
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load(vector: &[u8; VECTOR]) -> __m256i {
        // SAFETY: it is as long, and the load asks for no alignment.
        unsafe { _mm256_loadu_si256(vector.as_ptr().cast()) }
    }

    /// Copies a vector and keeps it at hand.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn pass(to: &mut [u8; VECTOR], from: &[u8; VECTOR]) -> __m256i {
        let vector = load(from);
        // SAFETY: it is as long, and the store asks for no alignment.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), vector) };
        vector
    }

    /// Sums of pairs of words, each less 2^15, in eight lanes of 32 bits.
    struct Pairs {
        lanes: __m256i,
    }

    impl Pairs {
        #[target_feature(enable = "avx2")]
        #[inline]
        fn add(&mut self, vector: &[u8; VECTOR]) {
            let less = _mm256_xor_si256(load(vector), _mm256_set1_epi16(i16::MIN));
            let pairs = _mm256_madd_epi16(less, _mm256_set1_epi16(1));
            self.lanes = _mm256_add_epi32(self.lanes, pairs);
        }

        #[target_feature(enable = "avx2")]
        #[inline]
        fn add_four(&mut self, [a, b, c, d]: [&[u8; VECTOR]; 4]) {
            self.add(a);
            self.add(b);
            self.add(c);
            self.add(d);
        }

        /// What the lanes hold of so many vectors.
        #[target_feature(enable = "avx2")]
        #[inline]
        fn total(&self, vectors: usize) -> u64 {
            let (low, high) =
                (_mm256_castsi256_si128(self.lanes), _mm256_extracti128_si256::<1>(self.lanes));
            let wide = _mm256_add_epi64(_mm256_cvtepi32_epi64(low), _mm256_cvtepi32_epi64(high));
            let taken_off = (vectors * VECTOR / 2) as u64 * (1 << 15);
            across(wide).wrapping_add(taken_off)
        }
    }

    /// Sums in four lanes of 64 bits.
    struct Quads {
        /// Of all words, without the carries.
        sums: __m256i,
        /// A quarter of the words' upper 16 bits, about.
        quarters: __m256i,
    }

    impl Quads {
        #[target_feature(enable = "avx2")]
        #[inline]
        fn add(&mut self, vector: __m256i) {
            self.sums = _mm256_add_epi64(self.sums, vector);
            self.quarters = _mm256_add_epi64(self.quarters, _mm256_srli_epi64::<50>(vector));
        }

        #[target_feature(enable = "avx2")]
        #[inline]
        fn add_four(&mut self, [a, b, c, d]: [__m256i; 4]) {
            self.sums = _mm256_add_epi64(self.sums, a);
            self.sums = _mm256_add_epi64(self.sums, b);
            self.sums = _mm256_add_epi64(self.sums, c);
            self.sums = _mm256_add_epi64(self.sums, d);
            let mean = _mm256_avg_epu16(_mm256_avg_epu16(a, b), _mm256_avg_epu16(c, d));
            self.quarters = _mm256_add_epi64(self.quarters, _mm256_srli_epi64::<48>(mean));
        }

        /// What the lanes hold, with as many carries as bring the sums nearest to the estimate.
        #[target_feature(enable = "avx2")]
        #[inline]
        fn total(&self) -> u64 {
            let estimate = _mm256_slli_epi64::<2>(self.quarters);
            let missing = _mm256_sub_epi64(estimate, _mm256_srli_epi64::<48>(self.sums));
            let half = _mm256_set1_epi64x(1 << 15);
            let carries = _mm256_srli_epi64::<16>(_mm256_add_epi64(missing, half));
            let low = _mm256_and_si256(self.sums, _mm256_set1_epi64x(0xffff_ffff));
            let high = _mm256_add_epi64(_mm256_srli_epi64::<32>(self.sums), carries);
            across(_mm256_add_epi64(low, high))
        }
    }

    /// The sum of the four lanes, modulo 2^64.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn across(lanes: __m256i) -> u64 {
        let halves =
            _mm_add_epi64(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256::<1>(lanes));
        let other = _mm_unpackhi_epi64(halves, halves);
        _mm_cvtsi128_si64(_mm_add_epi64(halves, other)) as u64
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
            seed in prop::collection::vec(any::<u8>(), 1..4 * VECTOR),
            vectors in 0usize..160,
        ) {
            let bytes: Vec<u8> = seed.iter().copied().cycle().take(vectors * VECTOR).collect();
            let (from, _) = bytes.as_chunks::<VECTOR>();
            let plain = fold(portable::sum(from));
            prop_assert_eq!(fold(sum(from)), plain);
            let mut to = vec![[0; VECTOR]; vectors];
            prop_assert_eq!(fold(copy(&mut to, from)), plain);
            prop_assert_eq!(to.as_flattened(), &bytes[..]);
        }
    }

    #[test]
    fn no_carry_is_missed_in_a_long_run() {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            for count in [1, 7, 4095, 4096, 40_000] {
                let vectors = vec![[byte; VECTOR]; count];
                assert_eq!(fold(sum(&vectors)), fold(portable::sum(&vectors)), "{count} of {byte}");
            }
        }
    }
}
