use super::*;
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
    let mut bytes = [0; ipv4::HEADER_LEN + 8];
    let repr = ipv4::Repr {
        src: Ipv4Addr::new(10, 0, 0, 1),
        dst: Ipv4Addr::new(10, 0, 0, 2),
        protocol: Protocol::UDP,
        dscp: 0,
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
