//! What happens on cables: frames come in at machines and switches, and transmitters finish.

use super::{Source, World};
use crate::fabric::{End, FIRST_ADDRESS};
use trunkline_core::frame::Frame;
use trunkline_core::work::DropReason;

/// Where an IPv4 header has its destination.
const DESTINATION_OFFSET: usize = 16;

impl World {
    /// A cable's transmitter has finished, or a frame arrives at its other end.
    pub(super) fn cable_due(&mut self, cable: usize) {
        let this = &self.fabric.cables[cable];
        if this.channel.finishes().is_some_and(|at| at <= self.now) {
            self.cable_finished(cable);
        }
        while let Some(frame) = self.fabric.cables[cable].channel.poll_arrival(self.now) {
            match self.fabric.cables[cable].to {
                End::Host(host) => {
                    let link = self.fabric.cables[cable].link;
                    if self.machines[host].is_some() {
                        self.machine_received(host, link, frame);
                        continue;
                    }
                    self.hosts[host].handle_frame(self.now, &mut self.cx, link, frame);
                    self.serve(host);
                }
                End::Port { switch, .. } => self.forward(switch, frame),
            }
        }
        self.arm_cable(cable);
    }

    fn arm_cable(&mut self, cable: usize) {
        let next = self.fabric.cables[cable].channel.next_timeout();
        self.arm(Source::Cable(cable), next);
    }

    fn start_on(&mut self, cable: usize, frame: Frame) {
        self.packet_hops += 1;
        let this = &mut self.fabric.cables[cable];
        let started = this.channel.start(self.now, &mut self.cx, frame);
        if self.is_slow {
            let ends = [this.from, this.to].map(End::host);
            self.cards_move(ends, self.cx.frames.len(frame) as u64, started);
        }
        self.arm_cable(cable);
    }

    /// The processor of a host is done with a frame for its cable.
    pub(super) fn give_cable(&mut self, host: usize, frame: Frame) {
        let Some(cable) = self.fabric.cards.get(host).copied().flatten() else {
            return self.cx.drop_frame(frame, DropReason::NoMember);
        };
        match self.fabric.cables[cable].channel.idle() {
            true => self.start_on(cable, frame),
            false => self.fabric.cables[cable].handed.push_back(frame),
        }
    }

    /// A frame has left a transmitter: on with the next. A host is told when its burst is out.
    fn cable_finished(&mut self, cable: usize) {
        let this = &mut self.fabric.cables[cable];
        let bytes = this.channel.finish(self.now, &mut self.cx);
        match this.from {
            End::Port { switch, port } => {
                let next = self.fabric.switches[switch].pop(self.now, &mut self.cx, port);
                if let Some(frame) = next {
                    self.start_on(cable, frame);
                }
            }
            End::Host(host) if self.machines[host].is_some() => {
                let (link, next) = (this.link, this.handed.pop_front());
                if let Some(frame) = next {
                    self.start_on(cable, frame);
                }
                self.machine_sent(host, link);
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
        let this = &mut self.fabric.switches[switch];
        let Some(port) = this.port_to(offset as usize) else {
            return self.cx.drop_frame(frame, DropReason::NotForUs);
        };
        let cable = this.cable(port);
        if self.fabric.cables[cable].channel.idle() && this.is_empty(port) {
            return self.start_on(cable, frame);
        }
        this.push(self.now, &mut self.cx, port, frame);
    }

    /// Asks a host for a burst for its card. Answers whether it had one.
    pub(super) fn serve_card(&mut self, host: usize) -> bool {
        let Some(cable) = self.fabric.idle_card(host) else {
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
