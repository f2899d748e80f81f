//! Whatever the wires do short of silence, bytes arrive in order and equal.

use super::pair::{A, B, Faults, Pair, pattern};
use crate::seq::SeqNumber;
use crate::tcp::config::{Algorithm, EcnMode, Recovery};
use crate::tcp::{Config, Data, Profile, State};
use crate::time::Duration;
use crate::units::{BitRate, Ratio};
use crate::wire::ipv4::Ecn;
use crate::wire::tcp::{Flags, Options, Repr, SackBlocks, Timestamps};
use proptest::prelude::*;

#[derive(Debug, Clone)]
struct Case {
    seed: u64,
    profile: Profile,
    recovery: Recovery,
    timestamps: bool,
    /// One bit each: probes, PRR, F-RTO, limited transmit, D-SACK, Eifel.
    switches: u8,
    mtu: u16,
    receive_buffer: u32,
    loss_permille: u32,
    duplication_permille: u32,
    jitter_ms: u64,
    rate: u64,
    mark_ms: u64,
    algorithm: Algorithm,
    bytes: usize,
}

fn cases() -> impl Strategy<Value = Case> {
    let recovery = prop::sample::select(vec![
        Recovery::TimeoutOnly,
        Recovery::Reno,
        Recovery::NewReno,
        Recovery::Sack,
        Recovery::Rack,
        Recovery::Rack,
    ]);
    let profile = prop::sample::select(Profile::ALL.to_vec());
    let shape = (any::<u64>(), profile, recovery, any::<bool>(), any::<u8>(), 120u16..9000);
    let wires = (0u32..80, 0u32..80, 0u64..200, 20_000u64..20_000_000);
    let ecn = (0u64..50, prop::sample::select(Algorithm::ALL.to_vec()));
    (shape, wires, ecn, 2_000u32..200_000, 1usize..150_000).prop_map(
        |(shape, wires, ecn, receive_buffer, bytes)| {
            let (seed, profile, recovery, timestamps, switches, mtu) = shape;
            Case {
                seed,
                profile,
                recovery,
                timestamps,
                switches,
                mtu,
                receive_buffer,
                loss_permille: wires.0,
                duplication_permille: wires.1,
                jitter_ms: wires.2,
                rate: wires.3,
                mark_ms: ecn.0,
                algorithm: ecn.1,
                bytes,
            }
        },
    )
}

fn deliver(case: &Case) {
    let mut config = Config::new(case.profile, case.mtu);
    if case.profile == Profile::Modern {
        config.recovery = case.recovery;
        config.timestamps = case.timestamps;
        let is_on = |bit: u8| case.switches >> bit & 1 == 1;
        (config.tlp, config.prr, config.frto) = (is_on(0), is_on(1), is_on(2));
        (config.limited_transmit, config.dsack, config.eifel) = (is_on(3), is_on(4), is_on(5));
        config.receive_buffer = case.receive_buffer;
        config.algorithm = case.algorithm;
        config.ecn = EcnMode::On;
    }
    let mut pair = Pair::new(config.clone(), config);
    pair.mark_after = Some(Duration::from_millis(case.mark_ms));
    pair.logging = false;
    pair.seed(case.seed);
    pair.rate = Some(BitRate::from_bps(case.rate));
    pair.delay = Duration::from_millis(case.seed % 60);
    pair.faults = Some(Faults {
        loss: Ratio::from_ppb(case.loss_permille * 1_000_000),
        duplication: Ratio::from_ppb(case.duplication_permille * 1_000_000),
        jitter: Duration::from_millis(case.jitter_ms),
    });
    pair.connect(A);
    let bytes = pattern(case.bytes);
    let (mut written, mut answered) = (0, 0);
    let limit = pair.now + Duration::from_secs(40_000);
    while pair.received[B].len() < bytes.len() || pair.received_len[A] < 1000 {
        let piece = &bytes[written..bytes.len().min(written + 5000)];
        written += pair.write(A, Data::Bytes(piece));
        if pair.ends[B].is_some() && answered < 1000 {
            answered += pair.write(B, Data::Elided(1000 - answered));
        }
        assert!(pair.step(limit), "stuck with {} of {}", pair.received[B].len(), bytes.len());
    }
    assert_eq!(pair.received[B], bytes);
    pair.close(A);
    pair.close(B);
    pair.run_for(Duration::from_secs(4000));
    let closed = |state| matches!(state, State::Closed | State::TimeWait);
    assert!(closed(pair.end(A).state()) && closed(pair.end(B).state()));
    assert_eq!(pair.received_len, [1000, bytes.len() as u64]);
    assert_eq!(pair.cx.frames.live(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn bytes_arrive_in_order_and_equal(case in cases()) {
        deliver(&case);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    /// A sender that cuts its segments anew each time, as no sender of ours does.
    #[test]
    fn overlapping_segments_in_any_order_give_the_same_bytes(
        cuts in prop::collection::vec((0usize..4000, 1usize..1400), 1..40),
    ) {
        let mut config = Config::new(Profile::Modern, 1500);
        config.receive_buffer = 3000;
        let mut pair = Pair::new(config.clone(), config).established();
        pair.cut = [true; 2];
        pair.write(A, Data::Bytes(b"x"));
        let first = pair.log[0].repr;
        let bytes = pattern(4000);
        let send = |pair: &mut Pair, from: usize, len: usize| {
            let to = (from + len).min(bytes.len());
            let repr = Repr { seq: first.seq + from as u32, ..first };
            pair.inject(B, repr, &bytes[from..to]);
        };
        for (from, len) in cuts {
            send(&mut pair, from, len);
            let got = pair.received[B].len();
            prop_assert_eq!(&pair.received[B][..], &bytes[..got]);
        }
        for from in (0..4000).step_by(700) {
            send(&mut pair, from, 1000);
        }
        prop_assert_eq!(&pair.received[B], &bytes);
        pair.abort(B);
        prop_assert_eq!(pair.cx.frames.live(), 0);
    }
}

/// Any header at all, with numbers near those in use so that some of it is taken.
#[derive(Debug, Clone)]
struct Header {
    to: usize,
    flags: u8,
    seq: i16,
    ack: i16,
    window: u16,
    stamp: i16,
    blocks: Vec<(i16, i16)>,
    len: usize,
    ecn: u8,
}

fn headers() -> impl Strategy<Value = Header> {
    let near = || -3000i16..3000;
    let blocks = prop::collection::vec((near(), -3000i16..6000), 0..4);
    let len = prop::sample::select(vec![0usize, 0, 1, 500, 1400]);
    let numbers = (near(), near(), any::<u16>(), -100i16..100);
    (0usize..2, any::<u8>(), numbers, blocks, len, any::<u8>()).prop_map(
        |(to, flags, (seq, ack, window, stamp), blocks, len, ecn)| Header {
            to,
            flags,
            seq,
            ack,
            window,
            stamp,
            blocks,
            len,
            ecn,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    /// Nothing a peer sends breaks an invariant (asserted at every step) or leaks a frame.
    #[test]
    fn no_segment_whatever_breaks_a_connection(
        script in prop::collection::vec(headers(), 1..60),
        profile in prop::sample::select(Profile::ALL.to_vec()),
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
    ) {
        let ecn = EcnMode::On;
        let config = Config { algorithm, ecn, ..Config::new(profile, 1500) };
        let mut pair = Pair::new(config.clone(), config);
        pair.connect(A);
        for (step, header) in script.into_iter().enumerate() {
            let Header { to, flags, seq, ack, window, stamp, blocks, len, ecn } = header;
            pair.made_up = Ecn::from_bits(ecn);
            if step == 3 {
                pair.run_for(Duration::from_secs(1));
            }
            if pair.ends[to].is_none() || pair.log.is_empty() {
                continue;
            }
            let near = |n: SeqNumber, by: i16| n + by as i32 as u32;
            let last = |end: usize| pair.log.iter().rev().find(|s| s.from == end).map(|s| s.repr);
            let (Some(ours), Some(theirs)) = (last(1 - to), last(to)) else {
                continue;
            };
            let mut sack = SackBlocks::new();
            for (left, right) in blocks {
                sack.push(near(theirs.seq, left), near(theirs.seq, right));
            }
            let repr = Repr {
                // Mostly plain ACKs: resets and SYNs would end every script at once.
                flags: Flags(if flags % 4 == 0 { flags } else { Flags::ACK.0 | flags & 0xc1 }),
                seq: near(ours.seq, seq / 3),
                ack: near(theirs.seq, ack),
                window,
                options: Options {
                    sack,
                    timestamps: ours.options.timestamps.map(|t| Timestamps {
                        value: t.value.wrapping_add(stamp as i32 as u32),
                        echo: t.echo.wrapping_add(stamp as i32 as u32),
                    }),
                    ..Options::default()
                },
                ..Repr::default()
            };
            pair.inject(to, repr, &[7; 1400][..len]);
            pair.write(to, Data::Elided(2000));
            pair.run_for(Duration::from_millis(u64::from(flags)));
        }
        for end in [A, B] {
            if pair.ends[end].is_some() {
                pair.abort(end);
            }
        }
        pair.run_for(Duration::from_secs(1));
        prop_assert_eq!(pair.cx.frames.live(), 0);
    }
}
