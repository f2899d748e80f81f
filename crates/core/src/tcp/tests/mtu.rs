//! How large packets become.

use super::pair::{A, B, Pair};
use crate::tcp::config::PmtuProbing;
use crate::tcp::{Config, Data, Profile};
use crate::time::Duration;

const PATIENCE: Duration = Duration::from_secs(120);

fn pair(pmtu_probing: PmtuProbing, path: usize) -> Pair {
    let other = Config::new(Profile::Modern, 1500);
    let mut pair = Pair::new(Config { pmtu_probing, ..other.clone() }, other).established();
    pair.path_mtu = Some(path);
    pair
}

/// Bytes of the packets of full segments.
fn size(pair: &mut Pair) -> u32 {
    let snapshot = pair.end(A).snapshot();
    snapshot.mss + snapshot.header_len
}

#[test]
fn a_path_that_takes_all_is_used_in_full_after_one_probe() {
    let mut pair = pair(PmtuProbing::On, 1500);
    assert_eq!(size(&mut pair), 1024);
    pair.bulk(1_000_000, PATIENCE);
    assert_eq!(size(&mut pair), 1500);
    let stats = *pair.end(A).stats();
    assert_eq!((stats.mtu_probes, stats.mtu_probes_lost), (1, 0));
    assert_eq!(stats.retransmissions, 0);
}

#[test]
fn jumbo_packets_are_reached_though_each_acknowledgment_makes_room_for_little() {
    let other = Config::new(Profile::Modern, 9000);
    let config = Config { pmtu_probing: PmtuProbing::On, ..other.clone() };
    let mut pair = Pair::new(config, other).established();
    pair.bulk(2_000_000, PATIENCE);
    assert_eq!(size(&mut pair), 9000);
}

#[test]
fn a_smaller_path_is_found_without_a_sign_of_congestion() {
    let mut pair = pair(PmtuProbing::On, 1300);
    pair.configs[A].algorithm = crate::cc::Algorithm::Reno;
    let mut last = 0;
    for _ in 0..20 {
        pair.bulk(200_000, PATIENCE);
        let cwnd = pair.end(A).snapshot().cwnd;
        assert!(cwnd >= last, "{cwnd} after {last}");
        last = cwnd;
    }
    let found = size(&mut pair);
    assert!((1300 - 16..=1300).contains(&found), "{found}");
    let stats = *pair.end(A).stats();
    assert!(stats.mtu_probes_lost >= 2, "{stats:?}");
    assert_eq!(stats.timeouts, 0);
}

#[test]
fn what_a_lost_probe_carried_arrives() {
    let mut pair = pair(PmtuProbing::On, 1200);
    let sent = super::pair::pattern(300_000);
    pair.write(A, Data::Bytes(&sent));
    pair.run_for(PATIENCE);
    assert_eq!(pair.received[B], sent);
}

#[test]
fn larger_packets_are_tried_again_after_ten_minutes() {
    let mut pair = pair(PmtuProbing::On, 1300);
    pair.bulk(4_000_000, PATIENCE);
    pair.path_mtu = None;
    pair.bulk(1_000_000, PATIENCE);
    assert!(size(&mut pair) <= 1300, "not at once");
    pair.run_for(Duration::from_secs(601));
    pair.bulk(2_000_000, PATIENCE);
    assert_eq!(size(&mut pair), 1500);
}

#[test]
fn a_black_hole_is_left_by_smaller_packets() {
    for (probing, delivered) in [(PmtuProbing::Blackhole, 50_000), (PmtuProbing::Off, 0)] {
        let mut pair = pair(probing, 1100);
        pair.write(A, Data::Elided(50_000));
        pair.run_for(Duration::from_secs(30));
        assert_eq!(pair.received_len[B], delivered, "{probing:?}");
    }
}

#[test]
fn a_tiny_path_is_reached_in_two_steps() {
    let mut pair = pair(PmtuProbing::Blackhole, 700);
    pair.write(A, Data::Elided(50_000));
    pair.run_for(PATIENCE);
    assert_eq!(pair.received_len[B], 50_000);
    assert!(size(&mut pair) <= 700);
}

#[test]
fn an_outage_does_not_make_packets_small_for_good() {
    let mut pair = pair(PmtuProbing::Blackhole, 1500);
    pair.write(A, Data::Elided(3000));
    pair.cut = [true; 2];
    pair.write(A, Data::Elided(30_000));
    pair.run_for(Duration::from_secs(3));
    assert_eq!(size(&mut pair), 1024);
    pair.cut = [false; 2];
    pair.bulk(3_000_000, PATIENCE);
    pair.run_for(Duration::from_secs(601));
    pair.bulk(3_000_000, PATIENCE);
    assert_eq!(size(&mut pair), 1500);
}

#[test]
fn icmp_is_believed_when_it_quotes_what_is_in_flight() {
    let mut pair = pair(PmtuProbing::Off, 1400);
    pair.write(A, Data::Elided(20_000));
    let first = pair.sent_by(A).next().unwrap().repr.seq;
    let now = pair.now;
    pair.end(A).handle_too_big(now, first - 1, 1400);
    pair.end(A).handle_too_big(now, first + 1_000_000, 1400);
    pair.end(A).handle_too_big(now, first, 1500);
    assert_eq!(size(&mut pair), 1500);
    let cwnd = pair.end(A).snapshot().cwnd;
    pair.end(A).handle_too_big(now, first, 1400);
    pair.pump();
    assert_eq!(size(&mut pair), 1400);
    assert_eq!(pair.end(A).snapshot().cwnd, cwnd, "no congestion");
    pair.run_for(Duration::from_millis(500));
    assert_eq!(pair.received_len[B], 20_000);
    assert_eq!(pair.end(A).stats().timeouts, 0);
    pair.write(A, Data::Elided(5000));
    let first = pair.sent_by(A).last().unwrap().repr.seq;
    let now = pair.now;
    pair.end(A).handle_too_big(now, first, 68);
    assert_eq!(size(&mut pair), 576, "nobody makes us send crumbs");
}
