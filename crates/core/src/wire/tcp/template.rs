//! The headers of one connection's segments over IPv4 with timestamps and no other option, prepared: what
//! stays the same is written and summed once (RFC 1071: a sum may be taken in any order).
//!
//! What comes out is to the byte what [`ipv4::Repr`] and [`Repr`] write, for a third of the work; it is what
//! almost every segment of a connection looks like. [`read_stamped`] is the way back.

use super::options::ALIGNED_TIMESTAMPS;
use super::{Flags, Options, Repr, Timestamps};
use crate::seq::SeqNumber;
use crate::wire::checksum::Checksum;
use crate::wire::ipv4::{self, Ecn, Protocol};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Bytes of the TCP header.
const SEGMENT_HEADER_LEN: usize = super::HEADER_LEN_MIN + 12;
/// Bytes of both headers.
pub const STAMPED_LEN: usize = ipv4::HEADER_LEN + SEGMENT_HEADER_LEN;

const DONT_FRAGMENT: u64 = 0x4000;
/// "More fragments" and the offset.
const FRAGMENT: u64 = 0x3fff;

/// What a segment has of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamped {
    /// Identification of the packet.
    pub ident: u16,
    /// Congestion codepoint of the packet.
    pub ecn: Ecn,
    /// Sequence number of the first byte of payload.
    pub seq: SeqNumber,
    /// The next sequence number expected.
    pub ack: SeqNumber,
    /// Control bits.
    pub flags: Flags,
    /// The window field as sent, not scaled.
    pub window: u16,
    /// Timestamps.
    pub timestamps: Timestamps,
}

/// What all segments of a connection in one direction have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Template {
    /// Version, header length and service.
    lead: u64,
    addresses: u64,
    ports: u32,
    /// Time to live and protocol, with room for the checksum.
    hop: u32,
    /// What these fields weigh in the checksum of the packet, and of the segment.
    ip_sum: u64,
    tcp_sum: u64,
}

impl Template {
    /// For segments from `src` to `dst` in packets with this codepoint for services (RFC 2474, below 64)
    /// that may not be fragmented.
    pub fn new(src: SocketAddrV4, dst: SocketAddrV4, dscp: u8, ttl: u8) -> Template {
        let lead = 0x4500 | u64::from(dscp) << 2;
        let (from, to) = (u64::from(src.ip().to_bits()), u64::from(dst.ip().to_bits()));
        let ports = u32::from(src.port()) << 16 | u32::from(dst.port());
        let hop = u32::from(ttl) << 24 | u32::from(Protocol::TCP.0) << 16;
        let offset = (SEGMENT_HEADER_LEN as u64 / 4) << 12;
        let pseudo_header = from + to + u64::from(Protocol::TCP.0) + SEGMENT_HEADER_LEN as u64;
        Template {
            lead,
            addresses: from << 32 | to,
            ports,
            hop,
            ip_sum: from + to + u64::from(hop) + DONT_FRAGMENT + lead,
            tcp_sum: pseudo_header + u64::from(ports) + u64::from(ALIGNED_TIMESTAMPS) + offset,
        }
    }

    /// Writes both headers in front of a payload of `payload_len` bytes, whose sum is known. A packet has
    /// at most 65,535 bytes.
    #[inline]
    pub fn emit(
        &self,
        buf: &mut [u8; STAMPED_LEN],
        segment: &Stamped,
        payload: Checksum,
        payload_len: u32,
    ) {
        let Stamped { ident, ecn, seq, ack, flags, window, timestamps } = *segment;
        let (ident, ecn, len) = (u64::from(ident), ecn as u64, u64::from(payload_len));
        let total_len = STAMPED_LEN as u64 + len;
        debug_assert!(total_len <= u64::from(u16::MAX));
        let lead = (self.lead | ecn) << 48 | total_len << 32 | ident << 16 | DONT_FRAGMENT;
        let hop = self.hop | u32::from(folded(self.ip_sum + ecn + total_len + ident));
        buf[..8].copy_from_slice(&lead.to_be_bytes());
        buf[8..12].copy_from_slice(&hop.to_be_bytes());
        buf[12..20].copy_from_slice(&self.addresses.to_be_bytes());

        let (flags, window) = (u64::from(flags.0), u64::from(window));
        let (seq, ack) = (u64::from(seq.0), u64::from(ack.0));
        let (value, echo) = (u64::from(timestamps.value), u64::from(timestamps.echo));
        let own = seq + ack + flags + window + value + echo + len;
        let mut checksum = Checksum::new();
        checksum.add_u64(self.tcp_sum + own);
        checksum.add_run(payload);
        let offset = (SEGMENT_HEADER_LEN as u64 / 4) << 28;
        let first = u64::from(self.ports) << 32 | seq;
        let second = ack << 32 | offset | flags << 16 | window;
        let third = u64::from(checksum.finish()) << 48 | u64::from(ALIGNED_TIMESTAMPS);
        buf[20..28].copy_from_slice(&first.to_be_bytes());
        buf[28..36].copy_from_slice(&second.to_be_bytes());
        buf[36..44].copy_from_slice(&third.to_be_bytes());
        buf[44..].copy_from_slice(&(value << 32 | echo).to_be_bytes());
    }
}

/// A packet in the shape that [`Template`] gives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read {
    /// Source of the packet.
    pub src: Ipv4Addr,
    /// Its destination.
    pub dst: Ipv4Addr,
    /// Its congestion codepoint.
    pub ecn: Ecn,
    /// The header of the segment, whose payload begins after [`STAMPED_LEN`] bytes.
    pub repr: Repr,
}

/// Reads a packet of `bytes` followed by `elided` zero bytes. None says only that it has another shape, or is
/// damaged: then the formats have to read it step by step.
#[inline]
pub fn read_stamped(bytes: &[u8], elided: u32) -> Option<Read> {
    let (headers, payload) = bytes.split_first_chunk::<STAMPED_LEN>()?;
    let chunk = |at: usize| headers[at..].first_chunk::<8>().map_or([0; 8], |chunk| *chunk);
    let word = |at: usize| u64::from_be_bytes(chunk(at));

    let (lead, hop_src) = (word(0), word(8));
    let (src, dst) = (hop_src as u32, word(12) as u32);
    let total_len = lead >> 32 & 0xffff;
    let is_whole = lead >> 56 == 0x45
        && lead & FRAGMENT == 0
        && hop_src >> 48 & 0xff == u64::from(Protocol::TCP.0)
        && total_len == bytes.len() as u64 + u64::from(elided);
    let mut checksum = Checksum::new();
    checksum.add_chunk(chunk(0));
    checksum.add_chunk(chunk(8));
    checksum.add_u32(dst);
    if !is_whole || checksum.finish() != 0 {
        return None;
    }

    let (first, second, third, stamps) = (word(20), word(28), word(36), word(44));
    let has_shape = second >> 28 & 0xf == SEGMENT_HEADER_LEN as u64 / 4
        && third & 0xffff_ffff == u64::from(ALIGNED_TIMESTAMPS);
    let pseudo_header = u64::from(src) + u64::from(dst) + u64::from(Protocol::TCP.0) + total_len
        - ipv4::HEADER_LEN as u64;
    let mut checksum = Checksum::new();
    checksum.add_u64(pseudo_header);
    for at in [20, 28, 36, 44] {
        checksum.add_chunk(chunk(at));
    }
    if !payload.is_empty() {
        checksum.add_bytes(payload);
    }
    if !has_shape || checksum.finish() != 0 {
        return None;
    }
    let timestamps = Timestamps { value: (stamps >> 32) as u32, echo: stamps as u32 };
    let repr = Repr {
        src_port: (first >> 48) as u16,
        dst_port: (first >> 32) as u16,
        seq: SeqNumber(first as u32),
        ack: SeqNumber((second >> 32) as u32),
        flags: Flags((second >> 16) as u8),
        window: second as u16,
        urgent: (third >> 32) as u16,
        options: Options { timestamps: Some(timestamps), ..Options::default() },
    };
    let ecn = Ecn::from_bits((lead >> 48) as u8);
    Some(Read { src: Ipv4Addr::from_bits(src), dst: Ipv4Addr::from_bits(dst), ecn, repr })
}

/// The complemented sum of 16-bit words that were added up as parts of larger numbers.
#[inline]
fn folded(sum: u64) -> u16 {
    let mut checksum = Checksum::new();
    checksum.add_u64(sum);
    checksum.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Integrity;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_writes_what_the_formats_write(
            addresses: (u32, u32),
            ports: (u16, u16),
            own_of_packet: (u16, u8, u8),
            dscp in 0u8..64,
            own_of_segment: (u32, u32, u8, u16),
            stamps: (u32, u32),
            payload in prop::collection::vec(any::<u8>(), 0..100),
            elided in 0u32..60_000,
        ) {
            let (src, dst) = (Ipv4Addr::from(addresses.0), Ipv4Addr::from(addresses.1));
            let (ident, ecn, ttl) = own_of_packet;
            let (seq, ack, flags, window) = own_of_segment;
            let (value, echo) = stamps;
            let (seq, ack, ecn) = (SeqNumber(seq), SeqNumber(ack), Ecn::from_bits(ecn));
            let timestamps = Timestamps { value, echo };
            let payload_len = payload.len() as u32 + elided;
            let (flags, mut sum) = (Flags(flags), Checksum::new());
            sum.add_bytes(&payload);

            let ip = ipv4::Repr {
                src, dst, protocol: Protocol::TCP, dscp, ecn, ident, dont_fragment: true, ttl,
                payload_len: (SEGMENT_HEADER_LEN as u32 + payload_len) as u16,
            };
            let options = Options { timestamps: Some(timestamps), ..Options::default() };
            let (src_port, dst_port) = ports;
            let repr = Repr { src_port, dst_port, seq, ack, flags, window, urgent: 0, options };
            let mut expected = [0; STAMPED_LEN];
            ip.emit(&mut expected);
            repr.emit_summed(&mut expected[ipv4::HEADER_LEN..], sum, payload_len, src, dst);

            let (from, to) = (SocketAddrV4::new(src, src_port), SocketAddrV4::new(dst, dst_port));
            let template = Template::new(from, to, dscp, ttl);
            let mut written = [0xaa; STAMPED_LEN];
            let own = Stamped { ident, ecn, seq, ack, flags, window, timestamps };
            template.emit(&mut written, &own, sum, payload_len);
            prop_assert_eq!(written, expected);

            let packet = [&written[..], &payload].concat();
            let read = read_stamped(&packet, elided);
            prop_assert_eq!(read, Some(Read { src, dst, ecn, repr }));
        }

        #[test]
        fn it_reads_nothing_that_the_formats_would_not_read(
            hits in prop::collection::vec((0usize..80, 1u8..), 0..3),
            len in 50usize..80,
            elided in prop_oneof![Just(0u32), 1u32..3],
        ) {
            let (src, dst) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
            let timestamps = Timestamps { value: 7, echo: 9 };
            let own = Stamped {
                ident: 3, ecn: Ecn::Ect0, seq: SeqNumber(5), ack: SeqNumber(6),
                flags: Flags::ACK, window: 8, timestamps,
            };
            let template =
                Template::new(SocketAddrV4::new(src, 1), SocketAddrV4::new(dst, 2), 0, 64);
            let mut packet = [0; 80];
            let (headers, _) = packet.split_first_chunk_mut().expect("80 bytes");
            template.emit(headers, &own, Checksum::new(), 28);
            for (at, mask) in &hits {
                packet[*at] ^= mask;
            }
            let bytes = &packet[..len];
            let read = read_stamped(bytes, elided);
            prop_assert!(read.is_some() || !hits.is_empty() || len as u32 + elided != 80);
            if let Some(read) = read {
                let ip = ipv4::Packet::new_checked(bytes, elided).expect("a packet");
                let tcp = super::super::Packet::new_checked(ip.payload(), ip.payload_elided());
                let tcp = tcp.expect("a segment");
                let header = ipv4::Repr::parse(&ip).expect("a header");
                prop_assert_eq!((header.src, header.dst, header.ecn), (read.src, read.dst, read.ecn));
                let repr = Repr::parse(&tcp, header.src, header.dst, Integrity::Intact);
                prop_assert_eq!(repr, Ok(read.repr));
                prop_assert_eq!(ip.header_len() + tcp.header_len(), STAMPED_LEN);
                prop_assert_eq!(tcp.payload_len(), len + elided as usize - STAMPED_LEN);
            }
        }
    }
}
