//! Hosts whose work takes time, at a switch and at the ends of bonds over Ethernet.

use super::draft::Draft;
use super::segments::{ends, over_bond};

/// Hosts at one switch, most with a cost table.
pub(super) fn switched(d: &mut Draft) {
    let limit = d.between(12, 60);
    let learning = d.pick(&["true", "false"]);
    d.table(
        "lab.switch",
        &[
            format!("name = \"w\"\nlearning = {learning}"),
            format!("port = {{ queue = {{ kind = \"drop-tail\", limit = \"{limit}p\" }} }}"),
        ],
    );
    let rate = d.pick(&["10mbit", "100mbit", "1gbit"]);
    for host in 0..d.between(2, 6) {
        let cpu = if d.one_in(4) { String::new() } else { d.cpu() };
        let delay = d.between(0, 2_000);
        let cable = format!("link = {{ to = \"w\", rate = \"{rate}\", delay = \"{delay}us\" }}");
        d.table("lab.host", &[format!("name = \"h{host}\""), cable, cpu]);
    }
    for _ in 0..d.between(1, 3) {
        machines(d, "h*", "h0", "h1");
    }
}

/// What machines do with one of them. `all` is all, and `other` one that is not `to`.
pub(super) fn machines(d: &mut Draft, all: &str, to: &str, other: &str) {
    match d.between(0, 6) {
        0 => {
            let app = d.calls(6_000);
            d.flow(all, to, &app);
        }
        1 => {
            let app = d.datagrams("30kbit");
            d.flow(all, to, &app);
        }
        2 => {
            let app = d.echoes();
            d.flow(other, to, &app);
        }
        _ => {
            let app = d.conversation(40);
            let from = if app.contains("\"web\"") { other } else { all };
            d.tcp_flow(from, to, &app);
        }
    }
}

/// The ends of a bond of cables.
pub(super) fn bonded(d: &mut Draft) {
    let rate = d.pick(&["10mbit", "100mbit", "1gbit"]);
    let links = d.between(1, 4);
    for at in 0..links {
        let (delay, loss) = (d.between(0, 3_000), d.between(0, 20));
        let loss = d.perhaps(3, &format!(", loss = \"0.{loss}%\""));
        let queue = d.between(8, 200);
        let keys = [
            format!("name = \"e{at}\"\nkind = \"ethernet\"\nrate = \"{rate}\""),
            format!("lab = {{ delay = \"{delay}us\", queue = \"{queue}p\"{loss} }}"),
        ];
        d.table("link", &keys);
    }
    let mode = d.pick(&["earliest", "eql", "eql-early", "balance-rr", "active-backup"]);
    d.line(&format!("[bond.b]\nends = [\"a\", \"z\"]\nmembers = [\"e*\"]\nmode = \"{mode}\""));
    ends(d);
    over_bond(d, ["a", "z"], 60);
    for at in 0..links {
        d.faults(&format!("e{at}"));
    }
}
