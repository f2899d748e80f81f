//! Segment conversations: two connections over wires in virtual time.

mod close;
mod ecn;
mod flow;
mod handshake;
mod ipv6;
mod linux_1_1;
mod loss;
mod pair;
mod random;
mod transfer;
