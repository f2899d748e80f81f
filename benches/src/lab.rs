//! The lab: one frame, data or acknowledgment, serialised by one transmitter, with everything around it.

use trunkline_core::time::Instant;
use trunkline_lab::build;
use trunkline_plan::Document;

const PLAN: &str = r#"
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

/// So many packet-hops of a bulk transfer over two lines.
pub fn packet_hop(units: usize) {
    let document = Document::parse("bench.toml", PLAN, &|_| Err("nothing".into())).expect("a plan");
    let plan = document.experiment().and_then(|e| e.plan(0, None)).expect("a valid plan");
    let mut world = build::world(&plan, 1);
    world.start();
    while world.packet_hops() < units as u64 && world.step(Instant::FAR_FUTURE) {}
}
