//! The table of functions packetdrill calls, and each of them as C calls it.
//!
//! Every function gets the world as its first argument, answers -1 and sets `errno` when it fails, and takes its
//! pointers as the system call of its name does. The two that C declares with an open list of arguments are taken
//! with three: how they are passed is the same on every platform this builds for (x86-64 and AArch64 Linux).

use crate::calls::{self, Answer};
use crate::shared::Shared;
use libc::{iovec, msghdr, pollfd, size_t, sockaddr, socklen_t, ssize_t};
use std::ffi::{c_int, c_long, c_longlong, c_ulong, c_void};
use std::mem::size_of;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::slice;
use trunkline_core::time::{Duration, Instant};

type World = *mut c_void;
type Address = *const sockaddr;

/// The table, in packetdrill's order.
#[repr(C)]
#[allow(missing_docs, reason = "each is the system call of its name")]
pub struct Interface {
    pub userdata: World,
    pub free: unsafe extern "C" fn(World),
    pub socket: unsafe extern "C" fn(World, c_int, c_int, c_int) -> c_int,
    pub bind: unsafe extern "C" fn(World, c_int, Address, socklen_t) -> c_int,
    pub listen: unsafe extern "C" fn(World, c_int, c_int) -> c_int,
    pub accept: unsafe extern "C" fn(World, c_int, *mut sockaddr, *mut socklen_t) -> c_int,
    pub connect: unsafe extern "C" fn(World, c_int, Address, socklen_t) -> c_int,
    pub read: unsafe extern "C" fn(World, c_int, *mut c_void, size_t) -> ssize_t,
    pub readv: unsafe extern "C" fn(World, c_int, *const iovec, c_int) -> ssize_t,
    pub recv: unsafe extern "C" fn(World, c_int, *mut c_void, size_t, c_int) -> ssize_t,
    pub recvfrom: unsafe extern "C" fn(
        World,
        c_int,
        *mut c_void,
        size_t,
        c_int,
        *mut sockaddr,
        *mut socklen_t,
    ) -> ssize_t,
    pub recvmsg: unsafe extern "C" fn(World, c_int, *mut msghdr, c_int) -> ssize_t,
    pub write: unsafe extern "C" fn(World, c_int, *const c_void, size_t) -> ssize_t,
    pub writev: unsafe extern "C" fn(World, c_int, *const iovec, c_int) -> ssize_t,
    pub send: unsafe extern "C" fn(World, c_int, *const c_void, size_t, c_int) -> ssize_t,
    pub sendto: unsafe extern "C" fn(
        World,
        c_int,
        *const c_void,
        size_t,
        c_int,
        Address,
        socklen_t,
    ) -> ssize_t,
    pub sendmsg: unsafe extern "C" fn(World, c_int, *const msghdr, c_int) -> ssize_t,
    pub fcntl: unsafe extern "C" fn(World, c_int, c_int, c_long) -> c_int,
    pub ioctl: unsafe extern "C" fn(World, c_int, c_ulong, *mut c_int) -> c_int,
    pub close: unsafe extern "C" fn(World, c_int) -> c_int,
    pub shutdown: unsafe extern "C" fn(World, c_int, c_int) -> c_int,
    pub getsockopt:
        unsafe extern "C" fn(World, c_int, c_int, c_int, *mut c_void, *mut socklen_t) -> c_int,
    pub setsockopt:
        unsafe extern "C" fn(World, c_int, c_int, c_int, *const c_void, socklen_t) -> c_int,
    pub poll: unsafe extern "C" fn(World, *mut pollfd, libc::nfds_t, c_int) -> c_int,
    pub netdev_send: unsafe extern "C" fn(World, *const c_void, size_t) -> c_int,
    pub netdev_receive:
        unsafe extern "C" fn(World, *mut c_void, *mut size_t, *mut c_longlong) -> c_int,
    pub usleep: unsafe extern "C" fn(World, libc::useconds_t) -> c_int,
    pub gettimeofday: unsafe extern "C" fn(World, *mut libc::timeval, *mut c_void) -> c_int,
    pub epoll_create: unsafe extern "C" fn(World, c_int) -> c_int,
    pub epoll_ctl: unsafe extern "C" fn(World, c_int, c_int, c_int, *mut c_void) -> c_int,
    pub epoll_wait: unsafe extern "C" fn(World, c_int, *mut c_void, c_int, c_int) -> c_int,
    pub pipe: unsafe extern "C" fn(World, *mut c_int) -> c_int,
    pub splice: unsafe extern "C" fn(
        World,
        c_int,
        *mut i64,
        c_int,
        *mut i64,
        size_t,
        libc::c_uint,
    ) -> ssize_t,
}

impl Interface {
    /// The table for a world that lives as long as the process.
    pub(crate) fn of(shared: &'static Shared) -> Interface {
        Interface {
            userdata: std::ptr::from_ref(shared).cast_mut().cast(),
            free,
            socket,
            bind,
            listen,
            accept,
            connect,
            read,
            readv,
            recv,
            recvfrom,
            recvmsg,
            write,
            writev,
            send,
            sendto,
            sendmsg,
            fcntl,
            ioctl,
            close,
            shutdown,
            getsockopt,
            setsockopt,
            poll,
            netdev_send,
            netdev_receive,
            usleep,
            gettimeofday,
            epoll_create,
            epoll_ctl,
            epoll_wait,
            pipe,
            splice,
        }
    }
}

/// # Safety
/// `world` is the `userdata` of a table made by [`Interface::of`].
unsafe fn world(world: World) -> &'static Shared {
    // SAFETY: by the contract it came from a `&'static Shared`.
    unsafe { &*world.cast_const().cast() }
}

fn fail(number: c_int) -> c_int {
    // SAFETY: the C library's own place for the calling thread.
    unsafe { *libc::__errno_location() = number };
    -1
}

fn number(answer: Answer<c_int>) -> c_int {
    answer.unwrap_or_else(fail)
}

fn nothing(answer: Answer<()>) -> c_int {
    number(answer.map(|()| 0))
}

fn length(answer: Answer<usize>) -> ssize_t {
    answer.map_or_else(|error| fail(error) as ssize_t, |len| len as ssize_t)
}

/// # Safety
/// `address` is null or points to `len` bytes of a socket address.
unsafe fn address_of(address: Address, len: socklen_t) -> Answer<SocketAddr> {
    let has_room = |bytes: usize| (len as usize) >= bytes;
    if address.is_null() || !has_room(size_of::<libc::sockaddr_in>()) {
        return Err(libc::EINVAL);
    }
    // SAFETY: longer than that by the check above; the caller's may not be aligned.
    let v4 = unsafe { address.cast::<libc::sockaddr_in>().read_unaligned() };
    match c_int::from(v4.sin_family) {
        libc::AF_INET => {
            let ip = Ipv4Addr::from_bits(u32::from_be(v4.sin_addr.s_addr));
            Ok(SocketAddr::new(ip.into(), u16::from_be(v4.sin_port)))
        }
        libc::AF_INET6 if has_room(size_of::<libc::sockaddr_in6>()) => {
            // SAFETY: long enough by the check above.
            let v6 = unsafe { address.cast::<libc::sockaddr_in6>().read_unaligned() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            Ok(SocketAddr::new(ip.into(), u16::from_be(v6.sin6_port)))
        }
        _ => Err(libc::EAFNOSUPPORT),
    }
}

/// # Safety
/// `to` is null or has room for as much as `len` says, as for accept(2).
unsafe fn tell_address(from: SocketAddr, to: *mut sockaddr, len: *mut socklen_t) {
    if to.is_null() || len.is_null() {
        return;
    }
    // SAFETY: all zeros is a valid address of either kind.
    let (mut v4, mut v6): (libc::sockaddr_in, libc::sockaddr_in6) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    let (bytes, size): (*const u8, usize) = match from {
        SocketAddr::V4(from) => {
            v4.sin_family = libc::AF_INET as libc::sa_family_t;
            v4.sin_port = from.port().to_be();
            v4.sin_addr.s_addr = from.ip().to_bits().to_be();
            ((&raw const v4).cast(), size_of::<libc::sockaddr_in>())
        }
        SocketAddr::V6(from) => {
            v6.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            v6.sin6_port = from.port().to_be();
            v6.sin6_addr.s6_addr = from.ip().octets();
            ((&raw const v6).cast(), size_of::<libc::sockaddr_in6>())
        }
    };
    // SAFETY: as much as the caller has room for, and no more than there is.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes, to.cast(), size.min(*len as usize));
        *len = size as socklen_t;
    }
}

/// # Safety
/// `parts` points to `count` parts, each with room for its length.
unsafe fn receive_into(
    shared: &Shared,
    fd: c_int,
    parts: *const iovec,
    count: usize,
    flags: c_int,
) -> ssize_t {
    let parts = match count {
        0 => &[],
        // SAFETY: by the contract.
        _ => unsafe { slice::from_raw_parts(parts, count) },
    };
    let room = parts.iter().map(|part| part.iov_len).sum();
    let received = match calls::receive(shared, fd, room, flags) {
        Ok(received) => received,
        Err(error) => return fail(error) as ssize_t,
    };
    let mut rest = &received[..];
    for part in parts {
        let (first, other) = rest.split_at(part.iov_len.min(rest.len()));
        // SAFETY: the part has room for its length by the contract.
        unsafe { std::ptr::copy_nonoverlapping(first.as_ptr(), part.iov_base.cast(), first.len()) };
        rest = other;
    }
    received.len() as ssize_t
}

/// # Safety
/// `parts` points to `count` parts of the lengths they say.
unsafe fn send_from(
    shared: &Shared,
    fd: c_int,
    parts: *const iovec,
    count: usize,
    flags: c_int,
) -> ssize_t {
    let mut bytes = Vec::new();
    for at in 0..count {
        // SAFETY: by the contract; an empty part may have no place.
        unsafe {
            let part = &*parts.add(at);
            if part.iov_len > 0 {
                bytes.extend_from_slice(slice::from_raw_parts(
                    part.iov_base.cast::<u8>(),
                    part.iov_len,
                ));
            }
        }
    }
    length(calls::send(shared, fd, &bytes, flags))
}

fn one(bytes: *const c_void, len: size_t) -> iovec {
    iovec { iov_base: bytes.cast_mut(), iov_len: len }
}

unsafe extern "C" fn free(_: World) {}

unsafe extern "C" fn socket(w: World, domain: c_int, kind: c_int, _: c_int) -> c_int {
    // SAFETY: packetdrill hands back the userdata it was given; so in every function below.
    number(calls::socket(unsafe { world(w) }, domain, kind))
}

unsafe extern "C" fn bind(w: World, fd: c_int, at: Address, len: socklen_t) -> c_int {
    // SAFETY: the caller's pointer, as for bind(2).
    nothing(unsafe { address_of(at, len).and_then(|at| calls::bind(world(w), fd, at)) })
}

unsafe extern "C" fn listen(w: World, fd: c_int, _: c_int) -> c_int {
    // SAFETY: as in `socket`.
    nothing(calls::listen(unsafe { world(w) }, fd))
}

unsafe extern "C" fn accept(w: World, fd: c_int, at: *mut sockaddr, len: *mut socklen_t) -> c_int {
    // SAFETY: as in `socket`.
    let accepted = calls::accept(unsafe { world(w) }, fd);
    number(accepted.map(|(fd, peer)| {
        // SAFETY: the caller's pointers, as for accept(2).
        unsafe { tell_address(peer, at, len) };
        fd
    }))
}

unsafe extern "C" fn connect(w: World, fd: c_int, to: Address, len: socklen_t) -> c_int {
    // SAFETY: the caller's pointer, as for connect(2).
    nothing(unsafe { address_of(to, len).and_then(|to| calls::connect(world(w), fd, to)) })
}

unsafe extern "C" fn read(w: World, fd: c_int, to: *mut c_void, len: size_t) -> ssize_t {
    // SAFETY: the caller's pointer, as for read(2).
    unsafe { receive_into(world(w), fd, &one(to, len), 1, 0) }
}

unsafe extern "C" fn readv(w: World, fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the caller's pointer, as for readv(2).
    unsafe { receive_into(world(w), fd, parts, count.max(0) as usize, 0) }
}

unsafe extern "C" fn recv(
    w: World,
    fd: c_int,
    to: *mut c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller's pointer, as for recv(2).
    unsafe { receive_into(world(w), fd, &one(to, len), 1, flags) }
}

unsafe extern "C" fn recvfrom(
    w: World,
    fd: c_int,
    to: *mut c_void,
    len: size_t,
    flags: c_int,
    _: *mut sockaddr,
    _: *mut socklen_t,
) -> ssize_t {
    // SAFETY: the caller's pointer, as for recvfrom(2); on a connection it tells no address.
    unsafe { receive_into(world(w), fd, &one(to, len), 1, flags) }
}

unsafe extern "C" fn recvmsg(w: World, fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the caller's pointer, as for recvmsg(2).
    unsafe { receive_into(world(w), fd, (*message).msg_iov, (*message).msg_iovlen, flags) }
}

unsafe extern "C" fn write(w: World, fd: c_int, from: *const c_void, len: size_t) -> ssize_t {
    // SAFETY: the caller's pointer, as for write(2).
    unsafe { send_from(world(w), fd, &one(from, len), 1, 0) }
}

unsafe extern "C" fn writev(w: World, fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the caller's pointer, as for writev(2).
    unsafe { send_from(world(w), fd, parts, count.max(0) as usize, 0) }
}

unsafe extern "C" fn send(
    w: World,
    fd: c_int,
    from: *const c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller's pointer, as for send(2).
    unsafe { send_from(world(w), fd, &one(from, len), 1, flags) }
}

unsafe extern "C" fn sendto(
    w: World,
    fd: c_int,
    from: *const c_void,
    len: size_t,
    flags: c_int,
    _: Address,
    _: socklen_t,
) -> ssize_t {
    // SAFETY: the caller's pointer, as for sendto(2); on a connection the address says nothing.
    unsafe { send_from(world(w), fd, &one(from, len), 1, flags) }
}

unsafe extern "C" fn sendmsg(w: World, fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the caller's pointer, as for sendmsg(2).
    unsafe { send_from(world(w), fd, (*message).msg_iov, (*message).msg_iovlen, flags) }
}

unsafe extern "C" fn fcntl(w: World, fd: c_int, command: c_int, argument: c_long) -> c_int {
    // SAFETY: as in `socket`.
    number(calls::fcntl(unsafe { world(w) }, fd, command, argument as c_int))
}

unsafe extern "C" fn ioctl(w: World, fd: c_int, request: c_ulong, to: *mut c_int) -> c_int {
    // SAFETY: as in `socket`.
    nothing(calls::ioctl(unsafe { world(w) }, fd, request).map(|count| {
        // SAFETY: the caller's pointer to an int, as for the requests that are known (tcp(7)).
        unsafe { to.write(count) };
    }))
}

unsafe extern "C" fn close(w: World, fd: c_int) -> c_int {
    // SAFETY: as in `socket`.
    nothing(calls::close(unsafe { world(w) }, fd))
}

unsafe extern "C" fn shutdown(w: World, fd: c_int, how: c_int) -> c_int {
    // SAFETY: as in `socket`.
    nothing(calls::shutdown(unsafe { world(w) }, fd, how))
}

unsafe extern "C" fn getsockopt(
    w: World,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    // SAFETY: the caller's pointers, as for getsockopt(2).
    unsafe { option_of(world(w), fd, level, name, value, len) }
}

/// # Safety
/// As for getsockopt(2).
pub(crate) unsafe fn option_of(
    shared: &Shared,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    nothing(calls::option(shared, fd, level, name).map(|bytes| {
        // SAFETY: as much as the caller has room for, and no more than there is.
        unsafe {
            let room = bytes.len().min(*len as usize);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), value.cast(), room);
            *len = room as socklen_t;
        }
    }))
}

unsafe extern "C" fn setsockopt(
    w: World,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    let bytes = match value.is_null() {
        true => &[],
        // SAFETY: the caller's pointer, as for setsockopt(2).
        false => unsafe { slice::from_raw_parts(value.cast::<u8>(), len as usize) },
    };
    // SAFETY: as in `socket`.
    nothing(calls::set_option(unsafe { world(w) }, fd, level, name, bytes))
}

unsafe extern "C" fn poll(w: World, fds: *mut pollfd, count: libc::nfds_t, ms: c_int) -> c_int {
    let fds = match count {
        0 => &mut [],
        // SAFETY: the caller's pointer, as for poll(2).
        _ => unsafe { slice::from_raw_parts_mut(fds, count as usize) },
    };
    // SAFETY: as in `socket`.
    number(calls::poll(unsafe { world(w) }, fds, ms))
}

unsafe extern "C" fn netdev_send(w: World, packet: *const c_void, len: size_t) -> c_int {
    // SAFETY: a packet of this length, and the world as in `socket`.
    unsafe {
        let packet = slice::from_raw_parts(packet.cast::<u8>(), len);
        world(w).drive(|world| world.arrive(packet));
    }
    0
}

unsafe extern "C" fn netdev_receive(
    w: World,
    packet: *mut c_void,
    len: *mut size_t,
    at: *mut c_longlong,
) -> c_int {
    // SAFETY: as in `socket`.
    let Some((departed_at, bytes)) = (unsafe { world(w) }).next_departed() else {
        return fail(libc::EAGAIN);
    };
    // SAFETY: `len` says how much room there is, `at` takes a number.
    unsafe {
        *len = bytes.len().min(*len);
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), packet.cast(), *len);
        at.write(micros(departed_at) as c_longlong);
    }
    0
}

fn micros(at: Instant) -> u64 {
    (at - Instant::ZERO).as_micros()
}

unsafe extern "C" fn usleep(w: World, span: libc::useconds_t) -> c_int {
    let span = Duration::from_micros(u64::from(span));
    // SAFETY: as in `socket`.
    unsafe { world(w) }.drive(|world| world.pass_until(world.now + span));
    0
}

unsafe extern "C" fn gettimeofday(w: World, to: *mut libc::timeval, _: *mut c_void) -> c_int {
    // SAFETY: as in `socket`.
    let now = micros(unsafe { world(w) }.ask_time());
    let time = libc::timeval {
        tv_sec: (now / 1_000_000) as libc::time_t,
        tv_usec: (now % 1_000_000) as libc::suseconds_t,
    };
    // SAFETY: the caller's pointer, as for gettimeofday(2).
    unsafe { to.write(time) };
    0
}

unsafe extern "C" fn epoll_create(_: World, _: c_int) -> c_int {
    fail(libc::ENOSYS)
}

unsafe extern "C" fn epoll_ctl(_: World, _: c_int, _: c_int, _: c_int, _: *mut c_void) -> c_int {
    fail(libc::ENOSYS)
}

unsafe extern "C" fn epoll_wait(_: World, _: c_int, _: *mut c_void, _: c_int, _: c_int) -> c_int {
    fail(libc::ENOSYS)
}

unsafe extern "C" fn pipe(_: World, _: *mut c_int) -> c_int {
    fail(libc::ENOSYS)
}

unsafe extern "C" fn splice(
    _: World,
    _: c_int,
    _: *mut i64,
    _: c_int,
    _: *mut i64,
    _: size_t,
    _: libc::c_uint,
) -> ssize_t {
    fail(libc::ENOSYS) as ssize_t
}
