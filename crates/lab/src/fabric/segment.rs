//! A half-duplex segment with the machines on it. Who may send when is the medium's; here is who hears what.
//!
//! Deviation: a frame is everywhere at once, when it has come to the far end. Collisions know the stations' places.

use super::address::{self, Destination};
use trunkline_core::Context;
use trunkline_core::frame::{Frame, LinkId};
use trunkline_core::link::csma::GAP_BITS;
use trunkline_core::link::framing::Framing;
use trunkline_core::link::{Receiver, Reception};
use trunkline_core::time::Instant;
use trunkline_core::units::BitRate;
use trunkline_plan::network::{ETHERNET, ETHERNET_FRAME, Resolution};

/// What its medium calls a card: the slots of this many links, two each, come first.
pub(crate) fn slot(links: usize, cable: usize) -> u16 {
    (2 * links + cable) as u16
}

/// A machine on a segment.
pub(crate) struct Station {
    /// Its host, and the segment as that calls it.
    pub(crate) host: usize,
    pub(crate) link: LinkId,
    /// What it sends by.
    pub(crate) cable: usize,
    /// Its receiver, where that needs time after a frame.
    pub(crate) receiver: Option<Receiver>,
}

/// A segment.
pub(crate) struct Segment {
    /// The medium's place among the world's.
    pub(crate) medium: usize,
    rate: BitRate,
    resolution: Resolution,
    pub(crate) stations: Vec<Station>,
    /// The station of each machine.
    of_machine: Vec<Option<u32>>,
    /// Frames that receivers were not ready for.
    pub(crate) missed: u64,
}

impl Segment {
    /// A segment without stations.
    pub(crate) const fn new(medium: usize, rate: BitRate, resolution: Resolution) -> Segment {
        Segment {
            medium,
            rate,
            resolution,
            stations: Vec::new(),
            of_machine: Vec::new(),
            missed: 0,
        }
    }

    /// How a frame on it is framed.
    pub(crate) const fn framing(&self) -> Framing {
        match self.resolution {
            Resolution::Known => ETHERNET,
            Resolution::Arp => ETHERNET_FRAME,
        }
    }

    /// Who a frame is for: where stations ask each other, by the address of the frame and not of its packet.
    pub(crate) fn destination(&self, cx: &Context, frame: Frame) -> Destination {
        match self.resolution {
            Resolution::Known => address::destination(cx, frame),
            Resolution::Arp => address::station(cx, frame),
        }
    }

    /// One more machine.
    pub(crate) fn join(&mut self, machine: usize, station: Station) {
        if self.of_machine.len() <= machine {
            self.of_machine.resize(machine + 1, None);
        }
        self.of_machine[machine] = Some(self.stations.len() as u32);
        self.stations.push(station);
    }

    /// The stations that take a frame sent by a cable of theirs, as a range of positions: one, none or all. The
    /// sender is among all.
    pub(crate) fn takers(&self, to: Destination) -> std::ops::Range<usize> {
        match to {
            Destination::All => 0..self.stations.len(),
            Destination::Machine(machine) => {
                match self.of_machine.get(machine).copied().flatten() {
                    Some(station) => station as usize..station as usize + 1,
                    None => 0..0,
                }
            }
        }
    }

    /// A frame for a station, of a packet of `len` bytes, has been heard up to its end, `now`.
    pub(crate) fn hear(&mut self, now: Instant, station: usize, len: usize) -> Reception {
        let framing = self.framing();
        let Some(receiver) = &mut self.stations[station].receiver else {
            return Reception::Taken;
        };
        let bits = framing.mean_wire_millibits(len as u64) / 1000 - GAP_BITS;
        let lasted = self.rate.time_for_bits(bits);
        let reception = receiver.hear(now, lasted);
        self.missed += u64::from(reception == Reception::Lost);
        reception
    }
}
