use super::*;
use crate::rng::Rng;
use crate::wire::ipv4::{self, Ecn, Protocol};
use std::net::Ipv4Addr;

#[test]
fn a_time_limit_is_the_bytes_of_that_time() {
    let limit = Limit::Time(Duration::from_millis(500));
    assert_eq!(limit.at_rate(BitRate::from_bps(28_800)), Limit::Bytes(1800));
    let packets = Limit::Packets(3);
    assert_eq!(packets.at_rate(BitRate::from_bps(1)), packets);
}

/// A UDP packet of 1000 bytes from `port`.
fn packet(cx: &mut Context, port: u16, ecn: Ecn) -> Frame {
    packet_of_class(cx, port, 0, ecn)
}

fn packet_of_class(cx: &mut Context, port: u16, dscp: u8, ecn: Ecn) -> Frame {
    let mut bytes = [0; ipv4::HEADER_LEN + 8];
    let repr = ipv4::Repr {
        src: Ipv4Addr::new(10, 0, 0, 1),
        dst: Ipv4Addr::new(10, 0, 0, 2),
        protocol: Protocol::UDP,
        dscp,
        ecn,
        ident: 0,
        dont_fragment: true,
        ttl: 64,
        payload_len: 980,
    };
    repr.emit(&mut bytes);
    bytes[ipv4::HEADER_LEN..][..2].copy_from_slice(&port.to_be_bytes());
    cx.frames.insert(&bytes, 972)
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn ecn_of(cx: &Context, frame: Frame) -> Ecn {
    let packet = ipv4::Packet::new_checked(cx.frames.bytes(frame), cx.frames.elided(frame));
    ipv4::Repr::parse(&packet.unwrap()).unwrap().ecn
}

#[test]
fn step_ecn_marks_headers_that_still_verify() {
    let mut cx = Context::new();
    let mut q = Queue::StepEcn(StepEcn::new(Limit::Packets(3), Limit::Packets(1)));
    let pushed = |q: &mut Queue, cx: &mut Context, ecn| {
        let frame = packet(cx, 1, ecn);
        q.push(at(0), cx, frame).map_err(|refused| {
            cx.frames.remove(refused.frame);
            refused.reason
        })
    };
    assert_eq!(pushed(&mut q, &mut cx, Ecn::Ect0), Ok(()));
    assert_eq!(pushed(&mut q, &mut cx, Ecn::NotEct), Err(DropReason::Congestion));
    assert_eq!(pushed(&mut q, &mut cx, Ecn::Ect1), Ok(()));
    assert_eq!(pushed(&mut q, &mut cx, Ecn::Ect0), Ok(()));
    assert_eq!(pushed(&mut q, &mut cx, Ecn::Ect0), Err(DropReason::QueueFull));
    assert_eq!((q.len(), q.bytes(), cx.frames.live()), (3, 3000, 3));
    let mut codepoints = Vec::new();
    while let Some((frame, len)) = q.pop(at(1), &mut cx) {
        assert_eq!(len, 1000);
        codepoints.push(ecn_of(&cx, frame));
    }
    assert_eq!(codepoints, [Ecn::Ect0, Ecn::Ce, Ecn::Ce]);
}

#[test]
fn fq_codel_marks_the_capable_flow_and_drops_of_the_other() {
    let mut cx = Context::new();
    let mut q = Queue::FqCodel(FqCodel::new(FqCodelConfig::new(1500)));
    for ms in 0..400 {
        for (port, ecn) in [(1, Ecn::Ect0), (2, Ecn::NotEct)] {
            let frame = packet(&mut cx, port, ecn);
            q.push(at(ms), &mut cx, frame).unwrap();
        }
    }
    let (mut marked, mut sent) = (0, 0u64);
    for ms in 400..900 {
        let Some((frame, _)) = q.pop(at(ms), &mut cx) else { break };
        marked += u64::from(ecn_of(&cx, frame) == Ecn::Ce);
        sent += 1;
        cx.frames.remove(frame);
    }
    let dropped = cx.work.dropped(DropReason::Congestion);
    assert!(marked > 5 && dropped > 5 && marked.abs_diff(dropped) <= 1, "{marked}, {dropped}");
    assert_eq!(sent + dropped + q.len() as u64, 800);
    let left = q.len();
    let drained: Vec<Frame> = q.drain().map(|(frame, _)| frame).collect();
    assert_eq!((drained.len(), q.len(), q.bytes()), (left, 0, 0));
    assert_eq!(cx.frames.live(), left);
}

#[test]
fn fq_codel_gives_up_what_does_not_fit_and_counts_it() {
    let mut cx = Context::new();
    let config = FqCodelConfig { limit: Limit::Packets(2), ..FqCodelConfig::new(1500) };
    let mut q = Queue::FqCodel(FqCodel::new(config));
    for _ in 0..5 {
        let frame = packet(&mut cx, 1, Ecn::Ect0);
        assert_eq!(q.push(at(0), &mut cx, frame), Ok(()));
    }
    assert_eq!((q.len(), cx.work.dropped(DropReason::QueueFull), cx.frames.live()), (2, 3, 2));
}

#[test]
fn red_marks_the_capable_and_drops_the_others() {
    for (ecn, reason) in [(Ecn::Ect0, None), (Ecn::NotEct, Some(DropReason::Congestion))] {
        let mut cx = Context::new();
        let config =
            RedConfig { weight_log2: 0, ..RedConfig::new(Limit::Packets(100), Duration::ZERO) };
        let mut q = Queue::Red(Red::new(config, Rng::new(1)));
        let (mut marked, mut refused) = (0, 0);
        for _ in 0..1000 {
            let frame = packet(&mut cx, 1, ecn);
            if let Err(back) = q.push(at(0), &mut cx, frame) {
                assert_eq!(Some(back.reason), reason);
                cx.frames.remove(back.frame);
                refused += 1;
            }
            while q.len() > 10 {
                let (frame, _) = q.pop(at(0), &mut cx).unwrap();
                marked += usize::from(ecn_of(&cx, frame) == Ecn::Ce);
                cx.frames.remove(frame);
            }
        }
        let signals = marked.max(refused);
        assert!(signals > 50 && marked.min(refused) == 0, "{ecn:?}: {marked}, {refused}");
        assert_eq!(q.drain().count(), cx.frames.live());
        assert!(q.is_empty() && q.bytes() == 0);
    }
}

/// Packets of codepoint 1 where marks are set at 2, and all others where nothing is marked.
fn classes(sharing: Sharing, quanta: [u32; 2]) -> Queue {
    let marking = Queue::StepEcn(StepEcn::new(Limit::Packets(50), Limit::Packets(2)));
    let plain = Queue::DropTail(DropTail::new(Limit::Packets(50)));
    let first = Class { dscps: DscpSet::of(&[1]), quantum: quanta[0], queue: marking };
    let rest = Class { dscps: DscpSet::default(), quantum: quanta[1], queue: plain };
    Queue::Classes(Classes::new(vec![first, rest], sharing))
}

fn class_lens(q: &Queue) -> Vec<usize> {
    match q {
        Queue::Classes(q) => q.classes().iter().map(|class| class.queue.len()).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_ping_lands_in_drop_tail_and_with_tos_6_in_the_marking_queue() {
    let mut cx = Context::new();
    let mut q = classes(Sharing::Strict, [1500; 2]);
    for (tos, lens) in [(0x00u8, [0, 1]), (0x06, [1, 1]), (0x04, [2, 1]), (0x08, [2, 2])] {
        let frame = packet_of_class(&mut cx, 1, tos >> 2, Ecn::from_bits(tos));
        q.push(at(0), &mut cx, frame).unwrap();
        assert_eq!(class_lens(&q), lens, "TOS {tos:#04x}");
    }
    // The marking queue is at its step: a packet that can say so is marked, another one dropped.
    let frame = packet_of_class(&mut cx, 1, 1, Ecn::NotEct);
    let refused = q.push(at(0), &mut cx, frame).unwrap_err();
    assert_eq!(refused.reason, DropReason::Congestion);
    cx.frames.remove(refused.frame);
    let frame = packet_of_class(&mut cx, 1, 1, Ecn::Ect0);
    q.push(at(0), &mut cx, frame).unwrap();
    let not_ip = cx.frames.insert(&[0xff; 20], 0);
    q.push(at(0), &mut cx, not_ip).unwrap();
    assert_eq!((class_lens(&q), q.len(), q.bytes()), (vec![3, 3], 6, 5020));
    let mut marks = Vec::new();
    for _ in 0..3 {
        let (frame, _) = q.pop(at(1), &mut cx).unwrap();
        marks.push(ecn_of(&cx, frame));
    }
    assert_eq!(marks, [Ecn::Ect0, Ecn::NotEct, Ecn::Ce]);
    assert_eq!(class_lens(&q), [0, 3]);
    assert_eq!(q.drain().count(), 3);
}

#[test]
fn the_first_class_goes_before_the_others_or_in_turns_by_bytes() {
    let sent_of_first = |sharing, quanta| {
        let mut cx = Context::new();
        let mut q = classes(sharing, quanta);
        let mut first = 0;
        for n in 0..440 {
            // Both classes always have something to send.
            for dscp in [1, 0] {
                let frame = packet_of_class(&mut cx, dscp.into(), dscp, Ecn::Ect0);
                if let Err(refused) = q.push(at(n), &mut cx, frame) {
                    cx.frames.remove(refused.frame);
                }
            }
            if n < 40 {
                continue;
            }
            let (frame, _) = q.pop(at(n), &mut cx).unwrap();
            first += u32::from(ip::dscp_ecn(cx.frames.bytes(frame)).unwrap().0);
            cx.frames.remove(frame);
        }
        first
    };
    assert_eq!(sent_of_first(Sharing::Strict, [1500; 2]), 400);
    assert!(sent_of_first(Sharing::Drr, [1500; 2]).abs_diff(200) <= 2);
    assert!(sent_of_first(Sharing::Drr, [300, 900]).abs_diff(100) <= 2);
    assert!(sent_of_first(Sharing::Drr, [9000, 3000]).abs_diff(300) <= 10);
}

#[test]
fn in_turns_a_lone_class_has_the_link_and_saves_nothing_up() {
    let mut cx = Context::new();
    let mut q = classes(Sharing::Drr, [1500; 2]);
    for _ in 0..20 {
        let frame = packet(&mut cx, 1, Ecn::NotEct);
        q.push(at(0), &mut cx, frame).unwrap();
    }
    (0..10).for_each(|_| assert!(q.pop(at(0), &mut cx).is_some()));
    for _ in 0..10 {
        let frame = packet_of_class(&mut cx, 1, 1, Ecn::Ect0);
        q.push(at(0), &mut cx, frame).unwrap();
    }
    for sent in 1..=10 {
        q.pop(at(0), &mut cx).unwrap();
        let [first, rest] = class_lens(&q)[..] else { panic!("two classes") };
        assert!((10 - first).abs_diff(10 - rest) <= 2, "after {sent}: {first}, {rest}");
    }
    assert!(std::iter::from_fn(|| q.pop(at(0), &mut cx)).count() == 10 && q.is_empty());
}
