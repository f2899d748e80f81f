//! Ethernet II frames with at most one VLAN tag (RFC 894; IEEE 802.3, 3.1; IEEE 802.1Q, 9.6).
//!
//! A frame begins with the destination and ends with its data: preamble, check sequence and the filling of
//! short frames are the line's, and counted where links are framed.
//!
//! Deviations: a length where the type should be (IEEE 802.2 LLC) and a second tag are refused.

use super::Error;
use super::mac::MacAddress;

#[cfg(test)]
mod tests;

/// Bytes of a header without a tag.
pub const HEADER_LEN: usize = 14;
/// Bytes of a tag.
pub const TAG_LEN: usize = 4;
/// Bytes of the longest header.
pub const HEADER_LEN_MAX: usize = HEADER_LEN + TAG_LEN;
/// The longest packet in a frame (RFC 894).
pub const MTU: u16 = 1500;

/// Values below are lengths (IEEE 802.3, 3.2.6).
const TYPE_MIN: u16 = 0x0600;
const TAG: EtherType = EtherType(0x8100);
const TAG_VLAN: u16 = 0x0fff;
/// The VLAN that no frame belongs to (IEEE 802.1Q, 9.6).
const VLAN_RESERVED: u16 = 0x0fff;

/// What a frame carries, by its assigned number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4 (RFC 894).
    pub const IPV4: EtherType = EtherType(0x0800);
    /// Address resolution (RFC 826).
    pub const ARP: EtherType = EtherType(0x0806);
    /// IPv6 (RFC 2464).
    pub const IPV6: EtherType = EtherType(0x86dd);
}

/// Priority, drop eligibility and VLAN of a tagged frame, as they stand in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Tag(u16);

impl Tag {
    /// The tag of a VLAN with a priority: 0 is the usual one, 7 the highest. None for VLANs above 4094 and
    /// priorities above 7.
    pub const fn new(vlan: u16, priority: u8) -> Option<Tag> {
        match vlan < VLAN_RESERVED && priority < 8 {
            true => Some(Tag((priority as u16) << 13 | vlan)),
            false => None,
        }
    }

    /// The VLAN; 0 says a priority alone.
    pub const fn vlan(self) -> u16 {
        self.0 & TAG_VLAN
    }

    /// From 0 to 7.
    pub const fn priority(self) -> u8 {
        (self.0 >> 13) as u8
    }
}

/// A view of a frame whose length has been checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View<'a> {
    fixed: &'a [u8; HEADER_LEN],
    tag: Option<&'a [u8; TAG_LEN]>,
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Checks the length of a frame that begins with `bytes`. What is elided behind them does not matter.
    ///
    /// # Errors
    /// [`Error::Truncated`] when the header is not in memory; [`Error::Malformed`] for a length in place of
    /// the type, a second tag, and the VLAN 4095.
    #[inline]
    pub fn new_checked(bytes: &'a [u8]) -> Result<View<'a>, Error> {
        let (fixed, rest) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(Error::Truncated)?;
        let kind = EtherType(u16::from_be_bytes([fixed[12], fixed[13]]));
        let view = match kind {
            TAG => {
                let (tag, payload) = rest.split_first_chunk().ok_or(Error::Truncated)?;
                View { fixed, tag: Some(tag), payload }
            }
            _ => View { fixed, tag: None, payload: rest },
        };
        let is_reserved = view.tag().is_some_and(|tag| tag.vlan() == VLAN_RESERVED);
        let inner = view.ether_type();
        if inner.0 < TYPE_MIN || inner == TAG || is_reserved {
            return Err(Error::Malformed);
        }
        Ok(view)
    }

    /// For whom it is.
    #[inline]
    pub fn dst(&self) -> MacAddress {
        let [a, b, c, d, e, f, ..] = *self.fixed;
        MacAddress([a, b, c, d, e, f])
    }

    /// Who sent it.
    #[inline]
    pub fn src(&self) -> MacAddress {
        let [_, _, _, _, _, _, a, b, c, d, e, f, ..] = *self.fixed;
        MacAddress([a, b, c, d, e, f])
    }

    /// The tag, if there is one.
    #[inline]
    pub fn tag(&self) -> Option<Tag> {
        self.tag.map(|tag| Tag(u16::from_be_bytes([tag[0], tag[1]])))
    }

    /// What it carries.
    #[inline]
    pub fn ether_type(&self) -> EtherType {
        match self.tag {
            Some(tag) => EtherType(u16::from_be_bytes([tag[2], tag[3]])),
            None => EtherType(u16::from_be_bytes([self.fixed[12], self.fixed[13]])),
        }
    }

    /// Bytes before what it carries.
    #[inline]
    pub fn header_len(&self) -> usize {
        HEADER_LEN + self.tag.map_or(0, |_| TAG_LEN)
    }

    /// What it carries, as far as it is in memory, with the filling of a short frame.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// What a header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Repr {
    /// For whom the frame is.
    pub dst: MacAddress,
    /// Who sends it.
    pub src: MacAddress,
    /// Its VLAN and priority, if it is tagged.
    pub tag: Option<Tag>,
    /// What it carries.
    pub ether_type: EtherType,
}

impl Repr {
    /// Reads a header.
    #[inline]
    pub fn parse(view: &View<'_>) -> Repr {
        Repr { dst: view.dst(), src: view.src(), tag: view.tag(), ether_type: view.ether_type() }
    }

    /// Bytes it takes.
    #[inline]
    pub const fn header_len(&self) -> usize {
        match self.tag {
            Some(_) => HEADER_LEN_MAX,
            None => HEADER_LEN,
        }
    }

    /// Writes the header into the first [`Repr::header_len`] bytes of `buf`.
    ///
    /// # Panics
    /// When `buf` is shorter than that.
    #[inline]
    pub fn emit(&self, buf: &mut [u8]) {
        let buf = &mut buf[..self.header_len()];
        buf[..6].copy_from_slice(&self.dst.0);
        buf[6..12].copy_from_slice(&self.src.0);
        if let Some(tag) = self.tag {
            buf[12..14].copy_from_slice(&TAG.0.to_be_bytes());
            buf[14..16].copy_from_slice(&tag.0.to_be_bytes());
        }
        let at = buf.len() - 2;
        buf[at..].copy_from_slice(&self.ether_type.0.to_be_bytes());
    }
}
