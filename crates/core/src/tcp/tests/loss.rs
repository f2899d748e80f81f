//! Losses repaired by acknowledgments and by the timer, and repairs taken back.

use super::pair::{A, B, Pair};
use crate::cc::Phase;
use crate::tcp::config::Recovery;
use crate::tcp::{Config, Data, Profile};
use crate::time::Duration;
use crate::units::BitRate;

const MSS: usize = 1448;
const RTT: Duration = Duration::from_millis(100);

fn with(recovery: Recovery, initial_window: u32) -> Pair {
    let mut config = Config::new(Profile::Modern, 1500);
    config.recovery = recovery;
    config.initial_window = initial_window;
    // The floor stays out of the way of recoveries that take several round trips.
    config.rto_min = Duration::from_secs(1);
    Pair::new(config.clone(), config).established()
}

/// Sends a window of 20 with the given ones lost; returns the time until all has arrived.
fn window_of_20(pair: &mut Pair, lost: &[u64]) -> Duration {
    pair.drop_data = lost.to_vec();
    let start = pair.now;
    pair.write(A, Data::Elided(20 * MSS));
    assert_eq!(pair.data_lens(A).len(), 20);
    while pair.received_len[B] < 20 * MSS as u64 {
        assert!(pair.step(start + Duration::from_secs(60)));
    }
    let took = pair.now - start;
    pair.run_for(Duration::from_secs(5));
    took
}

#[test]
fn rec_1_one_loss_is_one_retransmission_and_no_timeout() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        for lost in [0, 5, 16] {
            let mut pair = with(recovery, 20);
            let took = window_of_20(&mut pair, &[lost]);
            let stats = *pair.end(A).stats();
            assert_eq!((stats.retransmissions, stats.timeouts), (1, 0), "{recovery:?} {lost}");
            assert_eq!(stats.fast_recoveries, 1);
            assert!(took < RTT * 2);
            assert_eq!(pair.end(A).snapshot().phase, Phase::Open);
            let snapshot = pair.end(A).snapshot();
            assert_eq!(snapshot.cwnd, snapshot.ssthresh);
            if lost == 0 {
                assert_eq!(snapshot.cwnd, 10 * MSS as u32);
            }
        }
    }
}

#[test]
fn rec_2_sack_repairs_four_losses_in_two_round_trips_and_newreno_in_about_four() {
    for recovery in [Recovery::Sack, Recovery::Rack] {
        let mut pair = with(recovery, 20);
        let took = window_of_20(&mut pair, &[2, 6, 9, 13]);
        assert!(took <= RTT * 2, "{took:?}");
        let stats = *pair.end(A).stats();
        assert_eq!((stats.retransmissions, stats.timeouts), (4, 0));
    }

    let mut pair = with(Recovery::NewReno, 20);
    let took = window_of_20(&mut pair, &[2, 6, 9, 13]);
    assert!(took > RTT * 4 && took <= RTT * 5, "{took:?}");
    let stats = *pair.end(A).stats();
    assert_eq!((stats.retransmissions, stats.timeouts), (4, 0));
}

#[test]
fn limited_transmit_sends_new_data_on_the_first_two_duplicates() {
    let mut pair = with(Recovery::NewReno, 4);
    pair.drop_data = vec![0];
    pair.write(A, Data::Elided(8 * MSS));
    pair.run_for(Duration::from_secs(4));
    assert_eq!(pair.end(A).stats().timeouts, 0);
    assert_eq!(pair.received_len[B], 8 * MSS as u64);
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    let mut pair = with(Recovery::Sack, 20);
    let took = window_of_20(&mut pair, &[5, 20]);
    let stats = *pair.end(A).stats();
    assert_eq!(stats.timeouts, 1);
    assert!(took > Duration::from_secs(1));
    assert_eq!(pair.received_len[B], 20 * MSS as u64);
}

#[test]
fn a_lost_tail_is_sent_again_after_the_timeout_in_slow_start() {
    let mut pair = with(Recovery::Sack, 10);
    pair.drop_data = (4..10).collect();
    pair.write(A, Data::Elided(10 * MSS));
    pair.run_for(Duration::from_secs(10));
    let stats = *pair.end(A).stats();
    assert_eq!((stats.retransmissions, stats.timeouts), (6, 1));
    assert_eq!(pair.received_len[B], 10 * MSS as u64);
    assert_eq!(pair.end(A).snapshot().ssthresh, 7 * MSS as u32);
}

#[test]
fn the_timer_doubles_and_gives_up_in_the_end() {
    let mut config = Config::new(Profile::Modern, 1500);
    config.tlp = false;
    config.retries = 4;
    let mut pair = Pair::new(config.clone(), config).established();
    pair.cut[A] = true;
    pair.log.clear();
    let start = pair.now;
    pair.write(A, Data::Elided(100));
    pair.run_for(Duration::from_secs(100));
    let gaps: Vec<u64> = pair.sent_by(A).map(|s| (s.at - start).as_millis()).collect();
    let rto = gaps[1];
    assert!((200..=400).contains(&rto));
    assert_eq!(gaps, [0, rto, 3 * rto, 7 * rto, 15 * rto]);
    assert_eq!(pair.events[A].last(), Some(&crate::tcp::Event::TimedOut));
}

/// A transfer whose path stalls for a while; nothing is lost.
fn stalled(eifel: bool) -> Pair {
    let mut config = Config::new(Profile::Modern, 1500);
    config.eifel = eifel;
    (config.tlp, config.frto, config.dsack) = (false, false, false);
    let mut pair = Pair::new(config.clone(), config).established();
    pair.rate = Some(BitRate::from_bps(2_000_000));
    pair.bulk(200_000, Duration::from_secs(20));
    pair.write(A, Data::Elided(200_000));
    pair.delay = Duration::from_millis(900);
    pair.run_for(Duration::from_millis(60));
    pair
}

#[test]
fn eifel_takes_a_spurious_timeout_back() {
    let mut pair = stalled(true);
    let cwnd = pair.end(A).snapshot().cwnd;
    pair.run_for(Duration::from_secs(20));
    let stats = *pair.end(A).stats();
    assert!(stats.timeouts >= 1);
    assert_eq!(stats.undos, 1);
    assert_eq!(stats.retransmissions, stats.timeouts, "only the first segment");
    assert!(pair.end(A).snapshot().cwnd >= cwnd);
    assert!(pair.end(A).snapshot().rto >= Duration::from_millis(900));

    let mut pair = stalled(false);
    pair.run_for(Duration::from_secs(20));
    let stats = *pair.end(A).stats();
    assert_eq!(stats.undos, 0);
    assert!(stats.retransmissions > 2 * stats.timeouts);
}

#[test]
fn eifel_leaves_a_true_timeout_alone() {
    let mut pair = with(Recovery::Sack, 10);
    pair.drop_data = (0..10).collect();
    pair.write(A, Data::Elided(10 * MSS));
    pair.run_for(Duration::from_secs(10));
    let stats = *pair.end(A).stats();
    assert_eq!((stats.timeouts, stats.undos), (1, 0));
    assert_eq!(pair.received_len[B], 10 * MSS as u64);
}

#[test]
fn karn_takes_no_sample_of_what_was_sent_twice() {
    let mut config = Config::new(Profile::Modern, 1500);
    config.timestamps = false;
    config.tlp = false;
    let mut pair = Pair::new(config.clone(), config).established();
    let samples = pair.end(A).stats().rtt_samples;
    pair.drop_data = vec![0];
    pair.write(A, Data::Elided(100));
    pair.run_for(Duration::from_secs(3));
    assert_eq!(pair.received_len[B], 100);
    assert_eq!(pair.end(A).stats().rtt_samples, samples);
    assert!(pair.end(A).snapshot().rto >= Duration::from_millis(400), "the doubling stays");
    pair.write(A, Data::Elided(100));
    pair.run_for(Duration::from_secs(3));
    assert_eq!(pair.end(A).stats().rtt_samples, samples + 1);
    assert!(pair.end(A).snapshot().rto < Duration::from_millis(400));
}
