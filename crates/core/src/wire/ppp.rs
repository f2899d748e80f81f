//! PPP in HDLC-like framing on an asynchronous line (RFC 1661, RFC 1662); the packets of its control
//! protocols are in [`control`].
//!
//! Deviations: address and control or the first byte of the protocol may be missing from whatever
//! arrives, negotiated or not; frames that are aborted, too short or not whole are counted where the RFC
//! asks for silence. Only the 16-bit check sequence is spoken. LCP packets go out as the RFC wants them,
//! with every field and all control characters escaped, whatever has been agreed on.

pub mod control;
mod fcs;
#[cfg(test)]
mod tests;

pub use fcs::Fcs;

/// Begins and ends a frame; one is enough between two.
pub const FLAG: u8 = 0x7e;
/// The byte after it had its sixth bit flipped.
pub const ESCAPE: u8 = 0x7d;
/// What is flipped in an escaped byte.
pub const FLIP: u8 = 0x20;
/// Every station.
const ADDRESS: u8 = 0xff;
/// Unnumbered information.
const CONTROL: u8 = 0x03;

/// Bytes of information every receiver takes unless another MRU is agreed on (RFC 1661, 6.1).
pub const MRU: usize = 1500;
/// Bytes of the check sequence.
pub const FCS_LEN: usize = 2;
/// Address, control, protocol and check sequence at their longest.
const OVERHEAD_MAX: usize = 2 + 2 + FCS_LEN;
/// The shortest frame that is one, check sequence included (RFC 1662, 3.1).
const FRAME_LEN_MIN: usize = 4;

/// What the information of a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Protocol(pub u16);

impl Protocol {
    /// An IPv4 packet.
    pub const IPV4: Protocol = Protocol(0x0021);
    /// A TCP/IP packet with its header compressed (RFC 1332, 4; see [`super::vj`]).
    pub const VJ_COMPRESSED: Protocol = Protocol(0x002d);
    /// A TCP/IP packet that tells its header to a slot.
    pub const VJ_UNCOMPRESSED: Protocol = Protocol(0x002f);
    /// An IPv6 packet.
    pub const IPV6: Protocol = Protocol(0x0057);
    /// Negotiates what IPv4 needs (RFC 1332).
    pub const IPCP: Protocol = Protocol(0x8021);
    /// Negotiates the link itself.
    pub const LCP: Protocol = Protocol(0xc021);
}

/// Whether bytes whose value both ends know are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Field {
    /// They are.
    Full,
    /// They are left out, as both ends have agreed.
    Compressed,
}

/// What both ends have agreed on for one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Agreed {
    /// The control characters that are escaped: bit n is character n (RFC 1662, 7.1).
    pub accm: u32,
    /// Address and control.
    pub address: Field,
    /// The first byte of a protocol below 256.
    pub protocol: Field,
}

impl Agreed {
    /// Before anything is: all control characters are escaped and all fields are sent.
    pub const DEFAULT: Agreed =
        Agreed { accm: u32::MAX, address: Field::Full, protocol: Field::Full };

    /// What a packet of `protocol` goes out with: LCP keeps to the default (RFC 1661, 6.5 and 6.6).
    pub const fn when_sending(self, protocol: Protocol) -> Agreed {
        if protocol.0 == Protocol::LCP.0 { Agreed::DEFAULT } else { self }
    }

    /// Whether a byte of a frame becomes two.
    #[inline]
    pub const fn escapes(self, byte: u8) -> bool {
        byte == FLAG || byte == ESCAPE || byte < 0x20 && self.accm >> byte & 1 == 1
    }

    /// Of the 256 values of a byte, how many become two.
    pub const fn escaped_values(self) -> u32 {
        2 + self.accm.count_ones()
    }

    /// The bytes in front of the information of a frame, not escaped: how many, from the first on.
    pub const fn header(self, protocol: Protocol) -> ([u8; 4], usize) {
        let [high, low] = protocol.0.to_be_bytes();
        let agreed = self.when_sending(protocol);
        let is_short = matches!(agreed.protocol, Field::Compressed) && high == 0;
        match (agreed.address, is_short) {
            (Field::Full, false) => ([ADDRESS, CONTROL, high, low], 4),
            (Field::Full, true) => ([ADDRESS, CONTROL, low, 0], 3),
            (Field::Compressed, false) => ([high, low, 0, 0], 2),
            (Field::Compressed, true) => ([low, 0, 0, 0], 1),
        }
    }
}

/// What was last on the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line {
    /// Nothing: a flag has to open the frame.
    Idle,
    /// A frame whose closing flag opens this one.
    Busy,
}

/// Appends a frame to `out` as it goes on the line, closing flag included.
pub fn encode(
    protocol: Protocol,
    information: &[u8],
    agreed: Agreed,
    line: Line,
    out: &mut Vec<u8>,
) {
    out.reserve(information.len() + OVERHEAD_MAX + 2);
    if line == Line::Idle {
        out.push(FLAG);
    }
    let (header, len) = agreed.header(protocol);
    let header = &header[..len];
    let mut fcs = Fcs::new();
    fcs.add(header);
    fcs.add(information);
    let agreed = agreed.when_sending(protocol);
    for part in [header, information, &fcs.finish()] {
        escape(part, agreed, out);
    }
    out.push(FLAG);
}

fn escape(bytes: &[u8], agreed: Agreed, out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|&byte| agreed.escapes(byte)) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(&[ESCAPE, rest[at] ^ FLIP]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// What a [`Decoder`] has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frames handed on.
    pub frames: u64,
    /// Frames given up because they were longer than the limit.
    pub too_long: u64,
    /// Frames their sender has given up: a flag right after an escape.
    pub aborted: u64,
    /// Frames too short to be one; a flag alone is none.
    pub too_short: u64,
    /// Frames whose check sequence does not fit.
    pub damaged: u64,
    /// Frames whose protocol is no number a protocol can have (RFC 1661, 2).
    pub malformed: u64,
    /// Control characters taken out, because the sender would have escaped its own.
    pub removed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Data,
    Escape,
    /// Too long already: wait for the next flag.
    Discard,
}

/// Finds frames in the bytes of a line, whatever the pieces they are read in.
#[derive(Clone, Debug)]
pub struct Decoder {
    frame: Vec<u8>,
    len_max: usize,
    accm: u32,
    state: State,
    counters: Counters,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new(MRU, Agreed::DEFAULT.accm)
    }
}

impl Decoder {
    /// A decoder that takes frames of up to `mru` bytes of information from a sender that escapes the
    /// control characters of `accm`.
    pub fn new(mru: usize, accm: u32) -> Self {
        Decoder {
            frame: Vec::new(),
            len_max: mru.saturating_add(OVERHEAD_MAX),
            accm,
            state: State::Data,
            counters: Counters::default(),
        }
    }

    /// Another set of control characters, once it is agreed on.
    pub fn set_accm(&mut self, accm: u32) {
        self.accm = accm;
    }

    /// What has been seen so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Takes `bytes` from the line and calls `deliver` with the protocol and the information of each frame
    /// they complete.
    pub fn feed(&mut self, bytes: &[u8], mut deliver: impl FnMut(Protocol, &[u8])) {
        for &byte in bytes {
            match (self.state, byte) {
                (state, FLAG) => self.end(state, &mut deliver),
                (State::Discard, _) => {}
                (_, byte) if byte < 0x20 && self.accm >> byte & 1 == 1 => {
                    self.counters.removed += 1
                }
                (State::Data, ESCAPE) => self.state = State::Escape,
                (State::Data, byte) => self.append(byte),
                (State::Escape, byte) => {
                    self.state = State::Data;
                    self.append(byte ^ FLIP);
                }
            }
        }
    }

    fn append(&mut self, byte: u8) {
        if self.frame.len() == self.len_max {
            self.counters.too_long += 1;
            self.state = State::Discard;
        } else {
            self.frame.push(byte);
        }
    }

    fn end(&mut self, state: State, deliver: &mut impl FnMut(Protocol, &[u8])) {
        match state {
            State::Data if self.frame.is_empty() => {}
            State::Data => match parse(&self.frame, self.len_max - OVERHEAD_MAX) {
                Ok((protocol, information)) => {
                    self.counters.frames += 1;
                    deliver(protocol, information);
                }
                Err(Refused::TooShort) => self.counters.too_short += 1,
                Err(Refused::TooLong) => self.counters.too_long += 1,
                Err(Refused::Damaged) => self.counters.damaged += 1,
                Err(Refused::Malformed) => self.counters.malformed += 1,
            },
            State::Escape => self.counters.aborted += 1,
            State::Discard => {}
        }
        self.frame.clear();
        self.state = State::Data;
    }
}

enum Refused {
    TooShort,
    TooLong,
    Damaged,
    Malformed,
}

/// Protocol and information of a whole frame without its escapes.
fn parse(frame: &[u8], mru: usize) -> Result<(Protocol, &[u8]), Refused> {
    if frame.len() < FRAME_LEN_MIN {
        return Err(Refused::TooShort);
    }
    if !Fcs::verifies(frame) {
        return Err(Refused::Damaged);
    }
    let body = &frame[..frame.len() - FCS_LEN];
    let body = body.strip_prefix(&[ADDRESS, CONTROL]).unwrap_or(body);
    // The last byte of a protocol is odd and the one before it even.
    let (protocol, information) = match *body {
        [low, ref rest @ ..] if low & 1 == 1 => (Protocol(u16::from(low)), rest),
        [high, low, ref rest @ ..] if low & 1 == 1 => {
            (Protocol(u16::from_be_bytes([high, low])), rest)
        }
        _ => return Err(Refused::Malformed),
    };
    if information.len() > mru {
        return Err(Refused::TooLong);
    }
    Ok((protocol, information))
}
