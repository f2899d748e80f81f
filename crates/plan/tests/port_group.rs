//! Bonds that lead to a switch, and the groups of its ports: what is taken, and what is refused with its
//! reason.

use trunkline_core::bond::HashPolicy;
use trunkline_core::time::Duration;
use trunkline_core::units::BitRate;
use trunkline_plan::Document;
use trunkline_plan::model::{Plan, Route};
use trunkline_plan::network::Cards;

const GOOD: &str = "name = \"n\"
[[link]]
name = \"p\"
count = 2
kind = \"ethernet\"
rate = \"1gbit\"
lab = { delay = \"5us\", queue = \"256p\" }
[bond.bond0]
ends = [\"server\", \"tor\"]
members = [\"p*\"]
mode = \"balance-rr\"
[[lab.switch]]
name = \"tor\"
trunk = { members = [\"p*\"], hash = \"layer3+4\" }
[[lab.host]]
name = \"client\"
count = 2
mac = \"00:0e:0c:00:00:0{i}\"
link = { to = \"tor\", rate = \"1gbit\" }
[[lab.flow]]
name = \"f\"
from = \"client*\"
to = \"server\"
stagger = \"0.23s\"
app = { kind = \"bulk\", duration = \"10s\", clock = \"last-write\" }
";

fn document(text: &str) -> Document {
    Document::parse("p.toml", text, &|_| Err(String::new())).expect("TOML")
}

fn plan(text: &str) -> Plan {
    document(text).experiment().and_then(|e| e.plan(0, None)).unwrap_or_else(|d| panic!("{d}"))
}

/// The good plan with one text replaced, which must be there.
fn changed(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "`{from}` is in the plan");
    GOOD.replacen(from, to, 1)
}

#[test]
fn the_far_end_of_a_bond_is_a_switch_and_its_near_end_a_host_with_cards() {
    let plan = plan(GOOD);
    let [client, _, server] = &plan.lab.machines[..] else { panic!("three hosts") };
    assert_eq!(client.mac.map(|mac| mac.to_string()).as_deref(), Some("00:0e:0c:00:00:00"));
    assert_eq!((server.name.as_str(), server.mac), ("server", None));
    assert_eq!(server.bond, Some(Cards { bond: 0, end: 0, links: vec![0, 1] }));
    assert_eq!(server.cable().map(|cable| cable.rate), Some(BitRate::from_bps(1_000_000_000)));
    assert_eq!(plan.machine_of(0), Some(2));
    let group = &plan.lab.switches[0].groups[0];
    assert_eq!((group.links.as_slice(), group.hash), (&[0, 1][..], HashPolicy::Layer34));
    let flow = &plan.lab.flows[0];
    assert_eq!(flow.route, Route::Switches { from: vec![0, 1], to: 2 });
    assert_eq!(flow.stagger, Duration::from_millis(230));
    // The ports behind a bond's cards are called as its links.
    assert_eq!(plan.lab.port_names().collect::<Vec<_>>(), ["tor.client0", "tor.client1"]);
}

#[test]
fn a_bond_may_lead_there_the_other_way_round_and_its_host_be_described() {
    let text = changed("ends = [\"server\", \"tor\"]", "ends = [\"tor\", \"server\"]");
    let text = format!("{text}[[lab.host]]\nname = \"server\"\nmac = \"00:0e:0c:00:00:20\"\n");
    let plan = plan(&text);
    assert_eq!(plan.lab.machines.len(), 3);
    let server = &plan.lab.machines[2];
    assert_eq!(server.mac.map(|mac| mac.0[5]), Some(0x20));
    assert_eq!(server.bond.as_ref().map(|cards| cards.end), Some(1));
}

#[test]
fn several_groups_and_the_hash_that_is_meant_without_one() {
    let text = changed(
        "trunk = { members = [\"p*\"], hash = \"layer3+4\" }",
        "trunk = [{ members = [\"p0\"] }]\nlag = { members = [\"p1\"], hash = \"layer2+3\" }",
    );
    let text = text.replacen("members = [\"p*\"]", "members = [\"p0\"]", 1);
    let text = format!("{text}[bond.b]\nends = [\"other\", \"tor\"]\nmembers = [\"p1\"]\n");
    let groups = &plan(&text).lab.switches[0].groups;
    let hashes: Vec<HashPolicy> = groups.iter().map(|group| group.hash).collect();
    assert_eq!(hashes, [HashPolicy::Layer2, HashPolicy::Layer23]);
}

#[test]
fn a_bond_that_needs_no_group_has_none() {
    let trunk = "trunk = { members = [\"p*\"], hash = \"layer3+4\" }\n";
    let text = changed(trunk, "").replacen("balance-rr", "active-backup", 1);
    assert_eq!(plan(&text).lab.switches[0].groups, []);
    let errors = document(&changed(trunk, "")).check().to_string();
    assert!(errors.contains("does not know that they are one"), "{errors}");
    assert!(errors.contains("mode = \"active-backup\""), "{errors}");
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let cases: [(&str, &str, &str); 13] = [
        ("hash = \"layer3+4\"", "hash = \"layer4\"", "did you mean `layer2`?"),
        ("hash = \"layer3+4\"", "hash = \"encap2+3\"", "not in this version"),
        ("trunk = { members = [\"p*\"]", "trunk = { members = [\"q*\"]", "there is no link `q*`"),
        ("trunk = { members = [\"p*\"]", "trunk = { members = [\"p0\"]", "not those of one bond"),
        ("trunk = { members = [\"p*\"], ", "trunk = { ", "`members` is missing"),
        (
            "trunk = { members = [\"p*\"], hash",
            "lag = { members = [\"p*\"], lacp = \"fast\", hash",
            "LACP's machines are not in this version",
        ),
        ("kind = \"ethernet\"", "kind = \"serial\"", "link `p0` is no ethernet link"),
        ("rate = \"1gbit\"", "rate = { up = \"1gbit\", down = \"2gbit\" }", "not as fast one way"),
        ("queue = \"256p\"", "queue = \"256p\", rate = \"1mbit\"", "a network in front of it"),
        ("mac = \"00:0e:0c:00:00:0{i}\"", "mac = \"00:0e\"", "is no Ethernet address"),
        ("mac = \"00:0e:0c:00:00:0{i}\"", "mac = \"01:0e:0c:00:00:0{i}\"", "of a group"),
        (
            "name = \"client\"\ncount = 2",
            "name = \"server\"",
            "a bond leads from this host to a switch, and `link` is a second way, two default routes",
        ),
        ("to = \"server\"", "to = \"tor\"", "is no host and no end of a bond"),
    ];
    for (from, to, part) in cases {
        let text = document(&changed(from, to)).check().to_string();
        assert!(text.contains(part), "{to}: no `{part}` in\n{text}");
    }
}

#[test]
fn a_link_to_a_switch_is_on_no_segment_and_a_bond_joins_no_two_switches() {
    let segment = "[[lab.segment]]\nname = \"coax\"\nlinks = [\"p*\"]\n";
    let errors = document(&format!("{GOOD}{segment}")).check().to_string();
    assert!(errors.contains("leads to a switch, and is on segment `coax`"), "{errors}");
    let two = "[[lab.switch]]\nname = \"server\"\n";
    let errors = document(&format!("{GOOD}{two}")).check().to_string();
    assert!(errors.contains("bond `bond0` joins two switches"), "{errors}");
}

#[test]
fn a_flow_over_a_bond_has_no_stagger() {
    let text = "name = \"n\"
[[link]]
name = \"l\"
kind = \"serial\"
rate = \"64kbit\"
[bond.b]
ends = [\"a\", \"z\"]
members = [\"l\"]
[[lab.flow]]
name = \"f\"
from = \"a\"
to = \"z\"
stagger = \"1s\"
app = { kind = \"bulk\" }
";
    let errors = document(text).check().to_string();
    assert!(errors.contains("`stagger` is for flows between hosts"), "{errors}");
}
