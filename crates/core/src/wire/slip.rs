//! SLIP framing of IP packets on a serial line (RFC 1055).
//!
//! Deviations: an END always ends a packet, even right after an ESC, where the RFC's sample code would
//! lose the boundary and join two packets; the packet before such an END is known to be damaged and is
//! given up.

#[cfg(test)]
mod tests;

/// Ends a packet; sent in front as well, so that line noise becomes a packet of its own.
pub const END: u8 = 0xc0;
/// Starts an escape of two bytes.
pub const ESC: u8 = 0xdb;
/// After [`ESC`]: the byte was [`END`].
pub const ESC_END: u8 = 0xdc;
/// After [`ESC`]: the byte was [`ESC`].
pub const ESC_ESC: u8 = 0xdd;

/// The longest packet every receiver must take, in bytes.
pub const PACKET_LEN_MAX: usize = 1006;

#[inline]
fn is_special(byte: u8) -> bool {
    matches!(byte, END | ESC)
}

/// How many of `bytes` need an escape, which is how many bytes longer they become.
#[inline]
pub fn expansion(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| is_special(byte)).count()
}

/// Appends `packet` to `out` as it goes on the line: END, the bytes with their escapes, END.
pub fn encode(packet: &[u8], out: &mut Vec<u8>) {
    out.reserve(packet.len() + expansion(packet) + 2);
    out.push(END);
    let mut rest = packet;
    while let Some(at) = rest.iter().position(|&byte| is_special(byte)) {
        out.extend_from_slice(&rest[..at]);
        let code = if rest[at] == END { ESC_END } else { ESC_ESC };
        out.extend_from_slice(&[ESC, code]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(END);
}

/// What a [`Decoder`] has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Packets handed on.
    pub packets: u64,
    /// Packets given up because they were longer than the limit.
    pub too_long: u64,
    /// Packets given up because an END cut an escape short.
    pub cut_escape: u64,
    /// Bytes after an ESC that no sender may put there; kept as they are, as the RFC advises.
    pub unknown_escape: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Data,
    Escape,
    /// Too long already: wait for the next END.
    Discard,
}

/// Finds packets in the bytes of a line, whatever the pieces they are read in.
#[derive(Clone, Debug)]
pub struct Decoder {
    packet: Vec<u8>,
    len_max: usize,
    state: State,
    counters: Counters,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new(PACKET_LEN_MAX)
    }
}

impl Decoder {
    /// A decoder that takes packets of up to `len_max` bytes.
    pub fn new(len_max: usize) -> Self {
        Decoder { packet: Vec::new(), len_max, state: State::Data, counters: Counters::default() }
    }

    /// What has been seen so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Takes `bytes` from the line and calls `deliver` with each packet they complete. Packets of no
    /// bytes are ignored.
    pub fn feed(&mut self, bytes: &[u8], mut deliver: impl FnMut(&[u8])) {
        let mut rest = bytes;
        while let [first, tail @ ..] = rest {
            match (self.state, *first) {
                (state, END) => {
                    rest = tail;
                    self.end(state, &mut deliver);
                }
                (State::Data, ESC) => {
                    rest = tail;
                    self.state = State::Escape;
                }
                (State::Escape, code) => {
                    rest = tail;
                    self.state = State::Data;
                    let byte = self.unescape(code);
                    self.append(&[byte]);
                }
                (State::Data, _) => {
                    let plain = rest.iter().position(|&byte| is_special(byte));
                    let (run, tail) = rest.split_at(plain.unwrap_or(rest.len()));
                    rest = tail;
                    self.append(run);
                }
                (State::Discard, _) => {
                    let end = rest.iter().position(|&byte| byte == END);
                    rest = &rest[end.unwrap_or(rest.len())..];
                }
            }
        }
    }

    fn end(&mut self, state: State, deliver: &mut impl FnMut(&[u8])) {
        match state {
            State::Data if self.packet.is_empty() => {}
            State::Data => {
                self.counters.packets += 1;
                deliver(&self.packet);
            }
            State::Escape => self.counters.cut_escape += 1,
            State::Discard => {}
        }
        self.packet.clear();
        self.state = State::Data;
    }

    fn unescape(&mut self, code: u8) -> u8 {
        match code {
            ESC_END => END,
            ESC_ESC => ESC,
            other => {
                self.counters.unknown_escape += 1;
                other
            }
        }
    }

    fn append(&mut self, run: &[u8]) {
        if run.len() > self.len_max - self.packet.len() {
            self.counters.too_long += 1;
            self.state = State::Discard;
            self.packet.clear();
        } else {
            self.packet.extend_from_slice(run);
        }
    }
}
