//! Hosts at switches: what is taken, and what is refused with its reason.

use trunkline_plan::Document;
use trunkline_plan::model::{Plan, Route};
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
    let cases: [(&str, &str, &[&str]); 10] = [
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
