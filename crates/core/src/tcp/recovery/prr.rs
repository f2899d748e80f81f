//! Proportional rate reduction (RFC 6937, with the refinements of RFC 9937): during fast recovery what
//! leaves follows what is delivered, so that the flight ends where congestion control wants it.
//!
//! Deviation: a window that was cut for marks is reduced in the same way, as deployed systems do it; the RFCs
//! speak of losses only. At once the sender would fall silent until the flight has sunk to the new window.

use super::Before;
use crate::cc::Phase;
use crate::tcp::Connection;

/// Whether an acknowledgment speaks for sending more than was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It advanced and told of no further loss.
    Good,
    /// It did not, or it did.
    Doubtful,
}

/// One reduction; all in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tcp) struct Prr {
    /// What the flight is to become: ssthresh.
    target: u32,
    /// What it was at the start (RecoverFS).
    flight: u32,
    delivered: u32,
    out: u32,
    /// What may be in the network until the next acknowledgment.
    window: u32,
}

impl Prr {
    pub fn new(target: u32, flight: u32) -> Self {
        Prr { target, flight: flight.max(1), delivered: 0, out: 0, window: 0 }
    }

    pub fn window(&self) -> u32 {
        self.window
    }

    /// `bytes` left, new or again.
    pub fn on_sent(&mut self, bytes: u32) {
        self.out = self.out.saturating_add(bytes);
    }

    /// An acknowledgment delivered `bytes` and left `pipe` in the network.
    pub fn on_ack(&mut self, bytes: u32, pipe: u32, mss: u32, progress: Progress) {
        self.delivered = self.delivered.saturating_add(bytes);
        let room = if pipe > self.target {
            let share = u64::from(self.delivered) * u64::from(self.target);
            (share.div_ceil(u64::from(self.flight)) as u32).saturating_sub(self.out)
        } else {
            let growth = match progress {
                Progress::Good => mss,
                Progress::Doubtful => 0,
            };
            let owed = self.delivered.saturating_sub(self.out).max(bytes);
            owed.saturating_add(growth).min(self.target - pipe)
        };
        let room = if self.out == 0 { room.max(mss) } else { room };
        self.window = pipe.saturating_add(room);
    }
}

impl Connection {
    /// Congestion control has cut its window: the flight follows step by step.
    pub(in crate::tcp) fn start_reduction(&mut self, before: &Before) {
        if self.config.prr && self.agreed.repair.uses_sack() {
            // What was SACKed before is neither in the network nor delivered during the reduction.
            self.repairing.prr = Some(Prr::new(self.cc.cwnd(), before.outstanding));
        }
    }

    /// What may leave until the next acknowledgment. With nothing in flight there is nothing to reduce,
    /// however long it stays so.
    pub(super) fn step_reduction(&mut self, before: &Before, progress: Progress) {
        let pipe = self.pipe();
        let is_over = self.repairing.phase == Phase::Open && self.board.is_empty();
        self.repairing.prr = self.repairing.prr.take().filter(|_| !is_over);
        if let Some(prr) = &mut self.repairing.prr {
            let delivered = before.outstanding.saturating_sub(self.board.outstanding());
            prr.on_ack(delivered, pipe, self.agreed.mss, progress);
        }
    }

    /// A window has been cut for marks that the acknowledgment just taken told of.
    pub(in crate::tcp) fn reduce_for_marks(&mut self, before: &Before) {
        self.start_reduction(before);
        let advanced = self.snd_una.gt(before.snd_una);
        let progress = if advanced { Progress::Good } else { Progress::Doubtful };
        self.step_reduction(before, progress);
    }

    /// What was sent before the cut is acknowledged: the window is what congestion control says.
    pub(in crate::tcp) fn end_mark_reduction(&mut self) {
        self.repairing.prr = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    #[test]
    fn half_of_what_is_delivered_leaves_while_the_flight_is_too_large() {
        let mut prr = Prr::new(10 * MSS, 20 * MSS);
        prr.on_ack(MSS, 17 * MSS, MSS, Progress::Doubtful);
        assert_eq!(prr.window(), 18 * MSS, "the retransmission at entry");
        prr.on_sent(MSS);
        let mut rooms = Vec::new();
        for pipe in [17, 16, 16, 15] {
            prr.on_ack(MSS, pipe * MSS, MSS, Progress::Doubtful);
            let room = prr.window() - pipe * MSS;
            rooms.push(room);
            if room >= MSS {
                prr.on_sent(MSS);
            }
        }
        assert_eq!(rooms, [0, MSS / 2, MSS, MSS / 2]);
    }

    #[test]
    fn a_flight_below_the_target_grows_in_slow_start_but_not_beyond_it() {
        let mut prr = Prr::new(10 * MSS, 20 * MSS);
        prr.on_ack(MSS, 4 * MSS, MSS, Progress::Doubtful);
        prr.on_sent(MSS);
        prr.on_ack(MSS, 4 * MSS, MSS, Progress::Doubtful);
        assert_eq!(prr.window(), 5 * MSS, "what was delivered leaves");
        prr.on_sent(MSS);
        prr.on_ack(MSS, 4 * MSS, MSS, Progress::Good);
        assert_eq!(prr.window(), 6 * MSS, "and one more");
        prr.on_ack(8 * MSS, 4 * MSS, MSS, Progress::Good);
        assert_eq!(prr.window(), 10 * MSS);
    }
}
