//! What a frame costs on the wire: line coding, header and escape expansion (SLIP: RFC 1055), the
//! headers of the datagram it travels in (UDP: RFC 768), or an Ethernet frame with the silence around it
//! (IEEE 802.3).

use crate::wire::{ipv4, ipv6, udp};

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
    /// A UDP datagram in an IPv4 packet without options.
    UdpIpv4,
    /// A UDP datagram in an IPv6 packet without extension headers.
    UdpIpv6,
    /// An untagged Ethernet frame, padded to the shortest there may be, with preamble and gap.
    Ethernet,
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
    /// Silence between packets, in bytes: what a transmitter needs to be given the next one once its
    /// FIFO has run dry.
    pub gap: u16,
}

/// Bytes of SLIP that RFC 1055 replaces by two.
const SLIP_END: u8 = 0xc0;
const SLIP_ESC: u8 = 0xdb;
/// Header and check sequence of an Ethernet frame, in bytes.
const ETHERNET_FRAME: u64 = 14 + 4;
/// The shortest Ethernet frame.
const ETHERNET_FRAME_MIN: u64 = 64;
/// Preamble with the delimiter, and the gap between frames, in byte times.
const ETHERNET_SILENCE: u64 = 8 + 12;
/// END before and END after.
const SLIP_DELIMITERS: u64 = 2;
/// Of 256 equally likely byte values, how many grow by a byte.
const SLIP_ESCAPED: u64 = 2;

impl Header {
    /// Bytes added to every packet, whatever it holds.
    pub const fn len(self) -> u64 {
        match self {
            Header::None => 0,
            Header::Slip => SLIP_DELIMITERS,
            Header::UdpIpv4 => (ipv4::HEADER_LEN + udp::HEADER_LEN) as u64,
            Header::UdpIpv6 => (ipv6::HEADER_LEN + udp::HEADER_LEN) as u64,
            Header::Ethernet => ETHERNET_FRAME + ETHERNET_SILENCE,
        }
    }

    /// Bytes that fill up a packet of `len` bytes to the shortest frame.
    const fn padding(self, len: u64) -> u64 {
        match self {
            Header::Ethernet => ETHERNET_FRAME_MIN.saturating_sub(len + ETHERNET_FRAME),
            _ => 0,
        }
    }

    /// Whether it adds nothing.
    pub const fn is_empty(self) -> bool {
        matches!(self, Header::None)
    }
}

impl LineCoding {
    /// Bit times per byte.
    pub const fn bits_per_byte(self) -> u64 {
        match self {
            LineCoding::Async8n1 => 10,
            LineCoding::Sync => 8,
        }
    }
}

impl Framing {
    /// Bits as they are: eight per byte and nothing around a packet.
    pub const PLAIN: Framing =
        Framing { line: LineCoding::Sync, header: Header::None, payload: Payload::Zeros, gap: 0 };

    /// Thousandths of a bit that a packet of `len` bytes takes in the mean, every byte counted as
    /// payload. Schedulers and ceilings use it; what a transmitter really sends says [`Framer`].
    pub const fn mean_wire_millibits(&self, len: u64) -> u64 {
        let per_byte = self.line.bits_per_byte() * 1000;
        let framed = len + self.header.len() + self.header.padding(len) + self.gap as u64;
        let escaped = match (self.header, self.payload) {
            (Header::Slip, Payload::Random) => len * SLIP_ESCAPED * per_byte / 256,
            _ => 0,
        };
        framed * per_byte + escaped
    }
}

/// Counts the bits of one frame after another on one line, and carries what the mean expansion of
/// elided bytes leaves over, so that the long run is exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Framer {
    framing: Framing,
    /// Expansion not yet given out, in 256ths of a byte.
    carried: u64,
}

impl Framer {
    /// A framer with nothing carried.
    pub const fn new(framing: Framing) -> Self {
        Framer { framing, carried: 0 }
    }

    /// The framing it counts by.
    pub const fn framing(&self) -> Framing {
        self.framing
    }

    /// Bits on the wire for a packet of `bytes` (scanned exactly) and `elided` bytes behind them.
    pub fn wire_bits(&mut self, bytes: &[u8], elided: u32) -> u64 {
        let len = bytes.len() as u64 + u64::from(elided);
        let added = match self.framing.header {
            Header::Slip => self.escapes(bytes, elided),
            header => header.padding(len),
        };
        (len + self.framing.header.len() + added + u64::from(self.framing.gap))
            * self.framing.line.bits_per_byte()
    }

    fn escapes(&mut self, bytes: &[u8], elided: u32) -> u64 {
        let exact = bytes.iter().filter(|b| matches!(**b, SLIP_END | SLIP_ESC)).count() as u64;
        match self.framing.payload {
            Payload::Random => {
                self.carried += u64::from(elided) * SLIP_ESCAPED;
                let whole = self.carried / 256;
                self.carried %= 256;
                exact + whole
            }
            Payload::Text | Payload::Zeros => exact,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slip(payload: Payload) -> Framing {
        Framing { line: LineCoding::Async8n1, header: Header::Slip, payload, gap: 0 }
    }

    #[test]
    fn a_gap_counts_once_a_packet() {
        let framing = Framing { gap: 12, ..slip(Payload::Text) };
        assert_eq!(Framer::new(framing).wire_bits(&[0; 100], 0), (100 + 2 + 12) * 10);
        assert_eq!(framing.mean_wire_millibits(100), (100 + 2 + 12) * 10_000);
    }

    #[test]
    fn a_datagram_counts_its_outer_headers() {
        for (header, len) in [(Header::UdpIpv4, 1500), (Header::UdpIpv6, 1520)] {
            let framing = Framing { header, ..Framing::PLAIN };
            assert_eq!(Framer::new(framing).wire_bits(&[0xc0; 16], 1456), len * 8);
            assert_eq!(framing.mean_wire_millibits(1472), len * 8000);
        }
    }

    #[test]
    fn an_ethernet_frame_is_never_short_and_keeps_its_distance() {
        let framing = Framing { header: Header::Ethernet, ..Framing::PLAIN };
        for (len, wire) in [(1500, 1538), (9000, 9038), (46, 84), (40, 84), (0, 84), (47, 85)] {
            assert_eq!(Framer::new(framing).wire_bits(&[], len), wire * 8, "{len}");
            assert_eq!(framing.mean_wire_millibits(len.into()), wire * 8000, "{len}");
        }
    }

    #[test]
    fn real_bytes_are_scanned_and_elided_ones_follow_the_payload() {
        let bytes = [0x45, SLIP_END, SLIP_ESC, 0, SLIP_END];
        let mut text = Framer::new(slip(Payload::Text));
        assert_eq!(text.wire_bits(&bytes, 100), (5 + 3 + 2 + 100) * 10);
        let mut random = Framer::new(slip(Payload::Random));
        assert_eq!(random.wire_bits(&bytes, 0), (5 + 3 + 2) * 10);
        let mut plain = Framer::new(Framing::PLAIN);
        assert_eq!(plain.wire_bits(&bytes, 95), 800);
    }

    #[test]
    fn the_mean_expansion_is_exact_in_the_long_run() {
        let mut framer = Framer::new(slip(Payload::Random));
        let frames = 256;
        let total: u64 = (0..frames).map(|_| framer.wire_bits(&[], 101)).sum();
        assert_eq!(total, 10 * (frames * (101 + 2) + frames * 101 * 2 / 256));
        let mean = slip(Payload::Random).mean_wire_millibits(101);
        assert_eq!(total, (mean * frames).div_ceil(1000));
    }
}
