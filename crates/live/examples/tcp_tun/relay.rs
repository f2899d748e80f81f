//! One connection between a reader and a writer, as `nc` is between its standard input and output: what
//! is read goes to the peer, what the peer sends is written, until both sides have closed.
//!
//! Reading and writing may block, so each has a thread; the host never waits for them. They and the host
//! pass chunks through short queues: a writer that does not keep up closes the receive window, a peer
//! that does not keep up stops the reader.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread;
use trunkline_core::cc;
use trunkline_core::host::{ConnectionId, Event};
use trunkline_core::tcp::{self, Chunk, Config, Connection, Data, State, Stats};
use trunkline_core::time::{Duration, Instant};
use trunkline_live::clock;
use trunkline_live::host::TunHost;
use trunkline_live::sys::epoll::Interest;

const CHUNK_BYTES: usize = 64 << 10;
const CHUNKS: usize = 4;
/// The token of what the threads wake the host with.
const WOKEN: u64 = 0;

/// How the connection comes about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opening {
    /// We open it.
    Connect(SocketAddr),
    /// We take the first that is opened to this port.
    Accept(u16),
}

/// How it went.
#[derive(Clone, Debug)]
pub struct Report {
    /// [`tcp::Event::Closed`] when both sides closed in order, otherwise what ended it.
    pub ended: tcp::Event,
    /// What the connection counted.
    pub stats: Stats,
    /// What its congestion control said last.
    pub cc: Option<cc::State>,
    /// From the handshake to the last byte received or acknowledged.
    pub took: Duration,
}

/// Opens the connection, relays until it has ended, and gives the writer back.
///
/// # Errors
/// No route, a broken device, or what the writer said.
pub fn run<W: Write + Send + 'static>(
    host: &mut TunHost,
    config: Config,
    opening: Opening,
    input: impl Read + Send + 'static,
    output: W,
) -> io::Result<(Report, W)> {
    let (mut woken, waker) = UnixStream::pair()?;
    woken.set_nonblocking(true)?;
    waker.set_nonblocking(true)?;
    host.watch(&woken, WOKEN, Interest::Read)?;
    let (read, to_send) = sync_channel(CHUNKS);
    let (received, to_write) = sync_channel(CHUNKS);
    let reader_waker = waker.try_clone()?;
    thread::spawn(move || read_all(input, read, &reader_waker));
    let writer = thread::spawn(move || write_all(output, &to_write, &waker));
    let mut relay = Relay {
        connection: open(host, config, opening)?,
        input: Some(to_send),
        output: received,
        unsent: (Vec::new(), 0),
        unwritten: None,
        ended: None,
        connected_at: None,
        moved: (0, Instant::ZERO),
    };
    let mut ready = Vec::new();
    let ended = loop {
        let now = host.step(&mut ready)?;
        if !ready.is_empty() {
            ready.clear();
            while woken.read(&mut [0; 64]).is_ok_and(|len| len > 0) {}
        }
        relay.hear(host, now);
        relay.send(host, now);
        if relay.receive(host, now).is_err() {
            break None;
        }
        relay.note_progress(host, now);
        if let Some(ended) = relay.ended(host) {
            break Some(ended);
        }
    };
    let report = ended.map(|ended| relay.report(host, ended));
    // The writer ends with the queue.
    drop(relay);
    let output = writer.join().map_err(|_| io::Error::other("the writer's thread broke"))??;
    let report = report.ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
    Ok((report, output))
}

fn open(host: &mut TunHost, config: Config, opening: Opening) -> io::Result<Option<ConnectionId>> {
    match opening {
        Opening::Connect(remote) => {
            let opened = host.host.connect(clock::now(), &mut host.cx, config, remote);
            opened.map(Some).map_err(|refused| io::Error::other(format!("{refused:?}")))
        }
        Opening::Accept(port) => {
            host.host.listen(port, config);
            Ok(None)
        }
    }
}

/// Reads to the end, which the host learns from the end of the queue.
fn read_all(mut input: impl Read, queue: SyncSender<Vec<u8>>, waker: &UnixStream) {
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        let len = input.read(&mut chunk).unwrap_or(0);
        chunk.truncate(len);
        if len == 0 || queue.send(chunk).is_err() {
            break;
        }
        wake(waker);
    }
    drop(queue);
    wake(waker);
}

fn write_all<W: Write>(
    mut output: W,
    queue: &Receiver<Vec<u8>>,
    waker: &UnixStream,
) -> io::Result<W> {
    while let Ok(chunk) = queue.recv() {
        wake(waker);
        output.write_all(&chunk)?;
    }
    output.flush()?;
    Ok(output)
}

fn wake(mut waker: &UnixStream) {
    // When it takes no more, the host has enough to wake up for.
    let _full = waker.write(&[0]);
}

struct Relay {
    connection: Option<ConnectionId>,
    /// None once everything has been read and our side is closed.
    input: Option<Receiver<Vec<u8>>>,
    output: SyncSender<Vec<u8>>,
    /// A chunk read, and how much of it the connection has taken.
    unsent: (Vec<u8>, usize),
    /// A chunk the writer had no room for.
    unwritten: Option<Vec<u8>>,
    ended: Option<tcp::Event>,
    connected_at: Option<Instant>,
    /// Bytes acknowledged and received, and when there were last more.
    moved: (u64, Instant),
}

impl Relay {
    fn hear(&mut self, host: &mut TunHost, now: Instant) {
        while let Some(event) = host.host.poll_event() {
            match event {
                Event::Accepted(id) if self.connection.is_none() => {
                    self.connection = Some(id);
                    let port = host.host.connection(id).map(|c| c.tuple().local.port());
                    port.into_iter().for_each(|port| host.host.stop_listening(port));
                }
                Event::Tcp(id, event) if self.connection == Some(id) => match event {
                    tcp::Event::Connected => self.connected_at = Some(now),
                    tcp::Event::Closed | tcp::Event::Reset | tcp::Event::TimedOut => {
                        self.ended = Some(event);
                    }
                    _ => {}
                },
                _ => {}
            }
        }
    }

    /// Not before the handshake: an input that is empty would close what is not open yet.
    fn send(&mut self, host: &mut TunHost, now: Instant) {
        let (Some(id), Some(_), Some(input)) = (self.connection, self.connected_at, &self.input)
        else {
            return;
        };
        while host.host.connection(id).is_some_and(|c| c.send_space() > 0) {
            let (chunk, sent) = &mut self.unsent;
            if *sent == chunk.len() {
                match input.try_recv() {
                    Ok(next) => (*chunk, *sent) = (next, 0),
                    Err(TryRecvError::Empty) => return,
                    Err(TryRecvError::Disconnected) => {
                        host.host.close(now, &mut host.cx, id);
                        self.input = None;
                        return;
                    }
                }
            }
            let taken = host.host.write(now, &mut host.cx, id, Data::Bytes(&chunk[*sent..]));
            *sent += taken;
            if taken == 0 {
                return;
            }
        }
    }

    /// Hands what has arrived to the writer; an error when that is gone.
    fn receive(&mut self, host: &mut TunHost, now: Instant) -> Result<(), ()> {
        let Some(id) = self.connection else {
            return Ok(());
        };
        loop {
            let chunk = self.unwritten.take().unwrap_or_else(|| read(host, now, id));
            if chunk.is_empty() {
                return Ok(());
            }
            match self.output.try_send(chunk) {
                Ok(()) => {}
                Err(TrySendError::Full(chunk)) => {
                    self.unwritten = Some(chunk);
                    return Ok(());
                }
                Err(TrySendError::Disconnected(_)) => return Err(()),
            }
        }
    }

    fn note_progress(&mut self, host: &TunHost, now: Instant) {
        let connection = self.connection.and_then(|id| host.host.connection(id));
        let Some(stats) = connection.map(|c| *c.stats()) else {
            return;
        };
        let moved = stats.bytes_acked + stats.bytes_received;
        if moved > self.moved.0 {
            self.moved = (moved, now);
        }
    }

    /// What ended the connection, once nothing of it is left: the last acknowledgment may have been lost, so
    /// one that closed in order stays until TIME-WAIT is over.
    fn ended(&self, host: &TunHost) -> Option<tcp::Event> {
        let connection = host.host.connection(self.connection?)?;
        let is_over = connection.state() == State::Closed;
        let is_empty = connection.readable() == 0 && self.unwritten.is_none();
        self.ended.filter(|_| is_over && is_empty)
    }

    fn report(&self, host: &TunHost, ended: tcp::Event) -> Report {
        let connection = self.connection.and_then(|id| host.host.connection(id));
        let stats = connection.map(|c| *c.stats()).unwrap_or_default();
        let took = self.connected_at.map_or(Duration::ZERO, |at| self.moved.1 - at);
        Report { ended, stats, cc: connection.map(Connection::cc_state), took }
    }
}

fn read(host: &mut TunHost, now: Instant, id: ConnectionId) -> Vec<u8> {
    let mut chunk = Vec::new();
    host.host.read(now, &mut host.cx, id, CHUNK_BYTES, |part| match part {
        Chunk::Bytes(bytes) => chunk.extend_from_slice(bytes),
        Chunk::Elided(len) => chunk.resize(chunk.len() + len, 0),
    });
    chunk
}
