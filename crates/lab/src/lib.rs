//! Virtual time: the deterministic packet simulator.
