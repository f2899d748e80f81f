//! UDP sockets of a host (RFC 768; RFC 1122, 4.1): bind a port, send, take what has come.
//!
//! A datagram longer than the link takes leaves in fragments. What a port nobody has bound receives is
//! answered by an ICMP error (4.1.3.1).

use super::input::integrity;
use super::internet::Packet;
use super::{Event, Host, InterfaceId};
use crate::Context;
use crate::frame::Frame;
use crate::time::Instant;
use crate::wire::ip::Addresses;
use crate::wire::ipv4::{self, Protocol};
use crate::wire::{icmp_error, udp};
use crate::work::DropReason;
use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Datagrams that wait in one socket for its application.
pub const WAITING_MAX: usize = 256;
/// The longest payload of a datagram over IPv4.
pub const PAYLOAD_LEN_MAX: usize = ipv4::PAYLOAD_LEN_MAX as usize - udp::HEADER_LEN;

/// Why a port was not bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BindError {
    /// The host has joined no network.
    NoNetwork,
    /// Somebody has it.
    Taken,
}

/// Why a datagram was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendError {
    /// No interface reaches the address.
    NoRoute,
    /// It does not fit a packet.
    TooLong,
}

/// A datagram that has been taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// Who sent it.
    pub from: SocketAddrV4,
    /// To which address.
    pub to: Ipv4Addr,
    /// Where it came in.
    pub interface: InterfaceId,
    /// Bytes of its payload, elided ones included.
    pub len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    frame: Frame,
    /// Where in the frame's bytes the payload begins.
    offset: usize,
    received: Received,
}

/// The bound ports of a host.
#[derive(Clone, Default, Debug)]
pub(super) struct Sockets {
    ports: BTreeMap<u16, VecDeque<Waiting>>,
}

impl Sockets {
    /// Datagrams that nobody has taken.
    pub fn held_frames(&self) -> usize {
        self.ports.values().map(VecDeque::len).sum()
    }
}

impl Host {
    /// Takes a UDP port. Each datagram for it is told by [`Event::Datagram`].
    ///
    /// # Errors
    /// [`BindError`] when it is taken, or the host has joined no network.
    pub fn bind(&mut self, port: u16) -> Result<(), BindError> {
        let network = self.network.as_mut().ok_or(BindError::NoNetwork)?;
        match network.sockets.ports.contains_key(&port) {
            true => Err(BindError::Taken),
            false => {
                network.sockets.ports.insert(port, VecDeque::new());
                Ok(())
            }
        }
    }

    /// Sends a datagram of `payload` and `elided` zero bytes from a port, by the interface that reaches `to`.
    ///
    /// # Errors
    /// [`SendError`] when none does, or it is too long.
    pub fn send_datagram(
        &mut self,
        now: Instant,
        cx: &mut Context,
        (port, to): (u16, SocketAddrV4),
        payload: &[u8],
        elided: u32,
    ) -> Result<(), SendError> {
        let out = self.route(*to.ip()).ok_or(SendError::NoRoute)?;
        self.send_datagram_by(now, cx, out, (port, to), payload, elided)
    }

    /// [`Host::send_datagram`] by an interface, as broadcasts have to be.
    ///
    /// # Errors
    /// [`SendError`] when the interface has no address of this version, or the datagram is too long.
    pub fn send_datagram_by(
        &mut self,
        now: Instant,
        cx: &mut Context,
        out: InterfaceId,
        (port, to): (u16, SocketAddrV4),
        payload: &[u8],
        elided: u32,
    ) -> Result<(), SendError> {
        let src = self.interfaces[out.0].v4.ok_or(SendError::NoRoute)?.local;
        if payload.len() + elided as usize > PAYLOAD_LEN_MAX {
            return Err(SendError::TooLong);
        }
        let addresses = Addresses::V4 { src, dst: *to.ip() };
        let mut headers = [0; ipv4::HEADER_LEN + udp::HEADER_LEN];
        let (ip, header) = headers.split_at_mut(ipv4::HEADER_LEN);
        let ports = udp::Repr { src_port: port, dst_port: to.port() };
        ports.emit(header, payload, elided, &addresses);
        let len = (udp::HEADER_LEN + payload.len()) as u32 + elided;
        cx.work.bytes_checksummed += u64::from(len);
        self.emit_ip(ip, addresses, (Protocol::UDP, 0), len as u16);
        let frame = cx.frames.insert_parts(&headers, payload, elided);
        self.post_in_pieces(cx, out, frame);
        self.pump(now, cx, out);
        self.rearm_network();
        Ok(())
    }

    /// Takes the oldest datagram that waits at a port: `sink` sees the bytes that are in memory, and how
    /// many zeros are behind them.
    pub fn receive_datagram(
        &mut self,
        cx: &mut Context,
        port: u16,
        sink: impl FnOnce(&[u8], u32),
    ) -> Option<Received> {
        let sockets = &mut self.network.as_mut()?.sockets;
        let Waiting { frame, offset, received } = sockets.ports.get_mut(&port)?.pop_front()?;
        let bytes = cx.frames.bytes(frame);
        let held = bytes.get(offset..bytes.len().min(offset + received.len)).unwrap_or_default();
        sink(held, (received.len - held.len()) as u32);
        cx.work.bytes_copied += received.len as u64;
        cx.frames.remove(frame);
        Some(received)
    }

    /// A datagram for us or for everybody. The frame is consumed.
    pub(super) fn input_udp(&mut self, now: Instant, cx: &mut Context, packet: Packet) {
        let Packet { interface, frame, ip, cast, .. } = packet;
        let addresses = Addresses::V4 { src: ip.src, dst: ip.dst };
        let (bytes, elided) = (cx.frames.bytes(frame), cx.frames.elided(frame));
        let read = ipv4::Packet::new_checked(bytes, elided).and_then(|packet| {
            let datagram = udp::Packet::new_checked(packet.payload(), packet.payload_elided())?;
            let ports = udp::Repr::parse(&datagram, &addresses, integrity(cx, frame))?;
            Ok((ports, packet.header_len() + udp::HEADER_LEN, datagram.payload_len()))
        });
        let (ports, offset, len) = match read {
            Ok(read) => read,
            Err(error) => return cx.drop_frame(frame, super::input::reason(error)),
        };
        cx.work.bytes_checksummed += len as u64;
        let sockets = self.network.as_mut().map(|network| &mut network.sockets);
        let socket = sockets.and_then(|sockets| sockets.ports.get_mut(&ports.dst_port));
        let Some(socket) = socket else {
            // Nobody asks everybody by mistake more often than here (RFC 1122, 3.2.2).
            self.complain_of(now, cx, icmp_error::Kind::PortUnreachable, frame, cast);
            return cx.drop_frame(frame, DropReason::NoConnection);
        };
        if socket.len() >= WAITING_MAX {
            return cx.drop_frame(frame, DropReason::QueueFull);
        }
        let from = SocketAddrV4::new(ip.src, ports.src_port);
        let received = Received { from, to: ip.dst, interface, len };
        socket.push_back(Waiting { frame, offset, received });
        self.events.push_back(Event::Datagram(ports.dst_port));
    }
}
