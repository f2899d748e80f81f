//! What a bond does more when its members are a trunk: headers, control, and what follows from the state
//! of its paths.

use super::trunk::{Path, Received, ResequencerStats, Standing, Trunk};
use super::{Bond, drop_on};
use crate::Context;
use crate::frame::{Burst, Frame, LinkId, Place};
use crate::time::Instant;
use crate::wire;
use crate::wire::trunk::{HEADER_LEN, Kind, Repr};
use crate::work::DropReason;

impl Bond {
    /// The path of a member, when the bond is a trunk.
    pub fn path(&self, link: LinkId) -> Option<&Path> {
        self.trunk.as_ref()?.path(link)
    }

    /// What was put back into order, when the bond does that.
    pub fn resequencer_stats(&self) -> Option<&ResequencerStats> {
        self.trunk.as_ref()?.resequencer_stats()
    }

    /// Packets that wait for their predecessors now.
    pub fn resequencing_frames(&self) -> usize {
        self.trunk.as_ref().map_or(0, Trunk::held_frames)
    }

    /// A datagram arrived over a trunk member.
    pub(super) fn handle_datagram(
        &mut self,
        now: Instant,
        cx: &mut Context,
        index: usize,
        frame: Frame,
    ) {
        let link = self.members[index].link();
        let Some(trunk) = &mut self.trunk else {
            return;
        };
        let len = cx.frames.len(frame) as u64;
        let expected = trunk.config().local_index;
        let read = match Repr::parse(cx.frames.bytes(frame)) {
            // The damage that the datagram's own checksum would show.
            _ if cx.frames.is_corrupt(frame) => Err(DropReason::Checksum),
            Ok(repr) if repr.receiver != expected => Err(DropReason::Foreign),
            Ok(repr) => Ok(repr),
            Err(error) => Err(reason(error)),
        };
        let repr = match read {
            Ok(repr) => repr,
            Err(reason) => return drop_on(link, now, cx, frame, reason),
        };
        let received = trunk.handle(now, cx, link, (repr, frame), &mut self.received);
        match received {
            Ok(Received::Data) => {
                let stats = &mut self.members[index].stats;
                stats.rx_packets += 1;
                stats.rx_bytes += len - HEADER_LEN as u64;
            }
            Ok(Received::Control) => {
                cx.frames.remove(frame);
                self.follow_paths(now, cx);
            }
            Ok(Received::Duplicate) => drop_on(link, now, cx, frame, DropReason::Duplicate),
            Err(error) => drop_on(link, now, cx, frame, reason(error)),
        }
    }

    /// Lets members be used, or not, as their paths are now; what waits on one that is left goes over the
    /// others.
    pub(super) fn follow_paths(&mut self, now: Instant, cx: &mut Context) {
        let Some(trunk) = &self.trunk else {
            return;
        };
        for member in &mut self.members {
            let link = member.link();
            let is_used = trunk.may_carry(link);
            member.set_standing(if is_used { Standing::Good } else { Standing::Down });
            if let Some(delay) = trunk.delay(link) {
                member.set_delay(delay);
            }
        }
        self.ingress.set_round_trip(trunk.round_trip());
        for index in (0..self.members.len()).rev() {
            if !self.members[index].is_up() {
                self.reclaim(index);
            }
        }
        self.drain(now, cx);
    }

    /// Hands out what a trunk member sends: control first, else packets with their headers.
    pub(super) fn transmit_datagrams(
        &mut self,
        now: Instant,
        cx: &mut Context,
        index: usize,
        burst: &mut Burst,
    ) {
        let (Some(trunk), member) = (&mut self.trunk, &mut self.members[index]) else {
            return;
        };
        if member.has_carrier()
            && let Some(frame) = trunk.control(now, cx, member)
        {
            cx.frames.set_waiting(frame, Place::Transmitter);
            burst.push(frame, cx.frames.len(frame));
            return;
        }
        if !member.is_up() {
            return;
        }
        let link = member.link();
        member.transmit(now, burst, |waiting, out| {
            if let Some(turn) = waiting.turn {
                let header = trunk.header(now, link, Kind::Data(turn), out);
                cx.frames.prepend(waiting.frame, &header);
            }
        });
    }
}

fn reason(error: wire::Error) -> DropReason {
    match error {
        wire::Error::Truncated => DropReason::Truncated,
        wire::Error::Checksum => DropReason::Checksum,
        wire::Error::Malformed => DropReason::Malformed,
    }
}
