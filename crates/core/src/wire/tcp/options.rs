//! TCP options: parsed leniently, sent in one fixed layout.
//!
//! Sent in this order, every group a multiple of four bytes: MSS; timestamps with SACK-permitted or two
//! NOPs before them (RFC 7323, appendix A); NOP and window scale; two NOPs and SACK blocks.

use super::Error;
use crate::seq::SeqNumber;

/// Bytes of options a header can hold.
pub(super) const LEN_MAX: usize = 40;

/// SACK blocks a header can hold (RFC 2018, 3).
pub const SACK_BLOCKS_MAX: usize = 4;

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

const TIMESTAMPS_LEN: u8 = 10;
const SACK_BLOCK_LEN: usize = 8;

/// What almost every segment carries: NOP, NOP, timestamps.
pub(super) const ALIGNED_TIMESTAMPS: u32 =
    u32::from_be_bytes([NOP, NOP, TIMESTAMPS, TIMESTAMPS_LEN]);

/// The timestamps option (RFC 7323, 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the peer's clock, echoed.
    pub echo: u32,
}

/// Up to [`SACK_BLOCKS_MAX`] runs of bytes received out of order: left edge, and right edge exclusive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    blocks: [(SeqNumber, SeqNumber); SACK_BLOCKS_MAX],
    len: u8,
}

impl SackBlocks {
    /// No blocks.
    pub const fn new() -> Self {
        SackBlocks { blocks: [(SeqNumber(0), SeqNumber(0)); SACK_BLOCKS_MAX], len: 0 }
    }

    /// Appends the bytes from `left` to before `right`; once full, further blocks are left out, since
    /// the first ones tell the most recent news.
    #[inline]
    pub fn push(&mut self, left: SeqNumber, right: SeqNumber) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.len)) {
            *slot = (left, right);
            self.len += 1;
        }
    }

    /// The blocks, first to last.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (SeqNumber, SeqNumber)> + '_ {
        self.blocks[..self.len()].iter().copied()
    }

    /// How many blocks there are.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether there is no block.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The options of one segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Largest segment the sender takes, in bytes of payload.
    pub mss: Option<u16>,
    /// Shift count of the sender's later windows, as sent.
    pub window_scale: Option<u8>,
    /// Whether the sender takes SACK blocks.
    pub sack_permitted: bool,
    /// What the sender holds beyond the acknowledgment.
    pub sack: SackBlocks,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
}

impl Options {
    /// Bytes the options take, padding included: a multiple of four, at most 40.
    #[inline]
    pub fn len(&self) -> usize {
        let before_sack = self.len_before_sack();
        if self.sack.is_empty() {
            return before_sack;
        }
        match self.sack_fitting(before_sack) {
            0 => before_sack,
            blocks => before_sack + 4 + blocks * SACK_BLOCK_LEN,
        }
    }

    /// Whether there is no option.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn len_before_sack(&self) -> usize {
        let mss = if self.mss.is_some() { 4 } else { 0 };
        let window_scale = if self.window_scale.is_some() { 4 } else { 0 };
        let timestamps = match (self.timestamps, self.sack_permitted) {
            (Some(_), _) => 12,
            (None, true) => 4,
            (None, false) => 0,
        };
        mss + window_scale + timestamps
    }

    /// How many SACK blocks fit after `before` bytes of other options.
    #[inline]
    fn sack_fitting(&self, before: usize) -> usize {
        self.sack.len().min((LEN_MAX - 4 - before) / SACK_BLOCK_LEN)
    }

    /// Reads the option bytes of a header.
    #[inline]
    pub(super) fn parse(bytes: &[u8]) -> Result<Options, Error> {
        if let Ok(&[a, b, c, d, v0, v1, v2, v3, e0, e1, e2, e3]) = <&[u8; 12]>::try_from(bytes)
            && u32::from_be_bytes([a, b, c, d]) == ALIGNED_TIMESTAMPS
        {
            return Ok(Options {
                timestamps: Some(Timestamps {
                    value: u32::from_be_bytes([v0, v1, v2, v3]),
                    echo: u32::from_be_bytes([e0, e1, e2, e3]),
                }),
                ..Options::default()
            });
        }
        Self::parse_any(bytes)
    }

    /// Reads options in any order and layout. Kinds not known are skipped by their length.
    fn parse_any(mut bytes: &[u8]) -> Result<Options, Error> {
        let mut options = Options::default();
        while let [kind, rest @ ..] = bytes {
            match *kind {
                END => break,
                NOP => bytes = rest,
                kind => {
                    let [len, rest @ ..] = rest else {
                        return Err(Error::Malformed);
                    };
                    let data_len = usize::from(*len).checked_sub(2).ok_or(Error::Malformed)?;
                    let (data, rest) = rest.split_at_checked(data_len).ok_or(Error::Malformed)?;
                    options.take(kind, data)?;
                    bytes = rest;
                }
            }
        }
        Ok(options)
    }

    /// Keeps one option; `data` is what follows its kind and length.
    fn take(&mut self, kind: u8, data: &[u8]) -> Result<(), Error> {
        match (kind, data) {
            (MSS, &[a, b]) => self.mss = Some(u16::from_be_bytes([a, b])),
            (WINDOW_SCALE, &[shift]) => self.window_scale = Some(shift),
            (SACK_PERMITTED, []) => self.sack_permitted = true,
            (SACK, [_, ..]) if data.len().is_multiple_of(SACK_BLOCK_LEN) => {
                for &[l0, l1, l2, l3, r0, r1, r2, r3] in data.as_chunks::<SACK_BLOCK_LEN>().0 {
                    self.sack.push(
                        SeqNumber(u32::from_be_bytes([l0, l1, l2, l3])),
                        SeqNumber(u32::from_be_bytes([r0, r1, r2, r3])),
                    );
                }
            }
            (TIMESTAMPS, &[v0, v1, v2, v3, e0, e1, e2, e3]) => {
                self.timestamps = Some(Timestamps {
                    value: u32::from_be_bytes([v0, v1, v2, v3]),
                    echo: u32::from_be_bytes([e0, e1, e2, e3]),
                });
            }
            (MSS | WINDOW_SCALE | SACK_PERMITTED | SACK | TIMESTAMPS, _) => {
                return Err(Error::Malformed);
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes the options into `buf`, which is [`Options::len`] bytes, and returns the sum of their words.
    #[inline]
    pub(super) fn emit(&self, buf: &mut [u8]) -> u64 {
        let mut out = Words { buf, sum: 0 };
        if let Some(mss) = self.mss {
            out.put([u32::from_be_bytes([MSS, 4, 0, 0]) | u32::from(mss)]);
        }
        if let Some(timestamps) = self.timestamps {
            let lead = if self.sack_permitted {
                u32::from_be_bytes([SACK_PERMITTED, 2, TIMESTAMPS, TIMESTAMPS_LEN])
            } else {
                ALIGNED_TIMESTAMPS
            };
            out.put([lead, timestamps.value, timestamps.echo]);
        } else if self.sack_permitted {
            out.put([u32::from_be_bytes([NOP, NOP, SACK_PERMITTED, 2])]);
        }
        if let Some(shift) = self.window_scale {
            out.put([u32::from_be_bytes([NOP, WINDOW_SCALE, 3, shift])]);
        }
        if !self.sack.is_empty() {
            self.emit_sack(&mut out);
        }
        out.sum
    }

    fn emit_sack(&self, out: &mut Words<'_>) {
        let blocks = self.sack_fitting(self.len_before_sack());
        if blocks == 0 {
            return;
        }
        let len = 2 + (blocks * SACK_BLOCK_LEN) as u8;
        out.put([u32::from_be_bytes([NOP, NOP, SACK, len])]);
        for (left, right) in self.sack.iter().take(blocks) {
            out.put([left.0, right.0]);
        }
    }
}

/// Writes big-endian words and sums them while they are in registers.
struct Words<'a> {
    buf: &'a mut [u8],
    sum: u64,
}

impl Words<'_> {
    #[inline]
    fn put<const N: usize>(&mut self, words: [u32; N]) {
        let buf = std::mem::take(&mut self.buf);
        if let Some((slots, rest)) = buf.split_at_mut_checked(4 * N) {
            for (slot, word) in slots.as_chunks_mut().0.iter_mut().zip(words) {
                *slot = word.to_be_bytes();
                self.sum += u64::from(word);
            }
            self.buf = rest;
        }
    }
}
