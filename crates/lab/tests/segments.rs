//! Hosts on a half-duplex Ethernet: what it carries, who hears what, and what a slow receiver loses.

mod plans;

use plans::{metric, run_text};

/// Hosts on one segment and a file between two of them.
const FILE: &str = "name = \"shared\"
[lab]
duration = \"60s\"
[[lab.segment]]
name = \"ether\"
rate = \"10mbit\"
[[lab.host]]
name = \"ws\"
count = 100
link = { to = \"ether\" }
[[lab.host]]
name = \"server\"
link = { to = \"ether\" }
[[lab.flow]]
name = \"file\"
from = \"ws0\"
to = \"server\"
app = { kind = \"bulk\", bytes = \"2MB\" }
";

#[test]
fn a_file_between_two_of_a_hundred_uses_the_cable_and_collides_with_its_acknowledgments() {
    let result = run_text(FILE, &[]);
    let goodput = metric(&result, "file.goodput");
    assert!((7.0e6..9.5e6).contains(&goodput), "{goodput}");
    let of = |name: &str| metric(&result, &format!("ether.{name}"));
    assert!((0.75..1.0).contains(&of("utilisation")), "{}", of("utilisation"));
    assert!(of("busy") > of("utilisation"));
    let [collisions, given_up] = [of("collisions"), of("given_up")];
    assert!(
        collisions > 100.0 && given_up < 0.05 * collisions,
        "{collisions}, {given_up} given up"
    );
    assert!(of("attempts_mean") > 1.0 && of("deferred") > 0.0);
    assert_eq!((of("rate"), of("missed")), (10e6, 0.0));
}

#[test]
fn eleven_senders_share_what_one_has() {
    // 9 and 90 to 99.
    let many = FILE.replace("\"ws0\"", "\"ws9*\"").replace(", bytes = \"2MB\"", "");
    let result = run_text(&many, &[]);
    let (goodput, jain) = (metric(&result, "file.goodput"), metric(&result, "file.jain"));
    assert!((6.0e6..9.5e6).contains(&goodput), "{goodput}");
    assert!(jain > 0.5, "{jain}");
}

#[test]
fn a_cable_with_places_carries_as_much_as_a_hub() {
    let bus = FILE.replace("rate = \"10mbit\"", "rate = \"10mbit\"\nlayout = \"bus\"");
    let goodput = metric(&run_text(&bus, &[]), "file.goodput");
    assert!((7.0e6..9.5e6).contains(&goodput), "{goodput}");
}

#[test]
fn a_hundred_megabits_are_ten_times_as_much() {
    let goodput = metric(&run_text(&FILE.replace("10mbit", "100mbit"), &[]), "file.goodput");
    assert!((60e6..95e6).contains(&goodput), "{goodput}");
}

#[test]
fn only_a_receiver_that_needs_time_loses_frames_that_follow_each_other() {
    let slow = FILE.replace(
        "name = \"server\"\nlink = { to = \"ether\" }",
        "name = \"server\"\nlink = { to = \"ether\", receiver = { loss = \"50%\" } }",
    );
    let result = run_text(&slow, &[]);
    let missed = metric(&result, "ether.missed");
    let retransmitted = metric(&result, "file.retransmitted");
    assert!(missed > 5.0 && retransmitted >= missed, "{missed} missed, {retransmitted} sent again");
    // With a span shorter than the gap none is too soon.
    let quick = slow.replace("loss = \"50%\"", "loss = \"100%\", recovery = \"9us\"");
    assert_eq!(metric(&run_text(&quick, &[]), "ether.missed"), 0.0);
}

/// The hosts of the segment, all of which send datagrams to the server.
fn load(rate: &str, spacing: &str) -> String {
    let app = format!(
        "{{ kind = \"datagrams\", sizes = [\"18B\", \"1472B\"], rate = \"{rate}\", spacing = \"{spacing}\" }}"
    );
    let text = FILE.replace("{ kind = \"bulk\", bytes = \"2MB\" }", &app);
    text.replace("\"ws0\"", "\"ws*\"").replace("\"60s\"", "\"20s\"\nwarmup = \"10s\"")
}

#[test]
fn datagrams_are_counted_and_timed() {
    let result = run_text(&load("3.768mbit", "constant"), &[]);
    let of = |name: &str| metric(&result, &format!("file.{name}"));
    let [sent, received] = [of("sent"), of("received")];
    // 40 % of the cable in frames of 791 bytes in the mean: 632 a second.
    assert!((6_300.0..6_340.0).contains(&sent), "{sent}");
    assert!(sent - received < 10.0 && of("lost") == 0.0 && of("loss") == 0.0, "{received}");
    assert!((of("goodput") / 3.768e6 - 1.0).abs() < 0.05, "{}", of("goodput"));
    // A frame of 64 bytes with its preamble, and the way.
    assert!(of("delay_p50") >= 72.0 * 0.8e-6 + 12.8e-6, "{}", of("delay_p50"));
    assert!(of("delay_mean") < 0.002 && of("delay_p99") <= of("delay_max"), "{}", of("delay_mean"));
    assert!((metric(&result, "ether.utilisation") - 0.4).abs() < 0.02);
}

#[test]
fn datagrams_beyond_what_the_cable_carries_are_lost() {
    let result = run_text(&load("20mbit", "poisson"), &[]);
    // The rest waits in front of 96 cards.
    let loss = metric(&result, "file.loss");
    assert!((0.1..0.9).contains(&loss), "{loss}");
    assert!(metric(&result, "ether.utilisation") > 0.5);
}

#[test]
fn datagrams_go_over_switches_too() {
    let segment = "[[lab.segment]]\nname = \"ether\"\nrate = \"10mbit\"";
    let switched =
        load("3.768mbit", "constant").replace(segment, "[[lab.switch]]\nname = \"ether\"");
    let cable = "{ to = \"ether\", rate = \"10mbit\", delay = \"1us\" }";
    let result = run_text(&switched.replace("{ to = \"ether\" }", cable), &[]);
    assert_eq!(metric(&result, "file.lost"), 0.0);
    // Twice the time of the longest frame, and two cables.
    let median = metric(&result, "file.delay_p50");
    assert!(median <= 2.0 * 1538.0 * 0.8e-6 + 2e-6, "{median}");
}

#[test]
fn links_and_hosts_share_a_segment() {
    let link = "[[link]]\nname = \"line\"\nkind = \"ethernet\"\nrate = \"10mbit\"\n\
                [bond.b]\nends = [\"a\", \"z\"]\nmembers = [\"line\"]\n[lab]";
    let flow = "[[lab.flow]]\nname = \"other\"\nfrom = \"a\"\nto = \"z\"\n\
                app = { kind = \"bulk\" }\n[[lab.flow]]";
    let both = FILE.replace("[lab]", link).replace("[[lab.flow]]", flow);
    let both = both.replace(", bytes = \"2MB\"", "");
    for layout in ["star", "bus"] {
        let shared = format!("links = [\"line\"]\nlayout = \"{layout}\"\n[[lab.host]]");
        let result = run_text(&both.replacen("[[lab.host]]", &shared, 1), &[]);
        let rates = ["file.goodput", "other.goodput"].map(|name| metric(&result, name));
        assert!(rates.iter().all(|rate| *rate > 0.5e6), "{layout}: {rates:?}");
        assert!((6.0e6..9.5e6).contains(&rates.iter().sum()), "{layout}: {rates:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_collisions() {
    assert_eq!(run_text(FILE, &[]).digest, run_text(FILE, &[]).digest);
}
