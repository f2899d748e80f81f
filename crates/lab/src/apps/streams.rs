//! Files from many machines to one, or from one: a flow between hosts at switches.

use super::Call;
use super::bulk::Bulk;
use std::net::IpAddr;
use trunkline_core::host::{ConnectionId, Event};
use trunkline_core::time::Instant;

/// No stream.
const NONE: u32 = u32::MAX;

/// Several transfers as one flow.
pub(crate) struct Streams {
    pub(crate) bulks: Vec<Bulk>,
    /// The addresses of the senders, as `bulks`.
    senders: Vec<IpAddr>,
    hosts: Vec<usize>,
    receiver: usize,
    port: u16,
    /// By host: which stream it sends.
    of_host: Vec<u32>,
    /// By connection of the receiver: which stream arrives there.
    of_connection: Vec<u32>,
    next_at: Option<Instant>,
    unfinished: usize,
}

impl Streams {
    /// These transfers, from `senders` on different hosts, to a port of one host.
    pub(crate) fn new(bulks: Vec<Bulk>, senders: Vec<IpAddr>, port: u16) -> Streams {
        let receiver = bulks.first().map_or(0, |bulk| bulk.hosts()[1]);
        let mut hosts: Vec<usize> = bulks.iter().map(|bulk| bulk.hosts()[0]).collect();
        hosts.push(receiver);
        let mut of_host = vec![NONE; hosts.iter().max().map_or(0, |host| host + 1)];
        for (index, bulk) in bulks.iter().enumerate() {
            of_host[bulk.hosts()[0]] = index as u32;
        }
        let next_at = bulks.iter().filter_map(Bulk::poll_timeout).min();
        let unfinished = bulks.len();
        let of_connection = Vec::new();
        Streams {
            bulks,
            senders,
            hosts,
            receiver,
            port,
            of_host,
            of_connection,
            next_at,
            unfinished,
        }
    }

    pub(crate) fn hosts(&self) -> &[usize] {
        &self.hosts
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.bulks.iter().all(Bulk::is_finite)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.unfinished == 0
    }

    /// The share of the slowest; none without an end that is known.
    pub(crate) fn share_done(&self) -> Option<f64> {
        self.bulks
            .iter()
            .map(Bulk::share_done)
            .try_fold(1.0, |least: f64, share| Some(least.min(share?)))
    }

    /// Bytes received so far.
    pub(crate) fn received(&self) -> u64 {
        self.bulks.iter().map(|bulk| bulk.record.received).sum()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.next_at
    }

    pub(crate) fn handle_timeout(&mut self, call: &mut Call<'_>) {
        for bulk in &mut self.bulks {
            if bulk.poll_timeout().is_some_and(|at| at <= call.now) {
                bulk.handle_timeout(call);
            }
        }
        self.next_at = self.bulks.iter().filter_map(Bulk::poll_timeout).min();
        self.count_unfinished();
    }

    pub(crate) fn handle_event(&mut self, call: &mut Call<'_>, host: usize, event: &Event) -> bool {
        let stream = match event {
            Event::Accepted(id) if host == self.receiver => self.accepted(call, host, *id),
            Event::Tcp(id, _) if host == self.receiver => {
                self.of_connection.get(id.index()).copied()
            }
            Event::Tcp(..) => self.of_host.get(host).copied(),
            _ => None,
        };
        let stream = stream.filter(|stream| *stream != NONE).map(|stream| stream as usize);
        let Some(bulk) = stream.and_then(|stream| self.bulks.get_mut(stream)) else {
            return false;
        };
        let was_done = bulk.is_finite() && bulk.is_done();
        let handled = bulk.handle_event(call, host, event);
        if !was_done && bulk.is_finite() && bulk.is_done() {
            self.count_unfinished();
        }
        handled
    }

    /// Which stream a connection of the receiver belongs to, if to one of these.
    fn accepted(&mut self, call: &Call<'_>, host: usize, id: ConnectionId) -> Option<u32> {
        let tuple = call.hosts[host].connection(id)?.tuple();
        if tuple.local.port() != self.port {
            return None;
        }
        let stream = self.senders.iter().position(|ip| *ip == tuple.remote.ip())? as u32;
        if self.of_connection.len() <= id.index() {
            self.of_connection.resize(id.index() + 1, NONE);
        }
        self.of_connection[id.index()] = stream;
        Some(stream)
    }

    fn count_unfinished(&mut self) {
        self.unfinished = self.bulks.iter().filter(|b| !(b.is_finite() && b.is_done())).count();
    }
}
