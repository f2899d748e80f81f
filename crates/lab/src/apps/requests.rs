//! One asks, many answer: partition and aggregate, with a barrier or each at its own pace.

use super::Call;
use std::net::SocketAddr;
use trunkline_core::host::{ConnectionId, Event};
use trunkline_core::tcp::config::Config;
use trunkline_core::tcp::{self, Data};
use trunkline_core::time::{Duration, Instant};
use trunkline_plan::model;

/// No server.
const NONE: u32 = u32::MAX;

/// One that answers.
pub(crate) struct Server {
    host: usize,
    remote: SocketAddr,
    start: Instant,
    is_open: bool,
    /// The connection at the client, and at the server.
    pub(crate) ours: Option<ConnectionId>,
    pub(crate) theirs: Option<ConnectionId>,
    /// Request bytes received that are no whole request yet, and answer bytes not written yet.
    asked_bytes: u64,
    to_write: u64,
    /// Answer bytes received that are no whole answer yet.
    answer_bytes: u64,
    answers: u32,
    asked_at: Instant,
    /// When it is asked again, where there is no barrier.
    next_at: Option<Instant>,
    /// Bytes received after the warm-up.
    pub(crate) received: u64,
}

/// Many that answer one.
pub(crate) struct Requests {
    plan: model::Requests,
    client: usize,
    config: Config,
    warmup_until: Instant,
    hosts: Vec<usize>,
    pub(crate) servers: Vec<Server>,
    of_host: Vec<u32>,
    of_connection: Vec<u32>,
    connected: usize,
    /// The round with a barrier.
    outstanding: usize,
    rounds: u32,
    began_at: Instant,
    next_round_at: Option<Instant>,
    next_at: Option<Instant>,
    /// How long each round, or each answer without a barrier, has taken that began after the warm-up.
    pub(crate) trips: Vec<Duration>,
    pub(crate) last_byte_at: Option<Instant>,
    pub(crate) broken: Option<&'static str>,
}

impl Requests {
    /// The host `client` asks servers: their hosts, addresses and when each connection is opened.
    pub(crate) fn new(
        plan: model::Requests,
        client: usize,
        config: Config,
        servers: &[(usize, SocketAddr, Instant)],
        warmup: Duration,
    ) -> Requests {
        let mut of_host = vec![NONE; servers.iter().map(|(host, ..)| host + 1).max().unwrap_or(0)];
        for (index, (host, ..)) in servers.iter().enumerate() {
            of_host[*host] = index as u32;
        }
        let server = |(host, remote, start): &(usize, SocketAddr, Instant)| Server {
            host: *host,
            remote: *remote,
            start: *start,
            is_open: false,
            ours: None,
            theirs: None,
            asked_bytes: 0,
            to_write: 0,
            answer_bytes: 0,
            answers: 0,
            asked_at: Instant::ZERO,
            next_at: None,
            received: 0,
        };
        let servers: Vec<Server> = servers.iter().map(server).collect();
        let mut requests = Requests {
            plan,
            client,
            config,
            warmup_until: Instant::ZERO + warmup,
            hosts: vec![client],
            of_host,
            of_connection: Vec::new(),
            connected: 0,
            outstanding: 0,
            rounds: 0,
            began_at: Instant::ZERO,
            next_round_at: None,
            next_at: None,
            trips: Vec::new(),
            last_byte_at: None,
            broken: None,
            servers,
        };
        requests.rearm();
        requests
    }

    /// Only the client does anything by itself.
    pub(crate) fn hosts(&self) -> &[usize] {
        &self.hosts
    }

    /// The hosts and connections of all ends: client and server in turn.
    pub(crate) fn ends(&self) -> impl Iterator<Item = (usize, Option<ConnectionId>)> {
        let both = |s: &Server| [(self.client, s.ours), (s.host, s.theirs)];
        self.servers.iter().flat_map(both)
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.plan.count.is_some()
    }

    pub(crate) fn is_done(&self) -> bool {
        let count = self.plan.count.unwrap_or(u32::MAX);
        let is_complete = match self.plan.barrier {
            true => self.rounds >= count,
            false => self.servers.iter().all(|server| server.answers >= count),
        };
        self.broken.is_some() || is_complete
    }

    pub(crate) fn share_done(&self) -> Option<f64> {
        let count = f64::from(self.plan.count?);
        let least = self.servers.iter().map(|server| server.answers).min().unwrap_or(0);
        Some(f64::from(least) / count)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.next_at
    }

    fn rearm(&mut self) {
        let opens = self.servers.iter().filter(|server| !server.is_open).map(|server| server.start);
        let asks = self.servers.iter().filter_map(|server| server.next_at);
        self.next_at = opens.chain(asks).chain(self.next_round_at).min();
    }

    pub(crate) fn handle_timeout(&mut self, call: &mut Call<'_>) {
        for index in 0..self.servers.len() {
            let server = &mut self.servers[index];
            if !server.is_open && server.start <= call.now {
                server.is_open = true;
                let host = &mut call.hosts[self.client];
                match host.connect(call.now, call.cx, self.config.clone(), server.remote) {
                    Ok(id) => self.opened(index, id),
                    Err(_) => self.broken = Some("no route"),
                }
            } else if server.next_at.is_some_and(|at| at <= call.now) {
                self.ask(call, index);
            }
        }
        if self.next_round_at.is_some_and(|at| at <= call.now) {
            self.begin_round(call);
        }
        self.rearm();
    }

    fn opened(&mut self, index: usize, id: ConnectionId) {
        self.servers[index].ours = Some(id);
        if self.of_connection.len() <= id.index() {
            self.of_connection.resize(id.index() + 1, NONE);
        }
        self.of_connection[id.index()] = index as u32;
    }

    pub(crate) fn handle_event(&mut self, call: &mut Call<'_>, host: usize, event: &Event) -> bool {
        let (id, at_client) = match event {
            Event::Accepted(id) | Event::Tcp(id, _) => (*id, host == self.client),
            Event::EchoReply(_) | Event::Datagram(_) => return false,
        };
        let known = match at_client {
            true => self.of_connection.get(id.index()),
            false => self.of_host.get(host),
        };
        let Some(index) = known.copied().filter(|index| *index != NONE) else {
            return false;
        };
        let index = index as usize;
        match event {
            Event::Accepted(_) if !at_client => return self.accepted(call, index, id),
            Event::Tcp(_, event) if at_client => self.handle_client(call, index, event),
            Event::Tcp(_, event) if self.servers[index].theirs == Some(id) => {
                self.handle_server(call, index, event);
            }
            _ => return false,
        }
        true
    }

    fn accepted(&mut self, call: &Call<'_>, index: usize, id: ConnectionId) -> bool {
        let server = &mut self.servers[index];
        let tuple = call.hosts[server.host].connection(id).map(|connection| connection.tuple());
        let is_ours = tuple.is_some_and(|tuple| tuple.local == server.remote);
        if is_ours {
            server.theirs = Some(id);
        }
        is_ours
    }

    fn handle_client(&mut self, call: &mut Call<'_>, index: usize, event: &tcp::Event) {
        match event {
            tcp::Event::Connected => {
                self.connected += 1;
                match self.plan.barrier {
                    false => self.ask(call, index),
                    true if self.connected == self.servers.len() => self.begin_round(call),
                    true => {}
                }
            }
            tcp::Event::Readable => self.read(call, index),
            tcp::Event::Reset | tcp::Event::TimedOut => {
                self.broken = Some("the client lost a connection");
            }
            _ => {}
        }
    }

    fn handle_server(&mut self, call: &mut Call<'_>, index: usize, event: &tcp::Event) {
        let server = &mut self.servers[index];
        let Some(id) = server.theirs else { return };
        match event {
            tcp::Event::Readable => {
                let host = &mut call.hosts[server.host];
                let read = host.read(call.now, call.cx, id, usize::MAX, |_| ());
                server.asked_bytes += read as u64;
                let request = u64::from(self.plan.request);
                server.to_write += server.asked_bytes / request * self.plan.response;
                server.asked_bytes %= request;
                server.write(call, id);
            }
            tcp::Event::Writable => server.write(call, id),
            tcp::Event::Reset | tcp::Event::TimedOut => {
                self.broken = Some("a server lost its connection");
            }
            _ => {}
        }
    }

    fn begin_round(&mut self, call: &mut Call<'_>) {
        self.next_round_at = None;
        self.began_at = call.now;
        self.outstanding = self.servers.len();
        for index in 0..self.servers.len() {
            self.ask(call, index);
        }
    }

    fn ask(&mut self, call: &mut Call<'_>, index: usize) {
        let server = &mut self.servers[index];
        server.next_at = None;
        server.asked_at = call.now;
        if let Some(id) = server.ours {
            let request = Data::Elided(self.plan.request as usize);
            call.hosts[self.client].write(call.now, call.cx, id, request);
        }
    }

    fn read(&mut self, call: &mut Call<'_>, index: usize) {
        let server = &mut self.servers[index];
        let Some(id) = server.ours else { return };
        let host = &mut call.hosts[self.client];
        let read = host.read(call.now, call.cx, id, usize::MAX, |_| ()) as u64;
        self.last_byte_at = Some(call.now);
        server.answer_bytes += read;
        if call.now >= self.warmup_until {
            server.received += read;
        }
        if server.answer_bytes >= self.plan.response {
            server.answer_bytes -= self.plan.response;
            server.answers += 1;
            self.answered(call, index);
            self.rearm();
        }
    }

    /// One has answered: on with the next round, or with its next request.
    fn answered(&mut self, call: &mut Call<'_>, index: usize) {
        let count = self.plan.count.unwrap_or(u32::MAX);
        let (began, is_last) = match self.plan.barrier {
            true => {
                self.outstanding -= 1;
                if self.outstanding > 0 {
                    return;
                }
                self.rounds += 1;
                (self.began_at, self.rounds >= count)
            }
            false => (self.servers[index].asked_at, self.servers[index].answers >= count),
        };
        if began >= self.warmup_until {
            self.trips.push(call.now - began);
        }
        if is_last {
            return;
        }
        let next = self.plan.interval.map(|interval| began + interval).filter(|at| *at > call.now);
        match (self.plan.barrier, next) {
            (true, Some(_)) => self.next_round_at = next,
            (true, None) => self.begin_round(call),
            (false, Some(_)) => self.servers[index].next_at = next,
            (false, None) => self.ask(call, index),
        }
    }
}

impl Server {
    fn write(&mut self, call: &mut Call<'_>, id: ConnectionId) {
        if self.to_write > 0 {
            let wanted = Data::Elided(self.to_write as usize);
            let taken = call.hosts[self.host].write(call.now, call.cx, id, wanted);
            self.to_write -= taken as u64;
        }
    }
}
