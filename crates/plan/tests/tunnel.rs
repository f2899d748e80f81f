//! Plans of tunnels: what the example means, and what is told about plans that cannot be meant.

use trunkline_core::bond::IngressConfig;
use trunkline_core::bond::trunk::{Monitor, Reorder};
use trunkline_core::link::Header;
use trunkline_core::queue::Limit;
use trunkline_core::time::Duration;
use trunkline_plan::model::{LinkKind, Trunk};
use trunkline_plan::{Diagnostics, Document};

const GOOD: &str = include_str!("../../../plans/udp-two-paths.toml");

fn errors(text: &str) -> Diagnostics {
    match Document::parse("p.toml", text, &|_| Err("no files".into())) {
        Ok(document) => document.check(),
        Err(errors) => errors,
    }
}

#[test]
fn the_example_means_what_it_says() {
    assert_eq!(errors(GOOD).to_string(), "");
    let document = Document::parse("p.toml", GOOD, &|_| Err("no files".into())).expect("TOML");
    let plan = document.experiment().and_then(|e| e.plan(0, None)).expect("a plan");
    let ms = Duration::from_millis;
    let link = &plan.links[0];
    assert_eq!((link.kind, link.trunk), (LinkKind::Udp, Trunk::On));
    assert_eq!((link.framing.header, link.framing.header.len()), (Header::UdpIpv4, 28));
    assert_eq!(link.mean_wire_millibits(1456), 1500 * 8000);
    let remotes = [0, 1].map(|end| link.at[end].remote.expect("a remote"));
    assert_eq!(remotes.map(|r| r.port), [Some(4500), None]);
    assert_eq!(remotes[1].ip.to_string(), "10.77.0.1");
    assert_eq!(link.at[0].device.as_deref(), Some("wan0"));
    let bond = &plan.bonds[0];
    assert_eq!((bond.mtu, bond.trunk), (1456, Trunk::On));
    assert_eq!(bond.reorder, Reorder::PerFlow { max: ms(100) });
    let monitor = Monitor { probe: ms(100), down_after: ms(500), up_after: ms(1000) };
    assert_eq!(bond.monitor, monitor);
    let (home, server) = (&plan.ends[0], &plan.ends[1]);
    assert_eq!(server.listen.map(|l| l.to_string()).as_deref(), Some("0.0.0.0:4500"));
    assert_eq!((home.listen, home.address.len()), (None, 2));
    assert!(home.address[1].ip.is_ipv6());
    let ends = [0, 1].map(|end| {
        let config = plan.bond_config(0, end, 5, Limit::Packets(4));
        let IngressConfig::FqCodel(ingress) = config.ingress else {
            panic!("a trunk waits in {:?}", config.ingress);
        };
        assert_eq!((ingress.codel.target, ingress.quantum), (ms(10), 1456));
        config.trunk.expect("a trunk")
    });
    assert_eq!(ends[0].local_index, ends[1].peer_index);
    assert_eq!(ends[1].local_index, ends[0].peer_index);
    assert_ne!(ends[0].local_index, ends[0].peer_index);
}

/// Every occurrence of the first is replaced by the second; the error begins with the third and holds
/// the fourth.
const BAD: &[(&str, &str, &str, &str)] = &[
    (
        "cipher  = \"none\"",
        "",
        "p.toml:22:7: `cipher` is missing: what a tunnel carries goes in clear only when you say so",
        "accepted: cipher = \"none\"",
    ),
    (
        "cipher  = \"none\"",
        "cipher = \"auto\"",
        "p.toml:26:10: `cipher` \"auto\" is not",
        "\"none\"",
    ),
    (
        "at.server = { remote = \"10.77.0.1\" }",
        "at.server = {}",
        "p.toml:4:1: `at.server.remote` is missing: in clear only listed remotes are heard",
        "remote = ",
    ),
    ("10.77.0.2:4500", "10.77.0.2", "p.toml:4:1: neither end of `a` can begin", "a port"),
    ("10.77.0.2:4500", "10.77.0.2:0", "p.toml:10:41: `remote` is no address", "192.0.2.1:4500"),
    ("10.77.0.2:4500", "0.0.0.0:4500", "p.toml:10:41: `remote` is not the address", "192.0.2.1"),
    ("10.77.0.2:4500", "[fd77::2]:4500", "p.toml:4:1: the remotes of `a` are of IPv4", "one kind"),
    ("listen  = \"0.0.0.0:4500\"", "", "p.toml:4:1: `server` is sent to at a port", "listen = "),
    (
        "listen  = \"0.0.0.0:4500\"",
        "listen = \"server:4500\"",
        "p.toml:37:10: `listen` is no address with a port",
        "[::]:4500",
    ),
    (
        "mode    = \"earliest\"",
        "mtu = 1457",
        "p.toml:25:7: the bond's MTU 1457 is above what link `a` takes",
        "at most 1456",
    ),
    (
        "mode    = \"earliest\"",
        "mtu = 1279",
        "p.toml:25:7: the bond's MTU 1279 is too small for the IPv6 address of `home`",
        "at least 1280",
    ),
    (
        "lab       = { delay = \"10ms\", queue = \"50ms\" }",
        "mtu = 1300",
        "p.toml:22:1: the bond's MTU 1256 is too small for the IPv6 address of `home`",
        "at least 1280",
    ),
    (
        "lab       = { delay = \"10ms\", queue = \"50ms\" }",
        "framing = { header = \"slip\" }",
        "p.toml:9:1: a udp link has no `framing`",
        "no such key",
    ),
    ("max = \"100ms\"", "max = \"100\"", "p.toml:27:11: `reorder`", "50ms"),
    (
        "{ mode = \"per-flow\", max = \"100ms\" }",
        "{ mode = \"off\", max = \"1ms\" }",
        "p.toml:27:11: `reorder` is off",
        "off",
    ),
    (
        "down_after = \"500ms\"",
        "down_after = \"100ms\"",
        "p.toml:28:43: `down_after` is not longer than `probe`",
        "more than 100ms",
    ),
    (
        "[lab]",
        "[[lab.chip]]\nname = \"c\"\nlinks = [\"a\"]\n[lab]",
        "`a` is no serial line",
        "\"serial\"",
    ),
];

#[test]
fn what_cannot_be_meant_is_told() {
    let mut wrong = String::new();
    for (from, to, message, part) in BAD {
        let text = GOOD.replace(from, to);
        assert_ne!(text, GOOD, "{from} is in the plan");
        let errors = errors(&text).to_string();
        if !errors.contains(message) || !errors.contains(part) {
            wrong += &format!("no {message} with {part} in\n{errors}\n");
        }
    }
    assert_eq!(wrong, "");
}

#[test]
fn a_remote_that_is_no_address_is_told_once() {
    let found = errors(&GOOD.replace("10.77.0.2:4500", "server.example:4500"));
    assert_eq!(found.to_string().matches("p.toml:").count(), 1, "{found}");
}

#[test]
fn members_are_all_trunks_or_none() {
    let mixed = GOOD.replacen("trunk     = true", "trunk = false", 1);
    let text = errors(&mixed).to_string();
    assert!(text.contains("some members have `trunk = true` and some have not"), "{text}");
    let none = GOOD.replace("trunk     = true", "trunk = false");
    let text = errors(&none).to_string();
    assert!(text.contains("`reorder` needs sequences"), "{text}");
    assert!(text.contains("`monitor` probes paths"), "{text}");
    let serial = GOOD.replace("\"udp\"", "\"serial\"");
    assert!(errors(&serial).to_string().contains("not in this version for a serial link"));
}

#[test]
fn routes_are_networks_each_once() {
    let with = |routes: &str| {
        GOOD.replace("[end.server]\n", &format!("[end.server]\nroutes = {routes}\n"))
    };
    let good = with("[\"default\", \"10.1.0.0/16\", \"fd01::/64\", \"192.0.2.1/32\"]");
    assert_eq!(errors(&good).to_string(), "");
    let document = Document::parse("p.toml", &good, &|_| Err("no files".into())).expect("TOML");
    let plan = document.experiment().and_then(|e| e.plan(0, None)).expect("a plan");
    let routes: Vec<String> =
        plan.ends[1].routes.iter().map(|r| format!("{}/{}", r.ip, r.prefix)).collect();
    assert_eq!(routes, ["0.0.0.0/0", "::/0", "10.1.0.0/16", "fd01::/64", "192.0.2.1/32"]);
    for (routes, told) in [
        ("\"10.1.0.0/16\"", "`routes` is not an array"),
        ("[\"10.1.0.1/16\"]", "`routes` holds `10.1.0.1/16`, which has bits beyond its prefix"),
        ("[\"fd01::1/64\"]", "which has bits beyond its prefix"),
        ("[\"10.1.0.0\"]", "which is no network"),
        (
            "[\"0.0.0.0/0\", \"default\"]",
            "says everything twice, two default routes: nothing says which",
        ),
        ("[\"default\", \"default\"]", "two default routes"),
        ("[\"default\", \"::/0\"]", "two default routes"),
        ("[\"10.1.0.0/16\", \"10.1.0.0/16\"]", "holds 10.1.0.0/16 twice"),
    ] {
        let text = errors(&with(routes)).to_string();
        assert!(text.contains(told), "{routes}: {text}");
    }
}
