//! What holds for every mode under any script of events.

use super::*;
use crate::queue::FqCodelConfig;
use proptest::prelude::*;

const LINKS: u16 = 3;

#[derive(Clone, Debug)]
enum Op {
    Send(u32, u32),
    Poll(u16),
    Transmitted(u16),
    Link(u16, LinkChange),
    Wait(u64),
    Enslave(u16, Ways),
    Emancipate(u16),
    SetMode(Mode),
}

fn op() -> impl Strategy<Value = Op> {
    let change = prop_oneof![Just(LinkChange::Up), Just(LinkChange::Down)];
    prop_oneof![
        8 => (1u32..1500, 0u32..6).prop_map(|(len, flow)| Op::Send(len, flow)),
        4 => (0..LINKS).prop_map(Op::Poll),
        4 => (0..LINKS).prop_map(Op::Transmitted),
        1 => (0..LINKS, change).prop_map(|(link, change)| Op::Link(link, change)),
        1 => (0u64..1500).prop_map(Op::Wait),
        1 => (0..LINKS, direction()).prop_map(|(link, way)| Op::Enslave(link, way)),
        1 => (0..LINKS).prop_map(Op::Emancipate),
        1 => mode().prop_map(Op::SetMode),
    ]
}

/// Mostly both ways, as most links are.
fn direction() -> impl Strategy<Value = Ways> {
    prop_oneof![3 => Just(Ways::Both), 2 => prop::sample::select(Ways::ALL.to_vec())]
}

fn mode() -> impl Strategy<Value = Mode> {
    prop::sample::select(Mode::ALL.to_vec())
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (0u32..6).prop_map(Limit::Packets),
        (0u64..5000).prop_map(Limit::Bytes),
        (0u64..1000).prop_map(|ms| Limit::Time(Duration::from_millis(ms))),
    ]
}

/// Queues that the scripts above fill.
fn ingress() -> impl Strategy<Value = IngressConfig> {
    let fq_codel = |limit| FqCodelConfig { limit, queues: 4, ..FqCodelConfig::new(1500) };
    prop_oneof![
        Just(IngressConfig::DropTail(Limit::Packets(64))),
        (1u64..20_000).prop_map(move |n| IngressConfig::FqCodel(fq_codel(Limit::Bytes(n)))),
        (1u32..20).prop_map(move |n| IngressConfig::FqCodel(fq_codel(Limit::Packets(n)))),
    ]
}

/// A bond, and a world around it that takes what it hands out.
struct World {
    bed: Bed,
    queue: Limit,
    sent: u64,
    handed_out: u64,
    on_wire: [VecDeque<u64>; LINKS as usize],
}

impl World {
    fn new(mode: Mode, queue: Limit, ingress: IngressConfig) -> World {
        let mut world = World {
            bed: Bed::with_ingress(mode, ingress, &[]),
            queue,
            sent: 0,
            handed_out: 0,
            on_wire: Default::default(),
        };
        for link in 0..LINKS {
            world.apply(&Op::Enslave(link, Ways::Both));
        }
        world
    }

    fn poll(&mut self, link: u16) -> usize {
        let frames = self.bed.poll(link);
        for frame in &frames {
            let len = self.bed.cx.frames.len(*frame) as u64;
            self.on_wire[usize::from(link)].push_back(len);
            self.bed.cx.frames.remove(*frame);
        }
        self.handed_out += frames.len() as u64;
        frames.len()
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Send(len, flow) => {
                self.bed.send_of(flow, len);
                self.sent += 1;
            }
            Op::Poll(link) => {
                self.poll(link);
            }
            Op::Transmitted(link) => {
                if let Some(bytes) = self.on_wire[usize::from(link)].pop_front() {
                    self.bed.transmitted(link, bytes);
                }
            }
            Op::Link(link, change) => self.bed.link(link, change),
            Op::Wait(ms) => self.bed.wait(ms),
            Op::Enslave(link, direction) => {
                let rate = [115_200, 28_800, 9_600][usize::from(link)];
                let config = MemberConfig { queue: self.queue, direction, ..line(link, rate) };
                self.bed.enslave(config).expect("room for three");
            }
            Op::Emancipate(link) => {
                // An error only says that it was no member.
                self.bed.bond.emancipate(self.bed.now, &mut self.bed.cx, LinkId(link)).ok();
            }
            Op::SetMode(mode) => {
                self.bed
                    .bond
                    .set_mode(self.bed.now, &mut self.bed.cx, mode)
                    .expect("room for three");
            }
        }
        self.bed.bond.check_invariants();
    }

    fn pick(&self, len: u32) -> Pick {
        let meta = FrameMeta { len, flow: 0 };
        self.bed.bond.scheduler.pick(self.bed.now, self.bed.bond.members(), meta)
    }
}

proptest! {
    #[test]
    fn frames_are_conserved(mode in mode(), queue in limit(), ingress in ingress(), script in prop::collection::vec(op(), 1..120)) {
        let mut world = World::new(mode, queue, ingress);
        for op in &script {
            world.apply(op);
            let dropped: u64 = world.bed.cx.work.drops.iter().sum();
            let held = world.bed.cx.frames.live() as u64;
            prop_assert_eq!(world.sent, world.handed_out + dropped + held);
            let bond = &world.bed.bond;
            let waiting: usize = bond.members().iter().map(Member::waiting_frames).sum();
            prop_assert_eq!(held, (bond.ingress_frames() + waiting) as u64);
        }
    }

    #[test]
    fn only_eql_picks_a_full_member_and_nobody_a_dead_one(mode in mode(), queue in limit(), ingress in ingress(), len in 1u32..1500, script in prop::collection::vec(op(), 1..120)) {
        let mut world = World::new(mode, queue, ingress);
        for op in &script {
            world.apply(op);
            if let Target::One { member, .. } = world.pick(len).target {
                let member = &world.bed.bond.members()[member];
                prop_assert!(member.is_up());
                prop_assert!(world.bed.bond.config().mode.is_eql() || !member.is_full(len));
            }
        }
    }

    #[test]
    fn a_member_that_only_receives_is_given_nothing(mode in mode(), queue in limit(), ingress in ingress(), len in 1u32..1500, script in prop::collection::vec(op(), 1..120)) {
        let mut world = World::new(mode, queue, ingress);
        for op in &script {
            world.apply(op);
            let target = world.pick(len).target;
            let members = world.bed.bond.members();
            if let Target::One { member, .. } = target {
                prop_assert!(members[member].sends());
            }
            let held = members.iter().filter(|m| !m.sends()).map(Member::waiting_frames);
            prop_assert_eq!(held.sum::<usize>(), 0);
            let nobody = members.iter().all(|m| !m.sends());
            prop_assert!(!nobody || target == Target::None, "{:?} though nobody sends", target);
        }
    }

    #[test]
    fn pick_is_pure(mode in mode(), queue in limit(), ingress in ingress(), len in 1u32..1500, script in prop::collection::vec(op(), 1..60)) {
        let mut world = World::new(mode, queue, ingress);
        let mut twin = World::new(mode, queue, ingress);
        for op in &script {
            world.apply(op);
            let first = world.pick(len);
            prop_assert_eq!(world.pick(len), first);
            twin.apply(op);
            prop_assert_eq!(twin.pick(len), first);
        }
    }

    #[test]
    fn empty_poll_stays_empty(mode in mode(), queue in limit(), ingress in ingress(), link in 0..LINKS, later in 0u64..5000, script in prop::collection::vec(op(), 1..120)) {
        let mut world = World::new(mode, queue, ingress);
        for op in &script {
            world.apply(op);
        }
        while world.poll(link) > 0 {}
        prop_assert_eq!(world.poll(link), 0, "at once");
        world.bed.now += Duration::from_millis(later);
        prop_assert_eq!(world.poll(link), 0, "however much later");
        // Polls of others that come back empty change nothing; one that does not may.
        for other in (0..LINKS).filter(|l| *l != link) {
            if world.poll(other) == 0 {
                prop_assert_eq!(world.poll(link), 0, "after an empty poll of {}", other);
            } else {
                while world.poll(link) > 0 {}
            }
        }
        prop_assert_eq!(world.poll(link), 0, "in the end");
    }

    #[test]
    fn nothing_waits_for_ever(mode in mode(), queue in limit(), ingress in ingress(), script in prop::collection::vec(op(), 1..120)) {
        let mut world = World::new(mode, queue, ingress);
        for op in &script {
            world.apply(op);
        }
        for link in 0..LINKS {
            world.apply(&Op::Link(link, LinkChange::Up));
            world.apply(&Op::Enslave(link, Ways::Both));
        }
        for _ in 0..script.len() {
            for link in 0..LINKS {
                world.apply(&Op::Poll(link));
                while !world.on_wire[usize::from(link)].is_empty() {
                    world.apply(&Op::Transmitted(link));
                }
            }
        }
        prop_assert_eq!(world.bed.cx.frames.live(), 0);
    }
}
