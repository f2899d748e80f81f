//! Sums of longer runs of bytes, also while they are copied: with AVX2 where the processor has it, else eight
//! bytes at a time with carry. Every way gives a sum that folds to the same checksum.
//!
//! With AVX2 they are added in lanes of 64 bits, which tells no carries. How many there were follows from an
//! estimate of the sum that is less than half a carry off, and means of the words' upper 16 bits give one:
//! a tree of means takes about one instruction a vector. What is no whole vector is the end of the last 32
//! bytes, with zeros in place of what has been added before.

#![allow(unsafe_code)]

use super::sum_words;

/// Runs of so many bytes pay, and their estimate is good enough.
#[cfg(target_arch = "x86_64")]
const LENGTHS: std::ops::RangeInclusive<usize> = 64..=1 << 17;

/// The sum of `bytes`, in words of the machine's byte order.
#[inline]
pub(super) fn sum(bytes: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if LENGTHS.contains(&bytes.len()) && is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, and there is more than a vector.
        return unsafe { avx2::sum(bytes) };
    }
    sum_words(bytes)
}

/// Copies `from` to `to`, which has to be as long, and gives its sum.
#[inline(always)]
pub(super) fn copy(to: &mut [u8], from: &[u8]) -> u64 {
    assert_eq!(to.len(), from.len(), "lengths of a copy");
    #[cfg(target_arch = "x86_64")]
    if LENGTHS.contains(&from.len()) && is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, there is more than a vector, and as much room.
        return unsafe { avx2::copy(to, from) };
    }
    if from.is_empty() {
        return 0;
    }
    to.copy_from_slice(from);
    sum_words(from)
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    /// Bytes of a vector.
    const VECTOR: usize = 32;

    /// From its n-th byte on a mask for all but the last n bytes of a vector.
    static MASKS: [[u8; VECTOR]; 2] = [[0; VECTOR], [0xff; VECTOR]];

    /// # Safety
    /// There is at least a vector, and not more than [`super::LENGTHS`] says.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn sum(bytes: &[u8]) -> u64 {
        let (even, odd) = (bytes.len() & !1, bytes.len() & 1);
        let (mut lanes, mut from) = (Lanes::new(), bytes.as_ptr());
        // SAFETY: the steps take as many vectors as there are.
        unsafe {
            lanes.add_end(load(from.add(even - VECTOR)), even);
            for _ in 0..even / (8 * VECTOR) {
                from = lanes.step::<8>(from);
            }
            if even & (4 * VECTOR) != 0 {
                from = lanes.step::<4>(from);
            }
            if even & (2 * VECTOR) != 0 {
                from = lanes.step::<2>(from);
            }
            if even & VECTOR != 0 {
                lanes.step::<1>(from);
            }
        }
        match odd {
            0 => lanes.total(),
            _ => lanes.total() + u64::from(bytes[even]),
        }
    }

    /// # Safety
    /// As for [`sum`], and `to` is as long as `from`.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn copy(to: &mut [u8], from: &[u8]) -> u64 {
        let (even, odd) = (from.len() & !1, from.len() & 1);
        let mut lanes = Lanes::new();
        let mut at = (to.as_mut_ptr(), from.as_ptr());
        // SAFETY: as in `sum`; what is written lies where in `from` it is read.
        unsafe {
            let end = load(at.1.add(even - VECTOR));
            store(at.0.add(even - VECTOR), end);
            lanes.add_end(end, even);
            for _ in 0..even / (8 * VECTOR) {
                at = lanes.step_copy::<8>(at);
            }
            if even & (4 * VECTOR) != 0 {
                at = lanes.step_copy::<4>(at);
            }
            if even & (2 * VECTOR) != 0 {
                at = lanes.step_copy::<2>(at);
            }
            if even & VECTOR != 0 {
                lanes.step_copy::<1>(at);
            }
        }
        match odd {
            0 => lanes.total(),
            _ => {
                to[even] = from[even];
                lanes.total() + u64::from(from[even])
            }
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn load(from: *const u8) -> __m256i {
        // SAFETY: the caller has a vector there, and the load asks for no alignment.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn store(to: *mut u8, vector: __m256i) {
        // SAFETY: the caller has room for a vector there, and the store asks for no alignment.
        unsafe { _mm256_storeu_si256(to.cast(), vector) }
    }

    /// Sums in four lanes of 64 bits.
    struct Lanes {
        /// Of all words, without the carries.
        sums: __m256i,
        /// An eighth of the words' upper 16 bits, about: at most 12 eighths off for every eight vectors, and
        /// half a carry is 2^15.
        eighths: __m256i,
    }

    impl Lanes {
        #[target_feature(enable = "avx2")]
        #[inline]
        fn new() -> Lanes {
            Lanes { sums: _mm256_setzero_si256(), eighths: _mm256_setzero_si256() }
        }

        /// Adds `N` vectors: 8, 4, 2 or 1.
        #[target_feature(enable = "avx2")]
        #[inline]
        fn add<const N: usize>(&mut self, vectors: [__m256i; N]) {
            let (mut means, mut count) = (vectors, N);
            while count > 1 {
                count /= 2;
                for n in 0..count {
                    means[n] = _mm256_avg_epu16(means[n], means[n + count]);
                }
            }
            let eighths = match N {
                8 => _mm256_srli_epi64::<48>(means[0]),
                4 => _mm256_srli_epi64::<49>(means[0]),
                2 => _mm256_srli_epi64::<50>(means[0]),
                _ => _mm256_srli_epi64::<51>(means[0]),
            };
            self.eighths = _mm256_add_epi64(self.eighths, eighths);
            for vector in vectors {
                self.sums = _mm256_add_epi64(self.sums, vector);
            }
        }

        /// Adds what the end of a run of `len` bytes has beyond whole vectors.
        #[target_feature(enable = "avx2")]
        #[inline]
        fn add_end(&mut self, end: __m256i, len: usize) {
            // SAFETY: the masks are in one run of bytes, and the rest is less than a vector.
            let mask = unsafe { load(MASKS.as_flattened().as_ptr().add(len % VECTOR)) };
            self.add([_mm256_and_si256(end, mask)]);
        }

        /// Adds `N` vectors; returns what is behind them.
        #[target_feature(enable = "avx2")]
        #[inline]
        unsafe fn step<const N: usize>(&mut self, from: *const u8) -> *const u8 {
            let mut vectors = [_mm256_setzero_si256(); N];
            for (n, vector) in vectors.iter_mut().enumerate() {
                // SAFETY: the caller has so many vectors there.
                *vector = unsafe { load(from.add(n * VECTOR)) };
            }
            self.add(vectors);
            // SAFETY: so many were there.
            unsafe { from.add(N * VECTOR) }
        }

        /// Adds `N` vectors and copies them; returns what is behind them.
        #[target_feature(enable = "avx2")]
        #[inline]
        unsafe fn step_copy<const N: usize>(
            &mut self,
            (to, from): (*mut u8, *const u8),
        ) -> (*mut u8, *const u8) {
            let mut vectors = [_mm256_setzero_si256(); N];
            for (n, vector) in vectors.iter_mut().enumerate() {
                // SAFETY: the caller has so many vectors there, and as much room.
                unsafe {
                    *vector = load(from.add(n * VECTOR));
                    store(to.add(n * VECTOR), *vector);
                }
            }
            self.add(vectors);
            // SAFETY: so many were there.
            unsafe { (to.add(N * VECTOR), from.add(N * VECTOR)) }
        }

        /// What the lanes hold, with as many carries as bring the sums nearest to the estimate.
        #[target_feature(enable = "avx2")]
        #[inline]
        fn total(&self) -> u64 {
            let estimate = _mm256_slli_epi64::<3>(self.eighths);
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
            seed in prop::collection::vec(any::<u8>(), 1..160),
            len in 0usize..5000,
        ) {
            let bytes: Vec<u8> = seed.iter().copied().cycle().take(len).collect();
            let plain = fold(sum_words(&bytes));
            prop_assert_eq!(fold(sum(&bytes)), plain);
            let mut to = vec![0; len];
            prop_assert_eq!(fold(copy(&mut to, &bytes)), plain);
            prop_assert_eq!(to, bytes);
        }
    }

    #[test]
    fn no_carry_is_missed() {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            for len in (0..400).chain([131_072, 131_077, 1_300_000]) {
                let bytes = vec![byte; len];
                let plain = fold(sum_words(&bytes));
                assert_eq!(fold(sum(&bytes)), plain, "{len} of {byte}");
                let mut to = vec![!byte; len];
                assert_eq!(fold(copy(&mut to, &bytes)), plain, "{len} of {byte}, copied");
                assert_eq!(to, bytes);
            }
        }
    }
}
