//! Two ends of a bond in two namespaces, each a reactor on a thread of its own.

mod bed;

use bed::Bed;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration as Wait;
use trunkline_core::bond::{BondConfig, MemberConfig, Mode};
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

#[test]
fn packets_cross_between_two_namespaces_and_nothing_stays() {
    let Some(bed) = Bed::new("cross", 2) else {
        return;
    };
    let (sender, ready) = std::sync::mpsc::channel();
    let ends: Vec<_> = ["home", "server"]
        .map(|end| {
            let (setup, sender) = (setup(end, 2), sender.clone());
            bed.on(end, move || run(setup, sender))
        })
        .into();
    // An end that fails lets its sender go, and then there is nothing to wait for.
    drop(sender);
    let controls = [ready.recv().unwrap(), ready.recv().unwrap()];
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
    for control in controls {
        let (shown, _) = ask(&control, &Request::Show {}).unwrap();
        assert_eq!(shown.result["mii_status"], "up", "{shown:?}");
        let (done, mut rest) = ask(&control, &Request::Down {}).unwrap();
        assert_eq!(done.code, 0);
        std::io::copy(&mut rest, &mut std::io::sink()).unwrap();
        assert!(!control.exists());
    }
    ends.into_iter().for_each(|end| end.join().unwrap());
    for side in ["home", "server"] {
        assert!(!bed.ip(side, "link show").contains("tl0"));
        assert!(!bed.ip(side, "route show table all").contains("10.99"));
    }
}
