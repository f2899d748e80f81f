//! Calls of a server by datagrams, as NFS makes them (RFC 1057, RFC 1094): each client has one call under way,
//! asks again with a patience that doubles, and takes the first answer. The server serves one call after the
//! other, also one it has served before: it keeps no state.

use super::Call;
use std::collections::VecDeque;
use std::net::SocketAddrV4;
use trunkline_core::host::Event;
use trunkline_core::rng::Rng;
use trunkline_core::time::{Duration, Instant};
use trunkline_plan::model;

/// No patience is longer than this: `timeo` doubles up to a minute.
const PATIENCE_MAX: Duration = Duration::from_secs(60);
/// Calls that wait at a server; more are lost, as in a socket buffer that is full.
const WAITING_MAX: usize = 64;

struct Client {
    host: usize,
    rng: Rng,
    /// The number of the call under way or next.
    call: u32,
    /// When the call was made first; none while it thinks.
    asked_at: Option<Instant>,
    patience: Duration,
    /// When it makes the next call, or this one again.
    next_at: Option<Instant>,
}

/// A call that the server will have served at `at`.
struct Served {
    at: Instant,
    to: SocketAddrV4,
    id: [u8; 8],
}

/// Clients and their server.
pub(crate) struct Rpc {
    plan: model::Rpc,
    server: usize,
    address: SocketAddrV4,
    clients: Vec<Client>,
    hosts: Vec<usize>,
    served: VecDeque<Served>,
    warmup_until: Instant,
    /// The time from each call to its answer, of those made after the warm-up.
    pub(crate) trips: Vec<Duration>,
    pub(crate) retransmitted: u64,
    /// Calls made after the warm-up, repeated ones not counted.
    pub(crate) calls: u64,
}

impl Rpc {
    /// Every client begins at a time of its own, at most `think` and a call's patience after `start`.
    pub(crate) fn new(
        plan: model::Rpc,
        clients: &[usize],
        (server, address): (usize, SocketAddrV4),
        [start, warmup]: [Duration; 2],
        rng: &Rng,
    ) -> Rpc {
        let client = |host: &usize| {
            let mut rng = rng.fork(&host.to_string());
            let spread = (plan.think + plan.timeout).as_nanos();
            let wait = Duration::from_nanos(rng.between(0, spread));
            Client {
                host: *host,
                rng,
                call: 0,
                asked_at: None,
                patience: plan.timeout,
                next_at: Some(Instant::ZERO + start + wait),
            }
        };
        Rpc {
            plan,
            server,
            address,
            clients: clients.iter().map(client).collect(),
            hosts: clients.iter().copied().chain([server]).collect(),
            served: VecDeque::new(),
            warmup_until: Instant::ZERO + warmup,
            trips: Vec::new(),
            retransmitted: 0,
            calls: 0,
        }
    }

    pub(crate) fn hosts(&self) -> &[usize] {
        &self.hosts
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.plan.count.is_some()
    }

    pub(crate) fn is_done(&self) -> bool {
        !self.is_finite() || self.clients.iter().all(|client| client.next_at.is_none())
    }

    pub(crate) fn share_done(&self) -> Option<f64> {
        let count = f64::from(self.plan.count?) * self.clients.len() as f64;
        Some(self.clients.iter().map(|client| f64::from(client.call)).sum::<f64>() / count)
    }

    /// Calls without an answer yet.
    pub(crate) fn unanswered(&self) -> u64 {
        self.clients.iter().filter(|client| client.asked_at.is_some()).count() as u64
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let clients = self.clients.iter().filter_map(|client| client.next_at);
        clients.chain(self.served.front().map(|served| served.at)).min()
    }

    pub(crate) fn handle_timeout(&mut self, call: &mut Call<'_>) {
        while let Some(served) = self.served.pop_front_if(|served| served.at <= call.now) {
            let elided = self.plan.response - served.id.len() as u32;
            let way = (self.address.port(), served.to);
            let host = &mut call.hosts[self.server];
            // A way back that is gone is as good as a lost answer.
            let _lost = host.send_datagram(call.now, call.cx, way, &served.id, elided);
        }
        for at in 0..self.clients.len() {
            if self.clients[at].next_at.is_some_and(|next| next <= call.now) {
                self.ask(at, call);
            }
        }
    }

    /// A client makes a call, for the first time or once more.
    fn ask(&mut self, at: usize, call: &mut Call<'_>) {
        let client = &mut self.clients[at];
        match client.asked_at {
            Some(asked_at) => {
                self.retransmitted += u64::from(asked_at >= self.warmup_until);
                client.patience = (client.patience + client.patience).min(PATIENCE_MAX);
            }
            None => {
                client.asked_at = Some(call.now);
                client.patience = self.plan.timeout;
                self.calls += u64::from(call.now >= self.warmup_until);
            }
        }
        client.next_at = Some(call.now + client.patience);
        let id = (u64::from(client.call) << 32 | at as u64).to_be_bytes();
        let elided = self.plan.request - id.len() as u32;
        let way = (self.address.port(), self.address);
        let _lost = call.hosts[client.host].send_datagram(call.now, call.cx, way, &id, elided);
    }

    pub(crate) fn handle_event(&mut self, call: &mut Call<'_>, host: usize, event: &Event) -> bool {
        if *event != Event::Datagram(self.address.port()) || !self.hosts.contains(&host) {
            return false;
        }
        loop {
            let mut id = None;
            let sink = |bytes: &[u8], _| id = bytes.first_chunk::<8>().copied();
            let port = self.address.port();
            let Some(got) = call.hosts[host].receive_datagram(call.cx, port, sink) else {
                return true;
            };
            match id {
                Some(id) if host == self.server => self.serve(call.now, got.from, id),
                Some(id) => self.answered(call.now, host, u64::from_be_bytes(id)),
                None => {}
            }
        }
    }

    /// A call has reached the server.
    fn serve(&mut self, now: Instant, to: SocketAddrV4, id: [u8; 8]) {
        if self.served.len() < WAITING_MAX {
            let free = self.served.back().map_or(now, |last| last.at.max(now));
            self.served.push_back(Served { at: free + self.plan.service, to, id });
        }
    }

    /// An answer has come. That to a call which has one is of no use.
    fn answered(&mut self, now: Instant, host: usize, id: u64) {
        let at = (id & 0xffff_ffff) as usize;
        let Some(client) = self.clients.get_mut(at).filter(|client| client.host == host) else {
            return;
        };
        let Some(asked_at) = client.asked_at.filter(|_| id >> 32 == u64::from(client.call)) else {
            return;
        };
        if asked_at >= self.warmup_until {
            self.trips.push(now - asked_at);
        }
        client.call += 1;
        client.asked_at = None;
        let think = self.plan.think.as_nanos();
        let wait = Duration::from_nanos(client.rng.between(think / 2, think + think / 2));
        let is_over = self.plan.count.is_some_and(|count| client.call >= count);
        client.next_at = (!is_over).then(|| now + wait);
    }
}
