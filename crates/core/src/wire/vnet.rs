//! The header a TUN or TAP device puts in front of packets when asked to: `virtio_net_hdr` (virtio 1.2,
//! 5.1.6) as Linux writes it, ten bytes in the byte order of the machine.
//!
//! It tells what a sender left to the device: to finish a checksum, to cut a packet into segments.
//! Deviations: fragmentation of UDP (UFO) and tunnels within the packet are refused.

use super::Error;

/// Bytes of the header.
pub const HEADER_LEN: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCP_V4: u8 = 1;
const GSO_TCP_V6: u8 = 4;
const GSO_UDP: u8 = 5;
/// Set beside the kind when the first segment alone carries CWR (RFC 3168, 6.1.2).
const GSO_ECN: u8 = 0x80;

/// A checksum that is not finished: its field holds the sum of the pseudo-header only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unfinished {
    /// Where the summed bytes begin: the header of the upper layer. They end with the packet.
    pub start: u16,
    /// Where the field is, counted from there.
    pub field: u16,
}

/// What a packet is to be cut into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// TCP segments over IPv4.
    TcpV4,
    /// TCP segments over IPv6.
    TcpV6,
    /// UDP datagrams over either.
    Udp,
}

/// Whether the first segment carries CWR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cwr {
    /// None does.
    Clear,
    /// The first does and the others must not.
    First,
}

/// A packet of many segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// Of which protocol.
    pub kind: Kind,
    /// Whether it begins with CWR.
    pub cwr: Cwr,
    /// Bytes of all headers together; a hint.
    pub headers: u16,
    /// Bytes of payload in every segment but the last, which may have fewer.
    pub payload: u16,
}

/// What a header says; the default is a packet that is as it should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Repr {
    /// The checksum that is not finished, if one is not.
    pub checksum: Option<Unfinished>,
    /// What the packet is to be cut into, if it is.
    pub run: Option<Run>,
}

impl Repr {
    /// Reads a header.
    ///
    /// # Errors
    /// [`Error::Malformed`] for an unknown kind of run and for a run without payload.
    pub fn parse(bytes: &[u8; HEADER_LEN]) -> Result<Repr, Error> {
        let u16_at = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let checksum = (bytes[0] & NEEDS_CHECKSUM != 0)
            .then(|| Unfinished { start: u16_at(6), field: u16_at(8) });
        let kind = match bytes[1] & !GSO_ECN {
            GSO_NONE => None,
            GSO_TCP_V4 => Some(Kind::TcpV4),
            GSO_TCP_V6 => Some(Kind::TcpV6),
            GSO_UDP => Some(Kind::Udp),
            _ => return Err(Error::Malformed),
        };
        let cwr = if bytes[1] & GSO_ECN != 0 { Cwr::First } else { Cwr::Clear };
        let run = kind.map(|kind| Run { kind, cwr, headers: u16_at(2), payload: u16_at(4) });
        if run.is_some_and(|run| run.payload == 0) {
            return Err(Error::Malformed);
        }
        Ok(Repr { checksum, run })
    }

    /// Writes a header.
    pub fn emit(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        let mut put = |at: usize, value: u16| {
            bytes[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        };
        if let Some(run) = self.run {
            put(2, run.headers);
            put(4, run.payload);
        }
        if let Some(checksum) = self.checksum {
            put(6, checksum.start);
            put(8, checksum.field);
            bytes[0] = NEEDS_CHECKSUM;
        }
        bytes[1] = self.run.map_or(GSO_NONE, |run| {
            let ecn = if run.cwr == Cwr::First { GSO_ECN } else { 0 };
            let kind = match run.kind {
                Kind::TcpV4 => GSO_TCP_V4,
                Kind::TcpV6 => GSO_TCP_V6,
                Kind::Udp => GSO_UDP,
            };
            kind | ecn
        });
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_nobody_can_cut_is_refused() {
        for (kind, payload) in [(GSO_TCP_V4, 0), (3, 1), (6, 1), (0x20 | GSO_TCP_V4, 1)] {
            let bytes = [0, kind, 0, 0, payload, payload, 0, 0, 0, 0];
            assert_eq!(Repr::parse(&bytes), Err(Error::Malformed), "kind {kind}");
        }
        assert_eq!(Repr::parse(&[0; HEADER_LEN]), Ok(Repr::default()));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            checksum in prop::option::of(any::<(u16, u16)>()),
            run in prop::option::of((0..3usize, any::<bool>(), any::<u16>(), 1..u16::MAX)),
        ) {
            let repr = Repr {
                checksum: checksum.map(|(start, field)| Unfinished { start, field }),
                run: run.map(|(kind, first, headers, payload)| Run {
                    kind: [Kind::TcpV4, Kind::TcpV6, Kind::Udp][kind],
                    cwr: if first { Cwr::First } else { Cwr::Clear },
                    headers,
                    payload,
                }),
            };
            prop_assert_eq!(Repr::parse(&repr.emit()), Ok(repr));
        }
    }
}
