//! FQ-CoDel before the scheduler.

use super::*;
use crate::queue::FqCodelConfig;

const LIMIT: u64 = 60_000;

/// One line of 8 Mbit/s and a kilobyte a millisecond behind it.
fn bed() -> Bed {
    let config = FqCodelConfig { limit: Limit::Bytes(LIMIT), ..FqCodelConfig::new(1500) };
    let line = MemberConfig { framing: Framing::PLAIN, ..line(0, 8_000_000) };
    Bed::with_ingress(Mode::Earliest, IngressConfig::FqCodel(config), &[line])
}

/// Lets the wire have what it is given for so long; the frames in the order they went.
fn carry(bed: &mut Bed, millis: u64) -> Vec<Frame> {
    let mut carried = Vec::new();
    for _ in 0..millis {
        for frame in bed.poll(0) {
            let bytes = bed.cx.frames.len(frame) as u64;
            bed.cx.frames.remove(frame);
            bed.wait(1);
            bed.transmitted(0, bytes);
            carried.push(frame);
        }
    }
    carried
}

fn drops(bed: &Bed, reason: DropReason) -> u64 {
    bed.cx.work.dropped(reason)
}

#[test]
fn a_flood_takes_nothing_from_others_and_no_more_memory_than_there_is() {
    let mut bed = bed();
    for _ in 0..500 {
        bed.send_of(1, 1000);
        assert!(bed.bond.has_room() && bed.bond.ingress_bytes() <= LIMIT + 1000);
    }
    assert!(drops(&bed, DropReason::QueueFull) > 400);
    assert_eq!(bed.bond.stats().tx_dropped, drops(&bed, DropReason::QueueFull));
    let other = bed.send_of(2, 100);
    let place = carry(&mut bed, 10).iter().position(|frame| *frame == other);
    assert!(place.is_some_and(|place| place <= 4), "{place:?}");
}

#[test]
fn a_standing_queue_is_told_to_its_sender() {
    let mut bed = bed();
    let mut ect = [0u8; 20];
    (ect[0], ect[1]) = (0x45, 2);
    for capable in [true, false] {
        for _ in 0..300 {
            let bytes = if capable { &ect[..] } else { &[] };
            let frame = bed.cx.frames.insert(bytes, 1000 - bytes.len() as u32);
            let meta = FrameMeta { len: 1000, flow: 1 };
            bed.bond.send(bed.now, &mut bed.cx, frame, meta);
            // Thirty wait for thirty milliseconds.
            if bed.bond.ingress_frames() >= 30 {
                carry(&mut bed, 1);
            }
        }
        let told = (bed.bond.stats().tx_marked > 0, drops(&bed, DropReason::Congestion) > 0);
        assert_eq!(told, (true, !capable));
    }
}

#[test]
fn what_comes_back_from_a_member_goes_before_what_waits() {
    let mut bed = bed();
    let sent: Vec<Frame> = (0..6).map(|_| bed.send_of(1, 1000)).collect();
    let held = bed.bond.member(LinkId(0)).expect("a member").waiting_frames();
    assert!(held >= 2 && bed.bond.ingress_frames() > 1);
    bed.link(0, LinkChange::Down);
    assert_eq!(bed.bond.ingress_frames(), 6);
    bed.link(0, LinkChange::Up);
    assert_eq!(carry(&mut bed, 10), sent);
}

#[test]
fn closing_loses_what_waits() {
    let mut bed = bed();
    (0..6).for_each(|_| _ = bed.send_of(1, 1000));
    bed.bond.reopen(bed.now, &mut bed.cx);
    bed.bond.check_invariants();
    assert_eq!((bed.bond.held_frames(), bed.cx.frames.live()), (0, 0));
}
