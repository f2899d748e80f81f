use super::*;

const RATE: BitRate = BitRate::from_bps(10_000_000);
const PROPAGATION: Duration = Duration::from_nanos(6_400);
/// One bit at 10 Mbit/s.
const BIT: Duration = Duration::from_nanos(100);

fn bit_times(bits: u64) -> Duration {
    BIT * bits
}

fn at(bits: u64) -> Instant {
    Instant::ZERO + bit_times(bits)
}

fn star(seed: u64) -> Csma {
    Csma::new(RATE, Layout::Star(PROPAGATION), Rng::new(seed))
}

/// Bits of an Ethernet frame with this payload, preamble and gap included.
fn bits(payload: u64) -> u64 {
    ((payload + 18).max(64) + 20) * 8
}

/// A frame's time without the gap.
fn frame_time(payload: u64) -> Duration {
    bit_times(bits(payload) - GAP_BITS)
}

/// What became of the frames of stations that always have one.
struct Saturated {
    /// Frames that got through, by station, in order.
    sent: Vec<u16>,
    /// Attempts that each frame took, and what became of it.
    attempts: Vec<(u32, Outcome)>,
    cable: Csma,
    seconds: u64,
}

impl Saturated {
    fn run(mut cable: Csma, stations: u16, payload: u64, seconds: u64) -> Saturated {
        let mut tries = vec![0; usize::from(stations)];
        let (mut sent, mut attempts) = (Vec::new(), Vec::new());
        (0..stations).for_each(|slot| cable.start(Instant::ZERO, slot, bits(payload)));
        let end = Instant::ZERO + Duration::from_secs(seconds);
        let mut seen = Instant::ZERO;
        let count = |cable: &Csma, seen: Instant, tries: &mut Vec<u32>| {
            for signal in cable.signals.iter().filter(|signal| signal.start == seen) {
                tries[usize::from(cable.stations[signal.station].slot)] += 1;
            }
        };
        count(&cable, seen, &mut tries);
        while let Some(now) = cable.next_finish().filter(|at| *at < end) {
            let mut again = Vec::new();
            while let Some((slot, outcome)) = cable.poll_finished(now) {
                let tries = &mut tries[usize::from(slot)];
                attempts.push((std::mem::take(tries), outcome));
                if outcome == Outcome::Sent {
                    sent.push(slot);
                }
                again.push(slot);
            }
            again.into_iter().for_each(|slot| cable.start(now, slot, bits(payload)));
            if now > seen {
                seen = now;
                count(&cable, seen, &mut tries);
            }
        }
        Saturated { sent, attempts, cable, seconds }
    }

    /// The share of the cable's bits that are in frames.
    fn utilisation(&self) -> f64 {
        let counters = self.cable.counters;
        counters.sent_bits as f64 / (self.cable.rate.as_bps() * self.seconds) as f64
    }

    fn of(&self, station: u16) -> usize {
        self.sent.iter().filter(|slot| **slot == station).count()
    }
}

#[test]
fn eth_1_two_saturated_stations_use_nine_tenths_of_the_cable() {
    let alone = Saturated::run(star(7), 1, 1500, 5);
    let share = alone.utilisation();
    assert!(share > 0.985 && alone.cable.counters.collisions == 0, "one alone: {share:.4}");
    for propagation in [Duration::ZERO, PROPAGATION, bit_times(SLOT_BITS / 2)] {
        let cable = Csma::new(RATE, Layout::Star(propagation), Rng::new(7));
        let two = Saturated::run(cable, 2, 1500, 20);
        let share = two.utilisation();
        assert!((0.90..0.985).contains(&share), "two, {propagation} apart: {share:.4}");
        let first = two.of(0) as f64 / two.sent.len() as f64;
        assert!((0.3..0.7).contains(&first), "the first sent {first:.3} of all");
    }
}

#[test]
fn eth_2_a_hundred_stations_with_short_frames_use_about_half() {
    for propagation in [PROPAGATION, bit_times(SLOT_BITS / 4)] {
        let cable = Csma::new(RATE, Layout::Star(propagation), Rng::new(7));
        let many = Saturated::run(cable, 100, 46, 5);
        let share = many.utilisation();
        assert!((0.35..0.60).contains(&share), "100 stations, {propagation} apart: {share:.4}");
        assert!((0..100).all(|slot| many.of(slot) > 0), "somebody sent nothing");
        assert!(many.cable.counters.given_up > 0);
    }
}

#[test]
fn eth_3_frames_of_one_station_are_96_bit_times_apart() {
    for (rate, gap) in [(10_000_000, 9_600), (100_000_000, 960)] {
        let rate = BitRate::from_bps(rate);
        let mut cable = Csma::new(rate, Layout::Star(Duration::ZERO), Rng::new(1));
        let mut ends = Vec::new();
        cable.start(Instant::ZERO, 3, bits(1500));
        while ends.len() < 3 {
            let now = cable.next_finish().expect("a frame");
            if let Some(done) = cable.poll_finished(now) {
                assert_eq!(done, (3, Outcome::Sent));
                ends.push(now);
                cable.start(now, 3, bits(1500));
            }
        }
        let frame = rate.time_for_bits(bits(1500) - GAP_BITS);
        assert_eq!(ends[0], Instant::ZERO + frame);
        for pair in ends.windows(2) {
            let between = pair[1] - pair[0] - frame;
            assert_eq!(between, Duration::from_nanos(gap), "the gap at {rate}");
        }
        assert_eq!(cable.counters.deferred, 0, "its own gap is nobody else");
    }
}

#[test]
fn eth_4_no_frame_is_sent_after_its_sixteenth_attempt() {
    let many = Saturated::run(star(3), 200, 46, 8);
    let given_up: Vec<u32> = many
        .attempts
        .iter()
        .filter(|(_, outcome)| *outcome == Outcome::GivenUp)
        .map(|(attempts, _)| *attempts)
        .collect();
    assert_eq!(given_up.len() as u64, many.cable.counters.given_up);
    assert!(given_up.len() > 20, "{} frames were given up", given_up.len());
    assert!(given_up.iter().all(|attempts| *attempts == 16), "given up after {given_up:?}");
    let most = many.attempts.iter().map(|(attempts, _)| *attempts).max();
    assert_eq!(most, Some(16), "the most attempts of a frame");
    let mut histogram = [0; 16];
    for (attempts, _) in many.attempts.iter().filter(|(_, o)| *o == Outcome::Sent) {
        histogram[*attempts as usize - 1] += 1;
    }
    assert_eq!(histogram, many.cable.counters.attempts);
}

#[test]
fn eth_5_waits_are_drawn_evenly_from_a_range_that_doubles_up_to_the_tenth() {
    for collisions in 1..ATTEMPTS_MAX {
        let range = 1usize << collisions.min(10);
        let draws = 200 * range as u64;
        let mut rng = Rng::new(42).fork(&collisions.to_string());
        let mut counts = vec![0u32; range];
        (0..draws).for_each(|_| counts[draw(&mut rng, collisions) as usize] += 1);
        let chi: f64 = counts.iter().map(|count| (f64::from(*count) - 200.0).powi(2) / 200.0).sum();
        // Wilson and Hilferty's approximation of what is exceeded once in a thousand times.
        let freedom = (range - 1) as f64;
        let ninth = 2.0 / (9.0 * freedom);
        let limit = freedom * (1.0 - ninth + 3.09 * ninth.sqrt()).powi(3);
        assert!(chi < limit, "after {collisions}: chi-square {chi:.1} of at most {limit:.1}");
    }
}

#[test]
fn a_wait_is_so_many_slots_after_the_jam() {
    let mut counts = [0u32; 2];
    for seed in 0..200 {
        let mut cable = star(seed);
        cable.start(Instant::ZERO, 0, bits(1500));
        cable.start(Instant::ZERO, 1, bits(1500));
        let jam_ends = Instant::ZERO + bit_times(64 + 32);
        assert_eq!(cable.next_finish(), Some(jam_ends));
        cable.advance(jam_ends);
        let waited = (cable.stations[0].ready - jam_ends).as_nanos();
        assert_eq!(waited % 51_200, 0);
        counts[(waited / 51_200) as usize] += 1;
    }
    assert!(counts.iter().all(|count| (70..130).contains(count)), "{counts:?}");
}

/// Two stations at the ends of a cable, the second with its frame `later`: how many collisions there are.
fn collisions(later: Duration) -> u64 {
    let mut cable = Csma::new(RATE, Layout::Bus(PROPAGATION), Rng::new(2));
    cable.place(1, PROPAGATION);
    cable.start(Instant::ZERO, 0, bits(1500));
    cable.start(Instant::ZERO + later, 1, bits(1500));
    cable.advance(Instant::ZERO + Duration::from_micros(10));
    cable.counters.collisions
}

#[test]
fn who_cannot_hear_collides_and_who_can_waits() {
    let ns = Duration::from_nanos;
    assert_eq!([ns(0), ns(6_399), ns(6_400), ns(6_401)].map(collisions), [1, 1, 1, 0]);
}

#[test]
fn the_window_of_collisions_is_as_long_as_the_way_between_the_stations() {
    let mut cable = Csma::new(RATE, Layout::Bus(PROPAGATION), Rng::new(2));
    cable.place(1, Duration::from_nanos(1_000));
    assert_eq!(cable.way(0, 1), Duration::from_nanos(1_000));
    cable.start(Instant::ZERO, 0, bits(1500));
    cable.start(Instant::from_nanos(1_001), 1, bits(1500));
    assert_eq!(cable.counters.collisions, 0);
    assert_eq!(cable.counters.deferred, 1);
}

#[test]
fn a_collision_is_heard_after_the_way_and_sent_on_for_the_jam() {
    // The far station begins just before it hears the near one, which hears of it two ways later.
    let way = bit_times(200);
    let mut cable = Csma::new(RATE, Layout::Bus(way), Rng::new(2));
    cable.place(1, way);
    cable.start(at(0), 0, bits(1500));
    cable.start(at(199), 1, bits(1500));
    let ends: Vec<Instant> = cable.signals.iter().map(|signal| signal.end).collect();
    assert_eq!(ends, [at(399 + 32), at(199 + 64 + 32)]);
}

#[test]
fn a_signal_in_the_first_part_of_the_gap_begins_it_anew_and_one_in_the_last_does_not() {
    let times = star(1).times;
    let heard = |from: u64, to: u64| Heard { from: at(from), to: at(to), own: false };
    let opening = |second: u64, own: bool| {
        let first = Heard { own, ..heard(0, 1000) };
        (times.opening(at(500), &[first, heard(second, 3000)]) - Instant::ZERO).as_nanos() / 100
    };
    assert_eq!([1001, 1063, 1064, 1095].map(|from| opening(from, false)), [3096, 3096, 1096, 1096]);
    assert_eq!([1001, 1063, 1064, 1095].map(|from| opening(from, true)), [1096; 4]);
    // Who comes later than the end of the gap hears the second.
    let late = times.opening(at(1097), &[heard(0, 1000), heard(1080, 3000)]);
    assert_eq!(late, at(3096));
}

#[test]
fn all_who_waited_begin_at_the_end_of_the_gap() {
    let mut cable = star(5);
    cable.start(at(0), 0, bits(1500));
    cable.start(at(100), 1, bits(1500));
    cable.start(at(200), 2, bits(1500));
    cable.start(at(300), 3, bits(1500));
    let end = at(0) + frame_time(1500);
    assert_eq!(cable.poll_finished(end), Some((0, Outcome::Sent)));
    assert_eq!(cable.next_finish(), Some(end + PROPAGATION + bit_times(GAP_BITS)));
    cable.advance(end + Duration::from_micros(20));
    // One collision, though of three.
    let Counters { sent, collisions, deferred, .. } = cable.counters;
    assert_eq!((sent, collisions, deferred), (1, 1, 3));
}

#[test]
fn the_winner_wins_again() {
    let two = Saturated::run(star(11), 2, 1500, 60);
    let again = two.sent.windows(2).filter(|pair| pair[0] == pair[1]).count();
    let share = again as f64 / (two.sent.len() - 1) as f64;
    assert!(share > 0.7, "{share:.3} of the frames follow one of the same station");
    let longest = two.sent.chunk_by(|a, b| a == b).map(<[u16]>::len).max();
    assert!(longest.is_some_and(|run| run > 50), "the longest run of one station: {longest:?}");
}

#[test]
fn ten_times_the_rate_on_a_tenth_of_the_cable_is_the_same_in_bit_times() {
    let fast = Layout::Star(Duration::from_nanos(640));
    let fast = Csma::new(BitRate::from_bps(100_000_000), fast, Rng::new(9));
    let [slow, fast] = [(star(9), 10), (fast, 1)].map(|(c, s)| Saturated::run(c, 10, 200, s));
    assert_eq!(slow.sent, fast.sent);
    let [slow, fast] = [slow.cable.counters, fast.cable.counters];
    assert_eq!(Counters { busy: fast.busy * 10, ..fast }, slow);
}

/// Random frames at random stations of a bus; every signal that there was, with its length as it was at last.
fn random(seed: u64) -> (Csma, Vec<Signal>) {
    let rng = Rng::new(seed);
    let mut draws = rng.fork("draws");
    let length = bit_times(draws.between(0, 256));
    let mut cable = Csma::new(RATE, Layout::Bus(length), rng);
    let stations = draws.between(2, 8) as u16;
    for slot in 0..stations {
        cable.place(slot, Duration::from_nanos(draws.between(0, length.as_nanos())));
    }
    let mut wakes: Vec<Instant> = vec![Instant::ZERO; usize::from(stations)];
    let mut signals: Vec<Signal> = Vec::new();
    let mut left = 300;
    while left > 0 {
        let wake = wakes.iter().copied().min().expect("stations");
        let now = cable.next_finish().map_or(wake, |next| next.min(wake));
        while let Some((slot, _)) = cable.poll_finished(now) {
            wakes[usize::from(slot)] = now + bit_times(draws.below(4_000));
            left -= 1;
        }
        for slot in 0..stations {
            if wakes[usize::from(slot)] == now {
                wakes[usize::from(slot)] = Instant::FAR_FUTURE;
                cable.start(now, slot, bits(draws.between(46, 1500)));
            }
        }
        for signal in &cable.signals {
            let is_known = |known: &&mut Signal| {
                (known.station, known.start) == (signal.station, signal.start)
            };
            match signals.iter_mut().rev().take(40).find(is_known) {
                Some(known) => *known = *signal,
                None => signals.push(*signal),
            }
        }
    }
    (cable, signals)
}

#[test]
fn a_frame_that_got_through_was_heard_whole_everywhere() {
    let full = bit_times(PREAMBLE_BITS + FRAME_BITS_MIN);
    let mut collided = 0;
    for seed in 0..100 {
        let (cable, signals) = random(seed);
        collided += signals.iter().filter(|signal| signal.collided).count();
        for (i, frame) in signals.iter().enumerate().filter(|(_, signal)| !signal.collided) {
            assert!(frame.end - frame.start >= full, "seed {seed}: {frame:?} is too short");
            // Signals are in the order of their beginning; far ones cannot meet.
            let near = signals[i.saturating_sub(20)..].iter().take(40);
            for other in near.filter(|s| (s.start, s.station) != (frame.start, frame.station)) {
                for place in 0..cable.stations.len() {
                    let heard = |signal: &Signal| {
                        let apart = cable.apart(signal.station, place);
                        (signal.start + apart, signal.end + apart)
                    };
                    let ((from, to), (begins, ends)) = (heard(frame), heard(other));
                    let is_apart = to <= begins || ends <= from;
                    assert!(is_apart, "seed {seed}: {frame:?} and {other:?} at station {place}");
                }
            }
        }
    }
    assert!(collided > 1_000, "{collided} fragments");
}

#[test]
fn fragments_are_never_longer_than_a_collision_may_take() {
    for seed in 0..100 {
        let (_, signals) = random(seed);
        for fragment in signals.iter().filter(|signal| signal.collided) {
            let length = fragment.end - fragment.start;
            assert!(length >= bit_times(PREAMBLE_BITS + JAM_BITS), "seed {seed}: {fragment:?}");
            assert!(length <= bit_times(SLOT_BITS + JAM_BITS), "seed {seed}: {fragment:?}");
        }
    }
}

#[test]
fn what_is_too_short_is_sent_as_the_shortest_frame() {
    let mut cable = star(1);
    cable.start(at(0), 0, bits(46) - 8);
    assert_eq!(cable.next_finish(), Some(at(PREAMBLE_BITS + FRAME_BITS_MIN)));
    assert_eq!(bits(46), PREAMBLE_BITS + FRAME_BITS_MIN + GAP_BITS);
}

#[test]
fn the_cable_is_busy_while_somebody_sends() {
    let mut cable = star(1);
    cable.start(at(0), 0, bits(1500));
    assert_eq!(cable.counters(at(50)).busy, bit_times(50));
    cable.advance(at(100_000));
    assert_eq!(cable.counters(at(100_000)).busy, frame_time(1500));
    assert_eq!(cable.counters.sent_bits, 1518 * 8);
    assert_eq!(cable.counters.attempts_mean(), Some(1.0));
}
