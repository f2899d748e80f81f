//! Opening.

use super::pair::{A, B, Pair, tuple};
use crate::seq::SeqNumber;
use crate::tcp::{Config, Data, Event, Profile, Segment, State, reset_for};
use crate::time::{Duration, Instant};
use crate::wire::ipv4::Ecn;
use crate::wire::tcp::{Flags, Repr};

fn millis(times: impl Iterator<Item = Instant>) -> Vec<u64> {
    times.map(|t| t.as_millis()).collect()
}

#[test]
fn three_segments_open_a_connection() {
    let mut pair = Pair::modern();
    pair.connect(A);
    pair.run_for(Duration::from_millis(150));
    let flags: Vec<_> = pair.log.iter().map(|s| (s.from, s.repr.flags)).collect();
    let syn_ack = Flags::SYN | Flags::ACK;
    assert_eq!(flags, [(A, Flags::SYN), (B, syn_ack), (A, Flags::ACK)]);
    assert_eq!(pair.log[0].repr.options.mss, Some(1460));
    assert_eq!(pair.log[1].repr.options.window_scale, Some(7));
    assert!(pair.log[1].repr.options.sack_permitted);
    assert_eq!(pair.events, [[Event::Connected], [Event::Connected]]);
    assert_eq!(pair.end(A).snapshot().mss, 1448);
    assert_eq!(pair.end(A).snapshot().cwnd, 10 * 1448);
}

#[test]
fn tcp_1_a_dead_peer_is_tried_at_1_2_4_8_s() {
    let mut pair = Pair::modern();
    pair.cut[A] = true;
    pair.connect(A);
    pair.run_for(Duration::from_secs(16));
    assert_eq!(millis(pair.sent_by(A).map(|s| s.at)), [0, 1000, 3000, 7000, 15000]);
    pair.run_for(Duration::from_secs(1000));
    assert_eq!(pair.events[A], [Event::TimedOut]);
    assert_eq!(pair.end(A).state(), State::Closed);
    assert_eq!(pair.sent_by(A).count(), 7);
}

#[test]
fn a_lost_syn_ack_is_sent_again_silently() {
    let mut pair = Pair::modern();
    pair.drop_nth[B] = vec![0];
    pair.connect(A);
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.end(B).state(), State::Established);
    assert_eq!(pair.events[B], [Event::Connected]);
    assert_eq!(pair.events[A], [Event::Connected]);
}

#[test]
fn a_lost_last_ack_is_repaired_by_the_syn_ack() {
    let mut pair = Pair::modern();
    pair.drop_nth[A] = vec![1];
    pair.connect(A);
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.end(B).state(), State::Established);
}

#[test]
fn both_may_open_at_once() {
    let mut pair = Pair::modern();
    pair.connect(A);
    pair.connect(B);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.end(A).state(), State::Established);
    assert_eq!(pair.end(B).state(), State::Established);
    assert_eq!(pair.bulk(100_000, Duration::from_secs(5)).as_millis() / 1000, 0);
}

#[test]
fn data_written_early_leaves_after_the_handshake() {
    let mut pair = Pair::modern();
    pair.connect(A);
    pair.write(A, Data::Bytes(b"hello"));
    pair.close(A);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.received[B], b"hello");
    assert_eq!(pair.end(A).state(), State::FinWait2);
    assert_eq!(pair.events[B], [Event::Connected, Event::Readable, Event::PeerClosed]);
}

#[test]
fn a_refused_connection_is_reset() {
    let mut pair = Pair::modern();
    pair.connect(A);
    let syn = pair.log[0].repr;
    let segment = Segment { repr: syn, ecn: Ecn::NotEct, payload_offset: 0, payload_len: 0 };
    let answer = reset_for(&segment, tuple(B)).unwrap();
    assert_eq!(answer.flags, Flags::RST | Flags::ACK);
    assert_eq!(answer.ack, syn.seq + 1);
    pair.inject(A, answer, b"");
    assert_eq!(pair.events[A], [Event::Reset]);
    let reset = Segment { repr: answer, ..segment };
    assert_eq!(reset_for(&reset, tuple(A)), None);
}

#[test]
fn an_old_syn_ack_is_answered_with_a_reset() {
    let mut pair = Pair::modern();
    pair.connect(A);
    pair.cut = [true; 2];
    let old = Repr {
        seq: SeqNumber(5),
        ack: SeqNumber(1234),
        flags: Flags::SYN | Flags::ACK,
        ..Repr::default()
    };
    pair.inject(A, old, b"");
    let last = pair.log.last().unwrap();
    assert_eq!((last.repr.flags, last.repr.seq), (Flags::RST, SeqNumber(1234)));
    assert_eq!(pair.end(A).state(), State::SynSent);
}

#[test]
fn options_need_both_ends() {
    let modern = Config::new(Profile::Modern, 1500);
    let old = Config::new(Profile::Linux11, 1500);
    let mut pair = Pair::new(modern, old).established();
    assert_eq!(pair.end(A).snapshot().mss, 1436);
    pair.bulk(50_000, Duration::from_secs(20));
    let plain = |s: &super::pair::Sent| {
        s.repr.options.timestamps.is_none() && s.repr.options.sack.is_empty()
    };
    assert!(pair.log.iter().all(plain));
}
