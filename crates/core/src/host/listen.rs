//! Listeners: how many connections may wait, and what happens to a SYN beyond that.
//!
//! A listener has room for as many half-open connections as its backlog, and for as many more that are
//! established and not told to the application yet. Beyond the first a SYN is answered with a cookie or
//! dropped; beyond the second it is dropped.

use super::{ConnectionId, Event, Host, InterfaceId, Stage, cookie};
use crate::Context;
use crate::frame::Frame;
use crate::seq::SeqNumber;
use crate::tcp::config::Config;
use crate::tcp::{Connection, Segment, Tuple};
use crate::time::Instant;
use crate::wire::tcp::Flags;
use crate::work::DropReason;

#[cfg(test)]
mod tests;

/// What a first sequence number lies beyond the last of a connection between the same ends, at least.
const ISS_STEP: u32 = 0x1_0001;

pub(super) struct Listener {
    port: u16,
    config: Config,
    /// Connections whose handshake is not complete.
    half_open: u16,
    /// Established ones the application has not been told of.
    untold: u16,
    /// Until when segments may bring cookies back.
    cookies_until: Instant,
}

/// What listeners did beside accepting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ListenStats {
    /// SYNs for which there was no room.
    pub overflows: u64,
    /// Those of them answered with a cookie.
    pub cookies_sent: u64,
    /// Connections opened by a cookie that came back.
    pub cookies_accepted: u64,
    /// Segments that brought no cookie of ours back.
    pub cookies_refused: u64,
}

impl Host {
    /// Accepts connections to a port, each with this configuration and a flow label of the host's.
    pub fn listen(&mut self, port: u16, config: Config) {
        self.stop_listening(port);
        let (half_open, untold, cookies_until) = (0, 0, Instant::ZERO);
        self.listeners.push(Listener { port, config, half_open, untold, cookies_until });
    }

    /// Accepts no more connections to a port; those accepted stay.
    pub fn stop_listening(&mut self, port: u16) {
        self.listeners.retain(|listener| listener.port != port);
    }

    /// What the listeners did.
    pub fn listen_stats(&self) -> ListenStats {
        self.listen_stats
    }

    pub(super) fn is_listening(&self, port: u16) -> bool {
        self.listeners.iter().any(|listener| listener.port == port)
    }

    fn listener_mut(&mut self, port: u16) -> Option<&mut Listener> {
        self.listeners.iter_mut().find(|listener| listener.port == port)
    }

    /// A SYN for a port that is listened at: a connection, a cookie, or nothing. With `beyond` the first
    /// sequence number of ours has to lie beyond that one. The frame is consumed.
    pub(super) fn input_syn(
        &mut self,
        now: Instant,
        cx: &mut Context,
        id: InterfaceId,
        tuple: Tuple,
        (frame, syn): (Frame, &Segment),
        beyond: Option<SeqNumber>,
    ) {
        let flow_label = self.labels.label(&tuple);
        let Some(listener) = self.listener_mut(tuple.local.port()) else {
            return cx.drop_frame(frame, DropReason::NoConnection);
        };
        let backlog = listener.config.backlog;
        let has_room = listener.half_open < backlog;
        let may_answer = listener.untold < backlog && (has_room || listener.config.syn_cookies);
        if may_answer && has_room {
            listener.half_open += 1;
            let config = Config { flow_label, ..listener.config.clone() };
            let iss = self.initial_sequence(beyond);
            let connection = Connection::accept(now, cx, config, tuple, iss, syn);
            self.insert(now, cx, id, connection, Stage::HalfOpen);
            return cx.frames.remove(frame);
        }
        if may_answer {
            listener.cookies_until = now + cookie::LIFE;
            let answer = cookie::answer(now, &listener.config, syn);
            self.send_cookie(now, cx, id, tuple, (syn, answer));
            cx.frames.remove(frame);
        } else {
            cx.drop_frame(frame, DropReason::QueueFull);
        }
        self.listen_stats.overflows += 1;
    }

    fn initial_sequence(&mut self, beyond: Option<SeqNumber>) -> SeqNumber {
        let random = self.rng.next_u32();
        beyond.map_or(SeqNumber(random), |last| last + ISS_STEP + (random >> 16))
    }

    /// The SYN-ACK is that of a connection of which nothing is kept.
    fn send_cookie(
        &mut self,
        now: Instant,
        cx: &mut Context,
        id: InterfaceId,
        tuple: Tuple,
        (syn, answer): (&Segment, cookie::Answer),
    ) {
        let iss = self.cookies.cookie(now, &tuple, syn);
        let at = answer.stamped_at;
        let config = Config { flow_label: self.labels.label(&tuple), ..answer.config };
        let mut passing = Connection::accept(at, cx, config, tuple, iss, syn);
        if let Some(syn_ack) = passing.poll_transmit(at, cx) {
            self.post(cx, id, syn_ack);
            self.listen_stats.cookies_sent += 1;
        }
    }

    /// Opens the connection that a segment proves by the cookie it brings back.
    pub(super) fn accept_by_cookie(
        &mut self,
        now: Instant,
        cx: &mut Context,
        id: InterfaceId,
        tuple: Tuple,
        segment: &Segment,
    ) -> Option<ConnectionId> {
        let flags = segment.repr.flags;
        if !flags.contains(Flags::ACK) || flags.intersects(Flags::SYN | Flags::RST) {
            return None;
        }
        let port = tuple.local.port();
        let listener = self.listeners.iter().find(|listener| listener.port == port)?;
        if now > listener.cookies_until || listener.untold >= listener.config.backlog {
            return None;
        }
        let Some(syn) = self.cookies.open(now, &tuple, &listener.config, segment) else {
            self.listen_stats.cookies_refused += 1;
            return None;
        };
        let config = match syn.repr.options.timestamps {
            Some(_) => listener.config.clone(),
            None => cookie::unstamped(&listener.config),
        };
        let config = Config { flow_label: self.labels.label(&tuple), ..config };
        let iss = segment.repr.ack - 1;
        let connection = Connection::accept_answered(now, cx, config, tuple, iss, &syn);
        let listener = self.listener_mut(port)?;
        listener.half_open = listener.half_open.saturating_add(1);
        self.listen_stats.cookies_accepted += 1;
        Some(self.insert(now, cx, id, connection, Stage::HalfOpen))
    }

    /// A half-open connection is established, or never will be.
    pub(super) fn leave_half_open(listeners: &mut [Listener], port: u16, stage: Stage) {
        if let Some(listener) = listeners.iter_mut().find(|listener| listener.port == port) {
            listener.half_open = listener.half_open.saturating_sub(1);
            listener.untold = listener.untold.saturating_add(u16::from(stage == Stage::Open));
        }
    }

    /// The application is told of a connection.
    pub(super) fn note_told(&mut self, event: &Event) {
        let Event::Accepted(id) = event else {
            return;
        };
        let port = self.connection(*id).map(|connection| connection.tuple().local.port());
        if let Some(listener) = port.and_then(|port| self.listener_mut(port)) {
            listener.untold = listener.untold.saturating_sub(1);
        }
    }
}
