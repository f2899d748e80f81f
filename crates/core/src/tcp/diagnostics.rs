//! What a connection tells about itself, in the words and the order of `ss -ti`. Times and windows are in
//! [`super::Snapshot`].

use super::Connection;
use crate::cc;
use std::fmt;

/// What the ends agreed on and what congestion control has to tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tokens {
    /// Timestamps are sent (RFC 7323).
    pub timestamps: bool,
    /// SACK is permitted (RFC 2018).
    pub sack: bool,
    /// Both ends have agreed on ECN (RFC 3168).
    pub ecn: bool,
    /// A packet that was ECN-capable has arrived with data.
    pub ecn_seen: bool,
    /// Congestion control.
    pub cc: cc::State,
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (token, holds) in [
            ("ts ", self.timestamps),
            ("sack ", self.sack),
            ("ecn ", self.ecn),
            ("ecnseen ", self.ecn_seen),
        ] {
            if holds {
                f.write_str(token)?;
            }
        }
        write!(f, "{}", self.cc)
    }
}

impl Connection {
    /// What `ss -ti` would tell of this connection.
    pub fn tokens(&self) -> Tokens {
        Tokens {
            timestamps: self.agreed.timestamps,
            sack: self.agreed.repair.uses_sack(),
            ecn: self.ecn.is_agreed(),
            ecn_seen: self.ecn.is_seen(),
            cc: self.cc_state(),
        }
    }
}
