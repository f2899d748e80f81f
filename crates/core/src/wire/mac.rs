//! Ethernet addresses (IEEE 802, 48 bits).

use std::fmt;

/// The address of an Ethernet station, which may be a bond of several cards, or of several stations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// Everybody on the cable.
    pub const BROADCAST: MacAddress = MacAddress([0xff; 6]);
    /// Nobody: what stands where an address is not known (RFC 826).
    pub const UNKNOWN: MacAddress = MacAddress([0; 6]);

    /// The address of station `number` of those that we make up: locally administered, one station's.
    pub const fn local(number: u32) -> MacAddress {
        let [a, b, c, d] = number.to_be_bytes();
        MacAddress([0x02, 0, a, b, c, d])
    }

    /// Whether it is everybody's.
    #[inline]
    pub fn is_broadcast(self) -> bool {
        self == MacAddress::BROADCAST
    }

    /// Whether it is that of several stations, or of all.
    #[inline]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// Reads `"00:0e:0c:00:00:01"`; none when it is anything else.
    pub fn parse(text: &str) -> Option<MacAddress> {
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().filter(|part| part.len() == 2)?;
            let is_hex = part.bytes().all(|digit| digit.is_ascii_hexdigit());
            *byte = u8::from_str_radix(part, 16).ok().filter(|_| is_hex)?;
        }
        parts.next().is_none().then_some(MacAddress(bytes))
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::MacAddress;

    #[test]
    fn what_is_written_is_read_again() {
        let mac = MacAddress([0x00, 0x0e, 0x0c, 0xab, 0x00, 0xff]);
        assert_eq!(mac.to_string(), "00:0e:0c:ab:00:ff");
        assert_eq!(MacAddress::parse("00:0e:0C:AB:00:ff"), Some(mac));
        assert!(!mac.is_group() && MacAddress([1, 0x80, 0xc2, 0, 0, 2]).is_group());
    }

    #[test]
    fn anything_else_is_refused() {
        for text in
            ["", "00:0e:0c:00:00", "00:0e:0c:00:00:01:02", "0:e:c:0:0:1", "00:0e:0c:00:00:+1"]
        {
            assert_eq!(MacAddress::parse(text), None, "{text}");
        }
    }
}
