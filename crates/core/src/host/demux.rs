//! Which connection a segment is for: by our port and the peer's address and port.

use super::ConnectionId;
use std::collections::BTreeMap;
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};

/// Both ports in one number.
#[inline]
fn ports(local: u16, remote: u16) -> u32 {
    u32::from(local) << 16 | u32::from(remote)
}

#[inline]
fn key_v4(port: u16, remote: &SocketAddrV4) -> u64 {
    u64::from(remote.ip().to_bits()) << 32 | u64::from(ports(port, remote.port()))
}

fn key_v6(port: u16, remote: &SocketAddrV6) -> (u128, u32) {
    (remote.ip().to_bits(), ports(port, remote.port()))
}

/// The connections of a host, by what tells one from the others.
#[derive(Default)]
pub(super) struct Demux {
    v4: BTreeMap<u64, ConnectionId>,
    v6: BTreeMap<(u128, u32), ConnectionId>,
}

impl Demux {
    #[inline]
    pub fn find(&self, port: u16, remote: &SocketAddr) -> Option<ConnectionId> {
        match remote {
            SocketAddr::V4(remote) => self.v4.get(&key_v4(port, remote)),
            SocketAddr::V6(remote) => self.v6.get(&key_v6(port, remote)),
        }
        .copied()
    }

    pub fn insert(&mut self, port: u16, remote: &SocketAddr, id: ConnectionId) {
        match remote {
            SocketAddr::V4(remote) => self.v4.insert(key_v4(port, remote), id),
            SocketAddr::V6(remote) => self.v6.insert(key_v6(port, remote), id),
        };
    }

    /// Takes the connection out if it is still the one at its place.
    pub fn remove(&mut self, port: u16, remote: &SocketAddr, id: ConnectionId) {
        if self.find(port, remote) != Some(id) {
            return;
        }
        match remote {
            SocketAddr::V4(remote) => self.v4.remove(&key_v4(port, remote)),
            SocketAddr::V6(remote) => self.v6.remove(&key_v6(port, remote)),
        };
    }
}
