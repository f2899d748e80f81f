//! Segment conversations: two connections over wires in virtual time.

mod blind;
mod close;
mod ecn;
mod flow;
mod handshake;
mod ipv6;
mod keepalive;
mod linux_1_1;
mod loss;
mod mtu;
mod pacing;
mod pair;
mod random;
mod recovery;
mod transfer;
