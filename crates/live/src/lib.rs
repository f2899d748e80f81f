//! Real wires on Linux: the same core, driven by a clock, TUN devices and sockets.
//!
//! [`setup`] is a plan seen from one end, [`apply::up`] makes it of the machine or leaves nothing behind,
//! and [`reactor::Reactor`] runs it until it is taken down. Nothing is global: a reactor owns its bonds.

pub mod apply;
pub mod clock;
pub mod control;
pub mod driver;
pub mod emulate;
pub mod error;
pub mod host;
pub mod netlink;
mod networks;
pub mod path;
pub mod plan;
pub mod proxy;
pub mod reactor;
pub mod report;
mod requests;
pub mod running;
pub mod setup;
pub mod sockets;
pub mod state;
pub mod sys;

pub use error::Error;
