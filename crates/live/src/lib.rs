//! The real thing on Linux. Nothing yet drives a wire; the crate holds the place and the arrow.
