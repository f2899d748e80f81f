//! A slow computer: what a host does takes time, and different parts of it do things at the same time.
//!
//! | part | what it does |
//! |---|---|
//! | [`processor`] | the processor and the memory bus it shares with its card |
//! | [`ledger`] | what the core counted, as time: copies, checksums, protocols |
//! | [`machine`] | what waits for the processor, and the driver's queues |
//!
//! Nothing here adds times up to a result. A processor that works while its card sends, or that waits for
//! it, does so because the driver's queue is deep or not; a card that works slows its processor down.
//!
//! Deviations: what the processor has begun it ends before it looks at its card again. The card's share of
//! the bus is spread evenly over the frame, and where a cable is shared over the time the frame would take
//! on a silent one. A host is one processor. The core reads and builds packets in no time when the processor
//! begins, and they leave when it ends. A program that acts at a time of its own does so also when the processor
//! is busy; only what it sends has to wait.

pub(crate) mod ledger;
pub(crate) mod machine;
pub(crate) mod processor;
#[cfg(test)]
mod tests;

pub(crate) use machine::{Job, Machine};
