//! The TOML plan: parse, check, explain.
