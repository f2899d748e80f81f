//! What happened, as records: taken only when somebody asked. The pcapng encoder stands here so that
//! every world writes the same captures.

pub mod pcapng;

use crate::frame::LinkId;
use crate::time::Instant;
use crate::work::DropReason;

/// Which way a frame crosses its link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// From a bond's first end to its second.
    Up,
    /// From a bond's second end to its first.
    Down,
}

/// One thing that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A frame was given to a link's transmitter: captured above the framing.
    Frame {
        /// The link.
        link: LinkId,
        /// The way it goes.
        direction: Direction,
        /// The bytes in memory.
        bytes: Vec<u8>,
        /// The logical length; what is beyond `bytes` is zeros.
        len: u32,
    },
    /// A frame was given up.
    Drop {
        /// The link, where one was chosen.
        link: Option<LinkId>,
        /// Why.
        reason: DropReason,
    },
    /// A bond took a link in.
    Enslaved(LinkId),
    /// A bond let a link go on request.
    Emancipated(LinkId),
    /// A bond found a member dead and removed it.
    Buried(LinkId),
}

/// An event and when it happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// When.
    pub at: Instant,
    /// What.
    pub event: Event,
}

/// The records of one world; off unless enabled.
#[derive(Default, Debug)]
pub struct Trace {
    records: Option<Vec<Record>>,
}

impl Trace {
    /// A trace that keeps records until they are drained.
    pub fn enabled() -> Self {
        Trace { records: Some(Vec::new()) }
    }
    /// Whether records are kept; ask before building a costly one.
    pub fn is_enabled(&self) -> bool {
        self.records.is_some()
    }
    /// Keeps a record, if enabled.
    pub fn record(&mut self, at: Instant, event: Event) {
        if let Some(records) = &mut self.records {
            records.push(Record { at, event });
        }
    }
    /// Takes the records kept so far.
    pub fn drain(&mut self) -> Vec<Record> {
        self.records.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
