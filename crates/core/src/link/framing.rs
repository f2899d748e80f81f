//! What a frame costs on the wire: line coding, header and escape expansion (SLIP: RFC 1055).

/// How a byte becomes bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineCoding {
    /// Start bit, eight data bits, stop bit: ten bit times per byte.
    Async8n1,
    /// Eight bit times per byte.
    Sync,
}

/// What is put around a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// Nothing.
    None,
    /// END before and after, END and ESC escaped in between.
    Slip,
}

/// How elided bytes count when a framing escapes bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload {
    /// Every byte value equally often: the escape expansion is the mean, with its remainder carried.
    Random,
    /// Printable text: nothing to escape.
    Text,
    /// Zero bytes as they are: nothing to escape.
    Zeros,
}

/// The framing of one link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Framing {
    /// Bits per byte.
    pub line: LineCoding,
    /// Bytes around a packet.
    pub header: Header,
    /// What the payload looks like.
    pub payload: Payload,
}
