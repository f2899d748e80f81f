//! When segments and acknowledgments leave: windows, probes, Nagle, delayed acknowledgments.

use super::pair::{A, B, Pair, pattern};
use crate::tcp::{Config, Data, Event, Profile};
use crate::time::{Duration, Reason};

const MSS: usize = 1448;

fn small_receiver(bytes: u32) -> Pair {
    let config = Config::new(Profile::Modern, 1500);
    let mut receiver = config.clone();
    receiver.receive_buffer = bytes;
    let mut pair = Pair::new(config, receiver).established();
    pair.reads[B] = false;
    pair
}

#[test]
fn a_reader_that_does_not_read_stops_the_sender() {
    let mut pair = small_receiver(10_000);
    pair.write(A, Data::Elided(50_000));
    pair.run_for(Duration::from_millis(150));
    // What is left of the window is less than half of it and less than a segment: not worth sending
    // until the persist timer says so.
    assert_eq!(pair.end(B).readable(), 6 * MSS);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.end(B).readable(), 10_000);
    assert_eq!(pair.end(A).snapshot().snd_wnd, 0);
    assert_eq!(pair.end(A).snapshot().flight, 0);
    assert!(matches!(pair.end(A).poll_timeout(), Some((_, Reason::Persist))));
    assert_eq!(pair.read(B), 10_000);
    pair.reads[B] = true;
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.received_len[B], 50_000);
    assert_eq!(pair.end(A).stats().timeouts, 0);
}

#[test]
fn a_closed_window_is_probed_ever_more_rarely_and_never_given_up() {
    let mut pair = small_receiver(5_000);
    pair.write(A, Data::Elided(20_000));
    pair.run_for(Duration::from_secs(1));
    pair.log.clear();
    let before = pair.end(A).stats().probes;
    pair.run_for(Duration::from_secs(3 * 3600));
    let times: Vec<u64> = pair.sent_by(A).map(|s| s.at.as_millis()).collect();
    assert_eq!(pair.end(A).stats().probes - before, times.len() as u64);
    assert_eq!((times[2] - times[1]), 2 * (times[1] - times[0]));
    let last = times.len() - 1;
    assert_eq!(times[last] - times[last - 1], 120_000);
    pair.read(B);
    pair.reads[B] = true;
    pair.run_for(Duration::from_secs(130));
    assert_eq!(pair.received_len[B], 20_000);
}

#[test]
fn a_lost_window_update_is_repaired_by_the_probe() {
    let mut pair = small_receiver(5_000);
    pair.write(A, Data::Elided(20_000));
    pair.run_for(Duration::from_millis(150));
    pair.cut[B] = true;
    pair.read(B);
    pair.run_for(Duration::from_millis(100));
    pair.cut[B] = false;
    pair.reads[B] = true;
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.received_len[B], 20_000);
}

#[test]
fn unanswered_probes_end_the_connection() {
    let mut pair = small_receiver(5_000);
    pair.write(A, Data::Elided(20_000));
    pair.run_for(Duration::from_millis(150));
    pair.cut[A] = true;
    pair.run_for(Duration::from_secs(3600));
    assert_eq!(pair.events[A].last(), Some(&Event::TimedOut));
}

#[test]
fn small_reads_do_not_make_a_silly_window() {
    let mut pair = small_receiver(8 * MSS as u32);
    pair.write(A, Data::Elided(100_000));
    pair.run_for(Duration::from_millis(500));
    pair.log.clear();
    for _ in 0..400 {
        pair.read_up_to(B, 100);
        pair.pump();
        pair.run_for(Duration::from_millis(5));
    }
    let lens = pair.data_lens(A);
    assert!(lens.len() > 10 && lens.iter().all(|n| *n >= MSS as u32 / 2), "{lens:?}");
}

#[test]
fn nagle_holds_a_short_segment_while_another_is_out() {
    let mut pair = Pair::modern().established();
    for _ in 0..5 {
        pair.write(A, Data::Bytes(b"key"));
    }
    assert_eq!(pair.data_lens(A), [3]);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.data_lens(A), [3, 12]);

    let mut config = Config::new(Profile::Modern, 1500);
    config.nagle = false;
    let mut pair = Pair::new(config.clone(), config).established();
    for _ in 0..5 {
        pair.write(A, Data::Bytes(b"key"));
    }
    assert_eq!(pair.data_lens(A), [3; 5]);
}

#[test]
fn nagle_lets_full_segments_pass_and_the_fin_release_the_rest() {
    let mut pair = Pair::modern().established();
    pair.write(A, Data::Elided(3 * MSS + 10));
    assert_eq!(pair.data_lens(A), [MSS as u32; 3]);
    pair.close(A);
    assert_eq!(pair.data_lens(A), [MSS as u32, MSS as u32, MSS as u32, 10]);
}

#[test]
fn acknowledgments_are_quick_at_first_and_then_held_back() {
    let mut pair = Pair::modern().established();
    pair.write(A, Data::Elided(16 * MSS));
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.sent_by(B).count(), 16);
    pair.log.clear();
    pair.write(A, Data::Elided(6 * MSS));
    pair.run_for(Duration::from_millis(51));
    assert_eq!(pair.sent_by(B).count(), 3);
    pair.run_for(Duration::from_secs(1));
    pair.log.clear();
    let start = pair.now;
    pair.write(A, Data::Elided(MSS));
    pair.run_for(Duration::from_secs(1));
    let acks: Vec<u64> = pair.sent_by(B).map(|s| (s.at - start).as_millis()).collect();
    assert_eq!(acks, [50 + 40]);
}

#[test]
fn an_acknowledgment_rides_on_data() {
    let mut pair = Pair::modern().established();
    pair.write(A, Data::Elided(20 * MSS));
    pair.run_for(Duration::from_secs(1));
    pair.log.clear();
    pair.write(A, Data::Bytes(b"ask"));
    pair.run_for(Duration::from_millis(60));
    pair.write(B, Data::Bytes(b"answer"));
    pair.run_for(Duration::from_secs(1));
    let lens: Vec<u32> = pair.log.iter().map(|s| s.len).collect();
    assert_eq!(lens, [3, 6, 0]);
}

#[test]
fn out_of_order_segments_are_acknowledged_at_once_with_sack() {
    let mut pair = Pair::modern().established();
    pair.write(A, Data::Elided(20 * MSS));
    pair.run_for(Duration::from_secs(1));
    pair.log.clear();
    pair.drop_data = vec![20];
    pair.write(A, Data::Elided(4 * MSS));
    pair.run_for(Duration::from_millis(51));
    let acks: Vec<_> = pair.sent_by(B).copied().collect();
    assert_eq!(acks.len(), 3);
    assert!(acks.iter().all(|s| s.repr.options.sack.len() == 1));
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.received_len[B], 24 * MSS as u64);
}

#[test]
fn writers_and_readers_are_woken_once_per_cause() {
    let mut config = Config::new(Profile::Modern, 1500);
    config.send_buffer = 9000;
    let mut pair = Pair::new(config.clone(), config).established();
    pair.events = [Vec::new(), Vec::new()];
    assert_eq!(pair.write(A, Data::Bytes(&pattern(10_000))), 9000);
    assert_eq!(pair.end(A).send_space(), 0);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.events[A], [Event::Writable]);
    assert_eq!(pair.end(A).send_space(), 9000);
    assert_eq!(pair.end(A).queued(), 0);
    assert!(pair.events[B].iter().all(|e| *e == Event::Readable));
    assert_eq!(pair.received[B], pattern(10_000)[..9000]);
}

#[test]
fn the_window_restarts_after_an_idle_time() {
    let mut pair = Pair::modern().established();
    pair.bulk(500_000, Duration::from_secs(10));
    assert!(pair.end(A).snapshot().cwnd > 20 * MSS as u32);
    pair.run_for(Duration::from_secs(10));
    pair.log.clear();
    pair.write(A, Data::Elided(100 * MSS));
    assert_eq!(pair.data_lens(A).len(), 10);
}
