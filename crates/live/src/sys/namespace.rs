//! Network namespaces (network_namespaces(7)).

use super::check;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Where `ip netns` keeps the namespaces it has named.
pub const NAMED: &str = "/run/netns";

/// Moves the calling thread, and what it starts from now on, into a network namespace.
///
/// # Errors
/// There is no such namespace, or no `CAP_SYS_ADMIN`.
pub fn enter(namespace: &Path) -> io::Result<()> {
    let file = File::open(namespace)?;
    // SAFETY: takes a descriptor, which is open, and an integer.
    check(unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}
