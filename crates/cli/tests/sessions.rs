//! The program as its users see it: what it prints, where, and with which exit code.

mod program;

use program::{Ran, folder, trunkline};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const GOOD: &str = include_str!("../../../plans/eql-two-modems.toml");
const READY: &[&str] = &[
    "eql-bentson",
    "eql-healey",
    "eql-unequal",
    "eql-latency",
    "dctcp-incast",
    "dctcp-latency",
    "dctcp-convergence",
    "dctcp-syn-ect",
    "dctcp-workload",
    "dctcp-vs-cubic",
    "vegas-modem",
    "vegas-lan",
    "vegas-vs-reno",
    "crs4-bonding",
    "crs4-backup",
    "broadcast-storm",
    "nfs-load",
    "vax-cluster",
    "sb1000",
    "jacobson-sun3",
    "shared-ethernet",
    "eql-two-modems",
    "udp-two-paths",
];

/// Ways to read a plan.
const READERS: &[&[&str]] = &[&["check"], &["lab", "run"]];

fn words<'a>(first: &[&'a str], rest: &[&'a str]) -> Vec<&'a str> {
    [first, rest].concat()
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"))
}

/// The good plan with one text, which must be there, replaced.
fn changed(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "`{from}` is in the plan");
    GOOD.replacen(from, to, 1)
}

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    std::fs::write(folder.join(name), text).expect("the file is written");
}

/// What replaces what in the good plan; the place, the message, and the accepted form.
const MISTAKES: &[(&str, &str, &str, &str)] = &[
    ("weight  = ", "wieght  = ", "9:1: unknown key `wieght`", "did you mean `weight`?"),
    (
        "rate    = \"28.8kbit\"",
        "rate    = 28800",
        "8:11: `rate` has no unit",
        "a rate such as \"28.8kbit\"",
    ),
    (
        "\"modem0\", \"modem1\"",
        "\"modem0\", \"modem2\"",
        "27:22: there is no link `modem2`",
        "accepted: modem0, modem1",
    ),
    ("rate    = \"28.8kbit\"", "rate    = \"0kbit\"", "8:11: `rate` is zero", "a rate such as"),
    (
        "name    = \"modem1\"",
        "name    = \"modem0\"",
        "17:11: duplicate name `modem0`",
        "a name of its own",
    ),
    (
        "delay = \"50ms\"",
        "delay = \"-50ms\"",
        "12:21: `delay` is negative",
        "a duration such as \"50ms\"",
    ),
    ("mtu     = 576", "mtu     = 67", "29:11: `mtu` is out of range", "from 68 to 65535"),
    ("[\"modem0\", \"modem1\"]", "[]", "27:11: the bond has no members", "at least one"),
    (
        "mode    = \"eql\"",
        "mode    = \"eqll\"",
        "28:11: `mode` \"eqll\" is unknown",
        "did you mean `eql`?",
    ),
    (
        "mode    = \"eql\"",
        "mode    = \"802.3ad\"",
        "28:11: `mode` \"802.3ad\" is not in this version",
        "accepted: \"earliest\", \"eql\", \"eql-early\", \"balance-rr\", \"active-backup\"",
    ),
    (
        "kind    = \"serial\"",
        "kind    = \"cabel\"",
        "7:11: `kind` \"cabel\" is unknown",
        "accepted: \"serial\"",
    ),
    (
        "reorder = \"off\"",
        "repair  = \"once\"",
        "30:1: `repair` is not in this version",
        "accepted: ends, members",
    ),
];

/// Text as it is compared: what wraps at the width of the terminal on one line.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_mistake_is_told_with_its_place_a_caret_and_the_accepted_form() {
    let folder = folder("sessions-mistakes");
    for (from, to, place, accepted) in MISTAKES {
        write(&folder, "bad.toml", changed(from, to));
        for reader in READERS {
            let ran = trunkline(&folder, &words(reader, &["bad.toml"]));
            assert!(ran.code == Some(3), "{to}: {ran}");
            assert!(ran.stdout.is_empty(), "{to}: data on stdout: {ran}");
            let shown = unwrapped(&ran.stderr);
            assert!(shown.contains(&format!("bad.toml:{place}")), "{to}: {ran}");
            assert!(shown.contains(accepted), "{to}: {ran}");
            let caret =
                ran.stderr.contains('┬') || ran.stderr.contains('─') || ran.stderr.contains('▲');
            let line: usize = place.split(':').next().and_then(|n| n.parse().ok()).expect("a line");
            let text = changed(from, to).lines().nth(line - 1).unwrap_or_default().to_owned();
            assert!(caret && ran.stderr.contains(&text), "{to}: {ran}");
        }
    }
}

#[test]
fn mistakes_in_json_have_the_same_facts_and_the_same_exit_code() {
    let folder = folder("sessions-mistakes-json");
    write(&folder, "bad.toml", changed("weight  = ", "wieght  = "));
    for reader in READERS {
        let ran = trunkline(&folder, &words(reader, &["bad.toml", "--json"]));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(3), ""));
        let document = json(&ran);
        assert_eq!(document["schema"], "trunkline.check/1");
        assert_eq!(document["ok"], false);
        assert_eq!(document["left_out"], 0);
        let error = &document["errors"][0];
        assert_eq!(error["file"], "bad.toml");
        assert_eq!((&error["line"], &error["column"]), (&9.into(), &1.into()));
        assert_eq!(error["key"], "link.modem0.wieght");
        assert_eq!(error["found"], "wieght");
        assert_eq!(error["nearest"], "weight");
        let accepted = error["accepted"].as_array().expect("a list");
        assert!(accepted.contains(&"weight".into()));
    }
}

#[test]
fn what_is_no_plan_at_all_is_told_so() {
    let folder = folder("sessions-junk");
    let junk: Vec<u8> = (0..60_000_u32).map(|i| (i * 7919 % 251) as u8 ^ 0x80).collect();
    let cases: &[(&[u8], &str)] = &[
        (b"", "bad.toml:1:1: the plan is empty"),
        (b"# only a remark\n", "bad.toml:1:1: the plan is empty"),
        (&junk, "bad.toml:1:1: the file is not UTF-8 text"),
        (b"\0\x01\x02", "bad.toml:1:1: is not TOML"),
        (b"name = \"x\"", "bad.toml:1:1: the plan has no bond"),
    ];
    for (bytes, message) in cases {
        write(&folder, "bad.toml", bytes);
        for reader in READERS {
            let ran = trunkline(&folder, &words(reader, &["bad.toml"]));
            assert!(ran.code == Some(3), "{message}: {ran}");
            assert!(ran.stderr.contains(message), "{message}: {ran}");
            assert!(ran.stderr.contains("accepted: "), "{message}: {ran}");
        }
    }
}

#[test]
fn a_hostile_file_neither_drives_nor_floods_the_terminal() {
    let folder = folder("sessions-hostile");
    let long = "a".repeat(300_000);
    let keys: String = (0..20_000).map(|i| format!("k{i} = 1\n")).collect();
    let texts = [
        "name = \"x\" # \x1b[31m\u{9b}31m\n".to_owned(),
        "name = \"x\"\r\n\"\\u001b[31m\" = 1\r\n".to_owned(),
        format!("name = \"x\"\nfoo = \"{long}\"\n{long} = 1\n"),
        format!("name = \"x\"\n{keys}"),
    ];
    for text in texts {
        write(&folder, "bad.toml", text);
        let ran = trunkline(&folder, &["check", "bad.toml", "--color", "never"]);
        assert_eq!(ran.code, Some(3));
        assert!(ran.stderr.len() < 60_000, "{} bytes", ran.stderr.len());
        let drives = |c: char| c.is_control() && c != '\n';
        assert!(!ran.stderr.contains(drives), "{:?}", ran.stderr);
    }
    let ran = trunkline(&folder, &["check", "bad.toml"]);
    let last = ran.stderr.lines().last();
    assert_eq!(last, Some("20001 errors, of which the first 100 are shown"));
}

#[test]
fn a_file_or_name_that_does_not_exist_is_told_with_the_nearest() {
    let folder = folder("sessions-missing");
    write(&folder, "modems.toml", GOOD);
    write(&folder, "lines", GOOD);
    let cases: &[(&str, &[&str])] = &[
        ("modem.toml", &["modem.toml: no such file", "nearest file: modems.toml"]),
        ("./modem.toml", &["nearest file: ./modems.toml"]),
        ("eql-bentsn.toml", &["nearest ready plan: eql-bentson"]),
        ("nowhere/zzzzzzzzzz.toml", &["no such file", "`trunkline lab list`"]),
        ("modems.toml/x", &["is not a directory"]),
        ("./", &["is a directory"]),
        (
            "eql-bentsen",
            &["no ready plan `eql-bentsen`", "did you mean `eql-bentson`?", "eql-latency"],
        ),
        ("modems", &["the file is written `modems.toml`"]),
        ("lines", &["the file is written `./lines`"]),
        ("", &["no ready plan ``"]),
    ];
    for (plan, parts) in cases {
        for reader in READERS {
            let ran = trunkline(&folder, &words(reader, &[plan, "-q"]));
            assert!(ran.code == Some(2) && ran.stdout.is_empty(), "{plan}: {ran}");
            assert!(ran.stderr.starts_with("error: "), "{plan}: {ran}");
            for part in *parts {
                assert!(ran.stderr.contains(part), "{plan}: no `{part}`: {ran}");
            }
        }
    }
    let ran = trunkline(&folder, &["lab", "show", "eql-heley"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("`eql-healey`"), "{ran}");
}

#[test]
fn what_is_not_near_is_not_offered() {
    let folder = folder("sessions-far");
    write(&folder, "my.toml", GOOD);
    let ran = trunkline(&folder, &["check", "plan.toml"]);
    assert!(ran.code == Some(2) && !ran.stderr.contains("my.toml"), "{ran}");
    assert!(ran.stderr.contains("`trunkline lab list`"), "{ran}");
}

#[test]
fn usage_errors_in_json_are_one_document() {
    let folder = folder("sessions-usage-json");
    write(&folder, "modems.toml", GOOD);
    let cases: &[(&[&str], &str, &[&str])] = &[
        (&["check", "modem.toml"], "modem.toml: no such file", &["modems.toml"]),
        (&["lab", "run", "eql-heley"], "there is no ready plan `eql-heley`", &["eql-healey"]),
        (&["lab", "run", "zzzzzzzz"], "there is no ready plan `zzzzzzzz`", &[]),
        (&["check", "modems"], "there is no ready plan `modems`", &["modems.toml"]),
        (&["check", "modems.toml", "--set", "x"], "--set x: expected KEY=VALUE", &[]),
        (&["chek", "modems.toml"], "unrecognized subcommand 'chek'", &["check"]),
        (&["lab", "run", "x", "--sed", "1"], "unexpected argument '--sed' found", &["--seed"]),
        (&["lab", "run", "x", "-j0"], "invalid value '0' for '--jobs <JOBS>'", &[]),
        (&["lab", "run"], "the following required arguments were not provided: <PLAN>", &[]),
        (&[], "'trunkline' requires a subcommand", &[]),
    ];
    for (args, error, nearest) in cases {
        let ran = trunkline(&folder, &words(args, &["--json"]));
        assert!(ran.code == Some(2) && ran.stderr.is_empty(), "{args:?}: {ran}");
        let document = json(&ran);
        assert_eq!(document["schema"], "trunkline.error/1");
        let told = document["error"].as_str().expect("a sentence");
        assert!(told.starts_with(error) && !told.contains('\n'), "{args:?}: {ran}");
        let offered = document["nearest"].as_array().expect("a list");
        assert!(nearest.iter().all(|near| offered.contains(&(*near).into())), "{args:?}: {ran}");
        assert_eq!(nearest.is_empty(), offered.is_empty(), "{args:?}: {ran}");
    }
    let ran =
        trunkline(&folder, &["lab", "run", "eql-two-modems", "--json", "-o", "modems.toml/x"]);
    assert!(ran.code == Some(5) && ran.stderr.is_empty(), "{ran}");
    assert_eq!(json(&ran)["schema"], "trunkline.error/1");
}

#[test]
fn a_plan_without_a_flow_passes_check_and_is_not_run() {
    let folder = folder("sessions-no-flow");
    let start = GOOD.find("[[lab.flow]]").expect("a flow");
    write(&folder, "idle.toml", &GOOD[..start]);
    assert_eq!(trunkline(&folder, &["check", "idle.toml"]).code, Some(0));
    let ran = trunkline(&folder, &["lab", "run", "idle.toml"]);
    assert!(ran.code == Some(3) && ran.stdout.is_empty(), "{ran}");
    assert!(ran.stderr.contains("idle.toml:42:2: the plan has no [[lab.flow]]"), "{ran}");
}

#[test]
fn what_is_set_wrongly_is_told_at_the_set() {
    let folder = folder("sessions-set");
    let cases: &[(&str, i32, &str)] = &[
        ("bond.eql0.mod=eql", 3, "did you mean `mode`?"),
        ("nothing=1", 3, "--set:1:1: unknown key `nothing`"),
        ("link.modem9.rate=1kbit", 3, "there is no `modem9` in `link`"),
        ("link.modem0.rate=9600", 3, "--set:1:18: `rate` has no unit"),
        ("link.modem0.rate=0kbit", 3, "`rate` is zero"),
        ("bond.eql0.mode=802.3ad", 3, "is not in this version"),
        ("lab.runs=3", 3, "`runs` without randomness"),
        ("link.modem0.rate", 2, "expected KEY=VALUE"),
    ];
    for (set, code, message) in cases {
        for reader in READERS {
            let ran = trunkline(&folder, &words(reader, &["eql-two-modems", "--set", set]));
            assert!(ran.code == Some(*code), "{set}: {ran}");
            assert!(ran.stderr.contains(message), "{set}: {ran}");
        }
    }
    let faster = ["lab", "run", "eql-two-modems", "--json", "--set", "link.modem1.rate=28.8kbit"];
    assert_eq!(json(&trunkline(&folder, &faster))["links"][1]["rate"], 28_800.0);
    let same = trunkline(&folder, &["lab", "run", "eql-healey", "--runs", "3"]);
    assert!(same.code == Some(3) && same.stderr.contains("every run would be the same"), "{same}");
}

#[test]
fn expectations_decide_between_exit_codes_0_and_1() {
    let folder = folder("sessions-expect");
    write(&folder, "good.toml", GOOD);
    let ran = trunkline(&folder, &["lab", "run", "good.toml"]);
    assert!(ran.code == Some(0) && ran.stderr.is_empty(), "{ran}");
    assert!(ran.stdout.ends_with("1 expectation: 1 met, 0 failed\n"), "{ran}");
    write(&folder, "bad.toml", changed("[0.7, 1.3]", "[5.0, 6.0]"));
    let ran = trunkline(&folder, &["lab", "run", "bad.toml"]);
    assert!(ran.code == Some(1) && ran.stdout.contains("FAILED"), "{ran}");
    assert!(ran.stdout.ends_with("1 expectation: 0 met, 1 failed\n"), "{ran}");
    let ran = trunkline(&folder, &["lab", "run", "bad.toml", "--json"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(json(&ran)["expectations"][0]["verdict"], "failed");
    assert_eq!(json(&ran)["summary"]["expectations"]["failed"], 1);
    assert_eq!(json(&ran)["summary"]["failed"], 0, "figures are counted apart");
}

/// Whether a key of a document is there with a value of its type.
fn has_type(document: &Value, key: &str, kind: &str) -> bool {
    let Some(value) = document.get(key) else {
        return false;
    };
    match kind.strip_suffix('?') {
        Some(kind) => value.is_null() || is_kind(value, kind),
        None => is_kind(value, kind),
    }
}

fn is_kind(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => panic!("no such kind: {kind}"),
    }
}

fn expect_types(document: &Value, types: &[(&str, &str)]) {
    for (key, kind) in types {
        assert!(has_type(document, key, kind), "{key} is no {kind}: {document}");
    }
}

#[test]
fn a_result_document_has_the_keys_of_its_schema_and_null_for_what_is_not() {
    let folder = folder("sessions-result");
    let ran = trunkline(&folder, &["lab", "run", "eql-latency", "--json"]);
    assert!(ran.code == Some(0) && ran.stderr.is_empty(), "{ran}");
    assert!(!ran.stdout.contains("NaN") && !ran.stdout.contains("inf"));
    let document = json(&ran);
    assert_eq!(document["schema"], "trunkline.result/1");
    assert_eq!(document["plan"], "eql-latency");
    expect_types(
        &document,
        &[
            ("seed", "number"),
            ("digest", "string"),
            ("version", "string"),
            ("source", "string?"),
            ("parameters", "object"),
            ("figures", "array"),
            ("expectations", "array"),
            ("flows", "array"),
            ("links", "array"),
            ("summary", "object"),
            ("timing", "object"),
        ],
    );
    for figure in document["figures"].as_array().expect("figures") {
        expect_types(
            figure,
            &[
                ("id", "string"),
                ("unit", "string"),
                ("published", "number?"),
                ("reproduced", "number?"),
                ("trunkline", "number?"),
                ("ceiling", "number?"),
                ("within", "number?"),
                ("verdict", "string?"),
                ("note", "string?"),
            ],
        );
    }
    for parameter in document["parameters"].as_object().expect("parameters").values() {
        assert!(parameter["value"].is_number() || parameter["value"].is_string());
        expect_types(parameter, &[("unit", "string?"), ("origin", "string")]);
    }
    let figures = document["figures"].as_array().map(Vec::len);
    let summary = &document["summary"];
    assert_eq!(summary["figures"], figures.expect("figures"));
    assert_eq!((&summary["compared"], &summary["ok"]), (&0.into(), &0.into()));
    assert_eq!(summary["shown"], summary["figures"]);
    assert_eq!(summary["expectations"], serde_json::json!({ "met": 0, "failed": 0 }));
    assert_eq!(document["failures"], Value::Array(vec![]));
}

#[test]
fn a_transfer_that_does_not_end_is_null_and_fails_its_expectation() {
    let folder = folder("sessions-unfinished");
    let set = ["--set", "lab.duration=6s", "--set", "lab.warmup=0s", "--json"];
    let ran = trunkline(&folder, &words(&["lab", "run", "eql-two-modems"], &set));
    assert_eq!(ran.code, Some(1), "{ran}");
    let document = json(&ran);
    assert_eq!(document["flows"][0]["goodput"], Value::Null);
    assert_eq!(document["expectations"][0]["value"], Value::Null);
    let note = "ftp: the transfer did not finish within the plan's duration";
    assert_eq!(document["expectations"][0]["note"], note);
}

#[test]
fn a_broken_transfer_fails_the_result_and_is_told() {
    let folder = folder("sessions-broken");
    let cut = "[[lab.fault]]\nlink = \"modem0\"\ndown_at = \"5s\"\n\n\
               [[lab.fault]]\nlink = \"modem1\"\ndown_at = \"5s\"\n";
    let (before, _) = GOOD.split_once("[[lab.expect]]").expect("an expectation");
    let long = before.replacen("\"300s\"", "\"3h\"", 1);
    write(&folder, "broken.toml", format!("{long}{cut}"));
    let ran = trunkline(&folder, &["lab", "run", "broken.toml"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    let line = "FAILED ftp: the connection broke: the sender gave up";
    assert!(ran.stdout.lines().any(|l| l == line), "{ran}");
    let document = json(&trunkline(&folder, &["lab", "run", "broken.toml", "--json"]));
    assert_eq!(document["failures"][0]["why"], "the connection broke: the sender gave up");
    let flow = &document["flows"][0];
    assert_eq!((&flow["broken"], &flow["complete"]), (&1.0.into(), &0.0.into()));
    assert_eq!((&flow["put_rate"], &flow["seconds"]), (&Value::Null, &Value::Null));
}

#[test]
fn check_prints_ok_or_a_document_that_says_so() {
    let folder = folder("sessions-check");
    let ran = trunkline(&folder, &["check", "eql-healey"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "eql-healey: ok\n"));
    let ran = trunkline(&folder, &["check", "eql-healey", "--json"]);
    let document = json(&ran);
    assert_eq!(ran.code, Some(0));
    assert_eq!(document["schema"], "trunkline.check/1");
    assert_eq!(document["ok"], true);
    assert_eq!(document["errors"], Value::Array(vec![]));
}

#[test]
fn every_ready_plan_is_listed_and_what_show_prints_is_valid() {
    let folder = folder("sessions-ready");
    let document = json(&trunkline(&folder, &["lab", "list", "--json"]));
    assert_eq!(document["schema"], "trunkline.list/1");
    let plans = document["plans"].as_array().expect("plans");
    let names: Vec<&str> = plans.iter().filter_map(|p| p["name"].as_str()).collect();
    assert_eq!(names, READY);
    let table = trunkline(&folder, &["lab", "list"]).stdout;
    for plan in plans {
        assert!(plan["published"].is_boolean() && plan["about"].is_string());
        let name = plan["name"].as_str().expect("a name");
        assert!(table.lines().any(|line| line.trim_start().starts_with(name)), "{table}");
        let shown = trunkline(&folder, &["lab", "show", name]);
        assert_eq!(shown.code, Some(0));
        let as_document = json(&trunkline(&folder, &["lab", "show", name, "--json"]));
        assert_eq!(as_document["schema"], "trunkline.plan/1");
        assert_eq!(as_document["text"], shown.stdout.as_str());
        write(&folder, "shown.toml", &shown.stdout);
        let checked = trunkline(&folder, &["check", "shown.toml"]);
        assert!(checked.code == Some(0), "{name}: {checked}");
    }
}

#[test]
fn verify_sums_up_the_plans_it_is_given() {
    let folder = folder("sessions-verify");
    let ran = trunkline(&folder, &["lab", "verify", "eql-healey", "eql-latency", "--json"]);
    let document = json(&ran);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(document["schema"], "trunkline.verify/1");
    let plans = document["plans"].as_array().expect("plans");
    let names: Vec<&Value> = plans.iter().map(|p| &p["plan"]).collect();
    assert_eq!(names, ["eql-healey", "eql-latency"]);
    let sum: u64 = plans.iter().filter_map(|p| p["summary"]["figures"].as_u64()).sum();
    assert_eq!(document["summary"]["figures"], sum);
    let ran = trunkline(&folder, &["lab", "verify", "eql-heley"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("eql-healey"), "{ran}");
}

#[test]
fn a_swarm_tells_how_many_plans_ran() {
    let folder = folder("sessions-swarm");
    let args = ["lab", "swarm", "--runs", "3", "--seed", "11"];
    let ran = trunkline(&folder, &args);
    assert!(ran.code == Some(0), "{ran}");
    assert!(ran.stdout.starts_with("3 random plans from seed 11: "), "{ran}");
    let document = json(&trunkline(&folder, &words(&args, &["--json"])));
    assert_eq!(document["schema"], "trunkline.swarm/1");
    assert_eq!((&document["seed"], &document["runs"]), (&11.into(), &3.into()));
    assert_eq!(document["failures"], Value::Array(vec![]));
}

fn has_colour(text: &str) -> bool {
    text.contains('\x1b')
}

#[test]
fn colour_is_only_for_terminals_or_those_who_ask() {
    let folder = folder("sessions-colour");
    write(&folder, "bad.toml", changed("weight  = ", "wieght  = "));
    let run = ["lab", "run", "eql-healey"];
    let check = ["check", "bad.toml"];
    assert!(!has_colour(&trunkline(&folder, &run).stdout));
    assert!(!has_colour(&trunkline(&folder, &check).stderr));
    let always = ["--color", "always"];
    assert!(has_colour(&trunkline(&folder, &words(&run, &always)).stdout));
    assert!(has_colour(&trunkline(&folder, &words(&check, &always)).stderr));
    let never = ["--color=never"];
    assert!(!has_colour(&trunkline(&folder, &words(&run, &never)).stdout));
    assert_eq!(trunkline(&folder, &["lab", "list", "--color", "red"]).code, Some(2));
}

/// Runs the program under `script`, which gives it a terminal; none where there is no `script`.
fn on_a_terminal(no_color: &str) -> Option<String> {
    let call = format!("{} lab run eql-healey", env!("CARGO_BIN_EXE_trunkline"));
    let output = Command::new("script")
        .args(["-qec", &call, "/dev/null"])
        .env("NO_COLOR", no_color)
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.contains("figures").then_some(text)
}

#[test]
fn no_color_is_honoured_on_a_terminal() {
    let bold = "\x1b[1m";
    if let Some(text) = on_a_terminal("") {
        assert!(text.contains(bold), "{text:?}");
    }
    if let Some(text) = on_a_terminal("1") {
        assert!(!text.contains(bold), "{text:?}");
    }
}

#[test]
fn quiet_leaves_errors_and_data_and_drops_the_rest() {
    let folder = folder("sessions-quiet");
    write(&folder, "bad.toml", changed("weight  = ", "wieght  = "));
    let ran = trunkline(&folder, &["check", "bad.toml", "-q"]);
    assert!(ran.code == Some(3) && ran.stderr.contains("unknown key `wieght`"), "{ran}");
    assert!(!ran.stderr.contains("1 error"), "{ran}");
    let loud = trunkline(&folder, &["lab", "run", "eql-healey"]);
    let quiet = trunkline(&folder, &["-q", "lab", "run", "eql-healey"]);
    assert_eq!(loud.stdout, quiet.stdout);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for args in [&["lab", "run", "eql-latency"][..], &["lab", "list"], &["--help"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_trunkline"))
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        if args.len() > 1 {
            BufReader::with_capacity(16, stdout).read_line(&mut line).expect("a line");
        } else {
            drop(stdout);
        }
        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(0) && stderr.is_empty(), "{args:?}: {stderr}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let output = Command::new(env!("CARGO_BIN_EXE_trunkline"))
        .args(["lab", "list"])
        .stdout(full)
        .output()
        .expect("the program runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(stderr, "error: standard output: no space left\n");
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
    u32::from_le_bytes(four.expect("four bytes"))
}

/// The types of all blocks of a capture, whose lengths must agree at both of their ends.
fn block_types(capture: &[u8]) -> Vec<u32> {
    let mut types = Vec::new();
    let mut at = 0;
    while at < capture.len() {
        let len = word(capture, at + 4) as usize;
        assert!(len >= 12 && len.is_multiple_of(4), "block of {len} bytes at {at}");
        assert_eq!(word(capture, at + len - 4) as usize, len);
        types.push(word(capture, at));
        at += len;
    }
    types
}

#[test]
fn captures_and_results_are_written_where_they_are_wanted() {
    let folder = folder("sessions-files");
    let args = ["lab", "run", "eql-two-modems", "--json", "--pcap", "deep/caps", "-o", "out"];
    let ran = trunkline(&folder, &args);
    assert!(ran.code == Some(0), "{ran}");
    let capture = std::fs::read(folder.join("deep/caps/eql-two-modems.pcapng")).expect("a capture");
    let types = block_types(&capture);
    assert_eq!(types[..5], [0x0a0d_0d0a, 1, 1, 1, 1], "a header, two ways of two links");
    assert!(types.len() > 500 && types[5..].iter().all(|t| *t == 6));
    assert_eq!(word(&capture, 8), 0x1a2b_3c4d, "the byte-order magic");
    let written = std::fs::read_to_string(folder.join("out/result.json")).expect("result.json");
    let written: Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!(written, json(&ran));
    let csv = std::fs::read_to_string(folder.join("out/flows.csv")).expect("flows.csv");
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("run,flow,metric,value"));
    assert!(lines.clone().all(|line| line.split(',').count() == 4), "{csv}");
    assert!(lines.any(|line| line.contains(",ftp,bytes,262144")), "{csv}");
}

#[test]
fn a_directory_that_cannot_be_made_is_the_environments_fault() {
    let folder = folder("sessions-unwritable");
    write(&folder, "file", "");
    for option in ["--pcap", "-o"] {
        let ran = trunkline(&folder, &["lab", "run", "eql-two-modems", option, "file/x"]);
        assert!(ran.code == Some(5) && ran.stdout.is_empty(), "{ran}");
        assert!(ran.stderr.starts_with("error: file/x: "), "{ran}");
    }
}

#[test]
fn the_help_names_what_exists_and_nothing_else() {
    let folder = folder("sessions-help");
    let commands = |args: &[&str]| -> Vec<String> {
        let ran = trunkline(&folder, args);
        assert!(ran.code == Some(0) && ran.stderr.is_empty(), "{ran}");
        let lines = ran.stdout.lines().skip_while(|l| *l != "Commands:").skip(1);
        lines
            .take_while(|l| !l.is_empty())
            .filter_map(|l| l.split_whitespace().next().map(str::to_owned))
            .collect()
    };
    assert_eq!(
        commands(&["--help"]),
        "lab check up down reload show enslave emancipate get set proxy"
            .split(' ')
            .collect::<Vec<_>>()
    );
    assert_eq!(commands(&["lab", "--help"]), ["list", "show", "run", "verify", "swarm"]);
    for later in ["sweep", "rehearse", "compare", "top", "doctor", "schema"] {
        let ran = trunkline(&folder, &[later]);
        assert!(ran.code == Some(2) && ran.stderr.contains("unrecognized subcommand"), "{ran}");
    }
    let ran = trunkline(&folder, &["lab", "run", "eql-healey", "--report", "x"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("unexpected argument"), "{ran}");
    let ran = trunkline(&folder, &["--version"]);
    assert_eq!(ran.stdout, concat!("trunkline ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn numbers_out_of_range_are_usage_errors() {
    let folder = folder("sessions-usage");
    let cases: &[&[&str]] = &[
        &["lab", "run", "eql-healey", "-j0"],
        &["lab", "run", "eql-healey", "--runs", "0"],
        &["lab", "run", "eql-healey", "--seed", "-1"],
        &["lab", "swarm", "--runs", "0"],
        &["lab", "run"],
        &["lab"],
        &[],
    ];
    for args in cases {
        let ran = trunkline(&folder, args);
        assert!(ran.code == Some(2) && ran.stdout.is_empty(), "{args:?}: {ran}");
        assert!(!ran.stderr.is_empty(), "{args:?}");
    }
}

/// What is wrong with the words behind `proxy`, and what is said about it.
const PROXY_MISTAKES: &[(&str, &str)] = &[
    ("--to 10.0.0.1:80", "--listen <ADDR:PORT>"),
    ("--listen 127.0.0.1:0", "--to <ADDR:PORT>"),
    ("--listen 127.0.0.1 --to 10.0.0.1:80", "invalid socket address"),
    ("--listen 127.0.0.1:0 --to host:80", "invalid socket address"),
    ("--listen 127.0.0.1:99999 --to 10.0.0.1:80", "invalid socket address"),
    ("GOOD --cc bbr3", "reno, cubic, vegas, dctcp"),
    ("GOOD --cc cubik", "cubic"),
    ("GOOD --ecn maybe", "off, on-request, on"),
    ("GOOD --ecn on-demand", "on-request"),
    ("GOOD --mtu 100", "100 is not in 576..=65535"),
    ("GOOD --address 10.78.0.2", "expected an address and a prefix"),
    ("GOOD --address 10.78.0.2/33", "expected an address and a prefix"),
    ("GOOD --address 10.78.0.3/30", "is no machine's"),
    ("GOOD --gateway 10.79.0.1", "is not another address in 10.78.0.2/30"),
    ("GOOD --gateway 10.78.0.2", "is not another address in 10.78.0.2/30"),
    ("--listen 127.0.0.1:0 --to 10.78.0.2:80", "the proxy's own address"),
    ("GOOD --address fd78::2/126", "one is IPv6"),
    ("--listen 127.0.0.1:0 --to [fd00::1]:80 --mtu 1000", "too small for IPv6"),
    ("--listen 127.0.0.1:0 --to [fd00::1]:80 --gateway 10.78.0.1", "is not another address"),
    ("GOOD --devise tl1", "--device"),
];

#[test]
fn a_proxy_that_is_told_nonsense_says_what_it_takes() {
    let folder = folder("sessions-proxy");
    for (said, text) in PROXY_MISTAKES {
        let said = said.replace("GOOD", "--listen 127.0.0.1:0 --to 10.0.0.1:80");
        let arguments: Vec<&str> = std::iter::once("proxy").chain(said.split(' ')).collect();
        let ran = trunkline(&folder, &arguments);
        assert!(ran.code == Some(2) && ran.stdout.is_empty(), "{said}: {ran}");
        assert!(unwrapped(&ran.stderr).contains(text), "{said}: {ran}");
        let ran = trunkline(&folder, &words(&arguments, &["--json"]));
        assert!(ran.code == Some(2) && ran.stderr.is_empty(), "{said}: {ran}");
        assert_eq!(json(&ran)["schema"], "trunkline.error/1", "{said}: {ran}");
    }
}
