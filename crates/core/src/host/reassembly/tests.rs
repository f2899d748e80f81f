use super::super::fragment::fragment;
use super::*;
use crate::wire::ipv4::{Ecn, Protocol};
use proptest::prelude::*;

fn repr(ident: u16, payload_len: u16) -> Repr {
    Repr {
        src: Ipv4Addr::new(10, 0, 0, 1),
        dst: Ipv4Addr::new(10, 0, 0, 2),
        protocol: Protocol::UDP,
        dscp: 0,
        ecn: Ecn::NotEct,
        ident,
        dont_fragment: false,
        ttl: 30,
        payload_len,
    }
}

/// A packet with this payload and zeros behind it.
fn packet(cx: &mut Context, ident: u16, payload: &[u8], elided: u32) -> Frame {
    let mut header = [0; ipv4::HEADER_LEN];
    repr(ident, payload.len() as u16 + elided as u16).emit(&mut header);
    cx.frames.insert_parts(&header, payload, elided)
}

fn cut(cx: &mut Context, frame: Frame, mtu: u16) -> Vec<Frame> {
    let mut pieces = Vec::new();
    fragment(cx, frame, mtu, |_, piece| pieces.push(piece)).expect("may be cut");
    pieces
}

fn add(all: &mut Reassembly, millis: u64, cx: &mut Context, frame: Frame) -> Option<Frame> {
    let bytes = cx.frames.bytes(frame);
    let packet = Packet::new_checked(bytes, cx.frames.elided(frame)).expect("is whole");
    let read = Repr::parse_fragment(&packet).expect("is sound");
    all.add(at(millis), cx, frame, read)
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// The logical bytes of a frame.
fn content(cx: &Context, frame: Frame) -> Vec<u8> {
    let mut bytes = cx.frames.bytes(frame).to_vec();
    bytes.resize(cx.frames.len(frame), 0);
    bytes
}

fn fresh() -> Reassembly {
    Reassembly::new(Duration::from_secs(30))
}

proptest! {
    #[test]
    fn what_is_cut_and_cut_again_is_put_together(
        payload in prop::collection::vec(any::<u8>(), 1..300),
        elided in 0..9000u32,
        mtus in (68..1500u16, 28..1500u16),
        order in any::<u64>(),
    ) {
        let mut cx = Context::new();
        let whole = packet(&mut cx, 7, &payload, elided);
        let expected = content(&cx, whole);
        let mut pieces = Vec::new();
        for piece in cut(&mut cx, whole, mtus.0) {
            let more = cut(&mut cx, piece, mtus.1);
            prop_assert!(more.iter().all(|p| cx.frames.len(*p) <= usize::from(mtus.1)));
            pieces.extend(more);
        }
        prop_assume!(pieces.len() <= PIECES_MAX && pieces.len() > 1);
        let mut rng = crate::rng::Rng::new(order);
        for i in (1..pieces.len()).rev() {
            pieces.swap(i, rng.below(i as u64 + 1) as usize);
        }
        let (mut all, last) = (fresh(), pieces.len() - 1);
        for (i, piece) in pieces.into_iter().enumerate() {
            let twice = cx.frames.duplicate(piece);
            let joined = add(&mut all, 0, &mut cx, piece);
            prop_assert_eq!(joined.is_some(), i == last);
            if let Some(joined) = joined {
                prop_assert_eq!(content(&cx, joined), expected.clone());
                prop_assert!(cx.frames.elided(joined) >= elided);
                cx.frames.remove(joined);
                cx.frames.remove(twice);
            } else {
                prop_assert_eq!(add(&mut all, 0, &mut cx, twice), None);
            }
        }
        prop_assert_eq!((all.held_frames(), cx.frames.live()), (0, 0));
    }
}

#[test]
fn six_fragments_carry_a_write_of_eight_kilobytes() {
    let mut cx = Context::new();
    let whole = packet(&mut cx, 1, &[1; 100], 8192 + 8 - 100);
    let pieces = cut(&mut cx, whole, 1500);
    let lens: Vec<usize> = pieces.iter().map(|piece| cx.frames.len(*piece)).collect();
    assert_eq!(lens, [1500, 1500, 1500, 1500, 1500, 820]);
}

#[test]
fn what_may_not_be_cut_is_given_back() {
    let mut cx = Context::new();
    let mut header = [0; ipv4::HEADER_LEN];
    Repr { dont_fragment: true, ..repr(1, 100) }.emit(&mut header);
    let whole = cx.frames.insert(&header, 100);
    assert_eq!(fragment(&mut cx, whole, 100, |_, _| ()), Err(whole));
    let other = packet(&mut cx, 2, &[0; 100], 0);
    assert_eq!(fragment(&mut cx, other, 27, |_, _| ()), Err(other));
    assert_eq!(cx.frames.live(), 2);
}

#[test]
fn a_packet_that_is_not_whole_in_time_is_given_up() {
    let (mut cx, mut all) = (Context::new(), fresh());
    let whole = packet(&mut cx, 1, &[3; 3000], 0);
    let pieces = cut(&mut cx, whole, 1500);
    assert_eq!(add(&mut all, 10, &mut cx, pieces[1]), None);
    assert_eq!(add(&mut all, 20, &mut cx, pieces[0]), None);
    assert_eq!(all.next_deadline(), Some(at(30_010)));
    assert_eq!(all.expire(at(30_009), &mut cx, |_, _| ()), None);
    let mut first = None;
    assert_eq!(all.expire(at(30_010), &mut cx, |_, frame| first = Some(frame)), Some(()));
    assert_eq!(first, Some(pieces[0]));
    assert_eq!(cx.work.dropped(DropReason::Unfinished), 2);
    // The rest came too late to help.
    assert_eq!(add(&mut all, 30_020, &mut cx, pieces[2]), None);
    assert_eq!(all.held_frames(), 1);
}

#[test]
fn pieces_that_contradict_each_other_end_the_packet() {
    let piece = |cx: &mut Context, offset: u16, len: u16, more: bool| {
        let mut header = [0; ipv4::HEADER_LEN];
        repr(9, len).emit_fragment(Fragment { offset, more }, &mut header);
        cx.frames.insert(&header, u32::from(len))
    };
    for (offset, len, more) in
        [(8, 16, true), (0, 24, true), (40, 8, true), (24, 8, false), (16, 7, false)]
    {
        let (mut cx, mut all) = (Context::new(), fresh());
        for (offset, len, more) in [(0, 16, true), (32, 8, false)] {
            let sound = piece(&mut cx, offset, len, more);
            assert_eq!(add(&mut all, 0, &mut cx, sound), None);
        }
        let bad = piece(&mut cx, offset, len, more);
        assert_eq!(add(&mut all, 0, &mut cx, bad), None);
        assert_eq!((all.held_frames(), cx.frames.live()), (0, 0), "{offset} {len} {more}");
        assert_eq!(cx.work.dropped(DropReason::Malformed), 3);
    }
}

#[test]
fn there_are_only_so_many_at_a_time() {
    let (mut cx, mut all) = (Context::new(), fresh());
    for ident in 0..3 * PACKETS_MAX as u16 {
        let whole = packet(&mut cx, ident, &[1; 100], 0);
        let pieces = cut(&mut cx, whole, 68);
        assert_eq!(add(&mut all, ident.into(), &mut cx, pieces[0]), None);
        pieces[1..].iter().for_each(|piece| cx.frames.remove(*piece));
    }
    assert_eq!((all.held_frames(), cx.frames.live()), (PACKETS_MAX, PACKETS_MAX));
    assert_eq!(cx.work.dropped(DropReason::Unfinished), 2 * PACKETS_MAX as u64);
}
