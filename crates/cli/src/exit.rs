//! The exit codes, the same for every command.

use std::process::ExitCode;

/// How a command ended: well, or with the code that says why not.
pub(crate) type Ended = Result<(), Exit>;

/// Why a command did not end well; that has been told by then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// An expectation failed.
    Expectation = 1,
    /// The command line names something that does not exist.
    Usage = 2,
    /// The plan is not valid.
    Plan = 3,
    /// The process may not do it: a capability is missing.
    Privilege = 4,
    /// The machine refused, such as a directory that cannot be written.
    Environment = 5,
    /// The running bond refused, and is as it was.
    Refused = 7,
}

impl Exit {
    /// The exit that a code of a running bond stands for.
    pub(crate) fn from_code(code: u8) -> Exit {
        match code {
            2 => Exit::Usage,
            3 => Exit::Plan,
            4 => Exit::Privilege,
            7 => Exit::Refused,
            _ => Exit::Environment,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
