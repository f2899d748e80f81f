//! Hosts with all the manners of broadcasts, good and bad: what is told to everybody, alone on the cable,
//! where those who keep RFC 1122 send no frame more, and those who do not while some try to work.

use super::draft::Draft;
use super::segments::segment;

/// All rules, by name.
const RULES: [&str; 6] =
    ["both-forms", "no-forwarding", "discard", "no-errors", "arp-rate", "arp-doubt"];

/// Only routes told, to hosts that keep all rules, some of which are routers otherwise.
pub(super) fn told(d: &mut Draft) {
    let count = d.between(1, 3);
    for at in 0..count {
        segment(d, at, "arp = true");
        for host in 0..d.between(1, 6) {
            member(d, (at, host), "rules = \"rfc-1122\"");
        }
    }
    if count > 1 {
        let names: Vec<String> = (0..count).map(|at| format!("\"s{at}\"")).collect();
        let segments = format!("name = \"r\"\nsegments = [{}]", names.join(", "));
        d.table("lab.router", &[segments]);
    }
    for at in 0..count {
        let (interval, routes) = (d.between(500, 5_000), d.between(1, 25));
        let app = format!("kind = \"rip\", interval = \"{interval}ms\", routes = {routes}");
        let from = d.pick(&["h*", "h0"]);
        d.flow(&format!("s{at}{from}"), &format!("s{at}"), &app);
    }
}

/// Any rules, and work that they may keep from being done.
pub(super) fn unruly(d: &mut Draft) {
    segment(d, 0, "arp = true");
    let count = d.between(2, 9);
    for host in 0..count {
        let rules: Vec<String> =
            RULES.iter().filter(|_| d.one_in(2)).map(|rule| format!("\"{rule}\"")).collect();
        let list = format!("rules = [{}]", rules.join(", "));
        let rules = match d.between(0, 3) {
            0 => "rules = \"bsd-4.2\"".to_owned(),
            1 => "rules = \"rfc-1122\"".to_owned(),
            _ => list,
        };
        member(d, (0, host), &rules);
    }
    if d.one_in(3) {
        segment(d, 1, "arp = true");
        member(d, (1, 0), "rules = \"bsd-4.2\"");
        d.line("[[lab.router]]\nname = \"r\"\nsegments = [\"s0\", \"s1\"]");
    }
    d.flow("s0h*", "s0", "kind = \"rip\", interval = \"700ms\"");
    let app = d.conversation(20);
    let from = if app.contains("\"web\"") { "s0h1" } else { "s0h*" };
    d.tcp_flow(from, "s0h0", &app);
    let app = d.calls(8_000);
    d.flow("s0h*", "s0h0", &app);
}

/// Two hosts that pass on what they take for somebody's, one that says everybody has that address, and
/// careful ones: what is told goes round between the two until its hops are used up.
pub(super) fn circling(d: &mut Draft) {
    segment(d, 0, "arp = true");
    let careless = "network = { rules = \"bsd-4.2\", broadcast = \"zeros\", forwarding = true }";
    let networks = ["", careless, careless, "network = { answers = \"everybody\" }", ""];
    for host in 0..d.between(4, 5) {
        let keys = [
            format!("name = \"h{host}\"\nlink = {{ to = \"s0\" }}"),
            networks[host as usize].to_owned(),
        ];
        d.table("lab.host", &keys);
    }
    let interval = d.between(1_000, 3_000);
    d.flow("h0", "s0", &format!("kind = \"rip\", interval = \"{interval}ms\""));
}

/// A host with rules, whatever else it does.
fn member(d: &mut Draft, (segment, host): (u64, u64), rules: &str) {
    let form = d.pick(&["ones", "zeros"]);
    let forwarding = d.pick(&["true", "false"]);
    let answers = d.pick(&["own", "own", "own", "everybody"]);
    let cpu = if d.one_in(6) { d.cpu() } else { String::new() };
    let keys = [
        format!("name = \"s{segment}h{host}\"\nlink = {{ to = \"s{segment}\" }}"),
        format!(
            "network = {{ {rules}, broadcast = \"{form}\", forwarding = {forwarding}, \
             answers = \"{answers}\" }}"
        ),
        cpu,
    ];
    d.table("lab.host", &keys);
}
