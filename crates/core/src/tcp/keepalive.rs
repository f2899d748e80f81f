//! Keepalive (RFC 1122, 4.2.3.6; RFC 9293, 3.8.4): a connection on which nothing has been heard for long
//! asks whether the peer is still there, with an empty segment below the window, which a living peer
//! acknowledges and one that has forgotten the connection resets.
//!
//! The timer is not moved with each segment heard: when it expires it looks how long ago the last one was.

use super::timer::Due;
use super::{Connection, Event};
use crate::Context;
use crate::time::{Duration, Instant};

/// When a silent peer is asked, and when it is given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Keepalive {
    /// How long nothing has been heard when the first probe leaves.
    pub idle: Duration,
    /// From probe to probe.
    pub interval: Duration,
    /// Probes without an answer after which the connection is given up.
    pub count: u8,
}

impl Default for Keepalive {
    /// What Linux has where it is switched on: after two hours, nine times every 75 s.
    fn default() -> Self {
        Keepalive { idle: Duration::from_secs(7200), interval: Duration::from_secs(75), count: 9 }
    }
}

/// How long the peer has been silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Silence {
    /// When the last segment arrived.
    pub heard_at: Instant,
    probed_at: Instant,
    unanswered: u8,
    /// A probe leaves with the next poll.
    pub probe_due: bool,
}

impl Silence {
    pub fn new(now: Instant) -> Self {
        Silence { heard_at: now, probed_at: now, unanswered: 0, probe_due: false }
    }
}

impl Connection {
    /// The connection is established: from now on the peer may be silent.
    pub(super) fn start_keepalive(&mut self) {
        let heard_at = self.silence.heard_at;
        let due = self.config.keepalive.map(|keepalive| heard_at + keepalive.idle);
        self.timers.keepalive = Due::from(due);
    }

    pub(super) fn take_keepalive_timeout(&mut self, now: Instant, cx: &mut Context) {
        let Some(keepalive) = self.config.keepalive else {
            return;
        };
        let silence = &mut self.silence;
        if silence.heard_at > silence.probed_at {
            silence.unanswered = 0;
        }
        // What is in flight and a closed window have timers that find a dead peer themselves.
        let is_watched = !self.board.is_empty() || self.timers.persist_is_running();
        if is_watched || now - silence.heard_at < keepalive.idle {
            let next = silence.heard_at + keepalive.idle;
            self.timers.keepalive = Due::at(next.max(now + keepalive.interval.min(keepalive.idle)));
            return;
        }
        if silence.unanswered >= keepalive.count {
            self.enter_closed(Event::TimedOut);
            self.release(cx);
            return;
        }
        silence.unanswered += 1;
        silence.probed_at = now;
        silence.probe_due = true;
        self.timers.keepalive = Due::at(now + keepalive.interval);
        cx.work.timer_arms += 1;
    }
}
