//! The cost table of the machine it runs on, in the form that `cpu` of a plan's host takes: what can be timed
//! without a card is, the rest is told as assumed. Run it pinned to one processor (`taskset -c 0`), so that a
//! process that is woken takes the other's place.

use crate::{tcp, wire};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// Bytes of [`wire`]'s units.
const PAYLOAD: f64 = 1448.0;
/// Repetitions of a measurement, of which the quickest counts: nothing makes a processor faster.
const TIMES: usize = 7;
/// What one data segment is for both ends: sent, received, and half an acknowledgment sent and received.
const SEGMENTS_PER_UNIT: f64 = 3.0;

/// Prints the table.
pub fn run() {
    let per_kib = |nanos: f64| nanos * 1024.0 / PAYLOAD;
    let times = Times {
        copy: per_kib(quickest(200_000, wire::memcpy)),
        checksum: per_kib(quickest(200_000, wire::checksum)),
        both: per_kib(quickest(200_000, wire::copy_checksum)),
        predicted: quickest(100_000, |units| tcp::elided(units, tcp::Prediction::On)),
        unpredicted: quickest(100_000, |units| tcp::elided(units, tcp::Prediction::Off)),
        handover: quickest(20_000, hand_over),
    };
    print!("{}", times.table());
}

/// Nanoseconds.
struct Times {
    /// Per KiB in the cache.
    copy: f64,
    checksum: f64,
    both: f64,
    /// Both ends of a data segment without its bytes.
    predicted: f64,
    unpredicted: f64,
    /// One thread wakes another and waits for it.
    handover: f64,
}

impl Times {
    fn table(&self) -> String {
        let segment = self.predicted / SEGMENTS_PER_UNIT;
        // Half of the work is received: that alone is not predicted.
        let slow =
            segment + (self.unpredicted - self.predicted).max(0.0) / (SEGMENTS_PER_UNIT / 2.0);
        let half = self.handover / 2.0;
        let bytes = |nanos: &f64| format!("{nanos:.1}ns/KiB");
        let time = |nanos: f64| format!("{nanos:.0}ns");
        let rows = [
            ("base", "modern".to_owned(), "what is not below is assumed"),
            ("copy", bytes(&self.copy), "1448 bytes in the cache"),
            ("checksum", bytes(&self.checksum), "the same"),
            ("copy_and_checksum", bytes(&self.both), "the same"),
            ("segment", time(segment), "a third of sending, taking and half acknowledging one"),
            ("slow_ack", time(slow), "what header prediction saves, on what is received"),
            ("slow_data", time(slow), "the same"),
            ("wakeup", time(half), "half of a thread's waking another and waiting for it"),
            ("switch", time(half), "the other half"),
        ];
        let line = |(key, value, from): &(&str, String, &str)| {
            let entry = format!("{key} = \"{value}\"");
            format!("{entry:<34}# {from}\n")
        };
        rows.iter().map(line).collect()
    }
}

/// Nanoseconds of a unit in the quickest of some runs of so many.
fn quickest(units: usize, run: impl Fn(usize)) -> f64 {
    let once = || {
        let start = Instant::now();
        run(units);
        start.elapsed().as_nanos() as f64 / units as f64
    };
    (0..TIMES).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// Two threads that wake each other in turns, so often in all.
fn hand_over(times: usize) {
    let turn = Arc::new(AtomicUsize::new(0));
    let first = thread::current();
    let theirs = Arc::clone(&turn);
    let other = thread::spawn(move || take_turns(&theirs, 1, times, &first));
    take_turns(&turn, 0, times, other.thread());
    other.join().expect("the other thread ends");
}

fn take_turns(turn: &AtomicUsize, parity: usize, times: usize, other: &thread::Thread) {
    loop {
        let now = turn.load(Ordering::Acquire);
        if now >= times {
            return other.unpark();
        }
        if now % 2 == parity {
            turn.store(now + 1, Ordering::Release);
            other.unpark();
        } else {
            thread::park();
        }
    }
}
