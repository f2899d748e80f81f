//! One direction of a link in the world: what counts out what is sent, the channel, and the card at its end.

use std::collections::VecDeque;
use trunkline_core::Context;
use trunkline_core::bond::MemberConfig;
use trunkline_core::frame::Frame;
use trunkline_core::host::InterfaceId;
use trunkline_core::link::channel::Channel;
use trunkline_core::link::{Pacer, ReceiveRing};
use trunkline_core::time::Instant;

/// One of a link's two directions.
pub(crate) struct Lane {
    pub(crate) channel: Channel,
    /// What counts out what the sender hands over, where no transmitter of its own reports it.
    pub(super) pacer: Option<Pacer>,
    /// Frames handed over by the sender that the channel has not taken.
    pub(super) handed: VecDeque<Frame>,
    /// The card at its far end, where the host there has to read it.
    pub(crate) ring: Option<ReceiveRing>,
    /// The host that sends into it, and the one it leads to.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The bond it belongs to at the sending host, and what to enslave it with.
    pub(crate) interface: InterfaceId,
    pub(crate) member: MemberConfig,
}

impl Lane {
    pub(crate) fn new(
        channel: Channel,
        pacer: Option<Pacer>,
        from: usize,
        to: usize,
        interface: InterfaceId,
        member: MemberConfig,
    ) -> Self {
        let handed = VecDeque::new();
        Lane { channel, pacer, handed, ring: None, from, to, interface, member }
    }

    /// Whether the sender may hand over a burst.
    pub(super) fn is_free(&self) -> bool {
        match &self.pacer {
            Some(pacer) => pacer.is_idle(),
            None => self.channel.idle() && self.handed.is_empty(),
        }
    }

    /// Whether the channel has a queue of its own, which takes what is handed over at once.
    pub(super) const fn has_queue(&self) -> bool {
        self.channel.config().queue.is_some()
    }

    /// When its pacer has something to tell.
    pub(super) fn counted_out(&self) -> Option<Instant> {
        self.pacer.as_ref().and_then(Pacer::deadline)
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let mut next = self.channel.next_timeout();
        if let Some(read) = self.ring.as_ref().and_then(ReceiveRing::next_timeout) {
            next = Some(next.map_or(read, |next| next.min(read)));
        }
        match self.counted_out() {
            Some(paced) => Some(next.map_or(paced, |next| next.min(paced))),
            None => next,
        }
    }

    /// Takes a frame that the host at the far end has.
    pub(super) fn poll_arrival(&mut self, now: Instant, cx: &mut Context) -> Option<Frame> {
        let Some(ring) = &mut self.ring else {
            return self.channel.poll_arrival(now);
        };
        while let Some(frame) = self.channel.poll_arrival(now) {
            ring.handle_frame(now, cx, frame);
        }
        ring.poll_read(now)
    }

    pub(super) fn held_frames(&self) -> usize {
        let sending = usize::from(!self.channel.idle());
        let unread = self.ring.as_ref().map_or(0, ReceiveRing::held_frames);
        self.handed.len() + sending + self.channel.queued() + self.channel.wire().len() + unread
    }
}
