//! Closing, resetting and what is refused.

use super::pair::{A, B, Pair};
use crate::tcp::{Data, Event, State};
use crate::time::Duration;
use crate::wire::tcp::{Flags, Repr, Timestamps};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn one_closes_after_the_other() {
    let mut pair = Pair::modern().established();
    pair.close(A);
    pair.run_for(SECOND);
    assert_eq!(pair.end(A).state(), State::FinWait2);
    assert_eq!(pair.end(B).state(), State::CloseWait);
    assert_eq!(pair.events[B].last(), Some(&Event::PeerClosed));
    pair.write(B, Data::Bytes(b"still here"));
    pair.run_for(SECOND);
    assert_eq!(pair.received[A], b"still here");
    pair.close(B);
    pair.run_for(SECOND);
    assert_eq!(pair.end(A).state(), State::TimeWait);
    assert_eq!(pair.end(B).state(), State::Closed);
    assert_eq!(pair.events[B].last(), Some(&Event::Closed));
    assert_eq!(pair.events[A].last(), Some(&Event::Closed));
    pair.run_for(Duration::from_secs(61));
    assert_eq!(pair.end(A).state(), State::Closed);
    assert_eq!(pair.cx.frames.live(), 0);
}

#[test]
fn both_close_at_once() {
    let mut pair = Pair::modern().established();
    pair.close(A);
    pair.close(B);
    pair.run_for(SECOND);
    assert_eq!(pair.end(A).state(), State::TimeWait);
    assert_eq!(pair.end(B).state(), State::TimeWait);
    assert_eq!(pair.log.iter().filter(|s| s.has(Flags::FIN)).count(), 2);
}

#[test]
fn a_lost_fin_is_sent_again_and_a_lost_last_ack_is_answered() {
    let mut pair = Pair::modern().established();
    pair.drop_nth[A] = vec![0, 2];
    pair.close(A);
    pair.run_for(SECOND);
    pair.close(B);
    pair.run_for(Duration::from_secs(10));
    assert_eq!(pair.end(A).state(), State::TimeWait);
    assert_eq!(pair.end(B).state(), State::Closed);
}

#[test]
fn the_fin_follows_the_data() {
    let mut pair = Pair::modern().established();
    pair.write(A, Data::Elided(100_000));
    pair.close(A);
    assert_eq!(pair.write(A, Data::Elided(1)), 0);
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.received_len[B], 100_000);
    let last = pair.sent_by(A).rfind(|s| s.len > 0).unwrap();
    assert!(last.has(Flags::FIN) && last.has(Flags::PSH));
}

#[test]
fn abort_resets_the_peer() {
    let mut pair = Pair::modern().established();
    pair.write(A, Data::Elided(1000));
    pair.abort(A);
    pair.run_for(SECOND);
    assert_eq!(pair.end(A).state(), State::Closed);
    assert_eq!(pair.end(B).state(), State::Closed);
    assert!(pair.events[B].contains(&Event::Reset));
    assert_eq!(pair.cx.frames.live(), 0);
}

#[test]
fn a_reset_counts_only_at_rcv_nxt_and_is_challenged_elsewhere() {
    let mut pair = Pair::modern().established();
    pair.cut = [true; 2];
    pair.write(A, Data::Elided(1));
    let next = pair.log.last().unwrap().repr;
    let reset = |seq| Repr { seq, flags: Flags::RST, ..Repr::default() };
    pair.inject(B, reset(next.seq + 10), b"");
    assert_eq!(pair.end(B).state(), State::Established);
    assert_eq!(pair.end(B).stats().challenge_acks, 1);
    pair.inject(B, reset(next.seq - 10), b"");
    assert_eq!(pair.end(B).stats().challenge_acks, 1);
    let syn = Repr { flags: Flags::SYN, ..next };
    for _ in 0..20 {
        pair.inject(B, syn, b"");
    }
    assert_eq!(pair.end(B).stats().challenge_acks, 10);
    pair.inject(B, reset(next.seq), b"");
    assert_eq!(pair.end(B).state(), State::Closed);
}

#[test]
fn a_reset_after_the_end_is_no_news() {
    let mut pair = Pair::modern().established();
    pair.close(A);
    pair.run_for(SECOND);
    pair.close(B);
    pair.run_for(SECOND);
    assert_eq!(pair.end(A).state(), State::TimeWait);
    let next = pair.sent_by(B).last().unwrap().repr.seq + 1;
    let before = pair.events[A].clone();
    pair.inject(A, Repr { seq: next, flags: Flags::RST, ..Repr::default() }, b"");
    assert_eq!(pair.end(A).state(), State::Closed);
    assert_eq!(pair.events[A], before, "the application knows that it closed in order");
}

#[test]
fn old_timestamps_are_dropped_but_answered() {
    let mut pair = Pair::modern().established();
    pair.cut = [true; 2];
    pair.write(A, Data::Bytes(b"x"));
    let mut old = pair.log.last().unwrap().repr;
    let stamps = old.options.timestamps.unwrap();
    old.options.timestamps = Some(Timestamps { value: stamps.value.wrapping_sub(5000), ..stamps });
    let before = pair.sent_by(B).count();
    pair.inject(B, old, b"x");
    assert_eq!(pair.end(B).stats().paws_drops, 1);
    assert_eq!(pair.sent_by(B).count(), before + 1);
    assert_eq!(pair.received_len[B], 0);
}

#[test]
fn an_ack_beyond_what_was_sent_is_answered_and_dropped() {
    let mut pair = Pair::modern().established();
    pair.write(B, Data::Bytes(b"y"));
    let mut wrong = pair.log.last().unwrap().repr;
    wrong.ack += 5000;
    pair.cut = [true; 2];
    let before = pair.sent_by(A).count();
    pair.inject(A, wrong, b"");
    assert_eq!(pair.sent_by(A).count(), before + 1);
    assert_eq!(pair.end(A).state(), State::Established);
}

#[test]
fn urgent_data_is_data() {
    let mut pair = Pair::modern().established();
    pair.cut = [true; 2];
    pair.write(A, Data::Bytes(b"abc"));
    let mut urgent = pair.log.last().unwrap().repr;
    urgent.flags = urgent.flags | Flags::URG;
    urgent.urgent = 2;
    pair.inject(B, urgent, b"abc");
    assert_eq!(pair.received[B], b"abc");
}
