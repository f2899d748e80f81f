//! Which way a member carries frames.
//!
//! Most links carry both ways. A cable modem of the first kind only receives, and what it is asked for goes
//! out over a telephone line. The member that only receives is never picked, and that its carrier is up
//! or down says nothing about sending.

/// Which way a member carries frames, seen from the end that has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Ways {
    /// Both ways.
    #[default]
    Both,
    /// Away from this end alone: nothing is expected from it.
    SendOnly,
    /// Towards this end alone: it has no transmitter.
    ReceiveOnly,
}

impl Ways {
    /// Every direction, in the order of their definition.
    pub const ALL: [Ways; 3] = [Ways::Both, Ways::SendOnly, Ways::ReceiveOnly];

    /// Whether it can be sent over.
    pub const fn sends(self) -> bool {
        !matches!(self, Ways::ReceiveOnly)
    }

    /// Whether frames come from it.
    pub const fn receives(self) -> bool {
        !matches!(self, Ways::SendOnly)
    }
}
