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

/// Packets of 1500 bytes through a router with this processor, from one segment to the other.
fn through_a_router(cpu: &str, rate: &str) -> Document {
    let text = format!(
        "name = \"router\"\n[lab]\nduration = \"3s\"\nwarmup = \"1s\"\n\
         [[lab.segment]]\nname = \"s\"\ncount = 2\nrate = \"10mbit\"\narp = true\n\
         [[lab.host]]\nname = \"h\"\ncount = 2\nlink = {{ to = \"s{{i}}\" }}\n\
         [[lab.router]]\nname = \"r\"\nsegments = [\"s0\", \"s1\"]\n{cpu}\n\
         [[lab.flow]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h1\"\n\
         app = {{ kind = \"datagrams\", sizes = \"1472B\", rate = \"{rate}\", spacing = \"constant\" }}\n"
    );
    let document = Document::parse("router.toml", text, &|_| Err(String::new())).expect("TOML");
    let errors = document.check();
    assert!(errors.is_empty(), "{errors}");
    document
}

/// 425 us of each 1333, and the bus that both cards take meanwhile.
#[test]
fn a_router_pays_for_what_it_passes_on() {
    let result = run(&through_a_router("cpu = \"sun-3/60\"", "8.832mbit"));
    let loss = result.flows[0].metrics["loss"];
    assert_eq!(loss, Some(0.0));
    let (cpu, bus) = (of_host(&result, "r", "cpu"), of_host(&result, "r", "bus"));
    assert!((0.45..0.48).contains(&bus), "{bus}");
    let expected = 425.0 / 1333.0 / (1.0 - bus);
    assert!((cpu / expected - 1.0).abs() < 0.05, "{cpu} and not {expected}");
    let half = run(&through_a_router("cpu = \"sun-3/60\"", "4.416mbit"));
    assert!(of_host(&half, "r", "cpu") < 0.6 * cpu, "{}", of_host(&half, "r", "cpu"));
    let free = run(&through_a_router("", "8.832mbit"));
    assert!(free.hosts.is_empty() && free.flows[0].metrics["loss"] == Some(0.0));
}

/// It loses what finds no room at its card, and goes on passing on as much as it can.
#[test]
fn a_router_that_is_too_slow_loses_frames_at_its_card() {
    let cpu = "cpu = { base = \"sun-3/60\", packet = \"600us\" }";
    let result = run(&through_a_router(cpu, "8.832mbit"));
    assert!(of_host(&result, "r", "overruns") > 0.0);
    assert!(of_host(&result, "r", "cpu") > 0.99, "{}", of_host(&result, "r", "cpu"));
    let passed = goodput(&result);
    assert!((4e6..8e6).contains(&passed), "{passed}");
}

/// 1230 us on the wire, 150 until the driver has heard of it, and only then is the next prepared.
#[test]
fn a_routers_driver_of_one_packet_makes_the_wire_wait() {
    let cpu = "cpu = { base = \"sun-3/60\", driver_queue = \"1p\" }";
    let one = goodput(&run(&through_a_router(cpu, "8.832mbit")));
    assert!(one < 8.5e6, "{one}");
}

/// Calls in fragments, ARP and a router, all of which take their time.
#[test]
fn slow_hosts_speak_udp_and_arp_over_a_slow_router() {
    let cpu = "cpu = \"sun-3/60\"";
    let text = format!(
        "name = \"calls\"\n[lab]\nduration = \"2s\"\n\
         [[lab.segment]]\nname = \"s\"\ncount = 2\nrate = \"10mbit\"\narp = true\n\
         [[lab.host]]\nname = \"client\"\nlink = {{ to = \"s0\" }}\n{cpu}\n\
         [[lab.host]]\nname = \"server\"\nlink = {{ to = \"s1\" }}\n{cpu}\n\
         [[lab.router]]\nname = \"r\"\nsegments = [\"s0\", \"s1\"]\n{cpu}\n\
         [[lab.flow]]\nname = \"nfs\"\nfrom = \"client\"\nto = \"server\"\n\
         app = {{ kind = \"rpc\", request = \"160B\", response = \"8300B\", timeout = \"2s\" }}\n"
    );
    let document = Document::parse("calls.toml", text, &|_| Err(String::new())).expect("TOML");
    let experiment = document.experiment().expect("an experiment");
    let mut world: World = build::world(&experiment.plan(0, None).expect("a plan"), 1);
    world.start();
    let end = Instant::ZERO + Duration::from_secs(1);
    while world.step(end) {
        world.check_frames().unwrap_or_else(|error| panic!("{error}"));
    }
    let result = run(&document);
    let calls = result.flows[0].metrics["calls"].expect("a number");
    // Six fragments take the server some 0.7 ms each, copied and checksummed, and the wires 7 ms.
    assert!((60.0..200.0).contains(&calls), "{calls}");
    assert_eq!(result.flows[0].metrics["retransmitted"], Some(0.0));
    let cpu = |host: &str| of_host(&result, host, "cpu");
    assert!(cpu("server") > cpu("r") && cpu("client") > 0.2, "{} {}", cpu("server"), cpu("r"));
    assert_eq!(run(&document).digest, result.digest);
}
