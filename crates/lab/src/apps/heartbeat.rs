//! The members of a cluster that tell each other that they are there, as the nodes of a VAXcluster do over
//! Ethernet. One that has heard nothing from another for too long can no longer know who is in, and leaves: a
//! CLUEXIT bugcheck. The others are told by those who are left, and go on.
//!
//! It is part of a card's driver, as a VAX's port driver for clusters is: signs are heard when their frame is
//! served, and no process has to run for them.
//!
//! Deviations: the signs are UDP datagrams to each member, where a VAXcluster has a protocol of its own.

use super::Call;
use std::net::{Ipv4Addr, SocketAddrV4};
use trunkline_core::host::Event;
use trunkline_core::time::{Duration, Instant};
use trunkline_plan::model;

struct Member {
    host: usize,
    address: Ipv4Addr,
    next_at: Instant,
    /// When it has heard from each member last.
    heard_at: Vec<Instant>,
    is_in: bool,
}

/// One cluster.
pub(crate) struct Heartbeat {
    plan: model::Heartbeat,
    port: u16,
    members: Vec<Member>,
    hosts: Vec<usize>,
    pub(crate) sent: u64,
    pub(crate) heard: u64,
    /// The longest time that a member has heard nothing from another that was in.
    silence: Duration,
    pub(crate) crashes: u64,
}

impl Heartbeat {
    /// The members send one after the other, evenly spread over the interval from `start` on. Silence counts
    /// from the end of the warm-up on, when all have found each other.
    pub(crate) fn new(
        plan: model::Heartbeat,
        members: &[(usize, Ipv4Addr)],
        port: u16,
        [start, warmup]: [Duration; 2],
    ) -> Heartbeat {
        let count = members.len() as u64;
        let begins = Instant::ZERO + start;
        let member = |(nth, (host, address)): (u64, &(usize, Ipv4Addr))| Member {
            host: *host,
            address: *address,
            next_at: begins + Duration::from_nanos(plan.interval.as_nanos() * nth / count),
            heard_at: vec![begins.max(Instant::ZERO + warmup); members.len()],
            is_in: true,
        };
        let hosts = members.iter().map(|(host, _)| *host).collect();
        let members = (0..).zip(members).map(member).collect();
        Heartbeat {
            plan,
            port,
            members,
            hosts,
            sent: 0,
            heard: 0,
            silence: Duration::ZERO,
            crashes: 0,
        }
    }

    pub(crate) fn hosts(&self) -> &[usize] {
        &self.hosts
    }

    /// Members that are still in.
    pub(crate) fn members(&self) -> usize {
        self.members.iter().filter(|member| member.is_in).count()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let told = self.members.iter().filter(|member| member.is_in).map(|member| member.next_at);
        let heard = self.pairs().map(|(member, other)| self.members[member].heard_at[other]);
        let left = heard.min().map(|at| at + self.plan.patience);
        told.chain(left).min()
    }

    /// The longest silence until `now`.
    pub(crate) fn silence_max(&self, now: Instant) -> Duration {
        let silences =
            self.pairs().map(|(member, other)| since(self.members[member].heard_at[other], now));
        silences.max().unwrap_or(Duration::ZERO).max(self.silence)
    }

    /// Every two members that are in, both ways.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let all = 0..self.members.len();
        let is_in = |at: &usize| self.members[*at].is_in;
        let pairs = all.clone().flat_map(move |member| all.clone().map(move |o| (member, o)));
        pairs.filter(move |(member, other)| member != other && is_in(member) && is_in(other))
    }

    pub(crate) fn handle_timeout(&mut self, call: &mut Call<'_>) {
        for at in 0..self.members.len() {
            self.judge(at, call.now);
            if self.members[at].is_in && self.members[at].next_at <= call.now {
                self.members[at].next_at += self.plan.interval;
                self.tell(at, call);
            }
        }
    }

    /// Whether a member has to leave.
    fn judge(&mut self, at: usize, now: Instant) {
        let silence = self.pairs().filter(|(member, _)| *member == at);
        let silence = silence.map(|(_, o)| since(self.members[at].heard_at[o], now)).max();
        let silence = silence.unwrap_or(Duration::ZERO);
        self.silence = self.silence.max(silence);
        if silence >= self.plan.patience {
            self.members[at].is_in = false;
            self.crashes += 1;
        }
    }

    fn tell(&mut self, at: usize, call: &mut Call<'_>) {
        let who = (at as u64).to_be_bytes();
        let host = self.members[at].host;
        for other in (0..self.members.len()).filter(|other| *other != at) {
            if !self.members[other].is_in {
                continue;
            }
            let to = SocketAddrV4::new(self.members[other].address, self.port);
            let elided = self.plan.size - who.len() as u32;
            let way = (self.port, to);
            let sent = call.hosts[host].send_datagram(call.now, call.cx, way, &who, elided);
            self.sent += u64::from(sent.is_ok());
        }
    }

    pub(crate) fn handle_event(&mut self, call: &mut Call<'_>, host: usize, event: &Event) -> bool {
        let member = self.hosts.iter().position(|known| *known == host);
        let Some(member) = member.filter(|_| *event == Event::Datagram(self.port)) else {
            return false;
        };
        loop {
            let mut who = None;
            let sink = |bytes: &[u8], _| who = bytes.first_chunk().map(|b| u64::from_be_bytes(*b));
            if call.hosts[host].receive_datagram(call.cx, self.port, sink).is_none() {
                return true;
            }
            let from = who.and_then(|who| usize::try_from(who).ok());
            let Some(from) = from.filter(|from| *from < self.members.len()) else { continue };
            self.heard += 1;
            let heard_at = self.members[member].heard_at[from];
            self.members[member].heard_at[from] = heard_at.max(call.now);
            if self.members[from].is_in && self.members[member].is_in {
                self.silence = self.silence.max(since(heard_at, call.now));
            }
        }
    }
}

/// The time from `from` to `now`; none before that.
fn since(from: Instant, now: Instant) -> Duration {
    if now > from { now - from } else { Duration::ZERO }
}
