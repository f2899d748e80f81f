//! The protocol core of trunkline: wire formats, queues, links, TCP, congestion control, bonding, hosts.
//!
//! Sans-I/O: no sockets, clocks, threads, globals or randomness inside. Time and randomness are passed
//! in, frames travel as handles into a slab, and whoever drives the core (virtual time, emulation or a
//! real wire) does so with the same verbs:
//!
//! | verb | meaning |
//! |---|---|
//! | `handle_frame` | a frame arrived from a link |
//! | `handle_transmitted` | the wire has taken these bytes |
//! | `handle_link` | a link changed state |
//! | `handle_timeout` | the deadline told by `poll_timeout` has passed |
//! | `poll_transmit` | hand out what may be sent on a link now |
//! | `poll_timeout` | the next deadline and why it was set |
//! | `poll_event` | what the layer above should know |

pub mod bond;
pub mod cc;
pub mod deadlines;
pub mod frame;
pub mod host;
pub mod link;
pub mod offload;
pub mod queue;
pub mod rng;
pub mod seq;
pub mod tcp;
pub mod time;
pub mod trace;
pub mod units;
pub mod wire;
pub mod work;

/// What every verb needs besides `now`: the frame slab, the work counters and the trace records.
#[derive(Default)]
pub struct Context {
    /// All frames of this world.
    pub frames: frame::Frames,
    /// What was done, counted.
    pub work: work::Work,
    /// What happened, recorded when somebody asked for it.
    pub trace: trace::Trace,
}

impl Context {
    /// A context with no frames, zero counters and tracing off.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives up a frame for a reason that is counted.
    pub fn drop_frame(&mut self, frame: frame::Frame, reason: work::DropReason) {
        self.work.drop_frame(reason);
        self.frames.remove(frame);
    }
}
