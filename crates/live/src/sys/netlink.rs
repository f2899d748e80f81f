//! The socket to the kernel's routing tables (netlink(7), rtnetlink(7)): whole messages, out and in.

use super::{check, check_len, not_now, set_option, socket};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// What a socket is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Requests and their answers.
    Requests,
    /// Hearing of every change of a link.
    LinkChanges,
}

/// A netlink socket of the routing family.
#[derive(Debug)]
pub struct NetlinkSocket {
    fd: OwnedFd,
}

impl NetlinkSocket {
    /// Opens a socket.
    ///
    /// # Errors
    /// Out of descriptors.
    pub fn open(used_for: Use) -> io::Result<NetlinkSocket> {
        let fd = socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
        // SAFETY: all zeros is a valid address.
        let mut address: libc::sockaddr_nl = unsafe { zeroed() };
        address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
        if used_for == Use::LinkChanges {
            address.nl_groups = libc::RTMGRP_LINK as u32;
        }
        let len = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        // SAFETY: pointer and length are those of the address.
        check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) })?;
        // Answers without the request they belong to: there may be many bytes of that.
        set_option(&fd, libc::SOL_NETLINK, libc::NETLINK_CAP_ACK, 1)?;
        Ok(NetlinkSocket { fd })
    }

    /// Sends one request; the kernel has carried it out when this returns, and answers.
    ///
    /// # Errors
    /// The kernel has no memory for it.
    pub fn send(&self, message: &[u8]) -> io::Result<()> {
        let fd = self.fd.as_raw_fd();
        // SAFETY: pointer and length are those of the message.
        let sent = unsafe { libc::send(fd, message.as_ptr().cast(), message.len(), 0) };
        check_len(sent).map(drop)
    }

    /// Reads what has been told, or `None` when nothing has.
    ///
    /// # Errors
    /// `ENOBUFS` when changes were lost because nobody read them.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let (fd, room) = (self.fd.as_raw_fd(), buffer.len());
        // SAFETY: pointer and length are those of the buffer.
        let len = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), room, 0) };
        not_now(check_len(len))
    }
}

impl AsFd for NetlinkSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
