//! The names of the scheduling policies.

/// The scheduling policies, by the field's names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Mode {
    /// Packet counter over the members in turn (`bonding.rst` mode 0).
    BalanceRr,
    /// One member carries everything, the next takes over (`bonding.rst` mode 1).
    ActiveBackup,
    /// The EQL driver exactly as deployed, 1995.
    Eql,
    /// The scheduler its manual tells of before that: fast, but a slow member starves.
    EqlEarly,
    /// Ours: earliest expected arrival.
    Earliest,
}

impl Mode {
    /// Every mode there is, in the order they are listed to users.
    pub const ALL: [Mode; 5] =
        [Mode::Earliest, Mode::Eql, Mode::EqlEarly, Mode::BalanceRr, Mode::ActiveBackup];

    /// The name in plans and output.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::BalanceRr => "balance-rr",
            Mode::ActiveBackup => "active-backup",
            Mode::Eql => "eql",
            Mode::EqlEarly => "eql-early",
            Mode::Earliest => "earliest",
        }
    }

    /// Whether it is one of the two that model the EQL driver: they commit at arrival, decay and bury.
    pub const fn is_eql(self) -> bool {
        matches!(self, Mode::Eql | Mode::EqlEarly)
    }
}
