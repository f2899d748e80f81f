//! Single steps of the scoreboard.

use super::judge::Overdue;
use super::*;

const MSS: u32 = 100;
const START: SeqNumber = SeqNumber(u32::MAX - 250);

/// `n` records of one MSS each, sent at 1, 2, 3 … ns.
fn board(n: u64) -> Scoreboard {
    let mut board = Scoreboard::default();
    for i in 0..n {
        board.push(Record {
            seq: START + i as u32 * MSS,
            len: MSS,
            sent_at: Instant::ZERO,
            order: 0,
            packet: None,
            transmissions: 0,
            fate: Fate::InFlight,
            syn: false,
            fin: false,
            sacked_run: 1,
        });
        board.sent(i as usize, Instant::from_nanos(i + 1));
    }
    board
}

fn sack(board: &mut Scoreboard, n: u32, ranges: &[(u32, u32)]) -> u32 {
    let mut blocks = SackBlocks::new();
    for (from, to) in ranges {
        blocks.push(START + from * MSS, START + to * MSS);
    }
    let newly = board.apply_sack(&blocks, START, START + n * MSS);
    board.check_invariants(START, START + n * MSS);
    newly
}

#[test]
fn acknowledgments_take_records_off_and_cut_the_last() {
    let mut board = board(5);
    let acked = board.ack_to(START + 250);
    assert_eq!((acked.payload, acked.records), (250, 2));
    assert_eq!(acked.sampled_from, Some(Instant::from_nanos(1)));
    assert_eq!((board.flight(), board.pipe()), (250, 250));
    board.check_invariants(START + 250, START + 500);
    assert_eq!(board.ack_to(START + 500).records, 3);
    assert!(board.is_empty());
}

#[test]
fn growing_blocks_count_what_is_new() {
    let mut board = board(10);
    assert_eq!(sack(&mut board, 10, &[(2, 3)]), MSS);
    assert_eq!(sack(&mut board, 10, &[(2, 5)]), 2 * MSS);
    assert_eq!(sack(&mut board, 10, &[(7, 8), (2, 5)]), MSS);
    assert_eq!(sack(&mut board, 10, &[(7, 8), (1, 5)]), MSS);
    assert_eq!(board.pipe(), 5 * MSS);
}

#[test]
fn nonsense_blocks_are_passed_over() {
    let mut board = board(5);
    assert_eq!(sack(&mut board, 5, &[(3, 3), (4, 2), (3, 9), (0, 2)]), 0);
}

#[test]
fn a_block_that_ends_inside_a_record_covers_it_once_it_is_whole() {
    let mut board = board(5);
    let mut blocks = SackBlocks::new();
    blocks.push(START + 200, START + 350);
    assert_eq!(board.apply_sack(&blocks, START, START + 500), MSS);
    assert_eq!(sack(&mut board, 5, &[(2, 4)]), MSS);
}

#[test]
fn lost_is_what_has_enough_sacked_above() {
    let mut board = board(10);
    sack(&mut board, 10, &[(2, 4)]);
    assert!(!board.judge(MSS, 3), "two segments are not more than two");
    sack(&mut board, 10, &[(2, 5)]);
    assert!(board.judge(MSS, 3));
    assert_eq!((board.next_lost(), board.pipe()), (Some(0), 5 * MSS));
    board.sent(0, Instant::ZERO);
    assert_eq!(board.next_lost(), Some(1));
    board.sent(1, Instant::ZERO);
    assert_eq!((board.next_lost(), board.pipe()), (None, 7 * MSS));
    assert!(!board.judge(MSS, 3), "what was sent again is not lost again");
    assert_eq!(board.ack_to(START + MSS).sampled_from, None);
}

#[test]
fn a_timeout_forgets_no_loss_that_was_found_before() {
    let mut board = board(10);
    for index in 0..10 {
        board.touch(index, Instant::from_nanos(index as u64 + 1));
    }
    sack(&mut board, 10, &[(6, 10)]);
    assert!(board.judge(MSS, 3));
    board.mark_lost_if_sent_by(Instant::from_nanos(2));
    board.check_invariants(START, START + 10 * MSS);
    assert_eq!(board.lost(), 6 * MSS);
}

#[test]
fn three_ranges_prove_a_loss_whatever_their_size() {
    let mut board = board(10);
    sack(&mut board, 10, &[(1, 2), (3, 4), (5, 6)]);
    assert!(board.judge(10 * MSS, 3));
    assert_eq!(board.next_lost(), Some(0));
}

#[test]
fn a_timeout_keeps_sacks_unless_the_peer_reneged() {
    let mut board = board(4);
    sack(&mut board, 4, &[(1, 2)]);
    board.mark_all_lost();
    assert_eq!(board.pipe(), 0);
    assert_eq!(board.next_lost(), Some(0));
    board.sent(0, Instant::ZERO);
    assert_eq!(board.next_lost(), Some(2));
    board.unmark_lost();
    assert_eq!(board.pipe(), 3 * MSS);
    board.ack_to(START + MSS);
    board.mark_all_lost();
    assert!(!board.has_sacked());
    assert_eq!(board.next_lost(), Some(0));
    board.check_invariants(START + MSS, START + 4 * MSS);
}

/// Records visited per acknowledgment while a window of `n` is SACKed one by one, each tenth segment is
/// lost once and each hundredth twice, and all are judged after each acknowledgment.
fn visits_per_ack(n: u32, by_time: bool) -> f64 {
    let mut board = board(u64::from(n));
    let (mut acks, mut now) = (0u32, u64::from(n) + 1000);
    let mut latest = Sending { at: Instant::ZERO, order: 0, end: START };
    let mut round = |board: &mut Scoreboard, index: u32, left: u32| {
        let mut blocks = SackBlocks::new();
        blocks.push(START + left * MSS, START + (index + 1) * MSS);
        board.apply_sack(&blocks, START, START + n * MSS);
        let told = board.take_delivered();
        if let Some(sending) = told.original.or(told.resent)
            && latest.is_before(sending)
        {
            latest = sending;
        }
        now += 1;
        let at = Instant::from_nanos(now);
        match by_time {
            true => drop(board.judge_by_time(at, latest, crate::time::Duration::from_nanos(1))),
            false => drop(board.judge(MSS, 3)),
        }
        while let Some(index) = board.next_lost() {
            board.sent(index, at);
        }
        acks += 1;
    };
    for index in 1..n {
        if index % 10 != 0 {
            round(&mut board, index, index / 10 * 10 + 1);
        }
    }
    for index in (10..n).step_by(10).filter(|index| index % 100 != 0) {
        round(&mut board, index, index / 10 * 10 - 9);
    }
    board.check_invariants(START, START + n * MSS);
    let visits = board.visits.0;
    board.ack_to(START + n * MSS);
    visits as f64 / f64::from(acks)
}

#[test]
fn the_work_per_acknowledgment_does_not_grow_with_the_window() {
    for by_time in [true, false] {
        // 8 MB of segments of 1448 bytes, and a hundredth of that.
        let (small, large) = (visits_per_ack(60, by_time), visits_per_ack(5800, by_time));
        assert!(large < small * 1.2, "{small:.2} and {large:.2} visits");
        assert!(large < 8.0, "{large}");
    }
}

#[test]
fn what_left_first_is_judged_first_also_when_it_left_again() {
    let nanos = Instant::from_nanos;
    let patience = crate::time::Duration::from_nanos(50);
    let mut board = board(10);
    sack(&mut board, 10, &[(4, 5)]);
    let latest = board.record(4).sending();
    let overdue = board.judge_by_time(nanos(52), latest, patience);
    assert_eq!(overdue, Overdue { found: true, next: Some(nanos(53)) });
    assert_eq!((board.next_lost(), board.pipe()), (Some(0), 7 * MSS));
    board.sent(0, nanos(60));
    board.sent(1, nanos(61));
    let overdue = board.judge_by_time(nanos(200), latest, patience);
    assert_eq!(overdue, Overdue { found: true, next: None }, "but only what left before it");
    board.sent(2, nanos(201));
    board.sent(3, nanos(202));
    // Segment 2, sent at 201, has arrived: what was sent again before it is lost again.
    let latest = board.record(2).sending();
    let overdue = board.judge_by_time(nanos(251), latest, patience);
    assert!(overdue.found);
    assert_eq!(board.next_lost(), Some(0));
    board.sent(0, nanos(252));
    assert_eq!(board.next_lost(), Some(1));
    board.sent(1, nanos(253));
    assert_eq!(board.next_lost(), Some(5), "and of those sent once what left earlier");
    board.check_invariants(START, START + 10 * MSS);
}

#[test]
fn a_segment_sent_once_behind_a_higher_one_is_reordering() {
    let mut board = board(10);
    sack(&mut board, 10, &[(3, 4), (1, 2)]);
    assert!(!board.take_delivered().reordered, "one acknowledgment tells no order");
    board.settle_reach();
    sack(&mut board, 10, &[(4, 5), (3, 4)]);
    assert!(!board.take_delivered().reordered);
    sack(&mut board, 10, &[(2, 5)]);
    assert!(board.take_delivered().reordered);
    board.sent(0, Instant::from_nanos(100));
    board.ack_to(START + 5 * MSS);
    assert!(!board.take_delivered().reordered, "it was sent again");
}

#[test]
fn a_record_in_pieces_is_the_same_to_the_others() {
    let mut whole = board(6);
    sack(&mut whole, 6, &[(3, 6)]);
    assert!(whole.judge(MSS, 3));
    let mut cut = whole.clone();
    cut.split(1, 30);
    cut.check_invariants(START, START + 6 * MSS);
    assert_eq!((cut.len(), cut.pipe(), cut.lost()), (9, whole.pipe(), whole.lost()));
    assert_eq!(cut.record(4).len, 10);
    let mut sent = Vec::new();
    while let Some(index) = cut.next_lost() {
        sent.push(cut.record(index).len);
        cut.sent(index, Instant::ZERO);
        cut.check_invariants(START, START + 6 * MSS);
    }
    assert_eq!(sent, [100, 30, 30, 30, 10, 100]);
    assert_eq!(sack(&mut cut, 6, &[(3, 6)]), 0);
}

#[test]
fn what_was_sent_again_is_cut_too() {
    let mut board = board(4);
    board.mark_front_lost();
    for _ in 0..2 {
        let index = board.next_lost().expect("the first");
        board.sent(index, Instant::from_nanos(10));
        board.mark_larger_lost(60);
        board.check_invariants(START, START + 4 * MSS);
        assert_eq!((board.lost(), board.pipe()), (4 * MSS, 0));
    }
    let lost = board.lost();
    board.split(2, 60);
    board.split(0, 60);
    board.check_invariants(START, START + 4 * MSS);
    assert_eq!((board.len(), board.lost()), (6, lost));
    let mut places = Vec::new();
    while let Some(index) = board.next_lost() {
        places.push(index);
        board.sent(index, Instant::from_nanos(20));
        board.check_invariants(START, START + 4 * MSS);
    }
    assert_eq!(places, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn only_what_is_larger_is_marked() {
    let mut board = board(4);
    board.mark_larger_lost(MSS);
    assert_eq!(board.lost(), 0);
    board.mark_larger_lost(MSS - 1);
    assert_eq!(board.lost(), 4 * MSS);
}
