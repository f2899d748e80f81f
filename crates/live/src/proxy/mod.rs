//! A proxy: every connection that the kernel accepts at one address is carried over our TCP to another.
//!
//! Our TCP is a [`TunHost`], a machine of its own behind a TUN device; the kernel routes between that device
//! and the server, which may be this machine. One thread waits for everything. There is a limit on
//! connections: those beyond wait in the kernel's queue until one has ended.

mod reach;
mod splice;

pub use splice::Ending;

use crate::apply::no_privilege;
use crate::clock;
use crate::error::Error;
use crate::host::{Neighbourhood, TunHost};
use crate::sys::epoll::Interest;
use crate::sys::privilege;
use crate::sys::signal::{Signal, Signals};
use splice::{PIECE_BYTES, Splice};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use trunkline_core::cc;
use trunkline_core::host::{ConnectionId, Event};
use trunkline_core::rng::Rng;
use trunkline_core::tcp::{Config, Snapshot, State, Stats};
use trunkline_core::time::{Duration, Instant};

/// Connections at a time, those in TIME-WAIT not counted; each has a descriptor and at most the buffers of its
/// configuration.
pub const CONNECTIONS_MAX: usize = 512;

/// The tokens of what is not a connection; those count from 2.
const SIGNALS: u64 = 0;
const LISTENER: u64 = 1;

/// What a proxy is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProxySetup {
    /// Where connections are accepted.
    pub listen: SocketAddr,
    /// Where they are carried.
    pub to: SocketAddr,
    /// The TUN device and the addresses on it.
    pub network: Neighbourhood,
    /// Our TCP's configuration.
    pub config: Config,
}

/// What was counted over the life of a proxy.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Connections accepted.
    pub accepted: u64,
    /// Those that have ended, by how.
    pub ended: BTreeMap<Ending, u64>,
    /// Payload bytes the server has acknowledged, of connections that have ended.
    pub bytes_to_server: u64,
    /// Payload bytes the server has sent, of connections that have ended.
    pub bytes_to_client: u64,
}

/// A connection that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Carried {
    /// The kernel's peer.
    pub client: SocketAddr,
    /// How it ended.
    pub ending: Ending,
    /// From accepting it until then.
    pub took: Duration,
    /// What our TCP counted, if it opened a connection.
    pub tcp: Option<(Stats, Snapshot, cc::State)>,
}

/// A proxy that is ready to run. Its device is gone when it is dropped.
pub struct Proxy {
    setup: ProxySetup,
    host: TunHost,
    listener: TcpListener,
    signals: Signals,
    splices: BTreeMap<u64, Splice>,
    by_connection: BTreeMap<ConnectionId, u64>,
    /// Connections in TIME-WAIT, in the order they came there.
    over: VecDeque<ConnectionId>,
    /// The token of the next connection.
    next: u64,
    /// Whether somebody may be waiting to be accepted.
    may_accept: bool,
    piece: Box<[u8]>,
    counters: Counters,
    /// What the user should know about the way to the server.
    remarks: Vec<String>,
}

impl Proxy {
    /// Makes the device and listens.
    ///
    /// # Errors
    /// [`Error::Privilege`] without `CAP_NET_ADMIN`, or for a port that needs `CAP_NET_BIND_SERVICE`;
    /// [`Error::Environment`] when an address or the device is in use.
    pub fn new(setup: ProxySetup) -> Result<Proxy, Error> {
        if !privilege::can_change_network() {
            return Err(Error::Privilege(no_privilege("proxy …")));
        }
        let broken = |error| Error::while_doing("proxy", &error);
        let listener = listen(setup.listen)?;
        // Initial sequence numbers: an observer of other connections of ours must not guess them.
        let rng = Rng::new(seed());
        let host = TunHost::create(&setup.network, rng)?;
        let remarks = reach::open_the_way(&setup)?;
        let signals = Signals::new().map_err(broken)?;
        host.watch(&signals, SIGNALS, Interest::Read).map_err(broken)?;
        host.watch(&listener, LISTENER, Interest::Edges).map_err(broken)?;
        Ok(Proxy {
            setup,
            host,
            listener,
            signals,
            splices: BTreeMap::new(),
            by_connection: BTreeMap::new(),
            over: VecDeque::new(),
            next: LISTENER + 1,
            may_accept: false,
            piece: vec![0; PIECE_BYTES].into(),
            counters: Counters::default(),
            remarks,
        })
    }

    /// Where it listens; the port is known also where the setup left it to the kernel.
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.local_addr().unwrap_or(self.setup.listen)
    }

    /// What the user should know about the way to the server, such as a kernel that does not forward.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Carries connections until a signal ends it, and tells of each that has ended. Those that are
    /// open then are reset on both sides.
    ///
    /// # Errors
    /// The device is broken or gone.
    pub fn run(mut self, hear: &mut dyn FnMut(&Carried)) -> io::Result<Counters> {
        let mut ready = Vec::new();
        let mut touched = BTreeSet::new();
        loop {
            let now = self.host.step(&mut ready)?;
            for token in ready.drain(..) {
                match token {
                    SIGNALS if self.is_told_to_end()? => return Ok(self.end(hear)),
                    SIGNALS => {}
                    LISTENER => self.may_accept = true,
                    token => {
                        if let Some(splice) = self.splices.get_mut(&token) {
                            splice.handle_ready();
                            touched.insert(token);
                        }
                    }
                }
            }
            self.forget_over();
            // What is done may have something to tell again, and the next step would wait.
            loop {
                self.accept(now, hear);
                self.handle_events(&mut touched);
                if touched.is_empty() {
                    break;
                }
                while let Some(token) = touched.pop_first() {
                    self.serve(now, token, hear);
                }
            }
        }
    }

    fn is_told_to_end(&self) -> io::Result<bool> {
        while let Some(signal) = self.signals.read()? {
            if signal == Signal::End {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn handle_events(&mut self, touched: &mut BTreeSet<u64>) {
        while let Some(event) = self.host.host.poll_event() {
            let Event::Tcp(id, event) = event else {
                continue;
            };
            let token = self.by_connection.get(&id).copied();
            let splice = token.and_then(|token| self.splices.get_mut(&token));
            if let (Some(token), Some(splice)) = (token, splice) {
                splice.handle_event(event);
                touched.insert(token);
            }
        }
    }

    /// Accepts who waits, as long as there is room. Without descriptors the next one that is closed is
    /// waited for.
    fn accept(&mut self, now: Instant, hear: &mut dyn FnMut(&Carried)) {
        while self.may_accept && self.splices.len() < CONNECTIONS_MAX {
            match self.listener.accept() {
                Ok((socket, client)) => self.open_connection(now, socket, client, hear),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => self.may_accept = false,
                    // Who waited has gone again (accept(2)).
                    ErrorKind::ConnectionAborted | ErrorKind::Interrupted => {}
                    _ => return,
                },
            }
        }
    }

    fn open_connection(
        &mut self,
        now: Instant,
        socket: TcpStream,
        client: SocketAddr,
        hear: &mut dyn FnMut(&Carried),
    ) {
        self.counters.accepted += 1;
        let (config, token) = (self.setup.config.clone(), self.next);
        self.next += 1;
        let prepared = socket
            .set_nonblocking(true)
            .and_then(|()| socket.set_nodelay(true))
            .and_then(|()| self.host.watch(&socket, token, Interest::Edges));
        let opened = match prepared {
            Ok(()) => self.host.host.connect(now, &mut self.host.cx, config, self.setup.to).ok(),
            Err(_) => None,
        };
        let Some(connection) = opened else {
            let _gone = crate::sys::tcp::reset(socket);
            let ending = Ending::NotOpened;
            let carried = Carried { client, ending, took: Duration::ZERO, tcp: None };
            return self.tell(&carried, hear);
        };
        self.by_connection.insert(connection, token);
        self.splices.insert(token, Splice::new(socket, client, connection, now));
    }

    fn serve(&mut self, now: Instant, token: u64, hear: &mut dyn FnMut(&Carried)) {
        let Some(splice) = self.splices.get_mut(&token) else {
            return;
        };
        splice.serve(now, &mut self.host, &mut self.piece);
        let (id, Some(ending)) = (splice.connection, splice.ending) else {
            return;
        };
        let connection = self.host.host.connection(id);
        let carried = Carried {
            client: splice.client,
            ending,
            took: now - splice.opened_at,
            tcp: connection.map(|c| (*c.stats(), c.snapshot(), c.cc_state())),
        };
        self.tell(&carried, hear);
        self.splices.remove(&token);
        self.by_connection.remove(&id);
        match self.is_in_time_wait(id) {
            true => self.over.push_back(id),
            false => self.host.host.forget(&mut self.host.cx, id),
        }
    }

    /// Forgets connections behind TIME-WAIT, in which our TCP still answers a server that repeats its FIN. It is
    /// as long for all of them, so the first are over first.
    fn forget_over(&mut self) {
        while let Some(id) = self.over.front().copied().filter(|id| !self.is_in_time_wait(*id)) {
            self.host.host.forget(&mut self.host.cx, id);
            self.over.pop_front();
        }
    }

    fn is_in_time_wait(&self, id: ConnectionId) -> bool {
        self.host.host.connection(id).is_some_and(|c| c.state() == State::TimeWait)
    }

    fn tell(&mut self, carried: &Carried, hear: &mut dyn FnMut(&Carried)) {
        *self.counters.ended.entry(carried.ending).or_default() += 1;
        if let Some((stats, ..)) = &carried.tcp {
            self.counters.bytes_to_server += stats.bytes_acked;
            self.counters.bytes_to_client += stats.bytes_received;
        }
        hear(carried);
    }

    /// Resets what is open, both ways.
    fn end(mut self, hear: &mut dyn FnMut(&Carried)) -> Counters {
        let now = clock::now();
        let tokens: Vec<u64> = self.splices.keys().copied().collect();
        for token in tokens {
            if let Some(splice) = self.splices.get_mut(&token) {
                splice.ending = Some(Ending::GivenUp);
            }
            self.serve(now, token, hear);
            self.host.flush();
        }
        self.counters
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, Error> {
    let refused = |error: &io::Error| match error.kind() {
        ErrorKind::PermissionDenied => Error::Privilege(format!(
            "CAP_NET_BIND_SERVICE is missing, it is needed to listen at {address}"
        )),
        _ => Error::while_doing(format!("listening at {address}"), error),
    };
    let listener = TcpListener::bind(address).map_err(|error| refused(&error))?;
    listener.set_nonblocking(true).map_err(|error| refused(&error))?;
    Ok(listener)
}

/// Differs from run to run and cannot be seen from outside: the standard library keeps such numbers
/// against attacks on its hash tables.
fn seed() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(clock::now().as_nanos());
    hasher.finish()
}
