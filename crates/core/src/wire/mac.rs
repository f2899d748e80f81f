//! Ethernet addresses (IEEE 802, 48 bits).

use std::fmt;

/// The address of an Ethernet card, or of a bond of several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Reads `"00:0e:0c:00:00:01"`; none when it is anything else.
    pub fn parse(text: &str) -> Option<Mac> {
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().filter(|part| part.len() == 2)?;
            let is_hex = part.bytes().all(|digit| digit.is_ascii_hexdigit());
            *byte = u8::from_str_radix(part, 16).ok().filter(|_| is_hex)?;
        }
        parts.next().is_none().then_some(Mac(bytes))
    }

    /// Whether it stands for one card: the group bit is not set.
    pub const fn is_one_card(self) -> bool {
        self.0[0] & 1 == 0
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::Mac;

    #[test]
    fn what_is_written_is_read_again() {
        let mac = Mac([0x00, 0x0e, 0x0c, 0xab, 0x00, 0xff]);
        assert_eq!(mac.to_string(), "00:0e:0c:ab:00:ff");
        assert_eq!(Mac::parse("00:0e:0C:AB:00:ff"), Some(mac));
        assert!(mac.is_one_card() && !Mac([1, 0x80, 0xc2, 0, 0, 2]).is_one_card());
    }

    #[test]
    fn anything_else_is_refused() {
        for text in
            ["", "00:0e:0c:00:00", "00:0e:0c:00:00:01:02", "0:e:c:0:0:1", "00:0e:0c:00:00:+1"]
        {
            assert_eq!(Mac::parse(text), None, "{text}");
        }
    }
}
