//! Hearing of links that lose or find their carrier, go away or come back.

use super::message::{Received, messages};
use super::{ANSWER_BYTES, Netlink};
use crate::sys::netlink::{NetlinkSocket, Use};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// What was heard of a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkNews {
    /// The device's name.
    pub name: String,
    /// Its index: another one than before means another device.
    pub index: u32,
    /// Whether it can carry frames: it is there, up, and has a carrier.
    pub is_running: bool,
}

/// Tells every change of a link in this network namespace.
#[derive(Debug)]
pub struct LinkWatch {
    socket: NetlinkSocket,
    buffer: Vec<u8>,
}

impl LinkWatch {
    /// Starts to listen.
    ///
    /// # Errors
    /// Out of descriptors.
    pub fn open() -> io::Result<LinkWatch> {
        let socket = NetlinkSocket::open(Use::LinkChanges)?;
        Ok(LinkWatch { socket, buffer: vec![0; ANSWER_BYTES] })
    }

    /// What has changed since the last call. When the kernel had to throw changes away, every link is
    /// told as it is now.
    ///
    /// # Errors
    /// Only those of a broken socket.
    pub fn read(&mut self) -> io::Result<Vec<LinkNews>> {
        let mut heard = Vec::new();
        loop {
            match self.socket.receive(&mut self.buffer) {
                Ok(Some(len)) => {
                    heard.extend(messages(&self.buffer[..len]).filter_map(|m| news(&m)));
                }
                Ok(None) => return Ok(heard),
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    heard.extend(Netlink::open()?.links()?);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for LinkWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What a message says about a link, if it is about one.
pub(super) fn news(received: &Received<'_>) -> Option<LinkNews> {
    let is_there = match received.kind {
        libc::RTM_NEWLINK => true,
        libc::RTM_DELLINK => false,
        _ => return None,
    };
    let (index, flags) = received.link()?;
    let name = received.link_attribute(libc::IFLA_IFNAME)?;
    let name = String::from_utf8_lossy(name).trim_end_matches('\0').to_owned();
    let running = (libc::IFF_UP | libc::IFF_RUNNING) as u32;
    Some(LinkNews { name, index, is_running: is_there && flags & running == running })
}
