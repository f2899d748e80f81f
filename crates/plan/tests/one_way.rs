//! Plans of links that carry one way: what the example means, and what is told about those that cannot be meant.

use trunkline_core::bond::{Mode, Ways};
use trunkline_core::host::ReversePath;
use trunkline_core::link::{Broadcasts, Header, HeaderCompression, Pid, Station};
use trunkline_core::queue::Limit;
use trunkline_core::time::Duration;
use trunkline_plan::model::{Direction, EndKind, LinkKind, OthersTo, Plan};
use trunkline_plan::{Diagnostics, Document};

const GOOD: &str = include_str!("cable-oneway.toml");

fn parse(text: &str) -> Result<Document, Diagnostics> {
    Document::parse("p.toml", text, &|_| Err("no files".into()))
}

fn errors(text: &str) -> String {
    parse(text).map_or_else(|errors| errors.to_string(), |document| document.check().to_string())
}

fn plan(text: &str) -> Plan {
    let plan = parse(text).and_then(|document| document.experiment());
    plan.and_then(|e| e.plan(0, None)).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The example with some of its text replaced.
fn changed(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(GOOD.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "no {from}");
        text.replace(from, to)
    })
}

#[test]
fn the_example_means_what_it_says() {
    assert_eq!(errors(GOOD), "");
    let plan = plan(GOOD);
    let [cable, phone] = &plan.links[..] else { panic!("two links") };
    assert_eq!((cable.kind, phone.kind), (LinkKind::Cable, LinkKind::Device));
    assert_eq!((cable.direction, phone.direction), (Some(Direction::Down), Some(Direction::Up)));
    assert_eq!([0, 1].map(|end| cable.ways(end)), [Ways::ReceiveOnly, Ways::SendOnly]);
    assert_eq!([0, 1].map(|end| phone.ways(end)), [Ways::SendOnly, Ways::ReceiveOnly]);
    assert_eq!((cable.framing.header, cable.mtu), (Header::Cells, Some(1500)));
    // A packet of 1500 bytes and 18 around it are nine cells of 188.
    assert_eq!(cable.mean_wire_millibits(1500), 9 * 188 * 8000);
    assert_eq!(phone.framing.compression, HeaderCompression::VanJacobson);
    assert_eq!(cable.at[0].device.as_deref(), Some("cm0"));
    let bond = &plan.bonds[0];
    assert_eq!((bond.mode, bond.traffic), ([Mode::ActiveBackup; 2], Some(Duration::from_secs(10))));
    let ends: Vec<_> = plan.ends.iter().map(|end| (end.kind, end.rp_filter)).collect();
    assert_eq!(ends[0], (EndKind::Route, ReversePath::Loose));
    assert_eq!(ends[1], (EndKind::Route, ReversePath::Off));
    let told = plan.member_config(0, 0, 0, Limit::Packets(4));
    assert_eq!((told.direction, told.delay), (Ways::ReceiveOnly, Duration::from_millis(8)));
    let config = plan.bond_config(0, 0, 1, Limit::Packets(4));
    assert_eq!(config.traffic, Some(Duration::from_secs(10)));
}

#[test]
fn a_cable_and_its_card_are_described() {
    let lab = "queue = \"128KiB\", cable = { serial = 0x2a0d16d8, pids = [3, 1], nobroadcast = true, \
        others = [{ pid = 1, to = \"subscribers\", interval = \"2ms\", size = \"1500B\" }] }, \
        ring = { size = \"32KiB\", delay = \"60us\" }";
    let plan = plan(&changed(&[("queue = \"128KiB\"", lab)]));
    let cable = plan.links[0].cable.as_ref().expect("a cable");
    assert_eq!(cable.station, Station([0, 0, 0x2a, 0x0d, 0x16, 0xd8]));
    assert_eq!((&cable.pids[..], cable.broadcasts), (&[Pid(3), Pid(1)][..], Broadcasts::Refused));
    let others = cable.others[0];
    assert_eq!((others.pid, others.to, others.size), (Pid(1), OthersTo::Subscribers, 1500));
    let ring = plan.links[0].ring.expect("a ring");
    assert_eq!((ring.bytes, ring.word), (32 << 10, 2));
    let times = (Duration::from_micros(1), Duration::from_micros(60));
    assert_eq!((ring.read, ring.delay), times);
    assert!(plan.links[1].cable.is_none() && plan.links[1].ring.is_none());
}

#[test]
fn a_one_way_bond_goes_by_traffic_unless_it_says_how_long() {
    let plan = plan(&changed(&[("monitor = { traffic = \"10s\" }", "")]));
    assert_eq!(plan.bonds[0].traffic, Some(Duration::from_secs(10)));
}

#[test]
fn a_host_with_no_return_path_is_refused_with_the_reason() {
    for (direction, here, there) in [("down", "home", "headend"), ("up", "headend", "home")] {
        let one = format!("direction = \"{direction}\"");
        let text =
            errors(&changed(&[("direction = \"up\"", &one), ("direction = \"down\"", &one)]));
        let way = if direction == "down" { "up" } else { "down" };
        for part in [
            &format!("`{here}` could only receive and `{there}` only send"),
            &format!("no member carries from `{here}` to `{there}`, so there is no return path"),
            &format!("a member with direction = \"{way}\""),
            "a member with direction = \"both\"",
        ] {
            assert!(text.contains(part), "no {part} in\n{text}");
        }
        assert_eq!(text.matches("could only receive").count(), 1, "{text}");
    }
    let both = changed(&[("direction = \"up\"", "direction = \"both\"")]);
    assert_eq!(errors(&both), "");
}

/// What of the example is replaced by what, and what is told then.
const BAD: &[(&str, &str, &[&str])] = &[
    (
        "direction = \"down\" ",
        "direction = \"dwn\" ",
        &["`direction` \"dwn\" is unknown", "did you mean `down`?"],
    ),
    (
        "direction = \"down\" ",
        "direction = \"both\" ",
        &["`direction` = \"both\" is more than a cable carries", "\"down\" or \"up\""],
    ),
    ("direction = \"up\"", "trunk = true", &["`trunk` = true is not in this version for a device"]),
    ("lab       = { delay = \"8ms\"", "trunk = true\nlab = { delay = \"8ms\"", &["both ways"]),
    (
        "lab       = { delay = \"8ms\"",
        "framing = { header = \"ppp\" }\nlab = { delay = \"8ms\"",
        &["a cable link has no `framing`"],
    ),
    ("delay = \"8ms\"", "cable = { pids = [1, 1] }", &["one to four different numbers"]),
    ("delay = \"8ms\"", "cable = { pids = [1, 2, 3, 4, 5] }", &["one to four different numbers"]),
    ("delay = \"8ms\"", "cable = { pids = [8192] }", &["a whole number from 0 to 8191"]),
    ("delay = \"8ms\"", "cable = { nobrodcast = true }", &["did you mean `nobroadcast`?"]),
    ("delay = \"8ms\"", "cable = { others = [{}] }", &["`interval` is missing"]),
    (
        "delay = \"8ms\"",
        "cable = { others = [{ interval = \"1ms\", size = \"27B\" }] }",
        &["a size from 28B to 1500B"],
    ),
    ("delay = \"8ms\"", "ring = {}", &["`size` is missing"]),
    ("delay = \"8ms\"", "ring = { size = \"1KB\", word = \"0B\" }", &["a size from 1B to 4096B"]),
    ("delay = \"60ms\"", "ring = { size = \"1KB\" }", &["unknown key `ring`"]),
    ("traffic = \"10s\"", "traffic = \"0s\"", &["`traffic` is zero"]),
    ("traffic = \"10s\"", "probe = \"1s\"", &["unknown key `probe`", "accepted: traffic"]),
    ("rp_filter = \"loose\"", "rp_filter = \"lose\"", &["\"strict\"", "did you mean `loose`?"]),
    (
        "type      = \"route\"",
        "type = \"tun\"",
        &["`rp_filter` says nothing here", "type = \"route\", where the links are the devices"],
    ),
];

#[test]
fn what_cannot_be_meant_is_told_with_what_can() {
    for (from, to, parts) in BAD {
        let text = errors(&changed(&[(from, to)]));
        for part in *parts {
            assert!(text.contains(part), "{to}: no {part} in\n{text}");
        }
    }
}

#[test]
fn traffic_is_for_bonds_with_one_way_members() {
    let text = changed(&[
        ("direction = \"up\"", ""),
        ("kind      = \"cable\"", "kind = \"device\""),
        ("direction = \"down\" ", "weight = \"1mbit\" "),
        ("vj = true", "vj = false"),
    ]);
    let text = errors(&text);
    assert!(text.contains("`monitor` probes paths: it needs `trunk = true`"), "{text}");
}

/// Compressed headers must keep their order, which they do where one member carries them all.
#[test]
fn headers_may_be_compressed_on_the_only_link_of_their_direction() {
    for mode in Mode::ALL {
        let mode = format!("mode    = \"{}\"", mode.name());
        let spread = |way: &str| {
            changed(&[("mode    = \"active-backup\"", &mode), ("direction = \"up\"", way)])
        };
        assert_eq!(errors(&spread("direction = \"up\"")), "", "{mode}");
        let text = errors(&spread("direction = \"both\""));
        let refused = text.contains("a bond spreads them over its members");
        assert_eq!(refused, !mode.contains("active-backup"), "{mode}: {text}");
    }
}

/// A bond of links with these kinds and directions, and what else the plan says.
fn bond_of(links: &[(&str, &str)], more: &str) -> String {
    let mut text = "name = \"n\"\n".to_owned();
    for (nth, (kind, direction)) in links.iter().enumerate() {
        let direction = match *direction {
            "" => String::new(),
            direction => format!("direction = \"{direction}\"\n"),
        };
        text += &format!(
            "[[link]]\nname = \"l{nth}\"\nkind = \"{kind}\"\nrate = \"10mbit\"\n{direction}"
        );
    }
    text + "[bond.b]\nends = [\"near\", \"far\"]\nmembers = [\"l*\"]\n" + more
}

/// The only error of a plan.
fn told(text: &str) -> String {
    let check = parse(text).expect("TOML").check();
    assert_eq!(check.errors.len(), 1, "{check}\n{text}");
    check.to_string()
}

#[test]
fn a_transmit_only_end_is_refused_whatever_its_links_are() {
    let expected = "\
p.toml:8:11: `near` could only receive and `far` only send: no member carries from `near` to `far`, so there is no \
return path and nothing is ever answered
 8 | members = [\"l*\"]
   |           ^^^^^^
   = accepted: a member with direction = \"up\", such as a telephone line, a member with direction = \"both\"
";
    // A cable is downward unless it says that it is upward.
    assert_eq!(errors(&bond_of(&[("cable", "")], "")), expected);
    let forms: [&[(&str, &str)]; 6] = [
        &[("cable", "down")],
        &[("device", "down")],
        &[("ethernet", "down")],
        &[("serial", "down")],
        &[("cable", ""), ("device", "down")],
        &[("cable", ""), ("cable", "down"), ("ethernet", "down")],
    ];
    for links in forms {
        let text = told(&bond_of(links, ""));
        assert!(text.contains("no member carries from `near` to `far`"), "{links:?}: {text}");
        let up: Vec<(&str, &str)> = links.iter().map(|(kind, _)| (*kind, "up")).collect();
        let text = told(&bond_of(&up, ""));
        assert!(text.contains("`far` could only receive and `near` only send"), "{up:?}: {text}");
        assert!(text.contains("a member with direction = \"down\""), "{up:?}: {text}");
        // One way back is enough.
        let back: Vec<(&str, &str)> = [links, &[("device", "up")]].concat();
        assert_eq!(errors(&bond_of(&back, "")), "");
    }
}

#[test]
fn what_runs_over_it_and_what_is_said_of_its_ends_does_not_help() {
    let at = "at.near = { device = \"cm0\" }\nat.far = { device = \"cm1\" }\n";
    let end = "[end.near]\ntype = \"route\"\naddress = [\"10.0.0.1/30\"]\nroutes = [\"default\"]\n";
    let with_at = bond_of(&[("cable", "")], end).replacen("[bond.b]", &format!("{at}[bond.b]"), 1);
    assert!(told(&with_at).contains("no return path"));
    for app in ["bulk", "ping", "web\", page = \"1KB"] {
        for (from, to) in [("near", "far"), ("far", "near")] {
            let flow = format!(
                "[[lab.flow]]\nname = \"f\"\nfrom = \"{from}\"\nto = \"{to}\"\napp = {{ kind = \"{app}\" }}\n"
            );
            let text = told(&bond_of(&[("cable", "")], &flow));
            assert!(text.contains("no return path"), "{app}: {text}");
        }
    }
}

#[test]
fn a_cable_to_a_switch_carries_both_ways() {
    let switch = "mode = \"active-backup\"\n[[lab.switch]]\nname = \"far\"\n";
    assert_eq!(errors(&bond_of(&[("ethernet", ""), ("ethernet", "")], switch)), "");
    // A host whose only link, or each of whose links, is one-way; and one whose links are different.
    let links: [&[(&str, &str)]; 2] =
        [&[("ethernet", "up")], &[("ethernet", "up"), ("ethernet", "up")]];
    for links in links {
        let text = told(&bond_of(links, switch));
        assert!(text.contains("`far` could only receive and `near` only send"), "{text}");
    }
    let text = told(&bond_of(&[("ethernet", "up"), ("ethernet", "down")], switch));
    assert!(
        text.contains("link `l0` carries one way only: a cable to a switch carries both"),
        "{text}"
    );
    assert!(text.contains("no `direction`"), "{text}");
}
