//! Half-duplex Ethernet: hosts with and without questions for addresses, some of them slow or hard of
//! hearing, several segments with routers between them, and bonds of links that share one cable.

use super::draft::Draft;

/// Hosts with receivers that lose so many take only what fits few frames.
const CALL_MAX: u64 = 8_000;

/// Hosts on one cable.
pub(super) fn alone(d: &mut Draft) {
    let arp = d.one_in(2);
    let rate = segment(d, 0, if arp { "arp = true" } else { "" });
    let mtu = d.pick(&["", "", ", mtu = 576"]);
    hosts(d, 0, (2, 6), mtu);
    for _ in 0..d.between(1, 3) {
        flow(d, [0, 0], rate);
    }
    if arp && d.one_in(2) {
        told(d, 0);
    }
}

/// Segments that are a tree, with a router at every fork.
pub(super) fn routed(d: &mut Draft) {
    let count = d.between(2, 4);
    let rates: Vec<u64> = (0..count).map(|at| segment(d, at, "arp = true")).collect();
    for at in 0..count {
        hosts(d, at, (if at == 0 { 2 } else { 1 }, 3), "");
    }
    // Every router joins one segment more, or two, with one that is joined already.
    let mut next = 1;
    while next < count {
        let from = d.between(0, next - 1);
        let joined = d.between(next, (next + 1).min(count - 1));
        let mut names = vec![format!("\"s{from}\"")];
        names.extend((next..=joined).map(|at| format!("\"s{at}\"")));
        let keys = [format!("name = \"r{next}\""), format!("segments = [{}]", names.join(", "))];
        d.table("lab.router", &keys);
        next = joined + 1;
    }
    let slowest = rates.into_iter().min().unwrap_or(1);
    for _ in 0..d.between(1, 3) {
        let from = d.between(0, count - 1);
        // Only the first is sure to have two.
        let to = (from + d.between(if from == 0 { 0 } else { 1 }, count - 1)) % count;
        flow(d, [from, to], slowest);
    }
    if d.one_in(2) {
        let at = d.between(0, count - 1);
        told(d, at);
    }
}

/// A segment and its rate in Mbit/s.
pub(super) fn segment(d: &mut Draft, at: u64, more: &str) -> u64 {
    let rate = d.pick(&[1, 10, 10, 100]);
    let layout = d.pick(&["star", "bus"]);
    // At most half a slot of 512 bits.
    let propagation = d.between(0, 256_000 / rate);
    let keys = [
        format!("name = \"s{at}\"\nrate = \"{rate}mbit\"\nlayout = \"{layout}\""),
        format!("propagation = \"{propagation}ns\""),
        more.to_owned(),
    ];
    d.table("lab.segment", &keys);
    rate
}

/// Hosts on a segment.
fn hosts(d: &mut Draft, segment: u64, (low, high): (u64, u64), mtu: &str) {
    for at in 0..d.between(low, high) {
        let (loss, recovery) = (d.between(0, 20), d.between(1, 100));
        let receiver =
            format!(", receiver = {{ loss = \"{loss}%\", recovery = \"{recovery}us\" }}");
        let receiver = d.perhaps(4, &receiver);
        let cpu = if d.one_in(4) { d.cpu() } else { String::new() };
        let keys = [
            format!("name = \"s{segment}h{at}\""),
            format!("link = {{ to = \"s{segment}\"{mtu}{receiver} }}"),
            cpu,
        ];
        d.table("lab.host", &keys);
    }
}

/// What hosts of one segment send to one of another, or of the same, at a rate in Mbit/s.
fn flow(d: &mut Draft, [from, to]: [u64; 2], rate: u64) {
    let to = format!("s{to}h0");
    let one = if from == 0 { "s0h1".to_owned() } else { format!("s{from}h0") };
    let senders = if d.one_in(2) { one.clone() } else { format!("s{from}h*") };
    match d.between(0, 8) {
        0 | 1 => {
            let app = d.calls(CALL_MAX);
            d.flow(&senders, &to, &app);
        }
        2 => {
            let app = d.datagrams(&format!("{}kbit", rate.min(10) * 10));
            d.flow(&senders, &to, &app);
        }
        3 => {
            let app = d.echoes();
            d.flow(&one, &to, &app);
        }
        _ => {
            let app = d.conversation(30);
            let from = if app.contains("\"web\"") { one } else { senders };
            d.tcp_flow(&from, &to, &app);
        }
    }
}

/// What everybody on a segment is told.
fn told(d: &mut Draft, segment: u64) {
    let (from, to) = (format!("s{segment}h*"), format!("s{segment}"));
    let (interval, routes) = (d.between(1, 20), d.between(1, 25));
    let app = match d.one_in(2) {
        true => format!("kind = \"rip\", interval = \"{interval}s\", routes = {routes}"),
        false => format!(
            "kind = \"heartbeat\", interval = \"{interval}s\", timeout = \"{}s\"",
            interval * 4
        ),
    };
    d.flow(&from, &to, &app);
}

/// A bond of links on one cable, of which some hosts may share.
pub(super) fn linked(d: &mut Draft) {
    let rate = d.pick(&[1, 10, 100]);
    let links = d.between(1, 3);
    for at in 0..links {
        let keys = [format!("name = \"e{at}\"\nkind = \"ethernet\"\nrate = \"{rate}mbit\"")];
        d.table("link", &keys);
    }
    let mode = d.pick(&["earliest", "eql", "eql-early", "balance-rr", "active-backup"]);
    d.line(&format!("[bond.b]\nends = [\"a\", \"z\"]\nmembers = [\"e*\"]\nmode = \"{mode}\""));
    let shared = d.between(1, links);
    let names: Vec<String> = (0..shared).map(|at| format!("\"e{at}\"")).collect();
    let layout = d.pick(&["star", "bus"]);
    let keys = [format!("name = \"s0\"\nlinks = [{}]\nlayout = \"{layout}\"", names.join(", "))];
    d.table("lab.segment", &keys);
    if d.one_in(2) {
        hosts(d, 0, (2, 3), "");
        flow(d, [0, 0], rate);
    }
    ends(d);
    over_bond(d, ["a", "z"], 40);
    for at in 0..links {
        d.faults(&format!("e{at}"));
    }
}

/// Perhaps gives the ends of a bond a processor.
pub(super) fn ends(d: &mut Draft) {
    for name in ["a", "z"] {
        if d.one_in(2) {
            let cpu = d.cpu();
            d.table("lab.host", &[format!("name = \"{name}\""), cpu]);
        }
    }
}

/// Files, pages and echoes between the ends of a bond.
pub(super) fn over_bond(d: &mut Draft, ends: [&str; 2], packets: u64) {
    for _ in 0..d.between(1, 3) {
        let [from, to] = if d.one_in(2) { ends } else { [ends[1], ends[0]] };
        match d.between(0, 4) {
            0 => {
                let app = d.echoes();
                d.flow(from, to, &app);
            }
            1 => {
                let app = d.pages(packets / 4);
                d.tcp_flow(from, to, &app);
            }
            _ => {
                let app = d.file(packets);
                d.tcp_flow(from, to, &app);
            }
        }
    }
}
