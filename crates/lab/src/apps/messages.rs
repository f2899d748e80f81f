//! Messages of drawn sizes at drawn times, each on a connection of its own: the short and the long flows of a
//! data centre.

use super::{Call, draw};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use trunkline_core::host::{ConnectionId, Event, Host};
use trunkline_core::rng::Rng;
use trunkline_core::tcp::config::Config;
use trunkline_core::tcp::{self, Data};
use trunkline_core::time::{Duration, Instant};
use trunkline_plan::model;

/// One message on its way.
struct Message {
    bytes: u64,
    written: u64,
    received: u64,
    began_at: Instant,
    is_over: bool,
}

/// Totals of connections that are gone.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Totals {
    pub(crate) timeouts: u64,
    pub(crate) retransmitted: u64,
    pub(crate) data_segments: u64,
}

impl Totals {
    /// Adds what a connection has counted.
    pub(crate) fn add(&mut self, host: &Host, id: ConnectionId) {
        if let Some(connection) = host.connection(id) {
            let stats = connection.stats();
            self.timeouts += stats.timeouts;
            self.retransmitted += stats.retransmissions;
            self.data_segments += stats.data_segments_sent;
        }
    }
}

/// A stream of messages from several hosts to one.
pub(crate) struct Messages {
    plan: model::Messages,
    senders: Vec<usize>,
    receiver: usize,
    config: Config,
    remote: SocketAddr,
    warmup_until: Instant,
    rng: Rng,
    next_at: Instant,
    messages: BTreeMap<u32, Message>,
    begun: u32,
    of_sender: BTreeMap<(usize, ConnectionId), u32>,
    of_receiver: BTreeMap<ConnectionId, u32>,
    /// Which message comes from an address: the receiver hears of it by that.
    of_address: BTreeMap<SocketAddr, u32>,
    gone: Totals,
    /// How long each took that began after the warm-up.
    pub(crate) trips: Vec<Duration>,
    /// Bytes received after the warm-up.
    pub(crate) received: u64,
    pub(crate) broken: u64,
}

impl Messages {
    /// Messages from `senders` to `remote` on `receiver`; `times` are the start and the warm-up.
    pub(crate) fn new(
        plan: model::Messages,
        senders: Vec<usize>,
        receiver: usize,
        config: Config,
        remote: SocketAddr,
        times: [Duration; 2],
        rng: Rng,
    ) -> Messages {
        Messages {
            plan,
            senders,
            receiver,
            config,
            remote,
            next_at: Instant::ZERO + times[0],
            warmup_until: Instant::ZERO + times[1],
            rng,
            messages: BTreeMap::new(),
            begun: 0,
            of_sender: BTreeMap::new(),
            of_receiver: BTreeMap::new(),
            of_address: BTreeMap::new(),
            gone: Totals::default(),
            trips: Vec::new(),
            received: 0,
            broken: 0,
        }
    }

    pub(crate) fn hosts(&self) -> &[usize] {
        &self.senders
    }

    /// Messages that have not arrived whole.
    pub(crate) fn unfinished(&self) -> usize {
        self.messages.values().filter(|message| !message.is_over).count()
    }

    /// What all connections have counted.
    pub(crate) fn totals(&self, hosts: &[Host]) -> Totals {
        let mut totals = self.gone;
        for (host, id) in self.of_sender.keys() {
            totals.add(&hosts[*host], *id);
        }
        for id in self.of_receiver.keys() {
            totals.add(&hosts[self.receiver], *id);
        }
        totals
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        Some(self.next_at)
    }

    pub(crate) fn handle_timeout(&mut self, call: &mut Call<'_>) {
        if self.next_at > call.now {
            return;
        }
        self.next_at = call.now + draw::exponential(&mut self.rng, self.plan.interval);
        let host = self.senders[self.rng.below(self.senders.len() as u64) as usize];
        let bytes = self.size();
        let opened = call.hosts[host].connect(call.now, call.cx, self.config.clone(), self.remote);
        let Ok(id) = opened else {
            self.broken += 1;
            return;
        };
        let number = self.begun;
        self.begun += 1;
        if let Some(connection) = call.hosts[host].connection(id) {
            self.of_address.insert(connection.tuple().local, number);
        }
        self.of_sender.insert((host, id), number);
        let message =
            Message { bytes, written: 0, received: 0, began_at: call.now, is_over: false };
        self.messages.insert(number, message);
    }

    /// The size of a message: its logarithm is drawn evenly.
    fn size(&mut self) -> u64 {
        let [low, high] = self.plan.bytes;
        let [from, to] = [libm::log(low as f64), libm::log(high as f64)];
        (libm::exp(from + (to - from) * draw::share(&mut self.rng)) as u64).clamp(low, high)
    }

    pub(crate) fn handle_event(&mut self, call: &mut Call<'_>, host: usize, event: &Event) -> bool {
        match event {
            Event::Accepted(id) if host == self.receiver => self.accepted(call, *id),
            Event::Tcp(id, event) => {
                if let Some(&number) = self.of_sender.get(&(host, *id)) {
                    self.handle_sender(call, host, *id, number, event);
                    return true;
                }
                let number = self.of_receiver.get(id).copied();
                let number = number.filter(|_| host == self.receiver);
                if let Some(number) = number {
                    self.handle_receiver(call, *id, number, event);
                }
                number.is_some()
            }
            _ => false,
        }
    }

    fn accepted(&mut self, call: &Call<'_>, id: ConnectionId) -> bool {
        let tuple = call.hosts[self.receiver].connection(id).map(|c| c.tuple());
        let tuple = tuple.filter(|tuple| tuple.local.port() == self.remote.port());
        let number = tuple.and_then(|tuple| self.of_address.remove(&tuple.remote));
        if let Some(number) = number {
            self.of_receiver.insert(id, number);
        }
        number.is_some()
    }

    fn handle_sender(
        &mut self,
        call: &mut Call<'_>,
        host: usize,
        id: ConnectionId,
        number: u32,
        event: &tcp::Event,
    ) {
        match event {
            tcp::Event::Connected | tcp::Event::Writable => self.write(call, host, id, number),
            tcp::Event::Reset | tcp::Event::TimedOut => {
                if let Some(message) = self.messages.get_mut(&number).filter(|m| !m.is_over) {
                    message.is_over = true;
                    self.broken += 1;
                }
                self.gone.add(&call.hosts[host], id);
                self.of_sender.remove(&(host, id));
                call.hosts[host].forget(call.cx, id);
                self.clear(number);
            }
            // The last acknowledgment leaves after this; the connection goes when its time is over.
            tcp::Event::Closed => {
                self.gone.add(&call.hosts[host], id);
                self.of_sender.remove(&(host, id));
                self.clear(number);
            }
            _ => {}
        }
    }

    fn write(&mut self, call: &mut Call<'_>, host: usize, id: ConnectionId, number: u32) {
        let Some(message) = self.messages.get_mut(&number) else { return };
        if message.written == message.bytes {
            return;
        }
        let left = Data::Elided((message.bytes - message.written) as usize);
        message.written += call.hosts[host].write(call.now, call.cx, id, left) as u64;
        if message.written == message.bytes {
            call.hosts[host].close(call.now, call.cx, id);
        }
    }

    fn handle_receiver(
        &mut self,
        call: &mut Call<'_>,
        id: ConnectionId,
        number: u32,
        event: &tcp::Event,
    ) {
        match event {
            tcp::Event::Readable => self.read(call, id, number),
            tcp::Event::PeerClosed => {
                self.read(call, id, number);
                call.hosts[self.receiver].close(call.now, call.cx, id);
            }
            tcp::Event::Closed | tcp::Event::Reset | tcp::Event::TimedOut => {
                self.gone.add(&call.hosts[self.receiver], id);
                self.of_receiver.remove(&id);
                call.hosts[self.receiver].forget(call.cx, id);
                self.clear(number);
            }
            _ => {}
        }
    }

    fn read(&mut self, call: &mut Call<'_>, id: ConnectionId, number: u32) {
        let host = &mut call.hosts[self.receiver];
        let read = host.read(call.now, call.cx, id, usize::MAX, |_| ()) as u64;
        if call.now >= self.warmup_until {
            self.received += read;
        }
        let Some(message) = self.messages.get_mut(&number) else { return };
        message.received += read;
        if message.received == message.bytes && !message.is_over {
            message.is_over = true;
            if message.began_at >= self.warmup_until {
                self.trips.push(call.now - message.began_at);
            }
        }
    }

    /// Forgets a message both of whose ends are gone.
    fn clear(&mut self, number: u32) {
        let is_known =
            self.of_sender.values().chain(self.of_receiver.values()).any(|n| *n == number);
        if !is_known && self.messages.get(&number).is_some_and(|message| message.is_over) {
            self.messages.remove(&number);
        }
    }
}
