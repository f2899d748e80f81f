//! ICMP echo in a fixed rhythm, with every round trip kept.

use super::Call;
use std::net::Ipv4Addr;
use trunkline_core::host::{Echo, Event};
use trunkline_core::time::{Duration, Instant};
use trunkline_plan::model;

/// One sequence of echo requests.
pub(crate) struct Ping {
    plan: model::Ping,
    hosts: [usize; 2],
    peer: Ipv4Addr,
    ident: u16,
    next_at: Instant,
    /// When each request was sent, by its place in the sequence.
    sent_at: Vec<Instant>,
    /// The round trips of those answered, in the order of the answers.
    pub(crate) round_trips: Vec<Duration>,
}

impl Ping {
    /// Requests from `hosts[0]` to `peer`, which is on `hosts[1]`.
    pub(crate) fn new(
        plan: model::Ping,
        hosts: [usize; 2],
        peer: Ipv4Addr,
        ident: u16,
        start: Duration,
    ) -> Self {
        Ping {
            plan,
            hosts,
            peer,
            ident,
            next_at: Instant::ZERO + start,
            sent_at: Vec::new(),
            round_trips: Vec::new(),
        }
    }

    pub(crate) fn hosts(&self) -> [usize; 2] {
        self.hosts
    }

    /// Requests sent so far.
    pub(crate) fn sent(&self) -> usize {
        self.sent_at.len()
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.plan.count.is_some()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.plan.count.is_none_or(|count| self.round_trips.len() >= count as usize)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let more = self.plan.count.is_none_or(|count| self.sent_at.len() < count as usize);
        more.then_some(self.next_at)
    }

    pub(crate) fn handle_timeout(&mut self, call: &mut Call<'_>) {
        let echo = Echo {
            peer: self.peer,
            ident: self.ident,
            seq: self.sent_at.len() as u16,
            payload_len: self.plan.size,
        };
        self.sent_at.push(call.now);
        self.next_at = call.now + self.plan.interval;
        call.hosts[self.hosts[0]].send_echo(call.now, call.cx, echo);
    }

    pub(crate) fn handle_event(&mut self, call: &mut Call<'_>, host: usize, event: &Event) -> bool {
        let Event::EchoReply(echo) = event else {
            return false;
        };
        if host != self.hosts[0] || echo.ident != self.ident {
            return false;
        }
        // The sequence number wraps at 2^16: the request meant is the newest with these low bits.
        let newest = self.sent_at.len().saturating_sub(1);
        let behind = usize::from((newest as u16).wrapping_sub(echo.seq));
        if let Some(sent) = newest.checked_sub(behind).map(|i| self.sent_at[i]) {
            self.round_trips.push(call.now - sent);
        }
        true
    }
}
