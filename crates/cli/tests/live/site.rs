//! Two namespaces with a plan, and the program run in each.

use crate::bed::Bed;
use crate::program::{Ran, folder};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

pub const SIDES: [&str; 2] = ["home", "server"];

pub const PLAN: &str = r#"
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
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_trunkline");

/// One test's namespaces, folder and plan.
pub struct Site {
    pub bed: Bed,
    folder: PathBuf,
}

impl Site {
    pub fn new(name: &str) -> Option<Site> {
        let site = Site { bed: Bed::new(name, 2)?, folder: folder(&format!("live-{name}")) };
        site.write(PLAN);
        Some(site)
    }

    pub fn write(&self, plan: &str) {
        std::fs::write(self.folder.join("plan.toml"), plan).expect("the plan is written");
    }

    pub fn command(&self, side: &str, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.bed.namespace(side), program]);
        command.current_dir(&self.folder).env("TRUNKLINE_RUN_DIR", self.run_dir());
        command
    }

    /// Not in the folder of the test: the path of a Unix socket has 108 bytes at most.
    pub fn run_dir(&self) -> PathBuf {
        std::env::temp_dir().join(self.bed.namespace("run"))
    }

    pub fn run(&self, side: &str, words: &str) -> Ran {
        let output = self.command(side, PROGRAM).args(words.split(' ')).output().expect("it runs");
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
        }
    }

    pub fn expect(&self, side: &str, words: &str, code: i32, text: &str) {
        let ran = self.run(side, words);
        assert_eq!(ran.code, Some(code), "{words}: {ran}");
        assert!(ran.stderr.contains(text), "{words}: {ran}");
    }

    pub fn up(&self) {
        for side in SIDES {
            self.expect(side, &format!("up ./plan.toml --as {side}"), 0, "bond tl0 is up");
        }
    }

    /// The running bond of one side, as JSON.
    pub fn shown(&self, side: &str) -> Value {
        let ran = self.run(side, "show bond tl0 --json");
        let value: Value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran}"));
        value["bonds"][0].clone()
    }

    /// Waits until a running bond shows something, for ten seconds at most.
    pub fn until(&self, side: &str, is_so: impl Fn(&Value) -> bool) {
        let so = (0..500).any(|_| {
            let is_now = is_so(&self.shown(side));
            if !is_now {
                wait(Duration::from_millis(20));
            }
            is_now
        });
        assert!(so, "it does not come: {}", self.shown(side));
    }

    /// Sends packets to and fro until ten in a row have come back.
    pub fn ping(&self, from: &str, to: &'static str) {
        assert!(self.answers(from, to), "ten packets in a row come back");
    }

    fn answers(&self, from: &str, to: &'static str) -> bool {
        let to: SocketAddr = to.parse().unwrap();
        let (sender, bound) = mpsc::channel();
        let done = Arc::new(AtomicBool::new(false));
        let is_done = Arc::clone(&done);
        let other = if from == "home" { "server" } else { "home" };
        let echo = self.bed.on(other, move || {
            let socket = UdpSocket::bind(to).expect("the address is there");
            socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            sender.send(()).unwrap();
            let mut buffer = [0; 2000];
            while !is_done.load(Ordering::Relaxed) {
                if let Ok((len, from)) = socket.recv_from(&mut buffer) {
                    let _lost = socket.send_to(&buffer[..len], from);
                }
            }
        });
        bound.recv().expect("the echo is up");
        let local = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let client = self.bed.on(from, move || {
            let socket = UdpSocket::bind(local).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
            let (mut buffer, mut row) = ([0; 2000], 0);
            for round in 0..60u8 {
                let sent = socket.send_to(&[round; 1400], to);
                let came = sent.and_then(|_| socket.recv(&mut buffer));
                row = if came.is_ok_and(|len| len == 1400) { row + 1 } else { 0 };
                if row == 10 {
                    return true;
                }
            }
            false
        });
        let answered = client.join().unwrap();
        done.store(true, Ordering::Relaxed);
        echo.join().unwrap();
        answered
    }

    /// Packets in both directions, as long as what is returned lives.
    pub fn traffic(&self) -> Traffic {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = [("home", "10.99.0.2:9"), ("server", "10.99.0.1:9")].map(|(side, to)| {
            let stop = Arc::clone(&stop);
            self.bed.on(side, move || {
                let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
                socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
                let mut buffer = [0; 64];
                while !stop.load(Ordering::Relaxed) {
                    for _ in 0..16 {
                        let _no_bond_now = socket.send_to(&[7; 1200], to);
                    }
                    let _nobody_answers = socket.recv(&mut buffer);
                }
            })
        });
        Traffic { stop, threads: threads.into() }
    }

    /// A TCP stream from home to server, which lasts until it is asked to finish.
    pub fn stream(&self) -> Stream {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, bound) = mpsc::channel();
        let receiver = self.bed.on("server", move || {
            let listener = TcpListener::bind("10.99.0.2:0").expect("the address is there");
            sender.send(listener.local_addr().unwrap()).unwrap();
            let (mut stream, _) = listener.accept().expect("somebody comes");
            let (mut buffer, mut total) = ([0; BLOCK], 0);
            while let Ok(len @ 1..) = stream.read(&mut buffer) {
                let expected = (total..).map(pattern);
                assert!(buffer[..len].iter().copied().eq(expected.take(len)), "as it was sent");
                total += len;
            }
            total
        });
        let to = bound.recv().expect("it listens");
        let is_stopped = Arc::clone(&stop);
        let sender = self.bed.on("home", move || {
            let mut stream = TcpStream::connect(to).expect("a connection");
            let mut total = 0;
            while !is_stopped.load(Ordering::Relaxed) {
                let block: Vec<u8> = (total..total + BLOCK).map(pattern).collect();
                stream.write_all(&block).expect("the connection lives");
                total += BLOCK;
            }
            total
        });
        Stream { stop, sender, receiver }
    }

    /// Starts the program and does not wait for it.
    pub fn spawn(&self, side: &str, words: &str) -> Spawned {
        let mut command = self.command(side, PROGRAM);
        command.args(words.split(' '));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Spawned(command.spawn().expect("it starts"))
    }

    /// The processes in one side's namespace; the test itself is elsewhere.
    pub fn processes(&self, side: &str) -> BTreeSet<String> {
        let namespace = self.bed.namespace(side);
        let pids = Command::new("ip").args(["netns", "pids", &namespace]).output().expect("ip");
        String::from_utf8_lossy(&pids.stdout).lines().map(str::to_owned).collect()
    }

    /// That a side has nothing of a bond: device, address, route, socket, process, folder.
    pub fn expect_clean_side(&self, side: &str) {
        assert!(!self.bed.ip(side, "link show").contains("tl0"));
        let addresses = self.bed.ip(side, "address show");
        assert!(!addresses.contains("10.99") && !addresses.contains("fd99"), "{addresses}");
        assert!(!self.bed.ip(side, "route show table all").contains("10.99"));
        assert!(!self.bed.ip(side, "-6 route show table all").contains("fd99"));
        for file in ["/proc/net/udp", "/proc/net/udp6"] {
            let sockets = self.command(side, "cat").arg(file).output().expect("cat");
            let sockets = String::from_utf8_lossy(&sockets.stdout).into_owned();
            assert_eq!(sockets.lines().count(), 1, "only the head: {sockets}");
        }
        let sockets = self.command(side, "cat").arg("/proc/net/unix").output().expect("cat");
        let sockets = String::from_utf8_lossy(&sockets.stdout).into_owned();
        let path = self.run_dir().display().to_string();
        assert!(!sockets.contains(&path), "{sockets}");
        let left = self.processes(side);
        assert!(left.is_empty(), "processes {left:?}");
    }

    pub fn expect_clean(&self) {
        for side in SIDES {
            self.expect_clean_side(side);
        }
        let left = bonds_in(&self.run_dir());
        assert!(left.is_empty(), "{left:?}");
    }
}

const BLOCK: usize = 16 << 10;

/// The byte at a place of a stream.
fn pattern(at: usize) -> u8 {
    (at ^ at >> 8 ^ at >> 16) as u8
}

/// A TCP connection that carries a pattern.
pub struct Stream {
    stop: Arc<AtomicBool>,
    sender: JoinHandle<usize>,
    receiver: JoinHandle<usize>,
}

impl Stream {
    /// Ends it orderly; the bytes that came through, which are those that were sent.
    pub fn finish(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        let sent = self.sender.join().expect("it was not broken off");
        let received = self.receiver.join().expect("it came as it was sent");
        assert_eq!(sent, received, "all of it came");
        sent
    }
}

/// Packets that flow until this is dropped.
pub struct Traffic {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _told = thread.join();
        }
    }
}

/// A program that was started, and is ended with the test.
pub struct Spawned(std::process::Child);

impl Spawned {
    /// Kills it, if it still runs.
    pub fn kill(&mut self) {
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }

    /// Waits for its end, for ten seconds at most.
    pub fn ends(&mut self) -> bool {
        (0..1000).any(|_| {
            let has_ended = self.0.try_wait().expect("it is ours").is_some();
            if !has_ended {
                wait(Duration::from_millis(10));
            }
            has_ended
        })
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Drop for Site {
    /// A test that failed leaves no process behind.
    fn drop(&mut self) {
        for side in SIDES {
            self.run(side, "down tl0 --quiet");
        }
        let _missing = std::fs::remove_dir_all(self.run_dir());
    }
}

/// Lets time pass.
pub fn wait(duration: Duration) {
    let (_never, nothing) = mpsc::channel::<()>();
    let _over = nothing.recv_timeout(duration);
}

/// The folders of the bonds that have one.
pub fn bonds_in(run_dir: &Path) -> Vec<PathBuf> {
    let folders = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten();
    folders(run_dir).flat_map(|entry| folders(&entry.path())).map(|e| e.path()).collect()
}
