//! The receiver's half of DCTCP (RFC 8257, 3.2): every acknowledgment says whether what it acknowledges
//! arrived marked, so that the sender can count marked bytes although acknowledgments are delayed.
//!
//! Unlike classic ECN nothing is latched, and the sender's CWR clears nothing.

/// Whether a packet arrived with the mark "congestion experienced".
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Mark {
    /// It did not.
    #[default]
    None,
    /// It did.
    Ce,
}

/// Whether an acknowledgment is being held back when a segment arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Held {
    /// Everything that arrived before is acknowledged.
    Nothing,
    /// What arrived before waits for its acknowledgment.
    Ack,
}

/// What a segment does to the acknowledgments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Reply {
    /// Nothing out of the ordinary.
    AsUsual,
    /// It is acknowledged at once.
    AtOnce,
    /// First what arrived before it, in an acknowledgment of its own that carries this mark; then the
    /// segment, at once.
    HeldFirst(Mark),
}

/// What the last segment's mark was: DCTCP.CE.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CeEcho {
    state: Mark,
}

impl CeEcho {
    /// A data segment arrived with this mark.
    pub fn on_segment(&mut self, mark: Mark, held: Held) -> Reply {
        let old = std::mem::replace(&mut self.state, mark);
        match held {
            _ if old == mark => Reply::AsUsual,
            Held::Nothing => Reply::AtOnce,
            Held::Ack => Reply::HeldFirst(old),
        }
    }

    /// What acknowledgments carry in ECE now.
    pub const fn state(&self) -> Mark {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The acknowledgments of a receiver that delays them: the last segment each covers, and its ECE.
    fn acks(marks: &[Mark], every: usize) -> Vec<(usize, Mark)> {
        let mut echo = CeEcho::default();
        let (mut acks, mut pending) = (Vec::new(), 0);
        for (n, &mark) in marks.iter().enumerate() {
            let held = if pending > 0 { Held::Ack } else { Held::Nothing };
            let reply = echo.on_segment(mark, held);
            if let Reply::HeldFirst(old) = reply {
                acks.push((n, old));
            }
            pending += 1;
            if reply != Reply::AsUsual || pending == every {
                acks.push((n + 1, echo.state()));
                pending = 0;
            }
        }
        if pending > 0 {
            acks.push((marks.len(), echo.state()));
        }
        acks
    }

    #[test]
    fn dct_2_four_acknowledgments_tell_which_segments_were_marked() {
        use Mark::{Ce, None};
        let told = acks(&[None, None, Ce, Ce, None], 2);
        assert_eq!(told, [(2, None), (3, Ce), (4, Ce), (5, None)]);
    }

    proptest! {
        #[test]
        fn the_sender_counts_exactly_the_marked_segments(
            marks in prop::collection::vec(prop::sample::select(&[Mark::None, Mark::Ce][..]), 0..60),
            every in 1usize..5,
        ) {
            let mut counted = Vec::new();
            for (upto, mark) in acks(&marks, every) {
                prop_assert!(upto > counted.len(), "an acknowledgment of nothing");
                counted.resize(upto, mark);
            }
            prop_assert_eq!(counted, marks);
        }
    }
}
