//! What a frame costs on the wire: line coding, header and escape expansion (SLIP: RFC 1055; PPP: RFC 1662),
//! header compression (RFC 1144), the headers of the datagram it travels in (UDP: RFC 768), an Ethernet
//! frame with the silence around it (IEEE 802.3), or the cells of a cable channel.
//!
//! Deviation: a PPP frame counts one flag. On a busy line the flag before opens it; on an idle one a flag
//! more is due, which is a byte and only then.

use super::downstream::{self, CELL_BYTES};
use super::headers::Headers;
use super::wire::Fate;
use crate::Context;
use crate::frame::Frame;
use crate::wire::ppp::{self, Agreed, Fcs, Protocol};
use crate::wire::vj;
use crate::wire::{ethernet, ipv4, ipv6, udp};

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
    /// Address, control, protocol and check sequence as agreed on, and a flag; escaped as agreed on.
    Ppp(Agreed),
    /// A UDP datagram in an IPv4 packet without options.
    UdpIpv4,
    /// A UDP datagram in an IPv6 packet without extension headers.
    UdpIpv6,
    /// An untagged Ethernet frame, padded to the shortest there may be, with preamble and gap.
    Ethernet,
    /// Cells of one size on a cable channel.
    Cells,
    /// The same around what begins with its own Ethernet header.
    EthernetFrame,
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

/// Whether the headers of TCP segments are compressed (RFC 1144). Only a line that keeps its order can.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderCompression {
    /// They go as they are.
    Off,
    /// They are.
    VanJacobson,
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
    /// What becomes of TCP's headers.
    pub compression: HeaderCompression,
}

/// Bytes of SLIP that RFC 1055 replaces by two.
const SLIP_END: u8 = 0xc0;
const SLIP_ESC: u8 = 0xdb;
/// Header and check sequence of an Ethernet frame, in bytes.
const ETHERNET_FRAME: u64 = ethernet::HEADER_LEN as u64 + ETHERNET_FCS;
const ETHERNET_FCS: u64 = 4;
/// The shortest Ethernet frame.
const ETHERNET_FRAME_MIN: u64 = 64;
/// Preamble with the delimiter, and the gap between frames, in byte times.
const ETHERNET_SILENCE: u64 = 8 + 12;
/// END before and END after.
const SLIP_DELIMITERS: u64 = 2;
/// Of 256 equally likely byte values, how many grow by a byte.
const SLIP_ESCAPED: u64 = 2;
/// The flag that ends a frame.
const PPP_FLAG: u64 = 1;
const FCS_LEN: u64 = ppp::FCS_LEN as u64;

impl Header {
    /// Bytes added to every packet, whatever it holds.
    pub const fn len(self) -> u64 {
        match self {
            Header::None => 0,
            Header::Slip => SLIP_DELIMITERS,
            Header::Ppp(agreed) => PPP_FLAG + agreed.header(Protocol::IPV4).1 as u64 + FCS_LEN,
            Header::UdpIpv4 => (ipv4::HEADER_LEN + udp::HEADER_LEN) as u64,
            Header::UdpIpv6 => (ipv6::HEADER_LEN + udp::HEADER_LEN) as u64,
            Header::Ethernet => ETHERNET_FRAME + ETHERNET_SILENCE,
            Header::Cells => downstream::PACKET_HEADER,
            Header::EthernetFrame => ETHERNET_FCS + ETHERNET_SILENCE,
        }
    }

    /// Bytes that fill up a packet of `len` bytes to the shortest frame, or to whole cells with theirs.
    const fn padding(self, len: u64) -> u64 {
        match self {
            Header::Ethernet => ETHERNET_FRAME_MIN.saturating_sub(len + ETHERNET_FRAME),
            Header::Cells => downstream::cells(len) * CELL_BYTES - len - downstream::PACKET_HEADER,
            Header::EthernetFrame => ETHERNET_FRAME_MIN.saturating_sub(len + ETHERNET_FCS),
            _ => 0,
        }
    }

    /// Of 256 equally likely byte values, how many grow by a byte.
    const fn escaped_values(self) -> u64 {
        match self {
            Header::Slip => SLIP_ESCAPED,
            Header::Ppp(agreed) => agreed.escaped_values() as u64,
            Header::None
            | Header::UdpIpv4
            | Header::UdpIpv6
            | Header::Ethernet
            | Header::EthernetFrame
            | Header::Cells => 0,
        }
    }

    /// How many of `bytes` grow by a byte.
    fn escapes(self, bytes: &[u8]) -> u64 {
        let count = match self {
            Header::Slip => bytes.iter().filter(|b| matches!(**b, SLIP_END | SLIP_ESC)).count(),
            Header::Ppp(agreed) => bytes.iter().filter(|b| agreed.escapes(**b)).count(),
            Header::None
            | Header::UdpIpv4
            | Header::UdpIpv6
            | Header::Ethernet
            | Header::EthernetFrame
            | Header::Cells => 0,
        };
        count as u64
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
    pub const PLAIN: Framing = Framing {
        line: LineCoding::Sync,
        header: Header::None,
        payload: Payload::Zeros,
        gap: 0,
        compression: HeaderCompression::Off,
    };

    /// Thousandths of a bit that a packet of `len` bytes takes in the mean, every byte counted as
    /// payload and no header as compressed. Schedulers and ceilings use it; what a transmitter really
    /// sends says [`Framer`].
    pub const fn mean_wire_millibits(&self, len: u64) -> u64 {
        let per_byte = self.line.bits_per_byte() * 1000;
        let framed = len + self.header.len() + self.header.padding(len) + self.gap as u64;
        let random = match (self.header, self.payload) {
            (_, Payload::Text | Payload::Zeros) => 0,
            (Header::Ppp(_), Payload::Random) => len + FCS_LEN,
            (_, Payload::Random) => len,
        };
        framed * per_byte + random * self.header.escaped_values() * per_byte / 256
    }
}

/// A packet as it is on the line, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Framed {
    /// What is in memory, and what framing and escapes add.
    pub held: u64,
    /// What is not: the payload, with the escapes in it.
    pub elided: u64,
}

impl Framed {
    /// All of it.
    pub const fn len(&self) -> u64 {
        self.held + self.elided
    }

    /// Whether it is nothing.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What a packet takes on the line where only its length counts.
#[derive(Clone, Copy, Debug)]
struct ByLength {
    /// Bytes around every packet, the gap included.
    around: u64,
    /// A shorter packet is filled up to this.
    least: u64,
    bits_per_byte: u64,
}

impl ByLength {
    fn of(framing: &Framing) -> Option<ByLength> {
        let header = framing.header;
        let scans = matches!(header, Header::Slip | Header::Ppp(_) | Header::Cells);
        (!scans && framing.compression == HeaderCompression::Off).then(|| ByLength {
            around: header.len() + u64::from(framing.gap),
            least: header.padding(0),
            bits_per_byte: framing.line.bits_per_byte(),
        })
    }

    const fn bits(&self, len: u64) -> u64 {
        let filled = if len < self.least { self.least } else { len };
        (filled + self.around) * self.bits_per_byte
    }
}

/// Counts the bits of one frame after another on one line, and carries what the mean expansion of
/// elided bytes leaves over, so that the long run is exact.
#[derive(Clone, Debug)]
pub struct Framer {
    framing: Framing,
    by_length: Option<ByLength>,
    headers: Option<Box<Headers>>,
    /// Expansion not yet given out, in 256ths of a byte.
    carried: u64,
}

impl Framer {
    /// A framer with nothing carried.
    pub fn new(framing: Framing) -> Self {
        let (by_length, headers) = (ByLength::of(&framing), Framer::headers(framing));
        Framer { framing, by_length, headers, carried: 0 }
    }

    fn headers(framing: Framing) -> Option<Box<Headers>> {
        match framing.compression {
            HeaderCompression::Off => None,
            HeaderCompression::VanJacobson => Some(Box::new(Headers::new())),
        }
    }

    /// What the wire made of the packet framed last: where headers are compressed, a loss spoils others.
    #[inline]
    pub(super) fn receive(&mut self, cx: &mut Context, frame: Frame, fate: Fate) {
        if let Some(headers) = &mut self.headers {
            headers.receive(cx, frame, fate);
        }
    }

    /// The link is back after a cut: both its ends begin anew.
    pub(super) fn restart(&mut self) {
        self.headers = Framer::headers(self.framing);
    }

    /// The framing it counts by.
    pub const fn framing(&self) -> Framing {
        self.framing
    }

    /// Bits on the wire for a packet of `bytes` (scanned exactly) and `elided` bytes behind them, with the
    /// gap after it.
    #[inline]
    pub fn wire_bits(&mut self, bytes: &[u8], elided: u32) -> u64 {
        if let Some(cost) = &self.by_length {
            return cost.bits(bytes.len() as u64 + u64::from(elided));
        }
        let framed = self.frame(bytes, elided);
        (framed.len() + u64::from(self.framing.gap)) * self.framing.line.bits_per_byte()
    }

    /// A packet of `bytes` (scanned exactly) and `elided` bytes behind them as it is on the line.
    pub fn frame(&mut self, bytes: &[u8], elided: u32) -> Framed {
        let header = self.framing.header;
        let (kind, front, rest) = match &mut self.headers {
            None => (vj::Kind::Ip, None, bytes),
            Some(headers) => {
                let compressed = headers.send(bytes, elided);
                (compressed.kind, Some(compressed), &bytes[compressed.replaced..])
            }
        };
        let front = front.as_ref().map_or(&[][..], vj::Compressed::header);
        let held = (front.len() + rest.len()) as u64;
        let added = match header {
            Header::None | Header::UdpIpv4 | Header::UdpIpv6 => 0,
            Header::Ethernet | Header::EthernetFrame | Header::Cells => {
                header.padding(held + u64::from(elided))
            }
            Header::Slip => header.escapes(rest) + self.slip_front(kind, front),
            Header::Ppp(agreed) => {
                let protocol = match (kind, bytes.first()) {
                    (vj::Kind::Ip, Some(first)) if first >> 4 == 6 => Protocol::IPV6,
                    _ => kind.protocol(),
                };
                let (fields, len) = agreed.header(protocol);
                let parts = [&fields[..len], front, rest];
                let longer = len as u64 + PPP_FLAG + FCS_LEN - header.len();
                let escapes: u64 = parts.iter().map(|part| header.escapes(part)).sum();
                longer + escapes + self.fcs_escapes(agreed, &parts, elided)
            }
        };
        let expansion = match self.framing.payload {
            Payload::Random => self.expansion(elided.into()),
            Payload::Text => 0,
            Payload::Zeros => u64::from(elided) * header.escapes(&[0]),
        };
        Framed { held: held + header.len() + added, elided: u64::from(elided) + expansion }
    }

    /// The escapes of a compressed packet's first bytes on a SLIP line, which has its kind in the first one.
    fn slip_front(&self, kind: vj::Kind, front: &[u8]) -> u64 {
        let Some((first, rest)) = front.split_first() else { return 0 };
        Header::Slip.escapes(&[*first | kind.slip_bits()]) + Header::Slip.escapes(rest)
    }

    /// The escapes of a check sequence. Over payload nobody has seen it is as random as that.
    fn fcs_escapes(&mut self, agreed: Agreed, parts: &[&[u8]], elided: u32) -> u64 {
        if elided > 0 && self.framing.payload != Payload::Zeros {
            return self.expansion(FCS_LEN);
        }
        let mut fcs = Fcs::new();
        parts.iter().for_each(|part| fcs.add(part));
        fcs.add_zeros(elided);
        Header::Ppp(agreed).escapes(&fcs.finish())
    }

    /// How much longer so many random bytes become.
    fn expansion(&mut self, bytes: u64) -> u64 {
        self.carried += bytes * self.framing.header.escaped_values();
        let whole = self.carried / 256;
        self.carried %= 256;
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slip(payload: Payload) -> Framing {
        Framing { line: LineCoding::Async8n1, header: Header::Slip, payload, ..Framing::PLAIN }
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
            let framing = Framing { header: Header::EthernetFrame, ..Framing::PLAIN };
            assert_eq!(Framer::new(framing).wire_bits(&[], len + 14), wire * 8, "{len}");
            assert_eq!(framing.mean_wire_millibits(u64::from(len) + 14), wire * 8000, "{len}");
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

    fn ppp(accm: u32, field: ppp::Field, payload: Payload) -> Framing {
        let agreed = Agreed { accm, address: field, protocol: field };
        Framing { header: Header::Ppp(agreed), payload, ..Framing::PLAIN }
    }

    /// A packet of a bulk transfer, and of an acknowledgment where it carries nothing.
    fn segment(seq: u32, ident: u16, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; ipv4::HEADER_LEN + 20];
        let [src, dst] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::Ipv4Addr::from);
        let repr = ipv4::Repr {
            src,
            dst,
            protocol: ipv4::Protocol::TCP,
            dscp: 0,
            ecn: ipv4::Ecn::NotEct,
            ident,
            dont_fragment: false,
            ttl: 64,
            payload_len: 20 + payload.len() as u16,
        };
        repr.emit(&mut packet);
        let flags = crate::wire::tcp::Flags::ACK;
        let seq = crate::seq::SeqNumber(seq);
        let repr = crate::wire::tcp::Repr { seq, flags, ..Default::default() };
        repr.emit(&mut packet[ipv4::HEADER_LEN..], payload, 0, src, dst);
        packet.extend_from_slice(payload);
        packet
    }

    #[test]
    fn a_ppp_frame_is_as_long_as_it_is_encoded() {
        for accm in [0, 0x000a_0000, u32::MAX] {
            for field in [ppp::Field::Full, ppp::Field::Compressed] {
                let framing = ppp(accm, field, Payload::Zeros);
                let Header::Ppp(agreed) = framing.header else { unreachable!() };
                for zeros in [0, 1, 333] {
                    let bytes: Vec<u8> = (0..=255).collect();
                    let framed = Framer::new(framing).frame(&bytes, zeros);
                    let packet = [bytes, vec![0; zeros as usize]].concat();
                    let mut line = Vec::new();
                    ppp::encode(Protocol::IPV4, &packet, agreed, ppp::Line::Busy, &mut line);
                    assert_eq!(framed.len(), line.len() as u64);
                    assert_eq!(framed.elided, u64::from(zeros * (1 + (accm & 1))));
                }
            }
        }
        assert_eq!(ppp(0, ppp::Field::Compressed, Payload::Text).header.len(), 1 + 1 + 2);
        assert_eq!(ppp(0, ppp::Field::Full, Payload::Text).header.len(), 1 + 4 + 2);
    }

    #[test]
    fn compressed_headers_are_as_long_as_the_compressor_makes_them() {
        let field = ppp::Field::Compressed;
        let plain = ppp(0, field, Payload::Text);
        let framing = Framing { compression: HeaderCompression::VanJacobson, ..plain };
        let mut framer = Framer::new(framing);
        let lens: Vec<u64> = (0..3)
            .map(|i| {
                let packet = segment(344 * i, i as u16, &[b'x'; 344]);
                let framed = framer.frame(&packet[..40], 344);
                assert_eq!(framed.elided, 344);
                framed.held
            })
            .collect();
        // An uncompressed header, and then a mask and a checksum, with one byte of protocol, two of check
        // sequence and a flag; a checksum may need an escape.
        assert!((44..=46).contains(&lens[0]), "{lens:?}");
        assert!(lens[1..].iter().all(|len| (7..=9).contains(len)), "{lens:?}");
        // What is not TCP stays as it is.
        assert!((44..=48).contains(&framer.frame(&[0x45; 40], 0).len()));
        let slip = Framing { header: Header::Slip, ..framing };
        let mut framer = Framer::new(slip);
        let first = framer.frame(&segment(0, 0, &[b'x'; 9]), 0).len();
        let second = framer.frame(&segment(9, 1, &[b'x'; 9]), 0).len();
        assert!(first >= 49 + 2 && (12 + 2..=14 + 2).contains(&second), "{first} {second}");
    }

    #[test]
    fn random_payload_is_escaped_in_the_mean_with_its_check_sequence() {
        let framing = ppp(u32::MAX, ppp::Field::Full, Payload::Random);
        let mut framer = Framer::new(framing);
        let frames = 256;
        let total: u64 = (0..frames).map(|_| framer.wire_bits(&[], 98)).sum();
        // 32 control characters, the flag and the escape of 256 values; FF 03 00 21 with three escapes.
        assert_eq!(total, 8 * (frames * (98 + 7 + 2) + frames * 100 * 34 / 256));
        let mean = framing.mean_wire_millibits(98);
        assert_eq!(mean, 8000 * (98 + 7) + 100 * 34 * 8000 / 256);
    }
}
