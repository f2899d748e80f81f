//! Hosts on one Ethernet cable, driven by hand.

mod cable;
mod neighbours;
mod packets;
mod storm;
