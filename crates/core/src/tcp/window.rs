//! Both windows: what the peer lets us send (RFC 9293 3.8.6) and what we offer, without the silly
//! window on either side (RFC 1122, 4.2.3.3 and 4.2.3.4).

use super::config::WindowRule;
use super::{Connection, Segment};
use crate::seq::SeqNumber;

impl Connection {
    /// The window offered and not used yet, in bytes.
    pub(super) fn rcv_wnd(&self) -> u32 {
        self.rcv_edge - self.rcv_nxt
    }

    /// Where the right edge could be, given the room in the receive buffer.
    fn possible_edge(&self) -> SeqNumber {
        let held = self.receive.len() as u32;
        let free = self.config.receive_buffer.saturating_sub(held);
        let window = match self.config.window_rule {
            WindowRule::Free => free,
            WindowRule::HalfLess2048 => (free / 2).saturating_sub(2048),
        };
        self.rcv_nxt + window.min(u32::from(u16::MAX) << self.agreed.rcv_shift)
    }

    /// Bytes the edge could move to the right.
    fn edge_gain(&self) -> u32 {
        let edge = self.possible_edge();
        if edge.gt(self.rcv_edge) { edge - self.rcv_edge } else { 0 }
    }

    /// The least step of the right edge.
    fn edge_step(&self) -> u32 {
        match self.config.window_rule {
            WindowRule::Free => self.agreed.mss.min(self.config.receive_buffer / 2).max(1),
            WindowRule::HalfLess2048 => 1,
        }
    }

    /// Moves the right edge where it pays and returns the window field to send.
    pub(super) fn offer_window(&mut self) -> u16 {
        if self.edge_gain() >= self.edge_step() {
            self.rcv_edge = self.possible_edge();
        }
        (self.rcv_wnd() >> self.agreed.rcv_shift).min(u32::from(u16::MAX)) as u16
    }

    /// The window field of a SYN, which is never scaled.
    pub(super) fn offer_window_in_syn(&self) -> u16 {
        (self.possible_edge() - self.rcv_nxt).min(u32::from(u16::MAX)) as u16
    }

    /// Whether what was read opens the window far enough to tell the peer at once.
    pub(super) fn window_update_is_due(&self) -> bool {
        if !self.can_receive() {
            return false;
        }
        let gain = self.edge_gain();
        match self.config.window_rule {
            WindowRule::Free => gain >= self.edge_step() && gain >= self.rcv_wnd(),
            WindowRule::HalfLess2048 => gain > u32::from(self.config.mtu),
        }
    }

    /// Takes the window of an acceptable segment if it is news (RFC 9293, 3.10.7.4). Returns whether
    /// it changed.
    pub(super) fn take_window(&mut self, segment: &Segment) -> bool {
        let (seq, ack) = (segment.repr.seq, segment.repr.ack);
        let news = self.snd_wl1.lt(seq) || (self.snd_wl1 == seq && self.snd_wl2.le(ack));
        if !news {
            return false;
        }
        (self.snd_wl1, self.snd_wl2) = (seq, ack);
        let window = u32::from(segment.repr.window) << self.agreed.snd_shift;
        let changed = window != self.snd_wnd;
        self.snd_wnd = window;
        self.snd_wnd_max = self.snd_wnd_max.max(window);
        if window > 0 && changed {
            self.timers.stop_persist();
        }
        changed
    }

    /// Bytes beyond `snd_nxt` that the peer's window takes.
    pub(super) fn usable_window(&self) -> u32 {
        let edge = self.snd_una + self.snd_wnd;
        if edge.gt(self.snd_nxt) { edge - self.snd_nxt } else { 0 }
    }
}
