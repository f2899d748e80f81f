//! Namespaces with emulated links for tests, held by `scripts/netns.sh`: home and server, one path or
//! more between them. They are gone when the [`Testbed`] is dropped or the test dies.

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;
use trunkline_live::sys::{namespace, privilege};

/// Why namespaces cannot be made here, if they cannot.
pub fn missing() -> Option<&'static str> {
    if !privilege::can_change_network() {
        return Some("CAP_NET_ADMIN is missing");
    }
    let runs = |program: &str, argument: &str| {
        let mut command = Command::new(program);
        command.arg(argument).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    };
    match (runs("ip", "-V"), runs("ethtool", "--version")) {
        (false, _) => Some("ip is missing (iproute2)"),
        (_, false) => Some("ethtool is missing"),
        _ => None,
    }
}

/// One topology.
pub struct Testbed {
    script: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    prefix: String,
}

impl Testbed {
    /// Creates the namespaces, with this many paths and no emulator yet.
    pub fn new(paths: usize) -> Self {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut script = Command::new("bash")
            .arg(top.join("scripts/netns.sh"))
            .args(["hold", &paths.to_string()])
            .env("EMULATE", env!("CARGO_BIN_EXE_trunkline-emulate"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("bash runs");
        let input = script.stdin.take();
        let output = BufReader::new(script.stdout.take().expect("is piped"));
        let mut testbed = Testbed { script, input, output, prefix: String::new() };
        let answer = testbed.answer();
        let prefix = answer.strip_prefix("READY ");
        testbed.prefix = prefix.expect("namespaces are created").to_owned();
        testbed
    }

    /// Starts the emulator of a path.
    pub fn emulate(&mut self, path: usize, options: &str) {
        self.ask(&format!("emulate {path} {options}"));
    }

    /// Gives the emulator of a path a command.
    pub fn command(&mut self, path: usize, words: &str) {
        self.ask(&format!("command {path} {words}"));
    }

    /// The report of a path's emulator.
    pub fn report(&mut self, path: usize) -> Value {
        let answer = self.ask(&format!("report {path}"));
        serde_json::from_str(&answer).expect("a report is JSON")
    }

    fn ask(&mut self, line: &str) -> String {
        let input = self.input.as_mut().expect("is open until dropped");
        writeln!(input, "{line}").expect("the script reads");
        let answer = self.answer();
        assert!(!answer.starts_with("ERROR"), "{answer}");
        answer
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the script answers");
        assert!(!line.is_empty(), "the script ended");
        line.trim_end().to_owned()
    }

    /// Runs something at one end (`home` or `server`), in a thread of its own.
    pub fn on<T: Send + 'static>(
        &self,
        end: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let path = Path::new(namespace::NAMED).join(format!("{}-{end}", self.prefix));
        std::thread::spawn(move || {
            namespace::enter(&path).expect("the namespace is there");
            work()
        })
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.script.wait();
    }
}
