//! Room for many datagrams that are received in one call (recvmmsg(2)).

use super::address::decode;
use super::control::{CONTROL_BYTES, Control, Told};
use crate::sys::{check, not_now};
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;
use std::ptr;

/// Messages of one call; each may carry many datagrams.
const MESSAGES: usize = 16;
/// The longest a message can be.
const MESSAGE_BYTES: usize = 65_536;

/// What one call received. Kept and reused, so receiving allocates nothing.
pub struct Inbox {
    buffer: Box<[u8]>,
    messages: [Message; MESSAGES],
    received: usize,
}

#[derive(Clone, Copy)]
struct Message {
    control: Control,
    address: libc::sockaddr_storage,
    len: usize,
    flags: libc::c_int,
}

/// One message: a datagram, or several of one length from one sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram<'b> {
    /// Who sent it.
    pub from: SocketAddr,
    /// The address of this machine it came to.
    pub to: Option<IpAddr>,
    /// Its ECN field.
    pub ecn: u8,
    /// The payload; several datagrams are one behind the other.
    pub payload: &'b [u8],
    /// The length of each but the last, which may be shorter.
    pub segment_bytes: usize,
    /// Whether payload or control messages did not fit: it must not be used.
    pub is_truncated: bool,
}

impl Inbox {
    /// Room for sixteen messages.
    pub fn new() -> Inbox {
        // SAFETY: all zeros is a valid address.
        let address = unsafe { zeroed() };
        let message = Message { control: Control::new(), address, len: 0, flags: 0 };
        Inbox {
            buffer: vec![0; MESSAGES * MESSAGE_BYTES].into(),
            messages: [message; MESSAGES],
            received: 0,
        }
    }

    pub(super) fn receive(&mut self, fd: RawFd) -> io::Result<usize> {
        self.received = 0;
        // SAFETY: all zeros is valid for both; every entry is filled below.
        let mut parts: [libc::iovec; MESSAGES] = unsafe { zeroed() };
        let mut headers: [libc::mmsghdr; MESSAGES] = unsafe { zeroed() };
        let rooms = self.buffer.chunks_exact_mut(MESSAGE_BYTES);
        let entries = parts.iter_mut().zip(&mut headers).zip(&mut self.messages).zip(rooms);
        for (((part, header), message), room) in entries {
            part.iov_base = room.as_mut_ptr().cast();
            part.iov_len = room.len();
            let header = &mut header.msg_hdr;
            header.msg_name = (&raw mut message.address).cast();
            header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_iov = part;
            header.msg_iovlen = 1;
            header.msg_control = message.control.pointer();
            header.msg_controllen = CONTROL_BYTES;
        }
        // SAFETY: every header points to buffers of the lengths said, none of which moves before the
        // call returns. No time limit is given, and the socket does not block.
        let count = unsafe {
            let count = MESSAGES as libc::c_uint;
            libc::recvmmsg(fd, headers.as_mut_ptr(), count, 0, ptr::null_mut())
        };
        let count = not_now(check(count))?.unwrap_or(0) as usize;
        for (message, header) in self.messages.iter_mut().zip(&headers[..count]) {
            message.len = header.msg_len as usize;
            message.flags = header.msg_hdr.msg_flags;
            message.control.set_len(header.msg_hdr.msg_controllen);
        }
        self.received = count;
        Ok(count)
    }

    /// How many messages one call receives at most.
    pub const fn room(&self) -> usize {
        MESSAGES
    }

    /// What the last call received, first to last.
    pub fn datagrams(&self) -> impl Iterator<Item = Datagram<'_>> {
        let rooms = self.buffer.chunks_exact(MESSAGE_BYTES);
        self.messages[..self.received].iter().zip(rooms).filter_map(|(message, room)| {
            let Told { ecn, to, segment_bytes } = message.control.read();
            let payload = &room[..message.len.min(MESSAGE_BYTES)];
            Some(Datagram {
                from: decode(&message.address)?,
                to,
                ecn,
                payload,
                segment_bytes: segment_bytes.filter(|n| *n > 0).unwrap_or(payload.len().max(1)),
                is_truncated: message.flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0,
            })
        })
    }
}

impl Default for Inbox {
    fn default() -> Self {
        Inbox::new()
    }
}
