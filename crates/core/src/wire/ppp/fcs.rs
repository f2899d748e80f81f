//! The 16-bit frame check sequence (RFC 1662, C.1): x^16 + x^12 + x^5 + 1, least significant bit first.

const POLYNOMIAL: u16 = 0x8408;
const INITIAL: u16 = 0xffff;
/// What is left of a frame and its own check sequence when nothing is damaged.
const GOOD: u16 = 0xf0b8;

const TABLE: [u16; 256] = table();

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u16;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ POLYNOMIAL } else { value >> 1 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
}

/// A check sequence over what has been added so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fcs(u16);

impl Default for Fcs {
    fn default() -> Self {
        Self::new()
    }
}

impl Fcs {
    /// Over nothing.
    pub const fn new() -> Self {
        Fcs(INITIAL)
    }

    /// Adds bytes of the frame.
    #[inline]
    pub fn add(&mut self, bytes: &[u8]) {
        self.0 =
            bytes.iter().fold(self.0, |fcs, byte| fcs >> 8 ^ TABLE[usize::from(fcs as u8 ^ byte)]);
    }

    /// Adds so many zero bytes.
    pub fn add_zeros(&mut self, count: u32) {
        self.0 = (0..count).fold(self.0, |fcs, _| fcs >> 8 ^ TABLE[usize::from(fcs as u8)]);
    }

    /// The two bytes that end the frame, in their order on the line.
    pub const fn finish(self) -> [u8; 2] {
        (!self.0).to_le_bytes()
    }

    /// Whether a frame with its check sequence is undamaged.
    pub fn verifies(frame: &[u8]) -> bool {
        let mut fcs = Fcs::new();
        fcs.add(frame);
        fcs.0 == GOOD
    }
}
