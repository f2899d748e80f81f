//! What is written is read again, and nothing read can harm.

use super::*;
use proptest::prelude::*;

fn kind() -> impl Strategy<Value = Kind> {
    let data = (0..BUCKETS, any::<u32>())
        .prop_map(|(bucket, seq)| Kind::Data(Turn { bucket, seq: BucketSeq::new(seq) }));
    prop_oneof![4 => data, 1 => Just(Kind::Probe), 1 => Just(Kind::Feedback)]
}

proptest! {
    #[test]
    fn headers_round_trip(receiver: u32, path_seq: u32, timestamp: u32, kind in kind()) {
        let repr = Repr { receiver, path_seq, kind, timestamp };
        prop_assert_eq!(Repr::parse(&repr.emit()), Ok(repr));
    }

    #[test]
    fn what_parses_is_what_would_be_written(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        match Repr::parse(&bytes) {
            Ok(repr) => prop_assert_eq!(&repr.emit()[..], &bytes[..HEADER_LEN]),
            Err(Error::Truncated) => prop_assert!(bytes.len() < HEADER_LEN),
            Err(_) => prop_assert_eq!((bytes[8], bytes[9] >> 4), (0xff, 0xf)),
        }
        let data = matches!(Repr::parse(&bytes), Ok(Repr { kind: Kind::Data(_), .. }));
        prop_assert_eq!(is_data(&bytes), data);
        if let Ok(record) = Record::parse(&bytes) {
            prop_assert_eq!(&record.emit()[..], &bytes[..RECORD_LEN]);
        }
    }

    #[test]
    fn distances_wrap(a: u32, n in -(1i32 << 19)..1 << 19) {
        let from = BucketSeq::new(a);
        prop_assert_eq!(from.plus(n.cast_unsigned()).since(from), n);
    }
}
