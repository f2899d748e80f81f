//! Bonds on this machine: two namespaces, the program in each, and what a user does to them.

#[path = "../../../live/tests/bed/mod.rs"]
mod bed;
mod change;
mod churn;
mod input;
mod kill;
#[path = "../program/mod.rs"]
mod program;
mod proxy;
mod site;

use program::{folder, trunkline};
use site::{PLAN, Site, bonds_in};
use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::mpsc;

#[test]
fn a_bond_that_is_not_up_cannot_be_asked() {
    let folder = folder("live-nothing");
    for words in ["down nix", "reload nix", "show bond nix", "get nix", "enslave nix a"] {
        let ran = trunkline(&folder, &words.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.code, Some(5), "{words}: {ran}");
        assert!(ran.stderr.contains("bond nix is not up"), "{words}: {ran}");
    }
}

#[test]
fn a_bond_carries_both_versions_and_leaves_nothing() {
    let Some(site) = Site::new("carry") else {
        return;
    };
    site.up();
    site.ping("home", "10.99.0.2:7");
    site.ping("home", "[fd99::2]:7");
    site.expect("home", "up ./plan.toml --as home", 5, "bond tl0 is up already");
    site.ping("home", "10.99.0.2:7");
    site.bed.ip("server", "link set wan0 down");
    site.ping("home", "10.99.0.2:7");
    site.until("home", |bond| bond["slaves"][0]["carrier"] == false);
    site.bed.ip("server", "link set wan0 up");
    site.ping("home", "10.99.0.2:7");
    site.until("home", |bond| bond["slaves"][0]["carrier"] == true);
    for side in ["home", "server"] {
        site.expect(side, "down tl0", 0, "bond tl0 is down");
    }
    site.expect("home", "down tl0", 5, "bond tl0 is not up");
    site.expect_clean();
}

#[test]
fn a_kill_is_repaired_by_up_and_by_down() {
    let Some(site) = Site::new("kill") else {
        return;
    };
    site.up();
    for repair in ["up ./plan.toml --as home", "down tl0"] {
        let pid = site.shown("home")["pid"].to_string();
        assert!(Command::new("kill").args(["-9", &pid]).status().expect("kill").success());
        site.expect_deaf("home");
        let ran = site.run("home", repair);
        assert_eq!(ran.code, Some(0), "{repair}: {ran}");
    }
    site.expect("home", "up ./plan.toml --as home", 0, "bond tl0 is up");
    site.ping("home", "10.99.0.2:7");
    for side in ["home", "server"] {
        site.expect(side, "down tl0", 0, "bond tl0 is down");
    }
    site.expect_clean();
}

#[test]
fn a_running_bond_refuses_and_stays_as_it_was() {
    let Some(site) = Site::new("refuse") else {
        return;
    };
    site.up();
    for (words, text) in [
        ("enslave tl0 c", "the plan has no link c"),
        ("enslave tl0 tl0", "the bond itself"),
        ("enslave tl0 a", "a is a member already"),
        ("emancipate tl0 c", "the plan has no link c"),
        ("set tl0.a rate 1bit", "out of range"),
        ("set tl0.a rate 5", "has no unit"),
        ("set tl0 mtu 1400", "fixed while the bond is up"),
        ("set tl0 max_slaves 0", "out of range"),
        ("get tl0 colour", "there is no setting colour"),
        ("set tl0 mode fastest", "there is no mode fastest"),
        ("set tl0 mode earlest", "did you mean earliest?"),
        ("set tl0 probe 0s", "out of range"),
        ("set tl0 probe 5", "has no unit"),
        ("set tl0 probe 200ms", "shorter than down_after"),
        ("set tl0 down_after 2h", "out of range"),
    ] {
        site.expect("home", words, 7, text);
    }
    site.expect("home", "emancipate tl0 a", 0, "");
    site.expect("home", "emancipate tl0 a", 7, "a is not a member");
    site.ping("home", "10.99.0.2:7");
    site.expect("home", "enslave tl0 a 20mbit", 0, "");
    assert_eq!(site.run("home", "get tl0.a rate").stdout, "20mbit\n");
    site.write(&PLAN.replace("\"earliest\"", "\"latest\""));
    site.expect("home", "reload tl0", 3, "`mode` \"latest\" is unknown");
    site.write(&PLAN.replace("\"50mbit\"", "\"30mbit\""));
    site.expect("home", "reload tl0", 0, "");
    assert_eq!(site.run("home", "get tl0.a rate").stdout, "30mbit\n");
    assert_eq!(site.run("home", "get tl0 mode").stdout, "earliest\n");
    assert_eq!(site.run("home", "get tl0 probe").stdout, "50ms\n");
    malformed_requests(&site);
    site.ping("home", "10.99.0.2:7");
    for side in ["home", "server"] {
        site.expect(side, "down tl0", 0, "bond tl0 is down");
    }
    site.expect_clean();
}

#[test]
fn every_command_answers_with_one_document() {
    let Some(site) = Site::new("documents") else {
        return;
    };
    site.up();
    for (words, schema) in [
        ("emancipate tl0 a", "trunkline.done/1"),
        ("enslave tl0 a", "trunkline.done/1"),
        ("set tl0.a rate 20mbit", "trunkline.done/1"),
        ("get tl0.a", "trunkline.settings/1"),
        ("reload tl0", "trunkline.done/1"),
        ("show", "trunkline.show-bond/1"),
        ("show link", "trunkline.show-link/1"),
        ("show path", "trunkline.show-path/1"),
        ("up ./plan.toml --as home --dry-run", "trunkline.dry-run/1"),
        ("up ./plan.toml --as home", "trunkline.error/1"),
        ("down tl0", "trunkline.done/1"),
        ("down tl0", "trunkline.error/1"),
        ("show", "trunkline.show-bond/1"),
        ("up ./plan.toml --as home", "trunkline.done/1"),
        ("down tl0", "trunkline.done/1"),
    ] {
        let ran = site.run("home", &format!("{words} --json"));
        let document: serde_json::Value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{words}: {e}: {ran}"));
        assert_eq!(document["schema"], schema, "{words}: {ran}");
        assert_eq!(ran.stderr, "", "{words}: {ran}");
    }
    site.expect("home", "show", 0, "no bond is up");
    site.expect("server", "down tl0", 0, "bond tl0 is down");
    site.expect_clean();
}

/// What is no request gets an error, and the bond goes on.
fn malformed_requests(site: &Site) {
    for bond in bonds_in(&site.run_dir()) {
        let mut stream = UnixStream::connect(bond.join("control")).expect("it listens");
        let mut answers = BufReader::new(stream.try_clone().unwrap());
        for line in [&b"\n"[..], b"{}\n", b"\xff\n", b"{\"request\":\"fly\"}\n", b"[[[[[\n"] {
            stream.write_all(line).unwrap();
            let mut answer = String::new();
            answers.read_line(&mut answer).unwrap();
            assert!(answer.contains("not a request"), "{answer}");
        }
    }
}

#[test]
fn what_the_machine_lacks_is_told_and_nothing_is_left() {
    let Some(site) = Site::new("lack") else {
        return;
    };
    let up = "up ./plan.toml --as home";
    site.write(&PLAN.replace("wan1", "wan9"));
    site.expect("home", up, 5, "there is no device wan9");
    site.write(&PLAN.replace("10.99.0.1/30", "10.77.0.1/24"));
    site.expect("home", up, 5, "the address 10.77.0.1 is in use");
    site.write(PLAN);
    site.bed.ip("home", "tuntap add mode tun dev tl0");
    site.expect("home", up, 5, "there is a device tl0 already");
    site.bed.ip("home", "tuntap del mode tun dev tl0");
    let (sender, bound) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let holder = site.bed.on("server", move || {
        let socket = UdpSocket::bind("0.0.0.0:4500").unwrap();
        sender.send(()).unwrap();
        let _closed = released.recv();
        drop(socket);
    });
    bound.recv().unwrap();
    site.expect("server", "up ./plan.toml --as server", 5, "address already in use");
    drop(release);
    holder.join().unwrap();
    site.write(&PLAN.replace("cipher = \"none\"", ""));
    site.expect("home", up, 3, "`cipher` is missing");
    site.write(PLAN);
    site.expect("home", "up ./plan.toml --as office", 2, "no end office");
    let dry = site.run("home", "up ./plan.toml --as home --dry-run");
    assert!(dry.code == Some(0) && dry.stdout.contains("create TUN device tl0"), "{dry}");
    site.expect_clean();
}
