//! What happens on cables: frames come in at machines and switches, and transmitters finish.

use super::{Source, World};
use crate::fabric::{End, FIRST_ADDRESS};
use trunkline_core::frame::Frame;
use trunkline_core::work::DropReason;

/// Where an IPv4 header has its destination.
const DESTINATION_OFFSET: usize = 16;

impl World {
    /// A frame arrives at the other end of a cable.
    pub(super) fn cable_arrival(&mut self, cable: usize) {
        while let Some(frame) = self.fabric.cables[cable].channel.poll_arrival(self.now) {
            match self.fabric.cables[cable].to {
                End::Host(host) => {
                    let link = self.fabric.cables[cable].link;
                    self.hosts[host].handle_frame(self.now, &mut self.cx, link, frame);
                    self.serve(host);
                }
                End::Port { switch, .. } => self.forward(switch, frame),
            }
        }
        self.arm_arrival(cable);
    }

    pub(super) fn arm_arrival(&mut self, cable: usize) {
        let next = self.fabric.cables[cable].channel.wire().next_arrival();
        self.arm(Source::Arrival(cable), next);
    }

    fn start_on(&mut self, cable: usize, frame: Frame) {
        self.packet_hops += 1;
        let channel = &mut self.fabric.cables[cable].channel;
        channel.start(self.now, &mut self.cx, frame);
        let finishes = channel.finishes();
        self.arm(Source::Cable(cable), finishes);
    }

    /// A frame has left a transmitter: on with the next. A host is told when its burst is out.
    pub(super) fn cable_finished(&mut self, cable: usize) {
        let this = &mut self.fabric.cables[cable];
        let bytes = this.channel.finish(self.now, &mut self.cx);
        self.arm_arrival(cable);
        let this = &mut self.fabric.cables[cable];
        match this.from {
            End::Port { switch, port } => {
                let next = self.fabric.switches[switch].pop(self.now, &mut self.cx, port);
                if let Some(frame) = next {
                    self.start_on(cable, frame);
                }
            }
            End::Host(host) => {
                this.unreported += bytes;
                if let Some(frame) = this.handed.pop_front() {
                    return self.start_on(cable, frame);
                }
                let (link, bytes) = (this.link, std::mem::take(&mut this.unreported));
                self.hosts[host].handle_transmitted(self.now, &mut self.cx, link, bytes);
                self.serve(host);
            }
        }
    }

    /// A frame has come in at a switch.
    fn forward(&mut self, switch: usize, frame: Frame) {
        let bytes = self.cx.frames.bytes(frame);
        let destination = bytes.get(DESTINATION_OFFSET..).and_then(<[u8]>::first_chunk::<4>);
        let offset = destination.map_or(u32::MAX, |bytes| {
            u32::from_be_bytes(*bytes).wrapping_sub(u32::from(FIRST_ADDRESS))
        });
        let this = &self.fabric.switches[switch];
        let Some(mut port) = this.port_to(offset as usize) else {
            return self.cx.drop_frame(frame, DropReason::NotForUs);
        };
        if !this.groups.is_empty() {
            match self.fabric.port_for(switch, offset as usize, port, bytes) {
                Some(one) => port = one,
                None => return self.cx.drop_frame(frame, DropReason::NoMember),
            }
        }
        let this = &mut self.fabric.switches[switch];
        let cable = this.cable(port);
        if self.fabric.cables[cable].channel.idle() && this.is_empty(port) {
            return self.start_on(cable, frame);
        }
        this.push(self.now, &mut self.cx, port, frame);
    }

    /// Asks a host for a burst for one of its cards. Answers whether it had one.
    pub(super) fn serve_card(&mut self, host: usize, card: usize) -> bool {
        let Some(cable) = self.fabric.idle_card(host, card) else {
            return false;
        };
        let link = self.fabric.cables[cable].link;
        self.burst.clear();
        self.hosts[host].poll_transmit(self.now, &mut self.cx, link, &mut self.burst);
        let Some((&first, rest)) = self.burst.frames.split_first() else {
            return false;
        };
        self.fabric.cables[cable].handed.extend(rest);
        self.start_on(cable, first);
        true
    }
}
