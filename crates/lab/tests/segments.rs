//! Hosts on a half-duplex Ethernet: what it carries, who hears what, and what a slow receiver loses.

use trunkline_lab::experiment::{self, Options};
use trunkline_lab::result::ResultDocument;
use trunkline_plan::Document;

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

fn run(text: &str) -> ResultDocument {
    let document = Document::parse("p.toml", text, &|_| Err(String::new())).expect("TOML");
    let errors = document.check();
    assert!(errors.is_empty(), "{errors}");
    let plan = document.experiment().expect("a valid experiment");
    experiment::run(&plan, Options::default(), &|_| ()).expect("a runnable plan").document
}

fn metric(result: &ResultDocument, name: &str) -> f64 {
    let (owner, metric) = name.rsplit_once('.').expect("NAME.METRIC");
    let flow = result.flows.iter().find(|f| f.flow == owner).map(|f| &f.metrics);
    let link = result.links.iter().find(|l| l.link == owner).map(|l| &l.metrics);
    flow.or(link).and_then(|m| m[metric]).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn a_file_between_two_of_a_hundred_uses_the_cable_and_collides_with_its_acknowledgments() {
    let result = run(FILE);
    let goodput = metric(&result, "file.goodput");
    assert!((7.0e6..9.5e6).contains(&goodput), "{goodput}");
    let of = |name: &str| metric(&result, &format!("ether.{name}"));
    assert!((0.75..1.0).contains(&of("utilisation")), "{}", of("utilisation"));
    assert!(of("busy") > of("utilisation"));
    assert!(of("collisions") > 100.0 && of("given_up") == 0.0, "{}", of("collisions"));
    assert!(of("attempts_mean") > 1.0 && of("deferred") > 0.0);
    assert_eq!((of("rate"), of("missed")), (10e6, 0.0));
}

#[test]
fn two_senders_share_what_one_has() {
    let two =
        FILE.replace("\"ws0\"", "\"ws[01]\"").replace("bytes = \"2MB\"", "duration = \"30s\"");
    let result = run(&two);
    let goodput = metric(&result, "file.goodput");
    assert!((6.5e6..9.5e6).contains(&goodput), "{goodput}");
    assert!(metric(&result, "file.jain") > 0.7);
}

#[test]
fn a_cable_with_places_carries_as_much_as_a_hub() {
    let bus = FILE.replace("rate = \"10mbit\"", "rate = \"10mbit\"\nlayout = \"bus\"");
    let goodput = metric(&run(&bus), "file.goodput");
    assert!((7.0e6..9.5e6).contains(&goodput), "{goodput}");
}

#[test]
fn a_hundred_megabits_are_ten_times_as_much() {
    let goodput = metric(&run(&FILE.replace("10mbit", "100mbit")), "file.goodput");
    assert!((60e6..95e6).contains(&goodput), "{goodput}");
}

#[test]
fn only_a_receiver_that_needs_time_loses_frames_that_follow_each_other() {
    let slow = FILE.replace(
        "name = \"server\"\nlink = { to = \"ether\" }",
        "name = \"server\"\nlink = { to = \"ether\", receiver = { loss = \"50%\" } }",
    );
    let result = run(&slow);
    let missed = metric(&result, "ether.missed");
    let retransmitted = metric(&result, "file.retransmitted");
    assert!(missed > 5.0 && retransmitted >= missed, "{missed} missed, {retransmitted} sent again");
    // With a span shorter than the gap none is too soon.
    let quick = slow.replace("loss = \"50%\"", "loss = \"100%\", recovery = \"9us\"");
    assert_eq!(metric(&run(&quick), "ether.missed"), 0.0);
}

#[test]
fn the_same_seed_gives_the_same_collisions() {
    assert_eq!(run(FILE).digest, run(FILE).digest);
}
