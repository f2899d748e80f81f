//! The way up of an IPv4 packet at a host that is one of many: is it for us, for everybody, or for somebody
//! else (RFC 1122, 3.2.1.3 and 3.3.6)? And what is said about it when it cannot be delivered (3.2.2).

use super::broadcast::Rule;
use super::input::{integrity, is_one_host, reason};
use super::network::Network;
use super::{Host, InterfaceId};
use crate::Context;
use crate::frame::Frame;
use crate::time::Instant;
use crate::wire::icmp_error;
use crate::wire::ip::Addresses;
use crate::wire::ipv4::{self, Protocol, Repr};
use crate::work::DropReason;
use std::net::{IpAddr, Ipv4Addr};

/// For whom the link meant a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cast {
    /// This host.
    One,
    /// Every station.
    Everybody,
}

/// A packet on its way up.
#[derive(Clone, Copy)]
pub(super) struct Packet {
    pub interface: InterfaceId,
    pub frame: Frame,
    pub cast: Cast,
    pub ip: Repr,
}

/// For whom a packet is, as this host understands its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whom {
    Us,
    Everybody,
    Other,
}

impl Host {
    /// A frame has come in at a host that is one of many.
    #[inline(never)]
    pub(super) fn receive(
        &mut self,
        now: Instant,
        cx: &mut Context,
        id: InterfaceId,
        frame: Frame,
    ) {
        if let Some(cast) = self.undress(now, cx, id, frame) {
            match cx.frames.bytes(frame).first().map(|byte| byte >> 4) {
                Some(6) if cast == Cast::One => self.input(now, cx, id, frame),
                _ => self.receive_v4(now, cx, id, frame, cast),
            }
        }
        self.rearm_network();
    }

    fn receive_v4(
        &mut self,
        now: Instant,
        cx: &mut Context,
        id: InterfaceId,
        frame: Frame,
        cast: Cast,
    ) {
        let read = ipv4::Packet::new_checked(cx.frames.bytes(frame), cx.frames.elided(frame))
            .and_then(|packet| Repr::parse_fragment(&packet));
        let (ip, part) = match read {
            Ok(read) => read,
            Err(error) => return cx.drop_frame(frame, reason(error)),
        };
        if !self.is_way_back(id, ip.src) {
            return self.refuse_way(cx, id, frame);
        }
        let packet = Packet { interface: id, frame, cast, ip };
        let Some(network) = &mut self.network else {
            return cx.drop_frame(frame, DropReason::NotForUs);
        };
        let rules = network.config.rules;
        match self.whom(id, ip.dst) {
            Whom::Other if cast == Cast::Everybody && rules.has(Rule::Discard) => {
                cx.drop_frame(frame, DropReason::NotForUs);
            }
            Whom::Other => self.forward(now, cx, packet),
            whom if part.is_whole() => self.deliver_packet(now, cx, packet, whom),
            whom => {
                let Some(network) = &mut self.network else { return };
                if let Some(frame) = network.reassembly.add(now, cx, frame, (ip, part)) {
                    network.stats.reassembled += 1;
                    let len = cx.frames.len(frame) - ipv4::HEADER_LEN;
                    let ip = Repr { payload_len: len as u16, ..ip };
                    let packet = Packet { frame, ip, ..packet };
                    self.deliver_packet(now, cx, packet, whom);
                }
            }
        }
    }

    fn whom(&self, id: InterfaceId, dst: Ipv4Addr) -> Whom {
        let interface = &self.interfaces[id.0];
        let is_own = |i: &super::Interface| i.v4.is_some_and(|ends| ends.local == dst);
        if is_own(interface) || self.interfaces.iter().any(is_own) {
            Whom::Us
        } else if interface.card.as_ref().is_some_and(|card| card.is_everybody(dst)) {
            Whom::Everybody
        } else {
            Whom::Other
        }
    }

    /// Gives a whole packet to what it is for.
    fn deliver_packet(&mut self, now: Instant, cx: &mut Context, packet: Packet, whom: Whom) {
        let Packet { interface, frame, ip, cast, .. } = packet;
        // A segment and an echo are for one, and come from one.
        let is_for_one = whom == Whom::Us && cast == Cast::One;
        match ip.protocol {
            Protocol::UDP => self.input_udp(now, cx, packet),
            Protocol::TCP | Protocol::ICMP if !is_for_one => {
                cx.drop_frame(frame, DropReason::NotForUs);
            }
            Protocol::TCP => self.input(now, cx, interface, frame),
            Protocol::ICMP => self.input_icmp(now, cx, packet),
            _ => {
                self.complain(now, cx, icmp_error::Kind::ProtocolUnreachable, frame);
                cx.drop_frame(frame, DropReason::NotForUs);
            }
        }
    }

    fn input_icmp(&mut self, now: Instant, cx: &mut Context, packet: Packet) {
        let Packet { interface, frame, .. } = packet;
        let bytes = cx.frames.bytes(frame);
        let message = ipv4::Packet::new_checked(bytes, cx.frames.elided(frame));
        let message = message.map_or(&[][..], |packet| packet.payload());
        let read = icmp_error::Packet::new_checked(message);
        let read = read.and_then(|read| icmp_error::Repr::parse(&read, integrity(cx, frame)));
        match read {
            // That a packet was too big is for its connection.
            Ok(read) if !matches!(read.kind, icmp_error::Kind::FragmentationNeeded { .. }) => {
                cx.frames.remove(frame);
                if let Some(network) = &mut self.network {
                    network.stats.errors_received += 1;
                }
            }
            _ => self.input(now, cx, interface, frame),
        }
    }

    /// Tells the source of a packet what became of it, if it may be told (RFC 1122, 3.2.2). The packet stays.
    pub(super) fn complain(
        &mut self,
        now: Instant,
        cx: &mut Context,
        kind: icmp_error::Kind,
        about: Frame,
    ) {
        self.complain_of(now, cx, kind, about, Cast::One);
    }

    /// [`Host::complain`] about a packet that came as this.
    pub(super) fn complain_of(
        &mut self,
        now: Instant,
        cx: &mut Context,
        kind: icmp_error::Kind,
        about: Frame,
        cast: Cast,
    ) {
        let (bytes, elided) = (cx.frames.bytes(about), cx.frames.elided(about));
        let Ok(packet) = ipv4::Packet::new_checked(bytes, elided) else { return };
        let is_error =
            packet.protocol() == Protocol::ICMP && icmp_error::is_error(packet.payload());
        let source = packet.src();
        let is_first = packet.fragment().offset == 0;
        let way = self.route(source);
        let (Some(network), Some(out)) = (&self.network, way) else { return };
        let dst = packet.dst();
        let cards = self.interfaces.iter().filter_map(|i| i.card.as_ref());
        let is_everybody = |ip| cards.clone().any(|card| card.subnet().form_of(ip).is_some());
        let to_many = cast == Cast::Everybody || dst.is_multicast() || is_everybody(dst);
        let from_one = is_one_host(IpAddr::V4(source)) && !is_everybody(source);
        let is_quiet = network.config.rules.has(Rule::NoErrors) && to_many;
        if is_error || !is_first || !from_one || is_quiet {
            return;
        }
        let mut message = [0; icmp_error::LEN_MAX];
        let len = icmp_error::Repr { kind }.emit(&mut message, bytes);
        let Some(src) = self.interfaces[out.0].v4.map(|ends| ends.local) else { return };
        let addresses = Addresses::V4 { src, dst: source };
        self.post_packet(cx, out, addresses, (Protocol::ICMP, 0), (&[], &message[..len], 0));
        if let Some(Network { stats, .. }) = self.network.as_deref_mut() {
            stats.errors_sent += 1;
        }
        self.pump(now, cx, out);
    }
}
