//! A server with two bonded cards at a switch: the tests that the reference of this project names CRS, on the
//! published plan in a tenth of its time, and what a group of ports does when one of them is cut.

mod plans;

use plans::{metric_in, run_ready, run_with};
use std::sync::OnceLock;
use trunkline_lab::result::ResultDocument;
use trunkline_plan::Document;

/// The published plan, ten times shorter: starts and transfers keep their ratio, so that the sums of
/// clients that do not start together are the same.
fn bonding(sets: &[(&str, &str)]) -> ResultDocument {
    let shorter =
        [("lab.flow.iperf.app.duration", "1s"), ("stagger", "23ms"), ("lab.duration", "2s")];
    let sets: Vec<(&str, &str)> = shorter.into_iter().chain(sets.iter().copied()).collect();
    run_ready("crs4-bonding", &sets)
}

/// All rows as they are published.
fn table() -> &'static ResultDocument {
    static TABLE: OnceLock<ResultDocument> = OnceLock::new();
    TABLE.get_or_init(|| bonding(&[]))
}

/// Mbit/s of all clients together.
fn total(nics: u32, clients: u32) -> f64 {
    let run = format!("nics={nics} clients={clients} reproduced");
    metric_in(table(), &run, "iperf.put_rate") / 1e6
}

/// The figure of table 4.2.
fn published(nics: u32, clients: u32) -> f64 {
    let id = format!("total nics={nics} clients={clients}");
    let figure = table().figures.iter().find(|figure| figure.id == id);
    figure.and_then(|figure| figure.published).expect("a published figure")
}

fn is_near(value: f64, wanted: f64, within: f64) -> bool {
    (value / wanted - 1.0).abs() <= within
}

#[test]
fn crs_1_one_card_carries_what_the_table_says() {
    for clients in 1..=6 {
        let (value, wanted) = (total(1, clients), published(1, clients));
        assert!(is_near(value, wanted, 0.03), "{clients}: {value} for {wanted}");
    }
}

#[test]
fn crs_2_two_cards_are_no_gain_for_clients_of_one_port() {
    for clients in 1..=3 {
        let (one, two) = (total(1, clients), total(2, clients));
        assert!(is_near(two, one, 0.05), "{clients}: {two} beside {one}");
    }
}

#[test]
fn crs_3_five_and_six_clients_fill_two_cards_and_four_are_flagged() {
    for clients in [5, 6] {
        let (value, wanted) = (total(2, clients), published(2, clients));
        assert!(is_near(value, wanted, 0.05), "{clients}: {value} for {wanted}");
    }
    let four = total(2, 4);
    assert!((1300.0..=1700.0).contains(&four), "{four}");
    let figure = table().figures.iter().find(|f| f.id == "total nics=2 clients=4");
    assert!(figure.is_some_and(|figure| figure.note.is_some()), "the row is flagged");
}

#[test]
fn crs_4_more_clients_are_never_slower_from_three_on_and_gain_what_was_claimed() {
    let totals: Vec<f64> = (3..=6).map(|clients| total(2, clients)).collect();
    assert!(totals.windows(2).all(|pair| pair[1] >= pair[0] * 0.999), "{totals:?}");
    let gain = total(2, 6) / total(1, 6);
    assert!((1.5..=1.7).contains(&gain), "{gain}");
}

#[test]
fn crs_5_it_is_the_hash_that_keeps_two_clients_on_one_port() {
    let row = ("lab.rows.where", "{ nics = 2, clients = 2 }");
    let spread = |seed: u32| {
        let seed = seed.to_string();
        let sets =
            [row, ("lab.seed", seed.as_str()), ("lab.switch.smc8624t.trunk.hash", "layer3+4")];
        metric_in(&bonding(&sets), "reproduced", "iperf.put_rate") / 1e6
    };
    let totals: Vec<f64> = (1..=5).map(spread).collect();
    assert!(totals.iter().filter(|total| **total > 1200.0).count() > 2, "{totals:?}");
    assert!(total(2, 2) < 1050.0);
}

#[test]
fn crs_6_the_mean_of_the_clients_is_their_sum_over_their_number() {
    for (nics, clients) in [(1, 2), (1, 5), (2, 3), (2, 6)] {
        let run = format!("nics={nics} clients={clients} reproduced");
        let mean = metric_in(table(), &run, "iperf.put_rate_mean") / 1e6;
        let share = total(nics, clients) / f64::from(clients);
        assert!((mean - share).abs() < 0.1, "{mean} for {share}");
    }
}

const TWO_PORTS: &str = "name = \"p\"
[[link]]
name = \"p\"
count = 2
kind = \"ethernet\"
rate = \"100mbit\"
lab = { delay = \"5us\" }
[bond.bond0]
ends = [\"server\", \"tor\"]
members = [\"p*\"]
mode = \"balance-rr\"
[lab]
duration = \"2s\"
[[lab.switch]]
name = \"tor\"
trunk = { members = [\"p*\"], hash = \"layer2\" }
[[lab.host]]
name = \"client\"
count = 2
mac = \"00:0e:0c:00:00:0{i}\"
link = { to = \"tor\", rate = \"100mbit\" }
[[lab.flow]]
name = \"f\"
from = \"client*\"
to = \"server\"
app = { kind = \"bulk\", bytes = \"10MB\" }
tcp = { rto_min = \"20ms\" }
";

/// Changed, and with more behind it.
fn two_ports(sets: &[(&str, &str)], more: &str) -> ResultDocument {
    let text = format!("{TWO_PORTS}{more}");
    let document = Document::parse("p.toml", &text, &|_| Err(String::new())).expect("TOML");
    run_with(document, sets)
}

#[test]
fn two_clients_have_a_port_each_and_share_the_one_that_is_left() {
    let all = two_ports(&[], "");
    assert!(metric_in(&all, "", "f.goodput_min") > 90e6);
    assert!((metric_in(&all, "", "p0.share") - 0.5).abs() < 0.01);
    let fault = "[[lab.fault]]\nlink = \"p1\"\ndown_at = \"0.1s\"\n";
    let cut = two_ports(&[], fault);
    assert_eq!(metric_in(&cut, "", "f.complete"), 1.0);
    let seconds = metric_in(&cut, "", "f.seconds");
    assert!(
        (1.5..1.8).contains(&seconds),
        "{seconds}, twice as long as over both but for the begin"
    );
    assert!(metric_in(&cut, "", "p0.share") > 0.8);
    // What is on the port without a carrier is lost, and nothing else.
    assert!(metric_in(&cut, "", "f.longest_gap") < 0.2);
}

#[test]
fn a_lag_without_lacp_is_a_trunk() {
    for hash in ["layer2", "layer2+3", "layer3+4"] {
        let with = |group: &str| {
            let written = "trunk = { members = [\"p*\"], hash = \"layer2\" }";
            let text = TWO_PORTS.replace(
                written,
                &format!("{group} = {{ members = [\"p*\"], hash = \"{hash}\" }}"),
            );
            let document = Document::parse("p.toml", &text, &|_| Err(String::new())).expect("TOML");
            run_with(document, &[])
        };
        let (trunk, lag) = (with("trunk"), with("lag"));
        assert_eq!(trunk.digest, lag.digest, "{hash}");
        assert_eq!(metric_in(&lag, "", "f.complete"), 1.0);
        if hash == "layer2" {
            assert!((metric_in(&lag, "", "p0.share") - 0.5).abs() < 0.01, "a port for each client");
        }
    }
}

#[test]
fn a_port_that_comes_back_has_its_flows_again() {
    let fault = "[[lab.fault]]\nlink = \"p1\"\ndown_at = \"0.1s\"\nup_after = \"0.2s\"\n";
    let back = two_ports(&[], fault);
    assert_eq!(metric_in(&back, "", "f.complete"), 1.0);
    let (seconds, share) = (metric_in(&back, "", "f.seconds"), metric_in(&back, "", "p0.share"));
    assert!(seconds < 1.2 && share < 0.75, "{seconds} {share}");
}

#[test]
fn a_port_that_loses_everything_in_silence_keeps_its_flows() {
    let fault = "[[lab.fault]]\nlink = \"p1\"\ndown_at = \"0.1s\"\nup_after = \"0.3s\"\nkind = \"blackhole\"\n";
    let dark = two_ports(&[], fault);
    assert_eq!(metric_in(&dark, "", "f.complete"), 1.0);
    assert!(metric_in(&dark, "", "f.longest_gap") >= 0.3);
}

#[test]
fn a_backup_card_takes_over_without_a_group() {
    let text = TWO_PORTS.replace("balance-rr", "active-backup");
    let text = text.replace("trunk = { members = [\"p*\"], hash = \"layer2\" }\n", "");
    let fault = "[[lab.fault]]\nlink = \"p0\"\ndown_at = \"0.5s\"\n";
    let document = Document::parse("p.toml", format!("{text}{fault}"), &|_| Err(String::new()));
    let result = run_with(document.expect("TOML"), &[]);
    assert_eq!(metric_in(&result, "", "f.complete"), 1.0);
    let seconds = metric_in(&result, "", "f.seconds");
    assert!((1.7..1.9).contains(&seconds), "{seconds}, as long as over one card");
    assert!(metric_in(&result, "", "p1.share") > 0.4);
}
