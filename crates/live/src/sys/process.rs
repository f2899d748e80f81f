//! Going to the background, and the descriptors that go with it.

use super::check;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Which side of a fork this is.
#[derive(Debug)]
pub enum Forked {
    /// The caller: reads what the background says until it closes its end.
    Parent(File),
    /// The background process, in a session of its own: writes what it has to say.
    Child(File),
}

/// Forks a process into the background, joined to the caller by a pipe. The process must have one
/// thread only.
///
/// # Errors
/// Out of processes or descriptors.
pub fn fork_background() -> io::Result<Forked> {
    let mut ends = [0; 2];
    // SAFETY: the kernel writes two descriptors.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: both descriptors are new and nobody else's.
    let [reader, writer] = ends.map(|fd| File::from(unsafe { OwnedFd::from_raw_fd(fd) }));
    // SAFETY: with one thread no lock can be left held in the child.
    match check(unsafe { libc::fork() })? {
        0 => {
            // SAFETY: takes nothing. It cannot fail right after a fork.
            unsafe { libc::setsid() };
            Ok(Forked::Child(writer))
        }
        _ => Ok(Forked::Parent(reader)),
    }
}

/// Points standard input at nothing and both outputs at `log`, and leaves the directory, so that the
/// terminal and the file system it was started from are free.
///
/// # Errors
/// The null device is missing.
pub fn leave_terminal(log: &File) -> io::Result<()> {
    let null = File::open("/dev/null")?;
    for (from, to) in [(&null, 0), (log, 1), (log, 2)] {
        // SAFETY: both are descriptors; the standard ones are replaced on purpose.
        check(unsafe { libc::dup2(from.as_raw_fd(), to) })?;
    }
    std::env::set_current_dir("/")
}

/// Takes the lock of a file, without waiting; it is held until the file is closed, also by a kill.
///
/// # Errors
/// `WouldBlock` when another process has it.
pub fn lock(file: &File) -> io::Result<()> {
    // SAFETY: takes a descriptor and an integer.
    check(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }).map(drop)
}

/// Takes the lock of a file as soon as whoever has it lets it go; always `true`.
///
/// # Errors
/// A signal came first.
pub fn wait_for_lock(file: &File) -> io::Result<bool> {
    // SAFETY: takes a descriptor and an integer.
    check(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) }).map(|_| true)
}
