//! D-SACK (RFC 2883): the receiver tells what arrived twice. Once all retransmissions of an episode are
//! told to have been needless, the reaction to it is taken back, also when the episode is over.

use crate::cc::Phase;
use crate::seq::SeqNumber;
use crate::tcp::{Connection, Segment};
use crate::time::Instant;
use crate::wire::tcp::SackBlocks;

/// The retransmissions of one episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) struct Episode {
    /// `snd_una` at its start: older duplicates do not belong to it.
    from: SeqNumber,
    /// Once this is acknowledged no D-SACK can follow; none while the episode lasts.
    until: Option<SeqNumber>,
    /// Segments sent again and not told to have been needless.
    unproven: u32,
}

impl Episode {
    pub fn new(from: SeqNumber) -> Self {
        Episode { from, until: None, unproven: 0 }
    }
    pub fn on_resend(&mut self) {
        self.unproven += 1;
    }
    pub fn on_end(&mut self, snd_nxt: SeqNumber) {
        self.until = Some(snd_nxt);
    }
    pub fn is_past(&self, snd_una: SeqNumber) -> bool {
        self.until.is_some_and(|until| snd_una.gt(until))
    }
}

/// The bytes that `blocks` of a segment acknowledging `ack` report to have arrived twice: the first block,
/// if it is acknowledged already or lies in the second (RFC 2883, 4).
pub(super) fn duplicate_in(blocks: &SackBlocks, ack: SeqNumber) -> Option<(SeqNumber, SeqNumber)> {
    let mut blocks = blocks.iter();
    let first = blocks.next().filter(|block| block.0.lt(block.1))?;
    let inside = blocks.next().is_some_and(|second| second.0.le(first.0) && first.1.le(second.1));
    (first.1.le(ack) || inside).then_some(first)
}

impl Connection {
    /// Counts what arrived twice, and looks whether it proves the last episode needless.
    pub(super) fn take_duplicate(&mut self, now: Instant, block: (SeqNumber, SeqNumber)) {
        self.stats.dsacks_received += 1;
        self.repairing.rack.on_duplicate(self.snd_una, self.snd_nxt);
        let segments = (block.1 - block.0).div_ceil(self.agreed.mss);
        let Some(episode) = self.repairing.episode.as_mut() else {
            return;
        };
        if block.0.lt(episode.from) || episode.unproven == 0 {
            return;
        }
        episode.unproven = episode.unproven.saturating_sub(segments);
        if episode.unproven == 0 {
            match self.repairing.phase {
                Phase::Open => {
                    self.repairing.episode = None;
                    self.repairing.rack.on_undo();
                    self.stats.undos += 1;
                    self.cc.on_undo(now);
                    self.ecn.uncut();
                }
                Phase::Recovery | Phase::Loss => self.undo(now),
            }
        }
    }

    /// The receiver's side: what a segment repeats of what was received in order.
    pub(in crate::tcp) fn report_old(&mut self, segment: &Segment) {
        let (seq, end) = (segment.repr.seq, segment.repr.seq + segment.payload_len);
        self.report_duplicate(seq, end.min(self.rcv_nxt));
    }

    /// Bytes that arrived again are told with the next acknowledgment.
    pub(in crate::tcp) fn report_duplicate(&mut self, left: SeqNumber, right: SeqNumber) {
        let wanted = self.config.dsack && self.agreed.repair.uses_sack();
        if wanted && left.lt(right) {
            // Of what a segment repeats only the first range is told.
            self.acking.duplicate.get_or_insert((left, right));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(list: &[(u32, u32)]) -> SackBlocks {
        let mut blocks = SackBlocks::new();
        for (left, right) in list {
            blocks.push(SeqNumber(*left), SeqNumber(*right));
        }
        blocks
    }

    #[test]
    fn the_first_block_is_a_duplicate_when_known_already() {
        for (list, found) in [
            (&[(50, 60)][..], true),
            (&[(90, 100)], true),
            (&[(90, 101)], false),
            (&[(150, 160)], false),
            (&[(150, 160), (140, 160)], true),
            (&[(150, 160), (140, 159)], false),
            (&[(160, 150), (140, 170)], false),
            (&[(140, 160), (150, 160)], false),
            (&[], false),
        ] {
            let told = duplicate_in(&blocks(list), SeqNumber(100));
            assert_eq!(told.is_some(), found, "{list:?}");
        }
    }
}
