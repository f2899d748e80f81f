//! Links that carry one way, and the cable of a cable modem.

use super::{Direction, Link};
use trunkline_core::bond::Ways;
use trunkline_core::link::{Broadcasts, Pid, Station};
use trunkline_core::time::Duration;

/// What a cable channel and the modem at its end are, in virtual time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cable {
    /// The modem's address.
    pub station: Station,
    /// Logical channels the modem listens to, one to four; the link's packets come on the first.
    pub pids: Vec<Pid>,
    /// What becomes of packets for everybody.
    pub broadcasts: Broadcasts,
    /// What the head end sends besides.
    pub others: Vec<Others>,
}

/// Packets on the cable that are not the link's, one like the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Others {
    /// Their logical channel.
    pub pid: Pid,
    /// Whom they are for.
    pub to: OthersTo,
    /// From one to the next.
    pub interval: Duration,
    /// Bytes of each, IP header included.
    pub size: u16,
}

/// Whom packets are for that are not the link's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OthersTo {
    /// Every modem.
    Everybody,
    /// Modems of other subscribers.
    Subscribers,
}

impl Link {
    /// Whether it carries from this end, 0 or 1, to the other.
    pub fn carries_from(&self, end: usize) -> bool {
        self.direction.is_none_or(|direction| direction.sender() == end)
    }

    /// Which ways it carries, seen from an end.
    pub fn ways(&self, end: usize) -> Ways {
        match self.direction.map(Direction::sender) {
            None => Ways::Both,
            Some(sender) if sender == end => Ways::SendOnly,
            Some(_) => Ways::ReceiveOnly,
        }
    }
}
