//! Hosts whose default route the plan names: what they send elsewhere goes to that router, and arrives.

use std::collections::BTreeMap;
use trunkline_lab::experiment::{self, Options};
use trunkline_plan::Document;

/// Two routers on one segment, each with another behind, and calls from there to the far end of the second.
const PLAN: &str = "name = \"gateway\"
[lab]
duration = \"5s\"
[[lab.segment]]
name = \"s\"
count = 4
rate = \"10mbit\"
arp = true
[[lab.router]]
name = \"r\"
segments = [\"s0\", \"s1\"]
[[lab.router]]
name = \"q\"
segments = [\"s0\", \"s2\"]
[[lab.router]]
name = \"p\"
segments = [\"s2\", \"s3\"]
[[lab.host]]
name = \"sun\"
link = { to = \"s0\" }
[[lab.host]]
name = \"here\"
link = { to = \"s0\" }
[[lab.host]]
name = \"far\"
link = { to = \"s3\" }
[[lab.flow]]
name = \"nfs\"
from = \"sun\"
to = \"far\"
app = { kind = \"rpc\", count = 10 }
[[lab.flow]]
name = \"file\"
from = \"sun\"
to = \"far\"
app = { kind = \"bulk\", bytes = \"50KB\" }
[[lab.flow]]
name = \"near\"
from = \"sun\"
to = \"here\"
app = { kind = \"ping\", count = 3 }
";

/// The metrics of the plan where `sun` has this `network`.
fn with(network: &str) -> BTreeMap<String, Option<f64>> {
    let link = "name = \"sun\"\nlink = { to = \"s0\" }\n";
    assert!(PLAN.contains(link));
    run(&PLAN.replace(link, &format!("{link}{network}")))
}

/// All metrics of a run as `NAME.METRIC`.
fn run(text: &str) -> BTreeMap<String, Option<f64>> {
    let document = Document::parse("p.toml", text, &|_| Err(String::new())).expect("TOML");
    let errors = document.check();
    assert!(errors.is_empty(), "{errors}");
    let plan = document.experiment().expect("a valid experiment");
    let result = experiment::run(&plan, Options::default(), &|_| ()).expect("a runnable plan");
    let flows = result.document.flows.into_iter().map(|flow| (flow.flow, flow.metrics));
    let links = result.document.links.into_iter().map(|link| (link.link, link.metrics));
    flows
        .chain(links)
        .flat_map(|(name, all)| all.into_iter().map(move |(key, v)| (format!("{name}.{key}"), v)))
        .collect()
}

#[test]
fn a_router_of_many_segments_leads_to_all_of_them_and_beyond() {
    let three = "name = \"r\"\nsegments = [\"s0\", \"s1\", \"s2\"]\n";
    let text = PLAN
        .replace("name = \"r\"\nsegments = [\"s0\", \"s1\"]\n", three)
        .replace("[[lab.router]]\nname = \"q\"\nsegments = [\"s0\", \"s2\"]\n", "");
    let run = run(&text);
    assert_eq!((run["nfs.calls"], run["file.complete"]), (Some(10.0), Some(1.0)), "{run:?}");
    assert_eq!(run["r.forwarded"], run["p.forwarded"]);
}

#[test]
fn everything_for_elsewhere_goes_by_the_gateway_and_arrives() {
    let direct = with("");
    let detour = with("network = { gateway = \"r\" }\n");
    let straight = with("network = { gateway = \"q\" }\n");
    for run in [&direct, &detour, &straight] {
        assert_eq!((run["nfs.calls"], run["file.complete"]), (Some(10.0), Some(1.0)), "{run:?}");
        assert_eq!(run["near.loss"], Some(0.0), "{run:?}");
    }
    assert_eq!(direct, straight, "there is one way, and the gateway is on it");
    // The detour is on the way there; the answers know the way.
    assert_eq!(direct["r.forwarded"], Some(0.0));
    let there = detour["r.forwarded"].expect("a number");
    let over_q = detour["q.forwarded"].expect("a number");
    assert!(there > 30.0 && there < over_q, "{there} of {over_q}");
}
