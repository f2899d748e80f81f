//! Transmit hash policies: by which member of a bond, or which port of a switch's group, a packet leaves
//! (`bonding.rst`, `xmit_hash_policy`; `802.3ad` and `balance-xor` use them).
//!
//! Words of addresses and ports are taken as a little-endian machine loads them, as the driver does: on
//! other machines it spreads flows differently. The policies that look into tunnels or at VLANs are not
//! here, and an ICMP error hashes as itself and not as the packet it quotes.

use crate::wire::ipv4::Protocol;
use crate::wire::mac::MacAddress;
use crate::wire::{ipv4, ipv6};

/// EtherType of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// EtherType of IPv6.
pub const ETHERTYPE_IPV6: u16 = 0x86dd;

/// "More fragments" and the offset of an IPv4 header.
const FRAGMENT: u16 = 0x3fff;
/// Types of ICMP and ICMPv6 echo replies and requests.
const ECHOES: [u8; 2] = [0, 8];
const ECHOES_V6: [u8; 2] = [128, 129];

/// What a hash is taken of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum HashPolicy {
    /// The cards' addresses and the EtherType: one pair of machines, one member.
    Layer2,
    /// These and the IP addresses.
    Layer23,
    /// IP addresses and ports, or an echo's identifier.
    Layer34,
}

impl HashPolicy {
    /// Every policy there is, in the order they are listed to users.
    pub const ALL: [HashPolicy; 3] = [HashPolicy::Layer2, HashPolicy::Layer23, HashPolicy::Layer34];

    /// The name in plans and output.
    pub const fn name(self) -> &'static str {
        match self {
            HashPolicy::Layer2 => "layer2",
            HashPolicy::Layer23 => "layer2+3",
            HashPolicy::Layer34 => "layer3+4",
        }
    }

    /// The hash of a frame.
    pub fn hash(self, frame: &HashInputs<'_>) -> u32 {
        let addresses = match self {
            HashPolicy::Layer2 => None,
            HashPolicy::Layer23 | HashPolicy::Layer34 => frame.network(),
        };
        match (self, addresses) {
            (HashPolicy::Layer2, _) | (_, None) => frame.cards(),
            (HashPolicy::Layer23, Some(addresses)) => fold(frame.cards() ^ addresses),
            (HashPolicy::Layer34, Some(addresses)) => fold(frame.transport() ^ addresses) >> 1,
        }
    }

    /// Which of `count` members or ports, in order, a frame leaves by; none when there are none.
    pub fn choose(self, frame: &HashInputs<'_>, count: usize) -> Option<usize> {
        (count > 0).then(|| self.hash(frame) as usize % count)
    }
}

/// What can be hashed of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HashInputs<'p> {
    /// The card it is from.
    pub src: MacAddress,
    /// The card it is for.
    pub dst: MacAddress,
    /// What it carries.
    pub ethertype: u16,
    /// The packet; its headers suffice.
    pub packet: &'p [u8],
}

impl<'p> HashInputs<'p> {
    /// An IP packet between two cards. What is of neither version hashes as a frame of no type.
    pub fn of_packet(src: MacAddress, dst: MacAddress, packet: &'p [u8]) -> HashInputs<'p> {
        let ethertype = match packet.first().map(|byte| byte >> 4) {
            Some(4) => ETHERTYPE_IPV4,
            Some(6) => ETHERTYPE_IPV6,
            _ => 0,
        };
        HashInputs { src, dst, ethertype, packet }
    }

    fn cards(&self) -> u32 {
        u32::from(self.dst.0[5] ^ self.src.0[5]) ^ u32::from(self.ethertype)
    }

    /// Source and destination address, 32 bits each or folded to that, as one word.
    fn network(&self) -> Option<u32> {
        let addresses = match self.ethertype {
            ETHERTYPE_IPV4 => self.packet.first_chunk::<{ ipv4::HEADER_LEN }>()?.get(12..20)?,
            ETHERTYPE_IPV6 => self.packet.first_chunk::<{ ipv6::HEADER_LEN }>()?.get(8..40)?,
            _ => return None,
        };
        let words = addresses.as_chunks::<4>().0.iter();
        Some(words.fold(0, |all, word| all ^ u32::from_le_bytes(*word)))
    }

    /// Both ports, or the identifier of an echo, as one word; 0 for fragments and all other protocols.
    fn transport(&self) -> u32 {
        let upper = match self.ethertype {
            ETHERTYPE_IPV4 => self.upper_v4(),
            _ => self.upper_v6(),
        };
        let (protocol, upper) = upper.unwrap_or((Protocol(0), &[]));
        let echoes = match protocol {
            Protocol::TCP | Protocol::UDP => {
                return upper.first_chunk().map_or(0, |ports| u32::from_le_bytes(*ports));
            }
            Protocol::ICMP => ECHOES,
            Protocol::ICMPV6 => ECHOES_V6,
            _ => return 0,
        };
        let ident = upper.first().filter(|kind| echoes.contains(kind)).and(upper.get(4..6));
        let ident = ident.and_then(|ident| ident.first_chunk());
        ident.map_or(0, |ident| u32::from(u16::from_le_bytes(*ident)))
    }

    fn upper_v4(&self) -> Option<(Protocol, &'p [u8])> {
        let fixed = self.packet.first_chunk::<{ ipv4::HEADER_LEN }>()?;
        let is_fragment = u16::from_be_bytes([fixed[6], fixed[7]]) & FRAGMENT != 0;
        let header_len = (usize::from(fixed[0] & 0x0f) * 4).max(ipv4::HEADER_LEN);
        let upper = self.packet.get(header_len..).filter(|_| !is_fragment)?;
        Some((Protocol(fixed[9]), upper))
    }

    fn upper_v6(&self) -> Option<(Protocol, &'p [u8])> {
        // Bytes beyond memory are zeros like any others; only headers are looked at.
        let packet = ipv6::Packet::new_checked(self.packet, u32::MAX).ok()?;
        let upper = packet.upper().ok().filter(|upper| !upper.fragment)?;
        Some((upper.protocol, upper.bytes))
    }
}

const fn fold(hash: u32) -> u32 {
    let half = hash ^ hash >> 16;
    half ^ half >> 8
}

#[cfg(test)]
mod tests;
