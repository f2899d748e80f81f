//! A packet's way up: IP of either version, then ICMP echo or the connection it belongs to.

use super::{ConnectionId, Host, InterfaceId};
use crate::Context;
use crate::frame::Frame;
use crate::tcp::{self, Segment, Tuple};
use crate::time::Instant;
use crate::wire::checksum::Address;
use crate::wire::ip::Addresses;
use crate::wire::ipv4::{self, Ecn, Protocol};
use crate::wire::{self, Integrity, ipv6, tcp as wire_tcp, too_big};
use crate::work::DropReason;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Hops a packet may make (the value RFC 1700 recommends).
const TTL: u8 = 64;

/// The longest header of a packet of ours that no connection sends.
const HEADERS_LEN_MAX: usize = ipv6::HEADER_LEN + wire_tcp::HEADER_LEN_MAX;

/// What a packet carries to which of our interfaces.
#[derive(Clone, Copy)]
pub(super) struct Arrived {
    pub interface: InterfaceId,
    /// As they stand in the packet: the destination is ours.
    pub addresses: Addresses,
    pub dscp: u8,
    pub ecn: Ecn,
    pub protocol: Protocol,
    /// Bytes of IP headers.
    pub header_len: usize,
    /// Bytes after them, elided ones included.
    pub len: usize,
}

impl Host {
    pub(super) fn input(&mut self, now: Instant, cx: &mut Context, id: InterfaceId, frame: Frame) {
        if let Some((segment, src, dst)) = Segment::read(&cx.frames, frame)
            && self.interfaces[id.0].v4.is_some_and(|ends| ends.local == dst)
        {
            let headers = (wire_tcp::STAMPED_LEN - ipv4::HEADER_LEN) as u64;
            cx.work.bytes_checksummed += headers + u64::from(segment.payload_len);
            return self.input_segment(now, cx, id, Addresses::V4 { src, dst }, frame, &segment);
        }
        let (bytes, elided) = (cx.frames.bytes(frame), cx.frames.elided(frame));
        let read = match bytes.first().map(|byte| byte >> 4) {
            Some(6) => self.read_v6(id, bytes, elided),
            _ => self.read_v4(id, bytes, elided),
        };
        let arrived = match read {
            Ok(arrived) => arrived,
            Err(reason) => return cx.drop_frame(frame, reason),
        };
        match (arrived.protocol, arrived.addresses) {
            (Protocol::TCP, _) => self.input_tcp(now, cx, &arrived, frame),
            (Protocol::ICMP, Addresses::V4 { .. }) | (Protocol::ICMPV6, Addresses::V6 { .. }) => {
                if too_big::is_one(&arrived.addresses, upper(cx, &arrived, frame).0) {
                    return self.input_too_big(now, cx, &arrived, frame);
                }
                self.input_echo(cx, &arrived, frame);
            }
            _ => cx.drop_frame(frame, DropReason::NotForUs),
        }
    }

    #[inline]
    fn read_v4(&self, id: InterfaceId, bytes: &[u8], elided: u32) -> Result<Arrived, DropReason> {
        let packet = ipv4::Packet::new_checked(bytes, elided).map_err(reason)?;
        let ip = ipv4::Repr::parse(&packet).map_err(reason)?;
        if self.interfaces[id.0].v4.is_none_or(|ends| ends.local != ip.dst) {
            return Err(DropReason::NotForUs);
        }
        Ok(Arrived {
            interface: id,
            addresses: Addresses::V4 { src: ip.src, dst: ip.dst },
            dscp: ip.dscp,
            ecn: ip.ecn,
            protocol: ip.protocol,
            header_len: packet.header_len(),
            len: usize::from(ip.payload_len),
        })
    }

    fn read_v6(&self, id: InterfaceId, bytes: &[u8], elided: u32) -> Result<Arrived, DropReason> {
        let packet = ipv6::Packet::new_checked(bytes, elided).map_err(reason)?;
        let upper = packet.upper().map_err(reason)?;
        // Every link of ours carries whole packets of at most its MTU.
        if upper.fragment {
            return Err(DropReason::Malformed);
        }
        if self.interfaces[id.0].v6.is_none_or(|ends| ends.local != packet.dst()) {
            return Err(DropReason::NotForUs);
        }
        let extensions = packet.payload().len() - upper.bytes.len();
        Ok(Arrived {
            interface: id,
            addresses: Addresses::V6 { src: packet.src(), dst: packet.dst() },
            dscp: packet.traffic_class() >> 2,
            ecn: packet.ecn(),
            protocol: upper.protocol,
            header_len: ipv6::HEADER_LEN + extensions,
            len: packet.total_len() - ipv6::HEADER_LEN - extensions,
        })
    }

    fn input_tcp(&mut self, now: Instant, cx: &mut Context, arrived: &Arrived, frame: Frame) {
        let read = match arrived.addresses {
            Addresses::V4 { src, dst } => parse_segment(cx, arrived, frame, src, dst),
            Addresses::V6 { src, dst } => parse_segment(cx, arrived, frame, src, dst),
        };
        let segment = match read {
            Ok(segment) => segment,
            Err(error) => return cx.drop_frame(frame, reason(error)),
        };
        self.input_segment(now, cx, arrived.interface, arrived.addresses, frame, &segment);
    }

    /// A segment's headers have been read: to its connection.
    #[inline]
    fn input_segment(
        &mut self,
        now: Instant,
        cx: &mut Context,
        id: InterfaceId,
        addresses: Addresses,
        frame: Frame,
        segment: &Segment,
    ) {
        let tuple = Tuple {
            local: SocketAddr::new(addresses.dst(), segment.repr.dst_port),
            remote: SocketAddr::new(addresses.src(), segment.repr.src_port),
        };
        if !is_one_host(tuple.remote.ip()) {
            return cx.drop_frame(frame, DropReason::NotForUs);
        }
        let found = self.open_connection(&tuple);
        let asks = opens(segment) && self.is_listening(tuple.local.port());
        if let Some(connection) = found {
            let slot = self.slot_mut(connection).filter(|_| asks);
            let beyond = slot.and_then(|slot| slot.connection.give_way(segment));
            if beyond.is_some() {
                return self.input_syn(now, cx, id, tuple, (frame, segment), beyond);
            }
            self.deliver(now, cx, connection, frame, segment);
        } else if asks {
            self.input_syn(now, cx, id, tuple, (frame, segment), None);
        } else if let Some(opened) = self.accept_by_cookie(now, cx, id, tuple, segment) {
            self.deliver(now, cx, opened, frame, segment);
        } else {
            self.refuse(cx, id, tuple, segment);
            cx.drop_frame(frame, DropReason::NoConnection);
        }
    }

    /// The connection between two ends. One that has ended is none any more, though the application has
    /// not forgotten it yet: what comes for it is refused, or opens another.
    fn open_connection(&self, tuple: &Tuple) -> Option<ConnectionId> {
        let id = self.demux.find(tuple.local.port(), &tuple.remote)?;
        let slot = self.slot(id)?;
        (slot.connection.state() != tcp::State::Closed).then_some(id)
    }

    /// Hands a segment to its connection.
    #[inline]
    fn deliver(
        &mut self,
        now: Instant,
        cx: &mut Context,
        id: ConnectionId,
        frame: Frame,
        segment: &Segment,
    ) {
        if let Some(slot) = self.slot_mut(id) {
            slot.connection.handle_frame(now, cx, frame, segment);
        }
        self.touched(id);
        self.rearm_connection(id);
    }

    /// Answers a segment for no connection with a reset (RFC 9293, 3.10.7.1).
    fn refuse(&mut self, cx: &mut Context, id: InterfaceId, tuple: Tuple, segment: &Segment) {
        if let Some(reset) = tcp::reset_for(segment, tuple) {
            self.post_segment(cx, id, tuple, &reset);
        }
    }

    /// Sends an empty segment of no connection.
    pub(super) fn post_segment(
        &mut self,
        cx: &mut Context,
        id: InterfaceId,
        tuple: Tuple,
        segment: &wire_tcp::Repr,
    ) {
        let mut buffer = [0; wire_tcp::HEADER_LEN_MAX];
        let header = &mut buffer[..segment.header_len()];
        let addresses = tuple.addresses();
        match addresses {
            Addresses::V4 { src, dst } => segment.emit(header, &[], 0, src, dst),
            Addresses::V6 { src, dst } => segment.emit(header, &[], 0, src, dst),
        }
        self.post_packet(cx, id, addresses, Protocol::TCP, 0, (header, &[], 0));
    }

    /// Sends a packet that is no connection's: what it carries is a header, data, and zeros.
    pub(super) fn post_packet(
        &mut self,
        cx: &mut Context,
        id: InterfaceId,
        addresses: Addresses,
        protocol: Protocol,
        tos: u8,
        (upper, data, elided): (&[u8], &[u8], u32),
    ) {
        let mut headers = [0; HEADERS_LEN_MAX];
        let ip_len = addresses.header_len();
        let end = ip_len + upper.len();
        let payload_len = (upper.len() + data.len()) as u32 + elided;
        self.emit_ip(&mut headers, addresses, protocol, tos, payload_len as u16);
        headers[ip_len..end].copy_from_slice(upper);
        let frame = cx.frames.insert_parts(&headers[..end], data, elided);
        self.post(cx, id, frame);
    }

    /// The header of a packet that no connection sends.
    pub(super) fn emit_ip(
        &mut self,
        buf: &mut [u8],
        addresses: Addresses,
        protocol: Protocol,
        tos: u8,
        payload_len: u16,
    ) {
        let ident = self.next_ident;
        self.next_ident = ident.wrapping_add(1);
        let (dscp, ecn, ttl) = (tos >> 2, Ecn::from_bits(tos), TTL);
        match addresses {
            Addresses::V4 { src, dst } => {
                let dont_fragment = false;
                ipv4::Repr {
                    src,
                    dst,
                    protocol,
                    dscp,
                    ecn,
                    ident,
                    dont_fragment,
                    ttl,
                    payload_len,
                }
                .emit(buf);
            }
            Addresses::V6 { src, dst } => {
                let (next_header, flow_label, hop_limit) = (protocol, 0, ttl);
                ipv6::Repr { src, dst, next_header, dscp, ecn, flow_label, hop_limit, payload_len }
                    .emit(buf);
            }
        }
    }
}

/// Whether an address can be that of one host (RFC 9293, 3.9.2.3; RFC 1122, 3.2.1.3).
pub(super) fn is_one_host(address: IpAddr) -> bool {
    let is_broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
    !address.is_multicast() && !is_broadcast && !address.is_unspecified()
}

/// Whether a segment asks for a connection.
fn opens(segment: &Segment) -> bool {
    let flags = segment.repr.flags;
    flags.contains(wire_tcp::Flags::SYN)
        && !flags.intersects(wire_tcp::Flags::ACK | wire_tcp::Flags::RST)
}

#[inline]
fn parse_segment<A: Address>(
    cx: &mut Context,
    arrived: &Arrived,
    frame: Frame,
    src: A,
    dst: A,
) -> Result<Segment, wire::Error> {
    let integrity = integrity(cx, frame);
    let (bytes, elided) = upper(cx, arrived, frame);
    let tcp = wire_tcp::Packet::new_checked(bytes, elided)?;
    let repr = wire_tcp::Repr::parse(&tcp, src, dst, integrity)?;
    let segment = Segment {
        repr,
        ecn: arrived.ecn,
        payload_offset: arrived.header_len + tcp.header_len(),
        payload_len: tcp.payload_len() as u32,
    };
    cx.work.bytes_checksummed += arrived.len as u64;
    Ok(segment)
}

/// What a packet carries: bytes in memory, and zeros that are not. Link padding behind it is cut off.
#[inline]
pub(super) fn upper<'a>(cx: &'a Context, arrived: &Arrived, frame: Frame) -> (&'a [u8], u32) {
    let bytes = cx.frames.bytes(frame);
    let end = bytes.len().min(arrived.header_len + arrived.len);
    let bytes = bytes.get(arrived.header_len..end).unwrap_or_default();
    (bytes, (arrived.len - bytes.len()) as u32)
}

/// Damage that the bytes in memory may not show.
pub(super) fn integrity(cx: &Context, frame: Frame) -> Integrity {
    if cx.frames.is_corrupt(frame) { Integrity::Corrupt } else { Integrity::Intact }
}

pub(super) fn reason(error: wire::Error) -> DropReason {
    match error {
        wire::Error::Checksum => DropReason::Checksum,
        _ => DropReason::Malformed,
    }
}
