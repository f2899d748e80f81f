use super::*;
use crate::rng::Rng;
use proptest::prelude::*;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn red(config: RedConfig) -> Red<u64> {
    Red::new(config, Rng::new(1))
}

fn config(limit: u32) -> RedConfig {
    RedConfig::new(Limit::Packets(limit), Duration::from_millis(1))
}

/// Arrivals with a queue held at `length` packets; what was signalled, as distances between signals.
fn distances(red: &mut Red<u64>, length: usize, arrivals: u64, capable: Marked) -> Vec<u64> {
    let (mut distances, mut last) = (Vec::new(), None);
    for n in 0..arrivals {
        let mut asked = false;
        let pushed = red.push(at(0), n, 1000, |_| {
            asked = true;
            capable
        });
        assert_eq!(pushed.is_err(), asked && capable == Marked::NotCapable);
        if asked {
            distances.extend(last.map(|last| n - last));
            last = Some(n);
        }
        while red.len() > length {
            red.pop(at(0));
        }
    }
    distances
}

#[test]
fn below_the_lower_threshold_nothing_happens() {
    let mut red = red(config(100));
    assert!(distances(&mut red, 4, 10_000, Marked::Marked).is_empty());
    assert_eq!((*red.counts(), red.average()), (RedCounts::default(), 3));
}

#[test]
fn between_the_thresholds_signals_are_as_frequent_as_the_average_says_and_evenly_spread() {
    let mut red = red(RedConfig { weight_log2: 0, ..config(100) });
    // Halfway: one in twenty by itself, and with even spreading distances of 1 to 20, 10.5 in the mean.
    let distances = distances(&mut red, 10, 100_000, Marked::Marked);
    let mean = distances.iter().sum::<u64>() as f64 / distances.len() as f64;
    assert!((10.2..10.8).contains(&mean), "{mean}");
    assert_eq!(distances.iter().max(), Some(&20));
    assert_eq!(red.counts().marked, distances.len() as u64 + 1);
}

#[test]
fn what_cannot_be_marked_is_dropped() {
    let mut red = red(config(100));
    let dropped = distances(&mut red, 10, 20_000, Marked::NotCapable).len() as u64 + 1;
    assert_eq!(*red.counts(), RedCounts { early: dropped, ..RedCounts::default() });
}

#[test]
fn above_the_upper_threshold_all_is_dropped_or_gently_more() {
    let share = |above| {
        let mut red = red(RedConfig { above, weight_log2: 0, ..config(100) });
        (0..22).for_each(|n| red.queue.push_back_unbounded(n, 1000));
        let taken = (0..1000).filter(|n| {
            let taken = red.push(at(0), *n, 1000, |_| Marked::Marked).is_ok();
            if taken {
                red.pop(at(0));
            }
            taken
        });
        (taken.count(), red.counts().forced, red.counts().marked)
    };
    assert_eq!(share(Above::DropAll), (0, 1000, 0));
    let (taken, forced, marked) = share(Above::Gentle);
    // At 22 of 15 to 30 packets: 0.1 + 0.9 * 7 / 15 = 0.52, and evenly spread two of three.
    assert_eq!((taken, forced), (1000, 0));
    assert!((600..730).contains(&marked), "{marked}");
}

#[test]
fn a_burst_passes_and_a_standing_queue_does_not() {
    let mut red = red(config(100));
    for n in 0..50 {
        red.push(at(0), n, 1000, |_| Marked::NotCapable).unwrap();
    }
    assert_eq!(red.average(), 2);
    assert!(!distances(&mut red, 10, 2000, Marked::Marked).is_empty());
    assert!(red.counts().marked > 0);
}

#[test]
fn a_full_queue_refuses_whatever_the_average() {
    let mut red = red(config(3));
    for n in 0..3 {
        red.push(at(0), n, 1000, |_| Marked::Marked).unwrap();
    }
    assert_eq!(red.push(at(0), 3, 1000, |_| Marked::Marked), Err((3, DropReason::QueueFull)));
    assert_eq!(red.counts().full, 1);
}

#[test]
fn an_idle_time_counts_as_the_packets_that_could_have_come() {
    let mut red = red(config(100));
    distances(&mut red, 20, 3000, Marked::Marked);
    let before = red.average;
    while red.pop(at(0)).is_some() {}
    // 355 packets at 511/512 are one half.
    red.push(at(355), 0, 1000, |_| Marked::Marked).unwrap();
    let halved = red.average as f64 / before as f64;
    assert!((halved - 0.4995).abs() < 0.001, "{halved}");
    while red.pop(at(355)).is_some() {}
    red.push(Instant::from_nanos(u64::MAX), 0, 1000, |_| Marked::Marked).unwrap();
    assert_eq!(red.average, 0);
}

#[test]
fn bytes_are_counted_where_the_thresholds_are_bytes() {
    let config = RedConfig {
        limit: Limit::Bytes(100_000),
        min: Limit::Bytes(5_000),
        max: Limit::Bytes(15_000),
        ..config(100)
    };
    let mut small = red(config);
    for n in 0..10_000 {
        small.push(at(0), n, 100, |_| Marked::NotCapable).unwrap();
        if small.len() > 40 {
            small.pop(at(0));
        }
    }
    assert_eq!(small.average(), 3999);
}

proptest! {
    #[test]
    fn the_average_stays_within_what_was_there(
        weight_log2 in 0..=WEIGHT_LOG2_MAX,
        steps in prop::collection::vec((any::<bool>(), 0u64..50), 0..300),
    ) {
        let mut red = red(RedConfig { weight_log2, ..config(30) });
        let (mut now, mut most) = (0, 0);
        let (mut taken, mut given) = (0, 0);
        for (push, ms) in steps {
            now += ms;
            if push {
                taken += u64::from(red.push(at(now), 0, 1000, |_| Marked::Marked).is_ok());
                most = most.max(red.len() as u64);
            } else {
                given += u64::from(red.pop(at(now)).is_some());
            }
            prop_assert!(red.average() <= most);
            prop_assert_eq!(red.len() as u64, taken - given);
        }
    }
}
