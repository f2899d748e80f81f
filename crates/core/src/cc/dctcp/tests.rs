use super::*;
use crate::cc::{Algorithm, Growth, Phase, Tuning};
use crate::seq::SeqNumber;
use proptest::prelude::*;

const MSS: u32 = 1000;

/// A sender with its whole window in flight.
struct Sender {
    dctcp: Dctcp,
    snd_una: SeqNumber,
}

impl Sender {
    fn new(window: u32, alpha_on_init: u16, ecn: EcnPath) -> Sender {
        let parameters = Parameters { alpha_on_init, ..Parameters::default() };
        Sender::with(window, parameters, ecn)
    }

    fn with(window: u32, parameters: Parameters, ecn: EcnPath) -> Sender {
        let dctcp = Dctcp::new(&Settings {
            algorithm: Algorithm::Dctcp,
            growth: Growth::PerByte,
            mss: MSS,
            initial_window: window,
            initial_ssthresh: Some(window),
            cwnd_max: 1 << 20,
            tuning: Tuning { dctcp: parameters, ..Tuning::default() },
            ecn,
        });
        Sender { dctcp, snd_una: SeqNumber(u32::MAX - 5 * MSS) }
    }

    fn ack(&mut self, acked_ce: u32) {
        let in_flight_before = self.dctcp.cwnd();
        let snd_nxt = self.snd_una + in_flight_before;
        self.snd_una += MSS;
        self.dctcp.on_ack(&AckSample {
            now: Instant::ZERO,
            acked: MSS,
            acked_ce,
            rtt: None,
            in_flight_before,
            snd_una: self.snd_una,
            snd_nxt,
            phase: Phase::Open,
        });
    }

    /// Acknowledgments until the estimate is renewed, all or none of them with marks.
    fn window(&mut self, acked_ce: u32) -> u64 {
        loop {
            self.ack(acked_ce);
            if self.dctcp.acked == 0 {
                return self.dctcp.alpha;
            }
        }
    }
}

#[test]
fn dct_1_alpha_follows_the_share_of_marks() {
    let mut sender = Sender::new(4, 0, EcnPath::Usable);
    let alphas: Vec<u64> = (0..64).map(|_| sender.window(MSS)).collect();
    assert_eq!((alphas[0], alphas[9], alphas[31], alphas[63]), (64, 490, 902, 1014));

    let mut sender = Sender::new(4, ALPHA_ONE, EcnPath::Usable);
    let windows = (1..).find(|_| sender.window(0) == 0);
    assert_eq!(windows, Some(75));
}

/// The connection of the source that stayed at 15 whatever it did.
#[test]
fn the_share_of_the_first_kernels_sticks_below_16() {
    let old = Parameters { fading: Fading::Sticks, ..Parameters::default() };
    let mut sender = Sender::with(4, old, EcnPath::Usable);
    let windows = (1..).find(|_| sender.window(0) < 16);
    assert_eq!(windows, Some(74));
    let alphas: Vec<u64> = (0..100).map(|_| sender.window(0)).collect();
    assert_eq!(alphas, [15; 100]);
}

#[test]
fn dct_1_the_cut_is_half_of_alpha_in_whole_segments() {
    for (alpha, segments) in [(1024, 50), (512, 75), (15, 100)] {
        let mut sender = Sender::new(100, alpha, EcnPath::Usable);
        sender.dctcp.on_congestion(Instant::ZERO, Congestion::Marks, 100 * MSS);
        assert_eq!(sender.dctcp.cwnd(), segments * MSS, "alpha {alpha}");
        assert_eq!(sender.dctcp.ssthresh(), segments * MSS, "alpha {alpha}");
    }
}

#[test]
fn a_loss_is_answered_as_reno_does_whatever_alpha_says() {
    for sign in [Congestion::Loss, Congestion::Timeout] {
        let mut sender = Sender::new(100, 0, EcnPath::Usable);
        sender.dctcp.on_congestion(Instant::ZERO, sign, 100 * MSS);
        assert_eq!(sender.dctcp.ssthresh(), 50 * MSS);
        sender.dctcp.on_undo(Instant::ZERO);
        assert_eq!(sender.dctcp.cwnd(), 100 * MSS);
    }
}

#[test]
fn dct_5_without_ecn_it_is_reno_and_says_so() {
    let mut sender = Sender::new(10, ALPHA_ONE, EcnPath::Absent);
    for _ in 0..10 {
        sender.ack(MSS);
    }
    assert_eq!(sender.dctcp.cwnd(), 11 * MSS);
    assert_eq!(sender.dctcp.ecn(), EcnUse::Off);
    assert_eq!(sender.dctcp.state().name(), "dctcp-reno");
    assert_eq!(sender.dctcp.state().to_string(), "dctcp-reno dctcp:fallback_mode");
    sender.dctcp.on_congestion(Instant::ZERO, Congestion::Marks, 0);
    assert_eq!(sender.dctcp.cwnd(), 11 * MSS / 2);
}

#[test]
fn it_says_what_the_kernel_says() {
    let mut sender = Sender::new(10, 15, EcnPath::Usable);
    sender.ack(MSS);
    sender.ack(0);
    assert_eq!(sender.dctcp.ecn(), EcnUse::EveryMark);
    let state = sender.dctcp.state();
    assert_eq!(state.to_string(), "dctcp dctcp:(ce_state:0,alpha:15,ab_ecn:1000,ab_tot:2000)");
}

proptest! {
    /// Whatever arrives marked, the estimate is a share, and stays near that of the marks.
    #[test]
    fn alpha_comes_to_the_share_of_marks(shift_g in 0..=SHIFT_G_MAX, share in 0u32..=MSS, start in 0..=ALPHA_ONE) {
        // From below, what a window adds takes the place of what there was, and it stays there.
        let start = start.max(1 << shift_g);
        let parameters = Parameters { shift_g, alpha_on_init: start, ..Parameters::default() };
        let mut sender = Sender::with(2, parameters, EcnPath::Usable);
        for _ in 0..40 << shift_g.min(6) {
            prop_assert!(sender.window(share) <= u64::from(ALPHA_ONE));
            // Two segments all the time: the windows shall be short.
            sender.dctcp.reno.cut_to(2);
        }
        if shift_g <= 4 {
            // A window's share is rounded down to steps of the gain.
            let exact = u64::from(share) * 1024 / u64::from(MSS);
            prop_assert!(sender.dctcp.alpha.abs_diff(exact) <= 2 << shift_g, "{}", sender.dctcp.alpha);
        }
    }
}
