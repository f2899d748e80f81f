//! The monotonic clock, waiting for descriptors until an exact time, and the thread's priority.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use trunkline_core::time::{Duration, Instant};

const NANOS_PER_SEC: i128 = 1_000_000_000;

/// How the kernel schedules the emulator's thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheduling {
    /// Before every ordinary thread (SCHED_FIFO).
    RealTime,
    /// Among the ordinary threads, because the kernel refused more.
    Ordinary,
}

/// The monotonic clock's time.
pub fn now() -> Instant {
    Instant::from_nanos(read(libc::CLOCK_MONOTONIC) as u64)
}

/// What must be taken from a time of day to get monotonic time.
#[derive(Clone, Copy, Debug)]
pub struct TimeOfDay {
    offset: i128,
    now: Instant,
}

impl TimeOfDay {
    /// Reads both clocks.
    pub fn read() -> Self {
        let now = now();
        TimeOfDay { offset: read(libc::CLOCK_REALTIME) - i128::from(now.as_nanos()), now }
    }

    /// The monotonic time of a stamp of the recent past; now when the stamp is anything else, as that
    /// of a packet is which carries its sender's departure time.
    pub fn monotonic(&self, stamp: libc::timespec) -> Instant {
        const RECENT: Duration = Duration::from_secs(1);
        let nanos = nanos_of(stamp) - self.offset;
        let at = Instant::from_nanos(u64::try_from(nanos).unwrap_or(0));
        if at <= self.now && self.now - at < RECENT { at } else { self.now }
    }
}

fn read(clock: libc::clockid_t) -> i128 {
    let mut spec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `spec` is a valid place for the result; these clocks always exist.
    unsafe { libc::clock_gettime(clock, &mut spec) };
    nanos_of(spec)
}

fn nanos_of(spec: libc::timespec) -> i128 {
    i128::from(spec.tv_sec) * NANOS_PER_SEC + i128::from(spec.tv_nsec)
}

/// Puts the calling thread before ordinary ones, keeps its memory in place and its timers exact. What
/// the kernel refuses is left as it is.
pub fn prefer_this_thread() -> Scheduling {
    const PRIORITY: i32 = 10;
    let param = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: these calls change only how this process is scheduled; `param` is valid.
    unsafe {
        libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE);
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        match libc::sched_setscheduler(0, libc::SCHED_FIFO, &param) {
            0 => Scheduling::RealTime,
            _ => Scheduling::Ordinary,
        }
    }
}

/// Waits until one of the descriptors can be read or `deadline` has come, as exactly as the kernel
/// wakes; an entry of `ready` says which can be read.
pub fn wait<const N: usize>(
    descriptors: [i32; N],
    deadline: Option<Instant>,
) -> io::Result<[bool; N]> {
    let mut polled = descriptors.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    let span = deadline.map(|deadline| {
        let nanos = (deadline - now()).as_nanos();
        libc::timespec {
            tv_sec: (nanos / NANOS_PER_SEC as u64) as libc::time_t,
            tv_nsec: (nanos % NANOS_PER_SEC as u64) as libc::c_long,
        }
    });
    let span = span.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: `polled` has N entries; `span` is null or points to a timespec that outlives the call.
    let done =
        unsafe { libc::ppoll(polled.as_mut_ptr(), N as libc::nfds_t, span, std::ptr::null()) };
    if done < 0 {
        let error = io::Error::last_os_error();
        return match error.kind() {
            io::ErrorKind::Interrupted => Ok([false; N]),
            _ => Err(error),
        };
    }
    Ok(polled.map(|entry| entry.revents != 0))
}

/// What a signal asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// SIGUSR1: a report.
    Report,
    /// SIGINT or SIGTERM: the end.
    Stop,
}

/// The signals that ask for something, read instead of delivered.
pub struct Signals(OwnedFd);

impl Signals {
    /// Blocks the signals in the calling thread and opens a descriptor for them.
    pub fn open() -> io::Result<Self> {
        // SAFETY: the set is initialised by sigemptyset before it is read; a descriptor that signalfd
        // returns is ours alone.
        unsafe {
            let mut set = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&mut set);
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGUSR1] {
                libc::sigaddset(&mut set, signal);
            }
            if libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) < 0 {
                return Err(io::Error::last_os_error());
            }
            match libc::signalfd(-1, &set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC) {
                fd if fd < 0 => Err(io::Error::last_os_error()),
                fd => Ok(Signals(OwnedFd::from_raw_fd(fd))),
            }
        }
    }

    /// The descriptor to wait for.
    pub fn descriptor(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// The next signal that came.
    pub fn poll(&self) -> Option<Asked> {
        const LEN: usize = size_of::<libc::signalfd_siginfo>();
        // SAFETY: a signalfd_siginfo is plain old data, and the buffer has exactly its size.
        let (got, info) = unsafe {
            let mut info = std::mem::zeroed::<libc::signalfd_siginfo>();
            (libc::read(self.descriptor(), (&raw mut info).cast(), LEN), info)
        };
        (got == LEN as isize).then_some(match info.ssi_signo as i32 {
            libc::SIGUSR1 => Asked::Report,
            _ => Asked::Stop,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recent_stamp_is_turned_into_monotonic_time_and_others_are_now() {
        let clocks =
            TimeOfDay { offset: 1_000 * NANOS_PER_SEC, now: Instant::from_nanos(5_000_000_000) };
        let stamp = |sec, nsec| libc::timespec { tv_sec: sec, tv_nsec: nsec };
        assert_eq!(clocks.monotonic(stamp(1004, 999_000_000)), Instant::from_nanos(4_999_000_000));
        for odd in [stamp(0, 0), stamp(4, 999_000_000), stamp(1006, 0), stamp(1003, 0)] {
            assert_eq!(clocks.monotonic(odd), clocks.now);
        }
    }

    #[test]
    fn waiting_ends_at_the_deadline_when_nothing_comes() {
        let deadline = now() + Duration::from_millis(2);
        let [] = wait([], Some(deadline)).unwrap();
        assert!(now() >= deadline);
    }
}
