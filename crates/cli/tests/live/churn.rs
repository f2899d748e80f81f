//! Random changes to a running bond under traffic, while its links flap: nothing leaks, and it works after.
//!
//! `TRUNKLINE_OPERATIONS` says how many changes, `TRUNKLINE_SEED` where the random ones begin.

use crate::kill::number;
use crate::site::{PLAN, SIDES, Site, bonds_in, wait};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;
use trunkline_core::rng::Rng;

/// Changes from one flap to the next.
const FLAP_EVERY: u64 = 150;
/// What a process may have grown by; a packet lost track of with each of 10,000 changes would be more.
const GROWTH_KB_MAX: u64 = 6 << 10;
/// An address of nobody: frames to it are lost and no device notices.
const NOBODY: &str = "02:00:00:00:00:99";

/// A connection to a running bond.
struct Client {
    stream: UnixStream,
    answers: BufReader<UnixStream>,
}

impl Client {
    fn new(site: &Site, side: &str) -> Client {
        let pid = site.shown(side)["pid"].clone();
        let is_of = |folder: &std::path::PathBuf| {
            let state = fs::read(folder.join("state.json")).expect("a state");
            serde_json::from_slice::<Value>(&state).expect("JSON")["pid"] == pid
        };
        let folder = bonds_in(&site.run_dir()).into_iter().find(is_of).expect("it is up");
        let stream = UnixStream::connect(folder.join("control")).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let answers = BufReader::new(stream.try_clone().unwrap());
        Client { stream, answers }
    }

    fn exchange(&mut self, request: &Value) -> Value {
        self.stream.write_all(format!("{request}\n").as_bytes()).expect("it reads");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("it answers");
        serde_json::from_str(&line).expect("JSON")
    }

    /// The running bond, without a connection of its own for it.
    fn shown(&mut self) -> Value {
        self.exchange(&json!({ "request": "show" }))["result"].clone()
    }

    /// The code and, of a refusal, the reason.
    fn ask(&mut self, request: &Value) -> (u64, String) {
        let answer = self.exchange(request);
        let reason = answer["error"].as_str().unwrap_or_default().to_owned();
        (answer["code"].as_u64().expect("a code"), reason)
    }
}

fn one<'a>(rng: &mut Rng, list: &[&'a str]) -> &'a str {
    list[rng.below(list.len() as u64) as usize]
}

const RATES: [&str; 7] = ["300bit", "10mbit", "20mbit", "50mbit", "200mbit", "1bit", "much"];

/// A change, often one that must be refused.
fn change(site: &Site, rng: &mut Rng) -> Value {
    let link = one(rng, &["a", "b", "a", "b", "c", "tl0"]);
    match rng.below(20) {
        0..8 => {
            let rate = (rng.below(2) == 0).then(|| one(rng, &RATES));
            json!({ "request": "enslave", "link": link, "rate": rate })
        }
        8..10 => json!({ "request": "emancipate", "link": link }),
        10..15 => {
            let key = one(rng, &["rate", "weight"]);
            json!({ "request": "set", "link": link, "key": key, "value": one(rng, &RATES) })
        }
        15 => {
            let value = one(rng, &["-3", "0", "7", "high"]);
            json!({ "request": "set", "link": link, "key": "priority", "value": value })
        }
        16 => {
            let key = one(rng, &["max_slaves", "mtu", "colour"]);
            json!({ "request": "set", "key": key, "value": one(rng, &["2", "8", "0", "-1"]) })
        }
        17 => json!({ "request": "show" }),
        _ => {
            site.write(&plan(rng));
            json!({ "request": "reload" })
        }
    }
}

/// The plan with other rates, members or addresses, or one that is wrong.
fn plan(rng: &mut Rng) -> String {
    let rate = one(rng, &["\"50mbit\"", "\"30mbit\"", "\"80mbit\""]);
    let members = one(rng, &["[\"a\", \"b\"]", "[\"b\", \"a\"]", "[\"a\"]", "[\"b\"]"]);
    let second = one(rng, &["fd99::1/126", "10.99.1.1/30"]);
    let mode =
        one(rng, &["\"earliest\"", "\"earliest\"", "\"earliest\"", "\"latest\"", "\"balance-rr\""]);
    PLAN.replace("\"50mbit\"", rate)
        .replace("[\"a\", \"b\"]", members)
        .replace("fd99::1/126", second)
        .replace("\"earliest\"", mode)
}

/// How a link fails.
#[derive(Clone, Copy)]
enum Failure {
    /// A device is down.
    Down,
    /// What one end sends is lost, and no device notices.
    Cut,
}

/// What is broken now, by end and path, the longest first.
#[derive(Default)]
struct Flaps(VecDeque<(&'static str, u64, Failure)>);

impl Flaps {
    /// Breaks something, or mends what has been broken longest; most of the time a link works.
    fn flap(&mut self, site: &Site, rng: &mut Rng) {
        if self.0.len() as u64 > rng.below(2) {
            return self.mend_one(site);
        }
        let (side, path) = (SIDES[rng.below(2) as usize], rng.below(2));
        let failure = if rng.below(2) == 0 { Failure::Down } else { Failure::Cut };
        match failure {
            Failure::Down => device_state(site, side, path, "down"),
            Failure::Cut => cut(site, side, path),
        }
        self.0.push_back((side, path, failure));
    }

    fn mend_one(&mut self, site: &Site) {
        match self.0.pop_front() {
            Some((side, path, Failure::Down)) => device_state(site, side, path, "up"),
            Some((side, path, Failure::Cut)) => restore(site, side, path),
            None => {}
        }
    }

    fn mend(&mut self, site: &Site) {
        while !self.0.is_empty() {
            self.mend_one(site);
        }
    }
}

fn device_state(site: &Site, side: &str, path: u64, state: &str) {
    site.bed.ip(side, &format!("link set wan{path} {state}"));
}

fn peer(side: &str, path: u64) -> String {
    format!("10.77.{path}.{}", if side == "home" { 2 } else { 1 })
}

/// Loses everything a side sends over a path.
fn cut(site: &Site, side: &str, path: u64) {
    let entry = format!("{} lladdr {NOBODY} dev wan{path} nud permanent", peer(side, path));
    neighbour(site, side, &format!("replace {entry}"));
}

fn restore(site: &Site, side: &str, path: u64) {
    neighbour(site, side, &format!("del {} dev wan{path}", peer(side, path)));
}

/// A device that is down has no neighbours: then there is nothing to cut or to restore.
fn neighbour(site: &Site, side: &str, words: &str) {
    let mut command = Command::new("ip");
    command.args(["-n", &site.bed.namespace(side), "neigh"]).args(words.split(' '));
    let _down = command.output().expect("ip");
}

/// What a leak would make grow.
#[derive(PartialEq, Eq, Debug)]
struct Held {
    descriptors: usize,
    udp_sockets: usize,
    frames: u64,
}

/// What a bond holds, and the memory its process has in kB.
fn held(shown: &Value) -> (Held, u64) {
    let process = std::path::PathBuf::from(format!("/proc/{}", shown["pid"]));
    let status = fs::read_to_string(process.join("status")).expect("it runs");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    let resident = resident.trim().trim_end_matches(" kB").parse().expect("a number");
    let sockets = fs::read_to_string(process.join("net/udp")).expect("it runs");
    let held = Held {
        descriptors: fs::read_dir(process.join("fd")).expect("it runs").count(),
        udp_sockets: sockets.lines().count() - 1,
        frames: shown["frames"].as_u64().expect("a number"),
    };
    (held, resident)
}

/// Both members are in, as the plan says, and nothing is on its way.
fn at_rest(site: &Site, clients: &mut [Client; 2]) -> [(Held, u64); 2] {
    site.write(PLAN);
    for client in &mut *clients {
        assert_eq!(client.ask(&json!({ "request": "reload" })), (0, String::new()));
    }
    clients.each_mut().map(|client| {
        for _ in 0..500 {
            if client.shown()["frames"] == 0 {
                break;
            }
            wait(Duration::from_millis(20));
        }
        held(&client.shown())
    })
}

#[test]
fn random_operations_under_traffic_leak_nothing_and_lose_no_bond() {
    let Some(site) = Site::new("churn") else {
        return;
    };
    let operations = number("TRUNKLINE_OPERATIONS", 600);
    let mut rng = Rng::new(number("TRUNKLINE_SEED", 1)).fork("churn");
    site.up();
    let pids = SIDES.map(|side| site.shown(side)["pid"].clone());
    let mut clients = SIDES.map(|side| Client::new(&site, side));
    let mut flaps = Flaps::default();
    let mut answers: BTreeMap<(String, u64), u64> = BTreeMap::new();
    let mut early = None;
    for phase in [operations / 5, operations - operations / 5] {
        let (traffic, stream) = (site.traffic(), site.stream());
        for operation in 0..phase {
            if operation % FLAP_EVERY == 0 {
                flaps.flap(&site, &mut rng);
            }
            let request = change(&site, &mut rng);
            let (code, reason) = clients[rng.below(2) as usize].ask(&request);
            let verb = request["request"].as_str().expect("a verb").to_owned();
            let is_expected = match code {
                0 => reason.is_empty(),
                7 => !reason.is_empty(),
                3 => verb == "reload" && reason.contains("latest"),
                _ => false,
            };
            assert!(is_expected, "{request}: {code} {reason}");
            *answers.entry((verb, code)).or_default() += 1;
        }
        flaps.mend(&site);
        drop(traffic);
        site.write(PLAN);
        clients.iter_mut().for_each(|client| _ = client.ask(&json!({ "request": "reload" })));
        let bytes = stream.finish();
        println!("operations: a TCP stream carried {bytes} bytes, all as sent");
        early.get_or_insert_with(|| at_rest(&site, &mut clients));
    }
    let late = at_rest(&site, &mut clients);
    tell(&answers, &mut clients);
    for ((side, before), after) in SIDES.iter().zip(early.iter().flatten()).zip(&late) {
        println!("{side}: before, {:?}, {} kB", before.0, before.1);
        println!("{side}: after,  {:?}, {} kB", after.0, after.1);
        assert_eq!(after.0.frames, 0);
        assert_eq!(before.0, after.0, "{side} holds what it held before");
        assert!(after.1 <= before.1 + GROWTH_KB_MAX, "{side} grew");
    }
    assert_eq!(pids, SIDES.map(|side| site.shown(side)["pid"].clone()), "the same bonds");
    each_member_carries(&site, &mut clients);
    drop(clients);
    for side in SIDES {
        site.expect(side, "down tl0", 0, "bond tl0 is down");
    }
    site.expect_clean();
}

/// What was asked, and what the bonds did meanwhile.
fn tell(answers: &BTreeMap<(String, u64), u64>, clients: &mut [Client; 2]) {
    for ((verb, code), count) in answers {
        println!("operations: {count:5} {verb}, answered with {code}");
    }
    for client in clients {
        let shown = client.shown();
        let [taken, delivered] = ["tun_rx_packets", "tun_tx_packets"].map(|key| &shown[key]);
        let (end, drops) = (shown["end"].as_str().expect("a name"), &shown["drops"]);
        println!("{end}: during operations {taken} packets taken, {delivered} delivered, {drops}");
    }
}

fn each_member_carries(site: &Site, clients: &mut [Client; 2]) {
    for (gone, left) in [("a", "b"), ("b", "a")] {
        for client in &mut *clients {
            let request = json!({ "request": "emancipate", "link": gone });
            assert_eq!(client.ask(&request).0, 0);
        }
        site.ping("home", "10.99.0.2:7");
        assert_eq!(site.shown("home")["slaves"][0]["slave_interface"], left);
        for client in &mut *clients {
            let request = json!({ "request": "enslave", "link": gone });
            assert_eq!(client.ask(&request).0, 0);
        }
    }
    site.ping("home", "10.99.0.2:7");
}
