//! Links: transmitters, wires with faults, and the media that decide who may send and how fast.
//! Sans-I/O, so virtual time and emulation run the same code.

pub mod channel;
pub mod chip;
pub mod csma;
pub mod downstream;
pub mod framing;
mod headers;
pub mod modem;
pub mod pacer;
pub mod receive_ring;
pub mod receiver;
pub mod tuner;
pub mod wire;

pub use channel::{Channel, ChannelConfig, Started};
pub use chip::Chip;
pub use csma::{Csma, Layout, Outcome};
pub use downstream::{Downstream, DownstreamConfig, Stream};
pub use framing::{Framed, Framer, Framing, Header, HeaderCompression, LineCoding, Payload};
pub use modem::{Blocks, Modem, ModemConfig};
pub use pacer::Pacer;
pub use receive_ring::{ReceiveRing, ReceiveRingConfig};
pub use receiver::{Receiver, Reception, Recovery};
pub use tuner::{Broadcasts, Pid, Station, To, Tuner, TunerConfig};
pub use wire::{Wire, WireConfig};

use crate::Context;
use crate::frame::Frame;
use crate::time::Instant;
use crate::units::BitRate;

/// Who decides when the frames of the channels that share it are sent.
#[derive(Clone, Debug)]
pub enum Medium {
    /// The channels are lines of one UART chip.
    Chip(Chip),
    /// The channels are stations on one half-duplex Ethernet cable.
    Cable(Box<Csma>),
    /// The channel is the downstream of a cable that many listen to.
    Downstream(Box<Downstream>),
}

impl Medium {
    /// The channel the caller knows as `slot`, whose own rate is `rate`, begins with a frame of `bits`.
    pub fn start(&mut self, now: Instant, slot: u16, bits: u64, rate: BitRate) {
        match self {
            Medium::Chip(chip) => chip.start(now, slot, bits, rate),
            Medium::Cable(cable) => cable.start(now, slot, bits),
            Medium::Downstream(cable) => cable.start(now, bits),
        }
    }

    /// When there may be something to poll for.
    pub fn next_finish(&self) -> Option<Instant> {
        match self {
            Medium::Chip(chip) => chip.next_finish(),
            Medium::Cable(cable) => cable.next_finish(),
            Medium::Downstream(cable) => cable.next_finish(),
        }
    }

    /// Takes a channel whose frame has come to an end by `now`.
    pub fn poll_finished(&mut self, now: Instant) -> Option<(u16, Outcome)> {
        match self {
            Medium::Chip(chip) => chip.poll_finished(now).map(|slot| (slot, Outcome::Sent)),
            Medium::Cable(cable) => cable.poll_finished(now),
            Medium::Downstream(cable) => cable.poll_finished(now),
        }
    }

    /// Takes a frame that nobody on a channel has sent and that its far end receives all the same.
    pub fn poll_stray(&mut self, now: Instant, cx: &mut Context) -> Option<(u16, Frame)> {
        match self {
            Medium::Chip(_) | Medium::Cable(_) => None,
            Medium::Downstream(cable) => cable.poll_stray(now, cx),
        }
    }
}
