//! Segments of somebody who guesses, and of a peer that has forgotten (RFC 5961, RFC 7323).

use super::pair::{A, B, Pair};
use crate::seq::SeqNumber;
use crate::tcp::{Data, State};
use crate::time::Duration;
use crate::wire::tcp::{Flags, Options, Repr, Timestamps};

const SECOND: Duration = Duration::from_secs(1);

/// An established pair whose wires are cut, and a segment with one byte that B would take.
fn cut() -> (Pair, Repr) {
    let mut pair = Pair::modern().established();
    pair.cut = [true; 2];
    pair.write(A, Data::Bytes(b"x"));
    let next = pair.log.last().unwrap().repr;
    (pair, next)
}

#[test]
fn a_syn_is_challenged_wherever_it_lies_and_whatever_it_carries() {
    let (mut pair, next) = cut();
    let bare = Options::default();
    for (n, seq) in
        [next.seq, next.seq + 100, next.seq - 1, next.seq + (1 << 30)].iter().enumerate()
    {
        let syn = Repr { seq: *seq, flags: Flags::SYN, options: bare, ..next };
        pair.inject(B, syn, b"");
        assert_eq!(pair.end(B).stats().challenge_acks, n as u64 + 1);
        let answer = pair.sent_by(B).last().unwrap();
        assert_eq!((answer.repr.flags, answer.repr.ack), (Flags::ACK, next.seq));
    }
    assert_eq!(pair.end(B).state(), State::Established);
}

#[test]
fn a_peer_that_opens_anew_learns_that_we_are_still_here() {
    let mut pair = Pair::modern().established();
    pair.ends[A] = None;
    pair.iss[A] = SeqNumber(4242);
    pair.configs[A].timestamps = false;
    pair.configs[A].eifel = false;
    pair.connect(A);
    pair.run_for(Duration::from_millis(250));
    assert_eq!(pair.end(B).state(), State::Closed, "its reset of our challenge has arrived");
    assert_eq!(pair.end(A).state(), State::SynSent);
}

#[test]
fn challenges_are_limited_per_second() {
    let (mut pair, next) = cut();
    let syn = Repr { flags: Flags::SYN, ..next };
    for second in 1..=3 {
        for _ in 0..50 {
            pair.inject(B, syn, b"");
        }
        assert_eq!(pair.end(B).stats().challenge_acks, 10 * second);
        pair.now += SECOND;
    }
}

#[test]
fn data_is_taken_only_with_an_acknowledgment_of_what_may_be_outstanding() {
    let (mut pair, next) = cut();
    let window = pair.end(A).snapshot().rcv_wnd;
    pair.inject(B, Repr { ack: next.ack - (window + 10_000), ..next }, b"x");
    pair.inject(B, Repr { ack: next.ack + 1, ..next }, b"x");
    assert_eq!(pair.received_len[B], 0);
    assert_eq!(pair.end(B).stats().challenge_acks, 2);
    pair.inject(B, Repr { ack: next.ack - 1, ..next }, b"x");
    assert_eq!(pair.received_len[B], 1, "an old one is no forgery");
    assert_eq!(pair.end(B).stats().challenge_acks, 2);
}

#[test]
fn a_reset_needs_no_timestamp_and_no_new_one() {
    for timestamps in [None, Some(Timestamps { value: 0, echo: 0 })] {
        let (mut pair, next) = cut();
        let options = Options { timestamps, ..Options::default() };
        let reset = Repr { seq: next.seq, flags: Flags::RST, options, ..Repr::default() };
        pair.inject(B, reset, b"");
        assert_eq!(pair.end(B).state(), State::Closed);
        assert_eq!(pair.end(B).stats().paws_drops, 0);
    }
}

#[test]
fn a_segment_without_the_timestamp_agreed_on_is_dropped() {
    let (mut pair, next) = cut();
    let sent = pair.sent_by(B).count();
    pair.inject(B, Repr { options: Options::default(), ..next }, b"x");
    assert_eq!(pair.received_len[B], 0);
    assert_eq!(pair.sent_by(B).count(), sent);
}

#[test]
fn after_24_idle_days_an_older_timestamp_is_a_new_one() {
    let day = Duration::from_secs(24 * 3600);
    for (days, taken) in [(23, 0), (25, 1)] {
        let (mut pair, next) = cut();
        let stamps = next.options.timestamps.unwrap();
        pair.now += day * days;
        let timestamps = Some(Timestamps { value: stamps.value.wrapping_sub(9000), ..stamps });
        let old = Repr { options: Options { timestamps, ..next.options }, ..next };
        pair.inject(B, old, b"x");
        assert_eq!(pair.received_len[B], taken, "after {days} days");
    }
}

#[test]
fn a_half_open_connection_challenges_too() {
    let mut pair = Pair::modern();
    pair.cut[B] = true;
    pair.connect(A);
    pair.run_for(Duration::from_millis(100));
    assert_eq!(pair.end(B).state(), State::SynReceived);
    let irs = pair.log[0].repr.seq;
    let sent = pair.sent_by(B).count();
    let reset = Repr { seq: irs + 500, flags: Flags::RST, ..Repr::default() };
    pair.inject(B, reset, b"");
    let answer = pair.sent_by(B).nth(sent).expect("a challenge").repr;
    assert_eq!((answer.flags, answer.ack), (Flags::ACK, irs + 1));
    pair.inject(B, Repr { seq: irs + 1, ..reset }, b"");
    assert_eq!(pair.end(B).state(), State::Closed);
}

#[test]
fn an_urgent_pointer_beyond_the_data_is_only_a_pointer() {
    let (mut pair, next) = cut();
    for (seq, data, urgent) in [(next.seq, &b"x"[..], 60_000), (next.seq + 1, &b""[..], 9)] {
        let flags = next.flags | Flags::URG;
        pair.inject(B, Repr { seq, flags, urgent, ..next }, data);
    }
    pair.inject(B, Repr { seq: next.seq + 1, urgent: 7, ..next }, b"yz");
    assert_eq!(pair.received[B], b"xyz");
    assert_eq!(pair.end(B).state(), State::Established);
}
