//! Settings of a running bond: they change while packets flow, and are shown.

use crate::site::{PLAN, Site};
use serde_json::Value;

#[test]
fn modes_monitors_and_routes_change_while_packets_flow() {
    let Some(site) = Site::new("change") else {
        return;
    };
    let routed = PLAN.replacen(
        "device = \"tl0\"\n",
        "device = \"tl0\"\nroutes = [\"10.98.0.0/16\", \"fd98::/64\"]\n",
        1,
    );
    site.write(&routed);
    let dry = site.run("home", "up ./plan.toml --as home --dry-run");
    assert!(dry.stdout.contains("route 10.98.0.0/16 over tl0"), "{dry}");
    site.up();
    let routes = |version: &str| site.bed.ip("home", &format!("{version} route show dev tl0"));
    assert!(routes("-4").contains("10.98.0.0/16") && routes("-6").contains("fd98::/64"));
    for mode in ["balance-rr", "eql", "active-backup", "earliest"] {
        site.expect("home", &format!("set tl0 mode {mode}"), 0, mode);
        assert_eq!(site.shown("home")["bonding_mode"], mode);
        site.ping("home", "10.99.0.2:7");
        assert_eq!(site.shown("home")["slaves"].as_array().map(Vec::len), Some(2));
    }
    site.expect("home", "set tl0 down_after 300ms", 0, "");
    site.expect("home", "set tl0 probe 250ms", 0, "");
    site.expect("home", "set tl0 up_after 0s", 0, "");
    let settings = site.run("home", "get tl0").stdout;
    for line in ["mode = earliest", "probe = 250ms", "down_after = 300ms", "up_after = 0s"] {
        assert!(settings.lines().any(|found| found == line), "no {line} in {settings}");
    }
    let other = "mode = \"active-backup\"\nmonitor = { probe = \"40ms\", down_after = \"400ms\" }";
    site.write(
        &routed.replace("mode = \"earliest\"", other).replace("10.98.0.0/16", "10.97.0.0/16"),
    );
    site.expect("home", "reload tl0", 0, "");
    assert!(routes("-4").contains("10.97.0.0/16") && !routes("-4").contains("10.98"));
    let settings = site.run("home", "get tl0").stdout;
    assert!(settings.contains("mode = active-backup") && settings.contains("down_after = 400ms"));
    // A route the kernel has already: nothing of the plan is followed.
    site.bed.ip("home", "route add 10.96.0.0/16 dev wan0");
    let taken = "routes = [\"10.95.0.0/16\", \"10.96.0.0/16\"]";
    site.write(&routed.replace("routes = [\"10.98.0.0/16\", \"fd98::/64\"]", taken));
    site.expect("home", "reload tl0", 5, "route to 10.96.0.0/16 on tl0");
    assert!(routes("-4").contains("10.97.0.0/16") && !routes("-4").contains("10.95"));
    site.ping("home", "10.99.0.2:7");
    shown_paths(&site);
    site.bed.ip("home", "route del 10.96.0.0/16 dev wan0");
    for side in ["home", "server"] {
        site.expect(side, "down tl0", 0, "bond tl0 is down");
    }
    assert!(!site.bed.ip("home", "route show table all").contains("10.97"));
    site.expect_clean();
}

#[test]
fn a_link_in_front_of_the_others_disturbs_none_of_them() {
    let Some(site) = Site::new("front") else {
        return;
    };
    site.up();
    site.ping("home", "10.99.0.2:7");
    let first = "[[link]]\nname = \"z\"\nkind = \"udp\"\ntrunk = true\nrate = \"5mbit\"\n\
                 at.home = { remote = \"10.77.0.3:4500\" }\nat.server = { remote = \"10.77.0.9\" }\n";
    site.write(&PLAN.replacen("[[link]]", &format!("{first}[[link]]"), 1));
    let sent = |bond: &Value| [0, 1].map(|i| bond["slaves"][i]["path"]["tx_datagrams"].as_u64());
    let before = sent(&site.shown("home"));
    site.expect("home", "reload tl0", 0, "");
    let bond = site.shown("home");
    assert!(sent(&bond) >= before, "{bond}");
    site.ping("home", "10.99.0.2:7");
    site.expect("home", "enslave tl0 z", 0, "");
    for side in ["home", "server"] {
        let bond = site.shown(side);
        assert_eq!(bond["drops"]["duplicate"].as_u64().unwrap_or(0), 0, "{bond}");
        site.expect(side, "down tl0", 0, "bond tl0 is down");
    }
    site.expect_clean();
}

#[test]
fn a_device_that_was_down_has_its_addresses_and_routes_again() {
    let Some(site) = Site::new("again") else {
        return;
    };
    let line = "device = \"tl0\"\n";
    let routed = format!("{line}routes = [\"10.98.0.0/16\", \"fd98::/64\"]\n");
    site.write(&PLAN.replacen(line, &routed, 1));
    site.up();
    site.ping("home", "[fd99::2]:7");
    site.bed.ip("home", "link set tl0 down");
    site.bed.ip("home", "link set tl0 up");
    let has = |words: &str, text: &str| site.bed.ip("home", words).contains(text);
    site.until("home", |_| {
        has("address show dev tl0", "fd99::1/126")
            && has("-4 route show dev tl0", "10.98.0.0/16")
            && has("-6 route show dev tl0", "fd98::/64")
    });
    site.ping("home", "10.99.0.2:7");
    site.ping("home", "[fd99::2]:7");
    for side in ["home", "server"] {
        site.expect(side, "down tl0", 0, "bond tl0 is down");
    }
    site.expect_clean();
}

/// What is measured is shown.
fn shown_paths(site: &Site) {
    let bond = site.shown("home");
    assert_eq!(bond["ingress_packets"], 0);
    assert_eq!(bond["routes"][0], "10.97.0.0/16");
    assert_eq!(bond["resequencer"]["waiting"], 0);
    let ran = site.run("home", "show path tl0 --json");
    let document: Value = serde_json::from_str(&ran.stdout).expect("one document");
    assert_eq!(document["schema"], "trunkline.show-path/1");
    for (path, link) in document["paths"].as_array().expect("paths").iter().zip(["a", "b"]) {
        assert_eq!((&path["link"], &path["standing"]), (&link.into(), &"good".into()), "{path}");
        assert!(path["srtt"].as_f64().is_some_and(|srtt| srtt > 0.0 && srtt < 1.0), "{path}");
        assert!(path["rx_datagrams"].as_u64() > Some(0) && path["loss"].is_f64(), "{path}");
        assert_eq!((&path["deaths"], &path["rx_late"]), (&0.into(), &0.into()), "{path}");
    }
    let table = site.run("home", "show path tl0.b -s").stdout;
    let lines: Vec<&str> = table.lines().collect();
    assert!(
        lines.len() == 2 && lines[0].contains("rx late") && lines[1].contains("good"),
        "{table}"
    );
    let text = site.run("home", "show bond tl0 -s").stdout;
    for label in ["Routes: 10.97.0.0/16", "Waiting: 0 packets, 0 bytes", "Path: good, round trip"] {
        assert!(text.contains(label), "no {label} in {text}");
    }
}
