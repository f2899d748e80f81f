//! The trunk header and its records: any bytes are survived, and what is read is what would be written.

use trunkline_core::wire::Error;
use trunkline_core::wire::trunk::{BUCKETS, CONTROL_LEN, HEADER_LEN, Kind, Record, Repr};

/// Reads the input as a datagram of a trunk, and once as a bare record.
pub fn trunk(input: &[u8]) {
    match Repr::parse(input) {
        Ok(repr) => {
            assert_eq!(repr.emit(), input[..HEADER_LEN]);
            match repr.kind {
                Kind::Data(turn) => {
                    assert!(turn.bucket < BUCKETS);
                    assert_eq!(turn.seq.plus(1).since(turn.seq), 1);
                }
                Kind::Probe | Kind::Feedback => record(&input[HEADER_LEN..]),
            }
        }
        Err(Error::Truncated) => assert!(input.len() < HEADER_LEN),
        Err(error) => assert_eq!(error, Error::Malformed),
    }
    record(input);
}

fn record(bytes: &[u8]) {
    const LEN: usize = CONTROL_LEN - HEADER_LEN;
    match Record::parse(bytes) {
        Ok(record) => assert_eq!(record.emit(), bytes[..LEN]),
        Err(error) => assert_eq!((error, bytes.len() < LEN), (Error::Truncated, true)),
    }
}
