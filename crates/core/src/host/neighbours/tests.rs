use super::*;

const HIM: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const MAC: MacAddress = MacAddress::local(2);

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn resolve(table: &mut Neighbours, cx: &mut Context, millis: u64, to: Ipv4Addr) -> Resolved {
    let frame = cx.frames.insert(&[0x45; 20], 0);
    let resolved = table.resolve(at(millis), cx, to, frame);
    if matches!(resolved, Resolved::Known(_)) {
        cx.frames.remove(frame);
    }
    resolved
}

#[test]
fn one_address_is_asked_for_once_a_second() {
    let (mut cx, mut table) = (Context::new(), Neighbours::new(Asking::RFC_1122));
    assert_eq!(resolve(&mut table, &mut cx, 0, HIM), Resolved::Ask);
    for millis in [1, 500, 999] {
        assert_eq!(resolve(&mut table, &mut cx, millis, HIM), Resolved::Wait);
    }
    assert_eq!(resolve(&mut table, &mut cx, 999, Ipv4Addr::new(10, 0, 0, 3)), Resolved::Ask);
    let mut asked = Vec::new();
    for millis in (0..6000).step_by(10) {
        table.handle_timeout(at(millis), &mut cx, |_, ip| asked.push((millis, ip)));
    }
    let for_him: Vec<u64> = asked.iter().filter(|(_, ip)| *ip == HIM).map(|(at, _)| *at).collect();
    assert_eq!(for_him, [1000, 2000]);
    assert_eq!(cx.work.dropped(DropReason::Unresolved), 5);
    assert_eq!((cx.frames.live(), table.held_frames(), table.next_deadline()), (0, 0, None));
    assert_eq!(resolve(&mut table, &mut cx, 6000, HIM), Resolved::Ask);
}

#[test]
fn the_old_way_is_to_ask_with_every_packet_and_keep_the_last() {
    let (mut cx, mut table) = (Context::new(), Neighbours::new(Asking::BSD_4_2));
    for millis in 0..5 {
        assert_eq!(resolve(&mut table, &mut cx, millis, HIM), Resolved::Ask);
    }
    assert_eq!((table.held_frames(), cx.work.dropped(DropReason::Unresolved)), (1, 4));
    assert_eq!(table.next_deadline(), None);
    assert_eq!(table.learn(at(9), &mut cx, (MAC, HIM), Learn::Update).len(), 1);
}

#[test]
fn an_answer_frees_what_waits_and_holds_for_a_while() {
    let (mut cx, mut table) = (Context::new(), Neighbours::new(Asking::RFC_1122));
    assert_eq!(resolve(&mut table, &mut cx, 0, HIM), Resolved::Ask);
    (1..6).for_each(|i| assert_eq!(resolve(&mut table, &mut cx, i, HIM), Resolved::Wait));
    assert_eq!(table.held_frames(), Asking::RFC_1122.waiting_max);
    let freed = table.learn(at(10), &mut cx, (MAC, HIM), Learn::Update);
    assert_eq!((freed.len(), table.held_frames()), (4, 0));
    assert_eq!(resolve(&mut table, &mut cx, 11, HIM), Resolved::Known(MAC));
    assert_eq!(resolve(&mut table, &mut cx, 60_009, HIM), Resolved::Known(MAC));
    assert_eq!(resolve(&mut table, &mut cx, 60_010, HIM), Resolved::Ask);
}

#[test]
fn strangers_are_learnt_only_when_they_ask() {
    let (mut cx, mut table) = (Context::new(), Neighbours::new(Asking::RFC_1122));
    table.learn(at(0), &mut cx, (MAC, HIM), Learn::Update);
    assert_eq!(resolve(&mut table, &mut cx, 1, HIM), Resolved::Ask);
    table.learn(at(2), &mut cx, (MAC, HIM), Learn::Insert);
    assert_eq!(resolve(&mut table, &mut cx, 3, HIM), Resolved::Known(MAC));
}

#[test]
fn the_table_has_an_end() {
    let (mut cx, mut table) = (Context::new(), Neighbours::new(Asking::RFC_1122));
    for i in 0..3 * NEIGHBOURS_MAX as u32 {
        let to = Ipv4Addr::from_bits(0x0a00_0000 + i);
        assert_eq!(resolve(&mut table, &mut cx, u64::from(i) / 10, to), Resolved::Ask);
    }
    assert_eq!(table.entries.len(), NEIGHBOURS_MAX);
    assert_eq!((table.held_frames(), cx.frames.live()), (NEIGHBOURS_MAX, NEIGHBOURS_MAX));
}
