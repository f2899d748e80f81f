//! The two ends of a connection, over either version of IP.

use crate::wire::ip::Addresses;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The two ends of a connection, seen from this side: of one version of IP.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Tuple {
    /// Our address and port.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
}

impl Tuple {
    /// The addresses of a packet to the peer. Where the versions differ the IPv4 address is mapped into
    /// IPv6 (RFC 4291, 2.5.5.2).
    #[inline]
    pub fn addresses(&self) -> Addresses {
        match (self.local, self.remote) {
            (SocketAddr::V4(src), SocketAddr::V4(dst)) => {
                Addresses::V4 { src: *src.ip(), dst: *dst.ip() }
            }
            (src, dst) => Addresses::V6 { src: mapped(src.ip()), dst: mapped(dst.ip()) },
        }
    }
}

fn mapped(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}
