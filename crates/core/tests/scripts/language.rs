//! What a script says, line by line.
//!
//! A script is one conversation with one host in virtual time. It starts with a title (`#`), the RFC
//! sections it is about (`rfc 9293 3.10.7.4`) and the numbered MUSTs of RFC 9293 it proves (`must 5 6`);
//! then each line is one step, with the time that passes before it:
//!
//! | line | step |
//! |---|---|
//! | `config nagle=off mss=1000` | settings of the host's connections, before there is one |
//! | `ipv6` | the peer speaks IPv6, not IPv4 |
//! | `listen`, `connect` | open |
//! | `established [win N] [rtt T] [<options>]` | the host has connected: its peer sent this window and these options |
//! | `accepted [win N] [rtt T] [<options>]` | the same, with the peer connecting |
//! | `write N [takes M]`, `read N`, `read all`, `close`, `abort`, `forget` | what the application does |
//! | `< S 0 win 65535 <mss 1460>` | a packet of the peer's arrives |
//! | `> S. 0 ack 1 win 65535 <mss 1460, sackOK>` | exactly this packet leaves, exactly now |
//! | `nothing` | no packet leaves until now |
//! | `event connected readable` | exactly these events since the last such line |
//! | `expect state ESTABLISHED` | a figure of the connection |
//! | `flow 2 [iss N]` | from here on the peer speaks from another port |
//! | `icmp 3 1` | an ICMP message about the packet sent last |
//!
//! A packet is FLAGS SEQ or SEQ(LEN), then `ack N`, `win N`, `urg N`, an ECN codepoint, and options. Flags are
//! letters of `FSRP.UEW`, or `-`. Numbers are relative to the first sequence number of whom they belong
//! to; with `=` in front they are absolute. A packet of the peer's may be damaged: `badsum`,
//! `badipsum`, `offset N`, `cut N`, `lost N`, `reserved N`, `ipoptions`, `fragment`, `junk`, `from A`, `to A`.
//!
//! Where it is not said: the window of a packet of the peer's is that of the one before, and timestamps,
//! once agreed on, are right. Of a packet that leaves, the window is looked at only if it is said, and
//! options other than timestamps must be said, but for a SYN's.

use crate::packet::{Damage, Opt};
use trunkline_core::time::Duration;

/// A whole script.
#[derive(Clone, PartialEq, Debug)]
pub struct Script {
    /// The file's path below the directory of scripts.
    pub path: String,
    /// The first comment.
    pub title: String,
    /// RFC and section.
    pub sections: Vec<(u32, String)>,
    /// MUSTs of RFC 9293.
    pub musts: Vec<u32>,
    pub steps: Vec<Step>,
}

/// One line.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// Counted from 1.
    pub line: usize,
    /// As written.
    pub text: String,
    /// What passes before.
    pub after: Duration,
    pub action: Action,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    Config(Vec<(String, String)>),
    Ipv6,
    Listen,
    Connect,
    Established(Opening),
    Accepted(Opening),
    Write { len: usize, takes: usize },
    Read(usize),
    Close,
    Abort,
    Forget,
    Flow { number: u16, iss: Option<u32> },
    In(Segment),
    Out(Segment),
    Icmp { kind: u8, code: u8, rest: u32 },
    Nothing,
    Events(Vec<String>),
    Expect { what: String, value: String },
}

/// A handshake told in one line.
#[derive(Clone, PartialEq, Debug)]
pub struct Opening {
    pub window: u16,
    pub rtt: Duration,
    pub options: Vec<Opt>,
}

/// A sequence number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    Relative(u32),
    Absolute(u32),
}

/// A segment that arrives or is expected.
#[derive(Clone, PartialEq, Debug)]
pub struct Segment {
    pub flags: u8,
    pub seq: Number,
    pub len: usize,
    pub ack: Option<Number>,
    pub window: Option<u16>,
    pub urgent: u16,
    pub ecn: u8,
    pub options: Option<Vec<Opt>>,
    pub damage: Vec<Damage>,
}
