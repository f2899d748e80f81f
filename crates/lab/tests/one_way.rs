//! A one-way cable modem in virtual time: the tests that the reference of this project names SB.

mod plans;

use plans::{run, run_ready};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use trunkline_lab::library;
use trunkline_lab::result::{ResultDocument, Verdict};

/// Payload of a full segment, and bytes a second of the telephone line.
const SEGMENT: f64 = 1460.0;
const PHONE: f64 = 2880.0;

fn sb1000() -> &'static ResultDocument {
    static RESULT: OnceLock<ResultDocument> = OnceLock::new();
    RESULT.get_or_init(|| run_ready("sb1000", &[]))
}

/// A metric of a flow or link in one variant.
fn metric(document: &ResultDocument, variant: &str, owner: &str, name: &str) -> f64 {
    let flow = document.flows.iter().find(|f| f.run == variant && f.flow == owner);
    let link = document.links.iter().find(|l| l.run == variant && l.link == owner);
    let metrics = flow.map(|f| &f.metrics).or(link.map(|l| &l.metrics));
    let metrics: &BTreeMap<_, _> = metrics.unwrap_or_else(|| panic!("no {owner} in {variant}"));
    let value = metrics.get(name).copied().flatten();
    value.unwrap_or_else(|| panic!("{variant}: no {owner}.{name} in {metrics:?}"))
}

/// Bytes a second that a download got.
fn download(variant: &str) -> f64 {
    metric(sb1000(), variant, "download", "goodput") / 8.0
}

fn near(value: f64, expected: f64, share: f64) {
    assert!((value / expected - 1.0).abs() <= share, "{value}, expected {expected}");
}

#[test]
fn the_plan_meets_its_expectations() {
    assert_eq!(sb1000().summary.expectations.failed, 0, "{:?}", sb1000().expectations);
    assert_eq!(sb1000().summary.failed, 0);
    let noted = sb1000().figures.iter().filter(|f| f.verdict == Some(Verdict::Noted));
    assert_eq!(noted.count(), 1, "the header of 4 bytes that a difference of 2920 does not fit");
}

#[test]
fn the_plan_has_the_values_of_its_source() {
    let text = include_str!("../../../published/sb1000.toml");
    let value = |key: &str| {
        let line = text.lines().find(|line| line.starts_with(key)).expect("a published value");
        line.split('=').nth(1).expect("a value").trim().trim_matches('"').to_owned()
    };
    let told = |key: &str| sb1000().parameters[key].value.as_f64().expect("a number");
    let serial = value("serial").trim_start_matches("0x").to_owned();
    let serial = u32::from_str_radix(&serial, 16).expect("hexadecimal");
    assert_eq!(told("serial"), f64::from(serial));
    assert_eq!(told("pings").to_string(), value("pings"));
    assert_eq!((value("delay_us").as_str(), value("driver").as_str()), ("60", "1.1.2"));
}

#[test]
fn sb_1_strict_filtering_delivers_nothing_and_off_everything() {
    let of = |variant: &str, owner: &str, name: &str| metric(sb1000(), variant, owner, name);
    for ping in ["ping", "ping-home"] {
        assert_eq!(of("problem-1-rp-filter", ping, "loss"), 1.0);
        assert_eq!(of("cure-1-rp-filter", ping, "loss"), 0.0);
        assert_eq!(of("cure-1-loose", ping, "loss"), 0.0);
    }
    assert_eq!(of("problem-1-rp-filter", "download", "bytes"), 0.0);
    assert!(of("problem-1-rp-filter", "cm0", "refused") >= 10.0, "each way's echoes at least");
    assert_eq!(of("cure-1-rp-filter", "cm0", "refused"), 0.0);
    // The card hears the traffic that the filter then gives up.
    assert!(of("problem-1-rp-filter", "cm0", "up") > 0.3);
}

/// MSS × segments per acknowledgment × what the line has ÷ what an acknowledgment takes on it.
#[test]
fn sb_2_acknowledgments_limit_the_download() {
    let limit = |segments: f64, ack: f64| SEGMENT * segments * PHONE / ack;
    near(download("plain"), 175_200.0, 0.05);
    near(download("plain"), limit(2.0, 48.0), 0.05);
    near(download("thinned"), limit(8.0, 48.0), 0.05);
    // Six bytes of header, for two segments are more than one byte tells, and four of PPP.
    near(download("vj"), limit(2.0, 10.0), 0.05);
    // Where the segments of one acknowledgment are no more than that byte tells it is four and four.
    let mut document = library::find("sb1000").expect("ready").document().expect("valid");
    for (key, value) in [
        ("lab.flow.download.tcp.mss", "124"),
        ("lab.flow.download.tcp.receive_buffer", "\"20000B\""),
        ("link.ppp0.framing.vj", "true"),
        ("link.ppp0.framing.fields", "\"compressed\""),
    ] {
        document.set(key, value).expect("a key of the plan");
    }
    let short = run(&document);
    near(metric(&short, "plain", "download", "goodput") / 8.0, 248.0 * PHONE / 8.0, 0.05);
    // No acknowledgment is lost on the way: it is their time on the line that limits.
    assert_eq!(metric(sb1000(), "plain", "ppp0", "dropped"), 0.0);
    assert!(metric(sb1000(), "plain", "ppp0", "utilisation") > 0.8);
}

#[test]
fn sb_3_an_upload_halves_a_download_at_least() {
    assert!(download("upload") <= 0.5 * download("plain"), "{}", download("upload"));
    assert!(metric(sb1000(), "upload", "upload", "goodput") > 0.8 * 8.0 * PHONE * SEGMENT / 1507.0);
}

#[test]
fn sb_4_a_card_that_is_read_too_slowly_overruns() {
    let of = |variant: &str, name: &str| metric(sb1000(), variant, "cm0", name);
    assert_eq!(of("problem-7-fast-card", "overruns"), 0.0);
    near(download("problem-7-fast-card"), download("vj"), 0.01);
    // 2 bytes a read: 61 µs allow 32.8 kB/s of packets. 60 µs a frame would allow 200 Mbit/s.
    assert!(of("cure-7-delay-60", "overruns") >= 1.0);
    near(download("cure-7-delay-60"), 2.0 / 61e-6 * SEGMENT / 1500.0, 0.05);
    let reading =
        ["problem-7-fast-card", "cure-7-delay-1", "cure-7-delay-60"].map(|v| of(v, "reading"));
    assert!(reading.is_sorted(), "the higher the delay, the slower the PC: {reading:?}");
}

#[test]
fn sb_5_the_cable_is_up_while_traffic_comes() {
    assert_eq!(metric(sb1000(), "plain", "cm0", "up"), 1.0);
    // It carries nothing up all the while.
    assert_eq!(metric(sb1000(), "plain", "cm0", "dropped"), 0.0);
    let up = metric(sb1000(), "silent", "cm0", "up");
    assert!((0.3..0.5).contains(&up), "ten seconds after the download it is down: {up}");
}

#[test]
fn a_flood_takes_the_cable_and_not_the_host_behind_nobroadcast() {
    let of = |variant: &str, name: &str| metric(sb1000(), variant, "cm0", name);
    assert!(of("problem-6-broadcasts", "strays") >= 40_000.0);
    assert_eq!(of("cure-6-nobroadcast", "strays"), 0.0);
    let all = of("problem-6-broadcasts", "strays") + of("problem-6-broadcasts", "filtered");
    assert_eq!(of("cure-6-nobroadcast", "filtered"), all, "the same flood");
    near(download("cure-6-nobroadcast"), download("plain"), 0.01);
}
