//! Two ends of a bond in two namespaces, each a reactor on a thread of its own.
#![allow(unsafe_code)]

mod bed;

use bed::Bed;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration as Wait;
use trunkline_core::bond::{BondConfig, MemberConfig, Mode, Ways};
use trunkline_core::frame::LinkId;
use trunkline_core::link::Framing;
use trunkline_core::queue::Limit;
use trunkline_core::time::Duration;
use trunkline_core::units::BitRate;
use trunkline_live::Error;
use trunkline_live::apply::up;
use trunkline_live::control::{Request, ask};
use trunkline_live::reactor::Reactor;
use trunkline_live::setup::{BondSetup, LinkSetup, Remote, Role};
use trunkline_live::state::control_path;
use trunkline_plan::model::Address;

fn address(text: &str) -> Address {
    let (ip, prefix) = text.split_once('/').unwrap();
    Address { ip: ip.parse().unwrap(), prefix: prefix.parse().unwrap() }
}

fn link(index: u16, end: &str) -> LinkSetup {
    let rate = BitRate::from_bps(50_000_000);
    let is_home = end == "home";
    LinkSetup {
        name: format!("path{index}"),
        member: MemberConfig {
            link: LinkId(index),
            rate,
            weight: rate,
            direction: Ways::Both,
            delay: Duration::ZERO,
            queue: Limit::Packets(64),
            priority: 0,
            framing: Framing::PLAIN,
        },
        device: is_home.then(|| format!("wan{index}")),
        remote: Remote {
            ip: format!("10.77.{index}.{}", if is_home { 2 } else { 1 }).parse().unwrap(),
            port: is_home.then_some(4500),
        },
        role: Role::Member,
    }
}

fn setup(end: &str, paths: u16) -> BondSetup {
    let host = if end == "home" { 1 } else { 2 };
    BondSetup {
        name: "tl0".into(),
        end: end.into(),
        device: "tl0".into(),
        addresses: vec![
            address(&format!("10.99.0.{host}/30")),
            address(&format!("fd99::{host}/126")),
        ],
        routes: Vec::new(),
        listen: (end == "server").then(|| "0.0.0.0:4500".parse().unwrap()),
        bond: BondConfig::new(Mode::Earliest, 1456),
        links: (0..paths).map(|index| link(index, end)).collect(),
    }
}

/// Brings an end up in this thread's namespace and runs it until it is told to go down.
fn run(setup: BondSetup, ready: std::sync::mpsc::Sender<std::path::PathBuf>) {
    let again = setup.clone();
    let read = Box::new(move || Ok::<_, Error>(again.clone()));
    let path = control_path(&setup.name);
    let running = up(setup, "a test".into(), read).unwrap();
    let reactor = Reactor::new(vec![running]).unwrap();
    ready.send(path).unwrap();
    reactor.run().unwrap();
}

/// Both ends of a bond, running.
struct Ends {
    threads: Vec<JoinHandle<()>>,
    controls: [PathBuf; 2],
}

impl Ends {
    fn up(bed: &Bed) -> Ends {
        let (sender, ready) = std::sync::mpsc::channel();
        let threads = ["home", "server"]
            .map(|end| {
                let (setup, sender) = (setup(end, 2), sender.clone());
                bed.on(end, move || run(setup, sender))
            })
            .into();
        // An end that fails lets its sender go, and then there is nothing to wait for.
        drop(sender);
        Ends { threads, controls: [ready.recv().unwrap(), ready.recv().unwrap()] }
    }

    fn down(self) {
        for control in self.controls {
            let (shown, _) = ask(&control, &Request::Show {}).unwrap();
            assert_eq!(shown.result["mii_status"], "up", "{shown:?}");
            assert_eq!(shown.result["drops"].as_object().map(|drops| drops.len()), Some(0));
            let (done, mut rest) = ask(&control, &Request::Down {}).unwrap();
            assert_eq!(done.code, 0);
            std::io::copy(&mut rest, &mut std::io::sink()).unwrap();
            assert!(!control.exists());
        }
        self.threads.into_iter().for_each(|end| end.join().unwrap());
    }
}

#[test]
fn packets_cross_between_two_namespaces_and_nothing_stays() {
    let Some(bed) = Bed::new("cross", 2) else {
        return;
    };
    let ends = Ends::up(&bed);
    for (local, remote) in [("10.99.0.1:0", "10.99.0.2:7"), ("[fd99::1]:0", "[fd99::2]:7")] {
        let remote: SocketAddr = remote.parse().unwrap();
        let (bound, is_bound) = std::sync::mpsc::channel();
        let echo = bed.on("server", move || {
            let socket = UdpSocket::bind(remote).unwrap();
            bound.send(()).unwrap();
            socket.set_read_timeout(Some(Wait::from_secs(10))).unwrap();
            let mut buffer = [0; 2000];
            for _ in 0..100 {
                let (len, from) = socket.recv_from(&mut buffer).unwrap();
                socket.send_to(&buffer[..len], from).unwrap();
            }
        });
        is_bound.recv().unwrap();
        let client = bed.on("home", move || {
            let socket = UdpSocket::bind(local).unwrap();
            socket.set_read_timeout(Some(Wait::from_secs(10))).unwrap();
            let mut buffer = [0; 2000];
            for round in 0..100u8 {
                socket.send_to(&[round; 1000], remote).unwrap();
                let len = socket.recv(&mut buffer).unwrap();
                assert_eq!(buffer[..len], [round; 1000]);
            }
        });
        client.join().unwrap();
        echo.join().unwrap();
    }
    ends.down();
    for side in ["home", "server"] {
        assert!(!bed.ip(side, "link show").contains("tl0"));
        assert!(!bed.ip(side, "route show table all").contains("10.99"));
    }
}

/// Sends datagrams of a thousand bytes, the last of them shorter, in one call.
fn send_run(socket: &UdpSocket, to: SocketAddr, bytes: &[u8]) {
    let size: libc::c_int = 1000;
    let len = size_of_val(&size) as libc::socklen_t;
    let fd = socket.as_raw_fd();
    // SAFETY: the kernel reads an int from where it is.
    let set = unsafe {
        libc::setsockopt(fd, libc::SOL_UDP, libc::UDP_SEGMENT, (&raw const size).cast(), len)
    };
    assert_eq!(set, 0);
    assert_eq!(socket.send_to(bytes, to).unwrap(), bytes.len());
}

#[test]
fn what_programs_leave_to_the_device_arrives_as_it_was() {
    let Some(bed) = Bed::new("runs", 2) else {
        return;
    };
    let ends = Ends::up(&bed);
    let content: Vec<u8> = (0..3_000_000u32).map(|i| (i ^ i >> 8 ^ i >> 16) as u8).collect();
    for (local, remote) in [("10.99.0.1:0", "10.99.0.2:7"), ("[fd99::1]:0", "[fd99::2]:7")] {
        let remote: SocketAddr = remote.parse().unwrap();
        let (bound, is_bound) = std::sync::mpsc::channel();
        let server = bed.on("server", move || {
            let udp = UdpSocket::bind(remote).unwrap();
            udp.set_read_timeout(Some(Wait::from_secs(10))).unwrap();
            let tcp = TcpListener::bind(remote).unwrap();
            bound.send(()).unwrap();
            let mut datagrams = Vec::new();
            let mut buffer = [0; 2000];
            for _ in 0..31 {
                let len = udp.recv(&mut buffer).unwrap();
                datagrams.push(buffer[..len].to_vec());
            }
            let mut stream = Vec::new();
            tcp.accept().unwrap().0.read_to_end(&mut stream).unwrap();
            (datagrams, stream)
        });
        is_bound.recv().unwrap();
        let sent = content.clone();
        let client = bed.on("home", move || {
            send_run(&UdpSocket::bind(local).unwrap(), remote, &sent[..30_500]);
            TcpStream::connect(remote).unwrap().write_all(&sent).unwrap();
        });
        client.join().unwrap();
        let (mut datagrams, stream) = server.join().unwrap();
        let mut expected: Vec<&[u8]> = content[..30_500].chunks(1000).collect();
        // Two paths may change their order.
        datagrams.sort();
        expected.sort();
        assert!(datagrams == expected, "{} datagrams", datagrams.len());
        assert!(stream == content, "{} bytes", stream.len());
    }
    ends.down();
}
