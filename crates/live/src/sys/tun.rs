//! TUN devices (Linux `Documentation/networking/tuntap.rst`): packets that programs send, and a way to
//! hand packets to them.
//!
//! Every packet has a `virtio_net_hdr` of ten bytes in front. With offloads what programs send comes in
//! packets of many segments, which are then ours to cut; what arrives may be handed over so in any case.
//! Offloads are always set, also to none: a device keeps the mask of whoever had it before.

use super::{check, check_len, not_now};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};
use std::os::unix::fs::OpenOptionsExt;
use trunkline_core::wire::vnet;

/// Bytes of the `virtio_net_hdr` in front of every packet.
pub const VNET_HEADER_BYTES: usize = vnet::HEADER_LEN;

/// What the kernel may leave to us. Cutting UDP is known to Linux 6.2 and later.
const TCP_OFFLOADS: libc::c_uint =
    libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
const UDP_OFFLOADS: libc::c_uint = libc::TUN_F_USO4 | libc::TUN_F_USO6;

/// A TUN device of this process; it is gone, with its addresses and routes, when this is dropped or the
/// process dies.
#[derive(Debug)]
pub struct Tun {
    file: File,
}

impl Tun {
    /// Creates a device of this name; one that is there already is never taken over.
    ///
    /// # Errors
    /// `ResourceBusy` when a device has the name, `NotFound` when the kernel has no TUN,
    /// `PermissionDenied` without `CAP_NET_ADMIN`.
    pub fn create(name: &str) -> io::Result<Tun> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open("/dev/net/tun")?;
        // SAFETY: all zeros is a valid ifreq.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        if name.len() >= request.ifr_name.len() || !name.is_ascii() || name.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a device name"));
        }
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR | libc::IFF_TUN_EXCL;
        request.ifr_ifru.ifru_flags = flags as libc::c_short;
        let fd = file.as_raw_fd();
        // SAFETY: the request is an ifreq as TUNSETIFF reads and writes it.
        check(unsafe { libc::ioctl(fd, libc::TUNSETIFF, &raw mut request) })?;
        let tun = Tun { file };
        tun.set_offloads(0)?;
        Ok(tun)
    }

    /// Lets the kernel leave segments and checksums to whoever reads, as far as it can.
    ///
    /// # Errors
    /// This is no device.
    pub fn offload(&self) -> io::Result<()> {
        self.set_offloads(TCP_OFFLOADS | UDP_OFFLOADS).or_else(|_| self.set_offloads(TCP_OFFLOADS))
    }

    fn set_offloads(&self, offloads: libc::c_uint) -> io::Result<()> {
        let (fd, offloads) = (self.file.as_raw_fd(), libc::c_ulong::from(offloads));
        // SAFETY: TUNSETOFFLOAD takes its argument by value.
        check(unsafe { libc::ioctl(fd, libc::TUNSETOFFLOAD, offloads) }).map(drop)
    }

    /// Two ends without a device: what is written to one is read from the other, packet by packet, as a
    /// device and the kernel behind it would (socketpair(2)).
    ///
    /// # Errors
    /// Out of descriptors.
    pub fn pair() -> io::Result<(Tun, Tun)> {
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let mut fds = [0; 2];
        // SAFETY: the kernel writes two descriptors into an array of two.
        check(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) })?;
        // SAFETY: both descriptors are new and nobody else's.
        let [a, b] = fds.map(|fd| Tun { file: unsafe { File::from_raw_fd(fd) } });
        Ok((a, b))
    }

    /// Reads one packet behind its `virtio_net_hdr`; the length of both, or `None` when there is none, also
    /// while somebody has taken the device down.
    ///
    /// # Errors
    /// The device is gone.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let fd = self.file.as_raw_fd();
        // SAFETY: pointer and length are those of the buffer.
        let len = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
        match check_len(len) {
            Err(error) if error.raw_os_error() == Some(libc::EIO) => Ok(None),
            read => not_now(read),
        }
    }

    /// Hands one packet that is as it should be to the kernel.
    ///
    /// # Errors
    /// The device is down, or the kernel did not take the packet for one.
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        let header = vnet::Repr::default().emit();
        self.write_parts(&[io::IoSlice::new(&header), io::IoSlice::new(packet)])
    }

    /// Hands one packet, which begins with its `virtio_net_hdr`, to the kernel, in at most 1024 parts.
    ///
    /// # Errors
    /// The device is down, or the kernel did not take the packet for one.
    pub fn write_parts(&self, parts: &[io::IoSlice<'_>]) -> io::Result<()> {
        let fd = self.file.as_raw_fd();
        // SAFETY: IoSlice is iovec by its documentation; the kernel only reads them.
        let len = unsafe { libc::writev(fd, parts.as_ptr().cast(), parts.len() as libc::c_int) };
        check_len(len).map(drop)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
