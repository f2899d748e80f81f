//! Hosts that take time for what they do, in whole networks.

use trunkline_core::time::{Duration, Instant};
use trunkline_lab::build;
use trunkline_lab::experiment::{self, Options};
use trunkline_lab::result::ResultDocument;
use trunkline_lab::world::World;
use trunkline_plan::Document;

/// Two hosts at a switch, with these processors.
fn plan(tx: &str, rx: &str, rest: &str) -> Document {
    let host = |name: &str, cpu: &str| {
        format!(
            "[[lab.host]]\nname = \"{name}\"\nlink = {{ to = \"s\", rate = \"100mbit\", delay = \"5us\" }}\n{cpu}\n"
        )
    };
    let text = format!(
        "name = \"slow\"\n[[lab.switch]]\nname = \"s\"\n{}{}[[lab.flow]]\nname = \"f\"\nfrom = \"tx\"\n\
         to = \"rx\"\n{rest}\n",
        host("tx", tx),
        host("rx", rx)
    );
    let document = Document::parse("slow.toml", text, &|_| Err(String::new())).expect("TOML");
    let errors = document.check();
    assert!(errors.is_empty(), "{errors}");
    document
}

fn run(document: &Document) -> ResultDocument {
    let experiment = document.experiment().expect("an experiment");
    experiment::run(&experiment, Options::default(), &|_| ()).expect("a result").document
}

fn goodput(document: &ResultDocument) -> f64 {
    document.flows[0].metrics["goodput"].expect("the file arrived")
}

fn of_host(document: &ResultDocument, host: &str, metric: &str) -> f64 {
    let host = document.hosts.iter().find(|h| h.host == host).expect("a host with a processor");
    host.metrics[metric].expect("a value")
}

const FILE: &str = "app = { kind = \"bulk\", bytes = \"300KB\", content = \"pattern\" }";

#[test]
fn every_frame_is_somewhere_at_every_step() {
    let document = plan("cpu = \"sun-3/60\"", "cpu = \"486slc-40\"", FILE);
    let experiment = document.experiment().expect("an experiment");
    let mut world: World = build::world(&experiment.plan(0, None).expect("a plan"), 1);
    world.start();
    let end = Instant::ZERO + Duration::from_secs(60);
    let mut steps = 0;
    while world.step(end) {
        world.check_frames().unwrap_or_else(|error| panic!("step {steps}: {error}"));
        steps += 1;
    }
    assert!(steps > 1000, "{steps}");
}

#[test]
fn a_slow_sender_is_the_limit_and_says_so() {
    let slow = run(&plan("cpu = \"sun-3/60\"", "cpu = \"modern\"", FILE));
    let fast = run(&plan("", "", FILE));
    assert!(goodput(&slow) < goodput(&fast) / 5.0, "{} {}", goodput(&slow), goodput(&fast));
    assert!(of_host(&slow, "tx", "cpu") > 0.6, "{}", of_host(&slow, "tx", "cpu"));
    assert!(of_host(&slow, "rx", "cpu") < 0.1, "{}", of_host(&slow, "rx", "cpu"));
    assert_eq!(slow.hosts.len(), 2);
    assert!(fast.hosts.is_empty());
}

#[test]
fn a_receiver_that_is_too_slow_loses_frames_at_its_card() {
    let rx = "cpu = { base = \"486slc-40\", receive_ring = \"2p\" }";
    let result = run(&plan("", rx, FILE));
    assert!(of_host(&result, "rx", "overruns") > 0.0);
    assert_eq!(result.flows[0].metrics["wrong"], Some(0.0));
    assert!(result.flows[0].metrics["retransmitted"] > Some(0.0));
    assert!(goodput(&result) > 0.0);
}

#[test]
fn the_same_seed_gives_the_same_digest() {
    let document = plan("cpu = \"sun-3/60\"", "cpu = \"sun-3/50\"", FILE);
    assert_eq!(run(&document).digest, run(&document).digest);
}
