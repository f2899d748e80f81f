//! Whether a packet came the way its answer would go (RFC 3704), as Linux's `rp_filter` asks it of IPv4.
//!
//! An end without a device of its own has its bond's links as devices (`type = "route"`). A packet that comes
//! over a link nothing can be sent on has come a way that no answer goes: the strict filter gives it up, which
//! is what happens to every answer that a cable modem with a telephone return path receives.

use super::routes::ReversePath;
use super::{Host, InterfaceId};
use crate::Context;
use crate::bond::Event;
use crate::frame::{Frame, LinkId};
use crate::time::Instant;
use crate::work::DropReason;
use std::net::Ipv4Addr;

/// Where an IPv4 header has its source.
const SOURCE_OFFSET: usize = 12;

/// What an interface asks of the packets it receives.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Filter {
    pub(super) mode: ReversePath,
    /// Packets given up.
    refused: u64,
}

impl Host {
    /// Says from which sources an interface takes IPv4 packets (RFC 3704). What it does not take is counted as
    /// [`DropReason::ReversePath`].
    pub fn set_reverse_path(&mut self, id: InterfaceId, mode: ReversePath) {
        self.interfaces[id.0].filter.mode = mode;
    }

    /// Packets that an interface has given up because their answer would go another way.
    pub fn refused(&self, id: InterfaceId) -> u64 {
        self.interfaces[id.0].filter.refused
    }

    /// A frame arrived from a link of an interface that asks for its way. The device has it in any case.
    pub(super) fn handle_asked(
        &mut self,
        now: Instant,
        cx: &mut Context,
        (id, link): (InterfaceId, LinkId),
        frame: Frame,
    ) {
        let comes_right = self.came_by_its_link(cx, id, link, frame);
        self.interfaces[id.0].bond.handle_frame(now, cx, link, frame);
        if !comes_right {
            while let Some(event) = self.interfaces[id.0].bond.poll_event() {
                match event {
                    Event::Received(this) if this == frame => self.refuse_way(cx, id, frame),
                    Event::Received(other) => self.input(now, cx, id, other),
                }
            }
        }
        self.run(now, cx, id);
    }

    fn came_by_its_link(&self, cx: &Context, id: InterfaceId, link: LinkId, frame: Frame) -> bool {
        let bytes = cx.frames.bytes(frame);
        let source = bytes.get(SOURCE_OFFSET..).and_then(<[u8]>::first_chunk::<4>);
        let (Some(source), Some(4)) = (source, bytes.first().map(|byte| byte >> 4)) else {
            return true;
        };
        let interface = &self.interfaces[id.0];
        let is_way_out = interface.bond.member(link).is_some_and(|member| member.sends());
        let needs_way_out = interface.filter.mode == ReversePath::Strict;
        (is_way_out || !needs_way_out) && self.is_way_back(id, Ipv4Addr::from(*source))
    }

    /// Whether a packet from `source` may come in at an interface.
    pub(super) fn is_way_back(&self, id: InterfaceId, source: Ipv4Addr) -> bool {
        match self.interfaces[id.0].filter.mode {
            ReversePath::Off => true,
            ReversePath::Loose => self.route(source).is_some(),
            ReversePath::Strict => self.route(source) == Some(id),
        }
    }

    /// Gives up a packet that came another way than its answer would go.
    pub(super) fn refuse_way(&mut self, cx: &mut Context, id: InterfaceId, frame: Frame) {
        self.interfaces[id.0].filter.refused += 1;
        cx.drop_frame(frame, DropReason::ReversePath);
    }
}

#[cfg(test)]
mod tests;
