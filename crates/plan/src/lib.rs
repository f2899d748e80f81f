//! The TOML plan: parse, check, explain.

pub mod model;
