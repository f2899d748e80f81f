//! The least a tunnel can do: packets of a TUN device into UDP datagrams and back, nothing else. What
//! the program costs more than this is its own doing; `scripts/bench-forwarder.sh` compares.
//!
//! `forwarder single|offload DEVICE LOCAL REMOTE`: `single` moves one packet with each system call.
//! `offload` takes TCP over IPv4 from the TUN in runs (vnet header, virtio 1.2, 5.1.6.1), cuts them into
//! packets with headers and checksums of their own, sends these with one UDP_SEGMENT call, receives them
//! with UDP_GRO and joins them again before one write.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use trunkline_core::wire::checksum::Checksum;

const VNET_BYTES: usize = 10;
const NEEDS_CSUM: u8 = 1;
const GSO_TCPV4: u8 = 1;
const IP_BYTES: usize = 20;
const IP_BYTES_MAX: usize = 65_535;
/// What a UDP datagram over IPv4 carries at most.
const DATAGRAM_BYTES_MAX: usize = IP_BYTES_MAX - 28;
/// Segments the kernel takes in one call (UDP_MAX_SEGMENTS of old kernels).
const SEGMENTS_MAX: usize = 64;
/// System calls on one side before the other gets its turn.
const TURN: usize = 16;
const FIN_PSH: u8 = 0x09;
const PSH: u8 = 0x08;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Single,
    Offload,
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, device, local, remote] = &arguments[..] else {
        return Err(io::Error::other("usage: forwarder single|offload DEVICE LOCAL REMOTE"));
    };
    let mode = match &**mode {
        "single" => Mode::Single,
        "offload" => Mode::Offload,
        _ => return Err(io::Error::other("the mode is single or offload")),
    };
    let udp = UdpSocket::bind(local)?;
    udp.connect(remote)?;
    udp.set_nonblocking(true)?;
    for (level, name, value) in [
        (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 4 << 20),
        (libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, 4 << 20),
        (libc::SOL_UDP, libc::UDP_GRO, libc::c_int::from(mode == Mode::Offload)),
    ] {
        set(&udp, level, name, value)?;
    }
    let tun = open_tun(device, mode)?;
    match mode {
        Mode::Single => run(&tun, &udp, tun_to_udp_single, udp_to_tun_single),
        Mode::Offload => {
            let (mut cut, mut joined) = (Cut::default(), Joined::default());
            run(&tun, &udp, |tun, udp| cut.forward(tun, udp), |udp, tun| joined.forward(udp, tun))
        }
    }
}

/// Moves packets both ways for ever; each direction's function does one unit of work or `WouldBlock`.
fn run(
    tun: &File,
    udp: &UdpSocket,
    mut out: impl FnMut(&File, &UdpSocket) -> io::Result<()>,
    mut back: impl FnMut(&UdpSocket, &File) -> io::Result<()>,
) -> io::Result<()> {
    loop {
        let mut polled = [tun.as_raw_fd(), udp.as_raw_fd()].map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        });
        // SAFETY: `polled` has two entries and outlives the call.
        unsafe { libc::poll(polled.as_mut_ptr(), 2, -1) };
        if polled[0].revents != 0 {
            turn(|| out(tun, udp))?;
        }
        if polled[1].revents != 0 {
            turn(|| back(udp, tun))?;
        }
    }
}

fn turn(mut step: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    for _ in 0..TURN {
        match step() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            other => other?,
        }
    }
    Ok(())
}

/// A send that the other end, the queue or a device that is down refuses is a lost packet, as on a wire.
fn lossy<T>(result: io::Result<T>) -> io::Result<()> {
    const LOST: [i32; 5] =
        [libc::EAGAIN, libc::ECONNREFUSED, libc::ENOBUFS, libc::EINVAL, libc::EIO];
    match result {
        Err(error) if !error.raw_os_error().is_some_and(|code| LOST.contains(&code)) => Err(error),
        _ => Ok(()),
    }
}

fn tun_to_udp_single(tun: &File, udp: &UdpSocket) -> io::Result<()> {
    let mut packet = [0; 2048];
    let mut tun = tun;
    let len = tun.read(&mut packet)?;
    lossy(udp.send(&packet[..len]))
}

fn udp_to_tun_single(udp: &UdpSocket, tun: &File) -> io::Result<()> {
    let mut packet = [0; 2048];
    let mut tun = tun;
    let len = match udp.recv(&mut packet) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(()),
        other => other?,
    };
    lossy(tun.write(&packet[..len]))
}

/// From the TUN: a run of TCP is cut into packets.
struct Cut {
    read: Box<[u8; VNET_BYTES + IP_BYTES_MAX]>,
    packets: Vec<u8>,
}

impl Default for Cut {
    fn default() -> Self {
        let packets = Vec::with_capacity(DATAGRAM_BYTES_MAX);
        Cut { read: Box::new([0; VNET_BYTES + IP_BYTES_MAX]), packets }
    }
}

impl Cut {
    fn forward(&mut self, mut tun: &File, udp: &UdpSocket) -> io::Result<()> {
        let len = tun.read(&mut self.read[..])?;
        let (vnet, packet) = self.read[..len].split_at_mut(VNET_BYTES);
        if vnet[1] != GSO_TCPV4 {
            if vnet[0] & NEEDS_CSUM != 0 {
                complete_checksum(vnet, packet);
            }
            return lossy(udp.send(packet));
        }
        let payload_max = usize::from(u16::from_ne_bytes([vnet[4], vnet[5]]));
        let tcp_bytes = usize::from(packet[IP_BYTES + 12] >> 4) * 4;
        let (header, payload) = packet.split_at(IP_BYTES + tcp_bytes);
        let size = header.len() + payload_max;
        let per_call = SEGMENTS_MAX.min(DATAGRAM_BYTES_MAX / size);
        let last = payload.len().div_ceil(payload_max) - 1;
        self.packets.clear();
        for (index, piece) in payload.chunks(payload_max).enumerate() {
            let at = self.packets.len();
            self.packets.extend_from_slice(header);
            self.packets.extend_from_slice(piece);
            finish_segment(&mut self.packets[at..], index, index * payload_max, index == last);
            if (index + 1) % per_call == 0 || index == last {
                lossy(send_segments(udp, &self.packets, size))?;
                self.packets.clear();
            }
        }
        Ok(())
    }
}

/// What TSO left to the device in a packet that was not a run.
fn complete_checksum(vnet: &[u8], packet: &mut [u8]) {
    let start = usize::from(u16::from_ne_bytes([vnet[6], vnet[7]]));
    let field = start + usize::from(u16::from_ne_bytes([vnet[8], vnet[9]]));
    let mut checksum = Checksum::new();
    checksum.add_bytes(&packet[start..]);
    packet[field..field + 2].copy_from_slice(&checksum.finish().to_be_bytes());
}

/// Gives a packet that was cut from a run its own length, identification, sequence, flags, checksums.
fn finish_segment(packet: &mut [u8], index: usize, offset: usize, is_last: bool) {
    let identification = u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(index as u16);
    packet[4..6].copy_from_slice(&identification.to_be_bytes());
    finish_ip(packet);
    let (ip, tcp) = packet.split_at_mut(IP_BYTES);
    let seq = sequence(tcp).wrapping_add(offset as u32);
    tcp[4..8].copy_from_slice(&seq.to_be_bytes());
    if !is_last {
        tcp[13] &= !FIN_PSH;
    }
    tcp[16..18].fill(0);
    let mut checksum = pseudo_header(ip, tcp.len());
    checksum.add_bytes(tcp);
    tcp[16..18].copy_from_slice(&checksum.finish().to_be_bytes());
}

/// The total length and the header checksum.
fn finish_ip(packet: &mut [u8]) {
    let len = packet.len() as u16;
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    packet[10..12].fill(0);
    let mut checksum = Checksum::new();
    checksum.add_bytes(&packet[..IP_BYTES]);
    packet[10..12].copy_from_slice(&checksum.finish().to_be_bytes());
}

fn pseudo_header(ip: &[u8], len: usize) -> Checksum {
    let address = |at: usize| Ipv4Addr::new(ip[at], ip[at + 1], ip[at + 2], ip[at + 3]);
    Checksum::pseudo_header(address(12), address(16), libc::IPPROTO_TCP as u8, len as u32)
}

fn sequence(tcp: &[u8]) -> u32 {
    u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]])
}

/// From UDP: packets that continue each other become one run.
struct Joined {
    received: Box<[u8; IP_BYTES_MAX]>,
    header: Vec<u8>,
}

impl Default for Joined {
    fn default() -> Self {
        Joined { received: Box::new([0; IP_BYTES_MAX]), header: Vec::with_capacity(256) }
    }
}

impl Joined {
    fn forward(&mut self, udp: &UdpSocket, tun: &File) -> io::Result<()> {
        let (len, size) = match receive_segments(udp, &mut self.received[..]) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(()),
            other => other?,
        };
        let mut rest = &self.received[..len];
        while !rest.is_empty() {
            let run = run_bytes(rest, size);
            let (packets, behind) = rest.split_at(run);
            write_run(&mut self.header, tun, packets, size)?;
            rest = behind;
        }
        Ok(())
    }
}

/// Writes packets of `size` bytes, the last perhaps shorter, as one.
fn write_run(headers: &mut Vec<u8>, tun: &File, packets: &[u8], size: usize) -> io::Result<()> {
    let mut packets = packets.chunks(size);
    let first = packets.next().expect("a run has a packet");
    headers.clear();
    headers.resize(VNET_BYTES, 0);
    let Some(last) = packets.clone().last() else {
        return write_parts(tun, [&headers[..], first].into_iter());
    };
    let header_bytes = header_bytes(first);
    let payload = |packet| -> &[u8] { <[u8]>::split_at(packet, header_bytes).1 };
    headers.extend_from_slice(&first[..header_bytes]);
    let total = packets.clone().map(|packet| payload(packet).len()).sum::<usize>() + first.len();
    let (vnet, header) = headers.split_at_mut(VNET_BYTES);
    vnet[0] = NEEDS_CSUM;
    vnet[1] = GSO_TCPV4;
    vnet[2..4].copy_from_slice(&(header_bytes as u16).to_ne_bytes());
    vnet[4..6].copy_from_slice(&((size - header_bytes) as u16).to_ne_bytes());
    vnet[6..8].copy_from_slice(&(IP_BYTES as u16).to_ne_bytes());
    vnet[8..10].copy_from_slice(&16u16.to_ne_bytes());
    header[2..4].copy_from_slice(&(total as u16).to_be_bytes());
    header[10..12].fill(0);
    let mut checksum = Checksum::new();
    checksum.add_bytes(&header[..IP_BYTES]);
    header[10..12].copy_from_slice(&checksum.finish().to_be_bytes());
    header[IP_BYTES + 13] |= last[IP_BYTES + 13] & FIN_PSH;
    // The device's job is the sum over the bytes; the pseudo-header is ours.
    let partial = !pseudo_header(header, total - IP_BYTES).finish();
    header[IP_BYTES + 16..IP_BYTES + 18].copy_from_slice(&partial.to_be_bytes());
    let parts = [&headers[..], payload(first)].into_iter().chain(packets.map(payload));
    write_parts(tun, parts)
}

/// How many bytes at the start are packets of one TCP run.
fn run_bytes(packets: &[u8], size: usize) -> usize {
    let mut chunks = packets.chunks(size);
    let first = chunks.next().expect("is not empty");
    if !is_data_segment(first) {
        return first.len();
    }
    let header = header_bytes(first);
    let mut end = first.len();
    let mut total = first.len();
    for packet in chunks {
        let expected = sequence(&first[IP_BYTES..]).wrapping_add((total - header) as u32);
        let goes_on = is_data_segment(packet)
            && header_bytes(packet) == header
            && packet.len() > header
            && packet[12..IP_BYTES + 4] == first[12..IP_BYTES + 4]
            && sequence(&packet[IP_BYTES..]) == expected
            && packet[IP_BYTES + 8..IP_BYTES + 12] == first[IP_BYTES + 8..IP_BYTES + 12]
            && packet[IP_BYTES + 20..header] == first[IP_BYTES + 20..header]
            && total + packet.len() - header <= IP_BYTES_MAX;
        if !goes_on {
            break;
        }
        end += packet.len();
        total += packet.len() - header;
        if packet[IP_BYTES + 13] & PSH != 0 {
            break;
        }
    }
    end
}

/// TCP over IPv4 without IP options, with nothing but ACK and PSH set.
fn is_data_segment(packet: &[u8]) -> bool {
    packet.len() > IP_BYTES + 20
        && packet[0] == 0x45
        && packet[9] == libc::IPPROTO_TCP as u8
        && packet[IP_BYTES + 13] & !PSH == 0x10
        && packet.len() >= header_bytes(packet)
}

fn header_bytes(packet: &[u8]) -> usize {
    IP_BYTES + usize::from(packet[IP_BYTES + 12] >> 4) * 4
}

fn write_parts<'a>(tun: &File, parts: impl Iterator<Item = &'a [u8]>) -> io::Result<()> {
    let empty = io::IoSlice::new(&[]);
    let mut slices = [empty; SEGMENTS_MAX * 2 + 2];
    let mut count = 0;
    for part in parts {
        slices[count] = io::IoSlice::new(part);
        count += 1;
    }
    let mut tun = tun;
    lossy(tun.write_vectored(&slices[..count]))
}

fn set(udp: &UdpSocket, level: i32, name: i32, value: libc::c_int) -> io::Result<()> {
    let len = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the pointer and the length describe `value`, which the kernel only reads.
    let done =
        unsafe { libc::setsockopt(udp.as_raw_fd(), level, name, (&raw const value).cast(), len) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn send_segments(udp: &UdpSocket, bytes: &[u8], size: usize) -> io::Result<()> {
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut control = [0u64; 4];
    // SAFETY: an all-zero msghdr is valid; the part borrows `bytes`, which the kernel only reads; the
    // control buffer is aligned and larger than the one message that is written into it.
    let sent = unsafe {
        let mut message = std::mem::zeroed::<libc::msghdr>();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(2) as _;
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_UDP;
        (*header).cmsg_type = libc::UDP_SEGMENT;
        (*header).cmsg_len = libc::CMSG_LEN(2) as _;
        libc::CMSG_DATA(header).cast::<u16>().write_unaligned(size as u16);
        libc::sendmsg(udp.as_raw_fd(), &message, 0)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Receives datagrams of one size in a row: all their bytes, and the size.
fn receive_segments(udp: &UdpSocket, bytes: &mut [u8]) -> io::Result<(usize, usize)> {
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut control = [0u64; 32];
    // SAFETY: an all-zero msghdr is valid; the part borrows `bytes` for the call; the kernel writes whole
    // control messages into the aligned buffer, and the size is read only if its type is there.
    unsafe {
        let mut message = std::mem::zeroed::<libc::msghdr>();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        let got = libc::recvmsg(udp.as_raw_fd(), &mut message, 0);
        if got < 0 {
            return Err(io::Error::last_os_error());
        }
        let got = got as usize;
        let header = libc::CMSG_FIRSTHDR(&message).as_ref();
        let coalesced = header
            .filter(|header| {
                (header.cmsg_level, header.cmsg_type) == (libc::SOL_UDP, libc::UDP_GRO)
            })
            .map(|header| libc::CMSG_DATA(header).cast::<libc::c_int>().read_unaligned() as usize);
        Ok((got, coalesced.unwrap_or(got).max(1)))
    }
}

fn open_tun(device: &str, mode: Mode) -> io::Result<File> {
    let tun = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")?;
    let (vnet, offloads) = match mode {
        Mode::Single => (0, 0),
        Mode::Offload => (libc::IFF_VNET_HDR, libc::TUN_F_CSUM | libc::TUN_F_TSO4),
    };
    // SAFETY: all-zero is a valid ifreq.
    let mut request = unsafe { std::mem::zeroed::<libc::ifreq>() };
    for (place, byte) in request.ifr_name.iter_mut().zip(device.bytes().take(15)) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | vnet) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes an ifreq, TUNSETOFFLOAD takes a number.
    let done = unsafe {
        let fd = tun.as_raw_fd();
        match libc::ioctl(fd, libc::TUNSETIFF, &raw mut request) {
            done if done < 0 => done,
            _ => libc::ioctl(fd, libc::TUNSETOFFLOAD, libc::c_ulong::from(offloads)),
        }
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(tun) }
}
