//! Bulk transfer, the sequence wrap, and header prediction against the full way.

use super::pair::{A, B, Faults, Pair, pattern};
use crate::tcp::config::{Algorithm, EcnMode};
use crate::tcp::{Config, Data, Profile};
use crate::time::{Duration, Instant};
use crate::units::{BitRate, Ratio};
use proptest::prelude::*;

#[test]
fn tcp_4_five_gibibytes_wrap_the_sequence_space() {
    let mut config = Config::new(Profile::Modern, 65_535);
    config.receive_buffer = 64 << 20;
    config.send_buffer = 64 << 20;
    let mut pair = Pair::new(config.clone(), config).established();
    pair.logging = false;
    pair.keep_bytes = false;
    pair.delay = Duration::from_micros(500);
    pair.bulk(5 << 30, Duration::from_secs(600));
    let stats = *pair.end(A).stats();
    assert_eq!((stats.retransmissions, stats.timeouts), (0, 0));
    assert_eq!(pair.end(B).stats().bytes_received, 5 << 30);
    assert_eq!(pair.cx.work.dropped(crate::work::DropReason::Checksum), 0);
}

#[test]
fn real_and_elided_bytes_keep_their_places() {
    let mut pair = Pair::modern().established();
    let bytes = pattern(5000);
    let mut expected = Vec::new();
    for (from, zeros) in [(0, 1), (1000, 7000), (1001, 3), (4000, 0)] {
        pair.write(A, Data::Bytes(&bytes[from..]));
        pair.write(A, Data::Elided(zeros));
        expected.extend_from_slice(&bytes[from..]);
        expected.resize(expected.len() + zeros, 0);
    }
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.received[B], expected);
}

#[test]
fn almost_every_segment_of_a_bulk_transfer_is_predicted() {
    let mut pair = Pair::modern().established();
    pair.rate = Some(BitRate::from_bps(100_000_000));
    pair.bulk(20_000_000, Duration::from_secs(60));
    let (a, b) = (*pair.end(A).stats(), *pair.end(B).stats());
    assert_eq!(a.retransmissions, 0);
    assert!(a.predicted_acks * 100 >= a.segments_received * 95, "{a:?}");
    assert!(b.predicted_data * 100 >= b.segments_received * 95, "{b:?}");
    assert_eq!(pair.cx.work.fast_path_hits, a.predicted_acks + b.predicted_data);
}

#[test]
fn a_full_line_is_a_busy_line() {
    let mut pair = Pair::modern().established();
    pair.rate = Some(BitRate::from_bps(10_000_000));
    let took = pair.bulk(10_000_000, Duration::from_secs(60));
    // 1448 of 1500 bytes are payload; the window opens over a few round trips.
    let floor = 10_000_000 * 8 * 1500 / 1448 / 10_000;
    assert!((floor..floor + 500).contains(&took.as_millis()), "{took:?}");
}

/// One script of writes over faulty wires, with prediction on or off.
fn script(seed: u64, writes: &[(u8, usize, u64)], predicts: bool, config: &Config) -> Vec<String> {
    let mut config = config.clone();
    config.header_prediction = predicts;
    config.receive_buffer = config.receive_buffer.min(60_000);
    let mut pair = Pair::new(config.clone(), config).established();
    pair.seed(seed);
    pair.rate = Some(BitRate::from_bps(5_000_000));
    pair.faults = Some(Faults {
        loss: Ratio::from_ppb(5_000_000),
        duplication: Ratio::from_ppb(5_000_000),
        jitter: Duration::from_micros(seed % 4 * 900),
    });
    pair.mark_after = Some(Duration::from_millis(4 + seed % 8));
    let mut states = Vec::new();
    let mut until = pair.now;
    for (end, n, wait) in writes {
        let end = usize::from(end % 2);
        pair.write(end, Data::Elided(*n));
        until += Duration::from_micros(*wait);
        while pair.step(until) {
            states.push(pair.end(A).fingerprint());
            states.push(pair.end(B).fingerprint());
        }
    }
    states.push(format!("{:?}", pair.log));
    states
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn tcp_5_fast_and_slow_path_leave_the_same_state(
        seed: u64,
        writes in prop::collection::vec((0u8..2, 1usize..60_000, 0u64..400_000), 1..8),
    ) {
        let profiles = Profile::ALL.map(|profile| Config::new(profile, 1500));
        let marked = [Algorithm::Cubic, Algorithm::Dctcp].map(|algorithm| Config {
            algorithm,
            ecn: EcnMode::On,
            ..Config::new(Profile::Modern, 1500)
        });
        for config in profiles.iter().chain(&marked) {
            let fast = script(seed, &writes, true, config);
            let slow = script(seed, &writes, false, config);
            prop_assert_eq!(fast.len(), slow.len());
            for (f, s) in fast.iter().zip(&slow) {
                prop_assert_eq!(f, s);
            }
        }
    }
}

#[test]
fn the_hits_are_counted_only_when_prediction_is_on() {
    for (predicts, hits) in [(true, true), (false, false)] {
        let mut config = Config::new(Profile::Modern, 1500);
        config.header_prediction = predicts;
        let mut pair = Pair::new(config.clone(), config).established();
        pair.bulk(1_000_000, Duration::from_secs(10));
        assert_eq!(pair.cx.work.fast_path_hits > 0, hits);
    }
}

#[test]
fn a_connection_after_a_long_time_is_the_same() {
    let mut pair = Pair::modern();
    pair.now = Instant::ZERO + Duration::from_secs(60 * 24 * 3600);
    let mut pair = pair.established();
    pair.bulk(1_000_000, Duration::from_secs(10));
    pair.run_for(Duration::from_secs(30 * 24 * 3600));
    pair.bulk(1_000_000, Duration::from_secs(10));
    assert_eq!(pair.end(A).stats().retransmissions, 0);
}

#[test]
fn slow_lines_are_used_in_full() {
    for (profile, mtu, payload, slack_permille) in [
        (Profile::Modern, 600, 548, 15),
        (Profile::Modern, 1500, 1448, 25),
        (Profile::Linux11, 600, 536, 20),
        (Profile::Linux11, 900, 836, 20),
    ] {
        for rate in [9_600u64, 57_600] {
            let config = Config::new(profile, mtu);
            let mut pair = Pair::new(config.clone(), config).established();
            pair.delay = Duration::from_millis(5);
            pair.rate = Some(BitRate::from_bps(rate));
            let took = pair.bulk(289_284, Duration::from_secs(2000));
            let segments = 289_284u64.div_ceil(payload);
            let headers = if profile == Profile::Modern { 52 } else { 40 };
            let floor = (289_284 + segments * headers) * 8 * 1000 / rate;
            assert!(took.as_millis() <= floor + floor * slack_permille / 1000);
        }
    }
}
