use super::*;
use crate::queue::DropTail;
use crate::time::Duration;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn at_micros(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

fn queue(limit: Limit) -> FqCodel<u32> {
    FqCodel::new(FqCodelConfig { limit, ..FqCodelConfig::new(1500) })
}

fn push(q: &mut FqCodel<u32>, item: u32, len: u32, flow: u32) -> Vec<u32> {
    let mut dropped = Vec::new();
    q.push(Instant::ZERO, item, len, flow, |item| dropped.push(item));
    dropped
}

fn pop(q: &mut FqCodel<u32>) -> Option<u32> {
    q.pop(Instant::ZERO, |_| None).map(|(item, _)| item)
}

#[test]
fn a_sparse_flow_is_served_before_the_bulk() {
    let mut q = queue(Limit::Packets(1000));
    for n in 0..100 {
        push(&mut q, n, 1500, 7);
    }
    assert_eq!((pop(&mut q), pop(&mut q)), (Some(0), Some(1)));
    push(&mut q, 500, 100, 8);
    assert_eq!((pop(&mut q), pop(&mut q)), (Some(500), Some(2)));
    // It came back before its turn among the old ones was over: no privilege now.
    push(&mut q, 501, 100, 8);
    assert_eq!((pop(&mut q), pop(&mut q)), (Some(501), Some(3)));
}

#[test]
fn flows_share_by_bytes() {
    let mut q = queue(Limit::Packets(1000));
    for n in 0..100 {
        push(&mut q, n, 1500, 1);
        push(&mut q, 1000 + n, 500, 2);
        push(&mut q, 2000 + n, 500, 2);
        push(&mut q, 3000 + n, 500, 2);
    }
    let mut bytes = [0u32; 2];
    for _ in 0..200 {
        let (item, len) = q.pop(Instant::ZERO, |_| None).unwrap();
        bytes[usize::from(item >= 1000)] += len;
    }
    assert!(bytes[0].abs_diff(bytes[1]) <= 3000, "{bytes:?}");
}

#[test]
fn a_full_memory_is_relieved_at_the_fattest_from_its_head() {
    let mut q = queue(Limit::Bytes(10_000));
    for n in 0..8 {
        assert_eq!(push(&mut q, n, 1000, 1), []);
    }
    assert_eq!(push(&mut q, 100, 1000, 2), []);
    assert_eq!(push(&mut q, 101, 1000, 2), []);
    assert_eq!(push(&mut q, 102, 1000, 2), [0]);
    assert_eq!(push(&mut q, 103, 1500, 3), [1, 2]);
    // An item larger than any queue gives way itself.
    let mut q = queue(Limit::Bytes(3000));
    push(&mut q, 1, 1000, 1);
    assert_eq!(push(&mut q, 2, 5000, 2), [2]);
    assert_eq!((q.len(), q.bytes()), (1, 1000));
}

/// A queue under test: takes in a packet, and gives out how long the next one waited and how many were
/// dropped on the way to it.
trait Bottleneck {
    fn push(&mut self, now: Instant);
    fn pop(&mut self, now: Instant) -> (Option<Duration>, u32);
}

impl Bottleneck for FqCodel<Instant> {
    fn push(&mut self, now: Instant) {
        FqCodel::push(self, now, now, 1500, 1, |_| {});
    }
    fn pop(&mut self, now: Instant) -> (Option<Duration>, u32) {
        let mut dropped = 0;
        let popped = FqCodel::pop(self, now, |_| {
            dropped += 1;
            None
        });
        (popped.map(|(since, _)| now - since), dropped)
    }
}

impl Bottleneck for DropTail<Instant> {
    fn push(&mut self, now: Instant) {
        assert_eq!(DropTail::push(self, now, 1500), Ok(()));
    }
    fn pop(&mut self, now: Instant) -> (Option<Duration>, u32) {
        (DropTail::pop(self).map(|(since, _)| now - since), 0)
    }
}

/// One sender that adds a packet per round trip and halves on loss, 20 ms away from a queue served
/// once per millisecond: the waits in microseconds after the first 20 of 60 seconds, sorted.
fn waits_of_a_responsive_sender(queue: &mut impl Bottleneck) -> Vec<u64> {
    let away = Duration::from_millis(20);
    let (mut window, mut credit, mut in_flight) = (10u32, 0u32, 0u32);
    let mut told: VecDeque<(Instant, bool)> = VecDeque::new();
    let mut deaf_until = Instant::ZERO;
    let mut waits = Vec::new();
    for ms in 0..60_000u64 {
        let now = at_micros(ms * 1000);
        while let Some((_, arrived)) = told.pop_front_if(|(at, _)| *at <= now) {
            in_flight -= 1;
            if arrived {
                credit += 1;
            } else if now >= deaf_until {
                window = (window / 2).max(1);
                deaf_until = now + away;
            }
            if credit >= window {
                credit = 0;
                window += 1;
            }
        }
        while in_flight < window {
            queue.push(now);
            in_flight += 1;
        }
        let (wait, dropped) = queue.pop(now);
        told.extend((0..dropped).map(|_| (now + away, false)));
        if let Some(wait) = wait {
            told.push_back((now + away, true));
            if ms >= 20_000 {
                waits.push(wait.as_micros());
            }
        }
    }
    waits.sort_unstable();
    waits
}

#[test]
fn a_responsive_sender_waits_near_the_target_and_not_for_the_whole_buffer() {
    let waits = waits_of_a_responsive_sender(&mut FqCodel::new(FqCodelConfig::new(1500)));
    let median = waits[waits.len() / 2];
    let worst = waits[waits.len() * 99 / 100];
    assert!(median < 8_000 && worst < 30_000, "median {median} µs, 99 % {worst} µs");
    assert!(waits.len() > 34_000, "the line stays busy: {} of 40,000", waits.len());
    let mut tail = DropTail::new(Limit::Packets(100_000));
    let waits = waits_of_a_responsive_sender(&mut tail);
    let median = waits[waits.len() / 2];
    assert!(median > 150_000, "drop-tail: median {median} µs");
}

/// Signals alone do not stop a sender that hears none: its own wait grows to what memory allows. What
/// others feel of it is one packet.
#[test]
fn a_deaf_sender_of_twice_the_rate_fills_memory_and_hurts_only_itself() {
    let limit = Limit::Packets(1000);
    let mut q = FqCodel::<(u32, Instant)>::new(FqCodelConfig { limit, ..FqCodelConfig::new(1500) });
    let (mut sparse_worst, mut sparse_served, mut deaf_served) = (Duration::ZERO, 0u32, 0u32);
    for half_ms in 0..60_000u64 {
        let now = at_micros(half_ms * 500);
        q.push(now, (1, now), 1500, 1, |_| {});
        if half_ms % 20 == 0 {
            q.push(now, (2, now), 100, 2, |(flow, _)| assert_eq!(flow, 1));
        }
        if half_ms % 2 == 1 {
            match q.pop(now, |_| None) {
                Some(((2, since), _)) => {
                    sparse_worst = sparse_worst.max(now - since);
                    sparse_served += 1;
                }
                Some(_) => deaf_served += 1,
                None => panic!("the line stays busy"),
            }
        }
        assert!(q.len() <= 1000);
    }
    assert_eq!((sparse_served, deaf_served), (3_000, 27_000));
    assert!(sparse_worst <= Duration::from_millis(2), "{sparse_worst}");
}

#[test]
fn waiting_while_signals_mark_changes_nothing_in_number() {
    let mut q = FqCodel::<u32>::new(FqCodelConfig::new(1500));
    for n in 0..1000 {
        q.push(Instant::ZERO, n, 1500, 1, |_| {});
    }
    let mut marks = 0;
    for n in 0..1000 {
        let popped = q.pop(at_micros(u64::from(n) * 1000), |item| {
            marks += 1;
            Some(item)
        });
        assert_eq!(popped, Some((n, 1500)));
    }
    assert!(marks > 20, "{marks}");
    assert!(q.is_empty() && q.pop(at_micros(9), Some).is_none());
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Push { flow: u32, len: u32 },
    Pop,
    TakeAny,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0u32..12, 1u32..4000).prop_map(|(flow, len)| Step::Push { flow, len }),
        4 => Just(Step::Pop),
        1 => Just(Step::TakeAny),
    ]
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![(0u32..40).prop_map(Limit::Packets), (0u64..40_000).prop_map(Limit::Bytes)]
}

impl<T> FqCodel<T> {
    fn check_invariants(&self) {
        let lens: Vec<u64> = self
            .queues
            .iter()
            .map(|queue| queue.entries.iter().map(|entry| u64::from(entry.len)).sum())
            .collect();
        assert_eq!(lens, self.backlogs);
        assert_eq!(self.bytes, lens.iter().sum::<u64>());
        assert_eq!(self.len, self.queues.iter().map(|queue| queue.entries.len()).sum::<usize>());
        for (index, queue) in self.queues.iter().enumerate() {
            let index = index as u16;
            let listed = [&self.new, &self.old].map(|l| l.iter().filter(|i| **i == index).count());
            let expected = match queue.turn {
                Turn::None => [0, 0],
                Turn::New => [1, 0],
                Turn::Old => [0, 1],
            };
            assert_eq!(listed, expected);
            assert!(queue.turn != Turn::None || queue.entries.is_empty());
        }
    }
}

proptest! {
    #[test]
    fn nothing_is_lost_or_made_and_each_flow_keeps_its_order(
        limit in limit(),
        queues in 1u16..9,
        capable: bool,
        steps in prop::collection::vec((step(), 0u64..30_000), 0..300),
    ) {
        let config = FqCodelConfig { limit, queues, ..FqCodelConfig::new(1500) };
        let mut q = FqCodel::<(u32, u32)>::new(config);
        let mut now = Instant::ZERO;
        let (mut pushed, mut left, mut dropped) = (0u32, 0usize, 0usize);
        let mut last_of_flow = BTreeMap::new();
        for (step, micros) in steps {
            now += Duration::from_micros(micros);
            let out = match step {
                Step::Push { flow, len } => {
                    q.push(now, (flow, pushed), len, flow, |_| dropped += 1);
                    pushed += 1;
                    None
                }
                Step::Pop => q.pop(now, |item| {
                    dropped += usize::from(!capable);
                    capable.then_some(item)
                }),
                Step::TakeAny => q.take_any(),
            };
            if let Some(((flow, number), _)) = out {
                left += 1;
                let last = last_of_flow.insert(flow, number);
                prop_assert!(last.is_none_or(|last| last < number));
            }
            q.check_invariants();
            prop_assert_eq!(pushed as usize, left + dropped + q.len());
            let within = match limit {
                Limit::Packets(n) => q.len() <= n as usize,
                Limit::Bytes(n) => q.bytes() <= n,
                Limit::Time(_) => false,
            };
            prop_assert!(within || q.len() == 1);
        }
    }
}
