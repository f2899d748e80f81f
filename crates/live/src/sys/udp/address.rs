//! Socket addresses as the kernel writes them.

use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// An address in the kernel's form.
pub(super) enum Encoded {
    V4(libc::sockaddr_in),
    V6(libc::sockaddr_in6),
}

impl Encoded {
    pub(super) fn new(address: SocketAddr) -> Encoded {
        match address {
            SocketAddr::V4(v4) => {
                // SAFETY: all zeros is a valid address.
                let mut raw: libc::sockaddr_in = unsafe { zeroed() };
                raw.sin_family = libc::AF_INET as libc::sa_family_t;
                raw.sin_port = v4.port().to_be();
                raw.sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
                Encoded::V4(raw)
            }
            SocketAddr::V6(v6) => {
                // SAFETY: all zeros is a valid address.
                let mut raw: libc::sockaddr_in6 = unsafe { zeroed() };
                raw.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                raw.sin6_port = v6.port().to_be();
                raw.sin6_addr.s6_addr = v6.ip().octets();
                raw.sin6_scope_id = v6.scope_id();
                Encoded::V6(raw)
            }
        }
    }

    pub(super) fn pointer(&self) -> *const libc::sockaddr {
        match self {
            Encoded::V4(raw) => (&raw const *raw).cast(),
            Encoded::V6(raw) => (&raw const *raw).cast(),
        }
    }

    pub(super) fn len(&self) -> libc::socklen_t {
        match self {
            Encoded::V4(_) => size_of::<libc::sockaddr_in>() as libc::socklen_t,
            Encoded::V6(_) => size_of::<libc::sockaddr_in6>() as libc::socklen_t,
        }
    }
}

/// The address the kernel wrote, if it is one of the internet's.
pub(super) fn decode(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let pointer: *const libc::sockaddr_storage = storage;
    match libc::c_int::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that a sockaddr_in starts here; the storage is larger.
            let raw = unsafe { *pointer.cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(raw.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddrV4::new(ip, u16::from_be(raw.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that a sockaddr_in6 starts here; the storage is larger.
            let raw = unsafe { *pointer.cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(raw.sin6_addr.s6_addr);
            let port = u16::from_be(raw.sin6_port);
            Some(SocketAddrV6::new(ip, port, 0, raw.sin6_scope_id).into())
        }
        _ => None,
    }
}
