//! A modem at either end of a telephone line, one direction: a port that takes bytes faster than the line
//! does, a buffer between them, and what error correction and compression make of the bytes.
//!
//! The port is asynchronous, ten bit times a byte. The line is asynchronous as well where the modem only
//! modulates; an error-correcting modem (V.42, MNP) sends eight bits a byte, in blocks that each carry an
//! overhead. The modem stops its computer (RTS/CTS) while its buffer is full, and loses nothing.
//!
//! Deviations: compression is a ratio of bytes nobody has seen, and bytes in memory, which are headers, stay
//! as long as they are; a frame that has begun is taken whole even if that overfills the buffer, and its
//! room comes back when its last bit has left; blocks are packed across frames, as on a busy line. The far
//! modem's port adds no more than a block, which belongs to the plan's delay.

use super::framing::{Framed, LineCoding};
use crate::time::{Duration, Instant};
use crate::units::{BitRate, RateClock};
use std::collections::VecDeque;

/// Bit times of a byte on the port.
const PORT_BITS: u64 = 10;
/// What a millionth is of.
const PPM: u64 = 1_000_000;

/// Blocks of an error-correcting line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocks {
    /// Bytes of data in each, above zero.
    pub data: u16,
    /// Bytes around them.
    pub overhead: u16,
}

/// A modem and its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModemConfig {
    /// Speed of the port, in bit/s. Above zero.
    pub dte: BitRate,
    /// What a byte takes between the modems.
    pub line: LineCoding,
    /// Blocks, where the modems correct errors.
    pub blocks: Option<Blocks>,
    /// What compression leaves of the payload, in millionths; above a million where it grows.
    pub payload_ppm: u32,
    /// Bytes from which on the modem stops the port.
    pub buffer: u32,
}

impl ModemConfig {
    /// Thousandths of a bit that `held` bytes in memory and `payload` bytes behind them take on the line in
    /// the mean.
    pub const fn mean_line_millibits(&self, held: u64, payload: u64) -> u64 {
        let (data, whole) = self.block();
        let bytes_ppm = held as u128 * PPM as u128 + payload as u128 * self.payload_ppm as u128;
        let bits = bytes_ppm * (self.line.bits_per_byte() * whole) as u128;
        (bits * 1000 / (PPM * data) as u128) as u64
    }

    /// Bytes of data in a block, and of the whole block.
    const fn block(&self) -> (u64, u64) {
        match self.blocks {
            Some(blocks) => (blocks.data as u64, blocks.data as u64 + blocks.overhead as u64),
            None => (1, 1),
        }
    }
}

/// A frame's way through a modem.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    /// When the port takes the next frame.
    pub free: Instant,
    /// When its last bit has left on the line; not before the port is free.
    pub out: Instant,
    /// How long the line is busy with it.
    pub busy: Duration,
    /// Bits on the line.
    pub bits: u64,
}

/// One direction of a pair of modems.
#[derive(Clone, Debug)]
pub struct Modem {
    config: ModemConfig,
    port: RateClock,
    line: RateClock,
    /// When the line has sent what it was given.
    line_free: Instant,
    /// Frames in the buffer: when each is out, and its bytes.
    held: VecDeque<(Instant, u64)>,
    held_bytes: u64,
    /// Part of a bit not given out yet, in units of `PPM` times a block's data.
    carried: u128,
}

impl Modem {
    /// An idle modem whose line carries `rate`.
    ///
    /// # Panics
    /// When a rate or a block's data is zero.
    pub fn new(config: ModemConfig, rate: BitRate) -> Self {
        assert!(config.block().0 > 0, "a block without data");
        Modem {
            config,
            port: RateClock::new(config.dte),
            line: RateClock::new(rate),
            line_free: Instant::ZERO,
            held: VecDeque::new(),
            held_bytes: 0,
            carried: 0,
        }
    }

    /// Begins to take a frame over the port at `now`, which must not be before it is free.
    pub fn start(&mut self, now: Instant, framed: Framed) -> Passage {
        let bytes = framed.len();
        let on_port = self.port.advance(bytes * PORT_BITS);
        let taken = now + on_port;
        let bits = self.line_bits(framed);
        let on_line = self.line.advance(bits);
        // The line begins with the first block, and its last block leaves after it has come in.
        let block = self.config.block().0.min(bytes.max(1));
        let share = |time: Duration| Duration::from_nanos(time.as_nanos() * block / bytes.max(1));
        let begun = self.line_free.max(now + share(on_port));
        let out = (begun + on_line).max(taken + share(on_line));
        self.line_free = out;
        self.held.push_back((out, bytes));
        self.held_bytes += bytes;
        Passage { free: self.room_from(taken), out, busy: on_line, bits }
    }

    /// Bits on the line, with what was left of the frames before.
    fn line_bits(&mut self, framed: Framed) -> u64 {
        let (data, whole) = self.config.block();
        let payload = u128::from(framed.elided) * u128::from(self.config.payload_ppm);
        let bytes_ppm = u128::from(framed.held) * u128::from(PPM) + payload;
        let unit = u128::from(PPM * data);
        let bits = bytes_ppm * u128::from(self.config.line.bits_per_byte() * whole) + self.carried;
        self.carried = bits % unit;
        (bits / unit) as u64
    }

    /// The first time from `taken` on at which the buffer is not full. Frames that are out by then are
    /// forgotten.
    fn room_from(&mut self, taken: Instant) -> Instant {
        let mut free = taken;
        while let Some(&(out, bytes)) = self.held.front() {
            let is_full = self.held_bytes >= u64::from(self.config.buffer);
            if out > taken && !is_full {
                break;
            }
            free = free.max(out);
            self.held.pop_front();
            self.held_bytes -= bytes;
        }
        free
    }

    /// The carrier is lost, and the buffer with it.
    pub fn clear(&mut self, now: Instant) {
        self.held.clear();
        self.held_bytes = 0;
        self.line_free = self.line_free.min(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: u64 = 28_800;

    fn config() -> ModemConfig {
        ModemConfig {
            dte: BitRate::from_bps(115_200),
            line: LineCoding::Sync,
            blocks: Some(Blocks { data: 152, overhead: 8 }),
            payload_ppm: 1_000_000,
            buffer: 2048,
        }
    }

    /// Payload per second of many frames, each sent as soon as the port is free.
    fn rate(config: ModemConfig, held: u64, payload: u64) -> f64 {
        let mut modem = Modem::new(config, BitRate::from_bps(LINE));
        let (mut now, mut out) = (Instant::ZERO, Instant::ZERO);
        let frames = 2000;
        for _ in 0..frames {
            let passage = modem.start(now, Framed { held, elided: payload });
            assert!(now < passage.free && passage.free <= passage.out);
            now = passage.free;
            out = passage.out;
        }
        (frames * payload) as f64 / out.as_secs_f64()
    }

    fn expect(config: ModemConfig, held: u64, bytes_per_second: f64) {
        let got = rate(config, held, 344);
        assert!((got / bytes_per_second - 1.0).abs() < 0.001, "{got} for {bytes_per_second}");
    }

    /// The table of what MTU 384 can carry at 28.8 kbit/s: compressed headers of 5 bytes and PPP with 8.
    #[test]
    fn what_a_line_carries_depends_on_its_bits_and_blocks() {
        let (plain, small) = (None, Some(Blocks { data: 64, overhead: 8 }));
        let asynchronous = LineCoding::Async8n1;
        expect(ModemConfig { line: asynchronous, blocks: plain, ..config() }, 13, 2775.0);
        expect(ModemConfig { blocks: plain, ..config() }, 13, 3469.0);
        expect(config(), 13, 3295.0);
        expect(ModemConfig { blocks: small, ..config() }, 13, 3083.0);
        expect(config(), 48, 3001.0);
    }

    #[test]
    fn text_goes_as_fast_as_its_ratio_until_the_port_is_the_limit() {
        let text = |ratio: f64| ModemConfig { payload_ppm: (1e6 / ratio) as u32, ..config() };
        let twice = rate(text(2.0), 13, 1460);
        assert!((6500.0..6900.0).contains(&twice), "{twice}");
        let more = rate(text(2.7), 13, 1460);
        assert!((8000.0..10_000.0).contains(&more), "{more}");
        let most = rate(text(9.0), 13, 1460);
        assert!((11_300.0..11_520.0).contains(&most), "{most}");
        let grown = rate(ModemConfig { payload_ppm: 1_030_000, ..config() }, 13, 1460);
        assert!((3270.0..3330.0).contains(&grown), "{grown}");
    }

    #[test]
    fn the_buffer_fills_at_the_ports_rate_and_then_stops_it() {
        let mut modem = Modem::new(config(), BitRate::from_bps(LINE));
        let frame = Framed { held: 0, elided: 500 };
        let port = Duration::from_nanos(43_402_778);
        let (mut now, mut outs, mut frees) = (Instant::ZERO, Vec::new(), Vec::new());
        for _ in 0..8 {
            let passage = modem.start(now, frame);
            now = passage.free;
            frees.push(passage.free);
            outs.push(passage.out);
        }
        // Five of 500 bytes are in before the first is out, as the fifth overfills 2048.
        let near = |at: Instant, n: u64| (at - Instant::ZERO).as_nanos().abs_diff(n) < 10;
        assert!((1..=3).all(|n| near(frees[n as usize - 1], n * port.as_nanos())), "{frees:?}");
        // The line takes 146 ms a frame: from then on the port waits for it.
        let line = BitRate::from_bps(LINE).time_for_bits(500 * 8 * 160 / 152);
        for pair in outs.windows(2) {
            let apart = pair[1] - pair[0];
            assert!(apart.as_nanos().abs_diff(line.as_nanos()) < 100_000, "{apart}");
        }
        for (free, out) in frees.iter().skip(5).zip(&outs) {
            assert!(free > out);
        }
        assert!(frees[7] < outs[7]);
    }

    #[test]
    fn a_tiny_buffer_still_sends() {
        let mut modem = Modem::new(ModemConfig { buffer: 1, ..config() }, BitRate::from_bps(LINE));
        let mut now = Instant::ZERO;
        for _ in 0..3 {
            let passage = modem.start(now, Framed { held: 0, elided: 1500 });
            assert_eq!(passage.free, passage.out);
            now = passage.free;
        }
        assert!(now < Instant::ZERO + Duration::from_millis(1400), "{now:?}");
    }
}
