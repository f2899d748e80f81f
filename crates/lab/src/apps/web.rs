//! Web pages as a browser loads them: the page itself over one connection, then what it shows over several at
//! a time, which stay open from page to page (RFC 9112, 9.3 and 9.4). One request at a time on each.

use super::Call;
use std::net::SocketAddr;
use trunkline_core::host::{ConnectionId, Event};
use trunkline_core::tcp;
use trunkline_core::tcp::Data;
use trunkline_core::tcp::config::Config;
use trunkline_core::time::{Duration, Instant};
use trunkline_plan::model;

/// One connection between browser and server.
#[derive(Clone, Copy, Debug)]
struct Channel {
    browser: ConnectionId,
    server: Option<ConnectionId>,
    is_connected: bool,
    /// The size of what has been asked for; none while it is idle.
    asked: Option<u64>,
    /// Bytes of it that have not arrived.
    missing: u64,
    /// Request bytes that have arrived, and answer bytes not written yet.
    request_bytes: u64,
    to_write: u64,
}

/// What is loaded now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Nothing.
    Thinking,
    /// The page itself.
    Page,
    /// What it shows: so many not asked for yet, so many not there yet.
    Objects { unasked: u32, missing: u32 },
}

/// A browser and a server.
pub(crate) struct Web {
    plan: model::Web,
    server: usize,
    browser: [usize; 1],
    config: Config,
    remote: SocketAddr,
    warmup_until: Instant,
    channels: Vec<Channel>,
    stage: Stage,
    began_at: Instant,
    next_at: Option<Instant>,
    pages: u32,
    /// How long each page took that was begun after the warm-up.
    pub(crate) trips: Vec<Duration>,
    /// Bytes received after the warm-up.
    pub(crate) received: u64,
    pub(crate) last_byte_at: Option<Instant>,
    pub(crate) broken: Option<&'static str>,
}

impl Web {
    /// The second host loads pages from `remote` on the first; `times` are the start and the warm-up.
    pub(crate) fn new(
        plan: model::Web,
        [server, browser]: [usize; 2],
        config: Config,
        remote: SocketAddr,
        times: [Duration; 2],
    ) -> Web {
        Web {
            plan,
            server,
            browser: [browser],
            config,
            remote,
            warmup_until: Instant::ZERO + times[1],
            channels: Vec::new(),
            stage: Stage::Thinking,
            began_at: Instant::ZERO,
            next_at: Some(Instant::ZERO + times[0]),
            pages: 0,
            trips: Vec::new(),
            received: 0,
            last_byte_at: None,
            broken: None,
        }
    }

    /// Only the browser does anything by itself.
    pub(crate) fn hosts(&self) -> &[usize] {
        &self.browser
    }

    /// The hosts and connections of all ends.
    pub(crate) fn ends(&self) -> impl Iterator<Item = (usize, Option<ConnectionId>)> {
        let both = |c: &Channel| [(self.browser[0], Some(c.browser)), (self.server, c.server)];
        self.channels.iter().flat_map(both)
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.plan.count.is_some()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.broken.is_some() || self.plan.count.is_some_and(|count| self.pages >= count)
    }

    pub(crate) fn share_done(&self) -> Option<f64> {
        Some(f64::from(self.pages) / f64::from(self.plan.count?))
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.next_at
    }

    pub(crate) fn handle_timeout(&mut self, call: &mut Call<'_>) {
        if self.next_at.is_some_and(|at| at <= call.now) {
            self.next_at = None;
            self.stage = Stage::Page;
            self.began_at = call.now;
            match self.channels.is_empty() {
                true => self.open(call),
                false => self.ask_next(call, 0),
            }
        }
    }

    fn open(&mut self, call: &mut Call<'_>) {
        let host = &mut call.hosts[self.browser[0]];
        match host.connect(call.now, call.cx, self.config.clone(), self.remote) {
            Ok(browser) => self.channels.push(Channel {
                browser,
                server: None,
                is_connected: false,
                asked: None,
                missing: 0,
                request_bytes: 0,
                to_write: 0,
            }),
            Err(_) => self.broken = Some("no route"),
        }
    }

    /// Asks for what is next, if there is something, on a connection that is idle.
    fn ask_next(&mut self, call: &mut Call<'_>, index: usize) {
        let size = match &mut self.stage {
            Stage::Thinking => return,
            Stage::Page if index > 0 => return,
            Stage::Page => self.plan.page,
            Stage::Objects { unasked: 0, .. } => return,
            Stage::Objects { unasked, .. } => {
                *unasked -= 1;
                self.plan.object
            }
        };
        let channel = &mut self.channels[index];
        (channel.asked, channel.missing) = (Some(size), size);
        let request = Data::Elided(self.plan.request as usize);
        call.hosts[self.browser[0]].write(call.now, call.cx, channel.browser, request);
    }

    pub(crate) fn handle_event(&mut self, call: &mut Call<'_>, host: usize, event: &Event) -> bool {
        let (id, event) = match event {
            Event::Accepted(id) if host == self.server => return self.accepted(call, *id),
            Event::Tcp(id, event) => (*id, event),
            Event::Accepted(_) | Event::EchoReply(_) | Event::Datagram(_) => return false,
        };
        let at_browser = host == self.browser[0];
        let is_its = |c: &Channel| match at_browser {
            true => c.browser == id,
            false => c.server == Some(id),
        };
        let known = host == self.server || at_browser;
        let Some(index) = self.channels.iter().position(is_its).filter(|_| known) else {
            return false;
        };
        match (event, at_browser) {
            (tcp::Event::Reset | tcp::Event::TimedOut, true) => {
                self.broken = Some("the browser lost a connection");
            }
            (tcp::Event::Reset | tcp::Event::TimedOut, false) => {
                self.broken = Some("the server lost a connection");
            }
            (tcp::Event::Connected, true) => {
                self.channels[index].is_connected = true;
                self.ask_next(call, index);
            }
            (tcp::Event::Readable, true) => self.read(call, index),
            (tcp::Event::Readable, false) => self.serve(call, index, id),
            (tcp::Event::Writable, false) => self.channels[index].write(call, self.server, id),
            _ => {}
        }
        true
    }

    /// The server knows a connection by where it comes from.
    fn accepted(&mut self, call: &Call<'_>, id: ConnectionId) -> bool {
        let tuple = |host: usize, id| call.hosts[host].connection(id).map(|c| c.tuple());
        let Some(theirs) = tuple(self.server, id).filter(|t| t.local == self.remote) else {
            return false;
        };
        let browser = self.browser[0];
        let is_its = |c: &&mut Channel| {
            tuple(browser, c.browser).is_some_and(|ours| ours.local == theirs.remote)
        };
        let channel = self.channels.iter_mut().find(is_its);
        channel.is_some_and(|channel| {
            channel.server = Some(id);
            true
        })
    }

    fn serve(&mut self, call: &mut Call<'_>, index: usize, id: ConnectionId) {
        let read = call.hosts[self.server].read(call.now, call.cx, id, usize::MAX, |_| ());
        let request = u64::from(self.plan.request);
        let channel = &mut self.channels[index];
        channel.request_bytes += read as u64;
        if channel.request_bytes >= request {
            channel.request_bytes -= request;
            channel.to_write = channel.asked.unwrap_or(0);
            channel.write(call, self.server, id);
        }
    }

    fn read(&mut self, call: &mut Call<'_>, index: usize) {
        let channel = &mut self.channels[index];
        let host = &mut call.hosts[self.browser[0]];
        let read = host.read(call.now, call.cx, channel.browser, usize::MAX, |_| ()) as u64;
        self.last_byte_at = Some(call.now);
        if call.now >= self.warmup_until {
            self.received += read;
        }
        channel.missing = channel.missing.saturating_sub(read);
        if channel.missing == 0 && channel.asked.take().is_some() {
            self.arrived(call, index);
        }
    }

    /// One thing is there: on with the next, or with the next page.
    fn arrived(&mut self, call: &mut Call<'_>, index: usize) {
        match &mut self.stage {
            Stage::Page if self.plan.objects > 0 => {
                let objects = self.plan.objects;
                self.stage = Stage::Objects { unasked: objects, missing: objects };
                self.ask_for_objects(call);
            }
            Stage::Objects { missing, .. } if *missing > 1 => {
                *missing -= 1;
                self.ask_next(call, index);
            }
            Stage::Page | Stage::Objects { .. } => self.end_page(call.now),
            Stage::Thinking => {}
        }
    }

    /// On every connection that may be needed; those not open yet ask when they are.
    fn ask_for_objects(&mut self, call: &mut Call<'_>) {
        let wanted = self.plan.connections.min(self.plan.objects) as usize;
        for index in 0..wanted.max(self.channels.len()) {
            match self.channels.get(index) {
                Some(channel) if channel.is_connected => self.ask_next(call, index),
                Some(_) => {}
                None => self.open(call),
            }
        }
    }

    fn end_page(&mut self, now: Instant) {
        self.stage = Stage::Thinking;
        self.pages += 1;
        if self.began_at >= self.warmup_until {
            self.trips.push(now - self.began_at);
        }
        if !self.is_done() {
            self.next_at = Some(now + self.plan.think);
        }
    }
}

impl Channel {
    fn write(&mut self, call: &mut Call<'_>, host: usize, id: ConnectionId) {
        if self.to_write > 0 {
            let wanted = Data::Elided(self.to_write as usize);
            self.to_write -= call.hosts[host].write(call.now, call.cx, id, wanted) as u64;
        }
    }
}
