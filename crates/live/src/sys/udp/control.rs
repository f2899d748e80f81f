//! Control messages (cmsg(3)), written and read by hand over a plain buffer: lengths are checked here
//! and not left to macros.

use std::mem::size_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Bytes of a control buffer: room for every message asked for, with some to spare.
pub(super) const CONTROL_BYTES: usize = 256;
const HEADER: usize = size_of::<libc::cmsghdr>();
const ALIGN: usize = size_of::<usize>();
/// The ECN field within the TOS and traffic class bytes (RFC 3168).
const ECN_MASK: libc::c_int = 3;

/// A buffer of control messages.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(super) struct Control {
    bytes: [u8; CONTROL_BYTES],
    len: usize,
}

/// What a received datagram's control messages said.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Told {
    /// The ECN field.
    pub(super) ecn: u8,
    /// The address it was sent to.
    pub(super) to: Option<IpAddr>,
    /// Bytes per datagram, when several came at once.
    pub(super) segment_bytes: Option<usize>,
}

impl Control {
    pub(super) const fn new() -> Control {
        Control { bytes: [0; CONTROL_BYTES], len: 0 }
    }

    pub(super) fn pointer(&mut self) -> *mut libc::c_void {
        self.bytes.as_mut_ptr().cast()
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Says how much the kernel wrote.
    pub(super) fn set_len(&mut self, len: usize) {
        self.len = len.min(CONTROL_BYTES);
    }

    fn push(&mut self, level: libc::c_int, kind: libc::c_int, data: &[u8]) {
        let start = self.len;
        let end = start + HEADER + data.len().next_multiple_of(ALIGN);
        assert!(end <= CONTROL_BYTES, "the control buffer has room for every message");
        let header = &mut self.bytes[start..start + HEADER];
        header[..ALIGN].copy_from_slice(&(HEADER + data.len()).to_ne_bytes());
        header[ALIGN..ALIGN + 4].copy_from_slice(&level.to_ne_bytes());
        header[ALIGN + 4..].copy_from_slice(&kind.to_ne_bytes());
        self.bytes[start + HEADER..start + HEADER + data.len()].copy_from_slice(data);
        self.len = end;
    }

    /// Sets the ECN field of what is sent to an address; "not ECT" is the default and needs nothing.
    pub(super) fn push_ecn(&mut self, to: &SocketAddr, ecn: u8) {
        let value = libc::c_int::from(ecn) & ECN_MASK;
        match (value, to) {
            (0, _) => {}
            (_, SocketAddr::V4(_)) => {
                self.push(libc::IPPROTO_IP, libc::IP_TOS, &value.to_ne_bytes());
            }
            (_, SocketAddr::V6(_)) => {
                self.push(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &value.to_ne_bytes());
            }
        }
    }

    /// Says which of the machine's addresses is the source (`in_pktinfo`, `in6_pktinfo`).
    pub(super) fn push_source(&mut self, from: IpAddr) {
        match from {
            IpAddr::V4(ip) => {
                let mut info = [0u8; size_of::<libc::in_pktinfo>()];
                info[4..8].copy_from_slice(&ip.octets());
                self.push(libc::IPPROTO_IP, libc::IP_PKTINFO, &info);
            }
            IpAddr::V6(ip) => {
                let mut info = [0u8; size_of::<libc::in6_pktinfo>()];
                info[..16].copy_from_slice(&ip.octets());
                self.push(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &info);
            }
        }
    }

    /// Says how long each datagram is, the last excepted.
    pub(super) fn push_segment(&mut self, bytes: u16) {
        self.push(libc::SOL_UDP, libc::UDP_SEGMENT, &bytes.to_ne_bytes());
    }

    /// Reads what the kernel wrote; messages nobody asked for are passed over.
    pub(super) fn read(&self) -> Told {
        let mut told = Told::default();
        let mut rest = &self.bytes[..self.len];
        while let Some((level, kind, data, next)) = split_first(rest) {
            match (level, kind) {
                (libc::IPPROTO_IP, libc::IP_TOS) => told.ecn = data.first().map_or(0, |b| b & 3),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    told.ecn = data.first_chunk().map_or(0, |b| (i32::from_ne_bytes(*b) & 3) as u8);
                }
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    // The index, the local address, the destination in the header: the second.
                    let ip = data.get(4..8).and_then(<[u8]>::first_chunk::<4>);
                    told.to = ip.map(|ip| Ipv4Addr::from(*ip).into());
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    told.to = data.first_chunk::<16>().map(|ip| Ipv6Addr::from(*ip).into());
                }
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    let bytes = data.first_chunk().map(|b| i32::from_ne_bytes(*b));
                    told.segment_bytes = bytes.and_then(|b| usize::try_from(b).ok());
                }
                _ => {}
            }
            rest = next;
        }
        told
    }
}

/// Level, kind and data of the first message, and what follows it.
fn split_first(bytes: &[u8]) -> Option<(libc::c_int, libc::c_int, &[u8], &[u8])> {
    let len = usize::from_ne_bytes(*bytes.first_chunk()?);
    let level = libc::c_int::from_ne_bytes(*bytes.get(ALIGN..)?.first_chunk()?);
    let kind = libc::c_int::from_ne_bytes(*bytes.get(ALIGN + 4..)?.first_chunk()?);
    let data = bytes.get(HEADER..len)?;
    let next = bytes.get(len.next_multiple_of(ALIGN)..).unwrap_or_default();
    Some((level, kind, data, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut control = Control::new();
        control.push_ecn(&"10.0.0.1:1".parse().unwrap(), 3);
        control.push_source("10.0.0.2".parse().unwrap());
        control.push_segment(1200);
        let told = control.read();
        assert_eq!((told.ecn, told.to), (3, Some("10.0.0.2".parse().unwrap())));
        let mut control = Control::new();
        control.push_ecn(&"[::1]:1".parse().unwrap(), 2);
        control.push_source("fd00::2".parse().unwrap());
        let told = control.read();
        assert_eq!((told.ecn, told.to), (2, Some("fd00::2".parse().unwrap())));
    }

    #[test]
    fn a_wrong_length_ends_the_reading() {
        let mut control = Control::new();
        control.push_segment(1);
        control.bytes[0] = 3;
        assert_eq!(control.read(), Told::default());
        control.bytes[0] = 255;
        assert_eq!(control.read(), Told::default());
    }
}
