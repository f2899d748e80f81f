//! DCTCP beside CUBIC on full-duplex Ethernet: the tests that the reference of this project names DSE and
//! DCT-6, on the published plans cut short.

mod plans;

use plans::{metric_in, run_ready, run_text};
use trunkline_lab::experiment::{self, Options};
use trunkline_lab::library;
use trunkline_lab::result::{Expectation, ResultDocument};

fn expectation<'r>(result: &'r ResultDocument, run: &str, what: &str) -> &'r Expectation {
    let found = result.expectations.iter().find(|e| e.run.contains(run) && e.what == what);
    found.unwrap_or_else(|| panic!("{run}: no expectation of {what}"))
}

/// The source's own setting, for two seconds.
fn incast(cc: &str, rto_min: &str, buffer: &str) -> ResultDocument {
    let chosen =
        format!("{{ cc = [\"{cc}\"], rto_min = [\"{rto_min}\"], buffer = [\"{buffer}\"] }}");
    run_ready("dctcp-incast", &[("lab.rows.where", &chosen), ("lab.duration", "2s")])
}

#[test]
fn dse_1_dctcp_shares_evenly_without_a_timeout() {
    let result = incast("dctcp", "10ms", "5MB");
    let value = |name: &str| metric_in(&result, "reproduced", name);
    assert_eq!(value("incast.timeouts"), 0.0);
    let mean = value("incast.goodput_mean");
    assert!((mean / (9.9e9 / 19.0) - 1.0).abs() < 0.01, "{mean}");
    assert!(value("incast.jain") >= 0.999);
    assert!(value("incast.goodput_stddev") <= 0.01 * mean);
}

#[test]
fn dse_2_cubic_fills_the_link_and_shares_it_badly() {
    let result = incast("cubic", "10ms", "5MB");
    let value = |name: &str| metric_in(&result, "reproduced", name);
    let total = value("incast.goodput");
    assert!((total / 9.9e9 - 1.0).abs() < 0.02, "{total}");
    assert!(value("incast.timeouts") >= 1.0);
    let (jain, mean) = (value("incast.jain"), value("incast.goodput_mean"));
    assert!((0.9..0.999).contains(&jain), "{jain}");
    assert!(value("incast.goodput_stddev") >= 0.05 * mean);
}

/// Flows that stall begin to count late: the sum of their rates was more than the cable carries.
#[test]
fn flows_that_stall_bring_no_more_than_the_cable_carries() {
    for buffer in ["1MB", "0.1MB"] {
        let result = incast("cubic", "200ms", buffer);
        let value = |name: &str| metric_in(&result, "reproduced", name);
        assert!(value("incast.timeouts") > 0.0);
        let share = value("incast.of_ceiling");
        assert!(share > 0.2 && share <= 1.0, "{buffer}: {share}");
    }
}

#[test]
fn dse_3_a_ping_waits_in_cubics_queue_and_not_in_dctcps() {
    let result = run_ready("dctcp-latency", &[("lab.duration", "1.5s"), ("lab.warmup", "0.5s")]);
    for (mtu, least) in [("mtu=1500", 40.0), ("mtu=9000", 15.0)] {
        let ratio = expectation(&result, mtu, "cubic-ping.rtt_mean / dctcp-ping.rtt_mean");
        assert!(ratio.value.is_some_and(|ratio| ratio >= least), "{ratio:?}");
        let cubic = metric_in(&result, mtu, "cubic-ping.rtt_mean");
        assert!((3.3e-3..4.2e-3).contains(&cubic), "{cubic}");
    }
}

/// The second flow comes after a second and stays for two.
fn convergence(cc: &str) -> ResultDocument {
    let chosen = format!("{{ cc = [\"{cc}\"] }}");
    let duration = ("lab.flow.second.app.duration", "2s");
    run_ready("dctcp-convergence", &[("lab.rows.where", &chosen), ("lab.duration", "4s"), duration])
}

#[test]
fn dse_4_two_flows_of_dctcp_are_even_at_once() {
    let dctcp = convergence("dctcp");
    assert!(metric_in(&dctcp, "dctcp", "close.fair_after") < 0.5);
    assert!(metric_in(&dctcp, "dctcp", "both.jain_min") >= 0.995);
    let cubic = convergence("cubic");
    let uneven = metric_in(&cubic, "cubic", "both.jain_min");
    assert!(uneven < metric_in(&dctcp, "dctcp", "both.jain_min"), "{uneven}");
}

#[test]
fn dse_5_a_syn_without_ect_fails_as_flows_come() {
    let result = run_ready("dctcp-syn-ect", &[("lab.duration", "0.6s"), ("lab.warmup", "0.2s")]);
    let probability = |ect: bool, flows: u32| {
        metric_in(&result, &format!("ect={ect} flows={flows}"), "syn.probability")
    };
    let all = [1, 2, 4, 8, 16];
    assert!(all.iter().all(|flows| probability(true, *flows) == 1.0));
    let without = all.map(|flows| probability(false, flows));
    assert!(without[0] >= 0.99 && without[4] <= 0.1, "{without:?}");
    assert!(without.windows(2).all(|pair| pair[1] <= pair[0]), "{without:?}");
}

#[test]
fn dse_6_what_a_flow_leaves_is_taken_within_a_second() {
    let after = metric_in(&convergence("dctcp"), "dctcp", "close.recovered_after");
    assert!(after <= 1.0, "{after}");
}

#[test]
fn dct_6_two_long_flows_keep_the_link_busy_and_the_queue_at_k() {
    let plan = "
name = \"two\"
[lab]
duration = \"0.5s\"
warmup = \"0.1s\"
[[lab.switch]]
name = \"tor\"
port = { queue = { kind = \"step-ecn\", limit = \"5MB\", mark = \"65p\" } }
[[lab.host]]
name = \"tx\"
count = 2
link = { to = \"tor\", rate = \"10gbit\", delay = \"20us\", jitter = \"2us\" }
[[lab.host]]
name = \"rx\"
link = { to = \"tor\", rate = \"10gbit\", delay = \"20us\", jitter = \"2us\" }
[[lab.flow]]
name = \"long\"
from = \"tx[*]\"
to = \"rx\"
app = { kind = \"bulk\" }
tcp = { cc = \"dctcp\", rto_min = \"10ms\" }
";
    let result = run_text(plan, &[]);
    assert!(metric_in(&result, "", "long.of_ceiling") >= 0.99);
    let queue = metric_in(&result, "", "tor.rx.queue_mean");
    // Two packets a flow beyond K are what one round trip of slow growth adds.
    assert!(queue <= f64::from((65 + 4) * 1500), "{queue}");
    assert_eq!(metric_in(&result, "", "long.timeouts"), 0.0);
    assert!(metric_in(&result, "", "tor.rx.marked") > 0.0);
}

const INCAST_1G: &str = include_str!("../../plan/tests/incast-1g.toml");

/// A user's plan: rounds of 1 MB from 19 servers over a switch that shares 4 MB.
#[test]
fn servers_that_answer_one_at_once_lose_nothing_with_dctcp() {
    let short = [("lab.duration", "0.6s"), ("lab.warmup", "0.1s"), ("lab.runs", "1")];
    let cubic = run_text(INCAST_1G, &short);
    let chosen = [("cc", "\"dctcp\""), ("ecn", "\"on\""), ("dscp", "1")];
    let dctcp = run_text(INCAST_1G, &[&short[..], &chosen].concat());
    assert_eq!(metric_in(&dctcp, "", "incast.timeouts"), 0.0);
    assert!(metric_in(&dctcp, "", "incast.rounds") >= 2.0);
    let queue = |result| metric_in(result, "", "tor.rx.queue_max");
    assert!(queue(&dctcp) < queue(&cubic), "{} {}", queue(&dctcp), queue(&cubic));
    assert_eq!(dctcp.expectations.len(), 1);
    assert!(dctcp.holds());
}

#[test]
fn a_round_with_a_barrier_waits_for_the_slowest() {
    let short = [("lab.duration", "1s"), ("lab.warmup", "0.1s")];
    let chosen = "{ cc = [\"cubic\"], rto_min = [\"200ms\"], buffer = [\"0.1MB\"] }";
    let result = run_ready("dctcp-incast", &[&short[..], &[("lab.rows.where", chosen)]].concat());
    let barrier = metric_in(&result, "barrier", "incast.goodput");
    let free = metric_in(&result, "reproduced", "incast.goodput");
    assert!(barrier < 0.2 * free, "{barrier} {free}");
}

#[test]
fn requirements_of_a_data_centre_hold() {
    let result = run_ready("dctcp-workload", &[("lab.duration", "5s"), ("lab.warmup", "0.5s")]);
    assert_eq!(metric_in(&result, "", "dctcp-front-query.timeouts"), 0.0);
    let queue = |cc: &str| metric_in(&result, "", &format!("{cc}-back.{cc}-back-rx.queue_mean"));
    assert!(queue("dctcp") <= 0.1 * queue("cubic"), "{} {}", queue("dctcp"), queue("cubic"));
}

#[test]
fn queues_by_codepoint_keep_dctcp_and_cubic_apart() {
    let sets = [("lab.duration", "0.5s"), ("lab.warmup", "0.2s")];
    let result = run_ready("dctcp-vs-cubic", &sets);
    let share = |port: &str| {
        let dctcp = metric_in(&result, port, "dctcp.goodput");
        dctcp / (dctcp + metric_in(&result, port, "cubic.goodput"))
    };
    assert!(share("CUBIC without ECN") > 0.95, "{}", share("CUBIC without ECN"));
    assert!((share("in turns") - 0.5).abs() < 0.05, "{}", share("in turns"));
}

/// Two racks and a switch above them.
const TREE: &str = "
name = \"tree\"
[lab]
duration = \"1s\"
[[lab.switch]]
name = \"spine\"
[[lab.switch]]
name = \"left\"
link = { to = \"spine\", rate = \"10gbit\", delay = \"1us\" }
[[lab.switch]]
name = \"right\"
link = { to = \"spine\", rate = \"10gbit\", delay = \"1us\" }
[[lab.host]]
name = \"a\"
link = { to = \"left\", rate = \"1gbit\", delay = \"5us\" }
[[lab.host]]
name = \"b\"
link = { to = \"right\", rate = \"1gbit\", delay = \"5us\" }
[[lab.host]]
name = \"c\"
link = { to = \"left\", rate = \"1gbit\", delay = \"5us\" }
[[lab.flow]]
name = \"across\"
from = \"a\"
to = \"b\"
app = { kind = \"bulk\", bytes = \"10MB\", content = \"pattern\" }
[[lab.flow]]
name = \"beside\"
from = \"b\"
to = \"c\"
app = { kind = \"bulk\", bytes = \"10MB\", content = \"pattern\" }
[[lab.flow]]
name = \"ping\"
from = \"c\"
to = \"a\"
app = { kind = \"ping\", interval = \"10ms\", count = 50 }
";

#[test]
fn packets_find_their_way_through_a_tree_of_switches() {
    let result = run_text(TREE, &[]);
    for flow in ["across.complete", "beside.complete"] {
        assert_eq!(metric_in(&result, "", flow), 1.0, "{flow}");
    }
    // Two cables each way, 84 bytes of packet in 122 on the wire, store and forward.
    let empty = 4.0 * (5e-6 + 122.0 * 8.0 / 1e9);
    let rtt = metric_in(&result, "", "ping.rtt_min");
    assert!((rtt - empty).abs() < 1e-7, "{rtt} {empty}");
    assert!(result.holds());
}

#[test]
fn the_digest_of_switches_is_the_same_with_one_job_or_many() {
    let sets = [("lab.duration", "0.05s"), ("lab.warmup", "0.01s")];
    let one = run_ready("dctcp-vs-cubic", &sets).digest;
    let mut document = library::find("dctcp-vs-cubic").expect("ready").document().expect("valid");
    for (key, value) in sets {
        document.set(key, value).expect("a key");
    }
    let plan = document.experiment().expect("valid");
    let options = Options { jobs: 1, ..Options::default() };
    let other = experiment::run(&plan, options, &|_| ()).expect("runnable").document.digest;
    assert_eq!(one, other);
}
