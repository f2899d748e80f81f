//! Connections opened in a fixed rhythm and closed again. A SYN is sent once: who gets no answer within
//! the patience has failed.

use super::Call;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use trunkline_core::host::{ConnectionId, Event};
use trunkline_core::tcp;
use trunkline_core::tcp::config::Config;
use trunkline_core::time::{Duration, Instant};
use trunkline_plan::model;

/// A SYN is sent again after so many times the patience: never while it lasts.
const SILENCE: u64 = 4;

#[derive(Clone, Copy, Debug)]
struct Attempt {
    began_at: Instant,
    is_answered: bool,
}

/// A rhythm of connection attempts.
pub(crate) struct Attempts {
    plan: model::Attempts,
    /// The hosts that open, and the one that listens.
    hosts: Vec<usize>,
    listener: usize,
    config: Config,
    remote: SocketAddr,
    warmup_until: Instant,
    next_at: Instant,
    begun: u32,
    /// Attempts that are not over, by host and connection.
    live: BTreeMap<(usize, ConnectionId), Attempt>,
    /// Attempts without an answer yet, in the order they began.
    waiting: std::collections::VecDeque<(Instant, usize, ConnectionId)>,
    /// Of those that began after the warm-up.
    pub(crate) connected: u64,
    pub(crate) failed: u64,
    pub(crate) trips: Vec<Duration>,
}

impl Attempts {
    /// Attempts from `openers`, in turn, to `remote` on `listener`.
    pub(crate) fn new(
        plan: model::Attempts,
        openers: Vec<usize>,
        listener: usize,
        mut config: Config,
        remote: SocketAddr,
        times: [Duration; 2],
    ) -> Attempts {
        config.rto_initial = plan.patience * SILENCE;
        config.rto_max = config.rto_max.max(config.rto_initial);
        Attempts {
            plan,
            hosts: openers,
            listener,
            config,
            remote,
            next_at: Instant::ZERO + times[0],
            warmup_until: Instant::ZERO + times[1],
            begun: 0,
            live: BTreeMap::new(),
            waiting: std::collections::VecDeque::new(),
            connected: 0,
            failed: 0,
            trips: Vec::new(),
        }
    }

    pub(crate) fn hosts(&self) -> &[usize] {
        &self.hosts
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.plan.count.is_some()
    }

    pub(crate) fn is_done(&self) -> bool {
        !self.has_more() && self.waiting.is_empty()
    }

    pub(crate) fn share_done(&self) -> Option<f64> {
        self.plan.count.map(|count| f64::from(self.begun) / f64::from(count.max(1)))
    }

    fn has_more(&self) -> bool {
        self.plan.count.is_none_or(|count| self.begun < count)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let next = self.has_more().then_some(self.next_at);
        let over = self.waiting.front().map(|(began, ..)| *began + self.plan.patience);
        next.into_iter().chain(over).min()
    }

    pub(crate) fn handle_timeout(&mut self, call: &mut Call<'_>) {
        while let Some(&(began_at, host, id)) = self.waiting.front() {
            if began_at + self.plan.patience > call.now {
                break;
            }
            self.waiting.pop_front();
            self.give_up(call, host, id);
        }
        if self.has_more() && self.next_at <= call.now {
            self.begin(call);
        }
    }

    fn begin(&mut self, call: &mut Call<'_>) {
        let host = self.hosts[self.begun as usize % self.hosts.len()];
        self.begun += 1;
        self.next_at = call.now + self.plan.interval;
        let opened = call.hosts[host].connect(call.now, call.cx, self.config.clone(), self.remote);
        match opened {
            Ok(id) => {
                let attempt = Attempt { began_at: call.now, is_answered: false };
                self.live.insert((host, id), attempt);
                self.waiting.push_back((call.now, host, id));
            }
            Err(_) => self.failed += u64::from(call.now >= self.warmup_until),
        }
    }

    /// An attempt that has its answer is over for the rhythm; any other has failed.
    fn give_up(&mut self, call: &mut Call<'_>, host: usize, id: ConnectionId) {
        if let Some(attempt) = self.live.get(&(host, id)).filter(|a| !a.is_answered) {
            self.failed += u64::from(attempt.began_at >= self.warmup_until);
            self.live.remove(&(host, id));
            call.hosts[host].forget(call.cx, id);
        }
    }

    pub(crate) fn handle_event(&mut self, call: &mut Call<'_>, host: usize, event: &Event) -> bool {
        match event {
            Event::Accepted(id) | Event::Tcp(id, _) if host == self.listener => {
                let connection = call.hosts[host].connection(*id);
                let port = connection.map(|c| c.tuple().local.port());
                let is_ours = port == Some(self.remote.port());
                if let (true, Event::Tcp(id, event)) = (is_ours, event) {
                    listened(call, host, *id, event);
                }
                is_ours
            }
            Event::Tcp(id, event) if self.live.contains_key(&(host, *id)) => {
                self.handle_opener(call, host, *id, event);
                true
            }
            _ => false,
        }
    }

    fn handle_opener(
        &mut self,
        call: &mut Call<'_>,
        host: usize,
        id: ConnectionId,
        event: &tcp::Event,
    ) {
        match event {
            tcp::Event::Connected => {
                if let Some(attempt) = self.live.get_mut(&(host, id)) {
                    attempt.is_answered = true;
                    if attempt.began_at >= self.warmup_until {
                        self.connected += 1;
                        self.trips.push(call.now - attempt.began_at);
                    }
                }
                call.hosts[host].close(call.now, call.cx, id);
            }
            tcp::Event::Reset | tcp::Event::TimedOut => {
                self.give_up(call, host, id);
                if self.live.remove(&(host, id)).is_some() {
                    call.hosts[host].forget(call.cx, id);
                }
            }
            // The last acknowledgment leaves after this; the connection goes when its time is over.
            tcp::Event::Closed => drop(self.live.remove(&(host, id))),
            _ => {}
        }
    }
}

/// What the listener does with a connection: it waits until the other side closes, and closes too.
fn listened(call: &mut Call<'_>, host: usize, id: ConnectionId, event: &tcp::Event) {
    match event {
        tcp::Event::PeerClosed => call.hosts[host].close(call.now, call.cx, id),
        tcp::Event::Closed | tcp::Event::Reset | tcp::Event::TimedOut => {
            call.hosts[host].forget(call.cx, id);
        }
        _ => {}
    }
}
