//! What the standard library does not offer of the kernel's TCP sockets (tcp(7), socket(7)).

use super::check;
use std::io;
use std::mem::size_of;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// Closes a connection with a reset instead of in order; what was not sent is lost.
///
/// # Errors
/// Only those of a broken descriptor; it is closed all the same.
pub fn reset(stream: TcpStream) -> io::Result<()> {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let len = size_of::<libc::linger>() as libc::socklen_t;
    let (fd, option) = (stream.as_raw_fd(), (&raw const linger).cast());
    // SAFETY: the pointer and the length are those of `linger`, which the kernel copies.
    check(unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, option, len) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    #[test]
    fn the_other_end_sees_a_reset() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        reset(accepted).unwrap();
        let read = client.read(&mut [0; 8]).map_err(|error| error.kind());
        assert_eq!(read, Err(io::ErrorKind::ConnectionReset));
    }
}
