//! The kernel's calls, each wrapped as thinly as it can be used safely. All `unsafe` of the program's
//! real-time side stands here; everything above is safe code.
#![allow(unsafe_code)]

pub mod epoll;
pub mod namespace;
pub mod netlink;
pub mod privilege;
pub mod process;
pub mod signal;
pub mod tcp;
pub mod tun;
pub mod udp;

use std::ffi::CString;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// What a call returned, or the error the kernel set.
fn check(returned: libc::c_int) -> io::Result<libc::c_int> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

/// The same for calls that return a length.
fn check_len(returned: isize) -> io::Result<usize> {
    usize::try_from(returned).map_err(|_| io::Error::last_os_error())
}

/// `None` instead of the error that says "not now".
fn not_now<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// A new socket, closed on exec and never blocking.
fn socket(family: libc::c_int, kind: libc::c_int, protocol: libc::c_int) -> io::Result<OwnedFd> {
    let kind = kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes integers only.
    let fd = check(unsafe { libc::socket(family, kind, protocol) })?;
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sets an integer option of a socket.
fn set_option(
    fd: &OwnedFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let pointer = (&raw const value).cast();
    let len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of `value`, which the kernel copies.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, pointer, len) }).map(drop)
}

/// The index of a network device of this name, if there is one.
pub fn device_index(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name ends in NUL and lives during the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    (index != 0).then_some(index)
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub fn monotonic_nanos() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec. The call cannot fail for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
