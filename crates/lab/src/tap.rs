//! Listening in on one host: every frame it is given and every frame it hands out, with the time.

use trunkline_core::frame::LinkId;
use trunkline_core::time::Instant;

/// A frame that went by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Passed {
    /// When.
    pub at: Instant,
    /// Over which link.
    pub link: LinkId,
    /// The frame, our header included.
    pub bytes: Vec<u8>,
}

/// What went by at one host so far.
#[derive(Debug)]
pub(crate) struct Tap {
    host: usize,
    pub(crate) arrived: Vec<Passed>,
    pub(crate) handed_out: Vec<Passed>,
}

impl Tap {
    pub(crate) const fn new(host: usize) -> Tap {
        Tap { host, arrived: Vec::new(), handed_out: Vec::new() }
    }

    pub(crate) fn arrived(&mut self, at: Instant, host: usize, link: LinkId, bytes: &[u8]) {
        if host == self.host {
            self.arrived.push(Passed { at, link, bytes: bytes.to_vec() });
        }
    }

    pub(crate) fn handed_out<'a>(
        &mut self,
        at: Instant,
        host: usize,
        link: LinkId,
        frames: impl Iterator<Item = &'a [u8]>,
    ) {
        if host == self.host {
            self.handed_out.extend(frames.map(|bytes| Passed { at, link, bytes: bytes.to_vec() }));
        }
    }
}
