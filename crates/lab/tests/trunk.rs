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

fn flow(result: &ResultDocument) -> &BTreeMap<String, Option<f64>> {
    &result.flows[0].metrics
}

fn metric(result: &ResultDocument, name: &str) -> f64 {
    flow(result)[name].unwrap_or_else(|| panic!("no {name} in {:?}", flow(result)))
}

fn of_ceiling(paths: &[(u32, u32)], cc: &str) -> f64 {
    let rest = format!("duration = \"60s\"\n{}", bulk(cc, ", bytes = \"50MB\""));
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

fn cut(kind: &str) -> ResultDocument {
    let fault = format!(
        "[[lab.fault]]\nlink = \"p1\"\nkind = \"{kind}\"\ndown_at = \"2s\"\nup_after = \"3s\"\n"
    );
    let rest = format!("duration = \"10s\"\n{}{fault}", bulk("cubic", ""));
    run(&[(50, 10), (50, 10)], "mode = \"earliest\"", &rest)
}

#[test]
fn a_dead_path_is_left_in_time_and_taken_back() {
    for (kind, gap_max) in [("carrier", 0.15), ("blackhole", 0.5)] {
        let result = cut(kind);
        let gap = metric(&result, "longest_gap");
        assert!(gap <= gap_max, "{kind}: a gap of {gap} s");
        let share = result.links[1].metrics["share"].expect("a share");
        // Used from 0 s to 2 s and from 7 s to 10 s at least.
        assert!(share > 5.0 / 15.0, "{kind}: {share}");
        assert!(metric(&result, "goodput") > 70e6, "{kind}");
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
        let result = run(&[(50, 10), (50, 10)], "", &format!("duration = \"9s\"\n{ping}{fault}"));
        let loss = metric(&result, "loss");
        assert!(loss * 8.0 <= 0.5, "{link}: {} s of answers lost", loss * 8.0);
    }
}
