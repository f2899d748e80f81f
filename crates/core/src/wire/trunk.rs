//! The clear trunk header: 16 bytes in front of every packet between two ends of a trunk, in network
//! byte order. Ours; no standard.
//!
//! ```text
//! receiver index 32 | path sequence 32 | flow bucket 12, bucket sequence 20 | timestamp 32
//! ```
//! The receiver index tells which bond a datagram is for, so that one port serves many. The path
//! sequence counts every datagram of one path, control included: gaps in it are losses. Packets of one
//! flow share a bucket, and the bucket's sequence is the order they were committed in, whatever path they
//! took. The timestamp is the sender's clock in microseconds when the last bit should be out.
//!
//! Bucket 4095 is control: the sequence field is the kind, and a [`Record`] follows.

use super::Error;

#[cfg(test)]
mod tests;

/// Bytes of the header.
pub const HEADER_LEN: usize = 16;
/// Bytes of a control datagram: header and record.
pub const CONTROL_LEN: usize = HEADER_LEN + RECORD_LEN;
/// Flow buckets: the numbers below this.
pub const BUCKETS: u16 = 4095;

const SEQ_BITS: u32 = 20;
const SEQ_MASK: u32 = (1 << SEQ_BITS) - 1;
const RECORD_LEN: usize = 28;
const PROBE: u32 = 1;
const FEEDBACK: u32 = 2;

/// A bucket's sequence number: 20 bits, compared by serial arithmetic (RFC 1982).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct BucketSeq(u32);

impl BucketSeq {
    /// The number in the low 20 bits.
    pub const fn new(value: u32) -> Self {
        BucketSeq(value & SEQ_MASK)
    }
    /// As a plain number below 2^20.
    pub const fn value(self) -> u32 {
        self.0
    }
    /// The number `n` later.
    pub const fn plus(self, n: u32) -> Self {
        BucketSeq::new(self.0.wrapping_add(n))
    }
    /// How far this is behind `other` in the order of sending; negative when before it.
    pub const fn since(self, other: BucketSeq) -> i32 {
        const UNUSED: u32 = 32 - SEQ_BITS;
        (self.0.wrapping_sub(other.0) << UNUSED).cast_signed() >> UNUSED
    }
}

/// Where a packet stands in its flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Turn {
    /// The flow's bucket, below [`BUCKETS`].
    pub bucket: u16,
    /// Its place in the bucket.
    pub seq: BucketSeq,
}

/// What a datagram is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Kind {
    /// A packet of somebody's flow follows.
    Data(Turn),
    /// A record follows, and one is wanted back at once.
    Probe,
    /// A record follows.
    Feedback,
}

/// What a header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Repr {
    /// The receiver's number for the bond.
    pub receiver: u32,
    /// Counts the datagrams of the path.
    pub path_seq: u32,
    /// What follows.
    pub kind: Kind,
    /// Microseconds of the sender's clock; wraps.
    pub timestamp: u32,
}

/// Whether a datagram carries a packet, and no record, behind its header.
pub fn is_data(datagram: &[u8]) -> bool {
    let place = datagram.first_chunk::<HEADER_LEN>().map(|header| word(header, 2));
    place.is_some_and(|place| (place >> SEQ_BITS) < u32::from(BUCKETS))
}

fn word(bytes: &[u8], index: usize) -> u32 {
    let at = 4 * index;
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl Repr {
    /// Reads the header of a datagram.
    ///
    /// # Errors
    /// [`Error::Truncated`] when there are fewer than 16 bytes, [`Error::Malformed`] for an unknown kind
    /// of control.
    pub fn parse(bytes: &[u8]) -> Result<Repr, Error> {
        let header: &[u8; HEADER_LEN] = bytes.first_chunk().ok_or(Error::Truncated)?;
        let place = word(header, 2);
        let (bucket, low) = ((place >> SEQ_BITS) as u16, place & SEQ_MASK);
        let kind = match (bucket, low) {
            (..BUCKETS, seq) => Kind::Data(Turn { bucket, seq: BucketSeq(seq) }),
            (_, PROBE) => Kind::Probe,
            (_, FEEDBACK) => Kind::Feedback,
            _ => return Err(Error::Malformed),
        };
        let (receiver, path_seq) = (word(header, 0), word(header, 1));
        Ok(Repr { receiver, path_seq, kind, timestamp: word(header, 3) })
    }

    /// The header's bytes.
    pub fn emit(&self) -> [u8; HEADER_LEN] {
        let control = u32::from(BUCKETS) << SEQ_BITS;
        let place = match self.kind {
            Kind::Data(turn) => u32::from(turn.bucket) << SEQ_BITS | turn.seq.value(),
            Kind::Probe => control | PROBE,
            Kind::Feedback => control | FEEDBACK,
        };
        let mut bytes = [0; HEADER_LEN];
        let words = [self.receiver, self.path_seq, place, self.timestamp];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }
}

/// What one end tells the other about what it has received over a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct Record {
    /// The sender's incarnation: another one means that it began anew, sequences too.
    pub epoch: u32,
    /// Datagrams received over this path; with none the fields up to `delay` say nothing.
    pub received: u32,
    /// The highest path sequence received.
    pub highest: u32,
    /// The timestamp of the last datagram received.
    pub echo: u32,
    /// Microseconds from its arrival until this record should be out.
    pub hold: u32,
    /// The receiver's clock minus the sender's timestamp in microseconds, the least since the last
    /// record: a one-way delay plus a constant that is the same for all paths of the two ends.
    pub delay: u32,
    /// Microseconds after which the next record can be expected while data flows.
    pub every: u32,
}

impl Record {
    /// Reads the record behind a control header.
    ///
    /// # Errors
    /// [`Error::Truncated`] when there are too few bytes.
    pub fn parse(bytes: &[u8]) -> Result<Record, Error> {
        let bytes: &[u8; RECORD_LEN] = bytes.first_chunk().ok_or(Error::Truncated)?;
        Ok(Record {
            epoch: word(bytes, 0),
            received: word(bytes, 1),
            highest: word(bytes, 2),
            echo: word(bytes, 3),
            hold: word(bytes, 4),
            delay: word(bytes, 5),
            every: word(bytes, 6),
        })
    }

    /// The record's bytes.
    pub fn emit(&self) -> [u8; RECORD_LEN] {
        let Record { epoch, received, highest, echo, hold, delay, every } = *self;
        let mut bytes = [0; RECORD_LEN];
        let words = [epoch, received, highest, echo, hold, delay, every];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }
}
