//! An input as a script.

/// The input, taken byte by byte; zeros when it is over.
pub(crate) struct Script<'a>(pub(crate) &'a [u8]);

impl Script<'_> {
    pub(crate) fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().map_or((0, &[][..]), |(byte, rest)| (*byte, rest));
        self.0 = rest;
        first
    }

    pub(crate) fn word(&mut self) -> u32 {
        u32::from_be_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    /// Mostly small, so that sequences meet; now and then anything.
    pub(crate) fn near(&mut self) -> u32 {
        match self.byte() {
            255 => self.word(),
            small => u32::from(small),
        }
    }

    /// Up to so many bytes as they are.
    pub(crate) fn bytes(&mut self, len: usize) -> &[u8] {
        let (bytes, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        bytes
    }
}
