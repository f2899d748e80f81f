//! HyStart++ (RFC 9406): leaves the first slow start before it overflows the queue. When the round trip
//! of a round is clearly longer than that of the one before, growth is slowed to a quarter for five
//! rounds; if the round trip is short again meanwhile it was noise, and slow start goes on.

use super::{AckSample, Round};
use crate::time::Duration;

/// The constants of RFC 9406, 4.3.
const RTT_THRESH_MIN: Duration = Duration::from_millis(4);
const RTT_THRESH_MAX: Duration = Duration::from_millis(16);
const RTT_DIVISOR: u64 = 8;
const SAMPLES: u32 = 8;
const GROWTH_DIVISOR: u32 = 4;
const CONSERVATIVE_ROUNDS: u32 = 5;
/// Segments one acknowledgment may add: without pacing they leave as one burst.
const BURST: u32 = 8;

/// What an acknowledgment in slow start does to the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It grows by so many bytes.
    Grow(u32),
    /// Slow start is over.
    Leave,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    SlowStart,
    /// Conservative slow start: since a round trip of `baseline` seemed long, with `rounds` to go.
    Conservative { baseline: Duration, rounds: u32 },
}

/// Where the first slow start stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HyStart {
    stage: Stage,
    round: Option<Round>,
    /// The shortest round trips of the last round and of this one.
    last: Option<Duration>,
    current: Option<Duration>,
    samples: u32,
}

impl HyStart {
    /// Takes an acknowledgment that counts `acked` bytes of segments of `mss` bytes.
    pub fn on_ack(&mut self, sample: &AckSample, acked: u32, mss: u32) -> Step {
        let mut round = self.round.unwrap_or(Round::starting(sample.snd_nxt));
        let ended = round.at(sample.snd_una, sample.snd_nxt);
        self.round = Some(round);
        if let Some(rtt) = sample.rtt {
            self.current = Some(self.current.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        self.judge();
        if ended && self.end_round() {
            return Step::Leave;
        }
        let step = acked.min(mss.saturating_mul(BURST));
        match self.stage {
            Stage::SlowStart => Step::Grow(step),
            Stage::Conservative { .. } => Step::Grow(step / GROWTH_DIVISOR),
        }
    }

    fn judge(&mut self) {
        let Some(current) = self.current.filter(|_| self.samples >= SAMPLES) else {
            return;
        };
        match (self.stage, self.last) {
            (Stage::SlowStart, Some(last)) => {
                let eighth = Duration::from_nanos(last.as_nanos() / RTT_DIVISOR);
                if current >= last + eighth.clamp(RTT_THRESH_MIN, RTT_THRESH_MAX) {
                    let rounds = CONSERVATIVE_ROUNDS;
                    self.stage = Stage::Conservative { baseline: current, rounds };
                }
            }
            (Stage::Conservative { baseline, .. }, _) if current < baseline => {
                self.stage = Stage::SlowStart;
            }
            _ => {}
        }
    }

    /// Begins the next round and returns whether it was the last.
    fn end_round(&mut self) -> bool {
        self.last = self.current.take();
        self.samples = 0;
        match &mut self.stage {
            Stage::SlowStart => false,
            Stage::Conservative { rounds, .. } => {
                *rounds -= 1;
                *rounds == 0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Phase;
    use crate::seq::SeqNumber;
    use crate::time::Instant;

    const MSS: u32 = 1000;

    struct Sender {
        hystart: HyStart,
        cwnd: u32,
        snd_una: SeqNumber,
        left: bool,
    }

    impl Sender {
        fn new(segments: u32) -> Sender {
            let snd_una = SeqNumber(u32::MAX - 7 * MSS);
            Sender { hystart: HyStart::default(), cwnd: segments * MSS, snd_una, left: false }
        }

        /// A window's acknowledgments.
        fn round(&mut self, rtt: u64) {
            let end = self.snd_una + self.cwnd;
            while self.snd_una.lt(end) && !self.left {
                let snd_nxt = self.snd_una + self.cwnd;
                self.snd_una += MSS;
                let sample = AckSample {
                    now: Instant::ZERO,
                    acked: MSS,
                    acked_ce: 0,
                    rtt: Some(Duration::from_millis(rtt)),
                    in_flight_before: self.cwnd,
                    snd_una: self.snd_una,
                    snd_nxt,
                    phase: Phase::Open,
                };
                match self.hystart.on_ack(&sample, MSS, MSS) {
                    Step::Grow(bytes) => self.cwnd += bytes,
                    Step::Leave => self.left = true,
                }
            }
        }
    }

    #[test]
    fn a_steady_path_lets_slow_start_double() {
        let mut sender = Sender::new(10);
        for rounds in 1..=6 {
            sender.round(100);
            assert_eq!(sender.cwnd, (10 << rounds) * MSS);
        }
    }

    #[test]
    fn a_queue_that_stays_ends_it_after_five_slow_rounds() {
        let mut sender = Sender::new(10);
        sender.round(100);
        sender.round(113);
        let judged = sender.cwnd;
        // From its eighth sample on the round added a quarter: 20 segments became 27 and 13 quarters.
        assert_eq!(judged, 30_250);
        let mut rounds = 1;
        while !sender.left {
            sender.round(113);
            rounds += 1;
        }
        assert_eq!(rounds, 5);
        assert!(sender.cwnd < judged * 5 / 2, "{}", sender.cwnd);
    }

    #[test]
    fn a_short_round_trip_in_between_takes_it_back() {
        let mut sender = Sender::new(10);
        sender.round(100);
        sender.round(120);
        assert!(matches!(sender.hystart.stage, Stage::Conservative { .. }));
        let before = sender.cwnd;
        sender.round(101);
        assert_eq!(sender.hystart.stage, Stage::SlowStart);
        assert!(sender.cwnd > before * 7 / 4);
    }

    #[test]
    fn the_threshold_is_an_eighth_between_4_and_16_milliseconds() {
        let slowed = |base: u64, rtt: u64| {
            let mut sender = Sender::new(10);
            sender.round(base);
            sender.round(rtt);
            sender.hystart.stage != Stage::SlowStart
        };
        assert!(!slowed(8, 11) && slowed(8, 12));
        assert!(!slowed(80, 89) && slowed(80, 90));
        assert!(!slowed(800, 815) && slowed(800, 816));
    }

    #[test]
    fn few_samples_decide_nothing_and_an_acknowledgment_adds_eight_segments_at_most() {
        let mut sender = Sender::new(7);
        sender.round(10);
        sender.cwnd = 7 * MSS;
        sender.round(500);
        assert_eq!(sender.hystart.stage, Stage::SlowStart);
        let sample = AckSample {
            now: Instant::ZERO,
            acked: 44 * MSS,
            acked_ce: 0,
            rtt: None,
            in_flight_before: 50 * MSS,
            snd_una: SeqNumber(1),
            snd_nxt: SeqNumber(2),
            phase: Phase::Open,
        };
        assert_eq!(HyStart::default().on_ack(&sample, 44 * MSS, MSS), Step::Grow(8 * MSS));
    }
}
