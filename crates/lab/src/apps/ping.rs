//! ICMP echo in a fixed rhythm, with every round trip kept.

use super::Call;
use std::net::IpAddr;
use trunkline_core::host::{Echo, Event};
use trunkline_core::time::{Duration, Instant};
use trunkline_plan::model;

/// The least time a request is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// A request is waited for this many times the longest round trip seen, if that is longer.
const PATIENCE_TRIPS: u64 = 4;

#[derive(Clone, Copy, Debug)]
struct Request {
    sent_at: Instant,
    is_answered: bool,
}

/// One sequence of echo requests.
pub(crate) struct Ping {
    plan: model::Ping,
    hosts: [usize; 2],
    peer: IpAddr,
    ident: u16,
    next_at: Instant,
    /// Every request sent, by its place in the sequence.
    requests: Vec<Request>,
    /// The round trips of those answered, in the order of the answers.
    pub(crate) round_trips: Vec<Duration>,
    longest: Duration,
    /// All are sent, and those without an answer have been waited for long enough.
    gave_up: bool,
}

impl Ping {
    /// Requests from `hosts[0]` to `peer`, which is on `hosts[1]`.
    pub(crate) fn new(
        plan: model::Ping,
        hosts: [usize; 2],
        peer: IpAddr,
        ident: u16,
        start: Duration,
    ) -> Self {
        Ping {
            plan,
            hosts,
            peer,
            ident,
            next_at: Instant::ZERO + start,
            requests: Vec::new(),
            round_trips: Vec::new(),
            longest: Duration::ZERO,
            gave_up: false,
        }
    }

    pub(crate) fn hosts(&self) -> &[usize; 2] {
        &self.hosts
    }

    /// Requests sent so far.
    pub(crate) fn sent(&self) -> usize {
        self.requests.len()
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.plan.count.is_some()
    }

    /// Whether nothing more is expected: all are sent, and each is answered or given up.
    pub(crate) fn is_done(&self) -> bool {
        !self.is_finite() || (!self.has_more() && (self.gave_up || self.unanswered() == 0))
    }

    /// The share of requests sent, where their number is known.
    pub(crate) fn share_done(&self) -> Option<f64> {
        self.plan.count.map(|count| self.requests.len() as f64 / f64::from(count.max(1)))
    }

    /// The share of requests without an answer, among those answered or waited for long enough at
    /// `now`. None before there is one.
    pub(crate) fn loss(&self, now: Instant) -> Option<f64> {
        let patience = self.patience();
        let is_lost = |r: &&Request| !r.is_answered && r.sent_at + patience <= now;
        let lost = self.requests.iter().filter(is_lost).count();
        let known = lost + self.round_trips.len();
        (known > 0).then(|| lost as f64 / known as f64)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self.has_more() {
            true => Some(self.next_at),
            false if self.is_done() => None,
            false => self.gives_up_at(),
        }
    }

    pub(crate) fn handle_timeout(&mut self, call: &mut Call<'_>) {
        if !self.has_more() {
            self.gave_up |= self.gives_up_at().is_none_or(|at| at <= call.now);
            return;
        }
        let echo = Echo {
            peer: self.peer,
            ident: self.ident,
            seq: self.requests.len() as u16,
            payload_len: self.plan.size,
            tos: self.plan.tos,
        };
        self.requests.push(Request { sent_at: call.now, is_answered: false });
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
        self.answered(call.now, echo.seq);
        true
    }

    /// An answer has come. A second one to the same request counts for nothing.
    fn answered(&mut self, now: Instant, seq: u16) {
        // The sequence number wraps at 2^16: the request meant is the newest with these low bits.
        let newest = self.requests.len().saturating_sub(1);
        let behind = usize::from((newest as u16).wrapping_sub(seq));
        let request = newest.checked_sub(behind).and_then(|i| self.requests.get_mut(i));
        if let Some(request) = request.filter(|r| !r.is_answered) {
            request.is_answered = true;
            let trip = now - request.sent_at;
            self.round_trips.push(trip);
            self.longest = self.longest.max(trip);
        }
    }

    fn has_more(&self) -> bool {
        self.plan.count.is_none_or(|count| self.requests.len() < count as usize)
    }

    fn unanswered(&self) -> usize {
        self.requests.len() - self.round_trips.len()
    }

    fn patience(&self) -> Duration {
        PATIENCE.max(self.longest * PATIENCE_TRIPS)
    }

    /// When the newest request without an answer has been waited for long enough.
    fn gives_up_at(&self) -> Option<Instant> {
        let newest = self.requests.iter().rev().find(|r| !r.is_answered)?;
        Some(newest.sent_at + self.patience())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_core::Context;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    /// `count` requests, one a second from the start.
    fn sent(count: u32, limit: Option<u32>) -> Ping {
        let plan = model::Ping { interval: Duration::from_secs(1), size: 56, count: limit, tos: 0 };
        let mut ping =
            Ping::new(plan, [0, 0], std::net::Ipv4Addr::LOCALHOST.into(), 0, Duration::ZERO);
        let mut hosts = [trunkline_core::host::Host::new(trunkline_core::rng::Rng::new(1))];
        let mut cx = Context::new();
        for _ in 0..count {
            let now = ping.next_at;
            ping.handle_timeout(&mut Call { now, cx: &mut cx, hosts: &mut hosts });
        }
        ping
    }

    #[test]
    fn a_second_answer_to_one_request_is_ignored() {
        let mut ping = sent(2, None);
        ping.answered(at(2), 0);
        ping.answered(at(3), 0);
        assert_eq!(ping.round_trips, [Duration::from_secs(2)]);
    }

    #[test]
    fn loss_waits_until_a_request_is_old() {
        let mut ping = sent(4, None);
        assert_eq!(ping.loss(at(4)), None);
        ping.answered(at(4), 3);
        assert_eq!(ping.loss(at(4)), Some(0.0));
        assert_eq!(ping.loss(at(10)), Some(0.5));
        assert_eq!(ping.loss(at(60)), Some(0.75));
    }

    #[test]
    fn long_round_trips_make_it_more_patient() {
        let mut ping = sent(2, None);
        ping.answered(at(8), 0);
        assert_eq!(ping.loss(at(32)), Some(0.0));
        assert_eq!(ping.loss(at(33)), Some(0.5));
    }

    #[test]
    fn it_is_done_when_each_is_answered_or_given_up() {
        let mut ping = sent(3, Some(3));
        assert!(!ping.is_done());
        assert_eq!(ping.poll_timeout(), Some(at(12)));
        ping.answered(at(3), 2);
        assert_eq!(ping.poll_timeout(), Some(at(11)));
        let mut cx = Context::new();
        ping.handle_timeout(&mut Call { now: at(11), cx: &mut cx, hosts: &mut [] });
        assert!(ping.is_done() && ping.poll_timeout().is_none());
        let mut ping = sent(1, Some(1));
        ping.answered(at(1), 0);
        assert!(ping.is_done());
    }
}
