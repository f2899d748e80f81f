//! System calls on the sockets of a world; errors are the numbers of errno(3).

use crate::settings::algorithm;
use crate::shared::Shared;
use crate::tcp_info::tcp_info;
use crate::world::{Fresh, Socket, Stream, World};
use std::collections::VecDeque;
use std::ffi::{c_int, c_short};
use std::net::{IpAddr, SocketAddr};
use trunkline_core::host::ConnectionId;
use trunkline_core::tcp::{Chunk, Connection, State};
use trunkline_core::time::Duration;

pub type Answer<T> = Result<T, c_int>;

/// Whether a call may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Patience {
    Waits,
    No,
}

fn patience(is_blocking: bool, flags: c_int) -> Patience {
    match is_blocking && flags & libc::MSG_DONTWAIT == 0 {
        true => Patience::Waits,
        false => Patience::No,
    }
}

/// What a call that may not wait gets for an answer instead.
fn or_again<T>(answer: Option<Answer<T>>, patience: Patience, instead: c_int) -> Option<Answer<T>> {
    match (answer, patience) {
        (None, Patience::No) => Some(Err(instead)),
        (answer, _) => answer,
    }
}

fn stream(world: &mut World, fd: c_int) -> Answer<&mut Stream> {
    match world.sockets.get_mut(&fd) {
        Some(Socket::Stream(stream)) => Ok(stream),
        Some(_) => Err(libc::ENOTCONN),
        None => Err(libc::EBADF),
    }
}

fn fresh(world: &mut World, fd: c_int) -> Answer<&mut Fresh> {
    match world.sockets.get_mut(&fd) {
        Some(Socket::Fresh(fresh)) => Ok(fresh),
        Some(_) => Err(libc::EINVAL),
        None => Err(libc::EBADF),
    }
}

fn connection(world: &World, id: ConnectionId) -> Option<&Connection> {
    world.host.connection(id)
}

pub fn socket(shared: &Shared, domain: c_int, kind: c_int) -> Answer<c_int> {
    if ![libc::AF_INET, libc::AF_INET6].contains(&domain) {
        return Err(libc::EAFNOSUPPORT);
    }
    if kind & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) != libc::SOCK_STREAM {
        return Err(libc::EPROTONOSUPPORT);
    }
    Ok(shared.act(|world| {
        let is_blocking = kind & libc::SOCK_NONBLOCK == 0;
        let config = world.settings.config.clone();
        world.open(Socket::Fresh(Fresh { config, port: 0, is_blocking }))
    }))
}

pub fn bind(shared: &Shared, fd: c_int, address: SocketAddr) -> Answer<()> {
    shared.act(|world| {
        let any: [IpAddr; 2] = [[0; 4].into(), [0; 16].into()];
        if address.ip() != world.settings.local && !any.contains(&address.ip()) {
            return Err(libc::EADDRNOTAVAIL);
        }
        fresh(world, fd)?.port = address.port();
        Ok(())
    })
}

pub fn listen(shared: &Shared, fd: c_int) -> Answer<()> {
    shared.act(|world| {
        let Fresh { config, port, .. } = fresh(world, fd)?.clone();
        world.host.listen(port, config);
        world.sockets.insert(fd, Socket::Listener { port, waiting: VecDeque::new() });
        Ok(())
    })
}

pub fn accept(shared: &Shared, fd: c_int) -> Answer<(c_int, SocketAddr)> {
    shared.block(|world| {
        let id = match world.sockets.get_mut(&fd) {
            Some(Socket::Listener { waiting, .. }) => waiting.pop_front()?,
            Some(_) => return Some(Err(libc::EINVAL)),
            None => return Some(Err(libc::EBADF)),
        };
        let remote = connection(world, id)?.tuple().remote;
        let accepted = world.take_offered(id, true);
        Some(Ok((world.open(Socket::Stream(accepted)), remote)))
    })
}

pub fn connect(shared: &Shared, fd: c_int, to: SocketAddr) -> Answer<()> {
    let waits = shared.act(|world| {
        if let Ok(stream) = stream(world, fd) {
            return Err(if stream.is_connected { libc::EISCONN } else { libc::EALREADY });
        }
        let Fresh { config, is_blocking, .. } = fresh(world, fd)?.clone();
        let opened = world.host.connect(world.now, &mut world.cx, config, to);
        let id = opened.map_err(|_| libc::ENETUNREACH)?;
        world.sockets.insert(fd, Socket::Stream(Stream::new(id, is_blocking)));
        Ok(is_blocking)
    })?;
    let patience = patience(waits, 0);
    shared.block(|world| {
        let answer = match stream(world, fd) {
            Err(error) => Some(Err(error)),
            Ok(stream) if stream.is_connected => Some(Ok(())),
            Ok(stream) => stream.error.take().map(Err),
        };
        or_again(answer, patience, libc::EINPROGRESS)
    })
}

pub fn receive(shared: &Shared, fd: c_int, max: usize, flags: c_int) -> Answer<Vec<u8>> {
    shared.block(|world| {
        let (id, is_blocking, peer_closed) = match stream(world, fd) {
            Ok(stream) => (stream.id, stream.is_blocking, stream.peer_closed),
            Err(error) => return Some(Err(error)),
        };
        let mut bytes = Vec::new();
        let World { now, host, cx, .. } = world;
        host.read(*now, cx, id, max, |chunk| match chunk {
            Chunk::Bytes(part) => bytes.extend_from_slice(part),
            Chunk::Elided(zeros) => bytes.resize(bytes.len() + zeros, 0),
        });
        if !bytes.is_empty() || peer_closed {
            return Some(Ok(bytes));
        }
        let error = stream(world, fd).ok().and_then(|stream| stream.error.take()).map(Err);
        or_again(error, patience(is_blocking, flags), libc::EAGAIN)
    })
}

pub fn send(shared: &Shared, fd: c_int, bytes: &[u8], flags: c_int) -> Answer<usize> {
    let mut handed_over = 0;
    shared.block(|world| {
        let World { now, host, cx, sockets, .. } = world;
        let stream = match sockets.get_mut(&fd) {
            Some(Socket::Stream(stream)) => stream,
            Some(_) => return Some(Err(libc::EPIPE)),
            None => return Some(Err(libc::EBADF)),
        };
        if let Some(error) = stream.error.take() {
            return Some(Err(error));
        }
        if handed_over == bytes.len() && handed_over > 0 {
            // The rest left by itself as there was room.
            return stream.unsent.is_empty().then_some(Ok(bytes.len()));
        }
        let state = host.connection(stream.id).map(Connection::state);
        if !matches!(state, Some(State::Established | State::CloseWait)) {
            return Some(Err(libc::EPIPE));
        }
        let data = trunkline_core::tcp::Data::Bytes(bytes);
        let taken = host.write(*now, cx, stream.id, data);
        match patience(stream.is_blocking, flags) {
            _ if taken == bytes.len() => Some(Ok(taken)),
            Patience::No if taken > 0 => Some(Ok(taken)),
            Patience::No => Some(Err(libc::EAGAIN)),
            Patience::Waits => {
                stream.unsent = bytes[taken..].iter().copied().collect();
                handed_over = bytes.len();
                None
            }
        }
    })
}

pub fn close(shared: &Shared, fd: c_int) -> Answer<()> {
    shared.act(|world| {
        let World { now, host, cx, sockets, .. } = world;
        match sockets.remove(&fd).ok_or(libc::EBADF)? {
            Socket::Fresh(_) => {}
            Socket::Listener { port, waiting } => {
                host.stop_listening(port);
                waiting.into_iter().for_each(|id| host.abort(*now, cx, id));
            }
            Socket::Stream(stream) => {
                let unread = host.connection(stream.id).map_or(0, Connection::readable);
                // RFC 2525, 2.17: what was not read is lost, and the peer should know.
                match unread {
                    0 => host.close(*now, cx, stream.id),
                    _ => host.abort(*now, cx, stream.id),
                }
            }
        }
        Ok(())
    })
}

pub fn shutdown(shared: &Shared, fd: c_int, how: c_int) -> Answer<()> {
    shared.act(|world| {
        let id = stream(world, fd)?.id;
        if how != libc::SHUT_RD {
            world.host.close(world.now, &mut world.cx, id);
        }
        Ok(())
    })
}

/// What of `wanted` is so now, and what is always told (poll(2)).
fn ready(world: &mut World, fd: c_int, wanted: c_short) -> c_short {
    let always = libc::POLLERR | libc::POLLHUP | libc::POLLNVAL;
    let is = match world.sockets.get(&fd) {
        None => libc::POLLNVAL,
        Some(Socket::Fresh(_)) => libc::POLLOUT | libc::POLLHUP,
        Some(Socket::Listener { waiting, .. }) if waiting.is_empty() => 0,
        Some(Socket::Listener { .. }) => libc::POLLIN,
        Some(Socket::Stream(stream)) => {
            let open = connection(world, stream.id);
            let readable = open.map_or(0, Connection::readable) > 0 || stream.peer_closed;
            let writable = stream.is_connected && open.map_or(0, Connection::send_space) > 0;
            let broken = stream.error.is_some();
            let when = |is_so: bool, bits: c_short| if is_so { bits } else { 0 };
            when(readable || broken, libc::POLLIN)
                | when(writable || broken, libc::POLLOUT)
                | when(stream.peer_closed, libc::POLLRDHUP)
                | when(broken, libc::POLLERR | libc::POLLHUP)
        }
    };
    is & (wanted | always)
}

pub fn poll(shared: &Shared, fds: &mut [libc::pollfd], timeout_ms: c_int) -> Answer<c_int> {
    let mut until = None;
    Ok(shared.block(|world| {
        let span = Duration::from_millis(timeout_ms.max(0) as u64);
        let until = *until.get_or_insert(world.now + span);
        for fd in &mut *fds {
            fd.revents = ready(world, fd.fd, fd.events);
        }
        let count = fds.iter().filter(|fd| fd.revents != 0).count() as c_int;
        let is_late = timeout_ms >= 0 && world.now >= until;
        (count > 0 || is_late).then_some(count)
    }))
}

/// An option's value, as bytes.
pub fn option(shared: &Shared, fd: c_int, level: c_int, name: c_int) -> Answer<Vec<u8>> {
    let int = |value: c_int| Ok(value.to_ne_bytes().to_vec());
    shared.act(|world| {
        let config = match world.sockets.get(&fd).ok_or(libc::EBADF)? {
            Socket::Fresh(fresh) => fresh.config.clone(),
            Socket::Listener { .. } => world.settings.config.clone(),
            Socket::Stream(stream) => {
                let open = connection(world, stream.id).ok_or(libc::ENOTCONN)?;
                match (level, name) {
                    (libc::IPPROTO_TCP, libc::TCP_INFO) => return Ok(tcp_info(open)),
                    (libc::IPPROTO_TCP, libc::TCP_MAXSEG) => {
                        return int(open.snapshot().mss as c_int);
                    }
                    _ => open.config().clone(),
                }
            }
        };
        match (level, name) {
            (libc::SOL_SOCKET, libc::SO_ERROR) => {
                int(stream(world, fd).ok().and_then(|stream| stream.error.take()).unwrap_or(0))
            }
            (libc::SOL_SOCKET, libc::SO_RCVBUF) => int(config.receive_buffer as c_int),
            (libc::SOL_SOCKET, libc::SO_SNDBUF) => int(config.send_buffer as c_int),
            (libc::IPPROTO_TCP, libc::TCP_NODELAY) => int(c_int::from(!config.nagle)),
            (libc::IPPROTO_TCP, libc::TCP_CONGESTION) => {
                Ok([config.algorithm.name().as_bytes(), &[0]].concat())
            }
            _ => Err(libc::ENOPROTOOPT),
        }
    })
}

/// Sets an option. What has no meaning here, such as `SO_REUSEADDR`, is taken and does nothing.
pub fn set_option(
    shared: &Shared,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: &[u8],
) -> Answer<()> {
    let int = value.first_chunk().map(|bytes| c_int::from_ne_bytes(*bytes));
    shared.act(|world| {
        let Fresh { config, .. } = match world.sockets.get_mut(&fd).ok_or(libc::EBADF)? {
            Socket::Fresh(fresh) => fresh,
            // What was decided with the handshake stays; the rest scripts set for kernels only.
            Socket::Listener { .. } | Socket::Stream(_) => return Ok(()),
        };
        match (level, name) {
            (libc::SOL_SOCKET, libc::SO_RCVBUF) => {
                config.receive_buffer = int.filter(|n| *n > 0).ok_or(libc::EINVAL)? as u32;
            }
            (libc::SOL_SOCKET, libc::SO_SNDBUF) => {
                config.send_buffer = int.filter(|n| *n > 0).ok_or(libc::EINVAL)? as u32;
            }
            (libc::IPPROTO_TCP, libc::TCP_NODELAY) => {
                config.nagle = int.ok_or(libc::EINVAL)? == 0;
            }
            (libc::IPPROTO_TCP, libc::TCP_MAXSEG) => {
                let mss = int.and_then(|n| u16::try_from(n).ok()).filter(|n| *n >= 88);
                config.mss = Some(mss.ok_or(libc::EINVAL)?);
            }
            (libc::IPPROTO_TCP, libc::TCP_CONGESTION) => {
                let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
                let named = std::str::from_utf8(text).ok().and_then(algorithm);
                config.algorithm = named.ok_or(libc::ENOENT)?;
            }
            _ => {}
        }
        Ok(())
    })
}

pub fn fcntl(shared: &Shared, fd: c_int, command: c_int, argument: c_int) -> Answer<c_int> {
    shared.act(|world| {
        let mut always = true;
        let is_blocking = match world.sockets.get_mut(&fd).ok_or(libc::EBADF)? {
            Socket::Fresh(fresh) => &mut fresh.is_blocking,
            Socket::Stream(stream) => &mut stream.is_blocking,
            Socket::Listener { .. } => &mut always,
        };
        match command {
            libc::F_GETFL if *is_blocking => Ok(libc::O_RDWR),
            libc::F_GETFL => Ok(libc::O_RDWR | libc::O_NONBLOCK),
            libc::F_SETFL => {
                *is_blocking = argument & libc::O_NONBLOCK == 0;
                Ok(0)
            }
            _ => Err(libc::EINVAL),
        }
    })
}

/// How much waits to be read or was sent and not acknowledged (tcp(7)).
pub fn ioctl(shared: &Shared, fd: c_int, request: u64) -> Answer<c_int> {
    shared.act(|world| {
        let id = stream(world, fd)?.id;
        let open = connection(world, id).ok_or(libc::ENOTCONN)?;
        match request {
            libc::FIONREAD => Ok(open.readable() as c_int),
            libc::TIOCOUTQ => Ok(open.queued() as c_int),
            _ => Err(libc::EINVAL),
        }
    })
}
