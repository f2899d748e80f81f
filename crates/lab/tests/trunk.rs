//! What trunks are for, measured in virtual time: the sum of unequal paths in order, and paths that die.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use trunkline_lab::experiment::{self, Options};
use trunkline_lab::result::ResultDocument;
use trunkline_plan::Document;

/// Paths as (Mbit/s, one-way milliseconds), and what else the plan says.
fn run(paths: &[(u32, u32)], bond: &str, rest: &str) -> ResultDocument {
    let mut text = String::from("name = \"paths\"\n");
    for (index, (mbit, delay)) in paths.iter().enumerate() {
        write!(
            text,
            "[[link]]\nname = \"p{index}\"\nkind = \"udp\"\ntrunk = true\nrate = \"{mbit}mbit\"\n\
             lab = {{ delay = \"{delay}ms\", queue = \"50ms\" }}\n\
             at.home = {{ remote = \"10.77.{index}.2:4500\" }}\n\
             at.server = {{ remote = \"10.77.{index}.1\" }}\n"
        )
        .expect("a string takes everything");
    }
    let monitor = "{ probe = \"100ms\", down_after = \"500ms\", up_after = \"1s\" }";
    write!(
        text,
        "[bond.tl0]\nends = [\"home\", \"server\"]\nmembers = [\"p*\"]\ncipher = \"none\"\n\
         monitor = {monitor}\n{bond}\n\
         [end.server]\nlisten = \"0.0.0.0:4500\"\n[lab]\nseed = 1\n{rest}\n"
    )
    .expect("a string takes everything");
    let document = Document::parse("paths.toml", &text, &|_| Err("no files".into()));
    let plan = document.and_then(|document| document.experiment());
    let plan = plan.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    experiment::run(&plan, Options::default(), &|_| ()).expect("a runnable plan").document
}

fn bulk(cc: &str, size: &str) -> String {
    format!(
        "[[lab.flow]]\nname = \"up\"\nfrom = \"home\"\nto = \"server\"\n\
         app = {{ kind = \"bulk\"{size} }}\ntcp = {{ cc = \"{cc}\" }}\n"
    )
}

fn flow<'r>(result: &'r ResultDocument, name: &str) -> &'r BTreeMap<String, Option<f64>> {
    let found = result.flows.iter().find(|flow| flow.flow == name);
    &found.unwrap_or_else(|| panic!("no flow {name}")).metrics
}

fn metric(result: &ResultDocument, name: &str) -> f64 {
    let metrics = flow(result, "up");
    metrics[name].unwrap_or_else(|| panic!("no {name} in {metrics:?}"))
}

/// As measured over real links: fifteen seconds, after three that do not count.
fn of_ceiling(paths: &[(u32, u32)], cc: &str) -> f64 {
    let rest = format!("duration = \"18s\"\nwarmup = \"3s\"\n{}", bulk(cc, ""));
    let result = run(paths, "mode = \"earliest\"", &rest);
    metric(&result, "of_ceiling")
}

#[test]
fn one_flow_gets_the_sum_of_unequal_rates() {
    for paths in [&[(50, 10), (50, 10)][..], &[(50, 10), (10, 10)], &[(100, 10), (20, 10), (5, 10)]]
    {
        for cc in ["cubic", "reno"] {
            let share = of_ceiling(paths, cc);
            assert!(share >= 0.95, "{paths:?} {cc}: {share}");
        }
    }
}

#[test]
fn one_flow_gets_the_sum_over_unequal_delays() {
    for cc in ["cubic", "reno"] {
        let share = of_ceiling(&[(50, 10), (50, 60)], cc);
        assert!(share >= 0.85, "{cc}: {share}");
    }
}

/// The queue in front of a trunk marks packets of the flows it carries.
#[test]
fn marks_of_a_trunk_reach_dctcp_inside() {
    let bulk = bulk("dctcp\", dctcp = { alpha_on_init = 0 }, ecn = \"on", "");
    let result = run(&[(50, 10), (20, 10)], "", &format!("duration = \"10s\"\n{bulk}"));
    let flow = result.flows.iter().find(|flow| flow.flow == "up").expect("a flow");
    assert_eq!(flow.note, None);
    let tokens = flow.cc.as_deref().expect("tokens");
    assert!(tokens.contains("ecn dctcp dctcp:(ce_state:0,alpha:"), "{tokens}");
    let alpha = tokens.split("alpha:").nth(1).and_then(|rest| rest.split(',').next());
    assert!(alpha.is_some_and(|alpha| alpha != "0"), "{tokens}");
    assert_eq!(metric(&result, "retransmitted"), 0.0);
}

/// A stream of five milliseconds beside a bulk transfer, while one of two paths is cut for three seconds.
fn cut(kind: &str, link: usize) -> ResultDocument {
    let ping = "[[lab.flow]]\nname = \"ping\"\nfrom = \"home\"\nto = \"server\"\n\
                app = { kind = \"ping\", interval = \"5ms\", count = 2000 }\n";
    let fault = format!(
        "[[lab.fault]]\nlink = \"p{link}\"\nkind = \"{kind}\"\ndown_at = \"2s\"\nup_after = \"3s\"\n"
    );
    let rest = format!("duration = \"20s\"\n{}{ping}{fault}", bulk("cubic", ", bytes = \"90MB\""));
    run(&[(50, 10), (50, 10)], "mode = \"earliest\"", &rest)
}

#[test]
fn a_dead_path_is_left_in_time_and_taken_back() {
    // What the rates allow of 90 MB: one path is missing for three seconds, and for one more until it has
    // answered for long enough where nobody tells that it is back.
    for (kind, gap_max, ideal) in [("carrier", 0.15, 78.3e6), ("blackhole", 0.5, 74.3e6)] {
        for link in 0..2 {
            let result = cut(kind, link);
            let lost = flow(&result, "ping")["loss"].expect("answers") * 2000.0 * 0.005;
            assert!(lost > 0.0 && lost <= gap_max, "{kind}: {lost} s of answers lost");
            // What the cut took of the file is sent again, at worst after two timeouts, the shortest and its
            // double: this TCP knows no tail loss probes.
            let gap = metric(&result, "longest_gap");
            assert!(gap <= 0.7, "{kind}: a gap of {gap} s");
            let share = result.links[link].metrics["share"].expect("a share");
            assert!(share > 5.0 / 15.0, "{kind}: {share}");
            let goodput = metric(&result, "goodput");
            assert!(goodput > 0.9 * ideal, "{kind}: {goodput} bit/s");
        }
    }
}

#[test]
fn a_ping_every_five_milliseconds_sees_a_black_hole_for_half_a_second_at_most() {
    let ping = "[[lab.flow]]\nname = \"ping\"\nfrom = \"home\"\nto = \"server\"\n\
                app = { kind = \"ping\", interval = \"5ms\", count = 1600 }\n";
    for link in ["p0", "p1"] {
        let fault = format!(
            "[[lab.fault]]\nlink = \"{link}\"\nkind = \"blackhole\"\ndown_at = \"2s\"\nup_after = \"3s\"\n"
        );
        // Answers are waited for ten seconds.
        let rest = format!("duration = \"20s\"\n{ping}{fault}");
        let result = run(&[(50, 10), (50, 10)], "", &rest);
        let loss = flow(&result, "ping")["loss"].expect("answers");
        assert!(loss * 8.0 <= 0.5, "{link}: {} s of answers lost", loss * 8.0);
    }
}
