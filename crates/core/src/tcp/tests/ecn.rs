//! Marks: asking for ECN, the echo of classic ECN and of DCTCP, and one answer per window.

use super::pair::{A, B, Pair, Sent};
use crate::cc::ce_echo::Mark;
use crate::cc::{self, Phase};
use crate::tcp::config::{Algorithm, EcnMode, EctOnSyn, Recovery};
use crate::tcp::{Config, Data, Profile, State};
use crate::time::Duration;
use crate::units::BitRate;
use crate::wire::ipv4::Ecn;
use crate::wire::tcp::{Flags, Repr};

const MSS: usize = 1448;
const SETUP: Flags = Flags(Flags::SYN.0 | Flags::ECE.0 | Flags::CWR.0);
const AGREED: Flags = Flags(Flags::SYN.0 | Flags::ACK.0 | Flags::ECE.0);

fn config(change: impl Fn(&mut Config)) -> Config {
    let mut config = Config::new(Profile::Modern, 1500);
    change(&mut config);
    config
}

/// A buffer that the window of a SYN tells whole, so that nothing is announced after the first read.
const NO_UPDATE: u32 = 60_000;

/// Both ends alike.
fn both(change: impl Fn(&mut Config)) -> Pair {
    let config = config(change);
    Pair::new(config.clone(), config)
}

fn asks(config: &mut Config) {
    config.ecn = EcnMode::On;
}

fn dctcp(config: &mut Config) {
    config.algorithm = Algorithm::Dctcp;
}

/// Classic ECN with a wide first window and every second segment acknowledged from the start.
fn classic(initial_window: u32) -> Pair {
    both(|config| {
        asks(config);
        config.initial_window = initial_window;
        config.initial_ssthresh = Some(initial_window);
        config.quick_acks = 0;
        config.receive_buffer = NO_UPDATE;
    })
    .established()
}

fn flags(pair: &Pair) -> Vec<(usize, Flags)> {
    pair.log.iter().map(|s| (s.from, s.repr.flags)).collect()
}

fn codepoints<'p>(sent: impl Iterator<Item = &'p Sent>) -> Vec<Ecn> {
    let mut seen: Vec<Ecn> = sent.map(|s| s.ecn).collect();
    seen.dedup();
    seen
}

fn is_data(sent: &&Sent) -> bool {
    sent.len > 0
}

/// The bytes that the acknowledgments in the log say arrived marked.
fn told_as_marked(pair: &Pair) -> u64 {
    let mut acks = pair.sent_by(B).map(|s| s.repr).filter(|r| r.flags.contains(Flags::ACK));
    let first = pair.sent_by(A).find(is_data).unwrap().repr.seq;
    acks.by_ref()
        .fold((first, 0), |(una, marked), repr| {
            let acked = if repr.ack.gt(una) { repr.ack - una } else { 0 };
            let ece = repr.flags.contains(Flags::ECE);
            (una.max(repr.ack), marked + if ece { u64::from(acked) } else { 0 })
        })
        .1
}

#[test]
fn a_syn_asks_a_syn_ack_agrees_and_data_says_so() {
    let mut pair = Pair::new(config(asks), config(|_| {}));
    pair.connect(A);
    pair.run_for(Duration::from_millis(150));
    assert_eq!(flags(&pair), [(A, SETUP), (B, AGREED), (A, Flags::ACK)]);
    assert_eq!(codepoints(pair.log.iter()), [Ecn::NotEct]);
    pair.log.clear();
    pair.write(A, Data::Elided(20 * MSS));
    pair.write(B, Data::Elided(3 * MSS));
    pair.run_for(Duration::from_secs(1));
    assert_eq!(codepoints(pair.log.iter().filter(is_data)), [Ecn::Ect0]);
    assert_eq!(codepoints(pair.log.iter().filter(|s| s.len == 0)), [Ecn::NotEct]);
    let plain = |s: &Sent| !s.repr.flags.intersects(Flags::ECE | Flags::CWR);
    assert!(pair.log.iter().all(plain));
    assert!(pair.end(A).ecn.is_agreed() && pair.end(A).ecn.is_seen() && pair.end(B).ecn.is_seen());
}

#[test]
fn it_takes_one_that_asks_and_one_that_answers() {
    let old = Config::new(Profile::Linux11, 1500);
    let off = config(|config| config.ecn = EcnMode::Off);
    let off_dctcp = config(|config| {
        dctcp(config);
        config.ecn = EcnMode::Off;
    });
    for (a, b) in [
        (config(|_| {}), config(|_| {})),
        (config(|_| {}), config(asks)),
        (config(asks), off),
        (config(dctcp), off_dctcp.clone()),
        (off_dctcp, config(dctcp)),
        (config(dctcp), old),
    ] {
        let mut pair = Pair::new(a, b).established();
        pair.write(A, Data::Elided(20 * MSS));
        pair.write(B, Data::Elided(3 * MSS));
        pair.run_for(Duration::from_secs(1));
        assert_eq!(codepoints(pair.log.iter()), [Ecn::NotEct]);
        assert!(!pair.end(A).ecn.is_agreed() && !pair.end(B).ecn.is_agreed());
    }
}

#[test]
fn a_syn_ack_that_only_repeats_the_flags_agrees_to_nothing() {
    for (answer, agreed) in [(AGREED, true), (AGREED | Flags::CWR, false)] {
        let mut pair = both(asks);
        pair.connect(A);
        pair.cut = [true; 2];
        let ack = pair.log[0].repr.seq + 1;
        pair.inject(A, Repr { ack, flags: answer, window: 9000, ..Repr::default() }, b"");
        assert_eq!(pair.end(A).state(), State::Established);
        assert_eq!(pair.end(A).ecn.is_agreed(), agreed);
    }
}

#[test]
fn the_third_syn_does_without() {
    let mut pair = both(asks);
    pair.cut[A] = true;
    pair.connect(A);
    pair.run_for(Duration::from_secs(8));
    let flags: Vec<_> = pair.sent_by(A).map(|s| s.repr.flags).collect();
    assert_eq!(flags, [SETUP, SETUP, Flags::SYN, Flags::SYN]);
    pair.cut[A] = false;
    pair.run_for(Duration::from_secs(10));
    assert_eq!(pair.end(B).state(), State::Established);
    assert!(!pair.end(A).ecn.is_agreed() && !pair.end(B).ecn.is_agreed());
}

/// The peer had agreed already, but its answers were lost.
#[test]
fn a_syn_that_takes_it_back_ends_it_at_both_ends() {
    for (algorithm, fallback) in [(Algorithm::Reno, "reno"), (Algorithm::Dctcp, "dctcp-reno")] {
        let mut pair = both(|config| {
            asks(config);
            config.algorithm = algorithm;
        });
        pair.cut[B] = true;
        pair.connect(A);
        pair.run_for(Duration::from_millis(2950));
        assert!(pair.end(B).ecn.is_agreed());
        pair.cut[B] = false;
        pair.run_for(Duration::from_secs(3));
        assert_eq!(pair.end(A).state(), State::Established);
        pair.log.clear();
        pair.write(A, Data::Elided(20 * MSS));
        pair.write(B, Data::Elided(3 * MSS));
        pair.run_for(Duration::from_secs(1));
        assert_eq!(codepoints(pair.log.iter()), [Ecn::NotEct]);
        assert_eq!(pair.received_len, [3 * MSS as u64, 20 * MSS as u64]);
        for end in [A, B] {
            assert_eq!(pair.end(end).cc_state().name(), fallback);
        }
    }
}

#[test]
fn both_may_open_at_once_with_ecn() {
    let mut pair = both(asks);
    pair.connect(A);
    pair.connect(B);
    pair.run_for(Duration::from_secs(1));
    assert!(pair.end(A).ecn.is_agreed() && pair.end(B).ecn.is_agreed());
    let mut pair = Pair::new(config(asks), config(|_| {}));
    pair.connect(A);
    pair.connect(B);
    pair.run_for(Duration::from_secs(1));
    assert!(!pair.end(A).ecn.is_agreed() && !pair.end(B).ecn.is_agreed());
}

#[test]
fn dctcp_asks_by_itself_and_all_its_packets_are_capable() {
    let mut pair = both(dctcp);
    pair.connect(A);
    pair.run_for(Duration::from_millis(150));
    assert_eq!(flags(&pair), [(A, SETUP), (B, AGREED), (A, Flags::ACK)]);
    pair.drop_data = vec![3];
    pair.write(A, Data::Elided(20 * MSS));
    pair.close(A);
    pair.close(B);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.end(A).stats().retransmissions, 1);
    assert_eq!(codepoints(pair.log.iter()), [Ecn::Ect0]);
    assert_eq!(pair.end(A).cc_state().name(), "dctcp");
}

#[test]
fn whether_a_syn_is_capable_can_be_said() {
    for (algorithm, syn, codepoint) in [
        (Algorithm::Dctcp, EctOnSyn::NotCapable, Ecn::NotEct),
        (Algorithm::Dctcp, EctOnSyn::Capable, Ecn::Ect0),
        (Algorithm::Reno, EctOnSyn::Capable, Ecn::Ect0),
        (Algorithm::Reno, EctOnSyn::WithAlgorithm, Ecn::NotEct),
    ] {
        let mut pair = both(|config| {
            asks(config);
            (config.algorithm, config.ect_on_syn) = (algorithm, syn);
        });
        pair.connect(A);
        pair.run_for(Duration::from_millis(150));
        assert_eq!(codepoints(pair.log[..2].iter()), [codepoint], "{algorithm:?} {syn:?}");
        let all = if algorithm == Algorithm::Dctcp { Ecn::Ect0 } else { Ecn::NotEct };
        assert_eq!(pair.log[2].ecn, all);
        assert!(pair.end(B).ecn.is_agreed());
    }
}

#[test]
fn marks_on_the_handshake_say_nothing() {
    let mut pair = both(dctcp);
    pair.mark_nth = [vec![0, 1], vec![0]];
    pair.connect(A);
    pair.run_for(Duration::from_millis(150));
    assert!(pair.log.iter().all(|s| s.marked));
    let told = [A, B].map(|end| pair.end(end).ecn.echoed());
    assert_eq!(told, [Mark::None; 2]);
    assert_eq!(pair.log[2].repr.flags, Flags::ACK);
    let snapshot = pair.end(A).snapshot();
    assert_eq!(snapshot.cwnd, 10 * MSS as u32);
}

#[test]
fn a_mark_is_told_until_the_sender_has_heard() {
    let mut pair = classic(20);
    pair.mark_data = vec![3];
    pair.write(A, Data::Elided(60 * MSS));
    pair.run_for(Duration::from_secs(2));
    let stats = *pair.end(A).stats();
    assert_eq!((stats.mark_cuts, stats.retransmissions, stats.fast_recoveries), (1, 0, 0));
    let told: Vec<bool> = pair.sent_by(B).map(|s| s.has(Flags::ECE)).collect();
    // Two acknowledgments later the mark is news; from then on until the second window has begun.
    let first = told.iter().position(|told| *told).unwrap();
    let last = told.iter().rposition(|told| *told).unwrap();
    assert_eq!(first, 1);
    assert!(told[first..=last].iter().all(|told| *told) && (8..=12).contains(&last));
    let answers: Vec<&Sent> = pair.sent_by(A).filter(|s| s.has(Flags::CWR)).collect();
    assert_eq!(answers.len(), 1);
    // Two segments were acknowledged before the mark was told.
    let start = pair.log[0].repr.seq;
    assert_eq!(answers[0].repr.seq, start + 22 * MSS as u32);
    assert!(answers[0].len > 0 && answers[0].ecn == Ecn::Ect0);
    let snapshot = pair.end(A).snapshot();
    assert_eq!(snapshot.ssthresh, 10 * MSS as u32);
    assert_eq!(pair.received_len[B], 60 * MSS as u64);
}

#[test]
fn dct_3_two_marks_in_one_window_are_one_cut() {
    for algorithm in Algorithm::ALL {
        let mut pair = both(|config| {
            asks(config);
            (config.algorithm, config.initial_window) = (algorithm, 20);
        })
        .established();
        pair.mark_data = vec![3, 6, 19];
        pair.write(A, Data::Elided(20 * MSS));
        pair.run_for(Duration::from_secs(1));
        assert_eq!(pair.end(A).stats().mark_cuts, 1, "{algorithm:?}");
        let cwnd = pair.end(A).snapshot().cwnd;
        // The next window may be answered again.
        pair.mark_data = vec![25];
        pair.write(A, Data::Elided(20 * MSS));
        pair.run_for(Duration::from_secs(1));
        assert_eq!(pair.end(A).stats().mark_cuts, 2, "{algorithm:?}");
        assert!(pair.end(A).snapshot().cwnd < cwnd);
    }
}

#[test]
fn dct_4_a_loss_and_a_mark_in_one_window_are_one_cut() {
    for algorithm in [Algorithm::Reno, Algorithm::Dctcp] {
        for (marked, lost, cuts) in [(2, 6, 1), (8, 2, 0), (4, 4, 0)] {
            let mut pair = both(|config| {
                asks(config);
                (config.algorithm, config.initial_window) = (algorithm, 20);
                config.initial_ssthresh = Some(20);
                config.rto_min = Duration::from_secs(1);
            })
            .established();
            (pair.mark_data, pair.drop_data) = (vec![marked], vec![lost]);
            pair.write(A, Data::Elided(20 * MSS));
            pair.run_for(Duration::from_secs(5));
            let stats = *pair.end(A).stats();
            let what = format!("{algorithm:?}: mark {marked}, loss {lost}");
            assert_eq!((stats.fast_recoveries, stats.timeouts), (1, 0), "{what}");
            assert_eq!(stats.mark_cuts, cuts, "{what}");
            let snapshot = pair.end(A).snapshot();
            assert_eq!((snapshot.cwnd, snapshot.phase), (10 * MSS as u32, Phase::Open), "{what}");
            assert_eq!(pair.received_len[B], 20 * MSS as u64);
            // The next new data says that the window was cut, whatever for.
            pair.log.clear();
            pair.write(A, Data::Elided(2 * MSS));
            pair.run_for(Duration::from_secs(1));
            assert!(pair.log[0].has(Flags::CWR), "{what}");
            assert!(!pair.log[1].has(Flags::CWR), "{what}");
        }
    }
}

/// A timeout leaves one segment whatever was cut before (RFC 8257, 3.5).
#[test]
fn a_timeout_after_marks_leaves_one_segment() {
    let mut pair = both(|config| {
        asks(config);
        config.tlp = false;
    })
    .established();
    pair.mark_data = vec![0];
    // The tail loss probe is lost too.
    pair.drop_data = (2..11).collect();
    pair.write(A, Data::Elided(10 * MSS));
    let start = pair.now;
    while pair.end(A).stats().timeouts == 0 {
        assert!(pair.step(start + Duration::from_secs(5)));
    }
    assert_eq!(pair.end(A).stats().mark_cuts, 1);
    assert_eq!(pair.end(A).snapshot().cwnd, MSS as u32);
    pair.run_for(Duration::from_secs(10));
    assert_eq!(pair.received_len[B], 10 * MSS as u64);
}

#[test]
fn what_is_sent_again_is_not_capable_with_classic_ecn() {
    for recovery in [Recovery::Sack, Recovery::NewReno] {
        let mut pair = both(|config| {
            asks(config);
            config.recovery = recovery;
        })
        .established();
        pair.drop_data = vec![3];
        pair.write(A, Data::Elided(10 * MSS));
        pair.close(A);
        pair.run_for(Duration::from_secs(1));
        let lost = pair.log[3].repr.seq;
        let again: Vec<&Sent> = pair.sent_by(A).filter(|s| s.repr.seq == lost).collect();
        assert_eq!(codepoints(again.into_iter()), [Ecn::Ect0, Ecn::NotEct]);
    }
}

/// RFC 3168, 6.1.2: with a window of one segment the next waits for the retransmission timer.
#[test]
fn a_mark_on_the_only_segment_of_a_window_makes_the_next_wait() {
    let mut pair = classic(1);
    pair.mark_data = vec![0];
    let start = pair.now;
    pair.write(A, Data::Elided(3 * MSS));
    pair.run_for(Duration::from_secs(3));
    let times: Vec<u64> =
        pair.sent_by(A).filter(is_data).map(|s| (s.at - start).as_millis()).collect();
    assert_eq!(times.len(), 3);
    assert!(times[1] >= 340, "a round trip and an RTO of at least 200 ms: {times:?}");
    assert_eq!(pair.end(A).stats().timeouts, 0);
    assert_eq!(pair.received_len[B], 3 * MSS as u64);
}

#[test]
fn dct_2_the_receiver_tells_which_bytes_arrived_marked() {
    let mut pair = both(|config| {
        dctcp(config);
        config.quick_acks = 0;
        config.receive_buffer = NO_UPDATE;
    })
    .established();
    pair.mark_data = vec![2, 3];
    pair.write(A, Data::Elided(5 * MSS));
    pair.run_for(Duration::from_secs(1));
    let first = pair.log[0].repr.seq;
    let acks: Vec<(u32, bool)> =
        pair.sent_by(B).map(|s| ((s.repr.ack - first) / MSS as u32, s.has(Flags::ECE))).collect();
    assert_eq!(acks, [(2, false), (3, true), (4, true), (5, false)]);
    assert_eq!(told_as_marked(&pair), 2 * MSS as u64);
    let tokens = pair.end(B).tokens().to_string();
    let said = "ts sack ecn ecnseen dctcp dctcp:(ce_state:0,alpha:1024,ab_ecn:0,ab_tot:0)";
    assert_eq!(tokens, said);
    assert!(pair.end(A).tokens().to_string().starts_with("ts sack ecn dctcp dctcp:("));
    let state = pair.end(A).cc_state();
    let cc::State::Dctcp { alpha, .. } = state else {
        panic!("{state:?}");
    };
    assert!(alpha > 0);
}

#[test]
fn dct_5_a_peer_without_ecn_leaves_reno_and_no_capable_packet() {
    let mut pair = Pair::new(config(dctcp), config(|config| config.ecn = EcnMode::Off));
    pair.connect(A);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.end(A).cc_state().to_string(), "dctcp-reno dctcp:fallback_mode");
    pair.log.clear();
    let mut reno = Pair::modern().established();
    for pair in [&mut pair, &mut reno] {
        pair.mark_data = (0..100).collect();
        pair.drop_data = vec![120];
        pair.bulk(400_000, Duration::from_secs(20));
    }
    assert_eq!(codepoints(pair.log.iter()), [Ecn::NotEct]);
    assert_eq!(pair.end(A).stats().fast_recoveries, 1);
    let cwnds = [&mut pair, &mut reno].map(|pair| pair.end(A).snapshot().cwnd);
    assert_eq!(cwnds[0], cwnds[1]);
}

#[test]
fn dctcp_does_the_same_over_ipv6() {
    let mut pair = both(|config| {
        dctcp(config);
        config.receive_buffer = NO_UPDATE;
    })
    .over_ipv6()
    .established();
    pair.mark_data = vec![1, 2];
    pair.write(A, Data::Elided(6 * MSS));
    pair.run_for(Duration::from_secs(1));
    assert_eq!(codepoints(pair.log.iter()), [Ecn::Ect0]);
    assert_eq!(pair.end(A).stats().mark_cuts, 1);
    let marked: u64 = pair.sent_by(A).filter(|s| s.marked).map(|s| u64::from(s.len)).sum();
    assert_eq!(told_as_marked(&pair), marked);
}

/// A link of 100 Mbit/s, 1 ms each way, that marks what waits for more than `mark_after`.
fn marking(algorithm: Algorithm, mark_after: Duration) -> Pair {
    let mut pair = both(|config| {
        asks(config);
        config.algorithm = algorithm;
        config.receive_buffer = 1 << 20;
    })
    .established();
    pair.delay = Duration::from_millis(1);
    pair.rate = Some(BitRate::from_bps(100_000_000));
    pair.mark_after = Some(mark_after);
    pair
}

#[test]
fn dctcp_keeps_a_marking_link_busy_with_a_short_queue() {
    let mut pair = marking(Algorithm::Dctcp, Duration::from_micros(600));
    // Whole segments, or the last one would wait for a delayed acknowledgment.
    pair.bulk(700 * MSS as u64, Duration::from_secs(1));
    pair.log.clear();
    let total = 7000 * MSS as u64;
    let took = pair.bulk(total, Duration::from_secs(5));
    let stats = *pair.end(A).stats();
    assert_eq!((stats.retransmissions, stats.timeouts), (0, 0));
    let share = total as f64 * 8.0 * 1500.0 / 1448.0 / 1e8 / took.as_secs_f64();
    assert!(share > 0.99, "{share}");
    let state = pair.end(A).cc_state();
    let cc::State::Dctcp { alpha, .. } = state else {
        panic!("{state:?}");
    };
    assert!((20..512).contains(&alpha), "{alpha}");
    // All that was marked was told, but for what is under way.
    let marked: u64 = pair.sent_by(A).filter(|s| s.marked).map(|s| u64::from(s.len)).sum();
    let told = told_as_marked(&pair);
    let window = u64::from(pair.end(A).snapshot().cwnd);
    assert!(marked > 100 * MSS as u64 && marked.abs_diff(told) <= window, "{marked} {told}");
    // 25 kB are on their way, K is 7.5 kB, and the window hovers around the sum.
    assert!((25_000..50_000).contains(&window), "{window}");
}

#[test]
fn a_window_that_marks_cut_by_half_leaves_such_a_link_idle_at_times() {
    let deep = Duration::from_millis(3);
    for algorithm in Algorithm::ALL {
        let mut pair = marking(algorithm, deep);
        pair.bulk(10_000_000, Duration::from_secs(5));
        let stats = *pair.end(A).stats();
        assert_eq!((stats.retransmissions, stats.timeouts), (0, 0), "{algorithm:?}");
        assert!(stats.mark_cuts > 0 || algorithm == Algorithm::Vegas, "{algorithm:?}");
    }
}

/// What RFC 8511 is for: a queue that marks early is too short to feed the link while the window is halved.
#[test]
fn with_abe_a_short_queue_of_marks_keeps_the_link_busier() {
    for algorithm in [Algorithm::Reno, Algorithm::Cubic] {
        let [without, with] = [false, true].map(|abe| {
            let mut pair = both(|config| {
                asks(config);
                config.algorithm = algorithm;
                config.receive_buffer = 1 << 20;
                config.tuning.abe = abe;
            })
            .established();
            pair.delay = Duration::from_millis(5);
            pair.rate = Some(BitRate::from_bps(100_000_000));
            pair.mark_after = Some(Duration::from_millis(1));
            pair.bulk(30_000_000, Duration::from_secs(20))
        });
        assert!(with < without, "{algorithm:?}: {with:?} {without:?}");
    }
}

/// Nor falls the sender silent where the flight sinks bit by bit (RFC 6937).
#[test]
fn a_window_cut_for_marks_is_reduced_while_segments_leave() {
    let [at_once, bit_by_bit] = [false, true].map(|prr| {
        let mut pair = both(|config| {
            asks(config);
            config.algorithm = Algorithm::Reno;
            config.receive_buffer = 1 << 20;
            config.prr = prr;
        })
        .established();
        pair.delay = Duration::from_millis(5);
        pair.rate = Some(BitRate::from_bps(100_000_000));
        pair.mark_after = Some(Duration::from_millis(10));
        pair.bulk(10_000_000, Duration::from_secs(5));
        assert!(pair.end(A).stats().mark_cuts > 0);
        let data: Vec<_> = pair.sent_by(A).filter(|s| s.len > 0).map(|s| s.at).collect();
        // Not the first round trips and not the last segment, which waits for Nagle.
        let gaps = data.windows(2).take(6000).skip(300).map(|two| two[1] - two[0]);
        gaps.max().expect("many were sent")
    });
    assert!(at_once > Duration::from_millis(5), "half a window of silence: {at_once:?}");
    assert!(bit_by_bit < Duration::from_millis(1), "{bit_by_bit:?}");
}

#[test]
fn ecn_costs_a_flow_without_marks_no_prediction() {
    let hits = [EcnMode::Off, EcnMode::On].map(|mode| {
        let mut pair = both(|config| config.ecn = mode).established();
        pair.bulk(1_000_000, Duration::from_secs(10));
        pair.cx.work.fast_path_hits
    });
    // The first capable packet is noticed.
    assert_eq!(hits[0], hits[1] + 1);
    let mut pair = both(dctcp).established();
    pair.bulk(1_000_000, Duration::from_secs(10));
    assert_eq!(pair.cx.work.fast_path_hits, hits[1]);
}
