//! ICMP echo over both versions of IP: every host answers, and may ask (RFC 792; RFC 1122, 3.2.2.6;
//! RFC 4443, 4).

use super::input::{Arrived, integrity, upper};
use super::{Event, Host, InterfaceId};
use crate::Context;
use crate::frame::Frame;
use crate::time::Instant;
use crate::wire::ip::Addresses;
use crate::wire::ipv4::{Ecn, Protocol};
use crate::wire::{icmp, icmpv6};
use std::net::IpAddr;

/// One echo request or reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Echo {
    /// Who answers, or answered.
    pub peer: IpAddr,
    /// Which sequence of requests this belongs to.
    pub ident: u16,
    /// Its place in the sequence.
    pub seq: u16,
    /// Data bytes after the ICMP header.
    pub payload_len: u16,
    /// The type of service: codepoint and ECN field (RFC 2474, RFC 3168). An answer has its request's.
    pub tos: u8,
}

impl Host {
    /// Sends an echo request. Without an interface that reaches the peer nothing happens.
    pub fn send_echo(&mut self, now: Instant, cx: &mut Context, echo: Echo) {
        if let Some(id) = self.route(echo.peer) {
            // The data of our own requests is zeros, so that only its length is carried.
            self.emit_echo(cx, id, icmp::Kind::EchoRequest, echo, &[]);
            self.pump(now, cx, id);
        }
    }

    pub(super) fn input_echo(&mut self, cx: &mut Context, arrived: &Arrived, frame: Frame) {
        match parse(cx, arrived, frame) {
            Err(error) => cx.drop_frame(frame, super::input::reason(error)),
            Ok((kind, echo, data)) => {
                cx.frames.remove(frame);
                match kind {
                    icmp::Kind::EchoRequest => {
                        self.emit_echo(cx, arrived.interface, icmp::Kind::EchoReply, echo, &data);
                    }
                    icmp::Kind::EchoReply => self.events.push_back(Event::EchoReply(echo)),
                }
            }
        }
    }

    /// A message with this data, and zeros behind it up to the length of the echo.
    fn emit_echo(
        &mut self,
        cx: &mut Context,
        id: InterfaceId,
        kind: icmp::Kind,
        echo: Echo,
        data: &[u8],
    ) {
        let local = self.interfaces[id.0].local_for(echo.peer);
        let Some(addresses) = local.and_then(|local| Addresses::new(local, echo.peer)) else {
            return;
        };
        let icmp = icmp::Repr { kind, ident: echo.ident, seq: echo.seq };
        let elided = u32::from(echo.payload_len) - data.len() as u32;
        let mut header = [0; icmp::HEADER_LEN];
        let protocol = match addresses {
            Addresses::V4 { .. } => {
                icmp.emit(&mut header, data);
                Protocol::ICMP
            }
            Addresses::V6 { src, dst } => {
                icmpv6::emit(&icmp, &mut header, data, elided, src, dst);
                Protocol::ICMPV6
            }
        };
        self.post_packet(cx, id, addresses, protocol, echo.tos, (&header, data, elided));
    }
}

/// The kind, the numbers, and the data that is in memory.
fn parse(
    cx: &Context,
    arrived: &Arrived,
    frame: Frame,
) -> Result<(icmp::Kind, Echo, Vec<u8>), crate::wire::Error> {
    let (bytes, elided) = upper(cx, arrived, frame);
    let message = icmp::Packet::new_checked(bytes, elided)?;
    let repr = match arrived.addresses {
        Addresses::V4 { .. } => icmp::Repr::parse(&message, integrity(cx, frame))?,
        Addresses::V6 { src, dst } => icmpv6::parse(&message, src, dst, integrity(cx, frame))?,
    };
    let payload_len = message.payload_len() as u16;
    let peer = arrived.addresses.src();
    // What a queue has marked says nothing to an echo: its answer begins anew.
    let ecn = if arrived.ecn == Ecn::Ce { Ecn::Ect0 } else { arrived.ecn };
    let tos = arrived.dscp << 2 | ecn as u8;
    let echo = Echo { peer, ident: repr.ident, seq: repr.seq, payload_len, tos };
    Ok((repr.kind, echo, message.payload().to_vec()))
}
