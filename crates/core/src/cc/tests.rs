//! What every algorithm of the table keeps to.

use super::*;
use proptest::prelude::*;

const MSS: u32 = 1460;

fn settings(algorithm: Algorithm, growth: Growth) -> Settings {
    Settings {
        algorithm,
        growth,
        mss: MSS,
        initial_window: 10,
        initial_ssthresh: None,
        cwnd_max: 1 << 16,
        tuning: Tuning::default(),
        ecn: EcnPath::Usable,
    }
}

/// An algorithm with the connection's sequence numbers around it.
struct Sender {
    cc: Box<dyn CongestionControl>,
    snd_una: SeqNumber,
}

impl Sender {
    fn new(settings: &Settings) -> Sender {
        Sender { cc: build(settings), snd_una: SeqNumber(u32::MAX - 50_000) }
    }

    fn ack(&mut self, now: Instant, acked: u32, in_flight_before: u32, phase: Phase) {
        let snd_nxt = self.snd_una + in_flight_before.max(acked);
        self.snd_una += acked;
        self.cc.on_ack(&AckSample {
            now,
            acked,
            acked_ce: 0,
            rtt: Some(Duration::from_millis(50)),
            in_flight_before,
            snd_una: self.snd_una,
            snd_nxt,
            phase,
        });
    }

    /// One segment is acknowledged while the whole window is in use.
    fn ack_in_use(&mut self, now: Instant) {
        let cwnd = self.cc.cwnd();
        self.ack(now, MSS, cwnd, Phase::Open);
    }
}

impl std::ops::Deref for Sender {
    type Target = dyn CongestionControl;
    fn deref(&self) -> &Self::Target {
        &*self.cc
    }
}

impl std::ops::DerefMut for Sender {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.cc
    }
}

fn for_each(check: impl Fn(&'static str, Sender)) {
    for algorithm in Algorithm::ALL {
        check(algorithm.name(), Sender::new(&settings(algorithm, Growth::PerByte)));
    }
}

#[test]
fn the_table_is_in_the_order_of_the_algorithms() {
    for (row, algorithm) in TABLE.iter().zip(Algorithm::ALL) {
        assert_eq!(row.algorithm, algorithm);
        assert_eq!(Algorithm::ALL[algorithm as usize], algorithm);
    }
}

#[test]
fn slow_start_doubles_per_round_trip() {
    for_each(|name, mut cc| {
        let start = cc.cwnd();
        for _ in 0..10 {
            cc.ack_in_use(Instant::ZERO);
        }
        assert_eq!(cc.cwnd(), 2 * start, "{name}");
    });
}

#[test]
fn a_loss_cuts_the_window_to_the_threshold_and_avoidance_goes_on_from_there() {
    for_each(|name, mut cc| {
        let start = cc.cwnd();
        cc.on_congestion(Instant::ZERO, Congestion::Loss, start);
        let cut = cc.cwnd();
        assert!(cut < start && cut == cc.ssthresh() && cut >= 2 * MSS, "{name}");
        cc.ack(Instant::ZERO, MSS, cut, Phase::Recovery);
        assert_eq!(cc.cwnd(), cut, "{name}: no growth in recovery");
        cc.on_recovery_end(Instant::ZERO);
        let mut now = Instant::ZERO;
        for _ in 0..20 {
            cc.ack_in_use(now);
            now += Duration::from_millis(5);
        }
        assert!(cc.cwnd() > cut && cc.cwnd() < cut + 5 * MSS, "{name}");
    });
}

#[test]
fn a_timeout_leaves_one_segment_and_repeats_do_not_forget_the_threshold() {
    for_each(|name, mut cc| {
        let start = cc.cwnd();
        cc.on_congestion(Instant::ZERO, Congestion::Timeout, start);
        let ssthresh = cc.ssthresh();
        assert_eq!(cc.cwnd(), MSS, "{name}");
        assert!(ssthresh < start, "{name}");
        cc.on_congestion(Instant::ZERO, Congestion::TimeoutAgain, MSS);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, ssthresh), "{name}");
        cc.ack(Instant::ZERO, MSS, MSS, Phase::Loss);
        assert_eq!(cc.cwnd(), 2 * MSS, "{name}: slow start after a timeout");
    });
}

#[test]
fn undo_restores_window_threshold_and_state() {
    for sign in [Congestion::Loss, Congestion::Timeout] {
        for_each(|name, mut cc| {
            let cwnd = cc.cwnd();
            cc.on_congestion(Instant::ZERO, Congestion::Loss, cwnd);
            cc.on_recovery_end(Instant::ZERO);
            for _ in 0..30 {
                cc.ack_in_use(Instant::ZERO);
            }
            let before = (cc.cwnd(), cc.ssthresh(), cc.state());
            cc.on_congestion(Instant::ZERO, sign, before.0);
            cc.on_undo(Instant::ZERO);
            assert_eq!((cc.cwnd(), cc.ssthresh(), cc.state()), before, "{name} {sign:?}");
            cc.on_undo(Instant::ZERO);
            assert_eq!(cc.cwnd(), before.0, "{name}: a second undo has nothing to take back");
        });
    }
}

#[test]
fn marks_cut_no_deeper_than_a_loss_and_are_not_undone() {
    for_each(|name, mut cc| {
        let start = cc.cwnd();
        cc.on_congestion(Instant::ZERO, Congestion::Marks, start);
        let cut = cc.cwnd();
        assert!(cut < start && cut >= start / 2, "{name}");
        assert_eq!(cut, cc.ssthresh(), "{name}");
        cc.on_undo(Instant::ZERO);
        assert_eq!(cc.cwnd(), cut, "{name}");
        cc.on_recovery_end(Instant::ZERO);
        for _ in 0..20 {
            cc.ack_in_use(Instant::ZERO);
        }
        assert!(cc.cwnd() > cut && cc.cwnd() < cut + 5 * MSS, "{name}");
    });
}

/// As deep as for a loss, but for DCTCP with few marks.
#[test]
fn marks_cut_as_deep_as_the_algorithm_says() {
    for (algorithm, share_of_100) in [
        (Algorithm::Reno, 50),
        (Algorithm::Vegas, 50),
        (Algorithm::Cubic, 70),
        (Algorithm::Dctcp, 50),
    ] {
        let wide = Settings { initial_window: 100, ..settings(algorithm, Growth::PerByte) };
        let name = algorithm.name();
        let mut cc = Sender::new(&wide);
        cc.on_congestion(Instant::ZERO, Congestion::Marks, 100 * MSS);
        assert_eq!(cc.cwnd(), share_of_100 * MSS, "{name}");
        let mut lossy = Sender::new(&wide);
        lossy.on_congestion(Instant::ZERO, Congestion::Loss, 100 * MSS);
        assert_eq!(lossy.cwnd(), cc.cwnd(), "{name}");
    }
}

#[test]
fn with_abe_marks_cut_less_than_a_loss_but_not_in_slow_start() {
    let abe = Tuning { abe: true, ..Tuning::default() };
    for (algorithm, of_1000, of_loss) in
        [(Algorithm::Reno, 800, 500), (Algorithm::Vegas, 800, 500), (Algorithm::Cubic, 850, 700)]
    {
        let wide = Settings {
            initial_window: 1000,
            initial_ssthresh: Some(500),
            tuning: abe,
            ..settings(algorithm, Growth::PerByte)
        };
        let name = algorithm.name();
        let cut = |settings: &Settings, sign| {
            let mut cc = Sender::new(settings);
            cc.on_congestion(Instant::ZERO, sign, 1000 * MSS);
            assert_eq!(cc.cwnd(), cc.ssthresh(), "{name}");
            cc.cwnd() / MSS
        };
        assert_eq!(cut(&wide, Congestion::Marks), of_1000, "{name}");
        assert_eq!(cut(&wide, Congestion::Loss), of_loss, "{name}");
        let starting = Settings { initial_ssthresh: None, ..wide };
        assert_eq!(cut(&starting, Congestion::Marks), of_loss, "{name}: in slow start");
        let tiny = Settings { initial_window: 2, initial_ssthresh: Some(1), ..wide };
        assert_eq!(cut(&tiny, Congestion::Marks), 2, "{name}: no less than two segments");
    }
}

#[test]
fn marks_never_raise_a_window_and_leave_two_segments_of_a_larger_one() {
    for segments in 1..=5 {
        for algorithm in Algorithm::ALL {
            let settings = settings(algorithm, Growth::PerByte);
            let small = Settings { initial_window: segments, ..settings };
            let mut cc = Sender::new(&small);
            for _ in 0..3 {
                cc.on_congestion(Instant::ZERO, Congestion::Marks, segments * MSS);
            }
            let name = algorithm.name();
            assert!(cc.cwnd() >= segments.min(2) * MSS, "{name} from {segments}");
            assert!(cc.cwnd() <= segments * MSS, "{name} from {segments}");
            // Where packets are counted, even a threshold of none leaves one to be sent.
            let mut cc = Sender::new(&Settings { growth: Growth::PerAck, ..small });
            for _ in 0..3 {
                cc.on_congestion(Instant::ZERO, Congestion::Marks, segments * MSS);
            }
            assert!((MSS..=segments * MSS).contains(&cc.cwnd()), "{name} from {segments}");
        }
    }
}

/// A loss that follows marks is not told; when it proves to be none, the algorithm is as it was.
#[test]
fn an_undo_after_marks_leaves_their_cut_and_the_algorithm_at_work() {
    for_each(|name, mut cc| {
        let start = cc.cwnd();
        cc.on_congestion(Instant::ZERO, Congestion::Marks, start);
        let cut = cc.cwnd();
        cc.on_undo(Instant::ZERO);
        assert_eq!(cc.cwnd(), cut, "{name}");
        if let State::Vegas { enabled, .. } = cc.state() {
            assert!(enabled);
        }
    });
}

#[test]
fn every_algorithm_calls_itself_by_its_name() {
    for_each(|name, cc| assert_eq!(cc.state().name(), name));
    let dctcp = Settings { ecn: EcnPath::Absent, ..settings(Algorithm::Dctcp, Growth::PerByte) };
    assert_eq!(build(&dctcp).state().name(), "dctcp-reno");
}

#[test]
fn an_unused_window_does_not_grow_and_idleness_shrinks_it() {
    for_each(|name, mut cc| {
        let start = cc.cwnd();
        for _ in 0..30 {
            cc.ack_in_use(Instant::ZERO);
        }
        let grown = cc.cwnd();
        cc.ack(Instant::ZERO, MSS, MSS, Phase::Open);
        assert_eq!(cc.cwnd(), grown, "{name}");
        cc.on_idle_restart(Instant::ZERO);
        assert_eq!(cc.cwnd(), start, "{name}");
        assert!(cc.ssthresh() >= grown / 4 * 3, "{name}");
    });
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Ack(u32, u32, Phase),
    Sent(u32),
    Congestion(Congestion),
    RecoveryEnd,
    Undo,
    IdleRestart,
}

fn step() -> impl Strategy<Value = Step> {
    let phase = prop_oneof![Just(Phase::Open), Just(Phase::Recovery), Just(Phase::Loss)];
    let sign = prop_oneof![
        Just(Congestion::Loss),
        Just(Congestion::Timeout),
        Just(Congestion::TimeoutAgain),
        Just(Congestion::Marks),
    ];
    prop_oneof![
        8 => (prop_oneof![0..100_000u32, any::<u32>()], any::<u32>(), phase)
            .prop_map(|(acked, flight, phase)| Step::Ack(acked, flight, phase)),
        2 => (0..100_000u32).prop_map(Step::Sent),
        1 => sign.prop_map(Step::Congestion),
        1 => Just(Step::RecoveryEnd),
        1 => Just(Step::Undo),
        1 => Just(Step::IdleRestart),
    ]
}

proptest! {
    #[test]
    fn the_window_stays_between_one_segment_and_its_ceiling(
        algorithm in prop::sample::select(&Algorithm::ALL[..]),
        mss in 1u32..=65_495,
        cwnd_max in prop_oneof![1u32..100, Just(1u32 << 30)],
        initial_ssthresh: Option<u32>,
        steps in prop::collection::vec((step(), 0u64..1_000_000_000), 0..200),
    ) {
        let settings = Settings {
            mss,
            cwnd_max,
            initial_ssthresh,
            ..settings(algorithm, Growth::PerByte)
        };
        let mut cc = Sender::new(&settings);
        let initial = cc.cwnd();
        let mut now = Instant::ZERO;
        for (step, nanos) in steps {
            now += Duration::from_nanos(nanos);
            match step {
                Step::Ack(acked, flight, phase) => cc.ack(now, acked, flight, phase),
                Step::Sent(bytes) => cc.on_sent(now, bytes, bytes),
                Step::Congestion(sign) => cc.on_congestion(now, sign, 0),
                Step::RecoveryEnd => cc.on_recovery_end(now),
                Step::Undo => cc.on_undo(now),
                Step::IdleRestart => cc.on_idle_restart(now),
            }
            prop_assert!(cc.cwnd() >= mss.min(initial));
            let ceiling = mss.saturating_mul(cwnd_max).max(initial).max(2 * mss);
            prop_assert!(cc.cwnd() <= ceiling);
        }
    }
}
