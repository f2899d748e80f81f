//! What happens on cables: frames come in at machines and switches, and transmitters finish.

use super::{Source, World};
use crate::fabric::address::{Destination, destination, source};
use crate::fabric::{Cable, End};
use trunkline_core::frame::{Frame, LinkId};
use trunkline_core::link::Started;
use trunkline_core::work::DropReason;

impl World {
    /// A frame arrives at the other end of a cable.
    pub(super) fn cable_arrival(&mut self, cable: usize) {
        let Cable { to, link, .. } = self.fabric.cables[cable];
        while let Some(frame) = self.fabric.cables[cable].channel.poll_arrival(self.now) {
            match to {
                End::Host(host) => {
                    if self.machines[host].is_some() {
                        self.machine_received(host, link, frame);
                        continue;
                    }
                    self.hosts[host].handle_frame(self.now, &mut self.cx, link, frame);
                    self.serve(host);
                }
                End::Port { switch, port } => self.forward(switch, port, frame),
                End::Segment(segment) => self.heard(segment, cable, frame),
            }
        }
        self.arm_arrival(cable);
    }

    pub(super) fn arm_arrival(&mut self, cable: usize) {
        let next = self.fabric.cables[cable].channel.wire().next_arrival();
        self.arm(Source::Arrival(cable), next);
    }

    pub(super) fn start_on(&mut self, cable: usize, frame: Frame) {
        self.packet_hops += 1;
        let this = &mut self.fabric.cables[cable];
        let started = this.channel.start(self.now, &mut self.cx, frame);
        if self.is_slow {
            let ends = [this.from, this.to].map(End::host);
            self.cards_move(ends, self.cx.frames.len(frame) as u64, started);
        }
        match started {
            Started::At(finishes) => self.arm(Source::Cable(cable), Some(finishes)),
            Started::OnChip { bits, rate } => self.start_on_segment(cable, bits, rate),
        }
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
            End::Segment(_) => unreachable!("a segment sends nothing of its own"),
            End::Host(host) if self.machines[host].is_some() => {
                let (link, next) = (this.link, this.handed.pop_front());
                if let Some(frame) = next {
                    self.start_on(cable, frame);
                }
                self.machine_sent(host, link, bytes);
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

    /// A frame has come in at a port of a switch.
    fn forward(&mut self, switch: usize, from: usize, frame: Frame) {
        let to = destination(&self.cx, frame);
        let this = &mut self.fabric.switches[switch];
        this.learn(from, || source(&self.cx, frame));
        let known = match to {
            Destination::Machine(machine) => this.port_to(machine),
            Destination::All => None,
        };
        match known {
            // Whoever it is for has heard it where it comes from (IEEE 802.1D, 7.7.1).
            Some(port) if port == from => self.cx.drop_frame(frame, DropReason::NotForUs),
            Some(port) => match self.fabric.port_for(&self.cx, switch, port, frame) {
                Some(port) => self.forward_to(switch, port, frame),
                None => self.cx.drop_frame(frame, DropReason::NoMember),
            },
            None => self.flood(switch, from, to, frame),
        }
    }

    /// Sends a frame out at all ports but the one it came from, if it is for everybody or for somebody the switch
    /// may yet hear from.
    fn flood(&mut self, switch: usize, from: usize, to: Destination, frame: Frame) {
        let this = &self.fabric.switches[switch];
        let ports = if to == Destination::All || this.learns() { this.len() } else { 0 };
        for port in (0..ports).filter(|port| *port != from) {
            if !self.fabric.floods(switch, port, from) {
                continue;
            }
            let copy = self.cx.frames.duplicate(frame);
            self.forward_to(switch, port, copy);
        }
        match ports {
            0 => self.cx.drop_frame(frame, DropReason::NotForUs),
            _ => self.cx.frames.remove(frame),
        }
    }

    fn forward_to(&mut self, switch: usize, port: usize, frame: Frame) {
        let this = &mut self.fabric.switches[switch];
        let cable = this.cable(port);
        if self.fabric.cables[cable].channel.idle() && this.is_empty(port) {
            return self.start_on(cable, frame);
        }
        this.push(self.now, &mut self.cx, port, frame);
    }

    /// The processor of a host is done with a frame for one of its cables.
    pub(super) fn give_cable(&mut self, host: usize, link: LinkId, frame: Frame) {
        let cables = self.fabric.cards.get(host).map_or(&[][..], Vec::as_slice);
        let mut cables = cables.iter().copied();
        let Some(cable) = cables.find(|cable| self.fabric.cables[*cable].link == link) else {
            return self.cx.drop_frame(frame, DropReason::NoMember);
        };
        match self.fabric.cables[cable].channel.idle() {
            true => self.start_on(cable, frame),
            false => self.fabric.cables[cable].handed.push_back(frame),
        }
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
