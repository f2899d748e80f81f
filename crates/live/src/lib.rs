//! The real thing on Linux: the core's objects driven by the machine's clock, sockets and devices.

pub mod emulate;
