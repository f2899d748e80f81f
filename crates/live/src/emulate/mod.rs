//! A link of the lab in real time, between two interfaces of a middle namespace.
//!
//! What comes in at one interface goes out at the other as if it had crossed the link: it waits in a
//! queue, is serialised at the rate, and then is on a wire with delay and faults. All of that is
//! [`core::link`](trunkline_core::link) and [`core::queue`](trunkline_core::queue), as in the lab. One
//! thread carries both directions.
//!
//! Every step is computed for the time it is due and not for the time the thread got round to it, and
//! frames count from the kernel's receive stamp: being late delays a frame, but never changes the rate.
//! How late frames left is measured and reported ([`Report`]), as is every frame the emulator itself had
//! to give up; a measurement counts only while both are small.
//!
//! The bytes that count against the rate are those of the packet, without the Ethernet header, as in the
//! lab; [`DirectionConfig::overhead`] adds what a framing would.

mod clock;
mod control;
mod direction;
mod lateness;
mod options;
mod port;
mod report;
mod run;

pub use direction::{Direction, DirectionConfig, LINK_HEADER_BYTES, Totals};
pub use lateness::Lateness;
pub use options::{OptionError, Options, USAGE};
pub use port::PortDrops;
pub use report::Report;
pub use run::Emulator;
