//! ICMP echo: every host answers, and may ask (RFC 792; RFC 1122, 3.2.2.6).

use super::input::integrity;
use super::{Event, Host, InterfaceId};
use crate::Context;
use crate::frame::Frame;
use crate::time::Instant;
use crate::wire::icmp;
use crate::wire::ipv4::{self, Ecn, HEADER_LEN, Protocol};
use std::net::Ipv4Addr;

/// One echo request or reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Echo {
    /// Who answers, or answered.
    pub peer: Ipv4Addr,
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

    pub(super) fn input_echo(
        &mut self,
        cx: &mut Context,
        id: InterfaceId,
        ip: &ipv4::Repr,
        frame: Frame,
    ) {
        match parse(cx, ip, frame) {
            Err(error) => cx.drop_frame(frame, super::input::reason(error)),
            Ok((kind, echo, data)) => {
                cx.frames.remove(frame);
                match kind {
                    icmp::Kind::EchoRequest => {
                        self.emit_echo(cx, id, icmp::Kind::EchoReply, echo, &data);
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
        let icmp = icmp::Repr { kind, ident: echo.ident, seq: echo.seq };
        let len = icmp::HEADER_LEN as u16 + echo.payload_len;
        let src = self.interfaces[id.0].address;
        let ip = ipv4::Repr {
            dscp: echo.tos >> 2,
            ecn: Ecn::from_bits(echo.tos),
            ..self.ip_repr(src, echo.peer, Protocol::ICMP, len)
        };
        let mut header = [0; HEADER_LEN + icmp::HEADER_LEN];
        ip.emit(&mut header[..HEADER_LEN]);
        icmp.emit(&mut header[HEADER_LEN..], data);
        let elided = u32::from(echo.payload_len) - data.len() as u32;
        let frame = cx.frames.insert_parts(&header, data, elided);
        self.post(cx, id, frame);
    }
}

/// The kind, the numbers, and the data that is in memory.
fn parse(
    cx: &Context,
    ip: &ipv4::Repr,
    frame: Frame,
) -> Result<(icmp::Kind, Echo, Vec<u8>), crate::wire::Error> {
    let packet = ipv4::Packet::new_checked(cx.frames.bytes(frame), cx.frames.elided(frame))?;
    let message = icmp::Packet::new_checked(packet.payload(), packet.payload_elided())?;
    let repr = icmp::Repr::parse(&message, integrity(cx, frame))?;
    let payload_len = ip.payload_len - icmp::HEADER_LEN as u16;
    // What a queue has marked says nothing to an echo: its answer begins anew.
    let ecn = if ip.ecn == Ecn::Ce { Ecn::Ect0 } else { ip.ecn };
    let tos = ip.dscp << 2 | ecn as u8;
    let echo = Echo { peer: ip.src, ident: repr.ident, seq: repr.seq, payload_len, tos };
    Ok((repr.kind, echo, message.payload().to_vec()))
}
