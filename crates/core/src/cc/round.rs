//! Round trips told by sequence numbers.
//!
//! A round lasts from a moment until what was sent up to then is acknowledged. There are two readings
//! and they are not interchangeable: `after` waits for an acknowledgment *beyond* the mark (Vegas),
//! `at` for one that *reaches* it (DCTCP). With one segment in flight `after` needs a second segment.

use crate::seq::SeqNumber;

/// The mark that ends the current round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Round {
    mark: SeqNumber,
}

impl Round {
    /// A round that ends with what has been sent so far, up to `snd_nxt`.
    pub const fn starting(snd_nxt: SeqNumber) -> Self {
        Round { mark: snd_nxt }
    }

    /// Whether `ack` lies beyond the mark; if so, the next round ends at `snd_nxt`.
    pub fn after(&mut self, ack: SeqNumber, snd_nxt: SeqNumber) -> bool {
        self.restart_if(ack.gt(self.mark), snd_nxt)
    }

    /// Whether `ack` has reached the mark; if so, the next round ends at `snd_nxt`.
    pub fn at(&mut self, ack: SeqNumber, snd_nxt: SeqNumber) -> bool {
        self.restart_if(ack.ge(self.mark), snd_nxt)
    }

    fn restart_if(&mut self, ended: bool, snd_nxt: SeqNumber) -> bool {
        if ended {
            self.mark = snd_nxt;
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten segments in flight, one acknowledgment each, a new segment per acknowledgment.
    fn rounds_in(acks: u32, ended: fn(&mut Round, SeqNumber, SeqNumber) -> bool) -> u32 {
        let start = SeqNumber(u32::MAX - 3);
        let mut round = Round::starting(start + 10);
        (1..=acks).filter(|n| ended(&mut round, start + *n, start + *n + 10)).count() as u32
    }

    #[test]
    fn at_ends_with_the_ack_that_reaches_the_mark() {
        assert_eq!(rounds_in(9, Round::at), 0);
        assert_eq!(rounds_in(10, Round::at), 1);
        assert_eq!(rounds_in(100, Round::at), 10);
    }

    #[test]
    fn after_ends_with_the_first_ack_beyond_it() {
        assert_eq!(rounds_in(10, Round::after), 0);
        assert_eq!(rounds_in(11, Round::after), 1);
        assert_eq!(rounds_in(110, Round::after), 10);
    }

    #[test]
    fn one_segment_in_flight_tells_them_apart() {
        let first = SeqNumber(0);
        let (mut at, mut after) = (Round::starting(first + 1), Round::starting(first + 1));
        assert!(at.at(first + 1, first + 1));
        assert!(!after.after(first + 1, first + 1));
        assert!(after.after(first + 2, first + 2));
    }
}
