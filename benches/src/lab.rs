//! The lab: one frame, data or acknowledgment, serialised by one transmitter, with everything around it.

use std::hint::black_box;
use trunkline_core::deadlines::Deadlines;
use trunkline_core::time::{Duration, Instant};
use trunkline_lab::build;
use trunkline_plan::Document;

/// Sources of events in the floor: what an incast of 19 has in cables and hosts.
const SOURCES: u32 = 64;

const BOND: &str = r#"
name = "bench"

[[link]]
name    = "line{i}"
count   = 2
kind    = "serial"
rate    = "10mbit"
framing = { line = "sync", header = "none" }
payload = "zeros"
lab     = { delay = "5ms", queue = "100p" }

[bond.b]
ends    = ["a", "z"]
members = ["line*"]
mode    = "earliest"
mtu     = 1500

[lab]
duration = "100000s"

[[lab.flow]]
name = "bulk"
from = "a"
to   = "z"
app  = { kind = "bulk" }
tcp  = { receive_buffer = "256KiB", send_buffer = "256KiB" }
"#;

/// DCTCP's incast: 19 machines at a switch send to one.
const INCAST: &str = r#"
name = "incast"

[lab]
duration = "100000s"

[[lab.switch]]
name = "tor"
port = { queue = { kind = "step-ecn", limit = "1MB", mark = "75KB" } }

[[lab.host]]
name  = "tx"
count = 19
link  = { to = "tor", rate = "10gbit", delay = "7us" }

[[lab.host]]
name = "rx"
link = { to = "tor", rate = "10gbit", delay = "7us" }

[[lab.flow]]
name = "incast"
from = "tx[*]"
to   = "rx"
app  = { kind = "bulk" }
tcp  = { cc = "dctcp" }
"#;

/// A hundred stations on one half-duplex Ethernet at 40 % of its load: a hop is a frame that got through.
const ETHERNET: &str = include_str!("../../plans/shared-ethernet.toml");

/// What 19 flows share.
const LINE: &str = r#"
name = "line"

[[link]]
name    = "line"
kind    = "serial"
rate    = "1gbit"
framing = { line = "sync", header = "none" }
payload = "zeros"
lab     = { delay = "25us", queue = "100p" }

[bond.b]
ends    = ["a", "z"]
members = ["line"]
mtu     = 1500

[lab]
duration = "100000s"

"#;

/// One line and one flow with a window of so many bytes, and now and then a loss.
const WINDOW: &str = r#"
name = "window"

[[link]]
name    = "line"
kind    = "serial"
rate    = "RATE"
framing = { line = "sync", header = "none" }
payload = "zeros"
lab     = { delay = "10ms", queue = "100p", loss = "0.01%" }

[bond.b]
ends    = ["a", "z"]
members = ["line"]
mtu     = 1500

[lab]
duration = "100000s"

[[lab.flow]]
name = "bulk"
from = "a"
to   = "z"
app  = { kind = "bulk" }
tcp  = { cc = "cubic", receive_buffer = "BUFFER", send_buffer = "BUFFER" }
"#;

/// So many packet-hops of a bulk transfer over two lines.
pub fn packet_hop(units: usize) {
    run(BOND, units);
}

/// So many packet-hops of 19 bulk transfers from machine to machine, through a switch that marks.
pub fn incast(units: usize) {
    run(INCAST, units);
}

/// So many packet-hops of datagrams between a hundred stations on one Ethernet.
pub fn ethernet(units: usize) {
    run(ETHERNET, units);
}

/// So many packet-hops of 19 bulk transfers at once over one line.
pub fn line(units: usize) {
    let mut plan = LINE.to_owned();
    for flow in 0..19 {
        plan += &format!("[[lab.flow]]\nname = \"f{flow}\"\nfrom = \"a\"\nto = \"z\"\n");
        plan += "app = { kind = \"bulk\" }\ntcp = { cc = \"dctcp\" }\n";
    }
    run(&plan, units);
}

/// The window that a small flow has.
pub fn window_64k(units: usize) {
    run(&WINDOW.replace("RATE", "25mbit").replace("BUFFER", "64KiB"), units);
}

/// The same path, 128 times as fast.
pub fn window_8m(units: usize) {
    run(&WINDOW.replace("RATE", "3200mbit").replace("BUFFER", "8MiB"), units);
}

fn run(plan: &str, units: usize) {
    let document = Document::parse("bench.toml", plan, &|_| Err("nothing".into())).expect("a plan");
    let plan = document.experiment().and_then(|e| e.plan(0, None)).expect("a valid plan");
    let mut world = build::world(&plan, 1);
    world.start();
    while world.packet_hops() < units as u64 && world.step(Instant::FAR_FUTURE) {}
}

/// The events of as many packet-hops and nothing else: each is taken off and comes back later, once for the
/// end of a transmission and once for an arrival.
pub fn event_floor(units: usize) {
    let mut deadlines = Deadlines::new();
    for source in 0..SOURCES {
        deadlines.set(source, Some(Instant::from_nanos(u64::from(source) * 97)));
    }
    let mut step = 1u64;
    for _ in 0..2 * units {
        let (at, source) = deadlines.pop(Instant::FAR_FUTURE).expect("there is always one");
        step = step.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let later = Duration::from_nanos(1000 + (step >> 52));
        deadlines.set(black_box(source), Some(at + later));
    }
}
