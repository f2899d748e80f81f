//! What comes in that should not: no privilege, and datagrams that are cut, forged or foreign.

use crate::site::{PLAN, PROGRAM, SIDES, Site, bonds_in};
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc;
use std::time::Duration;
use trunkline_core::queue::Limit;
use trunkline_core::wire::trunk::{BUCKETS, BucketSeq, CONTROL_LEN, Kind, Record, Repr, Turn};
use trunkline_plan::Document;

#[test]
fn without_privilege_up_says_what_is_missing_and_how_to_get_it() {
    let Some(site) = Site::new("privilege") else {
        return;
    };
    for words in ["up ./plan.toml --as home", "up ./plan.toml --as home --foreground"] {
        let mut command = site.command("home", "setpriv");
        command.args(["--bounding-set", "-net_admin", "--inh-caps", "-net_admin", PROGRAM]);
        let Ok(output) = command.args(words.split(' ')).output() else {
            println!("not run: setpriv is missing (util-linux)");
            return;
        };
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{words}: {stderr}");
        for text in ["CAP_NET_ADMIN", "sudo trunkline up", "setcap cap_net_admin+ep"] {
            assert!(stderr.contains(text), "{text}: {stderr}");
        }
        site.expect_clean();
    }
}

#[test]
fn a_busy_device_is_told_and_nothing_is_left() {
    let Some(site) = Site::new("busy") else {
        return;
    };
    let up = "up ./plan.toml --as home";
    site.bed.ip("home", "link add tl0 type veth peer name other");
    site.expect("home", up, 5, "there is a device tl0 already");
    site.bed.ip("home", "link del tl0");
    site.expect_clean();
    site.bed.ip("server", "address add 10.99.0.2/30 dev lo");
    site.expect("server", "up ./plan.toml --as server", 5, "the address 10.99.0.2 is in use");
    site.bed.ip("server", "address del 10.99.0.2/30 dev lo");
    site.expect_clean();
    site.up();
    for side in SIDES {
        let words = format!("up ./plan.toml --as {side}");
        site.expect(side, &words, 5, "bond tl0 is up already, by process");
    }
    site.ping("home", "10.99.0.2:7");
    for side in SIDES {
        site.expect(side, "down tl0", 0, "bond tl0 is down");
    }
    site.expect_clean();
}

/// The number of home's bond, which follows from the plan.
fn index() -> u32 {
    let document = Document::parse("plan.toml", PLAN, &|_| Err("no files".into()));
    let plan = document.and_then(|d| d.experiment()).and_then(|e| e.plan(0, None));
    let config = plan.expect("a plan").bond_config(0, 0, 0, Limit::Packets(1));
    config.trunk.expect("a trunk").local_index
}

fn datagram(receiver: u32, path_seq: u32, kind: Kind, rest: &[u8]) -> Vec<u8> {
    let header = Repr { receiver, path_seq, kind, timestamp: 0 };
    [&header.emit(), rest].concat()
}

fn data(path_seq: u32, packet: &[u8]) -> Vec<u8> {
    let turn = Turn { bucket: 7, seq: BucketSeq::new(path_seq) };
    datagram(index(), path_seq, Kind::Data(turn), packet)
}

/// Datagrams by the reason for which they are dropped, from the far end of a link.
fn bad_datagrams() -> Vec<(&'static str, Vec<u8>)> {
    let record = Record { epoch: 9, ..Record::default() }.emit();
    let mut unknown = datagram(index(), 5, Kind::Probe, &record);
    unknown[8..12].copy_from_slice(&(u32::from(BUCKETS) << 20 | 77).to_be_bytes());
    let probe = datagram(index(), 6, Kind::Probe, &record);
    assert_eq!(probe.len(), CONTROL_LEN);
    vec![
        ("truncated", Vec::new()),
        ("truncated", vec![0; 3]),
        ("truncated", data(5, b"")[..15].to_vec()),
        ("truncated", probe[..CONTROL_LEN - 1].to_vec()),
        ("malformed", vec![0xff; 1400]),
        ("foreign", datagram(index() + 1, 5, Kind::Probe, &record)),
        ("malformed", unknown),
        // Neither IPv4 nor IPv6: the kernel does not take it for a packet.
        ("tun_refused", data(7, &[0x10; 40])),
        ("tun_refused", data(8, b"")),
    ]
}

#[test]
fn bad_datagrams_are_counted_by_reason_and_the_bond_goes_on() {
    let Some(site) = Site::new("datagrams") else {
        return;
    };
    site.expect("home", "up ./plan.toml --as home", 0, "bond tl0 is up");
    let (sender, addresses) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let server = site.bed.on("server", move || {
        let [peer, stranger] =
            ["10.77.0.2:4500", "10.77.0.2:4501"].map(|at| UdpSocket::bind(at).expect("it is free"));
        peer.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let (_, home): (usize, SocketAddr) = peer.recv_from(&mut [0; 2000]).expect("a probe");
        stranger.send_to(&data(1, &[0x45; 40]), home).expect("sent");
        for (_, datagram) in bad_datagrams() {
            peer.send_to(&datagram, home).expect("sent");
        }
        // Again, and from before.
        for _ in 0..2 {
            peer.send_to(&data(7, &[0x45; 40]), home).expect("sent");
        }
        sender.send(home).unwrap();
        let _closed = released.recv();
    });
    addresses.recv().expect("home was heard");
    let mut wanted = vec![("foreign", 1), ("duplicate", 2)];
    wanted.extend(bad_datagrams().iter().map(|(reason, _)| (*reason, 1)));
    let count = |reason| wanted.iter().filter(|(r, _)| *r == reason).map(|(_, n)| n).sum::<u64>();
    for reason in ["foreign", "duplicate", "truncated", "malformed", "tun_refused"] {
        site.until("home", |bond| bond["drops"][reason].as_u64() == Some(count(reason)));
    }
    drop(release);
    server.join().unwrap();
    site.expect("server", "up ./plan.toml --as server", 0, "bond tl0 is up");
    site.ping("home", "10.99.0.2:7");
    assert_eq!(bonds_in(&site.run_dir()).len(), 2);
    for side in SIDES {
        site.expect(side, "down tl0", 0, "bond tl0 is down");
    }
    site.expect_clean();
}
