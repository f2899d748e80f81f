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

/// Bits of the place of a key in the short cut.
const SHORT_CUT_BITS: u32 = 8;
/// No connection has this number.
const NOBODY: ConnectionId = ConnectionId(u32::MAX);

/// Where a key is in the short cut.
#[inline]
fn place(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SHORT_CUT_BITS)) as usize
}

/// The connections of a host, by what tells one from the others.
pub(super) struct Demux {
    v4: BTreeMap<u64, ConnectionId>,
    /// At the place of each key over IPv4 the last of those that share it, so that most are found at once.
    short_cut: [(u64, ConnectionId); 1 << SHORT_CUT_BITS],
    v6: BTreeMap<(u128, u32), ConnectionId>,
}

impl Default for Demux {
    fn default() -> Demux {
        let short_cut = [(0, NOBODY); 1 << SHORT_CUT_BITS];
        Demux { v4: BTreeMap::new(), short_cut, v6: BTreeMap::new() }
    }
}

impl Demux {
    #[inline]
    pub fn find(&self, port: u16, remote: &SocketAddr) -> Option<ConnectionId> {
        match remote {
            SocketAddr::V4(remote) => {
                let key = key_v4(port, remote);
                let (known, id) = self.short_cut[place(key)];
                match known == key && id != NOBODY {
                    true => Some(id),
                    false => self.v4.get(&key).copied(),
                }
            }
            SocketAddr::V6(remote) => self.v6.get(&key_v6(port, remote)).copied(),
        }
    }

    pub fn insert(&mut self, port: u16, remote: &SocketAddr, id: ConnectionId) {
        match remote {
            SocketAddr::V4(remote) => {
                let key = key_v4(port, remote);
                self.short_cut[place(key)] = (key, id);
                self.v4.insert(key, id)
            }
            SocketAddr::V6(remote) => self.v6.insert(key_v6(port, remote), id),
        };
    }

    /// Takes the connection out if it is still the one at its place.
    pub fn remove(&mut self, port: u16, remote: &SocketAddr, id: ConnectionId) {
        if self.find(port, remote) != Some(id) {
            return;
        }
        match remote {
            SocketAddr::V4(remote) => {
                let key = key_v4(port, remote);
                if self.short_cut[place(key)].0 == key {
                    self.short_cut[place(key)].1 = NOBODY;
                }
                self.v4.remove(&key)
            }
            SocketAddr::V6(remote) => self.v6.remove(&key_v6(port, remote)),
        };
    }
}
