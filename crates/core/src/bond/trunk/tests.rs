//! Two ends of a trunk over wires that tests make good or bad.

use super::*;
use crate::bond::{
    Bond, BondConfig, BondError, Event, FrameMeta, IngressConfig, MemberConfig, Mode, Ways,
};
use crate::frame::Burst;
use crate::link::channel::{Channel, ChannelConfig, Clocking};
use crate::link::{Framing, Header, WireConfig};
use crate::queue::FqCodelConfig;
use crate::queue::Limit;
use crate::rng::Rng;
use crate::trace::Direction;
use crate::units::{BitRate, Ratio};
use crate::work::DropReason;
use proptest::prelude::*;

const MTU: u16 = 1456;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// One path: its rate in Mbit/s and its wire in both directions.
#[derive(Clone, Copy)]
struct Lane {
    mbit: u64,
    wire: WireConfig,
}

fn lane(mbit: u64, delay: u64) -> Lane {
    Lane { mbit, wire: WireConfig { delay: ms(delay), ..WireConfig::default() } }
}

/// Two ends, and channels both ways between them: `channels[end][link]` is what `end` sends into.
struct Bed {
    cx: Context,
    now: Instant,
    ends: [Bond; 2],
    channels: [Vec<Channel>; 2],
    handed: [Vec<VecDeque<Frame>>; 2],
    /// Packets take turns in this many flows.
    flows: u32,
    sent: u32,
    received: Vec<u32>,
}

fn config(end: u32, epoch: u32, reorder: Reorder) -> Config {
    let monitor = Monitor { probe: ms(100), down_after: ms(500), up_after: ms(1000) };
    Config { local_index: 7 + end, peer_index: 8 - end, epoch, reorder, monitor }
}

const AS_USUAL: IngressConfig = IngressConfig::FqCodel(FqCodelConfig::new(MTU));

fn bond(mode: Mode, trunk: Config, ingress: IngressConfig) -> Bond {
    let config = BondConfig { trunk: Some(trunk), ingress, ..BondConfig::new(mode, MTU) };
    Bond::new(Instant::ZERO, config)
}

fn framing() -> Framing {
    Framing { header: Header::UdpIpv4, ..Framing::PLAIN }
}

fn channel(lane: &Lane, link: usize, end: usize) -> Channel {
    let config = ChannelConfig {
        link: LinkId(link as u16),
        direction: [Direction::Up, Direction::Down][end],
        rate: BitRate::from_bps(lane.mbit * 1_000_000),
        framing: framing(),
        clocking: Clocking::Own,
        wire: lane.wire,
        queue: None,
    };
    Channel::new(config, Rng::new((2 * link + end) as u64))
}

fn member(lane: &Lane, link: usize) -> MemberConfig {
    let rate = BitRate::from_bps(lane.mbit * 1_000_000);
    MemberConfig {
        link: LinkId(link as u16),
        rate,
        weight: rate,
        direction: Ways::Both,
        delay: Duration::ZERO,
        queue: MEMBER_QUEUE,
        priority: 0,
        framing: framing(),
    }
}

impl Bed {
    fn new(mode: Mode, lanes: &[Lane], reorder: Reorder) -> Bed {
        Bed::behind(AS_USUAL, mode, lanes, reorder)
    }

    fn behind(ingress: IngressConfig, mode: Mode, lanes: &[Lane], reorder: Reorder) -> Bed {
        let mut cx = Context::new();
        let ends = [0, 1].map(|end: u32| {
            let mut bond = bond(mode, config(end, 1000 + 1_000_000 * end, reorder), ingress);
            for (link, lane) in lanes.iter().enumerate() {
                bond.enslave(Instant::ZERO, &mut cx, member(lane, link)).expect("enslaved");
            }
            bond
        });
        let channels = [0, 1]
            .map(|end| lanes.iter().enumerate().map(|(i, lane)| channel(lane, i, end)).collect());
        let handed = [0, 1].map(|_| vec![VecDeque::new(); lanes.len()]);
        let received = Vec::new();
        Bed { cx, now: Instant::ZERO, ends, channels, handed, flows: 1, sent: 0, received }
    }

    fn in_order(mode: Mode, lanes: &[Lane]) -> Bed {
        Bed::new(mode, lanes, Reorder::PerFlow { max: ms(100) })
    }

    /// Everything that can happen without time passing; end 0 sends as long as it has room and less than
    /// `total` has been sent.
    fn turn(&mut self, total: u32) {
        let now = self.now;
        while self.sent < total && self.ends[0].has_room() && self.ends[0].ingress_frames() < 4 {
            let frame = self.cx.frames.insert(&self.sent.to_be_bytes(), u32::from(MTU) - 4);
            let meta = FrameMeta { len: u32::from(MTU), flow: 99 + self.sent % self.flows };
            self.ends[0].send(now, &mut self.cx, frame, meta);
            self.sent += 1;
        }
        for end in 0..2 {
            for (link, channel) in self.channels[end].iter_mut().enumerate() {
                let handed = &mut self.handed[end][link];
                if !channel.idle() {
                    continue;
                }
                if handed.is_empty() {
                    let mut burst = Burst::new();
                    let link = LinkId(link as u16);
                    self.ends[end].poll_transmit(now, &mut self.cx, link, &mut burst);
                    handed.extend(burst.frames);
                }
                if let Some(frame) = handed.pop_front() {
                    channel.start(now, &mut self.cx, frame);
                }
            }
        }
    }

    fn step(&mut self, total: u32) {
        self.turn(total);
        let channels = self.channels.iter().flatten().filter_map(Channel::next_timeout);
        let bonds = self.ends.iter().filter_map(|b| b.poll_timeout().map(|(at, _)| at));
        let next = channels.chain(bonds).min().expect("paths are always probed");
        assert!(next >= self.now, "{next} is past");
        self.now = next;
        let now = self.now;
        for end in 0..2 {
            if self.ends[end].poll_timeout().is_some_and(|(at, _)| at <= now) {
                self.ends[end].handle_timeout(now, &mut self.cx);
            }
            for link in 0..self.channels[end].len() {
                let id = LinkId(link as u16);
                let channel = &mut self.channels[end][link];
                if channel.finishes() == Some(now) {
                    let bytes = channel.finish(now, &mut self.cx);
                    self.ends[end].handle_transmitted(now, &mut self.cx, id, bytes);
                }
                while let Some(frame) = self.channels[end][link].poll_arrival(now) {
                    self.ends[1 - end].handle_frame(now, &mut self.cx, id, frame);
                }
            }
        }
        for end in 0..2 {
            self.ends[end].check_invariants();
            while let Some(Event::Received(frame)) = self.ends[end].poll_event() {
                let bytes = self.cx.frames.bytes(frame)[..4].try_into().expect("four bytes");
                assert_eq!(self.cx.frames.len(frame), usize::from(MTU));
                self.received.push(u32::from_be_bytes(bytes));
                self.cx.frames.remove(frame);
            }
        }
    }

    fn run_for(&mut self, span: Duration, total: u32) {
        let end = self.now + span;
        while self.now < end {
            self.step(total);
        }
    }

    fn lose_all(&mut self, link: usize, loss: Ratio) {
        for end in 0..2 {
            let wire = self.channels[end][link].wire_mut();
            wire.set_config(WireConfig { loss, ..*wire.config() });
        }
    }

    fn path(&self, end: usize, link: u16) -> &Path {
        self.ends[end].path(LinkId(link)).expect("a path")
    }

    /// Frames beyond the two bonds.
    fn under_way(&self) -> usize {
        let handed: usize = self.handed.iter().flatten().map(VecDeque::len).sum();
        let on_channel = |c: &Channel| c.wire().len() + usize::from(!c.idle());
        handed + self.channels.iter().flatten().map(on_channel).sum::<usize>()
    }

    /// Packets of a flow that came after one that was sent later.
    fn late_in(&self, flow: u32) -> u64 {
        let (mut newest, mut late) = (0, 0);
        for n in self.received.iter().filter(|n| *n % self.flows == flow) {
            late += u64::from(*n < newest);
            newest = newest.max(*n);
        }
        late
    }

    fn is_sorted(&self) -> bool {
        self.received.is_sorted()
    }
}

#[test]
fn flows_come_out_in_order_over_unequal_paths_in_every_mode() {
    for mode in [Mode::Earliest, Mode::BalanceRr, Mode::ActiveBackup] {
        let mut bed = Bed::in_order(mode, &[lane(50, 10), lane(50, 30)]);
        bed.run_for(ms(2000), 2000);
        assert_eq!((bed.received.len(), bed.is_sorted()), (2000, true), "{mode:?}");
        assert_eq!(bed.cx.frames.live(), bed.under_way());
    }
}

#[test]
fn delays_are_measured_and_used() {
    let mut bed = Bed::in_order(Mode::Earliest, &[lane(50, 10), lane(50, 60)]);
    bed.run_for(ms(3000), u32::MAX);
    let delays = [0, 1].map(|link| bed.ends[0].member(LinkId(link)).expect("a member").delay());
    assert_eq!(delays[0], Duration::ZERO);
    assert!(delays[1].abs_diff(ms(50)) < ms(2), "{delays:?}");
    let trips = [0, 1].map(|link| bed.path(0, link).stats().srtt.expect("measured"));
    assert!(trips[0].abs_diff(ms(20)) < ms(2) && trips[1].abs_diff(ms(120)) < ms(2), "{trips:?}");
    let packets = bed.received.len() as u64;
    // 100 Mbit/s of 1500 byte packets, less the first trip and what is still under way.
    assert!(packets > 8333 * 29 / 10 * 96 / 100, "{packets}");
    assert!(bed.is_sorted());
    assert!(bed.ends[1].held_frames() < 10, "{} held", bed.ends[1].held_frames());
}

#[test]
fn losses_are_given_up_soon_and_told_to_the_sender() {
    let mut bed = Bed::in_order(Mode::Earliest, &[lane(50, 10), lane(50, 10)]);
    bed.lose_all(1, Ratio::from_ppb(50_000_000));
    bed.run_for(ms(5000), u32::MAX);
    let stats = *bed.ends[1].resequencer_stats().expect("in order");
    assert!(bed.is_sorted());
    assert!(stats.passed > 500 && stats.expired < 20, "{stats:?}");
    let loss = [0, 1].map(|link| bed.path(0, link).stats().loss.as_ppb() / 1_000_000);
    assert!(loss[0] == 0 && (30..70).contains(&loss[1]), "{loss:?}");
}

#[test]
fn a_path_that_dies_silently_is_left_and_taken_back() {
    let mut bed = Bed::in_order(Mode::Earliest, &[lane(50, 10), lane(50, 10)]);
    bed.run_for(ms(1000), u32::MAX);
    bed.lose_all(1, Ratio::ONE);
    let before = bed.received.len();
    bed.run_for(ms(150), u32::MAX);
    assert_ne!(bed.path(0, 1).standing(), Standing::Good);
    assert!(bed.received.len() - before > 150, "{}", bed.received.len() - before);
    let lost = bed.channels[0][1].stats().drops;
    bed.run_for(ms(1000), u32::MAX);
    assert_eq!(bed.path(0, 1).standing(), Standing::Down);
    assert!(bed.channels[0][1].stats().drops - lost < 20, "only probes");
    bed.lose_all(1, Ratio::ZERO);
    let frames = bed.channels[0][1].stats().frames;
    bed.run_for(ms(1500), u32::MAX);
    assert_eq!(bed.path(0, 1).standing(), Standing::Good);
    let carried = bed.channels[0][1].stats().frames - frames;
    assert!(carried > 4166 * 3 / 10, "{carried} in the 0.3 s it must be back at least");
}

#[test]
fn a_monitor_changes_while_paths_are_watched() {
    let mut bed = Bed::in_order(Mode::Earliest, &[lane(50, 10), lane(50, 10)]);
    bed.run_for(ms(1000), u32::MAX);
    let slow = Monitor { probe: ms(100), down_after: ms(100), up_after: ms(0) };
    assert_eq!(bed.ends[0].set_monitor(bed.now, slow), Err(BondError::SlowProbe));
    let quick = Monitor { probe: ms(20), down_after: ms(120), up_after: ms(200) };
    bed.ends[0].set_monitor(bed.now, quick).expect("a trunk");
    assert_eq!(bed.ends[0].config().trunk.map(|trunk| trunk.monitor), Some(quick));
    bed.lose_all(1, Ratio::ONE);
    bed.run_for(ms(300), u32::MAX);
    let standing = [0, 1].map(|end| bed.path(end, 1).standing());
    assert!(standing[0] == Standing::Down && standing[1] != Standing::Down, "{standing:?}");
    bed.lose_all(1, Ratio::ZERO);
    bed.run_for(ms(500), u32::MAX);
    assert_eq!(bed.path(0, 1).standing(), Standing::Good);
}

#[test]
fn the_last_path_is_used_again_with_its_first_answer() {
    let mut bed = Bed::in_order(Mode::Earliest, &[lane(10, 10)]);
    bed.run_for(ms(500), u32::MAX);
    bed.lose_all(0, Ratio::ONE);
    bed.run_for(ms(2000), u32::MAX);
    assert_eq!(bed.path(0, 0).standing(), Standing::Down);
    bed.lose_all(0, Ratio::ZERO);
    bed.run_for(ms(200), u32::MAX);
    assert_eq!(bed.path(0, 0).standing(), Standing::Good);
}

#[test]
fn an_idle_trunk_sends_a_probe_now_and_then_and_stays_up() {
    let mut bed = Bed::in_order(Mode::Earliest, &[lane(50, 10), lane(50, 10)]);
    bed.run_for(ms(10_000), 0);
    for end in 0..2 {
        for link in 0..2 {
            assert_eq!(bed.path(end, link).standing(), Standing::Good);
            let sent = bed.path(end, link).stats().tx_datagrams;
            assert!((80..250).contains(&sent), "{sent}");
        }
    }
}

#[test]
fn answers_take_a_twentieth_of_a_slow_line_however_often_the_peer_asks() {
    let mut bed = Bed::in_order(Mode::Earliest, &[lane(10, 10)]);
    let slow = MemberConfig { rate: BitRate::from_bps(14_400), ..member(&lane(1, 0), 0) };
    bed.ends[1].enslave(Instant::ZERO, &mut bed.cx, slow).expect("enslaved anew");
    let before = bed.path(1, 0).stats().tx_datagrams;
    bed.run_for(ms(20_000), 0);
    // 72 bytes at 14.4 kbit/s are 40 ms: one record in 0.8 s.
    let sent = bed.path(1, 0).stats().tx_datagrams - before;
    assert!((15..30).contains(&sent), "{sent}");
    assert_eq!(bed.path(0, 0).standing(), Standing::Good);
}

#[test]
fn an_end_that_begins_anew_is_understood_at_once() {
    let mut bed = Bed::in_order(Mode::Earliest, &[lane(50, 10), lane(50, 10)]);
    bed.run_for(ms(500), u32::MAX);
    let now = bed.now;
    bed.ends[0].reopen(now, &mut bed.cx);
    let restarted =
        bond(Mode::Earliest, config(0, 77, Reorder::PerFlow { max: ms(100) }), AS_USUAL);
    bed.ends[0] = restarted;
    for link in 0..2 {
        bed.ends[0].enslave(now, &mut bed.cx, member(&lane(50, 10), link)).expect("enslaved");
    }
    bed.run_for(ms(100), u32::MAX);
    bed.received.clear();
    bed.run_for(ms(500), u32::MAX);
    assert!(bed.is_sorted() && bed.received.len() > 3500, "{}", bed.received.len());
    assert_eq!(bed.path(1, 0).stats().rx_duplicates, 0);
}

#[test]
fn a_member_that_leaves_and_comes_back_is_heard_at_once() {
    let mut bed = Bed::in_order(Mode::BalanceRr, &[lane(50, 10), lane(50, 10)]);
    bed.run_for(ms(500), 1000);
    for end in [0, 1, 0] {
        let now = bed.now;
        bed.ends[end].emancipate(now, &mut bed.cx, LinkId(1)).expect("it was a member");
        bed.run_for(ms(100), 1000);
        let now = bed.now;
        bed.ends[end].enslave(now, &mut bed.cx, member(&lane(50, 10), 1)).expect("enslaved");
        bed.run_for(ms(100), 1000);
    }
    let total = bed.sent + 1000;
    bed.run_for(ms(500), total);
    assert_eq!(bed.cx.work.dropped(DropReason::Duplicate), 0);
    assert_eq!((bed.received.len(), bed.is_sorted()), (total as usize, true));
    assert!([0, 1].iter().all(|end| bed.path(*end, 1).standing() == Standing::Good));
}

#[test]
fn a_link_in_the_place_of_another_goes_on_beyond_its_sequences() {
    let mut bed = Bed::in_order(Mode::Earliest, &[lane(50, 10), lane(50, 10)]);
    bed.run_for(ms(100), 100);
    let (now, sent) = (bed.now, [0, 1].map(|link| bed.path(0, link).next_seq()));
    for link in [0, 1] {
        bed.ends[0].emancipate(now, &mut bed.cx, LinkId(link)).expect("it was a member");
    }
    for link in [1, 2] {
        bed.ends[0].enslave(now, &mut bed.cx, member(&lane(50, 10), link)).expect("enslaved");
        let first = bed.path(0, link as u16).next_seq();
        assert!(sent.iter().all(|next| first >= *next), "{first} after {sent:?}");
    }
}

#[test]
fn what_is_not_for_this_trunk_is_dropped_by_reason() {
    let mut cx = Context::new();
    let mut bond = bond(Mode::Earliest, config(0, 1, Reorder::Off), AS_USUAL);
    bond.enslave(Instant::ZERO, &mut cx, member(&lane(10, 0), 0)).expect("enslaved");
    let turn = Turn { bucket: 5, seq: BucketSeq::new(1) };
    let good = Repr { receiver: 7, path_seq: 1, kind: Kind::Data(turn), timestamp: 0 };
    let mut give = |bytes: &[u8]| {
        let frame = cx.frames.insert(bytes, 0);
        bond.handle_frame(Instant::ZERO, &mut cx, LinkId(0), frame);
        bond.check_invariants();
    };
    give(&good.emit()[..15]);
    give(&Repr { receiver: 8, ..good }.emit());
    give(&Repr { kind: Kind::Probe, ..good }.emit());
    let mut odd = good.emit();
    odd[8..12].copy_from_slice(&[0xff, 0xf0, 0, 9]);
    give(&odd);
    give(&good.emit());
    give(&good.emit());
    for (reason, count) in [
        (DropReason::Truncated, 2),
        (DropReason::Foreign, 1),
        (DropReason::Malformed, 1),
        (DropReason::Duplicate, 1),
    ] {
        assert_eq!(cx.work.dropped(reason), count, "{reason:?}");
    }
    let Some(Event::Received(frame)) = bond.poll_event() else { panic!("one packet is good") };
    assert_eq!((cx.frames.len(frame), bond.poll_event()), (0, None));
}

fn hostile() -> impl Strategy<Value = WireConfig> {
    let ratio = |max: u32| (0..max).prop_map(Ratio::from_ppb);
    (ratio(100_000_000), ratio(100_000_000), ratio(200_000_000), ratio(20_000_000), 0..40u64)
        .prop_map(|(loss, duplication, reorder, corruption, delay)| WireConfig {
            delay: ms(delay),
            jitter: ms(3),
            loss,
            duplication,
            reorder,
            reorder_delay: ms(delay / 2),
            corruption,
        })
}

/// Sends 400 packets, the first of each flow well ahead, until all have come out once.
fn deliver(mode: Mode, lanes: &[Lane], flows: u32, max: Duration) -> Bed {
    const TOTAL: u32 = 400;
    // Nothing is to be missing because it waited for long.
    let patient = IngressConfig::DropTail(Limit::Packets(64));
    let mut bed = Bed::behind(patient, mode, lanes, Reorder::PerFlow { max });
    bed.flows = flows;
    bed.run_for(ms(400), flows);
    let end = bed.now + ms(30_000);
    while bed.received.len() < TOTAL as usize && bed.now < end {
        bed.step(TOTAL);
    }
    let mut all = bed.received.clone();
    all.sort_unstable();
    assert_eq!(all, (0..TOTAL).collect::<Vec<_>>(), "every packet, once");
    assert_eq!(bed.ends[1].held_frames(), 0);
    bed
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nothing_leaks_and_nothing_comes_twice(
        wires in prop::collection::vec((1..60u64, hostile()), 1..4),
        mode in prop::sample::select(Mode::ALL.to_vec()),
        max in 1..200u64,
    ) {
        let lanes: Vec<Lane> = wires.into_iter().map(|(mbit, wire)| Lane { mbit, wire }).collect();
        let mut bed = Bed::new(mode, &lanes, Reorder::PerFlow { max: ms(max) });
        bed.run_for(ms(400), 300);
        bed.run_for(ms(600), 0);
        let held: usize = bed.ends.iter().map(Bond::held_frames).sum();
        prop_assert_eq!(bed.cx.frames.live(), held + bed.under_way());
        let mut once = bed.received.clone();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), bed.received.len());
    }

    /// Without loss every packet comes out once, and a flow is out of order by exactly the packets that were
    /// given up as lost and came later, however the wires delay, repeat and reorder.
    #[test]
    fn flows_come_out_whole_and_in_order_but_for_what_was_given_up(
        wires in prop::collection::vec((1..60u64, hostile()), 1..4),
        mode in prop::sample::select(vec![Mode::Earliest, Mode::BalanceRr, Mode::ActiveBackup]),
        flows in 1..6u32,
        max in 50..5000u64,
    ) {
        let calm = |(mbit, wire)| {
            let wire = WireConfig { loss: Ratio::ZERO, corruption: Ratio::ZERO, ..wire };
            Lane { mbit, wire }
        };
        let lanes: Vec<Lane> = wires.into_iter().map(calm).collect();
        let bed = deliver(mode, &lanes, flows, ms(max));
        let late: u64 = (0..flows).map(|flow| bed.late_in(flow)).sum();
        prop_assert_eq!(bed.ends[1].resequencer_stats().expect("in order").late, late);
    }

    /// Equal lines that keep their own order are one link to every flow, whatever their delays. The first
    /// packet of a flow goes ahead: nothing before it is known that could be waited for.
    #[test]
    fn equal_lines_are_one_link(
        mbit in 1..60u64,
        delays in prop::collection::vec(0..60u64, 1..4),
        mode in prop::sample::select(vec![Mode::Earliest, Mode::BalanceRr, Mode::ActiveBackup]),
        flows in 1..6u32,
    ) {
        let lanes: Vec<Lane> = delays.into_iter().map(|delay| lane(mbit, delay)).collect();
        let bed = deliver(mode, &lanes, flows, ms(5000));
        let late: Vec<u64> = (0..flows).map(|flow| bed.late_in(flow)).collect();
        prop_assert_eq!(late, vec![0; flows as usize]);
    }

    #[test]
    fn any_bytes_are_survived(datagrams in prop::collection::vec((0..3u16, 0..6u32, prop::collection::vec(any::<u8>(), 0..60)), 0..60)) {
        let mut bed = Bed::in_order(Mode::Earliest, &[lane(1, 1), lane(1, 5)]);
        for (link, ahead, mut bytes) in datagrams {
            if let Some(receiver) = bytes.first_chunk_mut::<4>() {
                *receiver = 7u32.to_be_bytes();
            }
            bed.now += ms(u64::from(ahead));
            let frame = bed.cx.frames.insert(&bytes, 0);
            bed.ends[0].handle_frame(bed.now, &mut bed.cx, LinkId(link), frame);
            bed.ends[0].handle_timeout(bed.now, &mut bed.cx);
            bed.ends[0].check_invariants();
            while let Some(Event::Received(frame)) = bed.ends[0].poll_event() {
                bed.cx.frames.remove(frame);
            }
        }
        prop_assert_eq!(bed.cx.frames.live(), bed.ends[0].held_frames());
    }
}
