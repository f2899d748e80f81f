//! Segments whose hosts ask for addresses, routers between them, and what runs there: what is taken, and what
//! is refused with its reason.

use trunkline_core::host::{ArpReplies, Form, Forwarding, Rule, Rules};
use trunkline_core::time::Duration;
use trunkline_plan::Document;
use trunkline_plan::model::{App, Plan, Route};
use trunkline_plan::network::{Home, Resolution, home};

const GOOD: &str = "name = \"n\"
[[lab.segment]]
name = \"s\"
count = 3
rate = \"10mbit\"
arp = true
[[lab.segment]]
name = \"known\"
rate = \"10mbit\"
[[lab.router]]
name = \"r\"
segments = [\"s0\", \"s1\"]
[[lab.host]]
name = \"sun\"
count = 2
link = { to = \"s0\" }
network = { rules = [\"arp-rate\"], broadcast = \"zeros\", forwarding = true, answers = \"everybody\" }
[[lab.host]]
name = \"far\"
link = { to = \"s1\" }
[[lab.host]]
name = \"here\"
link = { to = \"known\" }
[[lab.flow]]
name = \"rip\"
from = \"sun*\"
to = \"s0\"
app = { kind = \"rip\" }
[[lab.flow]]
name = \"beat\"
from = \"sun*\"
to = \"s0\"
app = { kind = \"heartbeat\", timeout = \"120s\" }
[[lab.flow]]
name = \"nfs\"
from = \"sun*\"
to = \"far\"
app = { kind = \"rpc\", response = \"8KiB\" }
";

fn document(text: &str) -> Document {
    Document::parse("p.toml", text, &|_| Err(String::new())).expect("TOML")
}

fn plan(text: &str) -> Plan {
    document(text).experiment().and_then(|e| e.plan(0, None)).unwrap_or_else(|d| panic!("{d}"))
}

#[test]
fn what_is_written_is_what_is_meant() {
    let plan = plan(GOOD);
    let sun = &plan.lab.machines[0].network;
    assert_eq!((sun.rules, sun.form), (Rules::BSD_4_2.with(Rule::ArpRate), Form::Zeros));
    assert_eq!((sun.forwarding, sun.replies), (Forwarding::On, ArpReplies::Everybody));
    assert_eq!(plan.lab.machines[2].network.rules, Rules::RFC_1122);
    let resolutions: Vec<Resolution> = plan.lab.segments.iter().map(|s| s.resolution).collect();
    assert_eq!(resolutions[0], Resolution::Arp);
    assert_eq!(resolutions[3], Resolution::Known);
    assert_eq!(plan.lab.routers[0].segments, [0, 1]);
    assert_eq!(plan.lab.flows[0].route, Route::Segment { from: vec![0, 1], segment: 0 });
    let App::Rip(rip) = plan.lab.flows[0].app else { panic!("no rip") };
    assert_eq!((rip.interval, rip.routes), (Duration::from_secs(30), 1));
    let App::Heartbeat(beat) = plan.lab.flows[1].app else { panic!("no heartbeat") };
    assert_eq!(beat.patience, Duration::from_secs(120));
    let App::Rpc(rpc) = plan.lab.flows[2].app else { panic!("no rpc") };
    assert_eq!((rpc.request, rpc.response), (160, 8192));
    let homes: Vec<Home> =
        plan.lab.machines.iter().map(|m| home(&[], &plan.lab.routers, m)).collect();
    assert_eq!((homes[0], homes[2], homes[3]), (homes[1], homes[0], Home::Segment(3)));
}

#[test]
fn impossible_networks_are_refused_with_the_reason() {
    let second = "[[lab.router]]\nname = \"r2\"\nsegments = [\"s1\", \"s0\"]\n[[lab.host]]";
    let ring = "[[lab.router]]\nname = \"r2\"\nsegments = [\"s1\", \"s2\"]\n[[lab.router]]\n\
                name = \"r3\"\nsegments = [\"s2\", \"s0\"]\n[[lab.host]]";
    let cases: [(&str, &str, &[&str]); 15] = [
        ("[[lab.host]]", second, &["a loop of routers", "`r2` makes a second way", "one way"]),
        ("[[lab.host]]", ring, &["a loop of routers", "`r3` makes a second way"]),
        ("[\"s0\", \"s1\"]", "[\"s0\"]", &["does not name two segments"]),
        ("[\"s0\", \"s1\"]", "[\"s0\", \"s0\"]", &["names `s0` twice"]),
        ("[\"s0\", \"s1\"]", "[\"s0\", \"s9\"]", &["is no segment", "did you mean"]),
        ("[\"s0\", \"s1\"]", "[\"s0\", \"known\"]", &["do not ask for addresses", "arp = true"]),
        (
            "link = { to = \"known\" }",
            "link = { to = \"known\" }\nnetwork = {}",
            &["stations ask each other", "arp = true"],
        ),
        ("\"arp-rate\"", "\"arp-rat\"", &["is no rule", "did you mean `arp-rate`?"]),
        ("[\"arp-rate\"]", "\"bsd-4.3\"", &["rfc-1122", "bsd-4.2"]),
        ("\"zeros\"", "\"zero\"", &["did you mean `zeros`?"]),
        ("forwarding = true", "forward = true", &["did you mean `forwarding`?"]),
        ("kind = \"rip\"", "kind = \"rip\", routes = 26", &["out of range", "from 1 to 25"]),
        (
            "to = \"s0\"\napp = { kind = \"rip\"",
            "to = \"far\"\napp = { kind = \"rip\"",
            &["goes to everybody on a segment"],
        ),
        ("to = \"far\"\napp", "to = \"s0\"\napp", &["goes to one host, not to a segment"]),
        (
            "from = \"sun*\"\nto = \"s0\"",
            "from = \"far\"\nto = \"s0\"",
            &["`far` is not on the segment `s0`"],
        ),
    ];
    for (from, to, parts) in cases {
        assert!(GOOD.contains(from), "`{from}` is in the plan");
        let text = document(&GOOD.replacen(from, to, 1)).check().to_string();
        for part in parts {
            assert!(text.contains(part), "{to}: no `{part}` in\n{text}");
        }
    }
}
