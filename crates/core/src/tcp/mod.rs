//! TCP (RFC 9293), split by direction and event.

pub mod config;
