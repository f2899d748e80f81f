//! Signals as something to read: the ones that end the program orderly, or ask for a reload.

use super::{check, check_len, not_now};
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A signal that was sent to the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// SIGINT or SIGTERM: end.
    End,
    /// SIGHUP: read the plan again.
    Reload,
}

/// The signals of this process, from now on read here instead of interrupting it.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
}

impl Signals {
    /// Blocks SIGINT, SIGTERM and SIGHUP and opens the descriptor that tells them.
    ///
    /// # Errors
    /// Out of descriptors.
    pub fn new() -> io::Result<Signals> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset initialises the set before it is used; the calls read it only.
        let fd = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            check(libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()))?;
            check(libc::signalfd(-1, set.as_ptr(), libc::SFD_NONBLOCK | libc::SFD_CLOEXEC))?
        };
        // SAFETY: the descriptor is new and nobody else's.
        Ok(Signals { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// The next signal, if one was sent.
    ///
    /// # Errors
    /// Only those of a broken descriptor.
    pub fn read(&self) -> io::Result<Option<Signal>> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let len = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the kernel writes one whole record into room for one.
        let read = unsafe { libc::read(self.fd.as_raw_fd(), info.as_mut_ptr().cast(), len) };
        let read = not_now(check_len(read))?;
        if read != Some(len) {
            return Ok(None);
        }
        // SAFETY: the kernel wrote the whole record.
        let number = unsafe { info.assume_init() }.ssi_signo as libc::c_int;
        Ok(Some(if number == libc::SIGHUP { Signal::Reload } else { Signal::End }))
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
