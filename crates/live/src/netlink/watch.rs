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
        let mut is_whole = true;
        loop {
            match self.socket.receive(&mut self.buffer) {
                Ok(Some(len)) => {
                    heard.extend(messages(&self.buffer[..len]).filter_map(|m| news(&m)));
                }
                Ok(None) => break,
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => is_whole = false,
                Err(error) => return Err(error),
            }
        }
        // Last: what was still to be read is older.
        if !is_whole {
            heard.extend(Netlink::open()?.links()?);
        }
        Ok(heard)
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
    let (family, index, flags) = received.link()?;
    // A bridge tells of its ports in messages of its own: one that has left it is not gone.
    if libc::c_int::from(family) != libc::AF_UNSPEC {
        return None;
    }
    let name = received.link_attribute(libc::IFLA_IFNAME)?;
    let name = String::from_utf8_lossy(name).trim_end_matches('\0').to_owned();
    let running = (libc::IFF_UP | libc::IFF_RUNNING) as u32;
    Some(LinkNews { name, index, is_running: is_there && flags & running == running })
}

#[cfg(test)]
mod tests {
    use super::super::message::Message;
    use super::*;

    #[test]
    fn a_port_that_leaves_a_bridge_is_no_device_that_is_gone() {
        for (family, expected) in [(libc::AF_UNSPEC, 1), (libc::AF_BRIDGE, 0)] {
            let mut message = Message::new(libc::RTM_DELLINK, 0);
            message.link(7, 0, 0);
            message.attribute(libc::IFLA_IFNAME, b"eth0\0");
            let mut bytes = message.finish(1);
            bytes[16] = family as u8;
            let heard: Vec<LinkNews> = messages(&bytes).filter_map(|m| news(&m)).collect();
            assert_eq!(heard.len(), expected);
            assert!(heard.iter().all(|news| news.name == "eth0" && !news.is_running));
        }
    }
}
