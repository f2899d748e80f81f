//! A silent peer.

use super::pair::{A, B, Pair};
use crate::tcp::config::Keepalive;
use crate::tcp::{Config, Data, Event, Profile, State};
use crate::time::{Duration, Reason};
use crate::wire::tcp::Flags;

const MINUTE: Duration = Duration::from_secs(60);

fn pair() -> Pair {
    let other = Config::new(Profile::Modern, 1500);
    let keepalive = Keepalive { idle: MINUTE * 10, interval: MINUTE, count: 3 };
    Pair::new(Config { keepalive: Some(keepalive), ..other.clone() }, other).established()
}

fn minutes(pair: &Pair) -> Vec<u64> {
    pair.sent_by(A).map(|s| s.at.as_millis().div_ceil(60_000)).collect()
}

#[test]
fn it_is_off_unless_asked_for() {
    let mut pair = Pair::modern().established();
    pair.cut = [true; 2];
    pair.run_for(Duration::from_secs(30 * 24 * 3600));
    assert!(pair.log.is_empty());
    assert_eq!(pair.end(A).state(), State::Established);
}

#[test]
fn a_living_peer_is_asked_each_idle_time_and_answers() {
    let mut pair = pair();
    assert!(matches!(pair.end(A).poll_timeout(), Some((_, Reason::Keepalive))));
    pair.run_for(MINUTE * 35);
    assert_eq!(pair.end(A).stats().keepalive_probes, 3);
    assert_eq!(pair.sent_by(B).filter(|s| s.repr.flags == Flags::ACK).count(), 3);
    let probe = pair.sent_by(A).next().unwrap();
    assert_eq!((probe.len, probe.repr.seq + 1), (0, pair.log[1].repr.ack));
    assert_eq!(pair.end(A).state(), State::Established);
    assert_eq!(pair.end(A).stats().timeouts, 0);
}

#[test]
fn a_dead_peer_is_given_up_after_its_last_chance() {
    let mut pair = pair();
    pair.cut[A] = true;
    pair.run_for(MINUTE * 12);
    assert_eq!(minutes(&pair), [11, 12, 13]);
    assert_eq!(pair.end(A).state(), State::Established);
    pair.run_for(MINUTE * 2);
    assert_eq!(pair.events[A].last(), Some(&Event::TimedOut));
    assert_eq!(pair.end(A).stats().keepalive_probes, 3);
}

#[test]
fn whatever_is_heard_starts_the_idle_time_anew() {
    let mut pair = pair();
    pair.run_for(MINUTE * 8);
    pair.write(B, Data::Elided(10));
    pair.run_for(MINUTE * 9);
    assert_eq!(pair.end(A).stats().keepalive_probes, 0);
    pair.run_for(MINUTE * 2);
    assert_eq!(pair.end(A).stats().keepalive_probes, 1);
}

#[test]
fn data_in_flight_has_its_own_timer() {
    let mut pair = pair();
    pair.cut[B] = true;
    pair.run_for(MINUTE * 9);
    pair.write(A, Data::Elided(10));
    pair.run_for(MINUTE * 5);
    assert_eq!(pair.end(A).stats().keepalive_probes, 0);
    pair.run_for(MINUTE * 60);
    assert_eq!(pair.events[A].last(), Some(&Event::TimedOut));
}

#[test]
fn an_interval_longer_than_the_idle_time_gives_nobody_up_who_answers() {
    let other = Config::new(Profile::Modern, 1500);
    let keepalive = Keepalive { idle: MINUTE, interval: MINUTE * 5, count: 2 };
    let mut pair = Pair::new(Config { keepalive: Some(keepalive), ..other.clone() }, other);
    pair = pair.established();
    pair.run_for(MINUTE * 60);
    assert_eq!(pair.end(A).state(), State::Established);
    assert!(pair.end(A).stats().keepalive_probes > 5);
}
