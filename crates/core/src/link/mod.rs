//! Links: transmitters, wires with faults, and the media that decide who may send and how fast.
//! Sans-I/O, so virtual time and emulation run the same code.

pub mod channel;
pub mod chip;
pub mod csma;
pub mod framing;
mod headers;
pub mod modem;
pub mod pacer;
pub mod receiver;
pub mod wire;

pub use channel::{Channel, ChannelConfig, Started};
pub use chip::Chip;
pub use csma::{Csma, Layout, Outcome};
pub use framing::{Framed, Framer, Framing, Header, HeaderCompression, LineCoding, Payload};
pub use modem::{Blocks, Modem, ModemConfig};
pub use pacer::Pacer;
pub use receiver::{Receiver, Reception, Recovery};
pub use wire::{Wire, WireConfig};

use crate::time::Instant;
use crate::units::BitRate;

/// Who decides when the frames of the channels that share it are sent.
#[derive(Clone, Debug)]
pub enum Medium {
    /// The channels are lines of one UART chip.
    Chip(Chip),
    /// The channels are stations on one half-duplex Ethernet cable.
    Cable(Box<Csma>),
}

impl Medium {
    /// The channel the caller knows as `slot`, whose own rate is `rate`, begins with a frame of `bits`.
    pub fn start(&mut self, now: Instant, slot: u16, bits: u64, rate: BitRate) {
        match self {
            Medium::Chip(chip) => chip.start(now, slot, bits, rate),
            Medium::Cable(cable) => cable.start(now, slot, bits),
        }
    }

    /// When there may be something to poll for.
    pub fn next_finish(&self) -> Option<Instant> {
        match self {
            Medium::Chip(chip) => chip.next_finish(),
            Medium::Cable(cable) => cable.next_finish(),
        }
    }

    /// Takes a channel whose frame has come to an end by `now`.
    pub fn poll_finished(&mut self, now: Instant) -> Option<(u16, Outcome)> {
        match self {
            Medium::Chip(chip) => chip.poll_finished(now).map(|slot| (slot, Outcome::Sent)),
            Medium::Cable(cable) => cable.poll_finished(now),
        }
    }
}
