//! One interface: an AF_PACKET socket (packet(7)) that takes every frame coming in and sends frames as
//! they are, in batches.
//!
//! The interface must have its offloads off, or frames larger than its MTU come in; they are counted
//! and dropped. Frames that this machine sends through the interface are not taken.
#![allow(unsafe_code)]

use super::clock::TimeOfDay;
use super::direction::LINK_HEADER_BYTES;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use trunkline_core::time::Instant;

/// Frames moved with one system call at most.
pub const BATCH: usize = 64;
/// Room for arriving frames while the thread is not running, as the kernel counts it: 2 s of full
/// frames at 50 Mbit/s.
const RECEIVE_BUFFER_BYTES: libc::c_int = 32 << 20;
/// Room for the one control message that is asked for.
const CONTROL_BYTES: usize = 64;

/// Frames that were given up at an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortDrops {
    /// Came in faster than the emulator took them.
    pub ring: u64,
    /// Came in larger than the MTU: an offload is on.
    pub oversize: u64,
    /// The kernel did not take them although the interface was up.
    pub refused: u64,
    /// The interface, or its peer, was down: not the emulator's doing.
    pub device_down: u64,
}

impl PortDrops {
    /// Those the emulator did not mean to give up.
    pub const fn own(&self) -> u64 {
        self.ring + self.oversize + self.refused
    }
}

/// Why an interface could not be used.
#[derive(Debug, thiserror::Error)]
#[error("{device}: {what}: {source}")]
pub struct PortError {
    device: String,
    what: &'static str,
    source: io::Error,
}

impl From<PortError> for io::Error {
    fn from(error: PortError) -> Self {
        io::Error::new(error.source.kind(), error)
    }
}

/// One interface of the emulator.
pub struct Port {
    device: String,
    index: libc::c_int,
    socket: OwnedFd,
    batch: Batch,
    drops: PortDrops,
}

impl Port {
    /// Opens a socket on the interface, promiscuous, for frames of all protocols.
    pub fn open(device: &str) -> Result<Port, PortError> {
        let fail = |what| move |source| PortError { device: device.to_owned(), what, source };
        let index = interface_index(device).map_err(fail("no such interface"))?;
        // Protocol 0 hears nothing until the socket is bound: no frame of another interface slips in.
        // SAFETY: a plain system call; the descriptor it returns is ours alone.
        let socket = unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            match libc::socket(libc::AF_PACKET, kind, 0) {
                fd if fd < 0 => Err(io::Error::last_os_error()),
                fd => Ok(OwnedFd::from_raw_fd(fd)),
            }
        }
        .map_err(fail("open a packet socket (CAP_NET_RAW)"))?;
        let mtu = interface_mtu(&socket, device).map_err(fail("read the MTU"))?;
        let port = Port {
            device: device.to_owned(),
            index,
            socket,
            batch: Batch::new(mtu),
            drops: PortDrops::default(),
        };
        port.set_options().map_err(fail("set socket options"))?;
        port.bind().map_err(fail("bind"))?;
        Ok(port)
    }

    fn set_options(&self) -> io::Result<()> {
        let on: libc::c_int = 1;
        self.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &on)?;
        self.set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &on)?;
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)?;
        self.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &RECEIVE_BUFFER_BYTES)?;
        let member = libc::packet_mreq {
            mr_ifindex: self.index,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        self.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &member)
    }

    fn set<T>(&self, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
        let len = size_of::<T>() as libc::socklen_t;
        // SAFETY: `value` is a live T and `len` its size; the kernel only reads it.
        let done = unsafe {
            libc::setsockopt(self.descriptor(), level, name, std::ptr::from_ref(value).cast(), len)
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn bind(&self) -> io::Result<()> {
        // SAFETY: all-zero is a valid sockaddr_ll; the pointer and its length describe that value.
        let done = unsafe {
            let mut address = std::mem::zeroed::<libc::sockaddr_ll>();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
            address.sll_ifindex = self.index;
            let len = size_of_val(&address) as libc::socklen_t;
            libc::bind(self.descriptor(), (&raw const address).cast(), len)
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// The descriptor to wait for.
    pub fn descriptor(&self) -> i32 {
        self.socket.as_raw_fd()
    }

    /// Takes up to a batch of frames that came in and hands each to `take`: when it came, its
    /// Ethernet header, its packet. Says how many there were.
    pub fn receive(
        &mut self,
        mut take: impl FnMut(Instant, &[u8; LINK_HEADER_BYTES], &[u8]),
    ) -> io::Result<usize> {
        let got = match self.batch.receive(self.socket.as_raw_fd()) {
            Ok(got) => got,
            Err(error) => return self.receive_error(error),
        };
        let clocks = TimeOfDay::read();
        for index in 0..got {
            match self.batch.frame(index) {
                Some((stamp, header, packet)) => {
                    let at = stamp.map_or_else(super::clock::now, |stamp| clocks.monotonic(stamp));
                    take(at, header, packet);
                }
                None => self.drops.oversize += 1,
            }
        }
        Ok(got)
    }

    /// An interface that is down may come back; one that is gone does not.
    fn receive_error(&self, error: io::Error) -> io::Result<usize> {
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EINTR) => Ok(0),
            Some(libc::ENETDOWN) if interface_index(&self.device).is_ok() => Ok(0),
            _ => Err(io::Error::new(error.kind(), format!("{}: {error}", self.device))),
        }
    }

    /// Sends frames, each a packet and its Ethernet header. What the kernel does not take is counted
    /// and dropped.
    pub fn send<'a>(&mut self, frames: impl Iterator<Item = (&'a [u8], &'a [u8])>) {
        let mut outgoing = Outgoing::default();
        for (packet, header) in frames.take(BATCH) {
            outgoing.push(packet, header);
        }
        let mut sent = 0;
        while sent < outgoing.len() {
            match outgoing.send(self.socket.as_raw_fd(), sent) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.note_refused(&error);
                    sent += 1;
                }
            }
        }
    }

    fn note_refused(&mut self, error: &io::Error) {
        let down =
            matches!(error.raw_os_error(), Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV));
        if down || !interface_is_running(&self.socket, &self.device) {
            self.drops.device_down += 1;
        } else {
            self.drops.refused += 1;
        }
    }

    /// Frames given up so far.
    pub fn drops(&mut self) -> PortDrops {
        // SAFETY: all-zero is a valid tpacket_stats; the pointer and the length describe it.
        let stats = unsafe {
            let mut stats = std::mem::zeroed::<libc::tpacket_stats>();
            let mut len = size_of_val(&stats) as libc::socklen_t;
            let done = libc::getsockopt(
                self.descriptor(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &mut len,
            );
            if done < 0 { std::mem::zeroed() } else { stats }
        };
        // The kernel counts from zero after every reading.
        self.drops.ring += u64::from(stats.tp_drops);
        self.drops
    }

    /// Counts from zero again.
    pub fn reset(&mut self) {
        self.drops();
        self.drops = PortDrops::default();
    }
}

/// The buffers of one receiving call. The message headers point into the other boxes, which never move
/// or grow.
struct Batch {
    bytes: Box<[u8]>,
    stride: usize,
    control: Box<[[u64; CONTROL_BYTES / 8]]>,
    _parts: Box<[[libc::iovec; 2]]>,
    messages: Box<[libc::mmsghdr]>,
}

impl Batch {
    fn new(mtu: usize) -> Self {
        let stride = LINK_HEADER_BYTES + mtu;
        let mut bytes = vec![0; stride * BATCH].into_boxed_slice();
        let mut control = vec![[0u64; CONTROL_BYTES / 8]; BATCH].into_boxed_slice();
        let part = |slice: &mut [u8]| libc::iovec {
            iov_base: slice.as_mut_ptr().cast(),
            iov_len: slice.len(),
        };
        let mut parts: Box<[[libc::iovec; 2]]> = bytes
            .chunks_mut(stride)
            .map(|frame| {
                let (header, packet) = frame.split_at_mut(LINK_HEADER_BYTES);
                [part(header), part(packet)]
            })
            .collect();
        let messages = parts
            .iter_mut()
            .zip(control.iter_mut())
            .map(|(parts, control)| {
                // SAFETY: all-zero is a valid mmsghdr: no name, no parts, no control.
                let mut message = unsafe { std::mem::zeroed::<libc::mmsghdr>() };
                message.msg_hdr.msg_iov = parts.as_mut_ptr();
                message.msg_hdr.msg_iovlen = 2;
                message.msg_hdr.msg_control = control.as_mut_ptr().cast();
                message
            })
            .collect();
        Batch { bytes, stride, control, _parts: parts, messages }
    }

    fn receive(&mut self, fd: i32) -> io::Result<usize> {
        for message in &mut self.messages {
            message.msg_hdr.msg_controllen = CONTROL_BYTES as _;
            message.msg_hdr.msg_flags = 0;
        }
        // SAFETY: the headers point into `bytes`, `control` and `_parts`, which live as long as `self`
        // and to which nobody else holds a reference during the call.
        let got = unsafe {
            libc::recvmmsg(
                fd,
                self.messages.as_mut_ptr(),
                BATCH as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        if got < 0 { Err(io::Error::last_os_error()) } else { Ok(got as usize) }
    }

    /// A frame of the last call: its stamp, header and packet; none when it did not fit.
    fn frame(
        &self,
        index: usize,
    ) -> Option<(Option<libc::timespec>, &[u8; LINK_HEADER_BYTES], &[u8])> {
        let message = &self.messages[index];
        let len = message.msg_len as usize;
        if message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0 {
            return None;
        }
        let frame = &self.bytes[index * self.stride..][..len];
        let (header, packet) = frame.split_first_chunk()?;
        Some((self.stamp(index), header, packet))
    }

    fn stamp(&self, index: usize) -> Option<libc::timespec> {
        let header = &self.messages[index].msg_hdr;
        debug_assert!(std::ptr::eq(header.msg_control.cast(), &raw const self.control[index]));
        // SAFETY: the kernel filled `msg_controllen` bytes of the aligned control buffer with whole
        // control messages; CMSG_FIRSTHDR checks that there is one, and its type says what its data is.
        unsafe {
            let message = libc::CMSG_FIRSTHDR(header).as_ref()?;
            let is_stamp = message.cmsg_level == libc::SOL_SOCKET
                && message.cmsg_type == libc::SCM_TIMESTAMPNS;
            is_stamp.then(|| libc::CMSG_DATA(message).cast::<libc::timespec>().read_unaligned())
        }
    }
}

/// The frames of one sending call, borrowed for it.
struct Outgoing<'a> {
    parts: [[libc::iovec; 2]; BATCH],
    len: usize,
    frames: std::marker::PhantomData<&'a [u8]>,
}

impl Default for Outgoing<'_> {
    fn default() -> Self {
        let empty = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Outgoing { parts: [[empty; 2]; BATCH], len: 0, frames: std::marker::PhantomData }
    }
}

impl<'a> Outgoing<'a> {
    const fn len(&self) -> usize {
        self.len
    }

    fn push(&mut self, packet: &'a [u8], header: &'a [u8]) {
        let part = |slice: &'a [u8]| libc::iovec {
            iov_base: slice.as_ptr().cast_mut().cast(),
            iov_len: slice.len(),
        };
        self.parts[self.len] = [part(header), part(packet)];
        self.len += 1;
    }

    /// Sends from the frame at `first` on; says how many were taken.
    fn send(&mut self, fd: i32, first: usize) -> io::Result<usize> {
        // SAFETY: all-zero is a valid mmsghdr; the parts point to slices borrowed for 'a, which the
        // kernel only reads; `messages` lives through the call.
        let sent = unsafe {
            let mut messages = std::mem::zeroed::<[libc::mmsghdr; BATCH]>();
            let open = first..self.len;
            for (message, parts) in messages.iter_mut().zip(&mut self.parts[open.clone()]) {
                message.msg_hdr.msg_iov = parts.as_mut_ptr();
                message.msg_hdr.msg_iovlen = 2;
            }
            let flags = libc::MSG_DONTWAIT as _;
            libc::sendmmsg(fd, messages.as_mut_ptr(), open.len() as libc::c_uint, flags)
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
    }
}

fn interface_index(device: &str) -> io::Result<libc::c_int> {
    let name = CString::new(device).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: `name` ends in a zero byte.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index as libc::c_int),
    }
}

fn interface_mtu(socket: &OwnedFd, device: &str) -> io::Result<usize> {
    // SAFETY: SIOCGIFMTU fills the MTU of the union.
    let mtu = unsafe { ask(socket, device, libc::SIOCGIFMTU as _)?.ifr_ifru.ifru_mtu };
    usize::try_from(mtu).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Whether the interface is up and has carrier.
fn interface_is_running(socket: &OwnedFd, device: &str) -> bool {
    const NEEDED: libc::c_int = libc::IFF_UP | libc::IFF_RUNNING;
    // SAFETY: SIOCGIFFLAGS fills the flags of the union.
    let flags = ask(socket, device, libc::SIOCGIFFLAGS as _)
        .map(|answer| unsafe { answer.ifr_ifru.ifru_flags });
    flags.is_ok_and(|flags| libc::c_int::from(flags) & NEEDED == NEEDED)
}

fn ask(socket: &OwnedFd, device: &str, question: libc::Ioctl) -> io::Result<libc::ifreq> {
    // SAFETY: all-zero is a valid ifreq.
    let mut request = unsafe { std::mem::zeroed::<libc::ifreq>() };
    if device.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *place = byte as libc::c_char;
    }
    // SAFETY: the question is one that reads the name of an ifreq and writes its union.
    match unsafe { libc::ioctl(socket.as_raw_fd(), question, &raw mut request) } {
        done if done < 0 => Err(io::Error::last_os_error()),
        _ => Ok(request),
    }
}
