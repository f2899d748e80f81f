//! The largest packet the path takes (RFC 4821, RFC 8899): a segment larger than the others is sent now and
//! then, and if it arrives the others become as large. If it alone is lost that is no congestion.
//!
//! Where timeouts repeat, packets of the present size may be disappearing (a black hole): they become
//! smaller. What ICMP says of a packet too big is believed when it quotes a segment in flight (RFC 5927, 7).
//!
//! Deviations: the first probe is as large as both ends take, since most paths take that, and only then the
//! range is halved; the congestion control keeps the segment size it began with as its unit.

use super::config::AfterTimeout;
use super::{Connection, Fin};
use crate::cc::Phase;
use crate::seq::SeqNumber;
use crate::time::{Duration, Instant};
use crate::wire::ip::Addresses;
use crate::wire::ipv6;

/// Whether the path's MTU is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum PmtuProbing {
    /// Packets are as large as both ends take; ICMP alone makes them smaller.
    Off,
    /// Off until repeated timeouts point to a black hole.
    Blackhole,
    /// From the start.
    On,
}

/// The packet size a search starts from over IPv4 (RFC 4821, 7.2), in bytes.
const BASE_V4: u32 = 1024;
/// The smallest packets a search resorts to over IPv4 (RFC 8899, 5.1.2 has no smaller ones either).
const LEAST_V4: u32 = 576;
/// A search ends when it knows the size to within this many bytes.
const NEAR_ENOUGH: u32 = 16;
/// After a search: when larger packets are tried again (RFC 8899, 5.1.1).
const RAISE_AFTER: Duration = Duration::from_secs(600);
/// Timeouts without progress that point to a black hole.
const TIMEOUTS_SUSPICIOUS: u32 = 2;
/// Segments behind a probe, so that its loss shows by what arrives after it.
const SEGMENTS_BEHIND: u32 = 4;

/// A segment larger than the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Probe {
    start: SeqNumber,
    end: SeqNumber,
    /// Of its packet.
    size: u32,
}

/// What the search for the path's MTU does to the next new segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextProbe {
    /// Nothing.
    None,
    /// It carries this much payload.
    Now(u32),
    /// It waits until the windows have room for a probe.
    Later,
}

/// What is known of the path. Sizes are those of whole packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathMtu {
    /// What both ends take.
    max: u32,
    /// More is not tried.
    high: u32,
    probe: Option<Probe>,
    /// No probe leaves before.
    probe_from: Instant,
    /// Timeouts since something new was acknowledged.
    timeouts: u32,
}

impl PathMtu {
    pub fn new() -> Self {
        PathMtu { max: 0, high: 0, probe: None, probe_from: Instant::FAR_FUTURE, timeouts: 0 }
    }
}

impl Connection {
    fn is_v6(&self) -> bool {
        matches!(self.tuple.addresses(), Addresses::V6 { .. })
    }

    fn base_size(&self) -> u32 {
        if self.is_v6() { u32::from(ipv6::MTU_MIN) } else { BASE_V4 }
    }

    fn least_size(&self) -> u32 {
        if self.is_v6() { u32::from(ipv6::MTU_MIN) } else { LEAST_V4 }
    }

    /// The size of the packets of full segments.
    fn packet_size(&self) -> u32 {
        self.agreed.mss + self.header_len()
    }

    fn set_packet_size(&mut self, size: u32) {
        self.agreed.mss = size.saturating_sub(self.header_len()).max(1);
    }

    /// Segments keep their sizes where what is sent again is a list of old packets.
    fn may_change_size(&self) -> bool {
        self.config.after_timeout == AfterTimeout::SlowStart
    }

    /// The peer's SYN has told what it takes.
    pub(super) fn start_path_mtu(&mut self, now: Instant) {
        let max = self.packet_size();
        self.path_mtu = PathMtu { max, high: max, ..PathMtu::new() };
        let base = self.base_size();
        let searches = self.config.pmtu_probing == PmtuProbing::On && self.may_change_size();
        if searches && max > base + NEAR_ENOUGH {
            self.set_packet_size(base);
            self.path_mtu.probe_from = now;
        }
    }

    /// The size to try next; none when the search has come to its end.
    fn candidate(&self) -> Option<u32> {
        let (low, high) = (self.packet_size(), self.path_mtu.high);
        if high < low + NEAR_ENOUGH {
            return None;
        }
        Some(if high == self.path_mtu.max { high } else { (low + high).div_ceil(2) })
    }

    /// Whether the next new segment is a probe.
    #[inline]
    pub(super) fn next_size_probe(&mut self, now: Instant) -> NextProbe {
        if now < self.path_mtu.probe_from {
            return NextProbe::None;
        }
        self.find_probe(now)
    }

    fn find_probe(&mut self, now: Instant) -> NextProbe {
        let is_calm = self.repairing.phase() == Phase::Open && !self.board.is_marked();
        if self.path_mtu.probe.is_some() || !is_calm || self.fin != Fin::NotYet {
            return NextProbe::None;
        }
        let Some(size) = self.candidate() else {
            // Known well enough; the path may become better.
            self.path_mtu.high = self.path_mtu.max;
            self.path_mtu.probe_from = match self.packet_size() == self.path_mtu.max {
                true => Instant::FAR_FUTURE,
                false => now + RAISE_AFTER,
            };
            return NextProbe::None;
        };
        let payload = size - self.header_len();
        let wanted = payload + SEGMENTS_BEHIND * self.agreed.mss;
        let has_data = self.unsent() as u32 >= wanted;
        let is_whole = has_data && self.send.chunk_len(self.snd_nxt, payload) == payload;
        if !is_whole || self.cc.cwnd().min(self.snd_wnd) < wanted {
            return NextProbe::None;
        }
        let room = self.window().saturating_sub(self.pipe()).min(self.usable_window());
        match room >= payload {
            true => NextProbe::Now(payload),
            // Where each acknowledgment makes room for little, it has to be saved up.
            false if !self.board.is_empty() => NextProbe::Later,
            false => NextProbe::None,
        }
    }

    /// New data leaves in one segment; one larger than a full one is a probe.
    #[inline]
    pub(super) fn note_size_sent(&mut self, payload: u32) {
        if payload > self.agreed.mss {
            let (start, size) = (self.snd_nxt, payload + self.header_len());
            self.path_mtu.probe = Some(Probe { start, end: start + payload, size });
            self.stats.mtu_probes += 1;
        }
    }

    /// `snd_una` has advanced.
    #[inline]
    pub(super) fn note_size_acked(&mut self) {
        self.path_mtu.timeouts = 0;
        if let Some(probe) = self.path_mtu.probe
            && self.snd_una.ge(probe.end)
        {
            self.path_mtu.probe = None;
            self.set_packet_size(probe.size);
        }
    }

    /// A lost record is larger than a full segment: a probe that did not arrive, or what was sent before
    /// packets became smaller. It is sent again in pieces.
    pub(super) fn cut_lost(&mut self, now: Instant, index: usize) {
        let record = self.board.record(index);
        if let Some(probe) = self.path_mtu.probe
            && probe.start == record.seq
        {
            self.path_mtu.probe = None;
            self.path_mtu.high = probe.size - 1;
            self.stats.mtu_probes_lost += 1;
            let is_alone = self.board.lost() == record.len;
            if is_alone && self.repairing.phase() == Phase::Recovery {
                self.take_back_reaction(now);
            }
        }
        self.board.split(index, self.agreed.mss);
    }

    /// The retransmission timer has expired: if it does so again and again, large packets may be what
    /// disappears.
    pub(super) fn suspect_black_hole(&mut self, now: Instant) {
        let is_watching = self.config.pmtu_probing != PmtuProbing::Off && self.may_change_size();
        if !is_watching || !self.may_send_data() {
            return;
        }
        self.path_mtu.timeouts += 1;
        if self.path_mtu.timeouts < TIMEOUTS_SUSPICIOUS {
            return;
        }
        let (size, base) = (self.packet_size(), self.base_size());
        let next = if size > base { base } else { self.least_size() };
        if next < size {
            self.path_mtu.probe = None;
            self.path_mtu.high = size - 1;
            self.path_mtu.probe_from = now;
            self.path_mtu.timeouts = 0;
            self.set_packet_size(next);
            self.stats.mtu_reductions += 1;
            self.board.mark_larger_lost(self.agreed.mss);
        }
    }

    /// A router says that the packet with the segment at `seq` was larger than the `mtu` of its next link
    /// (RFC 1191, RFC 8201). Nothing is believed that quotes no segment in flight.
    pub fn handle_too_big(&mut self, now: Instant, seq: SeqNumber, mtu: u32) {
        let size = mtu.max(self.least_size());
        let quotes = seq.ge(self.snd_una) && seq.lt(self.snd_nxt) && self.may_send_data();
        if !quotes || !self.may_change_size() {
            return;
        }
        if let Some(probe) = self.path_mtu.probe
            && size < probe.size
        {
            self.path_mtu.high = self.path_mtu.high.min(size);
        }
        if size >= self.packet_size() {
            return;
        }
        self.set_packet_size(size);
        self.stats.mtu_reductions += 1;
        self.path_mtu.high = size;
        self.path_mtu.probe_from = match self.config.pmtu_probing {
            PmtuProbing::On => now + RAISE_AFTER,
            PmtuProbing::Off | PmtuProbing::Blackhole => Instant::FAR_FUTURE,
        };
        self.board.mark_larger_lost(self.agreed.mss);
    }
}
