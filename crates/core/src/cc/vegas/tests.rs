use super::*;
use crate::cc::{Algorithm, EcnPath, Growth, Tuning};
use crate::seq::SeqNumber;

const MSS: u32 = 1000;

/// A sender whose window is in use, on a path of one-segment acknowledgments.
struct Sender {
    vegas: Vegas,
    snd_una: SeqNumber,
}

impl Sender {
    fn new(initial_window: u32, initial_ssthresh: Option<u32>, parameters: Parameters) -> Sender {
        let vegas = Vegas::new(&Settings {
            algorithm: Algorithm::Vegas,
            growth: Growth::PerByte,
            mss: MSS,
            initial_window,
            initial_ssthresh,
            cwnd_max: 1 << 20,
            tuning: Tuning { vegas: parameters, ..Tuning::default() },
            ecn: EcnPath::Absent,
        });
        Sender { vegas, snd_una: SeqNumber(u32::MAX - 20 * MSS) }
    }

    /// In congestion avoidance from the start.
    fn avoiding(window: u32) -> Sender {
        Sender::new(window, Some(window), Parameters::default())
    }

    fn ack(&mut self, rtt: Duration, phase: Phase) {
        let in_flight_before = self.vegas.cwnd();
        self.snd_una += MSS;
        self.vegas.on_ack(&AckSample {
            now: Instant::ZERO,
            acked: MSS,
            acked_ce: 0,
            rtt: Some(rtt),
            in_flight_before,
            snd_una: self.snd_una,
            snd_nxt: self.snd_una + (in_flight_before - MSS),
            phase,
        });
    }

    /// Acknowledgments until a round is over; `rtts` in turns.
    fn round(&mut self, rtts: &[u64]) {
        for rtt in rtts.iter().cycle() {
            let count = self.vegas.measured.rtt_count;
            self.ack(Duration::from_millis(*rtt), Phase::Open);
            if self.vegas.measured.rtt_count <= count {
                return;
            }
        }
    }

    fn segments(&self) -> f64 {
        f64::from(self.vegas.cwnd()) / f64::from(MSS)
    }
}

#[test]
fn veg_2_the_window_follows_what_waits_in_the_queue() {
    // diff 3, 6 and 1 segments.
    for (rtt, segments) in [(130, 10.0), (160, 9.0), (110, 11.0)] {
        let mut sender = Sender::avoiding(10);
        sender.vegas.base_rtt = Some(Duration::from_millis(100));
        sender.round(&[rtt + 50, rtt]);
        assert_eq!(sender.segments(), segments, "{rtt} ms");
        assert!(!sender.vegas.reno.is_in_slow_start());
    }
}

#[test]
fn veg_3_slow_start_ends_when_a_queue_builds() {
    let mut sender = Sender::new(16, None, Parameters::default());
    sender.vegas.base_rtt = Some(Duration::from_millis(100));
    // The round's own growth shall not be in it: what is judged are 16 segments.
    sender.vegas.judge_slow_start(
        &AckSample {
            now: Instant::ZERO,
            acked: MSS,
            acked_ce: 0,
            rtt: None,
            in_flight_before: 16 * MSS,
            snd_una: sender.snd_una,
            snd_nxt: sender.snd_una,
            phase: Phase::Open,
        },
        Duration::from_millis(100),
        Duration::from_millis(120),
    );
    assert_eq!((sender.segments(), sender.vegas.ssthresh()), (14.0, 14 * MSS));
}

#[test]
fn slow_start_goes_on_while_no_queue_builds_and_ends_with_the_first() {
    let mut sender = Sender::new(4, None, Parameters::default());
    for rounds in 0..4 {
        sender.round(&[100]);
        assert!(sender.vegas.reno.is_in_slow_start(), "{rounds}");
    }
    assert!(sender.segments() > 60.0, "{}", sender.segments());
    sender.round(&[150]);
    assert!(!sender.vegas.reno.is_in_slow_start());
    let grown = sender.segments();
    sender.round(&[100]);
    assert_eq!(sender.segments(), grown + 1.0);
}

#[test]
fn the_papers_slow_start_rests_every_other_round() {
    let parameters = Parameters { doubling: Doubling::EveryOtherRound, ..Parameters::default() };
    let mut sender = Sender::new(8, None, parameters);
    let mut windows = Vec::new();
    for _ in 0..4 {
        sender.round(&[100]);
        windows.push(sender.segments());
    }
    // A round lasts one acknowledgment longer than the window; the one that ends a rest counts already.
    assert_eq!(windows, [16.0, 17.0, 32.0, 33.0]);
    // A queue seen while the window grows is judged at the end of the rest.
    sender.round(&[150]);
    assert!(sender.vegas.reno.is_in_slow_start());
    sender.round(&[150]);
    assert!(!sender.vegas.reno.is_in_slow_start());
}

#[test]
fn veg_4_two_samples_in_a_round_are_a_step_of_reno() {
    let mut sender = Sender::avoiding(2);
    sender.vegas.base_rtt = Some(Duration::from_millis(100));
    // Judged, a queue of 18 keeps the window at two, as in the first round, which has three samples.
    // The others have two: Reno adds a segment per window acknowledged.
    let windows = [0; 3].map(|_| {
        sender.round(&[1000]);
        sender.segments()
    });
    assert_eq!(windows, [2.0, 2.0, 3.0]);
}

#[test]
fn it_never_leaves_less_than_two_segments() {
    let mut sender = Sender::avoiding(5);
    sender.round(&[10]);
    for _ in 0..10 {
        sender.round(&[1000]);
    }
    assert_eq!(sender.segments(), 2.0);
}

#[test]
fn while_a_loss_is_repaired_it_is_reno_and_what_was_learnt_stays() {
    let mut sender = Sender::avoiding(20);
    sender.ack(Duration::from_millis(100), Phase::Open);
    let base = sender.vegas.base_rtt;
    sender.vegas.on_congestion(Instant::ZERO, Congestion::Loss, 0);
    assert_eq!(sender.segments(), 10.0);
    assert!(matches!(sender.vegas.state(), State::Vegas { enabled: false, rtt_count: 0, .. }));
    for _ in 0..30 {
        sender.ack(Duration::from_millis(500), Phase::Recovery);
    }
    assert_eq!(sender.segments(), 10.0);
    sender.vegas.on_recovery_end(Instant::ZERO);
    assert!(matches!(sender.vegas.state(), State::Vegas { enabled: true, rtt_count: 0, .. }));
    assert_eq!(sender.vegas.base_rtt, base);
    sender.round(&[160]);
    assert_eq!(sender.segments(), 9.0);
}

#[test]
fn a_pause_forgets_the_path_and_a_repair_does_not() {
    let mut sender = Sender::avoiding(10);
    sender.round(&[100]);
    sender.vegas.on_sent(Instant::ZERO, MSS, 5 * MSS);
    assert!(sender.vegas.base_rtt.is_some());
    sender.vegas.on_sent(Instant::ZERO, MSS, MSS);
    assert_eq!(sender.vegas.base_rtt, None);
    sender.round(&[200]);
    sender.vegas.on_congestion(Instant::ZERO, Congestion::Timeout, 0);
    sender.vegas.on_sent(Instant::ZERO, MSS, MSS);
    assert_eq!(sender.vegas.base_rtt, Some(Duration::from_millis(200)));
}

#[test]
fn switched_off_it_is_reno() {
    let settings = Settings {
        algorithm: Algorithm::Vegas,
        growth: Growth::PerByte,
        mss: MSS,
        initial_window: 10,
        initial_ssthresh: Some(20),
        cwnd_max: 1 << 20,
        tuning: Tuning {
            vegas: Parameters { cong_avoid: false, ..Parameters::default() },
            ..Tuning::default()
        },
        ecn: EcnPath::Absent,
    };
    let mut reno = Reno::new(&settings);
    let mut sender = Sender { vegas: Vegas::new(&settings), snd_una: SeqNumber(0) };
    for n in 0..500u64 {
        let sample = AckSample {
            now: Instant::ZERO,
            acked: MSS,
            acked_ce: 0,
            rtt: Some(Duration::from_millis(10 + n)),
            in_flight_before: reno.cwnd(),
            snd_una: SeqNumber(n as u32 * MSS),
            snd_nxt: SeqNumber(n as u32 * MSS) + reno.cwnd(),
            phase: Phase::Open,
        };
        reno.on_ack(&sample);
        sender.vegas.on_ack(&sample);
        if n == 300 {
            reno.on_congestion(Instant::ZERO, Congestion::Loss, 0);
            sender.vegas.on_congestion(Instant::ZERO, Congestion::Loss, 0);
            reno.on_recovery_end(Instant::ZERO);
            sender.vegas.on_recovery_end(Instant::ZERO);
        }
        assert_eq!(sender.vegas.cwnd(), reno.cwnd());
    }
}

/// A line that sends a segment in 10 ms, 100 ms away, with a queue without an end.
#[test]
fn veg_1_in_a_deep_queue_it_keeps_two_to_four_segments() {
    let mut sender = Sender::new(4, None, Parameters::default());
    for _ in 0..60 {
        let window = u64::from(sender.vegas.cwnd() / MSS);
        let rtt = (window * 10).max(110);
        sender.round(&[rtt]);
    }
    let queued = sender.segments() - 11.0;
    assert!((2.0..=4.0).contains(&queued), "{queued}");
}

#[test]
fn it_says_what_the_kernel_says() {
    let mut sender = Sender::avoiding(10);
    let fresh = "vegas vegas:(enabled:1,rttcnt:0,rtt:2147483647,minrtt:2147483647)";
    assert_eq!(sender.vegas.state().to_string(), fresh);
    sender.ack(Duration::from_micros(1500), Phase::Open);
    sender.ack(Duration::from_micros(1700), Phase::Open);
    let measured = "vegas vegas:(enabled:1,rttcnt:2,rtt:1500,minrtt:1500)";
    assert_eq!(sender.vegas.state().to_string(), measured);
}
