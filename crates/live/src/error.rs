//! Why something could not be done on this machine, in the classes a caller acts upon.

use std::fmt;
use std::io;

/// What went wrong, and whose it is to mend.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The process may not change the network.
    Privilege(String),
    /// The machine is not as the plan needs it: a device is busy or missing, an address in use.
    Environment(String),
    /// The running bond refuses the change and is as it was.
    Refused(String),
    /// The plan is not valid, or says nothing of this end; the text explains it.
    Plan(String),
}

impl Error {
    /// The program's exit code for it, which is also the code of a refusal on the control socket.
    pub const fn code(&self) -> u8 {
        match self {
            Error::Plan(_) => 3,
            Error::Privilege(_) => 4,
            Error::Environment(_) => 5,
            Error::Refused(_) => 7,
        }
    }

    /// What the kernel said while `what` was being done.
    pub(crate) fn while_doing(what: impl fmt::Display, error: &io::Error) -> Error {
        let text = format!("{what}: {}", reason(error));
        match error.kind() {
            io::ErrorKind::PermissionDenied => Error::Privilege(text),
            _ => Error::Environment(text),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Privilege(text)
            | Error::Environment(text)
            | Error::Refused(text)
            | Error::Plan(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

/// The kernel's error without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}
