//! Tests of slow computers.
