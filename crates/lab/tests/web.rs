//! Web pages over switches and over a bond, in virtual time.

use std::collections::BTreeMap;
use trunkline_lab::experiment::{self, Options};
use trunkline_plan::Document;

/// 40 ms there and back at 10 Mbit/s.
const SWITCHED: &str = r#"
name = "web"
[[lab.switch]]
name = "net"
[[lab.host]]
name = "server"
link = { to = "net", rate = "10mbit", delay = "10ms" }
[[lab.host]]
name = "browser"
link = { to = "net", rate = "10mbit", delay = "10ms" }
[lab]
duration = "60s"
[[lab.flow]]
name = "pages"
from = "server"
to   = "browser"
app  = { kind = "web", page = "10KB", APP }
"#;

const BONDED: &str = r#"
name = "web"
[[link]]
name = "line"
kind = "serial"
count = 2
rate = "128kbit"
lab  = { delay = "20ms" }
[bond]
tl0 = { ends = ["server", "browser"], members = ["line*"] }
[lab]
duration = "600s"
[[lab.flow]]
name = "pages"
from = "server"
to   = "browser"
app  = { kind = "web", page = "10KB", APP }
"#;

fn document(plan: &str, app: &str) -> Document {
    let text = plan.replace("APP", app);
    Document::parse("web.toml", text, &|_| Err(String::new())).expect("TOML")
}

fn run(plan: &str, app: &str) -> BTreeMap<String, Option<f64>> {
    let document = document(plan, app);
    let errors = document.check();
    assert!(errors.is_empty(), "{errors}");
    let plan = document.experiment().expect("a valid experiment");
    let result = experiment::run(&plan, Options::default(), &|_| ()).expect("it runs");
    let metrics = &result.document.flows[0].metrics;
    metrics.iter().map(|(name, value)| (name.clone(), *value)).collect()
}

fn milliseconds(metrics: &BTreeMap<String, Option<f64>>, name: &str) -> f64 {
    metrics[name].unwrap_or_else(|| panic!("no {name} in {metrics:?}")) * 1000.0
}

#[test]
fn a_page_takes_its_round_trips_and_its_bytes() {
    let metrics = run(SWITCHED, "count = 3");
    assert_eq!(metrics["pages"], Some(3.0));
    // The handshake, the request, and 8.4 ms for the bytes, and for the last packet on its second hop.
    let first = milliseconds(&metrics, "page_max");
    assert!((88.0..92.0).contains(&first), "{first}");
    // The connection is there already.
    let next = milliseconds(&metrics, "page_p50");
    assert!((first - next - 40.0).abs() < 1.0, "{first} {next}");
    assert_eq!((metrics["broken"], metrics["timeouts"]), (Some(0.0), Some(0.0)));
}

#[test]
fn objects_come_one_per_round_trip_and_connection() {
    let took = |connections: u32| {
        let app = format!(
            "count = 2, objects = 8, object = \"1KB\", connections = {connections}, think = \"1s\""
        );
        let metrics = run(SWITCHED, &app);
        assert_eq!(metrics["pages"], Some(2.0));
        (milliseconds(&metrics, "page_p50"), milliseconds(&metrics, "page_max"))
    };
    // The second page has all connections: 8, 2 and 1 round trips more than the page itself.
    let page = milliseconds(&run(SWITCHED, "count = 2"), "page_p50");
    for (connections, rounds) in [(1, 8.0), (4, 2.0), (8, 1.0), (64, 1.0)] {
        let (second, first) = took(connections);
        let more = second - page;
        assert!(
            (40.0 * rounds..45.0 * rounds + 5.0).contains(&more),
            "{connections}: {second} {page}"
        );
        // The first opens them, while the first goes on with the objects.
        assert!(first >= second + 39.0, "{connections}: {first} {second}");
    }
}

#[test]
fn who_thinks_loads_fewer_pages() {
    let pages = |think: &str| run(SWITCHED, &format!("think = \"{think}\""))["pages"];
    let (idle, hasty) = (pages("2s").expect("some"), pages("0s").expect("many"));
    assert!((28.0..31.0).contains(&idle) && hasty > 1000.0, "{idle} {hasty}");
}

#[test]
fn pages_go_over_a_bond_too() {
    let metrics = run(BONDED, "objects = 4, object = \"3KB\", connections = 2, count = 5");
    assert_eq!((metrics["pages"], metrics["broken"]), (Some(5.0), Some(0.0)));
    // 22 KB at what two lines of 256 kbit/s carry, less start and stop bits, and the round trips.
    let page = milliseconds(&metrics, "page_p50");
    assert!((860.0..1300.0).contains(&page), "{page}");
}

#[test]
fn what_cannot_be_is_told() {
    for (app, told) in [
        ("objects = 4", "`object` is missing"),
        ("objects = 10001, object = \"1B\"", "a whole number from 0 to 10000"),
        ("connections = 0", "a whole number from 1 to 64"),
        ("thonk = \"1s\"", "did you mean `think`?"),
    ] {
        let errors = document(SWITCHED, app).check().to_string();
        assert!(errors.contains(told), "{app}: {errors}");
    }
    let several = SWITCHED.replace("from = \"server\"", "from = \"serv*\"");
    assert!(document(&several, "count = 1").check().is_empty(), "a pattern for one");
    let several = several.replace("name = \"server\"", "name = \"server{i}\"\ncount = 2");
    let errors = document(&several, "count = 1").check().to_string();
    assert!(errors.contains("comes from one host"), "{errors}");
}
