//! What a trunk is given by its links: any datagrams at any times, true, forged or torn, between packets
//! of our own, timers and links that come and go. Nothing panics, the bond's invariants hold, and every
//! frame is somewhere.

use crate::script::Script;
use trunkline_core::Context;
use trunkline_core::bond::trunk::{Config, MEMBER_QUEUE, Monitor, Reorder};
use trunkline_core::bond::{Bond, BondConfig, Event, FrameMeta, MemberConfig, Mode, Ways};
use trunkline_core::frame::{Burst, LinkChange, LinkId};
use trunkline_core::link::Framing;
use trunkline_core::time::{Duration, Instant};
use trunkline_core::units::BitRate;
use trunkline_core::wire::trunk::{BUCKETS, BucketSeq, Kind, Record, Repr, Turn};

const MTU: u16 = 1400;
/// Our number for the bond, which datagrams must carry.
const INDEX: u32 = 7;
/// Links 0 and 1 are members; 2 is not.
const RATES: [u64; 2] = [10_000_000, 64_000];

/// One of the members, or the stranger.
fn link_of(script: &mut Script<'_>) -> LinkId {
    LinkId(u16::from(script.byte() % 3))
}

struct Bed {
    cx: Context,
    bond: Bond,
    now: Instant,
    /// Bytes handed out for each member and not reported.
    on_wire: [u64; RATES.len()],
}

/// Feeds a trunk what the input says.
pub fn bond_receive(input: &[u8]) {
    let mut script = Script(input);
    let mut bed = Bed::new(&mut script);
    while !script.0.is_empty() {
        bed.step(&mut script);
        bed.check();
    }
    for link in 0..RATES.len() as u16 {
        // One that is no member any more is gone already.
        let _gone = bed.bond.emancipate(bed.now, &mut bed.cx, LinkId(link));
    }
    bed.bond.reopen(bed.now, &mut bed.cx);
    bed.check();
    assert_eq!(bed.cx.frames.live(), 0, "an empty bond holds nothing");
}

impl Bed {
    fn new(script: &mut Script<'_>) -> Bed {
        let mode = Mode::ALL[usize::from(script.byte()) % Mode::ALL.len()];
        let reorder = match script.byte() {
            0 => Reorder::Off,
            ms => Reorder::PerFlow { max: Duration::from_millis(u64::from(ms)) },
        };
        let epoch = script.word();
        let monitor = Monitor::default();
        let trunk = Config { local_index: INDEX, peer_index: 8, epoch, reorder, monitor };
        let config = BondConfig { trunk: Some(trunk), ..BondConfig::new(mode, MTU) };
        let mut bed = Bed {
            cx: Context::new(),
            bond: Bond::new(Instant::ZERO, config),
            now: Instant::ZERO,
            on_wire: [0; RATES.len()],
        };
        (0..RATES.len()).for_each(|link| bed.enslave(link));
        bed
    }

    fn enslave(&mut self, link: usize) {
        let rate = BitRate::from_bps(RATES[link]);
        let member = MemberConfig {
            link: LinkId(link as u16),
            rate,
            weight: rate,
            direction: Ways::Both,
            delay: Duration::ZERO,
            queue: MEMBER_QUEUE,
            priority: 0,
            framing: Framing::PLAIN,
        };
        self.bond.enslave(self.now, &mut self.cx, member).expect("two members find room");
    }

    fn step(&mut self, script: &mut Script<'_>) {
        let (now, cx) = (self.now, &mut self.cx);
        match script.byte() % 12 {
            0..=3 => self.data(script),
            4 | 5 => self.record(script),
            6 => {
                let (link, len) = (link_of(script), usize::from(script.byte()));
                self.give(link, script.bytes(len));
            }
            7 => self.now += Duration::from_micros(u64::from(script.near()).min(60_000_000)),
            8 => {
                let (len, flow) = (script.near() % 1600, script.near());
                let frame = cx.frames.insert(&[], len);
                self.bond.send(now, cx, frame, FrameMeta { len, flow });
            }
            9 => self.transmit(link_of(script)),
            10 => self.change(link_of(script), script.byte()),
            _ => {
                if let Some((due, _)) = self.bond.poll_timeout() {
                    self.now = self.now.max(due);
                }
                self.bond.handle_timeout(self.now, cx);
            }
        }
    }

    /// A packet of a flow, in a place near those before it.
    fn data(&mut self, script: &mut Script<'_>) {
        let link = link_of(script);
        let bucket = (script.near() % u32::from(BUCKETS)) as u16;
        let turn = Turn { bucket, seq: BucketSeq::new(script.near()) };
        let (path_seq, timestamp) = (script.near(), script.near());
        let kind = Kind::Data(turn);
        self.give(link, &Repr { receiver: INDEX, path_seq, kind, timestamp }.emit());
    }

    /// News about a path, true or not.
    fn record(&mut self, script: &mut Script<'_>) {
        let link = link_of(script);
        let kind = if script.byte().is_multiple_of(2) { Kind::Probe } else { Kind::Feedback };
        let (path_seq, timestamp) = (script.near(), script.near());
        let record = Record {
            epoch: script.near(),
            received: script.near(),
            highest: script.near(),
            echo: script.near(),
            hold: script.near(),
            delay: script.near(),
            every: script.near(),
        };
        let header = Repr { receiver: INDEX, path_seq, kind, timestamp }.emit();
        self.give(link, &[&header[..], &record.emit()].concat());
    }

    fn give(&mut self, link: LinkId, bytes: &[u8]) {
        let frame = self.cx.frames.insert(bytes, 0);
        self.bond.handle_frame(self.now, &mut self.cx, link, frame);
    }

    /// Takes what may be sent, or reports what has been.
    fn transmit(&mut self, link: LinkId) {
        let Some(on_wire) = self.on_wire.get_mut(usize::from(link.0)) else {
            return;
        };
        if *on_wire > 0 {
            let bytes = std::mem::take(on_wire);
            return self.bond.handle_transmitted(self.now, &mut self.cx, link, bytes);
        }
        let mut burst = Burst::new();
        self.bond.poll_transmit(self.now, &mut self.cx, link, &mut burst);
        for frame in burst.frames {
            *on_wire += self.cx.frames.len(frame) as u64;
            self.cx.frames.remove(frame);
        }
    }

    fn change(&mut self, link: LinkId, what: u8) {
        match what % 4 {
            0 => self.bond.handle_link(self.now, &mut self.cx, link, LinkChange::Down),
            1 => self.bond.handle_link(self.now, &mut self.cx, link, LinkChange::Up),
            2 => {
                // The bond says when it was no member.
                let _gone = self.bond.emancipate(self.now, &mut self.cx, link);
            }
            _ if usize::from(link.0) < RATES.len() => self.enslave(link.0.into()),
            _ => {}
        }
    }

    fn check(&mut self) {
        while let Some(Event::Received(frame)) = self.bond.poll_event() {
            self.cx.frames.remove(frame);
        }
        self.bond.check_invariants();
        assert_eq!(self.cx.frames.live(), self.bond.held_frames(), "every frame is in the bond");
    }
}
