//! A plan that is being written, as a user would: whatever is drawn goes through the plan's own checks, and a
//! failing one can be saved and run.

use std::fmt::Write;
use trunkline_core::rng::Rng;

/// Payload of a full packet on Ethernet.
const PAYLOAD: u64 = 1460;

/// The text so far, and where its chances come from.
pub(super) struct Draft {
    rng: Rng,
    pub(super) text: String,
    flows: u64,
}

impl Draft {
    pub(super) fn new(rng: Rng) -> Draft {
        Draft { rng, text: String::new(), flows: 0 }
    }

    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        self.rng.between(low, high)
    }

    /// True once in `n` times.
    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.rng.below(n) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.below(from.len() as u64) as usize]
    }

    /// The text once in `n` times, else nothing.
    pub(super) fn perhaps(&mut self, n: u64, text: &str) -> String {
        if self.one_in(n) { text.to_owned() } else { String::new() }
    }

    /// Adds a line.
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds a table of an array, without its keys where they are empty.
    pub(super) fn table(&mut self, array: &str, keys: &[String]) {
        let keys: Vec<&str> = keys.iter().map(String::as_str).filter(|k| !k.is_empty()).collect();
        writeln!(self.text, "[[{array}]]\n{}", keys.join("\n")).expect("text takes text");
    }

    /// A flow with an application such as `kind = "ping"`.
    pub(super) fn flow(&mut self, from: &str, to: &str, app: &str) {
        self.flow_with(from, to, app, "");
    }

    /// A flow of TCP, of any kind and time.
    pub(super) fn tcp_flow(&mut self, from: &str, to: &str, app: &str) {
        let tcp = self.tcp();
        self.flow_with(from, to, app, &tcp);
    }

    fn flow_with(&mut self, from: &str, to: &str, app: &str, tcp: &str) {
        let start = self.between(0, 2_000);
        let name = format!("name = \"flow{}\"", self.flows);
        self.flows += 1;
        let ends = format!("from = \"{from}\"\nto = \"{to}\"\nstart = \"{start}ms\"");
        self.table("lab.flow", &[name, ends, format!("app = {{ {app} }}"), tcp.to_owned()]);
    }

    fn tcp(&mut self) -> String {
        let profiles = ["bsd-4.3", "linux-1.1", "linux-2.2", "linux-2.4", "linux-3.18", "modern"];
        let profile = self.pick(&profiles);
        let modern = match profile {
            "modern" => {
                let cc = self.pick(&["reno", "cubic", "vegas", "dctcp"]);
                let recovery = self.pick(&["newreno", "sack", "rack"]);
                let more = self.perhaps(4, ", pacing = true");
                format!(", cc = \"{cc}\", recovery = \"{recovery}\"{more}")
            }
            _ => String::new(),
        };
        format!("tcp = {{ profile = \"{profile}\"{modern} }}")
    }

    /// Bytes that fill up to so many packets.
    pub(super) fn bytes(&mut self, packets: u64) -> u64 {
        self.between(1, packets * PAYLOAD)
    }

    /// A file, patterned.
    pub(super) fn file(&mut self, packets: u64) -> String {
        let (bytes, write) = (self.bytes(packets), self.pick(&[512, 4096, 65_536]));
        format!(
            "kind = \"bulk\", bytes = \"{bytes}B\", write = \"{write}B\", content = \"pattern\""
        )
    }

    /// Pages.
    pub(super) fn pages(&mut self, packets: u64) -> String {
        let (page, object) = (self.bytes(packets), self.bytes(packets));
        let (objects, connections) = (self.between(0, 8), self.between(1, 6));
        let (count, think) = (self.between(1, 4), self.between(0, 400));
        format!(
            "kind = \"web\", page = \"{page}B\", objects = {objects}, object = \"{object}B\", \
             connections = {connections}, think = \"{think}ms\", count = {count}"
        )
    }

    /// Echo requests, of any size that fits the smallest MTU drawn here.
    pub(super) fn echoes(&mut self) -> String {
        let (interval, size) = (self.between(20, 1_000), self.between(0, 548));
        let count = self.between(1, 20);
        format!("kind = \"ping\", interval = \"{interval}ms\", size = \"{size}B\", count = {count}")
    }

    /// Anything that hosts at switches or on segments do with each other over TCP.
    pub(super) fn conversation(&mut self, packets: u64) -> String {
        let some = self.bytes(packets);
        match self.between(0, 7) {
            0 => {
                let count = self.between(1, 8);
                let barrier = self.perhaps(2, ", barrier = true");
                format!(
                    "kind = \"request-response\", response = \"{some}B\", count = {count}{barrier}"
                )
            }
            1 => self.pages(packets),
            2 => {
                let (interval, count) = (self.between(2, 60), self.between(1, 30));
                format!("kind = \"connect\", interval = \"{interval}ms\", count = {count}")
            }
            3 => format!("kind = \"messages\", bytes = \"{some}B\", interval = \"700ms\""),
            _ => self.file(packets),
        }
    }

    /// Calls of a server, of up to so many bytes each way. All pieces of one have room on the way, and no patience
    /// is as long as an address is remembered: what is lost anew each time would never be answered.
    pub(super) fn calls(&mut self, bytes_max: u64) -> String {
        let [request, response] = [(), ()].map(|()| self.between(8, bytes_max));
        let (think, service) = (self.between(0, 200), self.between(0, 20));
        let (timeout, count) = (self.pick(&["700ms", "3s", "20s"]), self.between(1, 20));
        format!(
            "kind = \"rpc\", request = \"{request}B\", response = \"{response}B\", think = \"{think}ms\", \
             service = \"{service}ms\", timeout = \"{timeout}\", count = {count}"
        )
    }

    /// Datagrams at a rate.
    pub(super) fn datagrams(&mut self, rate: &str) -> String {
        let sizes =
            self.pick(&["\"18B\"", "\"1472B\"", "[\"18B\", \"1472B\"]", "[\"100B\", \"6KB\"]"]);
        let spacing = self.pick(&["poisson", "constant"]);
        format!("kind = \"datagrams\", sizes = {sizes}, rate = \"{rate}\", spacing = \"{spacing}\"")
    }

    /// A ready cost table, or one with a single frame's room here and there.
    pub(super) fn cpu(&mut self) -> String {
        let tables = [
            "sun-3/50",
            "sun-3/60",
            "486slc-40",
            "486dx2-66",
            "ppro-200",
            "dual-xeon-3.0",
            "opteron-246",
            "modern",
        ];
        let base = self.pick(&tables);
        let queue = self.pick(&[1, 2, 16]);
        match self.between(0, 2) {
            0 => format!(
                "cpu = {{ base = \"{base}\", driver_queue = \"{queue}p\", receive_ring = \"20p\" }}"
            ),
            _ => format!("cpu = \"{base}\""),
        }
    }

    /// Cuts of a link, one after the other, until everything is well again.
    pub(super) fn faults(&mut self, link: &str) {
        let mut at = 0;
        for _ in 0..self.between(0, 2) {
            at += self.between(1, 8_000);
            let (lasts, kind) = (self.between(1, 12_000), self.pick(&["carrier", "blackhole"]));
            let times = format!("down_at = \"{at}ms\"\nup_after = \"{lasts}ms\"");
            let keys = [format!("link = \"{link}\""), times, format!("kind = \"{kind}\"")];
            self.table("lab.fault", &keys);
            at += lasts + 1;
        }
    }
}
