//! Membership and the modes that are not EQL.

use super::*;

#[test]
fn round_robin_counts_over_all_members_and_skips_the_dead() {
    let mut bed = Bed::new(Mode::BalanceRr, &[0, 1, 2].map(|link| line(link, 9_600)));
    for _ in 0..6 {
        bed.send(100);
    }
    assert_eq!([0, 1, 2].map(|l| bed.packets(l)), [2, 2, 2]);
    bed.link(1, LinkChange::Down);
    // The two that waited for 1 come back; turns 0, 1→2, 2, 0, 1→2, 2 follow.
    for _ in 0..4 {
        bed.send(100);
    }
    assert_eq!([0, 1, 2].map(|l| bed.packets(l)), [4, 0, 6]);
}

#[test]
fn round_robin_waits_for_the_member_whose_turn_it_is() {
    let mut small = line(1, 9_600);
    small.queue = Limit::Packets(1);
    let mut bed = Bed::new(Mode::BalanceRr, &[line(0, 9_600), small]);
    for _ in 0..6 {
        bed.send(100);
    }
    assert_eq!([0, 1].map(|l| bed.packets(l)), [2, 1]);
    assert_eq!(bed.bond.ingress_frames(), 3);
    assert_eq!(bed.poll(1).len(), 1);
    assert_eq!([0, 1].map(|l| bed.packets(l)), [3, 2]);
}

#[test]
fn active_backup_prefers_priority_and_falls_back() {
    let mut preferred = line(1, 9_600);
    preferred.priority = 5;
    let mut bed = Bed::new(Mode::ActiveBackup, &[line(0, 9_600), preferred, line(2, 9_600)]);
    bed.send(100);
    assert_eq!([0, 1, 2].map(|l| bed.packets(l)), [0, 1, 0]);
    bed.link(1, LinkChange::Down);
    assert_eq!([0, 1, 2].map(|l| bed.packets(l)), [1, 0, 0]);
    bed.link(1, LinkChange::Up);
    bed.send(100);
    assert_eq!([0, 1, 2].map(|l| bed.packets(l)), [1, 1, 0]);
}

#[test]
fn what_waits_for_a_dying_member_goes_over_the_others_in_order() {
    let mut bed = Bed::new(Mode::ActiveBackup, &[line(0, 9_600), line(1, 9_600)]);
    let sent: Vec<Frame> = (0..5).map(|_| bed.send(100)).collect();
    assert_eq!(bed.poll(0), sent[..1]);
    bed.link(0, LinkChange::Down);
    for frame in &sent[1..] {
        assert_eq!(bed.poll(1), [*frame]);
    }
    assert_eq!(bed.bond.stats().tx_packets, 5);
    assert_eq!(bed.cx.work.drops.iter().sum::<u64>(), 0);
}

#[test]
fn emancipation_loses_nothing() {
    let mut bed = Bed::new(Mode::Earliest, &[line(0, 9_600), line(1, 9_600)]);
    for _ in 0..8 {
        bed.send(100);
    }
    let live = bed.cx.frames.live();
    let link = LinkId(0);
    assert_eq!(bed.bond.emancipate(bed.now, &mut bed.cx, link), Ok(()));
    assert_eq!(bed.bond.emancipate(bed.now, &mut bed.cx, link), Err(BondError::NotMember));
    bed.bond.check_invariants();
    assert_eq!(bed.cx.frames.live(), live);
}

#[test]
fn earliest_keeps_frames_through_a_flap_of_all_members() {
    let mut bed = Bed::new(Mode::Earliest, &[line(0, 9_600)]);
    bed.send(100);
    bed.link(0, LinkChange::Down);
    bed.send(100);
    assert_eq!(bed.bond.ingress_frames(), 2);
    bed.link(0, LinkChange::Up);
    assert_eq!((bed.bond.ingress_frames(), bed.poll(0).len()), (0, 1));
}

#[test]
fn earliest_counts_a_frame_until_the_wire_has_it() {
    let mut bed = Bed::new(Mode::Earliest, &[line(0, 9_600)]);
    for _ in 0..4 {
        bed.send(100);
    }
    assert_eq!(bed.bond.ingress_frames(), 2, "two frames ahead");
    bed.poll(0);
    bed.poll(0);
    assert_eq!(bed.poll(0), []);
    bed.transmitted(0, 100);
    assert_eq!(bed.bond.ingress_frames(), 1);
    assert_eq!(bed.poll(0).len(), 1);
}

#[test]
fn fast_members_get_runs_and_slow_ones_single_frames() {
    let mut bed = Bed::new(Mode::Earliest, &[line(0, 100_000_000), line(1, 9_600)]);
    for _ in 0..3 {
        bed.send(1000);
    }
    assert_eq!(bed.bond.member(LinkId(0)).map(Member::held_frames), Some(3));
    assert_eq!(bed.poll(0).len(), 3);
}

#[test]
fn too_long_packets_and_strangers_are_dropped_and_counted() {
    let mut bed = Bed::new(Mode::Earliest, &[line(0, 9_600)]);
    bed.send(1501);
    assert_eq!(bed.cx.work.dropped(DropReason::TooBig), 1);
    let frame = bed.cx.frames.insert(&[], 10);
    bed.bond.handle_frame(bed.now, &mut bed.cx, LinkId(9), frame);
    assert_eq!(bed.bond.poll_event(), None);
    let frame = bed.cx.frames.insert(&[], 10);
    bed.bond.handle_frame(bed.now, &mut bed.cx, LinkId(0), frame);
    assert_eq!(bed.bond.poll_event(), Some(Event::Received(frame)));
    assert_eq!(bed.bond.members()[0].stats().rx_bytes, 10);
    let mut dead = line(3, 9_600);
    dead.rate = bps(0);
    assert_eq!(bed.enslave(dead), Err(BondError::ZeroRate));
}

#[test]
fn the_ingress_queue_is_bounded() {
    let mut bed = Bed::new(Mode::Earliest, &[line(0, 9_600)]);
    while bed.bond.has_room() {
        bed.send(100);
    }
    assert_eq!(bed.bond.ingress_frames(), 64);
    bed.send(100);
    assert_eq!(bed.bond.stats().tx_dropped, 1);
    assert_eq!(bed.cx.work.dropped(DropReason::QueueFull), 1);
}

#[test]
fn another_mode_loses_neither_packets_nor_members() {
    let mut bed = Bed::new(Mode::Earliest, &[line(0, 115_200), line(1, 28_800), line(2, 9_600)]);
    bed.bond.set_config(2).expect("two are enough");
    assert_eq!(bed.bond.set_mode(bed.now, &mut bed.cx, Mode::Eql), Err(BondError::Full));
    assert_eq!(bed.bond.config().mode, Mode::Earliest);
    bed.bond.set_config(3).expect("three are enough");
    let mut left: Vec<Frame> = (0..60).map(|_| bed.send(1000)).collect();
    for mode in [Mode::Eql, Mode::BalanceRr, Mode::ActiveBackup, Mode::EqlEarly, Mode::Earliest] {
        bed.bond.set_mode(bed.now, &mut bed.cx, mode).expect("another mode");
        bed.bond.check_invariants();
        let newest_first = bed.bond.members()[0].link() == LinkId(2);
        assert_eq!((bed.bond.members().len(), newest_first), (3, mode.is_eql()));
        for link in [0, 1, 2, 0] {
            for frame in bed.poll(link) {
                left.retain(|waiting| *waiting != frame);
                bed.cx.frames.remove(frame);
                bed.transmitted(link, 1000);
            }
        }
    }
    assert_eq!((bed.bond.stats().tx_dropped, bed.bond.held_frames()), (0, left.len()));
    assert!(bed.bond.members().iter().all(|member| member.stats().tx_dropped == 0));
}

#[test]
fn only_a_trunk_has_a_monitor() {
    let mut bed = Bed::new(Mode::Earliest, &[line(0, 115_200)]);
    let refused = bed.bond.set_monitor(bed.now, trunk::Monitor::default());
    assert_eq!(refused, Err(BondError::NotTrunk));
}

#[test]
fn a_burst_is_of_one_length_but_for_its_last() {
    let mut bed = Bed::new(Mode::Eql, &[line(0, 1_000_000_000)]);
    for len in [1400, 1400, 600, 600, 600, 1400, 1400] {
        bed.send(len);
    }
    let mut lens = || -> Vec<usize> {
        let burst = bed.poll(0);
        burst.iter().map(|frame| bed.cx.frames.len(*frame)).collect()
    };
    assert_eq!(lens(), [1400, 1400, 600]);
    assert_eq!(lens(), [600, 600]);
    assert_eq!(lens(), [1400, 1400]);
}
