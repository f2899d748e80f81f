//! One connection carried: a socket of the kernel on the one side, a connection of ours on the other.
//!
//! Bytes move only where they can go: the socket is read while our send buffer takes what came, our
//! connection is read while the socket takes it. What one side did not take waits here, one piece each way,
//! and until it is gone nothing more is read; then the windows of both TCPs close by themselves.

use crate::host::TunHost;
use crate::sys::tcp::reset;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use trunkline_core::host::ConnectionId;
use trunkline_core::tcp::{self, Chunk, Data};
use trunkline_core::time::Instant;

/// The largest piece moved at once, in bytes.
pub(super) const PIECE_BYTES: usize = 64 << 10;

/// How a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ending {
    /// Both sides closed in order.
    Closed,
    /// The server refused it.
    Refused,
    /// The server reset it.
    ResetByServer,
    /// The client reset it.
    ResetByClient,
    /// The server did not answer, at first or any more.
    TimedOut,
    /// There was no port or no route for it.
    NotOpened,
    /// The proxy was told to end.
    GivenUp,
}

impl Ending {
    /// Every way to end.
    pub const ALL: [Ending; 7] = [
        Ending::Closed,
        Ending::Refused,
        Ending::ResetByServer,
        Ending::ResetByClient,
        Ending::TimedOut,
        Ending::NotOpened,
        Ending::GivenUp,
    ];

    /// The name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Ending::Closed => "closed",
            Ending::Refused => "refused",
            Ending::ResetByServer => "reset_by_server",
            Ending::ResetByClient => "reset_by_client",
            Ending::TimedOut => "timed_out",
            Ending::NotOpened => "not_opened",
            Ending::GivenUp => "given_up",
        }
    }
}

/// Bytes that one side has given and the other not yet taken.
#[derive(Default, Debug)]
struct Waiting {
    bytes: Vec<u8>,
    gone: usize,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.gone == self.bytes.len()
    }

    fn keep(&mut self, rest: &[u8]) {
        *self = Waiting { bytes: rest.to_vec(), gone: 0 };
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.gone..]
    }

    /// Counts what went, and gives the memory back with the last byte.
    fn take(&mut self, len: usize) {
        self.gone += len;
        if self.is_empty() {
            *self = Waiting::default();
        }
    }
}

/// Whether a direction still carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Direction {
    Open,
    /// Its end has been passed on.
    Ended,
}

/// Why a splice cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ClientReset;

/// One connection carried.
#[derive(Debug)]
pub(super) struct Splice {
    pub client: SocketAddr,
    pub connection: ConnectionId,
    pub opened_at: Instant,
    /// None once both directions have ended towards the client, or it was reset.
    socket: Option<TcpStream>,
    /// How it ended: what is left is TIME-WAIT at most.
    pub ending: Option<Ending>,
    is_connected: bool,
    peer_closed: bool,
    /// Our TCP has closed both ways.
    is_closed: bool,
    /// What the socket said last; wrong at worst in that it blocks.
    is_readable: bool,
    is_writable: bool,
    to_server: Direction,
    to_client: Direction,
    unsent: Waiting,
    unwritten: Waiting,
}

impl Splice {
    pub fn new(
        socket: TcpStream,
        client: SocketAddr,
        connection: ConnectionId,
        now: Instant,
    ) -> Self {
        Splice {
            client,
            connection,
            opened_at: now,
            socket: Some(socket),
            ending: None,
            is_connected: false,
            peer_closed: false,
            is_closed: false,
            is_readable: true,
            is_writable: true,
            to_server: Direction::Open,
            to_client: Direction::Open,
            unsent: Waiting::default(),
            unwritten: Waiting::default(),
        }
    }

    /// The socket can be read or written again, or the client has reset it.
    pub fn handle_ready(&mut self) {
        (self.is_readable, self.is_writable) = (true, true);
        let error = self.socket.as_ref().and_then(|socket| socket.take_error().ok().flatten());
        if error.is_some() {
            self.ending = Some(Ending::ResetByClient);
        }
    }

    /// Something happened on our connection.
    pub fn handle_event(&mut self, event: tcp::Event) {
        let ending = match event {
            tcp::Event::Connected => {
                self.is_connected = true;
                return;
            }
            tcp::Event::PeerClosed => {
                self.peer_closed = true;
                return;
            }
            // What came before the end may still be on its way to the client.
            tcp::Event::Closed => {
                self.is_closed = true;
                return;
            }
            tcp::Event::Writable | tcp::Event::Readable => return,
            tcp::Event::Reset if !self.is_connected => Ending::Refused,
            tcp::Event::Reset => Ending::ResetByServer,
            tcp::Event::TimedOut => Ending::TimedOut,
        };
        self.ending = self.ending.or(Some(ending));
    }

    /// Moves what can be moved, both ways, and passes the ends on. `piece` has [`PIECE_BYTES`].
    pub fn serve(&mut self, now: Instant, host: &mut TunHost, piece: &mut [u8]) {
        if self.ending.is_none() && self.socket.is_some() && self.is_connected {
            let carried = self.carry_to_server(now, host, piece);
            let carried = carried.and_then(|()| self.carry_to_client(now, host, piece));
            if carried.is_err() {
                self.ending = Some(Ending::ResetByClient);
            }
            if (self.to_server, self.to_client) == (Direction::Ended, Direction::Ended) {
                self.socket = None;
            }
        }
        if self.is_closed && self.socket.is_none() {
            self.ending = self.ending.or(Some(Ending::Closed));
        }
        match self.ending {
            None | Some(Ending::Closed) => {}
            Some(Ending::ResetByClient | Ending::GivenUp) => {
                host.host.abort(now, &mut host.cx, self.connection);
                self.reset_client();
            }
            Some(_) => self.reset_client(),
        }
    }

    /// Resets the client's side, if it is not closed.
    fn reset_client(&mut self) {
        if let Some(socket) = self.socket.take() {
            // It is closed in any case; a client that has gone needs no reset.
            let _gone = reset(socket);
        }
    }

    fn carry_to_server(
        &mut self,
        now: Instant,
        host: &mut TunHost,
        piece: &mut [u8],
    ) -> Result<(), ClientReset> {
        let id = self.connection;
        while self.to_server == Direction::Open {
            if !self.unsent.is_empty() {
                let bytes = Data::Bytes(self.unsent.rest());
                let taken = host.host.write(now, &mut host.cx, id, bytes);
                self.unsent.take(taken);
                if !self.unsent.is_empty() {
                    return Ok(());
                }
            }
            let Some(mut socket) = self.socket.as_ref().filter(|_| self.is_readable) else {
                return Ok(());
            };
            match socket.read(piece) {
                Ok(0) => {
                    host.host.close(now, &mut host.cx, id);
                    self.to_server = Direction::Ended;
                }
                Ok(len) => {
                    let read = &piece[..len];
                    let taken = host.host.write(now, &mut host.cx, id, Data::Bytes(read));
                    self.unsent.keep(&read[taken..]);
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => self.is_readable = false,
                    ErrorKind::Interrupted => {}
                    _ => return Err(ClientReset),
                },
            }
        }
        Ok(())
    }

    fn carry_to_client(
        &mut self,
        now: Instant,
        host: &mut TunHost,
        piece: &mut [u8],
    ) -> Result<(), ClientReset> {
        while self.to_client == Direction::Open && self.is_writable {
            let Some(socket) = self.socket.as_ref() else {
                return Ok(());
            };
            if !self.unwritten.is_empty() {
                let written = write(socket, self.unwritten.rest())?;
                self.is_writable = written.is_some();
                self.unwritten.take(written.unwrap_or(0));
                continue;
            }
            let bytes = read(now, host, self.connection, piece);
            if !bytes.is_empty() {
                let written = write(socket, bytes)?;
                self.is_writable = written.is_some();
                self.unwritten.keep(&bytes[written.unwrap_or(0)..]);
                continue;
            }
            if self.peer_closed {
                socket.shutdown(Shutdown::Write).map_err(|_| ClientReset)?;
                self.to_client = Direction::Ended;
            }
            return Ok(());
        }
        Ok(())
    }
}

/// How much the socket took; none when it has no room.
fn write(mut socket: &TcpStream, bytes: &[u8]) -> Result<Option<usize>, ClientReset> {
    match socket.write(bytes) {
        Ok(written) => Ok(Some(written)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Some(0)),
        Err(_) => Err(ClientReset),
    }
}

/// What has arrived in order, as much as `piece` has room for.
fn read<'a>(
    now: Instant,
    host: &mut TunHost,
    connection: ConnectionId,
    piece: &'a mut [u8],
) -> &'a [u8] {
    let mut len = 0;
    host.host.read(now, &mut host.cx, connection, piece.len(), |chunk| match chunk {
        Chunk::Bytes(bytes) => {
            piece[len..len + bytes.len()].copy_from_slice(bytes);
            len += bytes.len();
        }
        Chunk::Elided(zeros) => {
            piece[len..len + zeros].fill(0);
            len += zeros;
        }
    });
    &piece[..len]
}
