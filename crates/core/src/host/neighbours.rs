//! Who of an Ethernet's stations has which IPv4 address (RFC 826; RFC 1122, 2.3.2): a table of answers and of
//! questions, with the packets that wait for an answer.
//!
//! Deviations: what is known is forgotten after a time and not asked for again before that; whom we did not
//! ask and who did not ask us is not learnt, as RFC 826 has it.

use crate::Context;
use crate::frame::Frame;
use crate::time::{Duration, Instant};
use crate::wire::mac::MacAddress;
use crate::work::DropReason;
use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

#[cfg(test)]
mod tests;

/// Addresses a table holds. One more takes the place of the one that is looked at least.
pub const NEIGHBOURS_MAX: usize = 1024;

/// How a host asks for addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asking {
    /// How long an answer holds.
    pub known_for: Duration,
    /// From one question for an address to the next (RFC 1122, 2.3.2.1). Without it every packet asks.
    pub interval: Option<Duration>,
    /// Questions before what waits is given up; where there is no interval nothing is.
    pub tries: u8,
    /// Packets that may wait for one answer; the oldest makes room.
    pub waiting_max: usize,
}

impl Asking {
    /// A question a second, three times; an answer holds a minute (RFC 1122, 2.3.2.1); at least one packet
    /// waits (2.3.2.2).
    pub const RFC_1122: Asking = Asking {
        known_for: Duration::from_secs(60),
        interval: Some(Duration::from_secs(1)),
        tries: 3,
        waiting_max: 4,
    };
    /// A question with every packet, the last of which waits; an answer holds twenty minutes.
    pub const BSD_4_2: Asking = Asking {
        known_for: Duration::from_secs(20 * 60),
        interval: None,
        tries: 1,
        waiting_max: 1,
    };
}

#[derive(Clone, Debug)]
enum Entry {
    Known { mac: MacAddress, until: Instant },
    Asked { at: Instant, tries: u8, waiting: VecDeque<Frame> },
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Resolved {
    /// It goes there.
    Known(MacAddress),
    /// It waits, and the address is to be asked for.
    Ask,
    /// It waits for an answer to a question that was asked.
    Wait,
}

/// Whether an address is new to the table when it is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Learn {
    /// Only what is in the table is changed.
    Update,
    /// It is put there.
    Insert,
}

/// The table of one card.
#[derive(Clone, Debug)]
pub(super) struct Neighbours {
    asking: Asking,
    entries: BTreeMap<Ipv4Addr, Entry>,
    /// No question is due before.
    due: Instant,
}

impl Neighbours {
    pub fn new(asking: Asking) -> Neighbours {
        Neighbours { asking, entries: BTreeMap::new(), due: Instant::FAR_FUTURE }
    }

    /// Where a packet goes. If that is not known the packet waits here.
    pub fn resolve(
        &mut self,
        now: Instant,
        cx: &mut Context,
        to: Ipv4Addr,
        frame: Frame,
    ) -> Resolved {
        let waiting_max = self.asking.waiting_max.max(1);
        match self.entries.get_mut(&to) {
            Some(Entry::Known { mac, until }) if *until > now => return Resolved::Known(*mac),
            Some(Entry::Asked { at, waiting, .. }) => {
                if waiting.len() >= waiting_max
                    && let Some(oldest) = waiting.pop_front()
                {
                    cx.drop_frame(oldest, DropReason::Unresolved);
                }
                waiting.push_back(frame);
                if self.asking.interval.is_some() {
                    return Resolved::Wait;
                }
                *at = now;
                return Resolved::Ask;
            }
            _ => {}
        }
        self.make_room(cx, to);
        let entry = Entry::Asked { at: now, tries: 1, waiting: VecDeque::from([frame]) };
        self.entries.insert(to, entry);
        self.due = self.due.min(self.ask_again_at(now));
        Resolved::Ask
    }

    fn ask_again_at(&self, asked_at: Instant) -> Instant {
        self.asking.interval.map_or(Instant::FAR_FUTURE, |interval| asked_at + interval)
    }

    fn make_room(&mut self, cx: &mut Context, to: Ipv4Addr) {
        if self.entries.len() < NEIGHBOURS_MAX || self.entries.contains_key(&to) {
            return;
        }
        let age = |entry: &Entry| match entry {
            Entry::Known { until, .. } => *until,
            Entry::Asked { at, .. } => *at,
        };
        let oldest = self.entries.iter().min_by_key(|(_, entry)| age(entry)).map(|(ip, _)| *ip);
        if let Some(Entry::Asked { waiting, .. }) = oldest.and_then(|ip| self.entries.remove(&ip)) {
            give_up(cx, waiting);
        }
    }

    /// Somebody's address has been told. Answers what waited for it.
    pub fn learn(
        &mut self,
        now: Instant,
        cx: &mut Context,
        (mac, ip): (MacAddress, Ipv4Addr),
        learn: Learn,
    ) -> VecDeque<Frame> {
        let is_known = self.entries.contains_key(&ip);
        if !is_known && learn == Learn::Update {
            return VecDeque::new();
        }
        self.make_room(cx, ip);
        let known = Entry::Known { mac, until: now + self.asking.known_for };
        match self.entries.insert(ip, known) {
            Some(Entry::Asked { waiting, .. }) => waiting,
            _ => VecDeque::new(),
        }
    }

    /// When a question is due again, or what waits to be given up.
    pub fn next_deadline(&self) -> Option<Instant> {
        (self.due != Instant::FAR_FUTURE).then_some(self.due)
    }

    /// Tells for whom to ask again, and gives up what has waited long enough.
    pub fn handle_timeout(
        &mut self,
        now: Instant,
        cx: &mut Context,
        mut ask: impl FnMut(&mut Context, Ipv4Addr),
    ) {
        if now < self.due {
            return;
        }
        let Asking { interval, tries: tries_max, .. } = self.asking;
        let Some(interval) = interval else { return };
        let mut due = Instant::FAR_FUTURE;
        self.entries.retain(|ip, entry| {
            let Entry::Asked { at, tries, waiting } = entry else {
                return true;
            };
            if *at + interval <= now {
                if *tries >= tries_max || waiting.is_empty() {
                    give_up(cx, std::mem::take(waiting));
                    return false;
                }
                *tries += 1;
                *at = now;
                ask(cx, *ip);
            }
            due = due.min(*at + interval);
            true
        });
        self.due = due;
    }

    /// Packets that wait.
    pub fn held_frames(&self) -> usize {
        let held = |entry: &Entry| match entry {
            Entry::Known { .. } => 0,
            Entry::Asked { waiting, .. } => waiting.len(),
        };
        self.entries.values().map(held).sum()
    }
}

fn give_up(cx: &mut Context, waiting: VecDeque<Frame>) {
    for frame in waiting {
        cx.drop_frame(frame, DropReason::Unresolved);
    }
}
