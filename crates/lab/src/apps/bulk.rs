//! One file in one direction, with the stop-watch of the program that sends it.

use super::Call;
use std::net::SocketAddr;
use trunkline_core::host::{ConnectionId, Event};
use trunkline_core::tcp::config::Config;
use trunkline_core::tcp::{self, Chunk, Data};
use trunkline_core::time::{Duration, Instant};
use trunkline_plan::model::{self, Content};

/// Bytes of the pattern; a prime, so that no segment size repeats it in step.
const PATTERN_BYTES: usize = 251;

/// What a transfer has measured so far.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Record {
    /// When the connection was asked for.
    pub(crate) opened_at: Option<Instant>,
    /// When the first byte was handed to the transport.
    pub(crate) first_write_at: Option<Instant>,
    /// When the last write had returned.
    pub(crate) last_write_at: Option<Instant>,
    /// When the newest byte was received.
    pub(crate) last_byte_at: Option<Instant>,
    /// The longest time without a byte received, after the first.
    pub(crate) longest_gap: Duration,
    /// Bytes handed to the transport.
    pub(crate) written: u64,
    /// Bytes received in order.
    pub(crate) received: u64,
    /// When the first bytes after the warm-up were received, and the bytes received by then, those
    /// included: an endless transfer is measured from there.
    pub(crate) measured_from: Option<(Instant, u64)>,
    /// Bytes that were not what was sent.
    pub(crate) wrong: u64,
    /// Whether the receiver has seen the end of the file.
    pub(crate) complete: bool,
    /// Why the connection ended too early, if it did.
    pub(crate) broken: Option<&'static str>,
}

/// A bulk transfer between two hosts.
pub(crate) struct Bulk {
    plan: model::Bulk,
    hosts: [usize; 2],
    config: Config,
    remote: SocketAddr,
    start: Instant,
    warmup_until: Instant,
    sender: Option<ConnectionId>,
    receiver: Option<ConnectionId>,
    pub(crate) record: Record,
}

impl Bulk {
    /// A transfer from `hosts[0]` to `hosts[1]`, which listens at `remote`.
    pub(crate) fn new(
        plan: model::Bulk,
        hosts: [usize; 2],
        config: Config,
        remote: SocketAddr,
        start: Duration,
        warmup: Duration,
    ) -> Self {
        Bulk {
            plan,
            hosts,
            config,
            remote,
            start: Instant::ZERO + start,
            warmup_until: Instant::ZERO + warmup,
            sender: None,
            receiver: None,
            record: Record::default(),
        }
    }

    pub(crate) fn hosts(&self) -> &[usize; 2] {
        &self.hosts
    }

    pub(crate) fn sender(&self) -> Option<ConnectionId> {
        self.sender
    }

    pub(crate) fn receiver(&self) -> Option<ConnectionId> {
        self.receiver
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.plan.bytes.is_some() || self.plan.lasts.is_some()
    }

    pub(crate) fn is_done(&self) -> bool {
        !self.is_finite() || self.record.complete || self.record.broken.is_some()
    }

    /// The share of the file received; none without an end.
    pub(crate) fn share_done(&self) -> Option<f64> {
        self.plan.bytes.map(|bytes| self.record.received as f64 / bytes.max(1) as f64)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let Some(opened_at) = self.record.opened_at else {
            return Some(self.start);
        };
        let is_writing = self.record.last_write_at.is_none() && self.record.broken.is_none();
        self.plan.lasts.filter(|_| is_writing).map(|lasts| opened_at + lasts)
    }

    pub(crate) fn handle_timeout(&mut self, call: &mut Call<'_>) {
        if self.record.opened_at.is_some() {
            return self.stop(call);
        }
        self.record.opened_at = Some(call.now);
        let host = &mut call.hosts[self.hosts[0]];
        match host.connect(call.now, call.cx, self.config.clone(), self.remote) {
            Ok(id) => self.sender = Some(id),
            Err(_) => self.record.broken = Some("no route"),
        }
    }

    /// The time of a transfer that has only that for an end is over.
    fn stop(&mut self, call: &mut Call<'_>) {
        if self.poll_timeout().is_some_and(|at| at <= call.now)
            && let Some(id) = self.sender
        {
            self.record.last_write_at = Some(call.now);
            call.hosts[self.hosts[0]].close(call.now, call.cx, id);
        }
    }

    pub(crate) fn handle_event(&mut self, call: &mut Call<'_>, host: usize, event: &Event) -> bool {
        match event {
            Event::Accepted(id) if host == self.hosts[1] && self.receiver.is_none() => {
                let ours = call.hosts[host]
                    .connection(*id)
                    .is_some_and(|c| c.tuple().local.port() == self.remote.port());
                if ours {
                    self.receiver = Some(*id);
                }
                ours
            }
            Event::Tcp(id, event) if host == self.hosts[0] && self.sender == Some(*id) => {
                self.handle_sender(call, event);
                true
            }
            Event::Tcp(id, event) if host == self.hosts[1] && self.receiver == Some(*id) => {
                self.handle_receiver(call, *id, event);
                true
            }
            _ => false,
        }
    }

    fn handle_sender(&mut self, call: &mut Call<'_>, event: &tcp::Event) {
        match event {
            tcp::Event::Connected | tcp::Event::Writable => self.write(call),
            tcp::Event::Reset => self.record.broken = Some("the sender was reset"),
            tcp::Event::TimedOut => self.record.broken = Some("the sender gave up"),
            _ => {}
        }
    }

    /// Writes until the transport takes no more, in the program's own write size.
    fn write(&mut self, call: &mut Call<'_>) {
        let Some(id) = self.sender else { return };
        let total = self.plan.bytes.unwrap_or(u64::MAX);
        if self.record.last_write_at.is_some() {
            return;
        }
        self.record.first_write_at.get_or_insert(call.now);
        let host = &mut call.hosts[self.hosts[0]];
        while self.record.written < total {
            let left = (total - self.record.written).min(u64::from(self.plan.write)) as usize;
            let taken = match self.plan.content {
                Content::Zeros => host.write(call.now, call.cx, id, Data::Elided(left)),
                Content::Pattern => {
                    let bytes = pattern(self.record.written, left);
                    host.write(call.now, call.cx, id, Data::Bytes(&bytes))
                }
            };
            self.record.written += taken as u64;
            if taken < left {
                return;
            }
        }
        self.record.last_write_at = Some(call.now);
        host.close(call.now, call.cx, id);
    }

    fn handle_receiver(&mut self, call: &mut Call<'_>, id: ConnectionId, event: &tcp::Event) {
        match event {
            tcp::Event::Readable => self.read(call, id),
            tcp::Event::PeerClosed => {
                self.read(call, id);
                let sent = self.plan.bytes.or(self.plan.lasts.map(|_| self.record.written));
                self.record.complete = sent == Some(self.record.received);
                call.hosts[self.hosts[1]].close(call.now, call.cx, id);
            }
            tcp::Event::Reset => self.record.broken = Some("the receiver was reset"),
            tcp::Event::TimedOut => self.record.broken = Some("the receiver gave up"),
            _ => {}
        }
    }

    fn read(&mut self, call: &mut Call<'_>, id: ConnectionId) {
        let mut at = self.record.received;
        let mut wrong = 0;
        let content = self.plan.content;
        let host = &mut call.hosts[self.hosts[1]];
        let read = host.read(call.now, call.cx, id, usize::MAX, |chunk| match chunk {
            Chunk::Bytes(bytes) => {
                wrong += mismatches(content, at, bytes);
                at += bytes.len() as u64;
            }
            Chunk::Elided(len) => {
                wrong += if content == Content::Zeros { 0 } else { len as u64 };
                at += len as u64;
            }
        });
        if read == 0 {
            return;
        }
        if let Some(last) = self.record.last_byte_at {
            self.record.longest_gap = self.record.longest_gap.max(call.now - last);
        }
        self.record.last_byte_at = Some(call.now);
        self.record.received += read as u64;
        self.record.wrong += wrong;
        if call.now >= self.warmup_until {
            self.record.measured_from.get_or_insert((call.now, self.record.received));
        }
    }
}

/// The byte of the pattern at a place in the file.
fn pattern_byte(at: u64) -> u8 {
    (at % PATTERN_BYTES as u64) as u8
}

fn pattern(from: u64, len: usize) -> Vec<u8> {
    (from..from + len as u64).map(pattern_byte).collect()
}

fn mismatches(content: Content, from: u64, bytes: &[u8]) -> u64 {
    let wrong = |(i, byte): (usize, &u8)| match content {
        Content::Zeros => *byte != 0,
        Content::Pattern => *byte != pattern_byte(from + i as u64),
    };
    bytes.iter().enumerate().filter(|pair| wrong(*pair)).count() as u64
}
