//! Impossible topologies as their user sees them: one error, its place, the reason and what is accepted.

mod program;

use program::{folder, trunkline};

/// A tree of switches, segments with a router, and a cable modem with its return path.
const GOOD: &str = r#"name = "n"
[[link]]
name = "down"
kind = "cable"
rate = "27mbit"
[[link]]
name = "up"
kind = "device"
rate = "33600bit"
direction = "up"
[bond.b]
ends = ["home", "isp"]
members = ["down", "up"]
mode = "active-backup"
[[lab.switch]]
name = "core"
[[lab.switch]]
name = "tor"
link = { to = "core", rate = "10gbit" }
[[lab.segment]]
name = "s"
count = 3
rate = "10mbit"
arp = true
[[lab.router]]
name = "r"
segments = ["s0", "s1"]
[[lab.host]]
name = "sun"
link = { to = "s0" }
network = { gateway = "r" }
[[lab.host]]
name = "far"
link = { to = "s1" }
[[lab.host]]
name = "pc"
cpu = "sun-3/60"
link = { to = "tor", rate = "1gbit" }
[[lab.flow]]
name = "nfs"
from = "sun"
to = "far"
app = { kind = "rpc", count = 2 }
[[lab.expect]]
what = "nfs.calls"
min = 2
"#;

/// What replaces what; the place and message, and what is accepted.
const MISTAKES: &[(&str, &str, &str, &str)] = &[
    (
        "name = \"core\"\n",
        "name = \"core\"\nlink = { to = \"tor\", rate = \"10gbit\" }\n",
        "17:8: `core` and `tor` are in a loop of switches: a broadcast would go round for ever, for there is no \
         spanning tree here",
        "a tree: one switch without `link`",
    ),
    (
        "to = \"tor\", rate",
        "to = \"tro\", rate",
        "39:15: `to` \"tro\" is no switch and no segment",
        "accepted: core, tor, s0, s1, s2",
    ),
    (
        "to = \"s0\"",
        "to = \"so\"",
        "31:15: `to` \"so\" is no switch and no segment",
        "accepted: core",
    ),
    (
        "to = \"core\"",
        "to = \"s2\"",
        "19:15: `to` \"s2\" is a segment: the `link` of a switch leads to a switch",
        "accepted: core, tor",
    ),
    (
        "gateway = \"r\"",
        "gateway = [\"r\", \"q\"]",
        "32:23: `gateway` names several routers, two default routes: nothing says which one a packet takes",
        "gateway = \"ROUTER\"",
    ),
    (
        "link = { to = \"s1\" }",
        "link = { to = \"s2\" }",
        "43:6: there is no path from `sun` to `far`",
        "link = { to = \"s2\", … } at both",
    ),
    (
        "[\"down\", \"up\"]",
        "[\"down\"]",
        "13:11: `home` could only receive and `isp` only send",
        "a member with direction = \"up\"",
    ),
    (
        "\"sun-3/60\"",
        "\"sun-3/61\"",
        "38:7: `cpu` \"sun-3/61\" is no cost table",
        "did you mean `sun-3/60`?",
    ),
];

/// Text as it is compared: what wraps at the width of the terminal on one line.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_impossible_topology_is_one_error_with_its_reason() {
    let folder = folder("topologies");
    for (from, to, message, accepted) in MISTAKES {
        assert!(GOOD.contains(from), "`{from}` is in the plan");
        std::fs::write(folder.join("bad.toml"), GOOD.replacen(from, to, 1)).expect("a file");
        for reader in [&["check", "bad.toml"][..], &["lab", "run", "bad.toml"]] {
            let ran = trunkline(&folder, reader);
            assert!(ran.code == Some(3) && ran.stdout.is_empty(), "{to}: {ran}");
            let shown = unwrapped(&ran.stderr);
            assert!(shown.contains(&format!("bad.toml:{message}")), "{to}: {ran}");
            assert!(shown.contains(accepted), "{to}: {ran}");
            assert_eq!(shown.matches("bad.toml:").count(), 1, "{to}: {ran}");
        }
    }
}

#[test]
fn the_topology_they_come_from_runs() {
    let folder = folder("topologies-good");
    std::fs::write(folder.join("good.toml"), GOOD).expect("a file");
    let ran = trunkline(&folder, &["lab", "run", "good.toml"]);
    assert!(ran.code == Some(0) && ran.stderr.is_empty(), "{ran}");
}
