//! When paced segments leave.

use super::pair::{A, Pair, Sent};
use crate::tcp::{Config, Data, Profile};
use crate::time::{Duration, Instant, Reason};

/// Two directions of 50 ms.
const ROUND_TRIP: Duration = Duration::from_millis(100);

fn pair(pacing: bool) -> Pair {
    let other = Config::new(Profile::Modern, 1500);
    let config = Config { pacing, initial_ssthresh: Some(20), ..other.clone() };
    Pair::new(config, other).established()
}

/// The bursts of data A sent: when, and how many segments.
fn bursts(pair: &Pair) -> Vec<(Instant, usize)> {
    let mut bursts: Vec<(Instant, usize)> = Vec::new();
    for Sent { at, .. } in pair.sent_by(A).filter(|s| s.len > 0) {
        match bursts.last_mut() {
            Some((last, n)) if last == at => *n += 1,
            _ => bursts.push((*at, 1)),
        }
    }
    bursts
}

#[test]
fn a_window_is_spread_over_the_round_trip_in_pairs() {
    let mut pair = pair(true);
    pair.write(A, Data::Elided(14_480));
    assert!(matches!(pair.end(A).poll_timeout(), Some((_, Reason::Pacing | Reason::Retransmit))));
    pair.run_for(Duration::from_millis(99));
    let bursts = bursts(&pair);
    assert_eq!(bursts.iter().map(|b| b.1).collect::<Vec<_>>(), [2; 5]);
    // Ten segments of window, the threshold at twenty: 1.2 windows per round trip.
    let step = ROUND_TRIP.as_nanos() * 2 / 12;
    for pair in bursts.windows(2) {
        let gap = (pair[1].0 - pair[0].0).as_nanos();
        assert!(gap.abs_diff(step) < 10, "{gap} ns");
    }
}

#[test]
fn slow_start_that_has_far_to_go_is_faster() {
    let other = Config::new(Profile::Modern, 1500);
    let mut pair = Pair::new(Config { pacing: true, ..other.clone() }, other).established();
    pair.write(A, Data::Elided(14_480));
    pair.run_for(Duration::from_millis(99));
    let bursts = bursts(&pair);
    let gap = (bursts[1].0 - bursts[0].0).as_nanos();
    assert!(gap.abs_diff(ROUND_TRIP.as_nanos() / 10) < 10, "{gap} ns");
}

#[test]
fn without_pacing_the_window_leaves_at_once() {
    let mut pair = pair(false);
    pair.write(A, Data::Elided(14_480));
    assert_eq!(bursts(&pair).iter().map(|b| b.1).collect::<Vec<_>>(), [10]);
}

#[test]
fn what_was_saved_while_idle_is_no_more_than_a_burst() {
    let mut pair = pair(true);
    pair.write(A, Data::Elided(1448));
    pair.run_for(Duration::from_secs(5));
    pair.log.clear();
    pair.write(A, Data::Elided(14_480));
    assert_eq!(bursts(&pair)[0].1, 2);
}

#[test]
fn fast_connections_send_a_millisecond_at_once() {
    let mut pair = pair(true);
    pair.end(A);
    pair.delay = Duration::from_micros(500);
    pair.bulk(10_000_000, Duration::from_secs(30));
    pair.log.clear();
    pair.write(A, Data::Elided(4_000_000));
    let first = bursts(&pair)[0].1;
    assert!(first > 10, "{first} segments");
}

#[test]
fn a_paced_transfer_is_no_slower_than_its_line() {
    let other = Config::new(Profile::Modern, 1500);
    let mut pair = Pair::new(Config { pacing: true, ..other.clone() }, other).established();
    pair.rate = Some(crate::units::BitRate::from_bps(10_000_000));
    let paced = pair.bulk(5_000_000, Duration::from_secs(30));
    // 3454 packets of 1500 bytes take 4.14 s on the line.
    assert!(paced < Duration::from_millis(5000), "{paced}");
    assert_eq!(pair.end(A).stats().timeouts, 0);
}
