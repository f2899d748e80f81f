//! Half-duplex Ethernet, one cable for all (IEEE 802.3, CSMA/CD): whoever hears nobody sends, who began before
//! he could hear another collides with him, and waits a random while that doubles in the mean with every
//! collision of his frame. After sixteen the frame is given up.
//!
//! A station whose frame got through begins anew, the losers keep their counts: the winner wins again, which
//! is known as capture.
//!
//! Deviations: all stations are the same way apart; carrier is deferred to for the whole gap between frames;
//! frames carry no addresses and reach their link's other end alone.

use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::BitRate;
use std::collections::VecDeque;

/// Silence after anything on the cable.
pub const GAP_BITS: u64 = 96;
/// What a collision may take, and the unit of waiting after it.
pub const SLOT_BITS: u64 = 512;
/// What tells everybody of a collision.
const JAM_BITS: u64 = 32;
/// The shortest thing on the cable: a preamble and a jam.
const FRAGMENT_BITS_MIN: u64 = 96;
/// Collisions after which a frame is given up.
pub const ATTEMPTS_MAX: u8 = 16;
/// Collisions after which the mean wait doubles no more.
const BACKOFF_MAX: u8 = 10;

/// What became of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Everybody has heard it.
    Sent,
    /// It collided too often.
    GivenUp,
}

/// What a cable has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frames that got through.
    pub sent: u64,
    /// Collisions, of however many frames.
    pub collisions: u64,
    /// Frames given up.
    pub given_up: u64,
}

#[derive(Clone, Copy, Debug)]
struct Station {
    slot: u16,
    bits: u64,
    collisions: u8,
    /// From when on it wants to send; none when it has nothing.
    ready: Option<Instant>,
}

impl Station {
    /// Whether it begins at `start` or before it is `heard`, on a cable that is silent from then on.
    fn begins(&self, start: Instant, heard: Instant, silent: Instant) -> bool {
        self.ready.is_some_and(|ready| {
            let begins = ready.max(silent);
            begins == start || begins < heard
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Sending {
    station: usize,
    until: Instant,
}

/// One cable with its stations.
#[derive(Clone, Debug)]
pub struct Csma {
    rate: BitRate,
    propagation: Duration,
    rng: Rng,
    stations: Vec<Station>,
    sending: Option<Sending>,
    /// From when on the cable has been silent for a gap.
    silent: Instant,
    finished: VecDeque<(u16, Outcome)>,
    clock: Instant,
    counters: Counters,
}

impl Csma {
    /// A silent cable of this rate, on which every station hears every other after `propagation`. Waits
    /// are drawn from `rng`.
    ///
    /// # Panics
    /// When the rate is zero.
    pub fn new(rate: BitRate, propagation: Duration, rng: Rng) -> Self {
        assert!(!rate.is_zero(), "a cable needs a rate above zero");
        Csma {
            rate,
            propagation,
            rng,
            stations: Vec::new(),
            sending: None,
            silent: Instant::ZERO,
            finished: VecDeque::new(),
            clock: Instant::ZERO,
            counters: Counters::default(),
        }
    }

    /// What has been seen so far.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// The station the caller knows as `slot` wants to send a frame of `bits`, the gap behind it included.
    ///
    /// # Panics
    /// When it has not done with the frame before.
    pub fn start(&mut self, now: Instant, slot: u16, bits: u64) {
        self.advance(now);
        assert!(
            self.finished.iter().all(|done| done.0 != slot),
            "its last frame was not collected"
        );
        let known = self.stations.iter().position(|station| station.slot == slot);
        let index = known.unwrap_or_else(|| {
            self.stations.push(Station { slot, bits: 0, collisions: 0, ready: None });
            self.stations.len() - 1
        });
        let is_sending = self.sending.is_some_and(|sending| sending.station == index);
        let station = &mut self.stations[index];
        assert!(station.ready.is_none() && !is_sending, "the station is still sending");
        let bits = bits.saturating_sub(GAP_BITS);
        *station = Station { slot, bits, collisions: 0, ready: Some(now) };
    }

    /// When the next frame ends, or it shows whether it collides.
    pub fn next_finish(&self) -> Option<Instant> {
        if !self.finished.is_empty() {
            return Some(self.clock);
        }
        match self.sending {
            Some(sending) => Some(sending.until),
            None => self.first_start().map(|start| start + self.propagation),
        }
    }

    /// Takes a station whose frame has come to an end by `now`.
    pub fn poll_finished(&mut self, now: Instant) -> Option<(u16, Outcome)> {
        self.advance(now);
        self.finished.pop_front()
    }

    /// When the next station begins.
    fn first_start(&self) -> Option<Instant> {
        let first = self.stations.iter().filter_map(|station| station.ready).min()?;
        Some(first.max(self.silent))
    }

    fn advance(&mut self, now: Instant) {
        self.clock = self.clock.max(now);
        loop {
            if let Some(sending) = self.sending {
                if sending.until > now {
                    break;
                }
                self.end(sending);
            } else {
                let Some(start) = self.first_start() else { break };
                // Until then another may begin that does not hear the first.
                if start + self.propagation > now {
                    break;
                }
                self.begin(start);
            }
        }
    }

    /// All who begin at `start`, or before they can hear who did.
    fn begin(&mut self, start: Instant) {
        let heard = start + self.propagation;
        let silent = self.silent;
        let mut who =
            self.stations.iter().enumerate().filter(|(_, s)| s.begins(start, heard, silent));
        let (first, second) = (who.next(), who.next());
        let Some((station, _)) = first else { return };
        if second.is_some() {
            return self.collide(start, heard);
        }
        let until = start + self.rate.time_for_bits(self.stations[station].bits);
        self.stations[station].ready = None;
        self.sending = Some(Sending { station, until });
    }

    fn end(&mut self, sending: Sending) {
        let station = &mut self.stations[sending.station];
        self.finished.push_back((station.slot, Outcome::Sent));
        self.counters.sent += 1;
        self.sending = None;
        self.silent = sending.until + self.rate.time_for_bits(GAP_BITS);
    }

    fn collide(&mut self, start: Instant, heard: Instant) {
        let silent = self.silent;
        self.counters.collisions += 1;
        let heard_by_all = self.propagation + self.propagation + self.rate.time_for_bits(JAM_BITS);
        let end = start + heard_by_all.max(self.rate.time_for_bits(FRAGMENT_BITS_MIN));
        self.silent = end + self.rate.time_for_bits(GAP_BITS);
        let slot_time = self.rate.time_for_bits(SLOT_BITS).as_nanos();
        for station in self.stations.iter_mut().filter(|s| s.begins(start, heard, silent)) {
            station.collisions += 1;
            if station.collisions == ATTEMPTS_MAX {
                station.ready = None;
                self.finished.push_back((station.slot, Outcome::GivenUp));
                self.counters.given_up += 1;
                continue;
            }
            let slots = self.rng.below(1 << station.collisions.min(BACKOFF_MAX));
            station.ready = Some(end + Duration::from_nanos(slots * slot_time));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: BitRate = BitRate::from_bps(10_000_000);
    const PROPAGATION: Duration = Duration::from_nanos(6_400);

    fn cable(seed: u64) -> Csma {
        Csma::new(RATE, PROPAGATION, Rng::new(seed))
    }

    /// Preamble and gap.
    const SILENCE_BITS: u64 = 8 * 8 + GAP_BITS;

    /// Bits of an Ethernet frame with this payload, preamble and gap included.
    fn bits(payload: u64) -> u64 {
        ((payload + 18).max(64) + 20) * 8
    }

    /// Stations that always have a frame: the share of the cable's bits that are in frames, and how often
    /// each station sent.
    fn saturate(stations: u16, payload: u64, seconds: u64) -> (f64, Vec<u64>, Csma) {
        let mut cable = cable(7);
        let mut sent = vec![0; usize::from(stations)];
        (0..stations).for_each(|slot| cable.start(Instant::ZERO, slot, bits(payload)));
        let end = Instant::ZERO + Duration::from_secs(seconds);
        while let Some(now) = cable.next_finish().filter(|at| *at < end) {
            while let Some((slot, outcome)) = cable.poll_finished(now) {
                sent[usize::from(slot)] += u64::from(outcome == Outcome::Sent);
                cable.start(now, slot, bits(payload));
            }
        }
        let carried = sent.iter().sum::<u64>() * (bits(payload) - SILENCE_BITS);
        (carried as f64 / (RATE.as_bps() * seconds) as f64, sent, cable)
    }

    #[test]
    fn two_stations_use_nine_tenths_and_one_all_of_the_cable() {
        let (alone, _, cable) = saturate(1, 1500, 5);
        assert!(alone > 0.985 && cable.counters().collisions == 0, "{alone}");
        let (two, sent, _) = saturate(2, 1500, 20);
        assert!((0.9..1.0).contains(&two), "{two}");
        let larger = *sent.iter().max().expect("two") as f64 / sent.iter().sum::<u64>() as f64;
        assert!(larger < 0.7, "{sent:?}");
    }

    #[test]
    fn a_hundred_stations_with_short_frames_use_about_half() {
        let (share, sent, cable) = saturate(100, 46, 20);
        assert!((0.35..0.60).contains(&share), "{share}");
        assert!(sent.iter().all(|count| *count > 0));
        assert!(cable.counters().given_up > 0);
    }

    #[test]
    fn frames_of_one_station_are_a_gap_apart() {
        let mut cable = cable(1);
        let mut ends = Vec::new();
        cable.start(Instant::ZERO, 3, bits(1500));
        for _ in 0..3 {
            // It shows that nobody else has begun, and then the frame ends.
            let decided = cable.next_finish().expect("a frame");
            assert_eq!(cable.poll_finished(decided), None);
            let end = cable.next_finish().expect("a frame");
            assert_eq!(cable.poll_finished(end), Some((3, Outcome::Sent)));
            ends.push(end);
            cable.start(end, 3, bits(1500));
        }
        let frame = RATE.time_for_bits(bits(1500) - GAP_BITS);
        let gap = RATE.time_for_bits(GAP_BITS);
        assert_eq!(ends[0], Instant::ZERO + frame);
        assert!(ends.windows(2).all(|pair| pair[1] - pair[0] == frame + gap));
        assert_eq!(gap, Duration::from_nanos(9_600));
    }

    #[test]
    fn who_cannot_hear_collides_and_who_can_waits() {
        let collides = |later: u64| {
            let mut cable = cable(2);
            cable.start(Instant::ZERO, 0, bits(1500));
            cable.start(Instant::ZERO + Duration::from_nanos(later), 1, bits(1500));
            cable.poll_finished(Instant::ZERO + Duration::from_micros(100));
            cable.counters().collisions > 0
        };
        assert!(collides(0) && collides(6_399) && !collides(6_400));
    }

    #[test]
    fn a_frame_is_given_up_after_its_sixteenth_collision() {
        let (_, _, cable) = saturate(200, 46, 20);
        let Counters { given_up, collisions, sent } = cable.counters();
        assert!(given_up > 0 && collisions > 15 * given_up / 200 && sent > given_up);
        assert!(cable.stations.iter().all(|station| station.collisions < ATTEMPTS_MAX));
    }

    #[test]
    fn waits_are_drawn_evenly_from_a_range_that_doubles() {
        // Chi-square of the first wait after the third collision: 8 slots.
        let mut counts = [0u32; 8];
        for seed in 0..4000 {
            let mut cable = cable(seed);
            let ready = Some(Instant::ZERO);
            cable.stations.push(Station { slot: 0, bits: 1, collisions: 2, ready });
            cable.collide(Instant::ZERO, Instant::ZERO + PROPAGATION);
            let ready = cable.stations[0].ready.expect("it tries again") - Instant::ZERO;
            let after = ready - Duration::from_nanos(2 * 6_400 + 3_200);
            counts[(after.as_nanos() / 51_200) as usize] += 1;
            assert_eq!(after.as_nanos() % 51_200, 0);
        }
        let chi: f64 = counts.iter().map(|count| (f64::from(*count) - 500.0).powi(2) / 500.0).sum();
        assert!(chi < 24.3, "{counts:?} {chi}"); // 0.1 % at 7 degrees of freedom
    }
}
