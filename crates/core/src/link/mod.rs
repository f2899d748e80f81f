//! Links: transmitters, wires with faults, and the media that decide who may send and how fast.
//! Sans-I/O, so virtual time and emulation run the same code.

pub mod channel;
pub mod chip;
pub mod framing;
pub mod modem;
pub mod pacer;
pub mod wire;

pub use channel::{Channel, ChannelConfig, Started};
pub use chip::Chip;
pub use framing::{Framed, Framer, Framing, Header, HeaderCompression, LineCoding, Payload};
pub use modem::{Blocks, Modem, ModemConfig};
pub use pacer::Pacer;
pub use wire::{Wire, WireConfig};

/// Who decides how fast the channels that share it may send.
#[derive(Clone, Debug)]
pub enum Medium {
    /// Every channel has its own clock.
    PointToPoint,
    /// The channels are lines of one UART chip.
    Chip(Chip),
}
