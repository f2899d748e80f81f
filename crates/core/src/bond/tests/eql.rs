//! The behaviour of the deployed EQL driver.

use super::*;

const FAST: u16 = 0;
const SLOW: u16 = 1;

#[test]
fn eql_1_unequal_lines_take_turns_by_load() {
    let mut bed = Bed::new(Mode::Eql, &[line(FAST, 28_800), line(SLOW, 14_400)]);
    let mut order = Vec::new();
    for _ in 0..3 {
        let before = bed.packets(FAST);
        bed.send(900);
        order.push(if bed.packets(FAST) > before { FAST } else { SLOW });
    }
    assert_eq!(order, [FAST, SLOW, FAST]);
}

#[test]
fn eql_2_counters_decay_by_an_eighth_of_the_rate_each_second() {
    let mut bed = Bed::new(Mode::Eql, &[line(FAST, 28_800), line(SLOW, 14_400)]);
    for _ in 0..10 {
        bed.send(900);
    }
    let before = (bed.queued(FAST), bed.queued(SLOW));
    assert_eq!(before.0 + before.1, 9000);
    bed.wait(999);
    assert_eq!((bed.queued(FAST), bed.queued(SLOW)), before);
    bed.wait(1);
    assert_eq!(bed.queued(FAST), before.0 - 3600);
    assert_eq!(bed.queued(SLOW), before.1 - 1800);
    assert_eq!(bed.bond.poll_timeout(), Some((at(2000), Reason::Decay)));
    bed.wait(60_000);
    assert_eq!((bed.queued(FAST), bed.queued(SLOW)), (0, 0));
    assert_eq!(bed.bond.poll_timeout(), Some((at(62_000), Reason::Decay)));
}

#[test]
fn eql_3_an_idle_tie_goes_to_the_newest_line() {
    let mut bed = Bed::new(Mode::Eql, &[line(5, 28_800), line(6, 28_800)]);
    bed.send(500);
    assert_eq!((bed.packets(5), bed.packets(6)), (0, 1));
    assert_eq!(bed.bond.members()[0].link(), LinkId(6));
}

#[test]
fn eql_4_max_slaves_is_four_until_raised_and_again_after_reopening() {
    let mut bed = Bed::new(Mode::Eql, &[0, 1, 2, 3].map(|link| line(link, 9_600)));
    assert_eq!(bed.enslave(line(4, 9_600)), Err(BondError::Full));
    assert_eq!(bed.bond.set_config(0), Err(BondError::ZeroMembers));
    bed.bond.set_config(5).expect("raised");
    assert_eq!(bed.enslave(line(4, 9_600)), Ok(()));
    bed.bond.reopen(bed.now, &mut bed.cx);
    assert_eq!((bed.bond.config().max_slaves, bed.bond.members().len()), (4, 0));
    for link in 0..4 {
        assert_eq!(bed.enslave(line(link, 9_600)), Ok(()));
    }
    assert_eq!(bed.enslave(line(4, 9_600)), Err(BondError::Full));
}

#[test]
fn eql_5_a_dead_line_is_never_picked_and_gone_within_a_second() {
    let mut bed = Bed::new(Mode::Eql, &[0, 1, 2].map(|link| line(link, 9_600)));
    bed.cx.trace.drain();
    bed.link(2, LinkChange::Down);
    bed.link(1, LinkChange::Down);
    assert_eq!(bed.bond.members().len(), 3);
    bed.send(500);
    assert_eq!(bed.packets(0), 1);
    let left: Vec<LinkId> = bed.bond.members().iter().map(Member::link).collect();
    assert_eq!(left, [LinkId(2), LinkId(0)], "the last dead one met is buried");
    bed.wait(1000);
    assert_eq!(bed.bond.members().len(), 1);
    let events: Vec<_> = bed.cx.trace.drain().into_iter().map(|r| r.event).collect();
    assert_eq!(events, [trace::Event::Buried(LinkId(1)), trace::Event::Buried(LinkId(2))]);
    bed.link(1, LinkChange::Up);
    bed.send(500);
    assert_eq!(bed.bond.members().len(), 1, "a buried line must be enslaved again");
    assert_eq!(bed.enslave(line(1, 9_600)), Ok(()));
    assert_eq!(bed.bond.members().len(), 2);
}

#[test]
fn eql_6_without_members_a_packet_is_dropped_and_counted() {
    let mut bed = Bed::new(Mode::Eql, &[]);
    bed.send(500);
    assert_eq!(bed.bond.stats().tx_dropped, 1);
    assert_eq!(bed.bond.stats().tx_packets, 0);
    assert_eq!(bed.cx.work.dropped(DropReason::NoMember), 1);
    assert_eq!(bed.cx.frames.live(), 0);
}

#[test]
fn a_full_line_is_still_picked_and_its_drop_counts_as_transmitted() {
    let mut small = line(0, 9_600);
    small.queue = Limit::Packets(2);
    let mut bed = Bed::new(Mode::Eql, &[small]);
    for _ in 0..3 {
        bed.send(500);
    }
    assert_eq!(bed.queued(0), 1500);
    assert_eq!(bed.bond.stats().tx_packets, 3);
    assert_eq!(bed.bond.stats().tx_dropped, 0);
    assert_eq!(bed.bond.members()[0].stats().tx_dropped, 1);
    assert_eq!(bed.cx.work.dropped(DropReason::QueueFull), 1);
}

#[test]
fn a_second_enslavement_renews_the_record_and_keeps_the_queue() {
    let mut bed = Bed::new(Mode::Eql, &[line(0, 9_600), line(1, 9_600)]);
    bed.send(500);
    bed.send(500);
    assert_eq!(bed.enslave(line(0, 14_400)), Ok(()));
    assert_eq!(bed.bond.members().len(), 2);
    assert_eq!(bed.bond.members()[0].link(), LinkId(0));
    assert_eq!((bed.queued(0), bed.queued(1)), (0, 500));
    assert_eq!(bed.poll(0).len(), 1);
}

#[test]
fn a_device_that_goes_down_loses_its_queue() {
    let mut bed = Bed::new(Mode::Eql, &[line(0, 9_600)]);
    bed.send(500);
    bed.send(500);
    bed.poll(0);
    bed.link(0, LinkChange::Down);
    assert_eq!(bed.cx.work.dropped(DropReason::MemberDown), 1);
    bed.link(0, LinkChange::Up);
    assert_eq!(bed.queued(0), 1000, "EQL's counter does not know");
    bed.send(500);
    assert_eq!(bed.poll(0).len(), 1);
}

#[test]
fn a_new_weight_counts_at_once() {
    let mut bed = Bed::new(Mode::Eql, &[line(0, 9_600), line(1, 9_600)]);
    bed.bond.set_member(LinkId(0), bps(19_200)).expect("a member");
    bed.send(500);
    assert_eq!(bed.packets(0), 1);
    bed.wait(1000);
    assert_eq!(bed.bond.set_member(LinkId(7), bps(1)), Err(BondError::NotMember));
}

#[test]
fn loads_wrap_as_a_32_bit_word_does() {
    let mut bed = Bed::new(Mode::Eql, &[line(0, 9_600), line(1, 9_600)]);
    bed.bond.members[1].eql.bytes_queued = 1 << 29;
    bed.bond.members[0].eql.bytes_queued = 100;
    bed.send(500);
    assert_eq!(bed.packets(0), 1, "8 × 2^29 bytes look like none");
}
