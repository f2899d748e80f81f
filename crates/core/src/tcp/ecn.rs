//! Explicit congestion notification (RFC 3168): what the two ends agreed on, what packets leave with, the
//! echo of marks that arrived, and the answer to echoes, once per window of data.
//!
//! The congestion control decides which kind it is. Most take a mark for a loss: new data is ECN-capable,
//! and the echo is repeated until the sender says that it has heard (CWR). One that wants every mark
//! (RFC 8257) has all its packets ECN-capable, and each acknowledgment says what it acknowledges.
//!
//! Deviations: the window does not grow until what was in flight when it was cut is acknowledged, as
//! deployed systems have it; a reset in answer to a SYN that asks for ECN is not tried again without.

use super::config::{Config, EcnMode, EctOnSyn};
use super::recovery::Before;
use super::timer::Due;
use super::{Connection, Segment, State};
use crate::Context;
use crate::cc::ce_echo::{Held, Mark, Reply};
use crate::cc::{CeEcho, Congestion, EcnPath, EcnUse, Phase};
use crate::frame::Frame;
use crate::seq::SeqNumber;
use crate::time::Instant;
use crate::wire::ipv4::Ecn as Codepoint;
use crate::wire::tcp::{Flags, Options, Repr};
use std::collections::VecDeque;

/// A SYN sent more often than this asks for ECN no more: something on the path may drop those that do
/// (RFC 3168, 6.1.1.1).
const ASKING_SYNS: u8 = 2;

/// Acknowledgments with an older mark that may wait to be sent. Beyond, marks are told less exactly.
const OWED_MAX: usize = 16;

impl EcnMode {
    /// What may come of the handshake.
    pub(super) const fn possible_path(self) -> EcnPath {
        match self {
            EcnMode::Off => EcnPath::Absent,
            EcnMode::OnRequest | EcnMode::On => EcnPath::Usable,
        }
    }
}

/// What our SYN said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asked {
    No,
    Yes,
    /// It did at first.
    TakenBack,
}

/// Which of our packets say that they are ECN-capable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Capable {
    Nothing,
    NewData,
    Everything,
}

/// What a packet is to ECN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Packet {
    /// Payload that is sent for the first time.
    NewData,
    /// Anything else after the handshake.
    Other,
}

/// How marks that arrive are told to the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Echo {
    Off,
    /// A mark is told until the peer answers it.
    Latched(Mark),
    EveryMark(CeEcho),
}

/// A window that was cut: what had been sent by then says nothing new.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cut {
    by_marks: bool,
    until: SeqNumber,
}

/// The state of ECN on one connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct EcnState {
    uses: EcnUse,
    syn_is_capable: bool,
    asked: Asked,
    capable: Capable,
    echo: Echo,
    /// An ECN-capable packet with data has arrived.
    seen: bool,
    /// The segment being taken echoes a mark.
    heard: bool,
    cwr_due: bool,
    cut: Option<Cut>,
    /// A mark came back with a window of one segment: the retransmission timer sends the next.
    waits: bool,
    /// Acknowledgments that leave before all else, and what they tell.
    owed: VecDeque<(SeqNumber, Mark)>,
}

impl EcnState {
    /// What holds before the peer has spoken. `uses` is what the congestion control would do with marks.
    pub fn before(config: &Config, uses: EcnUse, state: State) -> Self {
        let wanted = config.ecn == EcnMode::On || uses == EcnUse::EveryMark;
        EcnState {
            uses,
            syn_is_capable: match config.ect_on_syn {
                EctOnSyn::WithAlgorithm => uses == EcnUse::EveryMark,
                EctOnSyn::Capable => true,
                EctOnSyn::NotCapable => false,
            },
            asked: match wanted && config.ecn != EcnMode::Off && state == State::SynSent {
                true => Asked::Yes,
                false => Asked::No,
            },
            capable: Capable::Nothing,
            echo: Echo::Off,
            seen: false,
            heard: false,
            cwr_due: false,
            cut: None,
            waits: false,
            owed: VecDeque::new(),
        }
    }

    /// Whether marks can come back.
    fn path(&self) -> EcnPath {
        match self.capable {
            Capable::Nothing => EcnPath::Absent,
            Capable::NewData | Capable::Everything => EcnPath::Usable,
        }
    }

    /// Whether both ends have agreed on ECN.
    pub fn is_agreed(&self) -> bool {
        self.echo != Echo::Off
    }

    /// Whether an ECN-capable packet with data has arrived.
    pub fn is_seen(&self) -> bool {
        self.seen
    }

    /// What acknowledgments say of marks now.
    pub fn echoed(&self) -> Mark {
        match self.echo {
            Echo::Off => Mark::None,
            Echo::Latched(mark) => mark,
            Echo::EveryMark(echo) => echo.state(),
        }
    }

    /// Whether a data segment with this codepoint and without CWR leaves everything as it is.
    pub fn is_unmoved_by(&self, codepoint: Codepoint) -> bool {
        match (self.echo, mark_of(codepoint)) {
            (Echo::Off, _) => true,
            _ if codepoint != Codepoint::NotEct && !self.seen => false,
            (Echo::Latched(told), mark) => mark == Mark::None || told == Mark::Ce,
            (Echo::EveryMark(echo), mark) => mark == echo.state(),
        }
    }

    /// The flags and the codepoint that a segment after the handshake leaves with.
    pub fn dress(&mut self, flags: Flags, packet: Packet) -> (Flags, Codepoint) {
        if self.capable == Capable::Nothing && self.echo == Echo::Off && !self.cwr_due {
            return (flags, Codepoint::NotEct);
        }
        let mut flags = flags;
        if self.echoed() == Mark::Ce {
            flags = flags | Flags::ECE;
        }
        if packet == Packet::NewData && std::mem::take(&mut self.cwr_due) {
            flags = flags | Flags::CWR;
        }
        (flags, self.codepoint(packet))
    }

    /// The codepoint alone.
    pub fn codepoint(&self, packet: Packet) -> Codepoint {
        match (self.capable, packet) {
            (Capable::Everything, _) | (Capable::NewData, Packet::NewData) => Codepoint::Ect0,
            (Capable::Nothing, _) | (Capable::NewData, Packet::Other) => Codepoint::NotEct,
        }
    }

    /// Of `acked` bytes just acknowledged, those that the peer says arrived marked.
    pub fn marked_of(&self, acked: u32) -> u32 {
        match (self.heard, self.capable) {
            (true, Capable::Everything) => acked,
            _ => 0,
        }
    }

    /// The phase that congestion control is told: a window that was cut does not grow, nor does one on an
    /// acknowledgment that tells of a mark (RFC 3168, 6.1.2).
    pub fn phase(&self, phase: Phase) -> Phase {
        let is_cut = self.heard || self.cut.is_some_and(|cut| cut.by_marks);
        if phase == Phase::Open && is_cut { Phase::Recovery } else { phase }
    }

    /// The window was cut for a loss, which answers all marks on what was sent up to `until`.
    pub fn cut_by_loss(&mut self, until: SeqNumber) {
        if self.capable != Capable::Nothing {
            self.cut = Some(Cut { by_marks: false, until });
            self.cwr_due = true;
        }
    }

    /// The loss was none, and the window is what it was.
    pub fn uncut(&mut self) {
        if self.cut.is_some_and(|cut| !cut.by_marks) {
            self.cut = None;
            self.cwr_due = false;
        }
    }

    /// Whether acknowledgments wait that tell of marks before the last change.
    pub fn owes(&self) -> bool {
        !self.owed.is_empty()
    }

    /// Whether new data waits for the retransmission timer.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// The retransmission timer has expired.
    pub fn stop_waiting(&mut self) {
        self.waits = false;
    }

    fn owe(&mut self, ack: SeqNumber, mark: Mark) {
        if self.owed.len() < OWED_MAX {
            self.owed.push_back((ack, mark));
        }
    }
}

fn mark_of(codepoint: Codepoint) -> Mark {
    match codepoint {
        Codepoint::Ce => Mark::Ce,
        Codepoint::NotEct | Codepoint::Ect0 | Codepoint::Ect1 => Mark::None,
    }
}

/// Whether a SYN asks for ECN, or a SYN-ACK agrees to it: one that only repeats what it was asked with
/// does not (RFC 3168, 6.1.1).
fn is_setup(flags: Flags) -> bool {
    flags.contains(Flags::ECE) && flags.contains(Flags::CWR) != flags.contains(Flags::ACK)
}

/// The handshake.
impl Connection {
    /// The flags and the codepoint that our SYN or SYN-ACK leaves with.
    pub(super) fn dress_syn(&mut self, flags: Flags) -> (Flags, Codepoint) {
        let sent = self.board.front().map_or(0, |syn| syn.transmissions);
        let ecn = &mut self.ecn;
        let is_syn_ack = flags.contains(Flags::ACK);
        if !is_syn_ack && ecn.asked == Asked::Yes && sent > ASKING_SYNS {
            ecn.asked = Asked::TakenBack;
        }
        let setup = match (is_syn_ack, ecn.asked) {
            (true, _) if ecn.capable != Capable::Nothing => Flags::ECE,
            (false, Asked::Yes) => Flags::ECE | Flags::CWR,
            _ => return (flags, Codepoint::NotEct),
        };
        match ecn.syn_is_capable {
            true => (flags | setup, Codepoint::Ect0),
            false => (flags | setup, Codepoint::NotEct),
        }
    }

    /// Settles on ECN or on none by the flags of the peer's SYN or SYN-ACK.
    pub(super) fn agree_on_ecn(&mut self, flags: Flags) -> EcnPath {
        let willing = match self.state {
            State::SynSent => self.ecn.asked != Asked::No,
            _ => self.config.ecn != EcnMode::Off,
        };
        let ecn = &mut self.ecn;
        if willing && is_setup(flags) {
            (ecn.capable, ecn.echo) = match ecn.uses {
                EcnUse::Off => (Capable::NewData, Echo::Latched(Mark::None)),
                EcnUse::EveryMark => (Capable::Everything, Echo::EveryMark(CeEcho::default())),
            };
        }
        // Who took it back may not send what is ECN-capable; the peer, who agreed before, may.
        if ecn.asked == Asked::TakenBack {
            ecn.capable = Capable::Nothing;
        }
        ecn.path()
    }

    /// The peer has sent its SYN once more, and not as one that asks for ECN or agrees to it: there is none
    /// then. Returns whether there was.
    pub(super) fn disagree_on_ecn(&mut self, flags: Flags) -> bool {
        let ends = self.ecn.is_agreed() && !is_setup(flags);
        if ends {
            (self.ecn.capable, self.ecn.echo) = (Capable::Nothing, Echo::Off);
        }
        ends
    }
}

/// The receiver.
impl Connection {
    /// A segment with new payload arrived. CWR comes before the mark (RFC 3168, erratum 3639).
    pub(super) fn take_mark(&mut self, segment: &Segment) {
        let cwr = segment.repr.flags.contains(Flags::CWR);
        let mark = mark_of(segment.ecn);
        let told = self.ecn.owed.back().map_or(self.acking.last_sent, |owed| owed.0);
        match &mut self.ecn.echo {
            Echo::Off => return,
            Echo::Latched(latched) => {
                if cwr {
                    *latched = Mark::None;
                }
                // News is told at once.
                self.acking.due |= *latched != mark && mark == Mark::Ce;
                *latched = if mark == Mark::Ce { mark } else { *latched };
            }
            Echo::EveryMark(echo) => {
                let held = if told == self.rcv_nxt { Held::Nothing } else { Held::Ack };
                match echo.on_segment(mark, held) {
                    Reply::AsUsual => {}
                    Reply::AtOnce => self.acking.due = true,
                    Reply::HeldFirst(old) => {
                        self.ecn.owe(self.rcv_nxt, old);
                        self.acking.due = true;
                    }
                }
            }
        }
        // A window just cut may be too small to bring the segment that a held acknowledgment waits for.
        self.acking.due |= cwr;
        self.ecn.seen |= segment.ecn != Codepoint::NotEct;
    }

    /// The next acknowledgment that tells of marks on what arrived before the last change.
    pub(super) fn emit_owed(&mut self, now: Instant, cx: &mut Context) -> Option<Frame> {
        let (ack, mark) = self.ecn.owed.pop_front()?;
        let window = (self.rcv_edge - ack) >> self.agreed.rcv_shift;
        let repr = Repr {
            seq: self.snd_nxt,
            ack,
            flags: match mark {
                Mark::None => Flags::ACK,
                Mark::Ce => Flags::ACK | Flags::ECE,
            },
            window: window.min(u32::from(u16::MAX)) as u16,
            options: Options { timestamps: self.agreed.stamps(now), ..Options::default() },
            ..self.ports()
        };
        self.acking.last_sent = ack;
        self.stats.pure_acks_sent += 1;
        let codepoint = self.ecn.codepoint(Packet::Other);
        Some(self.emit_packet(cx, &repr, 0, codepoint))
    }
}

/// The sender.
impl Connection {
    /// An acceptable acknowledgment is about to be taken: does it tell of marks on our data?
    pub(super) fn hear_echo(&mut self, flags: Flags) {
        let has_data_out = self.board.front().is_some_and(|record| !record.syn);
        self.ecn.heard = flags.contains(Flags::ECE)
            && !flags.contains(Flags::SYN)
            && self.ecn.capable != Capable::Nothing
            && has_data_out;
    }

    /// It has been taken: the answer to marks, once per window and not where a loss has been answered.
    pub(super) fn answer_echo(&mut self, now: Instant, before: &Before) {
        let heard = std::mem::take(&mut self.ecn.heard);
        if !heard || self.ecn.cut.is_some() || self.repairing.phase() != Phase::Open {
            return;
        }
        let had_one_segment = self.cc.cwnd() <= self.agreed.mss;
        self.stats.mark_cuts += 1;
        self.cc.on_congestion(now, Congestion::Marks, self.board.flight());
        self.ecn.cut = Some(Cut { by_marks: true, until: self.snd_nxt });
        self.ecn.cwr_due = true;
        self.reduce_for_marks(before);
        if had_one_segment && self.ecn.capable == Capable::NewData {
            self.ecn.waits = true;
            self.timers.retransmit = Due::at(now + self.rtt.rto());
        }
    }

    /// `snd_una` has advanced: is what was sent before the last cut acknowledged? An acknowledgment that
    /// just reaches it still tells of marks from before.
    pub(super) fn end_cut(&mut self, now: Instant) {
        self.ecn.waits = false;
        let Some(cut) = self.ecn.cut.filter(|cut| self.snd_una.gt(cut.until)) else {
            return;
        };
        self.ecn.cut = None;
        if cut.by_marks && self.repairing.phase() == Phase::Open {
            self.end_mark_reduction();
            self.cc.on_recovery_end(now);
        }
    }

    /// Fast recovery begins: congestion control is told, unless marks on the same window have been answered
    /// (RFC 8257, 3.5).
    pub(super) fn tell_loss(&mut self, now: Instant) {
        let answered = |cut: Cut| cut.by_marks && self.snd_una.lt(cut.until);
        if self.ecn.cut.is_some_and(answered) {
            // What said so before may be what was lost.
            self.ecn.cwr_due = true;
            return;
        }
        self.cc.on_congestion(now, Congestion::Loss, self.board.flight());
        self.ecn.cut_by_loss(self.snd_nxt);
    }
}
