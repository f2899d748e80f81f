//! Datagrams of drawn sizes at a rate, from several hosts to one (UDP). Each says who sent it as his how manieth, and
//! when, so the receiver knows what is missing before it, as RTP's does (RFC 3550, A.3), and how long it took. What is
//! behind the last that came may still be under way and counts for nothing.

use super::{Call, draw};
use std::net::SocketAddrV4;
use trunkline_core::host::Event;
use trunkline_core::rng::Rng;
use trunkline_core::time::{Duration, Instant};
use trunkline_plan::model::{self, Spacing};

/// What a datagram begins with: its sender, its number, and its time in nanoseconds. The rest are zeros.
const STAMP_LEN: usize = 2 + 4 + 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp {
    sender: u16,
    number: u32,
    at: Instant,
}

impl Stamp {
    fn emit(self) -> [u8; STAMP_LEN] {
        let mut bytes = [0; STAMP_LEN];
        bytes[..2].copy_from_slice(&self.sender.to_be_bytes());
        bytes[2..6].copy_from_slice(&self.number.to_be_bytes());
        bytes[6..].copy_from_slice(&self.at.as_nanos().to_be_bytes());
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Stamp> {
        let (sender, rest) = bytes.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (at, _) = rest.split_first_chunk()?;
        Some(Stamp {
            sender: u16::from_be_bytes(*sender),
            number: u32::from_be_bytes(*number),
            at: Instant::from_nanos(u64::from_be_bytes(*at)),
        })
    }
}

/// Both ends of what one sender sends, as far as it counts.
#[derive(Clone, Copy, Default, Debug)]
struct Lane {
    /// How many it has sent, and how many of them have come or been missed.
    sent: u32,
    passed: u32,
}

/// A stream of datagrams.
pub(crate) struct Datagrams {
    plan: model::Datagrams,
    interval: Duration,
    senders: Vec<usize>,
    receiver: usize,
    to: SocketAddrV4,
    warmup_until: Instant,
    rng: Rng,
    next_at: Instant,
    /// Whose turn it is where the spacing is constant.
    turn: usize,
    /// The host that has sent last.
    touched: [usize; 1],
    lanes: Vec<Lane>,
    /// Of what was sent after the warm-up.
    pub(crate) lost: u64,
    /// Bytes of payload received of it.
    pub(crate) received_bytes: u64,
    /// How long each took, in the order of arrival.
    pub(crate) delays: Vec<Duration>,
}

impl Datagrams {
    /// Datagrams from `senders` to a socket of `receiver`, which is bound; `times` are the start and the warm-up.
    pub(crate) fn new(
        plan: model::Datagrams,
        senders: Vec<usize>,
        receiver: usize,
        to: SocketAddrV4,
        times: [Duration; 2],
        rng: Rng,
    ) -> Datagrams {
        Datagrams {
            interval: plan.interval(),
            plan,
            receiver,
            to,
            next_at: Instant::ZERO + times[0],
            warmup_until: Instant::ZERO + times[1],
            rng,
            turn: 0,
            touched: [receiver],
            lanes: vec![Lane::default(); senders.len()],
            senders,
            lost: 0,
            received_bytes: 0,
            delays: Vec::new(),
        }
    }

    /// The only host that [`Datagrams::handle_timeout`] has touched.
    pub(crate) fn hosts(&self) -> &[usize] {
        &self.touched
    }

    /// Datagrams sent after the warm-up.
    pub(crate) fn sent(&self) -> u64 {
        self.lanes.iter().map(|lane| u64::from(lane.sent)).sum()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        Some(self.next_at)
    }

    pub(crate) fn handle_timeout(&mut self, call: &mut Call<'_>) {
        if self.next_at > call.now {
            return;
        }
        let all = self.senders.len();
        let sender = match self.plan.spacing {
            Spacing::Poisson => self.rng.below(all as u64) as usize,
            Spacing::Constant => self.turn,
        };
        self.turn = (sender + 1) % all;
        self.next_at = call.now + self.pause();
        let size = self.plan.sizes[self.rng.below(self.plan.sizes.len() as u64) as usize];
        let lane = &mut self.lanes[sender];
        let stamp = Stamp { sender: sender as u16, number: lane.sent, at: call.now };
        lane.sent += u32::from(call.now >= self.warmup_until);
        let host = self.senders[sender];
        self.touched = [host];
        let zeros = size - STAMP_LEN as u32;
        let ports = (self.to.port(), self.to);
        let sent = call.hosts[host].send_datagram(call.now, call.cx, ports, &stamp.emit(), zeros);
        assert!(sent.is_ok(), "the plan sees to it that there is a way, and room in a datagram");
    }

    /// The time to the next.
    fn pause(&mut self) -> Duration {
        match self.plan.spacing {
            Spacing::Poisson => draw::exponential(&mut self.rng, self.interval),
            Spacing::Constant => self.interval,
        }
    }

    pub(crate) fn handle_event(&mut self, call: &mut Call<'_>, host: usize, event: &Event) -> bool {
        if host != self.receiver || *event != Event::Datagram(self.to.port()) {
            return false;
        }
        let mut stamp = None;
        let sink = |bytes: &[u8], _: u32| stamp = Stamp::parse(bytes);
        let received = call.hosts[host].receive_datagram(call.cx, self.to.port(), sink);
        if let (Some(stamp), Some(received)) = (stamp, received) {
            self.arrived(call.now, stamp, received.len);
        }
        true
    }

    fn arrived(&mut self, now: Instant, stamp: Stamp, len: usize) {
        let Some(lane) = self.lanes.get_mut(usize::from(stamp.sender)) else { return };
        if stamp.at < self.warmup_until {
            return;
        }
        match stamp.number.checked_sub(lane.passed) {
            Some(missed) => {
                self.lost += u64::from(missed);
                lane.passed = stamp.number + 1;
            }
            // It had been given up, and is late.
            None => self.lost = self.lost.saturating_sub(1),
        }
        self.received_bytes += len as u64;
        self.delays.push(now - stamp.at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_core::units::BitRate;

    fn datagrams() -> Datagrams {
        let plan = model::Datagrams {
            sizes: vec![18, 1472],
            rate: BitRate::from_bps(5_960_000),
            spacing: Spacing::Constant,
        };
        let to = SocketAddrV4::new([10, 128, 0, 3].into(), 5001);
        let times = [Duration::ZERO, Duration::from_secs(1)];
        Datagrams::new(plan, vec![0, 1], 2, to, times, Rng::new(1))
    }

    fn stamp(sender: u16, number: u32) -> Stamp {
        Stamp { sender, number, at: Instant::ZERO + Duration::from_secs(2) }
    }

    #[test]
    fn the_rate_is_that_of_the_payload() {
        assert_eq!(datagrams().interval, Duration::from_millis(1));
    }

    #[test]
    fn a_stamp_comes_back() {
        let stamp = stamp(513, 70_000);
        assert_eq!(Stamp::parse(&stamp.emit()), Some(stamp));
        assert_eq!(Stamp::parse(&stamp.emit()[..STAMP_LEN - 1]), None);
    }

    #[test]
    fn what_is_missing_before_one_that_came_is_lost_unless_it_is_late() {
        let mut datagrams = datagrams();
        let now = Instant::ZERO + Duration::from_secs(3);
        datagrams.arrived(now, stamp(0, 0), 18);
        datagrams.arrived(now, stamp(0, 3), 18);
        datagrams.arrived(now, stamp(1, 1), 18);
        assert_eq!(datagrams.lost, 3);
        datagrams.arrived(now, stamp(0, 2), 18);
        assert_eq!((datagrams.lost, datagrams.delays.len()), (2, 4));
        // What was sent in the warm-up, or by nobody, counts for nothing.
        datagrams.arrived(now, Stamp { at: Instant::ZERO, ..stamp(0, 9) }, 18);
        datagrams.arrived(now, stamp(2, 9), 18);
        assert_eq!((datagrams.lost, datagrams.received_bytes), (2, 72));
    }
}
