//! Hosts at switches: what is taken, and what is refused with its reason.

use trunkline_core::link::Layout;
use trunkline_core::time::Duration;
use trunkline_plan::Document;
use trunkline_plan::model::{App, Plan, Route, Spacing};
use trunkline_plan::network::PortQueue;

const GOOD: &str = "name = \"n\"
[[lab.switch]]
name = \"tor\"
port = { classes = [
  { dscp = [1], queue = { kind = \"step-ecn\", limit = \"200p\", mark = \"20p\" } },
  { dscp = \"any\", queue = { kind = \"drop-tail\" } },
] }
[[lab.host]]
name = \"tx\"
count = 3
link = { to = \"tor\", rate = \"1gbit\", delay = \"5us\" }
[[lab.host]]
name = \"rx\"
link = { to = \"tor\", rate = \"1gbit\", delay = \"5us\" }
[[lab.flow]]
name = \"f\"
from = \"tx*\"
to = \"rx\"
app = { kind = \"bulk\" }
tcp = { cc = \"dctcp\", dscp = 1 }
";

fn document(text: &str) -> Document {
    Document::parse("p.toml", text, &|_| Err(String::new())).expect("TOML")
}

fn plan(text: &str) -> Plan {
    document(text).experiment().and_then(|e| e.plan(0, None)).unwrap_or_else(|d| panic!("{d}"))
}

/// The errors of the good plan with one text replaced, which must be there.
fn changed(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "`{from}` is in the plan");
    document(&GOOD.replacen(from, to, 1)).check().to_string()
}

#[test]
fn a_pattern_stands_for_all_its_senders() {
    let plan = plan(GOOD);
    assert_eq!(plan.lab.flows[0].route, Route::Switches { from: vec![0, 1, 2], to: 3 });
    assert_eq!(plan.lab.flows[0].tcp.dscp, 1);
    let names: Vec<String> = plan.lab.port_names().collect();
    assert_eq!(names, ["tor.tx0", "tor.tx1", "tor.tx2", "tor.rx"]);
    let PortQueue::Classes { classes, .. } = &plan.lab.switches[0].queue else {
        panic!("two classes")
    };
    assert_eq!((classes[0].dscps.as_slice(), classes[1].dscps.len()), (&[1][..], 0));
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let cases: [(&str, &str, &[&str]); 12] = [
        ("mark = \"20p\"", "mark = \"200p\"", &["`mark` is not below limit", "from 1p to 199p"]),
        ("mark = \"20p\"", "k = \"0p\"", &["`k` is zero"]),
        (
            "limit = \"200p\", mark = \"20p\"",
            "limit = \"30KB\", mark = \"20p\"",
            &["`mark` is never reached", "from 1p to 19p"],
        ),
        ("dscp = [1]", "dscp = [64]", &["out of range", "from 0 to 63"]),
        ("dscp = [1]", "dscp = \"any\"", &["those behind get nothing"]),
        ("to = \"rx\"", "to = \"ry\"", &["no host and no end of a bond", "did you mean `rx`?"]),
        ("to = \"rx\"", "to = \"tx*\"", &["not the name of one host"]),
        ("from = \"tx*\"", "from = \"rx\"", &["`rx` would send to itself"]),
        (
            "name = \"rx\"\nlink = { to = \"tor\"",
            "name = \"rx\"\nlink = { to = \"top\"",
            &["is no switch", "did you mean `tor`?"],
        ),
        ("kind = \"bulk\"", "kind = \"request-response\"", &["`response` is missing"]),
        (
            "name = \"rx\"\nlink = { to = \"tor\", rate = \"1gbit\", delay = \"5us\" }",
            "name = \"rx\"\nlink = [{ to = \"tor\" }, { to = \"tor\" }]",
            &["several `link`s: a host has one card", "two default routes"],
        ),
        (
            "name = \"tor\"\n",
            "name = \"tor\"\nlink = [{ to = \"a\" }, { to = \"b\" }]\n",
            &[
                "several `link`s: a switch has one way towards the root",
                "a loop",
                "no spanning tree",
            ],
        ),
    ];
    for (from, to, parts) in cases {
        let text = changed(from, to);
        for part in parts {
            assert!(text.contains(part), "{to}: no `{part}` in\n{text}");
        }
    }
}

#[test]
fn a_topology_without_a_path_says_what_is_apart() {
    let island = "[[lab.switch]]\nname = \"isle\"\n[[lab.host]]\nname = \"rx\"\n\
                  link = { to = \"isle\"";
    let text = changed("[[lab.host]]\nname = \"rx\"\nlink = { to = \"tor\"", island);
    let reason = "there is no path from `tx0` to `rx`: they are at the switches `tor` and `isle`, \
                  which nothing joins";
    assert!(text.contains(reason), "{text}");
}

#[test]
fn switches_in_a_ring_are_refused() {
    let link = |to: &str| format!("link = {{ to = \"{to}\", rate = \"1gbit\" }}\n");
    let ring = format!(
        "name = \"tor\"\n{}[[lab.switch]]\nname = \"two\"\n{}[[lab.switch]]\nname = \"three\"\n",
        link("two"),
        link("tor")
    );
    let text = changed("name = \"tor\"\n", &ring);
    assert!(text.contains("loop of switches"), "{text}");
}

#[test]
fn an_acknowledgment_waits_for_less_than_the_peer() {
    let delay = |tcp: &str| plan(&GOOD.replace("dscp = 1 }", tcp)).lab.flows[0].tcp.delayed_ack;
    assert_eq!(delay("dscp = 1 }").as_millis(), 40);
    assert_eq!(delay("rto_min = \"10ms\" }").as_millis(), 5);
    assert_eq!(delay("rto_min = \"10ms\", ack_delay = \"40ms\" }").as_millis(), 40);
}

const SHARED: &str = "name = \"n\"
[[lab.segment]]
name = \"ether\"
rate = \"10mbit\"
[[lab.segment]]
name = \"other\"
rate = \"100mbit\"
layout = \"bus\"
[[lab.host]]
name = \"ws\"
count = 300
link = { to = \"ether\" }
[[lab.host]]
name = \"server\"
link = { to = \"ether\", receiver = { loss = \"30%\" } }
[[lab.flow]]
name = \"f\"
from = \"ws*\"
to = \"server\"
app = { kind = \"bulk\" }
[[lab.expect]]
what = \"ether.utilisation\"
max = 1
";

#[test]
fn hosts_share_a_segment() {
    let plan = plan(SHARED);
    let [ether, other] = &plan.lab.segments[..] else { panic!("two segments") };
    assert_eq!(ether.layout, Layout::Star(Duration::from_nanos(12_800)));
    assert_eq!(other.layout, Layout::Bus(Duration::from_nanos(1_280)));
    assert_eq!(plan.lab.machines.len(), 301);
    let server = plan.lab.machines[300].station().expect("a station");
    let recovery = server.recovery.expect("a receiver that needs time");
    assert_eq!((server.segment, server.mtu, recovery.span.as_micros()), (0, 1500, 20));
    assert_eq!(plan.lab.flows[0].route, Route::Switches { from: (0..300).collect(), to: 300 });
    assert!(plan.lab.port_names().next().is_none() && plan.has_randomness());
}

#[test]
fn what_a_segment_cannot_be_is_refused_with_the_reason() {
    let cases: [(&str, &str, &[&str]); 9] = [
        ("rate = \"10mbit\"\n", "", &["`rate` is missing", "links = [\"LINK\", …]"]),
        ("\"bus\"", "\"ring\"", &["\"ring\" is unknown", "\"star\"", "\"bus\""]),
        (
            "rate = \"10mbit\"",
            "rate = \"10mbit\"\npropagation = \"30us\"",
            &["longer than half the slot time", "at most 25600ns"],
        ),
        (
            "to = \"ether\" }",
            "to = \"ethr\" }",
            &["no switch and no segment", "did you mean `ether`?"],
        ),
        (
            "to = \"ether\" }",
            "to = \"ether\", rate = \"10mbit\" }",
            &["`rate` of a host on a segment", "`rate` and `propagation` of the [[lab.segment]]"],
        ),
        ("loss = \"30%\"", "recovery = \"5us\"", &["`loss` is missing"]),
        ("loss = \"30%\"", "losses = \"30%\"", &["unknown key `losses`", "did you mean `loss`?"]),
        (
            "name = \"server\"\nlink = { to = \"ether\"",
            "name = \"server\"\nlink = { to = \"other\"",
            &[
                "there is no path from `ws0` to `server`: they are at the segment `ether` and the segment `other`",
            ],
        ),
        ("ether.utilisation", "ether.utilization", &["did you mean `utilisation`?"]),
    ];
    for (from, to, parts) in cases {
        assert!(SHARED.contains(from), "`{from}` is in the plan");
        let text = document(&SHARED.replacen(from, to, 1)).check().to_string();
        for part in parts {
            assert!(text.contains(part), "{to}: no `{part}` in\n{text}");
        }
    }
}

#[test]
fn datagrams_have_sizes_and_a_rate() {
    let load = |app: &str| SHARED.replace("{ kind = \"bulk\" }", app);
    let mix = "{ kind = \"datagrams\", sizes = [\"18B\", \"1472B\"], rate = \"5.96mbit\" }";
    let App::Datagrams(datagrams) = plan(&load(mix)).lab.flows.remove(0).app else {
        panic!("datagrams")
    };
    let spacing = datagrams.spacing;
    assert_eq!((datagrams.interval(), spacing), (Duration::from_millis(1), Spacing::Poisson));
    let cases: [(&str, &str, &[&str]); 5] = [
        ("sizes = [\"18B\", \"1472B\"], ", "", &["`sizes` is missing"]),
        ("\"18B\"", "\"13B\"", &["out of range", "from 14B to 65507B"]),
        ("[\"18B\", \"1472B\"]", "[]", &["no list of sizes", "from 1 to 64 sizes"]),
        (", rate = \"5.96mbit\"", "", &["`rate` is missing"]),
        (" }", ", spacing = \"even\" }", &["\"even\" is unknown", "\"poisson\"", "\"constant\""]),
    ];
    for (from, to, parts) in cases {
        let text = document(&load(&mix.replacen(from, to, 1))).check().to_string();
        for part in parts {
            assert!(text.contains(part), "{to}: no `{part}` in\n{text}");
        }
    }
    let tcp = load(&format!("{mix}\ntcp = {{ dscp = 1 }}"));
    assert!(document(&tcp).check().to_string().contains("datagrams have no `tcp`"));
}
