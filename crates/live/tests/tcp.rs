//! Our TCP on a TUN against the kernel's, through a forwarding kernel and an emulated link, clean and with
//! loss: whoever opens, whoever sends, every byte arrives and both ends close in order.
//!
//! `TRUNKLINE_TCP_BYTES` sets how much each sender sends; `scripts/tcp-interop.sh` measures the same.
#![allow(unsafe_code)]

#[path = "../examples/tcp_tun/relay.rs"]
mod relay;
mod testbed;

use relay::{Opening, Report};
use std::fs;
use std::io::{self, Cursor, Read, Write};
use std::mem::size_of_val;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration as Wait;
use testbed::Testbed;
use trunkline_core::cc::Algorithm;
use trunkline_core::rng::Rng;
use trunkline_core::tcp::{self, Config, Profile};
use trunkline_core::time::Duration;
use trunkline_core::work::DropReason;
use trunkline_live::host::{Neighbourhood, TunHost};
use trunkline_plan::model::Address;

const BYTES: usize = 1 << 20;
const OURS: &str = "10.78.0.2:7000";
const KERNEL: &str = "10.77.1.2:7000";
const OURS_V6: &str = "[fd78::2]:7000";
const KERNEL_V6: &str = "[fd78::1]:7000";
/// A test that hangs ends.
const PATIENCE: Wait = Wait::from_secs(60);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Ours,
    Kernel,
}

#[derive(Clone, Copy, Debug)]
struct Transfer {
    opens: Side,
    /// What each side sends, by length.
    ours: usize,
    kernel: usize,
    seed: u64,
}

/// What one end has seen: all it received, and how it ended.
#[derive(Debug)]
struct Seen {
    received: Vec<u8>,
    report: Report,
    drops: u64,
}

fn bytes() -> usize {
    let told = std::env::var("TRUNKLINE_TCP_BYTES").ok();
    told.map_or(BYTES, |text| text.parse().expect("TRUNKLINE_TCP_BYTES is a number"))
}

/// Bytes that repeat nowhere, so that a piece in the wrong place shows.
fn pattern(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    (0..len.div_ceil(8)).flat_map(|_| rng.next_u64().to_ne_bytes()).take(len).collect()
}

fn network() -> Neighbourhood {
    Neighbourhood {
        device: "tcp0".into(),
        kernel: Address { ip: "10.78.0.1".parse().expect("an address"), prefix: 30 },
        address: "10.78.0.2".parse().expect("an address"),
        mtu: 1500,
    }
}

fn network_v6() -> Neighbourhood {
    Neighbourhood {
        kernel: Address { ip: "fd78::1".parse().expect("an address"), prefix: 64 },
        address: "fd78::2".parse().expect("an address"),
        ..network()
    }
}

fn our_end(
    transfer: Transfer,
    network: &Neighbourhood,
    kernel: &str,
    is_there: impl FnOnce(),
) -> Seen {
    let mut host = TunHost::create(network, Rng::new(transfer.seed)).expect("a TUN device");
    is_there();
    let config = Config {
        algorithm: Algorithm::Cubic,
        time_wait: Duration::from_secs(1),
        ..Config::new(Profile::Modern, 1500)
    };
    let opening = match transfer.opens {
        Side::Ours => Opening::Connect(kernel.parse().expect("an address")),
        Side::Kernel => Opening::Accept(7000),
    };
    let input = Cursor::new(pattern(transfer.seed, transfer.ours));
    let (report, received) =
        relay::run(&mut host, config, opening, input, Vec::new()).expect("a working device");
    host.host.check_invariants();
    Seen { received, report, drops: host.cx.work.dropped(DropReason::NoConnection) }
}

/// The congestion control may differ from machine to machine; a namespace cannot choose its default.
fn use_cubic(socket: &impl AsRawFd) {
    let name = b"cubic";
    let len = size_of_val(name) as libc::socklen_t;
    // SAFETY: the pointer and the length describe `name`, which the kernel only reads.
    let done = unsafe {
        let name = name.as_ptr().cast();
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, name, len)
    };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
}

fn kernel_listens(at: &str) -> TcpListener {
    let listener = TcpListener::bind(at).expect("a free port");
    use_cubic(&listener);
    listener
}

/// The kernel's end: sends its bytes and closes its side while it receives until the end.
fn exchange(stream: TcpStream, sent: Vec<u8>) -> Vec<u8> {
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
    let mut writing = stream.try_clone().expect("a descriptor");
    let sender = thread::spawn(move || {
        writing.write_all(&sent).expect("the peer takes all");
        writing.shutdown(Shutdown::Write).expect("our side closes");
    });
    let mut received = Vec::new();
    (&stream).read_to_end(&mut received).expect("the peer closes in order");
    sender.join().expect("all was sent");
    received
}

/// Connections of this thread's namespace that were reset (proc(5), net/snmp). A RST for a late duplicate
/// of one that is over already resets nothing.
fn resets() -> u64 {
    let table = fs::read_to_string("/proc/thread-self/net/snmp").expect("proc is there");
    let mut rows = table.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (rows.next().expect("names"), rows.next().expect("values"));
    let mut columns = names.split(' ').zip(values.split(' '));
    let found = columns.find(|(known, _)| *known == "EstabResets").expect("the counter");
    found.1.parse().expect("a number")
}

/// States of this thread's connections other than LISTEN and TIME-WAIT (tcp_states.h), as /proc names them.
fn unfinished() -> Vec<String> {
    let table = fs::read_to_string("/proc/thread-self/net/tcp").expect("proc is there");
    let states = table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(3));
    states.filter(|state| !["06", "0A"].contains(state)).map(str::to_owned).collect()
}

/// One connection; what our end saw and what the kernel received.
fn run(testbed: &Testbed, transfer: Transfer) -> (Seen, Vec<u8>) {
    let sent = pattern(!transfer.seed, transfer.kernel);
    match transfer.opens {
        Side::Ours => {
            let (listens, is_listening) = channel();
            let kernel = testbed.on("server", move || {
                let listener = kernel_listens(KERNEL);
                listens.send(()).expect("somebody waits");
                let (stream, _) = listener.accept().expect("a connection");
                exchange(stream, sent)
            });
            is_listening.recv().expect("a listener");
            let ours = testbed.on("home", move || our_end(transfer, &network(), KERNEL, || ()));
            (ours.join().expect("our end"), kernel.join().expect("the kernel's end"))
        }
        Side::Kernel => {
            let (there, is_there) = channel();
            let ours = testbed.on("home", move || {
                our_end(transfer, &network(), KERNEL, move || {
                    there.send(()).expect("somebody waits");
                })
            });
            is_there.recv().expect("a device");
            let kernel = testbed.on("server", move || {
                let stream = TcpStream::connect(OURS).expect("a connection");
                use_cubic(&stream);
                exchange(stream, sent)
            });
            (ours.join().expect("our end"), kernel.join().expect("the kernel's end"))
        }
    }
}

fn check(testbed: &Testbed, transfer: Transfer) {
    let before = testbed.on("server", resets).join().expect("counters");
    let (ours, kernel) = run(testbed, transfer);
    let stats = &ours.report.stats;
    eprintln!(
        "{transfer:?}: {} ms, {} resent by us, {} timeouts, {:?}",
        ours.report.took.as_millis(),
        stats.retransmissions,
        stats.timeouts,
        ours.report.cc
    );
    assert!(kernel == pattern(transfer.seed, transfer.ours), "{transfer:?}: what we sent");
    assert!(
        ours.received == pattern(!transfer.seed, transfer.kernel),
        "{transfer:?}: what it sent"
    );
    assert_eq!(ours.report.ended, tcp::Event::Closed, "{transfer:?}");
    assert_eq!(ours.drops, 0, "{transfer:?}: segments for no connection");
    let (after, left) = testbed.on("server", || (resets(), unfinished())).join().expect("counters");
    assert_eq!(after, before, "{transfer:?}: resets at the kernel");
    assert!(left.is_empty(), "{transfer:?}: the kernel's end is left in {left:?}");
}

/// The testbed, forwarding, with an emulator on its only path; or none with the reason told.
fn forwarding() -> Option<Testbed> {
    if let Some(reason) = testbed::missing() {
        eprintln!("skipped: {reason}");
        return None;
    }
    let mut testbed = Testbed::new(1);
    testbed.emulate(1, "--rate 100mbit --delay 5ms --queue 50ms");
    let forward = || fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("a forwarding kernel");
    testbed.on("home", forward).join().expect("forwarding");
    let route = || {
        let words = "route add 10.78.0.0/30 via 10.77.1.1".split(' ');
        Command::new("ip").args(words).status().expect("ip runs").success()
    };
    assert!(testbed.on("server", route).join().expect("a route"));
    Some(testbed)
}

#[test]
fn what_the_kernel_and_we_send_each_other_arrives_whole() {
    let Some(mut testbed) = forwarding() else { return };
    let bytes = bytes();
    for (loss, seed) in [("0%", 100), ("1%", 200)] {
        testbed.command(1, &format!("set --loss {loss}"));
        for opens in [Side::Ours, Side::Kernel] {
            for (ours, kernel) in [(bytes, 0), (0, bytes), (bytes, bytes)] {
                let seed = seed + (ours + 2 * kernel) as u64;
                check(&testbed, Transfer { opens, ours, kernel, seed });
            }
        }
    }
    // What the emulator lost by itself is one more loss to repair, but should be known.
    eprintln!("the emulator lost {} by itself", testbed.report(1)["own_drops"]);
}

#[test]
fn over_ipv6_it_arrives_too() {
    if let Some(reason) = testbed::missing() {
        eprintln!("skipped: {reason}");
        return;
    }
    let testbed = Testbed::new(1);
    for opens in [Side::Ours, Side::Kernel] {
        let transfer = Transfer { opens, ours: bytes(), kernel: bytes(), seed: 300 };
        let (there, is_there) = channel();
        let (listens, is_listening) = channel();
        let ours = testbed.on("home", move || {
            our_end(transfer, &network_v6(), KERNEL_V6, move || {
                there.send(()).expect("somebody waits");
                is_listening.recv().expect("a listener");
            })
        });
        is_there.recv().expect("a device");
        let sent = pattern(!transfer.seed, transfer.kernel);
        let kernel = testbed.on("home", move || {
            let listener = kernel_listens(KERNEL_V6);
            listens.send(()).expect("somebody waits");
            let stream = match opens {
                Side::Ours => listener.accept().expect("a connection").0,
                Side::Kernel => TcpStream::connect(OURS_V6).expect("a connection"),
            };
            exchange(stream, sent)
        });
        let (ours, received) = (ours.join().expect("our end"), kernel.join().expect("its end"));
        assert!(received == pattern(transfer.seed, transfer.ours), "{transfer:?}: what we sent");
        assert!(ours.received == pattern(!transfer.seed, transfer.kernel), "{transfer:?}");
        assert_eq!(ours.report.ended, tcp::Event::Closed, "{transfer:?}");
    }
}
