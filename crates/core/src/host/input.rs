//! A packet's way up: IPv4, then ICMP echo or the connection it belongs to.

use super::{ConnectionId, Host, InterfaceId, Key};
use crate::Context;
use crate::frame::Frame;
use crate::tcp::{self, Segment, Tuple};
use crate::time::Instant;
use crate::wire::ipv4::{self, Ecn, Protocol};
use crate::wire::{self, Integrity, tcp as wire_tcp};
use crate::work::DropReason;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Hops a packet may make (the value RFC 1700 recommends).
const TTL: u8 = 64;

impl Host {
    pub(super) fn input(&mut self, now: Instant, cx: &mut Context, id: InterfaceId, frame: Frame) {
        let ip = match ipv4::Packet::new_checked(cx.frames.bytes(frame), cx.frames.elided(frame))
            .and_then(|packet| ipv4::Repr::parse(&packet))
        {
            Ok(ip) => ip,
            Err(error) => return cx.drop_frame(frame, reason(error)),
        };
        if ip.dst != self.interfaces[id.0].address {
            return cx.drop_frame(frame, DropReason::NotForUs);
        }
        match ip.protocol {
            Protocol::TCP => self.input_tcp(now, cx, id, &ip, frame),
            Protocol::ICMP => self.input_echo(cx, id, &ip, frame),
            _ => cx.drop_frame(frame, DropReason::NotForUs),
        }
    }

    fn input_tcp(
        &mut self,
        now: Instant,
        cx: &mut Context,
        id: InterfaceId,
        ip: &ipv4::Repr,
        frame: Frame,
    ) {
        let segment = match parse_segment(cx, ip, frame) {
            Ok(segment) => segment,
            Err(error) => return cx.drop_frame(frame, reason(error)),
        };
        let tuple = Tuple {
            local: SocketAddrV4::new(ip.dst, segment.repr.dst_port),
            remote: SocketAddrV4::new(ip.src, segment.repr.src_port),
        };
        if !is_one_host(ip.src) {
            return cx.drop_frame(frame, DropReason::NotForUs);
        }
        if let Some(connection) = self.open_connection(tuple) {
            if let Some(slot) = self.slot_mut(connection) {
                slot.connection.handle_frame(now, cx, frame, &segment);
            }
            self.touched(connection);
            self.rearm_connection(connection);
        } else if opens(&segment) && self.is_listening(tuple.local.port()) {
            match self.accept(now, cx, id, tuple, &segment) {
                Some(_) => cx.frames.remove(frame),
                None => cx.drop_frame(frame, DropReason::QueueFull),
            }
        } else {
            self.refuse(cx, id, tuple, &segment);
            cx.drop_frame(frame, DropReason::NoConnection);
        }
    }

    /// The connection between two ends. One that has ended is none any more, though the application has
    /// not forgotten it yet: what comes for it is refused, or opens another.
    fn open_connection(&self, tuple: Tuple) -> Option<ConnectionId> {
        let id = *self.demux.get(&Key::new(tuple.local.port(), tuple.remote))?;
        let slot = self.slot(id)?;
        (slot.connection.state() != tcp::State::Closed).then_some(id)
    }

    /// Answers a segment for no connection with a reset (RFC 9293, 3.10.7.1).
    fn refuse(&mut self, cx: &mut Context, id: InterfaceId, tuple: Tuple, segment: &Segment) {
        let Some(reset) = tcp::reset_for(segment, tuple) else {
            return;
        };
        let (src, dst) = (*tuple.local.ip(), *tuple.remote.ip());
        let mut packet = [0; ipv4::HEADER_LEN + wire_tcp::HEADER_LEN_MIN];
        let ip = self.ip_repr(src, dst, Protocol::TCP, wire_tcp::HEADER_LEN_MIN as u16);
        ip.emit(&mut packet);
        reset.emit(&mut packet[ipv4::HEADER_LEN..], &[], 0, src, dst);
        let frame = cx.frames.insert(&packet, 0);
        self.post(cx, id, frame);
    }

    /// The header of a packet that no connection sends.
    pub(super) fn ip_repr(
        &mut self,
        src: Ipv4Addr,
        dst: Ipv4Addr,
        protocol: Protocol,
        payload_len: u16,
    ) -> ipv4::Repr {
        let ident = self.next_ident;
        self.next_ident = ident.wrapping_add(1);
        let (dscp, ecn, ttl) = (0, Ecn::NotEct, TTL);
        ipv4::Repr { src, dst, protocol, dscp, ecn, ident, dont_fragment: false, ttl, payload_len }
    }
}

/// Whether an address can be that of one host (RFC 9293, 3.9.2.3; RFC 1122, 3.2.1.3).
pub(super) fn is_one_host(address: Ipv4Addr) -> bool {
    !address.is_multicast() && !address.is_broadcast() && !address.is_unspecified()
}

/// Whether a segment asks for a connection.
fn opens(segment: &Segment) -> bool {
    let flags = segment.repr.flags;
    flags.contains(wire_tcp::Flags::SYN)
        && !flags.intersects(wire_tcp::Flags::ACK | wire_tcp::Flags::RST)
}

fn parse_segment(cx: &mut Context, ip: &ipv4::Repr, frame: Frame) -> Result<Segment, wire::Error> {
    let integrity = integrity(cx, frame);
    let bytes = cx.frames.bytes(frame);
    let packet = ipv4::Packet::new_checked(bytes, cx.frames.elided(frame))?;
    let tcp = wire_tcp::Packet::new_checked(packet.payload(), packet.payload_elided())?;
    let repr = wire_tcp::Repr::parse(&tcp, ip.src, ip.dst, integrity)?;
    let segment = Segment {
        repr,
        ecn: ip.ecn,
        payload_offset: packet.header_len() + tcp.header_len(),
        payload_len: tcp.payload_len() as u32,
    };
    cx.work.bytes_checksummed += u64::from(ip.payload_len);
    Ok(segment)
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
