//! UDP sockets with what their datagrams carry beside the payload: the address they came to, the ECN
//! field, and many datagrams of one size in one call (`UDP_SEGMENT` and `UDP_GRO`, udp(7)).
//!
//! The control buffer has 256 bytes, and running out of it is told: with a smaller one a datagram that
//! was received in a batch loses its ECN field silently.

mod address;
mod control;
mod inbox;

pub use inbox::{Datagram, Inbox};

use super::{check, check_len, set_option, socket};
use address::Encoded;
use control::Control;
use std::ffi::CString;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

/// Bytes the kernel may hold for a socket in each direction: 300 ms at 100 Mbit/s. Sending is paced, so
/// only receiving ever needs them.
const SOCKET_BUFFER_BYTES: libc::c_int = 4 << 20;
/// Datagrams one send may carry (`UDP_MAX_SEGMENTS`).
pub const SEGMENTS_MAX: usize = 64;
/// Bytes one send may carry: the longest UDP payload over IPv4.
pub const SEND_BYTES_MAX: usize = 65_507;

/// A UDP socket, perhaps bound to a device.
#[derive(Debug)]
pub struct UdpSocket {
    fd: OwnedFd,
}

/// Where datagrams go to, and from which of the machine's addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Destination {
    /// The far end.
    pub to: SocketAddr,
    /// The source; the kernel chooses when `None`.
    pub from: Option<IpAddr>,
}

impl UdpSocket {
    /// Opens a socket at an address, over one device only when that is named. An IPv6 socket hears
    /// IPv6 only.
    ///
    /// # Errors
    /// `NotFound` when there is no such device, `AddrInUse`, `AddrNotAvailable`.
    pub fn open(device: Option<&str>, local: SocketAddr) -> io::Result<UdpSocket> {
        let family = if local.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        let fd = socket(family, libc::SOCK_DGRAM, 0)?;
        if let Some(device) = device {
            bind_to_device(&fd, device)?;
        }
        match local {
            SocketAddr::V4(_) => {
                set_option(&fd, libc::IPPROTO_IP, libc::IP_RECVTOS, 1)?;
                set_option(&fd, libc::IPPROTO_IP, libc::IP_PKTINFO, 1)?;
            }
            SocketAddr::V6(_) => {
                set_option(&fd, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1)?;
                set_option(&fd, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1)?;
                set_option(&fd, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)?;
            }
        }
        set_option(&fd, libc::SOL_UDP, libc::UDP_GRO, 1)?;
        for (forced, asked) in
            [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
        {
            set_option(&fd, libc::SOL_SOCKET, forced, SOCKET_BUFFER_BYTES)
                .or_else(|_| set_option(&fd, libc::SOL_SOCKET, asked, SOCKET_BUFFER_BYTES))?;
        }
        let address = Encoded::new(local);
        // SAFETY: pointer and length are those of the encoded address.
        check(unsafe { libc::bind(fd.as_raw_fd(), address.pointer(), address.len()) })?;
        Ok(UdpSocket { fd })
    }

    /// Sends datagrams whose bytes are `parts` one after the other: all of `segment_bytes` but the
    /// last, which may be shorter. At most [`SEGMENTS_MAX`] of them and [`SEND_BYTES_MAX`] in all.
    ///
    /// # Errors
    /// `WouldBlock` when the socket is full; what the way to the destination says, such as
    /// `NetworkUnreachable` or `ENODEV`. None of the datagrams has been sent then.
    pub fn send(
        &self,
        destination: Destination,
        ecn: u8,
        parts: &[IoSlice<'_>],
        segment_bytes: usize,
    ) -> io::Result<()> {
        let address = Encoded::new(destination.to);
        let total: usize = parts.iter().map(|part| part.len()).sum();
        let mut control = Control::new();
        control.push_ecn(&destination.to, ecn);
        if let Some(from) = destination.from {
            control.push_source(from);
        }
        if total > segment_bytes {
            control.push_segment(segment_bytes as u16);
        }
        // SAFETY: all zeros is a valid msghdr.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_name = address.pointer().cast_mut().cast();
        message.msg_namelen = address.len();
        message.msg_iov = parts.as_ptr().cast_mut().cast();
        message.msg_iovlen = parts.len();
        message.msg_control = if control.len() == 0 { ptr::null_mut() } else { control.pointer() };
        message.msg_controllen = control.len();
        // SAFETY: every pointer is to something that outlives the call with the length said; the
        // kernel reads only. IoSlice is iovec by its documentation.
        let sent = unsafe { libc::sendmsg(self.fd.as_raw_fd(), &raw const message, 0) };
        check_len(sent).map(drop)
    }

    /// Receives what has arrived into the inbox; the number of messages, 0 when there are none.
    ///
    /// # Errors
    /// Only those of a broken socket; what comes back from the network is not told here.
    pub fn receive(&self, inbox: &mut Inbox) -> io::Result<usize> {
        inbox.receive(self.fd.as_raw_fd())
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn bind_to_device(fd: &OwnedFd, device: &str) -> io::Result<()> {
    let name = CString::new(device)?;
    let bytes = name.as_bytes_with_nul();
    // SAFETY: pointer and length are those of the name.
    let result = check(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_BINDTODEVICE,
            bytes.as_ptr().cast(),
            bytes.len() as libc::socklen_t,
        )
    });
    result.map(drop).map_err(|error| match error.raw_os_error() {
        Some(libc::ENODEV) => {
            io::Error::new(io::ErrorKind::NotFound, format!("there is no device {device}"))
        }
        _ => error,
    })
}

#[cfg(test)]
mod tests;
