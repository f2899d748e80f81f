//! Packets of LCP and IPCP with their options: RFC 1661, 5 and 6; RFC 1662, 7.1; RFC 1332, 3 and 4.
//!
//! Only the formats: what to answer is up to whoever negotiates. Options of kinds not named here are told
//! as they are, for they have to be sent back in a Configure-Reject.

use crate::wire::Error;
use std::net::Ipv4Addr;

/// Bytes of code, identifier and length.
pub const HEADER_LEN: usize = 4;
/// Bytes of an option's kind and length.
const OPTION_HEADER_LEN: usize = 2;

/// What a packet asks or answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Code(pub u8);

impl Code {
    /// Wishes other than the defaults.
    pub const CONFIGURE_REQUEST: Code = Code(1);
    /// All of them are fine.
    pub const CONFIGURE_ACK: Code = Code(2);
    /// Some are known but should have these values.
    pub const CONFIGURE_NAK: Code = Code(3);
    /// Some are not known or not up for negotiation.
    pub const CONFIGURE_REJECT: Code = Code(4);
    /// The link is to be closed.
    pub const TERMINATE_REQUEST: Code = Code(5);
    /// It is.
    pub const TERMINATE_ACK: Code = Code(6);
    /// A packet of an unknown code came in.
    pub const CODE_REJECT: Code = Code(7);
    /// A frame of an unknown protocol came in.
    pub const PROTOCOL_REJECT: Code = Code(8);
    /// Asks for a reply.
    pub const ECHO_REQUEST: Code = Code(9);
    /// The reply.
    pub const ECHO_REPLY: Code = Code(10);
    /// To be ignored.
    pub const DISCARD_REQUEST: Code = Code(11);
}

/// A packet of LCP, IPCP or another control protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// What it asks or answers.
    pub code: Code,
    /// Joins a request and its answers.
    pub identifier: u8,
    /// Options, or what the code says.
    pub data: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads a packet; what is beyond its length is padding and cut off.
    ///
    /// # Errors
    /// [`Error::Truncated`] when there are fewer bytes than its length; [`Error::Malformed`] when that
    /// cannot hold the header.
    pub fn parse(bytes: &'a [u8]) -> Result<Packet<'a>, Error> {
        let (header, rest) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(Error::Truncated)?;
        let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let data_len = len.checked_sub(HEADER_LEN).ok_or(Error::Malformed)?;
        let data = rest.get(..data_len).ok_or(Error::Truncated)?;
        Ok(Packet { code: Code(header[0]), identifier: header[1], data })
    }

    /// Appends the packet to `out`.
    ///
    /// # Errors
    /// [`Error::Malformed`] when the data is longer than a packet can tell.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let len = u16::try_from(self.data.len() + HEADER_LEN).map_err(|_| Error::Malformed)?;
        out.extend_from_slice(&[self.code.0, self.identifier]);
        out.extend_from_slice(&len.to_be_bytes());
        out.extend_from_slice(self.data);
        Ok(())
    }
}

/// An option as it stands in a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawOption<'a> {
    /// Its number.
    pub kind: u8,
    /// What follows kind and length.
    pub data: &'a [u8],
}

impl RawOption<'_> {
    /// Appends the option to `out`.
    ///
    /// # Errors
    /// [`Error::Malformed`] when the data is longer than an option can tell.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let len =
            u8::try_from(self.data.len() + OPTION_HEADER_LEN).map_err(|_| Error::Malformed)?;
        out.extend_from_slice(&[self.kind, len]);
        out.extend_from_slice(self.data);
        Ok(())
    }
}

/// The options in the data of a Configure packet, in their order. After an error there is no more.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    rest: &'a [u8],
}

impl<'a> Options<'a> {
    /// The options in `data`.
    pub const fn new(data: &'a [u8]) -> Self {
        Options { rest: data }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = Result<RawOption<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let (kind, len) = match *self.rest {
            [] => return None,
            [kind, len, ..] => (kind, usize::from(len)),
            [_] => (0, OPTION_HEADER_LEN),
        };
        let rest = std::mem::take(&mut self.rest);
        if len < OPTION_HEADER_LEN {
            return Some(Err(Error::Malformed));
        }
        let Some((option, rest)) = rest.split_at_checked(len) else {
            return Some(Err(Error::Truncated));
        };
        self.rest = rest;
        Some(Ok(RawOption { kind, data: &option[OPTION_HEADER_LEN..] }))
    }
}

/// An option of LCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LcpOption<'a> {
    /// Bytes of information the sender of the option takes in a frame.
    Mru(u16),
    /// The control characters to be escaped in what is sent to it.
    Accm(u32),
    /// A number by which a looped line is found out.
    Magic(u32),
    /// The first byte of a protocol may be left out.
    ProtocolCompression,
    /// Address and control may be left out.
    AddressCompression,
    /// Something else.
    Other(RawOption<'a>),
}

const MRU: u8 = 1;
const ACCM: u8 = 2;
const MAGIC: u8 = 5;
const PROTOCOL_COMPRESSION: u8 = 7;
const ADDRESS_COMPRESSION: u8 = 8;

impl<'a> LcpOption<'a> {
    /// What an option of LCP says.
    ///
    /// # Errors
    /// [`Error::Malformed`] when it has not the length of its kind.
    pub fn parse(option: RawOption<'a>) -> Result<LcpOption<'a>, Error> {
        let parsed = match (option.kind, option.data) {
            (MRU, &[a, b]) => LcpOption::Mru(u16::from_be_bytes([a, b])),
            (ACCM, &[a, b, c, d]) => LcpOption::Accm(u32::from_be_bytes([a, b, c, d])),
            (MAGIC, &[a, b, c, d]) => LcpOption::Magic(u32::from_be_bytes([a, b, c, d])),
            (PROTOCOL_COMPRESSION, []) => LcpOption::ProtocolCompression,
            (ADDRESS_COMPRESSION, []) => LcpOption::AddressCompression,
            (MRU | ACCM | MAGIC | PROTOCOL_COMPRESSION | ADDRESS_COMPRESSION, _) => {
                return Err(Error::Malformed);
            }
            _ => LcpOption::Other(option),
        };
        Ok(parsed)
    }

    /// Appends the option to `out`.
    ///
    /// # Errors
    /// [`Error::Malformed`] when another option's data is longer than an option can tell.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let option = |kind, data: &[u8], out: &mut Vec<u8>| RawOption { kind, data }.emit(out);
        match self {
            LcpOption::Mru(bytes) => option(MRU, &bytes.to_be_bytes(), out),
            LcpOption::Accm(map) => option(ACCM, &map.to_be_bytes(), out),
            LcpOption::Magic(number) => option(MAGIC, &number.to_be_bytes(), out),
            LcpOption::ProtocolCompression => option(PROTOCOL_COMPRESSION, &[], out),
            LcpOption::AddressCompression => option(ADDRESS_COMPRESSION, &[], out),
            LcpOption::Other(other) => other.emit(out),
        }
    }
}

/// Whether a compressed header may leave its slot out when it is that of the one before (RFC 1332, 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotCompression {
    /// Every header names its slot.
    Never,
    /// Only one whose slot is another names it.
    Allowed,
}

/// An option of IPCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IpcpOption<'a> {
    /// Headers sent to the sender of the option may be compressed (RFC 1144).
    VanJacobson {
        /// The highest slot it keeps.
        slot_max: u8,
        /// Whether it wants every header to name its slot.
        slots: SlotCompression,
    },
    /// Its address; 0.0.0.0 asks for one.
    Address(Ipv4Addr),
    /// Something else.
    Other(RawOption<'a>),
}

const IP_COMPRESSION: u8 = 2;
const IP_ADDRESS: u8 = 3;
const VAN_JACOBSON: [u8; 2] = super::Protocol::VJ_COMPRESSED.0.to_be_bytes();

impl<'a> IpcpOption<'a> {
    /// What an option of IPCP says. A compression other than Van Jacobson's is told as it is.
    ///
    /// # Errors
    /// [`Error::Malformed`] when it has not the length of its kind.
    pub fn parse(option: RawOption<'a>) -> Result<IpcpOption<'a>, Error> {
        let parsed = match (option.kind, option.data) {
            (IP_COMPRESSION, &[a, b, slot_max, slots]) if [a, b] == VAN_JACOBSON => {
                let slots = match slots {
                    0 => SlotCompression::Never,
                    _ => SlotCompression::Allowed,
                };
                IpcpOption::VanJacobson { slot_max, slots }
            }
            (IP_ADDRESS, &[a, b, c, d]) => IpcpOption::Address(Ipv4Addr::new(a, b, c, d)),
            (IP_ADDRESS, _) => return Err(Error::Malformed),
            (IP_COMPRESSION, data) if data.starts_with(&VAN_JACOBSON) => {
                return Err(Error::Malformed);
            }
            _ => IpcpOption::Other(option),
        };
        Ok(parsed)
    }

    /// Appends the option to `out`.
    ///
    /// # Errors
    /// [`Error::Malformed`] when another option's data is longer than an option can tell.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        match self {
            IpcpOption::VanJacobson { slot_max, slots } => {
                let slots = match slots {
                    SlotCompression::Never => 0,
                    SlotCompression::Allowed => 1,
                };
                let [high, low] = VAN_JACOBSON;
                let data = &[high, low, *slot_max, slots];
                RawOption { kind: IP_COMPRESSION, data }.emit(out)
            }
            IpcpOption::Address(ip) => RawOption { kind: IP_ADDRESS, data: &ip.octets() }.emit(out),
            IpcpOption::Other(other) => other.emit(out),
        }
    }
}
