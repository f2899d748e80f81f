//! How exact the emulator is: rate, delay and loss of UDP packets that cross it, measured at the
//! receiver with the kernel's stamps. A measurement counts only while the emulator itself was on time, and a bad
//! one only if it always had something to send (its report says so); on a busy machine it is repeated.
#![allow(unsafe_code)]

mod testbed;

use serde_json::Value;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use testbed::Testbed;

/// Measurements disturb each other.
static ALONE: Mutex<()> = Mutex::new(());
const ATTEMPTS: usize = 5;
const RECEIVER: &str = "10.77.1.2:7000";
/// Seconds in which a transmitter with a rate may have had nothing to send, as at the start: a sender that is
/// late lets it wait, and in a run of 1.5 s more would be seen.
const IDLE_MAX: f64 = 0.012;
/// IPv4 and UDP headers.
const HEADER_BYTES: usize = 28;

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The testbed with an emulator on its only path, or none with the reason told.
fn one_path() -> Option<Testbed> {
    if let Some(reason) = testbed::missing() {
        eprintln!("skipped: {reason}");
        return None;
    }
    let mut testbed = Testbed::new(1);
    testbed.emulate(1, "");
    Some(testbed)
}

/// Measures until one measurement counts and is within its bounds. A machine so busy that none
/// counts says nothing about the emulator: that is told and left.
fn expect(testbed: &mut Testbed, options: &str, measure: impl Fn(&Testbed) -> Result<(), String>) {
    let mut failures = Vec::new();
    for _ in 0..ATTEMPTS {
        testbed.command(1, &format!("set {options}"));
        testbed.command(1, "reset");
        let measured = measure(testbed);
        let report = testbed.report(1);
        eprintln!(
            "{options}: {measured:?}, idle {}, lateness {}",
            report["up"]["idle"], report["lateness"]
        );
        match (measured, counts(&report)) {
            (Ok(()), true) => return,
            (Err(why), true) if was_fed(&report) => failures.push(why),
            _ => {}
        }
    }
    if failures.is_empty() {
        return eprintln!("skipped: the machine is too busy to measure on ({options})");
    }
    panic!("{options}: {failures:#?}");
}

fn counts(report: &Value) -> bool {
    let p99 = report["lateness"]["p99"].as_f64().expect("is a number");
    p99 < 1e-3 && report["own_drops"] == 0
}

/// Whether the emulator always had something to send: only then is what came too slowly its fault.
fn was_fed(report: &Value) -> bool {
    report["up"]["idle"].as_f64().expect("is a number") < IDLE_MAX
}

/// What arrived: the sender's number and the kernel's stamp of it, in nanoseconds of the day's clock.
struct Arrival {
    number: u64,
    stamp: i128,
}

fn time_of_day() -> i128 {
    let mut spec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `spec` is a valid place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut spec) };
    i128::from(spec.tv_sec) * 1_000_000_000 + i128::from(spec.tv_nsec)
}

fn set(socket: &UdpSocket, name: libc::c_int, value: libc::c_int) {
    let len = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the pointer and the length describe `value`, which the kernel only reads.
    let done = unsafe {
        let value = (&raw const value).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, name, value, len)
    };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
}

/// A socket stays in the namespace it was made in.
fn udp(testbed: &Testbed, end: &str, address: &'static str) -> UdpSocket {
    let made = testbed.on(end, move || UdpSocket::bind(address).expect("bind"));
    made.join().expect("the thread ends")
}

/// Receives until nothing has come for half a second.
fn receive_all(socket: &UdpSocket) -> Vec<Arrival> {
    socket.set_read_timeout(Some(Duration::from_millis(500))).expect("a timeout");
    let mut arrivals = Vec::new();
    let mut bytes = [0u8; 2048];
    let mut control = [0u64; 8];
    loop {
        let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        // SAFETY: an all-zero msghdr is valid; its parts are live and described by their lengths; the
        // kernel writes whole control messages, and the stamp is read only if its type is there.
        unsafe {
            let mut message = std::mem::zeroed::<libc::msghdr>();
            message.msg_iov = &mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&control) as _;
            if libc::recvmsg(socket.as_raw_fd(), &mut message, 0) < 8 {
                return arrivals;
            }
            let header = libc::CMSG_FIRSTHDR(&message).as_ref().expect("a stamp comes along");
            assert_eq!(header.cmsg_type, libc::SCM_TIMESTAMPNS);
            let spec = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
            let stamp = i128::from(spec.tv_sec) * 1_000_000_000 + i128::from(spec.tv_nsec);
            let number = u64::from_ne_bytes(*bytes.first_chunk().expect("is long enough"));
            arrivals.push(Arrival { number, stamp });
        }
    }
}

/// Sends packets of `len` payload bytes at `rate` bits per second of IP packets for `span`; returns when
/// each was sent. What arrived comes from a second thread.
fn send(testbed: &Testbed, len: usize, rate: f64, span: Duration) -> (Vec<i128>, Vec<Arrival>) {
    let receiver = udp(testbed, "server", RECEIVER);
    set(&receiver, libc::SO_RCVBUFFORCE, 16 << 20);
    set(&receiver, libc::SO_TIMESTAMPNS, 1);
    let sender = udp(testbed, "home", "10.77.1.1:0");
    // Waiting for an answer that never comes is how the sender paces itself.
    sender.set_read_timeout(Some(Duration::from_millis(1))).expect("a timeout");
    std::thread::scope(|scope| {
        let arrivals = scope.spawn(|| receive_all(&receiver));
        let per_second = rate / 8.0 / (len + HEADER_BYTES) as f64;
        let mut packet = vec![0u8; len];
        let mut sent = Vec::new();
        let start = Instant::now();
        while start.elapsed() < span {
            let owed = (start.elapsed().as_secs_f64() * per_second) as usize;
            while sent.len() <= owed {
                packet[..8].copy_from_slice(&(sent.len() as u64).to_ne_bytes());
                sent.push(time_of_day());
                sender.send_to(&packet, RECEIVER).expect("is sent");
            }
            let _ = sender.recv(&mut [0]);
        }
        (sent, arrivals.join().expect("the receiver ends"))
    })
}

#[test]
fn the_rate_is_exact_within_a_percent() {
    let _alone = alone();
    let Some(mut testbed) = one_path() else { return };
    for mbit in [10.0, 50.0, 200.0] {
        let rate = mbit * 1e6;
        let options = format!("--rate {mbit}mbit --delay 10ms --queue 20ms");
        expect(&mut testbed, &options, |testbed| {
            const LEN: usize = 1472;
            let (_, arrivals) = send(testbed, LEN, rate * 1.2, Duration::from_millis(1500));
            let steady = &arrivals[arrivals.len() / 10..];
            let bits = (steady.len() - 1) * (LEN + HEADER_BYTES) * 8;
            let span = steady[steady.len() - 1].stamp - steady[0].stamp;
            let measured = bits as f64 / (span as f64 / 1e9);
            let error = measured / rate - 1.0;
            let told = format!("{:.3} Mbit/s, {:+.3} %", measured / 1e6, error * 100.0);
            eprintln!("{told}");
            if error.abs() < 0.01 { Ok(()) } else { Err(told) }
        });
    }
}

#[test]
fn the_delay_is_exact_within_a_millisecond() {
    let _alone = alone();
    let Some(mut testbed) = one_path() else { return };
    for (options, delay_ms) in
        [("--rate none --delay 1ms", 1), ("--delay 10ms", 10), ("--delay 60ms", 60)]
    {
        expect(&mut testbed, options, |testbed| {
            let (sent, arrivals) = send(testbed, 100, 2e6, Duration::from_millis(1500));
            if arrivals.len() != sent.len() {
                return Err(format!("{} of {} arrived", arrivals.len(), sent.len()));
            }
            let late = |arrival: &Arrival| {
                arrival.stamp - sent[arrival.number as usize] - delay_ms * 1_000_000
            };
            let mut errors: Vec<i128> = arrivals.iter().map(late).collect();
            errors.sort_unstable();
            let (p50, p99) = (errors[errors.len() / 2], errors[errors.len() * 99 / 100]);
            let told = format!("{} packets, p50 {p50} ns, p99 {p99} ns too late", errors.len());
            eprintln!("{told}");
            if errors[0] >= 0 && p99 < 1_000_000 { Ok(()) } else { Err(told) }
        });
    }
}

#[test]
fn packets_are_lost_at_their_ratio() {
    let _alone = alone();
    let Some(mut testbed) = one_path() else { return };
    for (percent, ratio) in [(1.0, 0.01), (10.0, 0.1)] {
        expect(&mut testbed, &format!("--rate none --delay 1ms --loss {percent}%"), |testbed| {
            let (sent, arrivals) = send(testbed, 100, 10e6, Duration::from_millis(2000));
            let (sent, lost) = (sent.len() as f64, (sent.len() - arrivals.len()) as f64);
            let deviation = (sent * ratio * (1.0 - ratio)).sqrt();
            let told = format!("{lost} of {sent} lost, standard deviation {deviation:.1}");
            eprintln!("{told}");
            if (lost - sent * ratio).abs() < 4.0 * deviation { Ok(()) } else { Err(told) }
        });
    }
}

#[test]
fn a_cut_is_silent_and_ends() {
    let _alone = alone();
    let Some(mut testbed) = one_path() else { return };
    expect(&mut testbed, "--rate none --delay 1ms --loss 0%", |testbed| {
        let (sent, arrivals) = send(testbed, 100, 1e6, Duration::from_millis(200));
        if arrivals.len() == sent.len() { Ok(()) } else { Err("lost without a cut".into()) }
    });
    testbed.command(1, "cut");
    let (sent, arrivals) = send(&testbed, 100, 1e6, Duration::from_millis(200));
    assert!(!sent.is_empty() && arrivals.is_empty());
    testbed.command(1, "restore");
    let (_, arrivals) = send(&testbed, 100, 1e6, Duration::from_millis(200));
    assert!(!arrivals.is_empty());
}
