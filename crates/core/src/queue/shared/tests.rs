use super::*;
use crate::queue::{DropTail, FqCodel, FqCodelConfig, Limit};
use proptest::prelude::*;

fn drop_tail() -> Queue {
    Queue::DropTail(DropTail::new(Limit::Bytes(u64::MAX)))
}

fn switch(alpha: (u32, u32), ports: usize) -> SharedBuffer {
    let alpha = Alpha::new(alpha.0, alpha.1).expect("a fraction");
    SharedBuffer::new(1_200_000, alpha, (0..ports).map(|_| drop_tail()).collect())
}

/// Offers a frame to each of these ports in turns until nobody takes any.
fn fill(switch: &mut SharedBuffer, cx: &mut Context, ports: &[usize]) -> Vec<u64> {
    loop {
        let taken = ports.iter().filter(|&&port| {
            let frame = cx.frames.insert(&[0; 40], 960);
            let pushed = switch.push(Instant::ZERO, cx, port, frame);
            pushed.map_err(|refused| cx.frames.remove(refused.frame)).is_ok()
        });
        if taken.count() == 0 {
            return ports.iter().map(|&port| switch.port(port).unwrap().bytes()).collect();
        }
    }
}

/// N busy ports hold alpha / (1 + N alpha) of the memory each.
#[test]
fn busy_ports_get_equal_shares_and_leave_some_for_others() {
    let cases =
        [((1, 1), 1, 600_000), ((1, 1), 2, 400_000), ((2, 1), 1, 800_000), ((1, 2), 4, 200_000)];
    for (alpha, busy, expected) in cases {
        let mut cx = Context::new();
        let mut switch = switch(alpha, 5);
        let ports: Vec<usize> = (0..busy).collect();
        for held in fill(&mut switch, &mut cx, &ports) {
            assert!(held.abs_diff(expected) <= 2000, "{alpha:?} {busy}: {held}");
        }
        let late = fill(&mut switch, &mut cx, &[4])[0];
        assert!(late > 0, "a port that wakes up finds memory");
    }
}

#[test]
fn what_a_port_sends_is_free_for_all() {
    let mut cx = Context::new();
    let mut switch = switch((1, 1), 2);
    fill(&mut switch, &mut cx, &[0]);
    assert_eq!((switch.bytes(), switch.threshold()), (600_000, 600_000));
    while let Some((frame, _)) = switch.pop(Instant::ZERO, &mut cx, 0) {
        cx.frames.remove(frame);
    }
    assert_eq!((switch.bytes(), switch.threshold(), cx.frames.live()), (0, 1_200_000, 0));
    assert_eq!(fill(&mut switch, &mut cx, &[1]), [600_000]);
}

#[test]
fn a_port_that_is_not_there_takes_nothing() {
    let mut cx = Context::new();
    let mut switch = switch((1, 1), 1);
    let frame = cx.frames.insert(&[0; 40], 0);
    let refused = switch.push(Instant::ZERO, &mut cx, 1, frame).unwrap_err();
    assert_eq!((refused.frame, refused.reason), (frame, DropReason::QueueFull));
    assert!(switch.pop(Instant::ZERO, &mut cx, 1).is_none() && switch.port(1).is_none());
    assert_eq!(Alpha::new(0, 1), None);
}

proptest! {
    #[test]
    fn memory_is_counted_right_and_never_exceeded(
        alpha in (1u32..16, 1u32..16),
        capacity in 0u64..20_000,
        steps in prop::collection::vec((0usize..3, 0u32..3000, any::<bool>()), 0..200),
    ) {
        let mut cx = Context::new();
        let fq = FqCodelConfig { limit: Limit::Bytes(5000), ..FqCodelConfig::new(1500) };
        let ports = vec![drop_tail(), Queue::FqCodel(FqCodel::new(fq)), drop_tail()];
        let alpha = Alpha::new(alpha.0, alpha.1).unwrap();
        let mut switch = SharedBuffer::new(capacity, alpha, ports);
        for (port, len, push) in steps {
            if push {
                let frame = cx.frames.insert(&[0; 20], len);
                if let Err(refused) = switch.push(Instant::ZERO, &mut cx, port, frame) {
                    cx.frames.remove(refused.frame);
                }
            } else if let Some((frame, _)) = switch.pop(Instant::ZERO, &mut cx, port) {
                cx.frames.remove(frame);
            }
            let waiting: u64 = (0..3).map(|port| switch.port(port).unwrap().bytes()).sum();
            prop_assert_eq!(waiting, switch.bytes());
            prop_assert!(switch.bytes() <= capacity);
        }
    }
}
