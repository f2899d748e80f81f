//! Passing packets on (RFC 1812, 5; RFC 1122, 3.3.1 and 3.3.4.2). Off unless the host is a router.
//!
//! A host of 4.2BSD passed on whatever was for somebody else, also when the link had meant it for everybody:
//! [`super::Rule::NoForwarding`] is what it lacks.
//!
//! Deviations: no redirects; options are not acted upon.

use super::broadcast::Rule;
use super::internet::{Cast, Packet};
use super::network::Forwarding;
use super::{Host, InterfaceId};
use crate::Context;
use crate::frame::Frame;
use crate::time::Instant;
use crate::wire::icmp_error::Kind;
use crate::wire::ipv4;
use crate::work::DropReason;

impl Host {
    /// A packet for somebody else. The frame is consumed.
    pub(super) fn forward(&mut self, now: Instant, cx: &mut Context, packet: Packet) {
        let Packet { frame, cast, ip, .. } = packet;
        let Some(network) = &self.network else {
            return cx.drop_frame(frame, DropReason::NotForUs);
        };
        let config = network.config;
        let is_kept = cast == Cast::Everybody && config.rules.has(Rule::NoForwarding);
        let is_nowhere = ip.dst.is_multicast() || ip.dst.is_loopback() || ip.dst.is_unspecified();
        if config.forwarding == Forwarding::Off || is_kept || is_nowhere {
            return cx.drop_frame(frame, DropReason::NotForUs);
        }
        let limited = ip.dst.is_broadcast();
        let Some(out) = self.route(ip.dst).filter(|_| !limited) else {
            self.complain_of(now, cx, Kind::NetUnreachable, frame, cast);
            return cx.drop_frame(frame, DropReason::NotForUs);
        };
        // A broadcast of the next network is its own (RFC 2644).
        let there = self.interfaces[out.0].card.as_ref();
        if there.is_some_and(|card| card.is_everybody(ip.dst))
            && config.rules.has(Rule::NoForwarding)
        {
            return cx.drop_frame(frame, DropReason::NotForUs);
        }
        if ip.ttl < 2 {
            self.complain_of(now, cx, Kind::HopsExceeded, frame, cast);
            return cx.drop_frame(frame, DropReason::HopsExceeded);
        }
        let mtu = self.mtu(out);
        let len = usize::from(ip.payload_len) + ipv4::HEADER_LEN;
        if ip.dont_fragment && len > usize::from(mtu) {
            self.complain_of(now, cx, Kind::FragmentationNeeded { mtu }, frame, cast);
            return cx.drop_frame(frame, DropReason::TooBig);
        }
        if ipv4::take_hop(cx.frames.bytes_mut(frame)).is_none() {
            return cx.drop_frame(frame, DropReason::Malformed);
        }
        if let Some(network) = &mut self.network {
            network.stats.forwarded += 1;
        }
        self.post_in_pieces(cx, out, frame);
        self.pump(now, cx, out);
    }

    /// Queues a packet of any length for an interface, in pieces that its link takes.
    pub(super) fn post_in_pieces(&mut self, cx: &mut Context, out: InterfaceId, frame: Frame) {
        let mtu = self.mtu(out);
        if cx.frames.len(frame) <= usize::from(mtu) {
            return self.post(cx, out, frame);
        }
        let cut = super::fragment::fragment(cx, frame, mtu, |cx, piece| self.post(cx, out, piece));
        match (cut, &mut self.network) {
            (Err(frame), _) => cx.drop_frame(frame, DropReason::TooBig),
            (Ok(()), Some(network)) => network.stats.fragmented += 1,
            (Ok(()), None) => {}
        }
    }
}
