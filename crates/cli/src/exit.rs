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
    /// The machine refused, such as a directory that cannot be written.
    Environment = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
