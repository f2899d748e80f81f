//! Waiting for descriptors and a deadline, with `epoll_pwait2`: its deadline counts nanoseconds, where
//! `epoll_wait` rounds to milliseconds and would spoil every pacer.

use super::check;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// Descriptors told ready in one wait at most; the others are told in the next.
const READY_MAX: usize = 64;

/// What is waited for on a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interest {
    /// Nothing, for now.
    Nothing,
    /// That it can be read.
    Read,
    /// That it can be read or written.
    ReadWrite,
    /// That it can be read or written again, or has broken: told once each time, so that what is not
    /// wanted now may wait without being told over and over.
    Edges,
}

impl Interest {
    fn events(self) -> u32 {
        match self {
            Interest::Nothing => 0,
            Interest::Read => libc::EPOLLIN as u32,
            Interest::ReadWrite => (libc::EPOLLIN | libc::EPOLLOUT) as u32,
            Interest::Edges => (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLET) as u32,
        }
    }
}

/// A set of descriptors, each with a token of the caller's choice. Level-triggered but for
/// [`Interest::Edges`]: what is not read is told again. A closed descriptor leaves by itself.
#[derive(Debug)]
pub struct Epoll {
    fd: OwnedFd,
    ready: Vec<libc::epoll_event>,
}

impl Epoll {
    /// An empty set.
    ///
    /// # Errors
    /// Out of descriptors or memory.
    pub fn new() -> io::Result<Epoll> {
        // SAFETY: takes an integer only.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: the descriptor is new and nobody else's.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // Timers may be late by 50 us otherwise. A refusal costs precision, nothing else.
        // SAFETY: takes integers only.
        let _refused = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        Ok(Epoll { fd, ready: vec![libc::epoll_event { events: 0, u64: 0 }; READY_MAX] })
    }

    /// Takes a descriptor in.
    ///
    /// # Errors
    /// It is in the set, cannot be waited for, or the kernel has no room.
    pub fn add(&self, fd: &impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, interest)
    }

    /// Changes what is waited for.
    ///
    /// # Errors
    /// It is not in the set.
    pub fn modify(&self, fd: &impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, interest)
    }

    fn control(
        &self,
        operation: libc::c_int,
        fd: &impl AsFd,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        let mut event = libc::epoll_event { events: interest.events(), u64: token };
        let fd = fd.as_fd().as_raw_fd();
        // SAFETY: both descriptors are open during the call and the event is copied.
        check(unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), operation, fd, &raw mut event) })
            .map(drop)
    }

    /// Waits until a descriptor is ready, at most `nanos` (for ever when `None`), and appends the
    /// tokens of the ready ones. A signal ends the wait early.
    ///
    /// # Errors
    /// Only those of a broken set.
    pub fn wait(&mut self, nanos: Option<u64>, tokens: &mut Vec<u64>) -> io::Result<()> {
        let span = nanos.map(|n| libc::timespec {
            tv_sec: (n / 1_000_000_000) as libc::time_t,
            tv_nsec: (n % 1_000_000_000) as libc::c_long,
        });
        let span = span.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: `ready` has room for READY_MAX events; the timespec lives until the call returns;
        // no signal mask is given.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd.as_raw_fd(),
                self.ready.as_mut_ptr(),
                READY_MAX as libc::c_int,
                span,
                ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        let count = match check(count as libc::c_int) {
            Ok(count) => count as usize,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        tokens.extend(self.ready[..count].iter().map(|event| event.u64));
        Ok(())
    }
}
