use super::*;
use proptest::prelude::*;

/// The definition, word by word.
fn reference(bytes: &[u8]) -> u16 {
    let mut sum = 0u64;
    for pair in bytes.chunks(2) {
        sum += u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn checksum_of(bytes: &[u8]) -> u16 {
    let mut checksum = Checksum::new();
    checksum.add_bytes(bytes);
    checksum.finish()
}

#[test]
fn tcp_6_checksum_vectors() {
    let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(ones_complement_sum(&bytes), 0xddf2);
    assert_eq!(checksum_of(&bytes), 0x220d);
}

#[test]
fn edges() {
    assert_eq!(ones_complement_sum(&[]), 0);
    assert_eq!(Checksum::default().finish(), 0xffff);
    assert_eq!(ones_complement_sum(&[0xab]), 0xab00);
    assert_eq!(ones_complement_sum(&[0xff; 64]), 0xffff);
    assert_eq!(ones_complement_sum(&[0xff; 65_535]), reference(&[0xff; 65_535]));
    assert_eq!(incremental_update(!0x1234, 0x1234, 0), 0);
}

#[test]
fn pseudo_header_equals_its_bytes() {
    let (src, dst) = (Ipv4Addr::new(10, 1, 2, 3), Ipv4Addr::new(192, 168, 255, 254));
    let bytes = [10, 1, 2, 3, 192, 168, 255, 254, 0, 6, 0x12, 0x34];
    let checksum = Checksum::pseudo_header(src, dst, 6, 0x1234);
    assert_eq!(checksum.finish(), checksum_of(&bytes));
}

#[test]
fn every_length_at_every_start_equals_the_definition() {
    let bytes: Vec<u8> =
        (0..1700u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for start in 0..9 {
        for len in 0..=1600 {
            let run = &bytes[start..start + len];
            assert_eq!(ones_complement_sum(run), reference(run), "{len} bytes from {start}");
        }
    }
}

proptest! {
    #[test]
    fn equals_the_definition(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert_eq!(ones_complement_sum(&bytes), reference(&bytes));
        let mut checksum = Checksum::new();
        checksum.add_words(&bytes[..bytes.len() / 4 * 4]);
        checksum.add_bytes(&bytes[bytes.len() / 4 * 4..]);
        prop_assert_eq!(checksum.finish(), !reference(&bytes));
    }

    #[test]
    fn a_copy_is_equal_and_so_is_its_sum(
        lead in prop::collection::vec(any::<u8>(), 0..4),
        bytes in prop::collection::vec(any::<u8>(), 0..700),
        start in 0usize..40,
    ) {
        let from = &bytes[start.min(bytes.len())..];
        let mut copy = vec![0xaa; from.len() + 3];
        let (space, beyond) = copy.split_at_mut(from.len());
        let mut checksum = Checksum::new();
        checksum.add_bytes(&lead);
        checksum.copy_bytes(space, from);
        prop_assert_eq!(&space[..], from);
        prop_assert_eq!(beyond, [0xaa; 3]);
        prop_assert_eq!(checksum.finish(), !reference(&[&lead[..], from].concat()));
        let mut run = Checksum::new();
        run.add_bytes(from);
        let mut checksum = Checksum::new();
        checksum.add_bytes(&lead);
        checksum.add_run(run);
        checksum.add_bytes(&[1, 2, 3]);
        prop_assert_eq!(checksum.finish(), !reference(&[&lead[..], from, &[1, 2, 3]].concat()));
    }

    #[test]
    fn order_of_words_does_not_matter(
        (words, shuffled) in prop::collection::vec(any::<u16>(), 0..100)
            .prop_flat_map(|words| (Just(words.clone()), Just(words).prop_shuffle()))
    ) {
        let bytes = |words: &[u16]| words.iter().flat_map(|w| w.to_be_bytes()).collect::<Vec<_>>();
        prop_assert_eq!(
            ones_complement_sum(&bytes(&words)),
            ones_complement_sum(&bytes(&shuffled))
        );
    }

    #[test]
    fn swapped_bytes_give_the_swapped_sum(words in prop::collection::vec(any::<[u8; 2]>(), 0..100)) {
        let swapped: Vec<u8> = words.iter().flat_map(|w| [w[1], w[0]]).collect();
        prop_assert_eq!(
            ones_complement_sum(words.as_flattened()).swap_bytes(),
            ones_complement_sum(&swapped)
        );
    }

    #[test]
    fn pieces_make_the_whole(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8)
    ) {
        let mut checksum = Checksum::new();
        for piece in &pieces {
            checksum.add_bytes(piece);
        }
        prop_assert_eq!(checksum.finish(), !reference(&pieces.concat()));
    }

    #[test]
    fn fields_and_zeros_equal_their_bytes(
        lead in prop::collection::vec(any::<u8>(), 0..5),
        zeros in 0usize..9,
        a: u16,
        b: u32,
        c: u64,
    ) {
        let mut checksum = Checksum::new();
        checksum.add_bytes(&lead);
        checksum.add_zeros(zeros);
        checksum.add_u16(a);
        checksum.add_u32(b);
        checksum.add_u64(c);
        let mut bytes = lead;
        bytes.resize(bytes.len() + zeros, 0);
        bytes.extend_from_slice(&a.to_be_bytes());
        bytes.extend_from_slice(&b.to_be_bytes());
        bytes.extend_from_slice(&c.to_be_bytes());
        prop_assert_eq!(checksum.finish(), checksum_of(&bytes));
    }

    #[test]
    fn update_equals_recomputation(
        mut words in prop::collection::vec(any::<[u8; 2]>(), 1..50),
        at: prop::sample::Index,
        new: u16,
    ) {
        let before = checksum_of(words.as_flattened());
        let at = at.index(words.len());
        let old = u16::from_be_bytes(words[at]);
        words[at] = new.to_be_bytes();
        prop_assume!(words.as_flattened().iter().any(|&byte| byte != 0));
        prop_assert_eq!(incremental_update(before, old, new), checksum_of(words.as_flattened()));
    }
}
