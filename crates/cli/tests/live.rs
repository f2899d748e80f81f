//! Bonds on this machine: two namespaces, the program in each, and what a user does to them.

#[path = "../../live/tests/bed/mod.rs"]
mod bed;
mod program;

use bed::Bed;
use program::{Ran, folder, trunkline};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

const PLAN: &str = r#"
name = "two-paths"
[[link]]
name = "a"
kind = "udp"
trunk = true
rate = "50mbit"
at.home = { device = "wan0", remote = "10.77.0.2:4500" }
at.server = { remote = "10.77.0.1" }
[[link]]
name = "b"
kind = "udp"
trunk = true
rate = "10mbit"
at.home = { device = "wan1", remote = "10.77.1.2:4500" }
at.server = { remote = "10.77.1.1" }
[bond.tl0]
ends = ["home", "server"]
members = ["a", "b"]
mode = "earliest"
cipher = "none"
[end.home]
device = "tl0"
address = ["10.99.0.1/30", "fd99::1/126"]
[end.server]
device = "tl0"
address = ["10.99.0.2/30", "fd99::2/126"]
listen = "0.0.0.0:4500"
"#;
const PROGRAM: &str = env!("CARGO_BIN_EXE_trunkline");

/// One test's namespaces, folder and plan.
struct Site {
    bed: Bed,
    folder: std::path::PathBuf,
}

impl Site {
    fn new(name: &str) -> Option<Site> {
        let site = Site { bed: Bed::new(name, 2)?, folder: folder(&format!("live-{name}")) };
        site.write(PLAN);
        Some(site)
    }

    fn write(&self, plan: &str) {
        std::fs::write(self.folder.join("plan.toml"), plan).expect("the plan is written");
    }

    fn command(&self, side: &str, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.bed.namespace(side), program]);
        command.current_dir(&self.folder).env("TRUNKLINE_RUN_DIR", self.run_dir());
        command
    }

    /// Not in the folder of the test: the path of a Unix socket has 108 bytes at most.
    fn run_dir(&self) -> std::path::PathBuf {
        std::env::temp_dir().join(self.bed.namespace("run"))
    }

    fn run(&self, side: &str, words: &str) -> Ran {
        let output = self.command(side, PROGRAM).args(words.split(' ')).output().expect("it runs");
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
        }
    }

    fn expect(&self, side: &str, words: &str, code: i32, text: &str) {
        let ran = self.run(side, words);
        assert_eq!(ran.code, Some(code), "{words}: {ran}");
        assert!(ran.stderr.contains(text), "{words}: {ran}");
    }

    fn up(&self) {
        for side in ["home", "server"] {
            self.expect(side, &format!("up ./plan.toml --as {side}"), 0, "bond tl0 is up");
        }
    }

    /// The running bond of one side, as JSON.
    fn shown(&self, side: &str) -> Value {
        let ran = self.run(side, "show bond tl0 --json");
        let value: Value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran}"));
        value["bonds"][0].clone()
    }

    /// Sends packets to and fro until ten in a row have come back.
    fn ping(&self, from: &str, to: &'static str) {
        let to: SocketAddr = to.parse().unwrap();
        let (sender, bound) = mpsc::channel();
        let limit = Some(Duration::from_millis(500));
        let echo = self.bed.on("server", move || {
            let socket = UdpSocket::bind(to).expect("the address is there");
            socket.set_read_timeout(limit).unwrap();
            sender.send(()).unwrap();
            let (mut buffer, mut silent) = ([0; 2000], 0);
            while silent < 4 {
                match socket.recv_from(&mut buffer) {
                    Ok((len, from)) => {
                        silent = 0;
                        let _lost = socket.send_to(&buffer[..len], from);
                    }
                    Err(_) => silent += 1,
                }
            }
        });
        bound.recv().expect("the echo is up");
        let local = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let client = self.bed.on(from, move || {
            let socket = UdpSocket::bind(local).unwrap();
            socket.set_read_timeout(limit).unwrap();
            let (mut buffer, mut row) = ([0; 2000], 0);
            for round in 0..40u8 {
                let sent = socket.send_to(&[round; 1400], to);
                let came = sent.and_then(|_| socket.recv(&mut buffer));
                row = if came.is_ok_and(|len| len == 1400) { row + 1 } else { 0 };
                if row == 10 {
                    return true;
                }
            }
            false
        });
        assert!(client.join().unwrap(), "ten packets in a row come back");
        echo.join().unwrap();
    }

    fn expect_clean(&self) {
        for side in ["home", "server"] {
            assert!(!self.bed.ip(side, "link show").contains("tl0"));
            assert!(!self.bed.ip(side, "route show table all").contains("10.99"));
            let sockets = self.command(side, "cat").arg("/proc/net/udp").output().expect("cat");
            assert_eq!(
                String::from_utf8_lossy(&sockets.stdout).lines().count(),
                1,
                "only the head"
            );
        }
        let left = bonds_in(&self.run_dir());
        assert!(left.is_empty(), "{left:?}");
    }
}

impl Drop for Site {
    /// A test that failed leaves no process behind.
    fn drop(&mut self) {
        for side in ["home", "server"] {
            self.run(side, "down tl0 --quiet");
        }
        let _missing = std::fs::remove_dir_all(self.run_dir());
    }
}

fn bonds_in(run_dir: &Path) -> Vec<std::path::PathBuf> {
    let folders = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten();
    folders(run_dir).flat_map(|entry| folders(&entry.path())).map(|e| e.path()).collect()
}

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
    assert_eq!(site.shown("home")["slaves"][0]["carrier"], false);
    site.bed.ip("server", "link set wan0 up");
    site.ping("home", "10.99.0.2:7");
    assert_eq!(site.shown("home")["slaves"][0]["carrier"], true);
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
fn modes_monitors_and_routes_change_while_packets_flow() {
    let Some(site) = Site::new("change") else {
        return;
    };
    let routed = PLAN.replacen(
        "device = \"tl0\"\n",
        "device = \"tl0\"\nroutes = [\"10.98.0.0/16\", \"fd98::/64\"]\n",
        1,
    );
    site.write(&routed);
    let dry = site.run("home", "up ./plan.toml --as home --dry-run");
    assert!(dry.stdout.contains("route 10.98.0.0/16 over tl0"), "{dry}");
    site.up();
    let routes = |version: &str| site.bed.ip("home", &format!("{version} route show dev tl0"));
    assert!(routes("-4").contains("10.98.0.0/16") && routes("-6").contains("fd98::/64"));
    for mode in ["balance-rr", "eql", "active-backup", "earliest"] {
        site.expect("home", &format!("set tl0 mode {mode}"), 0, mode);
        assert_eq!(site.shown("home")["bonding_mode"], mode);
        site.ping("home", "10.99.0.2:7");
        assert_eq!(site.shown("home")["slaves"].as_array().map(Vec::len), Some(2));
    }
    site.expect("home", "set tl0 down_after 300ms", 0, "");
    site.expect("home", "set tl0 probe 250ms", 0, "");
    site.expect("home", "set tl0 up_after 0s", 0, "");
    let settings = site.run("home", "get tl0").stdout;
    for line in ["mode = earliest", "probe = 250ms", "down_after = 300ms", "up_after = 0s"] {
        assert!(settings.lines().any(|found| found == line), "no {line} in {settings}");
    }
    let other = "mode = \"active-backup\"\nmonitor = { probe = \"40ms\", down_after = \"400ms\" }";
    site.write(
        &routed.replace("mode = \"earliest\"", other).replace("10.98.0.0/16", "10.97.0.0/16"),
    );
    site.expect("home", "reload tl0", 0, "");
    assert!(routes("-4").contains("10.97.0.0/16") && !routes("-4").contains("10.98"));
    let settings = site.run("home", "get tl0").stdout;
    assert!(settings.contains("mode = active-backup") && settings.contains("down_after = 400ms"));
    // A route the kernel has already: nothing of the plan is followed.
    site.bed.ip("home", "route add 10.96.0.0/16 dev wan0");
    let taken = "routes = [\"10.95.0.0/16\", \"10.96.0.0/16\"]";
    site.write(&routed.replace("routes = [\"10.98.0.0/16\", \"fd98::/64\"]", taken));
    site.expect("home", "reload tl0", 5, "route to 10.96.0.0/16 on tl0");
    assert!(routes("-4").contains("10.97.0.0/16") && !routes("-4").contains("10.95"));
    site.ping("home", "10.99.0.2:7");
    shown_paths(&site);
    site.bed.ip("home", "route del 10.96.0.0/16 dev wan0");
    for side in ["home", "server"] {
        site.expect(side, "down tl0", 0, "bond tl0 is down");
    }
    assert!(!site.bed.ip("home", "route show table all").contains("10.97"));
    site.expect_clean();
}

/// What is measured is shown.
fn shown_paths(site: &Site) {
    let bond = site.shown("home");
    assert_eq!(bond["ingress_packets"], 0);
    assert_eq!(bond["routes"][0], "10.97.0.0/16");
    assert_eq!(bond["resequencer"]["waiting"], 0);
    let ran = site.run("home", "show path tl0 --json");
    let document: Value = serde_json::from_str(&ran.stdout).expect("one document");
    assert_eq!(document["schema"], "trunkline.show-path/1");
    for (path, link) in document["paths"].as_array().expect("paths").iter().zip(["a", "b"]) {
        assert_eq!((&path["link"], &path["standing"]), (&link.into(), &"good".into()), "{path}");
        assert!(path["srtt"].as_f64().is_some_and(|srtt| srtt > 0.0 && srtt < 1.0), "{path}");
        assert!(path["rx_datagrams"].as_u64() > Some(0) && path["loss"].is_f64(), "{path}");
        assert_eq!((&path["deaths"], &path["rx_late"]), (&0.into(), &0.into()), "{path}");
    }
    let table = site.run("home", "show path tl0.b -s").stdout;
    let lines: Vec<&str> = table.lines().collect();
    assert!(
        lines.len() == 2 && lines[0].contains("rx late") && lines[1].contains("good"),
        "{table}"
    );
    let text = site.run("home", "show bond tl0 -s").stdout;
    for label in ["Routes: 10.97.0.0/16", "Waiting: 0 packets, 0 bytes", "Path: good, round trip"] {
        assert!(text.contains(label), "no {label} in {text}");
    }
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
