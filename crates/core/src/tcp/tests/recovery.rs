//! RACK, tail loss probes, PRR, F-RTO and D-SACK, as conversations.

use super::pair::{A, B, Pair};
use crate::cc::Phase;
use crate::tcp::config::Recovery;
use crate::tcp::{Config, Data, Profile, Stats};
use crate::time::Duration;
use crate::units::BitRate;

const MSS: usize = 1448;
const MS: fn(u64) -> Duration = Duration::from_millis;

/// A window of 20 that grows by one per round trip.
fn config(recovery: Recovery) -> Config {
    let mut config = Config::new(Profile::Modern, 1500);
    config.recovery = recovery;
    config.initial_window = 20;
    config.initial_ssthresh = Some(1);
    config.rto_min = Duration::from_secs(3);
    config
}

fn pair(config: Config) -> Pair {
    Pair::new(config.clone(), config).established()
}

fn stats(pair: &mut Pair) -> Stats {
    *pair.end(A).stats()
}

/// Sends `n` segments and returns the time until they have arrived.
fn deliver(pair: &mut Pair, n: usize) -> Duration {
    let start = pair.now;
    let len = n * pair.end(A).snapshot().mss as usize;
    let goal = pair.received_len[B] + len as u64;
    pair.write(A, Data::Elided(len));
    while pair.received_len[B] < goal {
        assert!(pair.step(start + Duration::from_secs(60)));
    }
    pair.now - start
}

#[test]
fn rec_3_a_lost_tail_is_repaired_by_a_probe_in_less_than_three_round_trips() {
    let rtt = MS(500);
    for recovery in [Recovery::Rack, Recovery::Sack] {
        let took = [true, false].map(|tlp| {
            let mut config = config(recovery);
            config.tlp = tlp;
            let mut pair = Pair::new(config.clone(), config);
            pair.delay = rtt / 2;
            let mut pair = pair.established();
            deliver(&mut pair, 20);
            pair.run_for(Duration::from_secs(1));
            // An even number before it, so that no acknowledgment is held back.
            pair.drop_data = vec![30];
            let took = deliver(&mut pair, 11) - rtt;
            let stats = stats(&mut pair);
            assert_eq!((stats.timeouts, stats.tail_probes), (u64::from(!tlp), u64::from(tlp)));
            assert_eq!(stats.retransmissions, 1);
            took
        });
        // Since the acknowledgment of what came before: 2 srtt + 200 ms, and half a round trip.
        assert!(took[0] < rtt * 3, "{took:?}");
        assert!(took[1] >= Duration::from_secs(3), "{took:?}");
    }
}

#[test]
fn the_sack_of_a_probe_shows_what_else_was_lost_at_the_end() {
    let mut pair = pair(config(Recovery::Rack));
    pair.drop_data = vec![5, 6, 7, 8, 9];
    let took = deliver(&mut pair, 10);
    let stats = stats(&mut pair);
    assert_eq!((stats.timeouts, stats.tail_probes, stats.retransmissions), (0, 1, 5));
    // A round trip, two until the probe, one for its SACK; then PRR lets 1, 2 and the last one go.
    assert_eq!(took, MS(650));
}

#[test]
fn a_probe_is_new_data_where_there_is_some() {
    let mut pair = pair(config(Recovery::Rack));
    pair.drop_data = (0..20).collect();
    let took = deliver(&mut pair, 30);
    let stats = stats(&mut pair);
    assert_eq!((stats.timeouts, stats.tail_probes, stats.retransmissions), (0, 1, 20));
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[test]
fn a_loss_that_only_a_probe_repaired_halves_the_window_once_and_a_late_segment_does_not() {
    for (late, cwnd) in [(false, 10), (true, 20)] {
        let mut pair = pair(config(Recovery::Rack));
        match late {
            true => (pair.late_data, pair.late_by) = (vec![4], MS(600)),
            false => pair.drop_data = vec![4],
        }
        deliver(&mut pair, 5);
        pair.run_for(Duration::from_secs(2));
        deliver(&mut pair, 1);
        pair.run_for(Duration::from_secs(2));
        let stats = stats(&mut pair);
        assert_eq!((stats.tail_probes, stats.timeouts, stats.fast_recoveries), (1, 0, 0));
        assert_eq!(stats.tail_losses, u64::from(!late));
        assert_eq!(stats.dsacks_received, u64::from(late));
        assert_eq!(pair.end(A).snapshot().cwnd, cwnd * MSS as u32);
    }
}

/// Every 100th segment arrives 5 places late.
fn reordered_by_5(config: Config) -> Stats {
    let mut pair = pair(config);
    // A whole window waits for 4 ms, much less than a quarter of the round trip.
    let serial = Duration::from_micros(100);
    pair.rate = Some(BitRate::from_bps(1500 * 8 * 10_000));
    pair.late_by = serial * 5 + serial / 2;
    pair.late_data = (0..20).map(|n| n * 100 + 50).collect();
    pair.bulk(2000 * MSS as u64, Duration::from_secs(60));
    pair.run_for(Duration::from_secs(1));
    stats(&mut pair)
}

#[test]
fn rec_4_reordering_by_five_is_a_loss_to_three_duplicates_and_to_rack_only_at_first() {
    let three = reordered_by_5(config(Recovery::Sack));
    // The others were late at the end of a flight.
    assert_eq!((three.retransmissions, three.undos), (11, 11), "{three:?}");
    let rack = reordered_by_5(config(Recovery::Rack));
    assert_eq!((rack.retransmissions, rack.undos), (1, 1), "{rack:?}");
    assert_eq!(rack.timeouts, 0);
}

#[test]
fn rack_finds_a_lost_retransmission_by_what_was_sent_after_it() {
    let mut pair = pair(config(Recovery::Rack));
    // The retransmission of segment 5 is the first data segment after the first flight, but for the
    // new ones that two duplicates let go.
    pair.drop_data = vec![5];
    pair.write(A, Data::Elided(200 * MSS));
    let fifth = pair.log.iter().filter(|s| s.len > 0).nth(5).unwrap().repr.seq;
    let mut dropped = false;
    while pair.received_len[B] < 200 * MSS as u64 {
        let at = pair.now + Duration::from_secs(60);
        if !dropped && stats(&mut pair).retransmissions == 0 {
            let sent = pair.log.iter().filter(|s| s.from == A && s.len > 0).count() as u64;
            pair.drop_data = vec![5, sent];
        }
        dropped |= stats(&mut pair).retransmissions > 0;
        assert!(pair.step(at));
    }
    let stats = stats(&mut pair);
    let times = pair.log.iter().filter(|s| s.from == A && s.repr.seq == fifth && s.len > 0).count();
    assert_eq!((times, stats.timeouts), (3, 0), "{stats:?}");
}

#[test]
fn rec_5_prr_sends_one_segment_per_two_acks_and_ends_at_ten() {
    for recovery in [Recovery::Rack, Recovery::Sack] {
        let mut pair = pair(config(recovery));
        pair.drop_data = vec![0];
        pair.write(A, Data::Elided(100 * MSS));
        let mut sent_per_ack = Vec::new();
        while stats(&mut pair).fast_recoveries == 0 || pair.end(A).snapshot().phase != Phase::Open {
            let before = (stats(&mut pair).segments_received, pair.data_lens(A).len());
            assert!(pair.step(pair.now + Duration::from_secs(1)));
            if stats(&mut pair).segments_received > before.0 {
                sent_per_ack.push(pair.data_lens(A).len() - before.1);
            }
        }
        // Two duplicates and new data for them; the repair; then one segment for two acknowledgments.
        assert_eq!(&sent_per_ack[..5], [1, 1, 1, 0, 0]);
        let rest = &sent_per_ack[5..19];
        assert!(rest.chunks(2).all(|two| two.iter().sum::<usize>() == 1), "{sent_per_ack:?}");
        let snapshot = pair.end(A).snapshot();
        assert_eq!((snapshot.cwnd, snapshot.ssthresh), (10 * MSS as u32, 10 * MSS as u32));
        let stats = stats(&mut pair);
        assert_eq!((stats.retransmissions, stats.timeouts), (1, 0));
    }
}

#[test]
fn without_prr_nothing_new_leaves_until_half_of_the_flight_has_left() {
    for (prr, new) in [(true, 2), (false, 0)] {
        let mut config = config(Recovery::Sack);
        config.prr = prr;
        let mut pair = pair(config);
        pair.rate = Some(BitRate::from_bps(1500 * 8 * 1000));
        pair.drop_data = vec![0];
        pair.write(A, Data::Elided(100 * MSS));
        // The duplicates come from 102 ms on, one per millisecond; the third at 104.
        pair.run_for(Duration::from_micros(110_500));
        assert_eq!(pair.end(A).snapshot().phase, Phase::Recovery);
        assert_eq!(pair.data_lens(A).len(), 20 + 2 + 1 + new);
    }
}

/// A transfer without timestamps whose path stalls for a while; nothing is lost.
fn stalled(frto: bool) -> Stats {
    let mut config = Config::new(Profile::Modern, 1500);
    (config.timestamps, config.tlp, config.dsack, config.frto) = (false, false, false, frto);
    let mut pair = pair(config);
    pair.rate = Some(BitRate::from_bps(2_000_000));
    pair.bulk(200_000, Duration::from_secs(20));
    pair.write(A, Data::Elided(200_000));
    pair.delay = MS(900);
    pair.run_for(MS(60));
    pair.run_for(Duration::from_secs(20));
    assert_eq!(pair.received_len[B], 400_000);
    stats(&mut pair)
}

#[test]
fn frto_takes_a_spurious_timeout_back_without_timestamps() {
    let with = stalled(true);
    assert_eq!((with.timeouts, with.undos, with.retransmissions), (1, 1, 1), "{with:?}");
    let without = stalled(false);
    assert_eq!(without.undos, 0);
    assert!(without.retransmissions > 20, "{without:?}");
}

#[test]
fn frto_leaves_a_true_timeout_alone() {
    for (lost, sent) in [(10..20, 20), (0..20, 40)] {
        let mut config = config(Recovery::Sack);
        (config.timestamps, config.tlp) = (false, false);
        let mut pair = pair(config);
        pair.drop_data = lost.clone().collect();
        deliver(&mut pair, sent);
        pair.run_for(Duration::from_secs(5));
        let stats = stats(&mut pair);
        assert_eq!((stats.timeouts, stats.undos), (1, 0), "{stats:?}");
        assert_eq!(stats.retransmissions, lost.count() as u64);
    }
}

#[test]
fn a_d_sack_for_every_retransmission_takes_the_reaction_back() {
    for (dsack, undos, cwnd) in [(true, 1, 20), (false, 0, 10)] {
        let mut config = config(Recovery::Sack);
        (config.timestamps, config.dsack) = (false, dsack);
        let mut pair = pair(config);
        (pair.late_data, pair.late_by) = (vec![3], MS(10));
        deliver(&mut pair, 20);
        pair.run_for(Duration::from_secs(1));
        let stats = stats(&mut pair);
        assert_eq!((stats.retransmissions, stats.fast_recoveries), (1, 1));
        assert_eq!((stats.dsacks_received, stats.undos), (undos, undos));
        let snapshot = pair.end(A).snapshot();
        assert_eq!(snapshot.cwnd, cwnd * snapshot.mss);
    }
}

#[test]
fn duplicates_are_told_first_and_once() {
    let mut pair = Pair::modern().established();
    pair.cut[A] = true;
    pair.write(A, Data::Elided(MSS));
    let first = pair.log[0].repr;
    let told = |pair: &Pair| -> Vec<(u32, u32)> {
        let last = pair.sent_by(B).next_back().unwrap();
        last.repr.options.sack.iter().map(|b| (b.0 - first.seq, b.1 - first.seq)).collect()
    };
    let send = |pair: &mut Pair, from: u32, to: u32| {
        let repr = crate::wire::tcp::Repr { seq: first.seq + from, ..first };
        pair.inject(B, repr, &[0; 4000][..(to - from) as usize]);
    };
    send(&mut pair, 0, 100);
    send(&mut pair, 50, 100);
    assert_eq!(told(&pair), [(50, 100)]);
    send(&mut pair, 300, 500);
    assert_eq!(told(&pair), [(300, 500)], "not told again");
    send(&mut pair, 350, 450);
    assert_eq!(told(&pair), [(350, 450), (300, 500)]);
    send(&mut pair, 50, 350);
    assert_eq!(told(&pair)[0], (50, 100), "below what is acknowledged");
}

#[test]
fn a_rescue_repairs_the_end_of_a_flight_within_a_recovery() {
    let mut config = config(Recovery::Sack);
    config.tlp = false;
    let mut pair = pair(config);
    pair.drop_data = vec![5, 19];
    let took = deliver(&mut pair, 20);
    let stats = stats(&mut pair);
    assert_eq!((stats.retransmissions, stats.timeouts), (2, 0));
    assert!(took <= MS(250), "{took:?}");
}

#[test]
fn without_limited_transmit_a_window_of_three_waits_for_the_timer() {
    for (recovery, limited_transmit) in [
        (Recovery::NewReno, true),
        (Recovery::NewReno, false),
        (Recovery::Sack, true),
        (Recovery::Sack, false),
    ] {
        let mut config = config(recovery);
        (config.limited_transmit, config.tlp, config.initial_window) = (limited_transmit, false, 3);
        let mut pair = pair(config);
        pair.drop_data = vec![0];
        deliver(&mut pair, 8);
        let timeouts = stats(&mut pair).timeouts;
        assert_eq!(timeouts, u64::from(!limited_transmit), "{recovery:?}");
    }
}

#[test]
fn reno_of_1990_waits_for_the_timer_when_two_are_lost() {
    for (recovery, timeouts) in [(Recovery::NewReno, 0), (Recovery::Reno, 1)] {
        let mut pair = pair(config(recovery));
        pair.drop_data = vec![5, 9];
        deliver(&mut pair, 20);
        assert_eq!(stats(&mut pair).timeouts, timeouts);
    }
}

#[test]
fn bsd_acknowledges_with_the_ticks_of_its_fast_timer() {
    let config = Config::new(Profile::Bsd43, 1500);
    let mut pair = pair(config);
    pair.run_for(MS(30));
    pair.write(A, Data::Elided(100));
    pair.run_for(Duration::from_secs(1));
    let ack = pair.sent_by(B).next().unwrap();
    assert_eq!(ack.at.as_millis() % 200, 0);
}
