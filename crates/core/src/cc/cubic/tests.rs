use super::*;
use crate::cc::{Algorithm, EcnPath};
use crate::seq::SeqNumber;
use proptest::prelude::*;

const MSS: u32 = 1000;

fn cubic(initial_window: u32, initial_ssthresh: Option<u32>) -> Cubic {
    Cubic::new(&Settings {
        algorithm: Algorithm::Cubic,
        growth: Growth::PerByte,
        mss: MSS,
        initial_window,
        initial_ssthresh,
        cwnd_max: 1 << 20,
        tuning: Default::default(),
        ecn: EcnPath::Absent,
    })
}

fn ack_in_use(cubic: &mut Cubic, now: Instant, rtt: Duration) {
    let in_flight_before = cubic.cwnd();
    ack(cubic, now, rtt, in_flight_before);
}

fn ack(cubic: &mut Cubic, now: Instant, rtt: Duration, in_flight_before: u32) {
    cubic.on_ack(&AckSample {
        now,
        acked: MSS,
        acked_ce: 0,
        rtt: Some(rtt),
        in_flight_before,
        snd_una: SeqNumber(0),
        snd_nxt: SeqNumber(0),
        phase: Phase::Open,
    });
}

/// The acknowledgments of one round trip, spread over it.
fn round(cubic: &mut Cubic, start: Instant, rtt: Duration) {
    let segments = cubic.cwnd() / MSS;
    for n in 1..=segments {
        let part = rtt.as_nanos() * u64::from(n) / u64::from(segments);
        ack_in_use(cubic, start + Duration::from_nanos(part), rtt);
    }
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / 1024.0
}

#[test]
fn cub_1_the_curve_is_flat_at_k_and_comes_back_as_it_went() {
    let k = ticks_to_make_up(30 * MSS, MSS);
    assert!((seconds(k) - 4.217).abs() < 0.002, "K = {}", seconds(k));
    let start = Instant::from_nanos(7_000_000_000);
    let epoch = Epoch { start, k, origin: 100 * MSS, w_est: 70 * MSS, w_est_rest: 0, cwnd_rest: 0 };
    let after = |ticks: u64| epoch.curve(start + from_ticks(ticks), MSS);
    assert!(after(0).abs_diff(70 * MSS) < MSS / 10);
    assert!(after(k).abs_diff(100 * MSS) < MSS / 10);
    assert!(after(2 * k).abs_diff(130 * MSS) < MSS / 10);
}

/// Additive increase of `alpha` per round trip and decrease to 0.7 at 20 segments, for comparison.
fn mean_of_aimd(rounds: u32) -> f64 {
    let (mut window, mut sum) = (14.0f64, 0.0);
    for _ in 0..rounds {
        sum += window;
        window += 9.0 / 17.0;
        if window >= 20.0 {
            window *= 0.7;
        }
    }
    sum / f64::from(rounds)
}

#[test]
fn cub_2_on_a_short_path_it_is_as_fast_as_reno() {
    let rtt = Duration::from_millis(10);
    let mut cubic = cubic(20, Some(20));
    let mut now = Instant::ZERO;
    cubic.on_congestion(now, Congestion::Loss, 20 * MSS);
    cubic.on_recovery_end(now);
    let mut sum = 0.0;
    for _ in 0..2000 {
        sum += f64::from(cubic.cwnd()) / f64::from(MSS);
        round(&mut cubic, now, rtt);
        now += rtt;
        if cubic.cwnd() >= 20 * MSS {
            cubic.on_congestion(now, Congestion::Loss, 20 * MSS);
            cubic.on_recovery_end(now);
        }
    }
    let (ours, reno) = (sum / 2000.0, mean_of_aimd(2000));
    assert!((ours / reno - 1.0).abs() < 0.1, "{ours} against {reno} segments");
}

#[test]
fn cub_3_k_agrees_with_the_deployed_integers() {
    let deployed = cube_root((1u64 << 40) / 410 * 30);
    let ours = ticks_to_make_up(30 * MSS, MSS);
    assert!((seconds(deployed) - 4.21).abs() < 4.21 * 0.005);
    assert!((seconds(ours) / seconds(deployed) - 1.0).abs() < 0.005);
}

#[test]
fn after_a_loss_the_old_window_is_back_after_k_and_passed_after_that() {
    let rtt = Duration::from_millis(100);
    let mut cubic = cubic(1000, Some(1000));
    let mut now = Instant::from_nanos(5);
    cubic.on_congestion(now, Congestion::Loss, 0);
    cubic.on_recovery_end(now);
    assert_eq!(cubic.cwnd(), 700 * MSS);
    // K = cbrt(300 / 0.4) = 9.09 s.
    for _ in 0..90 {
        round(&mut cubic, now, rtt);
        now += rtt;
    }
    assert!(cubic.cwnd().abs_diff(1000 * MSS) < 5 * MSS, "{}", cubic.cwnd());
    for _ in 0..91 {
        round(&mut cubic, now, rtt);
        now += rtt;
    }
    assert!(cubic.cwnd().abs_diff(1300 * MSS) < 20 * MSS, "{}", cubic.cwnd());
}

#[test]
fn a_second_loss_below_the_first_makes_room() {
    let mut cubic = cubic(100, Some(100));
    cubic.on_congestion(Instant::ZERO, Congestion::Loss, 0);
    assert_eq!(cubic.window.w_max, 100 * MSS);
    cubic.on_congestion(Instant::ZERO, Congestion::Loss, 0);
    assert_eq!(cubic.window.w_max, 70 * MSS * 17 / 20);
    assert_eq!(cubic.cwnd(), 49 * MSS);
}

#[test]
fn time_without_use_does_not_move_the_curve() {
    let rtt = Duration::from_millis(100);
    let mut cubic = cubic(100, Some(100));
    cubic.on_congestion(Instant::ZERO, Congestion::Loss, 0);
    cubic.on_recovery_end(Instant::ZERO);
    let mut now = Instant::ZERO;
    for _ in 0..5 {
        round(&mut cubic, now, rtt);
        now += rtt;
    }
    let cwnd = cubic.cwnd();
    let elapsed = |cubic: &Cubic, now: Instant| now - cubic.window.epoch.unwrap().start;
    let before = elapsed(&cubic, now);

    now += Duration::from_secs(60);
    cubic.on_sent(now, MSS, MSS);
    assert_eq!(elapsed(&cubic, now), before);
    for _ in 0..100 {
        now += rtt;
        ack(&mut cubic, now, rtt, MSS);
    }
    assert_eq!((elapsed(&cubic, now), cubic.cwnd()), (before, cwnd));
}

#[test]
fn a_round_trip_never_adds_more_than_half() {
    let rtt = Duration::from_secs(10);
    let mut cubic = cubic(10, Some(10));
    let mut now = Instant::ZERO;
    for _ in 0..20 {
        let before = cubic.cwnd();
        round(&mut cubic, now, rtt);
        now += rtt;
        // Each acknowledgment may add half of its share of a window that grows meanwhile.
        assert!(f64::from(cubic.cwnd()) < f64::from(before) * 1.65);
    }
}

/// Slow start into a queue of a line that sends a segment per millisecond, 50 ms away.
fn leaves_slow_start_at(hystart: bool) -> u32 {
    let mut cubic = Cubic { hystart: hystart.then(HyStart::default), ..cubic(10, None) };
    let mut snd_una = SeqNumber(0);
    for _ in 0..1000 {
        let cwnd = cubic.cwnd();
        let snd_nxt = snd_una + cwnd;
        snd_una += MSS;
        cubic.on_ack(&AckSample {
            now: Instant::ZERO,
            acked: MSS,
            acked_ce: 0,
            rtt: Some(Duration::from_millis(u64::from(cwnd / MSS).max(50))),
            in_flight_before: cwnd,
            snd_una,
            snd_nxt,
            phase: Phase::Open,
        });
        if cubic.cwnd() >= cubic.ssthresh() {
            break;
        }
    }
    cubic.cwnd() / MSS
}

#[test]
fn the_first_slow_start_grows_by_quarters_once_a_queue_builds_and_ends() {
    // A queue shows at some 60 segments; five rounds of a quarter make three times as much of it.
    let left = leaves_slow_start_at(true);
    assert!((60..240).contains(&left), "{left} segments");
    assert!(leaves_slow_start_at(false) > 1000);
}

#[test]
fn a_later_slow_start_ends_at_the_threshold_alone() {
    let mut cubic = cubic(10, None);
    cubic.on_congestion(Instant::ZERO, Congestion::Timeout, 0);
    assert_eq!(cubic.ssthresh(), 7 * MSS);
    let hystart = cubic.hystart;
    round(&mut cubic, Instant::ZERO, Duration::from_millis(50));
    assert_eq!((cubic.cwnd(), cubic.hystart), (2 * MSS, hystart));
}

#[test]
fn ticks_come_back() {
    assert_eq!(ticks(Duration::from_secs(3)), 3 << TICK_BITS);
    assert_eq!(from_ticks(3 << TICK_BITS), Duration::from_secs(3));
    let exact = u128::from(u64::MAX) * 2 / u128::from(TICK_HALF_NANOS);
    assert_eq!(u128::from(ticks(Duration::MAX)), exact);
}

proptest! {
    #[test]
    fn cube_roots_are_exact(n: u64) {
        let root = u128::from(cube_root(n));
        prop_assert!(root.pow(3) <= u128::from(n) && (root + 1).pow(3) > u128::from(n));
    }

    #[test]
    fn the_curve_reaches_the_old_window_after_k(deficit: u32, mss in 1u32..=65_495) {
        let k = ticks_to_make_up(deficit, mss);
        let (below, above) = (rise(k, mss), rise(k + 1, mss));
        let slack = u64::from(mss / 1024) + 2;
        prop_assert!(k >= DISTANCE_MAX || below <= u64::from(deficit) + slack);
        prop_assert!(k >= DISTANCE_MAX || above + slack >= u64::from(deficit));
    }
}
