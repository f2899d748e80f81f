//! Topologies that cannot be: loops, two default routes, gateways that are none. Each is refused with the reason,
//! once.

use trunkline_plan::Document;
use trunkline_plan::model::{Plan, Route};

fn document(text: &str) -> Document {
    Document::parse("p.toml", text, &|_| Err(String::new())).expect("TOML")
}

fn errors(text: &str) -> String {
    document(text).check().to_string()
}

fn plan(text: &str) -> Plan {
    document(text).experiment().and_then(|e| e.plan(0, None)).unwrap_or_else(|d| panic!("{d}"))
}

/// The only error of a plan.
fn told(text: &str) -> String {
    let check = document(text).check();
    assert_eq!(check.errors.len(), 1, "{check}");
    check.to_string()
}

/// Switches, each with what its `link` leads to, a host at the first, and more.
fn switches(links: &[(&str, &str)], more: &str) -> String {
    let mut text = "name = \"n\"\n".to_owned();
    for (name, to) in links {
        text += &format!("[[lab.switch]]\nname = \"{name}\"\n");
        if !to.is_empty() {
            text += &format!("link = {{ to = \"{to}\", rate = \"1gbit\" }}\n");
        }
    }
    text + "[[lab.host]]\nname = \"h\"\nlink = { to = \"a\", rate = \"1gbit\" }\n" + more
}

/// A bond of one Ethernet link.
fn bond(name: &str, ends: [&str; 2]) -> String {
    format!(
        "[[link]]\nname = \"{name}-l\"\nkind = \"ethernet\"\nrate = \"1gbit\"\n\
         [bond.{name}]\nends = {ends:?}\nmembers = [\"{name}-l\"]\n"
    )
}

/// The rest of an end whose `routes` are these.
fn end(name: &str, routes: &str) -> String {
    format!("[end.{name}]\naddress = [\"10.1.1.1/30\", \"fd00::1/64\"]\nroutes = {routes}\n")
}

/// Four segments, of which the routers `r` and `q` join the first with the second and the third, a host on each of the
/// last two, and more.
fn segments(more: &str) -> String {
    format!(
        "name = \"n\"\n[[lab.segment]]\nname = \"s\"\ncount = 4\nrate = \"10mbit\"\narp = true\n\
         [[lab.router]]\nname = \"r\"\nsegments = [\"s0\", \"s1\"]\n\
         [[lab.router]]\nname = \"q\"\nsegments = [\"s0\", \"s2\"]\n\
         [[lab.host]]\nname = \"near\"\nlink = {{ to = \"s2\" }}\n\
         [[lab.host]]\nname = \"far\"\nlink = {{ to = \"s3\" }}\n{more}"
    )
}

/// A host on a segment with a gateway, and a flow from there.
fn sun(segment: &str, gateway: &str, to: &str) -> String {
    format!(
        "[[lab.host]]\nname = \"sun\"\nlink = {{ to = \"{segment}\" }}\n\
         network = {{ gateway = {gateway} }}\n\
         [[lab.flow]]\nname = \"f\"\nfrom = \"sun\"\nto = \"{to}\"\napp = {{ kind = \"bulk\" }}\n"
    )
}

#[test]
fn a_switch_whose_link_leads_to_itself_is_a_loop() {
    let expected = "\
p.toml:4:8: the `link` of `a` leads to itself, a loop: a broadcast would go round for ever, for there is no spanning tree here
 4 | link = { to = \"a\", rate = \"1gbit\" }
   |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = accepted: a tree: one switch without `link`
";
    assert_eq!(errors(&switches(&[("a", "a")], "")), expected);
}

#[test]
fn switches_in_a_circle_are_a_loop_that_is_told_once() {
    let expected = "\
p.toml:7:8: `b` and `c` are in a loop of switches: a broadcast would go round for ever, for there is no spanning tree here
 7 | link = { to = \"c\", rate = \"1gbit\" }
   |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = accepted: a tree: one switch without `link`
";
    // Two cables between the same two switches, each the link of one, and a switch below them.
    assert_eq!(errors(&switches(&[("a", "b"), ("b", "c"), ("c", "b")], "")), expected);
    let three = told(&switches(&[("a", "b"), ("b", "c"), ("c", "a")], ""));
    assert!(three.contains("`a`, `b` and `c` are in a loop of switches"), "{three}");
    let apart = [("a", "b"), ("b", "a"), ("c", "d"), ("d", "c"), ("e", "")];
    assert_eq!(document(&switches(&apart, "")).check().errors.len(), 2);
    assert_eq!(errors(&switches(&[("a", "b"), ("b", "c"), ("c", ""), ("d", "c")], "")), "");
}

#[test]
fn two_cables_between_two_switches_are_a_loop() {
    let twice = switches(&[("a", ""), ("b", "a")], "").replacen(
        "link = { to = \"a\", rate = \"1gbit\" }",
        "link = [{ to = \"a\", rate = \"1gbit\" }, { to = \"a\", rate = \"1gbit\" }]",
        1,
    );
    let several = told(&twice);
    assert!(several.contains("several `link`s"), "{several}");
    assert!(several.contains("makes a loop: a broadcast would go round for ever"), "{several}");
    let expected = "\
p.toml:15:8: bond `x` makes a second way between the switches `a` and `b`, a loop: a broadcast would go round for ever, \
for there is no spanning tree here
 15 | ends = [\"a\", \"b\"]
    |        ^^^^^^^^^^
    = accepted: `link` of the lower switch, or a host at one end
";
    assert_eq!(errors(&switches(&[("a", ""), ("b", "a")], &bond("x", ["a", "b"]))), expected);
    let apart = told(&switches(&[("a", ""), ("b", "")], &bond("x", ["a", "b"])));
    assert!(apart.contains("bond `x` joins two switches, which only a `link` does"), "{apart}");
}

#[test]
fn a_host_between_two_switches_would_have_two_default_routes() {
    let two = bond("x", ["k", "b"]) + &bond("y", ["k", "a"]);
    let expected = "\
p.toml:22:8: two bonds lead from `k` to switches, two default routes: nothing says which one a packet takes
 22 | ends = [\"k\", \"a\"]
    |        ^^^^^^^^^^
    = accepted: one bond of all its cards
";
    assert_eq!(errors(&switches(&[("a", ""), ("b", "a")], &two)), expected);
    let both = told(&switches(&[("a", ""), ("b", "a")], &bond("x", ["h", "b"])));
    assert!(both.contains("and `link` is a second way, two default routes"), "{both}");
    let links = "link = [{ to = \"a\", rate = \"1gbit\" }, { to = \"b\", rate = \"1gbit\" }]";
    let text = switches(&[("a", ""), ("b", "a")], "");
    let at = text.rfind("link = ").expect("the host's");
    let several = told(&format!("{}{links}\n", &text[..at]));
    assert!(several.contains("has one card and not several, two default routes"), "{several}");
}

#[test]
fn a_segment_that_is_joined_twice_is_a_loop() {
    let router = |name: &str, list: &str| {
        segments(&format!("[[lab.router]]\nname = \"{name}\"\nsegments = {list}\n"))
    };
    let expected = "\
p.toml:21:12: `w` makes a second way to segment `s2`: a loop of routers, and nothing says which way a packet takes
 21 | segments = [\"s1\", \"s2\"]
    |            ^^^^^^^^^^^^
    = accepted: one way between two segments
";
    assert_eq!(errors(&router("w", "[\"s1\", \"s2\"]")), expected);
    let twice = told(&router("w", "[\"s3\", \"s3\"]"));
    assert!(twice.contains("names `s3` twice: two ways to one segment are a loop"), "{twice}");
    assert_eq!(errors(&router("w", "[\"s2\", \"s3\"]")), "");
    // With a gateway too.
    let both = format!("{}{}", router("w", "[\"s1\", \"s2\"]"), sun("s0", "\"r\"", "near"));
    assert_eq!(told(&both), expected);
}

#[test]
fn a_bond_leads_to_hosts_and_switches_only() {
    let segment = told(&segments(&bond("x", ["k", "s1"])));
    assert!(segment.contains("24:8: `s1` is a segment: no bond leads to one"), "{segment}");
    assert!(segment.contains("accepted: link = { to = \"s1\" } at a [[lab.host]]"), "{segment}");
    let router = told(&segments(&bond("x", ["r", "k"])));
    assert!(router.contains("`r` is a router, which has cards on segments only"), "{router}");
}

#[test]
fn a_router_has_room_for_its_cards_and_routes() {
    let many = |segments: usize, of_one: usize| {
        let mut text = format!(
            "name = \"n\"\n[[lab.segment]]\nname = \"t\"\ncount = {segments}\nrate = \"10mbit\"\narp = true\n\
             [[lab.host]]\nname = \"h\"\nlink = {{ to = \"t0\" }}\n"
        );
        for first in (0..segments - 1).step_by(of_one - 1) {
            let last = (first + of_one).min(segments);
            let list: Vec<String> = (first..last).map(|i| format!("t{i}")).collect();
            text += &format!("[[lab.router]]\nname = \"r{first}\"\nsegments = {list:?}\n");
        }
        text
    };
    assert_eq!(errors(&many(64, 64)), "");
    let cards = told(&many(65, 65));
    assert!(cards.contains("`r0` has 65 cards"), "{cards}");
    assert!(cards.contains("accepted: at most 64 segments"), "{cards}");
    assert_eq!(errors(&many(256, 60)), "");
    let routes = told(&many(257, 60));
    assert!(routes.contains("257 segments are joined with `t0`"), "{routes}");
    assert!(routes.contains("at most 256 segments that routers join"), "{routes}");
}

#[test]
fn a_host_names_the_router_of_its_default_route() {
    let text = segments(&sun("s0", "\"q\"", "near"));
    let plan = plan(&text);
    assert_eq!(plan.lab.machines[2].network.gateway, Some(1));
    assert_eq!(plan.lab.machines[0].network.gateway, None);
    assert_eq!(plan.lab.flows[0].route, Route::Switches { from: vec![2], to: 0 });
    // Whatever is behind another router is reached over the gateway too.
    assert_eq!(errors(&segments(&sun("s0", "\"r\"", "near"))), "");
}

#[test]
fn two_gateways_are_refused_with_the_reason() {
    let expected = "\
p.toml:22:23: `gateway` names several routers, two default routes: nothing says which one a packet takes
 22 | network = { gateway = [\"r\", \"q\"] }
    |                       ^^^^^^^^^^
    = accepted: gateway = \"ROUTER\", the name of one [[lab.router]]
";
    assert_eq!(errors(&segments(&sun("s0", "[\"r\", \"q\"]", "near"))), expected);
}

#[test]
fn a_gateway_is_a_router_on_the_hosts_own_segment() {
    let cases: [(&str, &str, &[&str]); 6] = [
        ("s0", "\"p\"", &["`gateway` \"p\" is no router", "accepted: r, q"]),
        ("s0", "\"near\"", &["`gateway` \"near\" is no router"]),
        ("s0", "[\"r\"]", &["`gateway` is an array", "the name of one [[lab.router]]"]),
        ("s1", "\"q\"", &["\"q\" has no card on the host's segment `s1`", "accepted: r"]),
        ("s3", "\"q\"", &["has no card on the host's segment `s3`", "segments = [\"s3\", …]"]),
        ("s0", "1", &["`gateway` is a number", "the name of one [[lab.router]]"]),
    ];
    for (segment, gateway, parts) in cases {
        let text =
            told(&segments(&sun(segment, gateway, if segment == "s3" { "far" } else { "near" })));
        for part in parts {
            assert!(text.contains(part), "{gateway}: no `{part}` in\n{text}");
        }
    }
}

#[test]
fn a_gateway_that_leads_nowhere_is_no_path() {
    let text = told(&segments(&sun("s0", "\"q\"", "far")));
    let reason = "there is no path from `sun` to `far`: they are at the segment `s0` and the segment `s3`, which \
                  nothing joins: the gateway `q` leads to `s1`, `s2` only";
    assert!(text.contains(reason), "{text}");
}

#[test]
fn a_host_with_a_default_route_over_a_bond_has_no_other() {
    let over = |card: &str| format!("`{card}` has two default routes, by ");
    let more = bond("x", ["sun", "k"]) + &end("sun", "[\"default\"]");
    let expected = "\
p.toml:37:10: `sun` has two default routes, by its gateway `q` and over bond `x`: nothing says which one a packet takes
 37 | routes = [\"default\"]
    |          ^^^^^^^^^^^
    = accepted: one default route, networks such as \"10.1.0.0/16\"
";
    assert_eq!(errors(&segments(&(sun("s0", "\"q\"", "near") + &more))), expected);
    let sun = segments(&sun("s0", "\"q\"", "near"));
    let without = sun.replace("network = { gateway = \"q\" }\n", "");
    assert_eq!(errors(&(without.clone() + &more)), "");
    // A segment on which all are known, and a switch, are where a card's host sends everything.
    let known = without.replace("[[lab.router]]\nname = \"q\"\nsegments = [\"s0\", \"s2\"]\n", "");
    let known = known
        .replacen("arp = true\n", "", 1)
        .replace("[[lab.router]]\nname = \"r\"\nsegments = [\"s0\", \"s1\"]\n", "");
    let text = told(&(known.replace("to = \"near\"", "to = \"k\"") + &more));
    assert!(text.contains(&(over("sun") + "its card on segment `s0`")), "{text}");
    let at_switch = bond("x", ["h", "k"]) + &end("h", "[\"default\"]");
    let text = told(&switches(&[("a", "")], &at_switch));
    assert!(text.contains(&(over("h") + "its card at switch `a` and over bond `x`")), "{text}");
    // Only those of one version of IP are two.
    let ipv6 = at_switch.replace("\"default\"", "\"::/0\"");
    assert_eq!(errors(&switches(&[("a", "")], &ipv6)), "");
}

#[test]
fn an_end_of_two_bonds_has_no_default_route_over_both() {
    let text = format!(
        "name = \"n\"\n{}{}{}",
        bond("x", ["a", "k"]),
        bond("y", ["m", "a"]),
        end("a", "[\"10.9.0.0/16\", \"default\"]")
    );
    let expected = "\
p.toml:18:10: `a` has two default routes, over bond `x` and bond `y`: nothing says which one a packet takes
 18 | routes = [\"10.9.0.0/16\", \"default\"]
    |          ^^^^^^^^^^^^^^^^^^^^^^^^^^
    = accepted: one default route, networks such as \"10.1.0.0/16\"
";
    assert_eq!(errors(&text), expected);
    assert_eq!(errors(&text.replace(", \"default\"", "")), "");
    assert_eq!(errors(&text.replace("[\"m\", \"a\"]", "[\"m\", \"k\"]")), "");
}
