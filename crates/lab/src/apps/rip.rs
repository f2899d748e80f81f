//! Routes told to everybody on a segment, in a fixed rhythm (RFC 1058). What is heard is counted and not acted
//! upon: the ways of the plan stay as they are.

use super::Call;
use std::net::SocketAddrV4;
use trunkline_core::host::{Event, InterfaceId};
use trunkline_core::rng::Rng;
use trunkline_core::time::{Duration, Instant};
use trunkline_core::wire::rip::{Command, Entry, PORT, Repr};
use trunkline_plan::model;

/// The networks that are told of, one after the other.
const FIRST_NETWORK: std::net::Ipv4Addr = std::net::Ipv4Addr::new(192, 168, 0, 0);
const NETWORK_STEP: u32 = 1 << 8;

struct Speaker {
    host: usize,
    card: InterfaceId,
    next_at: Instant,
}

/// The speakers of one segment, and all who hear them.
pub(crate) struct Rip {
    interval: Duration,
    speakers: Vec<Speaker>,
    /// All hosts on the segment.
    hosts: Vec<usize>,
    told: Vec<u8>,
    pub(crate) sent: u64,
    pub(crate) heard: u64,
}

impl Rip {
    /// Every host of `speakers` begins at a time of its own within the first interval after `start`.
    pub(crate) fn new(
        plan: model::Rip,
        speakers: &[(usize, InterfaceId)],
        hosts: Vec<usize>,
        start: Duration,
        rng: &Rng,
    ) -> Rip {
        let speaker = |(host, card): &(usize, InterfaceId)| {
            let mut rng = rng.fork(&host.to_string());
            let wait = rng.between(0, plan.interval.as_nanos());
            let next_at = Instant::ZERO + start + Duration::from_nanos(wait);
            Speaker { host: *host, card: *card, next_at }
        };
        let entry = |i: u32| Entry {
            destination: (u32::from(FIRST_NETWORK) + i * NETWORK_STEP).into(),
            metric: 1,
        };
        let entries = (0..u32::from(plan.routes)).map(entry).collect();
        let repr = Repr { command: Command::Response, entries };
        let mut told = vec![0; repr.len()];
        repr.emit(&mut told);
        let speakers = speakers.iter().map(speaker).collect();
        Rip { interval: plan.interval, speakers, hosts, told, sent: 0, heard: 0 }
    }

    pub(crate) fn hosts(&self) -> &[usize] {
        &self.hosts
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.speakers.iter().map(|speaker| speaker.next_at).min()
    }

    pub(crate) fn handle_timeout(&mut self, call: &mut Call<'_>) {
        for speaker in self.speakers.iter_mut().filter(|speaker| speaker.next_at <= call.now) {
            speaker.next_at += self.interval;
            let host = &mut call.hosts[speaker.host];
            let Some(everybody) = host.broadcast_address(speaker.card) else { continue };
            let to = (PORT, SocketAddrV4::new(everybody, PORT));
            let sent = host.send_datagram_by(call.now, call.cx, speaker.card, to, &self.told, 0);
            self.sent += u64::from(sent.is_ok());
        }
    }

    pub(crate) fn handle_event(&mut self, call: &mut Call<'_>, host: usize, event: &Event) -> bool {
        if *event != Event::Datagram(PORT) || !self.hosts.contains(&host) {
            return false;
        }
        while call.hosts[host].receive_datagram(call.cx, PORT, |_, _| ()).is_some() {
            self.heard += 1;
        }
        true
    }
}
