//! Messages of rtnetlink(7), built and read field by field.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Length, type, flags, sequence, port.
const HEADER: usize = 16;
/// Length and type of an attribute.
const ATTRIBUTE_HEADER: usize = 4;
const ALIGN: usize = 4;
/// `struct ifinfomsg`.
const LINK_BYTES: usize = 16;
/// `struct ifaddrmsg`.
const ADDRESS_BYTES: usize = 8;

/// A request being built.
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    pub(super) fn new(kind: u16, flags: u16) -> Message {
        let mut bytes = vec![0; 4];
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([0; 8]);
        Message { bytes }
    }

    /// `struct ifinfomsg`: a device, its flags, and which of them change.
    pub(super) fn link(&mut self, index: u32, flags: u32, change: u32) {
        self.bytes.extend([libc::AF_UNSPEC as u8, 0, 0, 0]);
        for word in [index, flags, change] {
            self.bytes.extend(word.to_ne_bytes());
        }
    }

    /// `struct ifaddrmsg`: an address of a device.
    pub(super) fn address(&mut self, family: u8, prefix: u8, flags: u8, index: u32) {
        self.bytes.extend([family, prefix, flags, libc::RT_SCOPE_UNIVERSE]);
        self.bytes.extend(index.to_ne_bytes());
    }

    /// `struct rtmsg`: a route of the main table to what is at the other side of a device.
    pub(super) fn route(&mut self, family: u8, prefix: u8) {
        self.bytes.extend([family, prefix, 0, 0, libc::RT_TABLE_MAIN]);
        self.bytes.extend([libc::RTPROT_STATIC, libc::RT_SCOPE_LINK, libc::RTN_UNICAST]);
        self.bytes.extend([0; 4]);
    }

    pub(super) fn attribute(&mut self, kind: u16, data: &[u8]) {
        self.bytes.extend(((ATTRIBUTE_HEADER + data.len()) as u16).to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(data);
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGN), 0);
    }

    pub(super) fn ip(&mut self, kind: u16, ip: IpAddr) {
        match ip {
            IpAddr::V4(ip) => self.attribute(kind, &ip.octets()),
            IpAddr::V6(ip) => self.attribute(kind, &ip.octets()),
        }
    }

    pub(super) fn finish(mut self, sequence: u32) -> Vec<u8> {
        let len = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&len.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

/// A message of the kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received<'b> {
    pub(super) kind: u16,
    pub(super) sequence: u32,
    body: &'b [u8],
}

/// The messages of one datagram, in order; a damaged one ends them.
pub(super) fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Received<'_>> {
    std::iter::from_fn(move || {
        let len = u32_at(bytes, 0)? as usize;
        let body = bytes.get(HEADER..len)?;
        let received = Received { kind: u16_at(bytes, 4)?, sequence: u32_at(bytes, 8)?, body };
        bytes = bytes.get(len.next_multiple_of(ALIGN)..).unwrap_or_default();
        Some(received)
    })
}

impl<'b> Received<'b> {
    /// Whether this ends the answer, and how it went.
    pub(super) fn verdict(&self) -> Option<io::Result<()>> {
        match libc::c_int::from(self.kind) {
            libc::NLMSG_DONE => Some(Ok(())),
            libc::NLMSG_ERROR => Some(match u32_at(self.body, 0).map_or(0, |n| n as i32) {
                0 => Ok(()),
                code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
            }),
            _ => None,
        }
    }

    /// Family, index and flags of a message about a link.
    pub(super) fn link(&self) -> Option<(u8, u32, u32)> {
        Some((*self.body.first()?, u32_at(self.body, 4)?, u32_at(self.body, 8)?))
    }

    /// An attribute of a message about a link.
    pub(super) fn link_attribute(&self, kind: u16) -> Option<&'b [u8]> {
        attribute(self.body.get(LINK_BYTES..)?, kind)
    }

    /// The device of a message about an address.
    pub(super) fn address_device(&self) -> Option<u32> {
        u32_at(self.body, 4)
    }

    /// The address itself: the local one where there is a peer.
    pub(super) fn address_ip(&self) -> Option<IpAddr> {
        let attributes = self.body.get(ADDRESS_BYTES..)?;
        let data = attribute(attributes, libc::IFA_LOCAL)
            .or_else(|| attribute(attributes, libc::IFA_ADDRESS))?;
        match data.len() {
            4 => data.first_chunk::<4>().map(|ip| Ipv4Addr::from(*ip).into()),
            16 => data.first_chunk::<16>().map(|ip| Ipv6Addr::from(*ip).into()),
            _ => None,
        }
    }
}

fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let len = usize::from(u16_at(bytes, 0)?);
        let data = bytes.get(ATTRIBUTE_HEADER..len)?;
        if u16_at(bytes, 2)? == wanted {
            return Some(data);
        }
        bytes = bytes.get(len.next_multiple_of(ALIGN)..)?;
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|b| u16::from_ne_bytes(*b))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|b| u32::from_ne_bytes(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_written_is_read() {
        for text in ["10.1.2.3", "fd00::1"] {
            let ip: IpAddr = text.parse().unwrap();
            let mut message = Message::new(libc::RTM_NEWADDR, 0);
            message.address(2, 24, 0, 7);
            message.attribute(libc::IFA_LABEL, b"odd\0x");
            message.ip(libc::IFA_LOCAL, ip);
            let bytes = message.finish(9);
            let mut all = messages(&bytes);
            let received = all.next().unwrap();
            assert_eq!((received.kind, received.sequence), (libc::RTM_NEWADDR, 9));
            assert_eq!((received.address_device(), received.address_ip()), (Some(7), Some(ip)));
            assert!(all.next().is_none());
        }
    }

    #[test]
    fn a_verdict_is_a_yes_or_the_kernels_error() {
        for (code, expected) in [(0, None), (-libc::EEXIST, Some(libc::EEXIST))] {
            let mut message = Message::new(libc::NLMSG_ERROR as u16, 0);
            message.bytes.extend(code.to_ne_bytes());
            let bytes = message.finish(1);
            let verdict = messages(&bytes).next().unwrap().verdict().unwrap();
            assert_eq!(verdict.err().and_then(|e| e.raw_os_error()), expected);
        }
    }

    #[test]
    fn any_cut_of_a_message_is_read_without_harm() {
        let mut message = Message::new(libc::RTM_NEWLINK, 0);
        message.link(3, 1, 0);
        message.attribute(libc::IFLA_IFNAME, b"eth0\0");
        let mut bytes = message.finish(1);
        for len in 0..bytes.len() {
            bytes[..4].copy_from_slice(&(len as u32).to_ne_bytes());
            for received in messages(&bytes[..len]) {
                let _ = (received.link(), received.link_attribute(libc::IFLA_IFNAME));
                let _ = (received.verdict(), received.address_ip());
            }
        }
    }
}
