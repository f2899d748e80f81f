//! `trunkline proxy` between a client and a server of the kernel, in two namespaces.

use crate::bed::Bed;
use crate::program::Ran;
use crate::site::PROGRAM;
use serde_json::Value;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use trunkline_core::rng::Rng;
use trunkline_live::sys::tcp::reset;

const MEGABYTE: usize = 1_000_000;
/// Where the proxy listens, beside its clients.
const LISTEN: &str = "127.0.0.1:0";
/// The server, on the other machine and on the proxy's.
const FAR: &str = "10.77.0.2:7000";
const FAR_V6: &str = "[fd77:0::2]:7000";
const NEAR: &str = "127.0.0.1:7000";
/// A test that hangs ends.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two namespaces, the first of which forwards for a proxy.
fn bed(name: &str) -> Option<Bed> {
    let bed = Bed::new(name, 1)?;
    let forward = || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("it forwards");
    bed.on("home", forward).join().expect("forwarding");
    bed.ip("server", "route add 10.78.0.0/30 via 10.77.0.1");
    let forward =
        || std::fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1").expect("it does");
    bed.on("home", forward).join().expect("forwarding");
    bed.ip("server", "route add fd78::/126 via fd77:0::1");
    Some(bed)
}

fn command(bed: &Bed, words: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &bed.namespace("home"), PROGRAM, "proxy"]);
    command.args(words.split(' '));
    command
}

/// A proxy at work.
struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
    listen: SocketAddr,
    ready: Value,
}

impl Running {
    fn start(bed: &Bed, words: &str) -> Running {
        let mut command = command(bed, &format!("--listen {LISTEN} --json {words}"));
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("is piped"));
        let any = "0.0.0.0:0".parse().expect("an address");
        let mut running = Running { child, lines, listen: any, ready: Value::Null };
        running.ready = running.line().expect("it is ready");
        assert_eq!(running.ready["event"], "ready", "{}", running.ready);
        let listen = running.ready["listen"].as_str().map(str::parse);
        running.listen = listen.expect("an address").expect("an address");
        running
    }

    /// The next document, none at the end.
    fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("it can be read");
        (!line.is_empty()).then(|| serde_json::from_str(&line).expect("a document"))
    }

    /// How the next connection ended.
    fn ended(&mut self) -> String {
        let line = self.line().expect("a connection ends");
        assert_eq!(line["event"], "connection", "{line}");
        line["ended"].as_str().expect("a word").to_owned()
    }

    /// Ends it with a signal; what it says last.
    fn end(mut self, bed: &Bed, signal: &str) -> Value {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("kill").success());
        let lines: Vec<Value> = std::iter::from_fn(|| self.line()).collect();
        assert!(self.child.wait().expect("it is ours").success(), "{lines:?}");
        let links = bed.ip("home", "link show");
        assert!(!links.contains("tlproxy"), "{links}");
        let summary = lines.last().cloned().expect("a summary");
        assert_eq!(summary["event"], "end", "{summary}");
        summary
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Bytes that repeat nowhere, so that a piece in the wrong place shows.
fn pattern(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    (0..len.div_ceil(8)).flat_map(|_| rng.next_u64().to_ne_bytes()).take(len).collect()
}

fn listen(bed: &Bed, side: &str, at: &'static str) -> TcpListener {
    let bound = bed.on(side, move || TcpListener::bind(at).expect("a free port"));
    bound.join().expect("a listener")
}

fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

fn connect(bed: &Bed, running: &Running) -> TcpStream {
    let to = running.listen;
    let connected = bed.on("home", move || TcpStream::connect(to).expect("it listens"));
    patient(connected.join().expect("a connection"))
}

fn accept(listener: &TcpListener) -> TcpStream {
    patient(listener.accept().expect("a connection").0)
}

/// Sends a pattern and closes this side, and meanwhile receives until the other has closed.
fn exchange(stream: TcpStream, seed: u64, len: usize) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut writing = stream.try_clone().expect("a descriptor");
        let sender = thread::spawn(move || {
            writing.write_all(&pattern(seed, len)).expect("it is taken");
            writing.shutdown(Shutdown::Write).expect("this side closes");
        });
        let mut received = Vec::new();
        (&stream).read_to_end(&mut received).expect("the other closes in order");
        sender.join().expect("all was sent");
        received
    })
}

fn received_error(stream: &mut TcpStream) -> ErrorKind {
    let received = stream.read_to_end(&mut Vec::new());
    received.expect_err("a connection that is reset has no end").kind()
}

#[test]
fn connections_are_carried_whole_both_ways_at_once() {
    let Some(bed) = bed("proxy-carry") else { return };
    for (side, to, cc) in
        [("server", FAR, "cubic"), ("home", NEAR, "vegas"), ("server", FAR_V6, "reno")]
    {
        let listener = listen(&bed, side, to);
        let mut running = Running::start(&bed, &format!("--to {to} --cc {cc}"));
        assert_eq!(running.ready["cc"], cc);
        let sizes = [5 * MEGABYTE, 5 * MEGABYTE, 1, 0];
        let ends: Vec<_> = (1..)
            .zip(sizes)
            .map(|(seed, len)| {
                let client = exchange(connect(&bed, &running), seed, len);
                (exchange(accept(&listener), 100 + seed, len), client)
            })
            .collect();
        for ((seed, len), (server, client)) in (1..).zip(sizes).zip(ends) {
            assert!(server.join().expect("the server") == pattern(seed, len), "{to} {seed}");
            assert!(client.join().expect("the client") == pattern(100 + seed, len), "{to} {seed}");
        }
        sizes.iter().for_each(|_| assert_eq!(running.ended(), "closed"));
        let summary = running.end(&bed, "-TERM");
        assert_eq!(summary["accepted"], 4, "{summary}");
        assert_eq!(summary["ended"]["closed"], 4, "{summary}");
        let total = sizes.iter().sum::<usize>();
        assert_eq!(summary["bytes_to_server"], total, "{summary}");
        assert_eq!(summary["bytes_to_client"], total, "{summary}");
    }
}

#[test]
fn the_server_is_asked_for_ecn_where_that_is_wanted() {
    let Some(bed) = bed("proxy-ecn") else { return };
    let answers = || std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "2").expect("the kernel has ECN");
    bed.on("server", answers).join().expect("a server that agrees");
    // A kernel takes no SYN that is ECN-capable itself, which those of DCTCP are, where it has no DCTCP.
    for (words, is_agreed) in
        [("--ecn on", true), ("--ecn on-request", false), ("", false), ("--cc dctcp", false)]
    {
        let listener = listen(&bed, "server", FAR);
        let running = Running::start(&bed, format!("--to {FAR} {words}").trim_end());
        let mode = words.strip_prefix("--ecn ").unwrap_or("on-request");
        assert_eq!(running.ready["ecn"], mode, "{words}");
        let (mut client, mut server) = (connect(&bed, &running), accept(&listener));
        client.write_all(b"x").expect("it is taken");
        server.read_exact(&mut [0]).expect("it is carried");
        let mut told = Command::new("ip");
        told.args(["netns", "exec", &bed.namespace("server"), "ss", "-tineH"]);
        let told = ran(told).stdout;
        assert_eq!(told.contains(" ecn "), is_agreed, "{words}: {told}");
        running.end(&bed, "-TERM");
    }
}

#[test]
fn a_side_that_closes_first_still_receives() {
    let Some(bed) = bed("proxy-half") else { return };
    let listener = listen(&bed, "server", FAR);
    let mut running = Running::start(&bed, &format!("--to {FAR}"));
    let (asked, answered) = (pattern(1, 100_000), pattern(2, 300_000));
    for order in ["client first", "server first"] {
        let client = connect(&bed, &running);
        let server = accept(&listener);
        let (mut first, mut second) = match order {
            "client first" => (client, server),
            _ => (server, client),
        };
        first.write_all(&asked).expect("it is taken");
        first.shutdown(Shutdown::Write).expect("it closes");
        let mut received = Vec::new();
        second.read_to_end(&mut received).expect("the end is passed on");
        assert!(received == asked, "{order}: what was asked");
        second.write_all(&answered).expect("it is taken after the end of the other direction");
        drop(second);
        received.clear();
        first.read_to_end(&mut received).expect("the other end too");
        assert!(received == answered, "{order}: what was answered");
        drop(first);
        assert_eq!(running.ended(), "closed", "{order}");
    }
    running.end(&bed, "-INT");
}

#[test]
fn a_server_that_does_not_read_stops_the_client() {
    let Some(bed) = bed("proxy-full") else { return };
    let listener = listen(&bed, "server", FAR);
    let mut running = Running::start(&bed, &format!("--to {FAR}"));
    for order in ["client sends", "server sends"] {
        let client = connect(&bed, &running);
        let server = accept(&listener);
        let (mut sends, mut reads) = match order {
            "client sends" => (client, server),
            _ => (server, client),
        };
        let all = pattern(3, 64 * MEGABYTE);
        sends.set_write_timeout(Some(Duration::from_millis(500))).expect("a timeout");
        let mut sent = 0;
        while let Ok(len) = sends.write(&all[sent..]) {
            sent += len;
        }
        // Two kernels and ours have buffers; nothing between them grows.
        assert!(sent < 40 * MEGABYTE, "{order}: {sent} bytes were taken that nobody reads");
        sends.shutdown(Shutdown::Write).expect("it closes");
        let mut received = Vec::new();
        reads.read_to_end(&mut received).expect("all that was taken");
        assert!(received == all[..sent], "{order}: {} of {sent} bytes", received.len());
        drop((sends, reads));
        assert_eq!(running.ended(), "closed", "{order}");
    }
    running.end(&bed, "-TERM");
}

#[test]
fn a_reset_is_carried_over() {
    let Some(bed) = bed("proxy-reset") else { return };
    let listener = listen(&bed, "server", FAR);
    let mut running = Running::start(&bed, &format!("--to {FAR} --cc reno"));
    for ending in ["reset_by_client", "reset_by_server"] {
        let client = connect(&bed, &running);
        let server = accept(&listener);
        let (resets, mut hears) = match ending {
            "reset_by_client" => (client, server),
            _ => (server, client),
        };
        (&resets).write_all(b"x").expect("it is taken");
        hears.read_exact(&mut [0]).expect("it is carried");
        reset(resets).expect("it is reset");
        assert_eq!(received_error(&mut hears), ErrorKind::ConnectionReset, "{ending}");
        assert_eq!(running.ended(), ending);
    }
    drop(listener);
    let mut client = connect(&bed, &running);
    assert_eq!(received_error(&mut client), ErrorKind::ConnectionReset, "nobody listens");
    assert_eq!(running.ended(), "refused");
    let summary = running.end(&bed, "-TERM");
    for ending in ["reset_by_client", "reset_by_server", "refused"] {
        assert_eq!(summary["ended"][ending], 1, "{summary}");
    }
}

#[test]
fn a_signal_resets_what_is_open_and_leaves_no_device() {
    let Some(bed) = bed("proxy-signal") else { return };
    let listener = listen(&bed, "server", FAR);
    let running = Running::start(&bed, &format!("--to {FAR}"));
    let pairs: Vec<_> = (0..3).map(|_| (connect(&bed, &running), accept(&listener))).collect();
    for (client, server) in &pairs {
        let (mut client, mut server) = (client, server);
        client.write_all(b"x").expect("it is taken");
        server.read_exact(&mut [0]).expect("it is carried");
    }
    let summary = running.end(&bed, "-TERM");
    assert_eq!(summary["ended"]["given_up"], 3, "{summary}");
    for (mut client, mut server) in pairs {
        assert_eq!(received_error(&mut client), ErrorKind::ConnectionReset);
        assert_eq!(received_error(&mut server), ErrorKind::ConnectionReset);
    }
}

fn ran(mut command: Command) -> Ran {
    let output = command.output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn what_the_machine_lacks_is_told_and_no_device_is_left() {
    let Some(bed) = bed("proxy-lack") else { return };
    let expect = |words: &str, code: i32, text: &str| {
        let ran = ran(command(&bed, words));
        assert_eq!(ran.code, Some(code), "{words}: {ran}");
        assert!(ran.stderr.contains(text), "{words}: {ran}");
        assert!(!bed.ip("home", "link show").contains("tlproxy"), "{words}");
    };
    let held = listen(&bed, "home", NEAR);
    let to = format!("--to {FAR}");
    expect(
        &format!("--listen {NEAR} {to}"),
        5,
        "listening at 127.0.0.1:7000: address already in use",
    );
    drop(held);
    expect(&format!("--listen 192.0.2.1:80 {to}"), 5, "cannot assign requested address");
    let own = format!("--listen {LISTEN} {to}");
    expect(&format!("{own} --address 10.77.0.1/24"), 5, "the address 10.77.0.1 is in use");
    expect(&format!("{own} --device wan0"), 5, "TUN device wan0");
    expect(&format!("--listen {LISTEN} --to [::1]:80"), 5, "let the server listen at fd78::1");
    let mut unprivileged = Command::new("ip");
    let setpriv = ["setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-net_admin"];
    unprivileged.args(["netns", "exec", &bed.namespace("home")]).args(setpriv).arg(PROGRAM);
    unprivileged.args(["proxy"]).args(own.split(' '));
    let ran = ran(unprivileged);
    assert!(ran.code == Some(4) && ran.stderr.contains("CAP_NET_ADMIN is missing"), "{ran}");
}

#[test]
fn a_machine_that_does_not_forward_is_told_so() {
    let Some(bed) = Bed::new("proxy-closed", 1) else { return };
    let mut far = Running::start(&bed, &format!("--to {FAR}"));
    assert!(far.ready["remarks"][0].as_str().is_some_and(|text| text.contains("ip_forward=1")));
    let unread: io::Result<Option<_>> = far.child.try_wait();
    assert!(unread.expect("it is ours").is_none(), "it works all the same");
    far.end(&bed, "-TERM");
    let near = Running::start(&bed, &format!("--to {NEAR}"));
    assert_eq!(near.ready["remarks"], serde_json::json!([]));
    near.end(&bed, "-TERM");
}

#[test]
fn a_listener_lives_as_long_as_the_proxy() {
    let Some(bed) = bed("proxy-twice") else { return };
    let (told, hears) = mpsc::channel();
    let listener = listen(&bed, "server", FAR);
    let server = thread::spawn(move || {
        for stream in listener.incoming().take(200) {
            let mut stream = patient(stream.expect("a connection"));
            stream.write_all(b"hello").expect("it is taken");
        }
        told.send(()).expect("somebody waits");
    });
    let mut running = Running::start(&bed, &format!("--to {FAR}"));
    for _ in 0..200 {
        let mut received = String::new();
        connect(&bed, &running).read_to_string(&mut received).expect("it ends");
        assert_eq!(received, "hello");
        assert_eq!(running.ended(), "closed");
    }
    hears.recv().expect("the server saw all");
    server.join().expect("the server");
    assert_eq!(running.end(&bed, "-TERM")["accepted"], 200);
}
