//! The fields of IP and TCP headers that differ between a run and its segments.

use crate::wire::checksum::Checksum;
use crate::wire::tcp::Flags;
use crate::wire::{ipv4, ipv6};

/// Bytes of the headers of a packet that is cut or joined, at most.
pub(super) const HEADERS_MAX: usize = 128;
/// The flags that only the last segment of a run carries.
pub(super) const LAST_ONLY: u8 = Flags::FIN.0 | Flags::PSH.0;
/// The flag that only the first carries (RFC 3168, 6.1.2).
pub(super) const FIRST_ONLY: u8 = Flags::CWR.0;

/// Where TCP has its fields.
pub(super) mod tcp {
    use std::ops::Range;

    pub(in super::super) const SEQ: Range<usize> = 4..8;
    pub(in super::super) const OFFSET: usize = 12;
    pub(in super::super) const FLAGS: usize = 13;
    pub(in super::super) const CHECKSUM: Range<usize> = 16..18;
}

/// Which IP a packet is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Version {
    V4,
    V6,
}

impl Version {
    pub(super) fn of(packet: &[u8]) -> Option<Version> {
        match packet.first()? >> 4 {
            4 if packet.len() >= ipv4::HEADER_LEN => Some(Version::V4),
            6 if packet.len() >= ipv6::HEADER_LEN => Some(Version::V6),
            _ => None,
        }
    }

    /// The sum of the pseudo-header; `len` is that of the upper layer's header and payload.
    pub(super) fn pseudo_header(self, ip: &[u8], protocol: u8, len: usize) -> Checksum {
        let mut checksum = Checksum::new();
        checksum.add_words(match self {
            Version::V4 => &ip[12..20],
            Version::V6 => &ip[8..40],
        });
        checksum.add_u64(u64::from(protocol) + len as u64);
        checksum
    }

    /// Gives an IP header, its extensions included, the length of its packet; one of version 4 its
    /// identification and checksum too.
    pub(super) fn seal(self, ip: &mut [u8], packet_len: usize, identification: u16) {
        match self {
            Version::V4 => {
                ip[2..4].copy_from_slice(&(packet_len as u16).to_be_bytes());
                ip[4..6].copy_from_slice(&identification.to_be_bytes());
                ip[10..12].fill(0);
                let mut checksum = Checksum::new();
                checksum.add_words(ip);
                ip[10..12].copy_from_slice(&checksum.finish().to_be_bytes());
            }
            Version::V6 => {
                let len = (packet_len - ipv6::HEADER_LEN) as u16;
                ip[4..6].copy_from_slice(&len.to_be_bytes());
            }
        }
    }

    /// The identification of a packet of version 4.
    pub(super) fn identification(self, ip: &[u8]) -> u16 {
        match self {
            Version::V4 => u16::from_be_bytes([ip[4], ip[5]]),
            Version::V6 => 0,
        }
    }
}

/// The sequence number of a TCP header.
pub(super) fn sequence(tcp: &[u8]) -> u32 {
    u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]])
}
