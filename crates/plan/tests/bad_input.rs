//! Every kind of bad input is told with file, line, caret and the accepted form.

use trunkline_plan::{Diagnostics, Document, Purpose};

const GOOD: &str = include_str!("../../../plans/eql-two-modems.toml");

fn no_files(_: &str) -> Result<String, String> {
    Err("no such file".into())
}

fn errors(bytes: impl AsRef<[u8]>) -> Diagnostics {
    match Document::parse("p.toml", bytes, &no_files) {
        Ok(document) => document.check(),
        Err(diagnostics) => diagnostics,
    }
}

/// The errors of the good plan with one text replaced, which must be there.
fn changed(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "`{from}` is in the plan");
    errors(GOOD.replacen(from, to, 1)).to_string()
}

fn set(key: &str, value: &str) -> String {
    let mut document = Document::parse("p.toml", GOOD, &no_files).expect("it parses");
    match document.set(key, value) {
        Ok(()) => document.check().to_string(),
        Err(diagnostics) => diagnostics.to_string(),
    }
}

#[test]
fn an_unknown_key_is_told_with_the_nearest() {
    let expected = "\
p.toml:9:1: unknown key `wieght`
 9 | wieght  = \"28.8kbit\"                  # what EQL is told; defaults to rate
   | ^^^^^^
   = accepted: name, kind, rate, weight, mtu, trunk, direction, lab, at, payload, framing, count
   = did you mean `weight`?
";
    assert_eq!(changed("weight  = ", "wieght  = "), expected);
}

#[test]
fn a_missing_unit_is_told_with_the_accepted_form() {
    let expected = "\
p.toml:8:11: `rate` has no unit
 8 | rate    = 28800                  # tc(8) units; a bare number is an error
   |           ^^^^^
   = accepted: a rate such as \"28.8kbit\" or \"10mbit\" (bit, kbit, mbit, gbit, tbit, Kibit, Mibit, Gibit)
";
    assert_eq!(changed("rate    = \"28.8kbit\"", "rate    = 28800"), expected);
}

#[test]
fn a_mode_of_a_later_version_lists_those_that_exist() {
    let expected = "\
p.toml:28:8: `mode` \"802.3ad\" is not in this version
 28 | mode = \"802.3ad\" #
    |        ^^^^^^^^^
    = accepted: \"earliest\", \"eql\", \"eql-early\", \"balance-rr\", \"active-backup\"
";
    let comment = GOOD.lines().find(|l| l.starts_with("mode ")).expect("a mode");
    assert_eq!(changed(comment, "mode = \"802.3ad\" #"), expected);
}

/// What replaces what, and the first line and further parts of the error.
const CASES: &[(&str, &str, &str, &[&str])] = &[
    (
        "rate    = \"28.8kbit\"",
        "rate = \"28.8kbps\"",
        "p.toml:8:8: `rate` says `bps`",
        &["write `bit`"],
    ),
    (
        "rate    = \"28.8kbit\"",
        "rate = \"0kbit\"",
        "p.toml:8:8: `rate` is zero",
        &["a rate such as"],
    ),
    ("rate    = \"28.8kbit\"", "rate = nan", "p.toml:8:8: `rate` has no unit", &["a rate such as"]),
    ("rate    = \"28.8kbit\"", "rate = \"-1kbit\"", "p.toml:8:8: `rate` is negative", &[]),
    (
        "rate    = \"28.8kbit\"",
        "rate = { up = \"1kbit\" }",
        "p.toml:8:8: `rate` has no `down`",
        &["{ up ="],
    ),
    (
        "\"modem0\", \"modem1\"",
        "\"modem0\", \"modem2\"",
        "p.toml:27:22: there is no link `modem2`",
        &["accepted: modem0, modem1", "did you mean `modem0`?"],
    ),
    (
        "\"modem0\", \"modem1\"",
        "\"modem0\", \"modem0\"",
        "p.toml:27:22: link `modem0` is named twice",
        &["each link once"],
    ),
    (
        "name    = \"modem1\"",
        "name    = \"modem0\"",
        "p.toml:17:11: duplicate name `modem0`",
        &["a name of its own"],
    ),
    (
        "name = \"ftp\"",
        "name = \"eql0\"",
        "p.toml:48:8: duplicate name `eql0`: a bond has it already",
        &[],
    ),
    (
        "delay = \"50ms\"",
        "delay = \"-50ms\"",
        "p.toml:12:21: `delay` is negative",
        &["a duration such as \"50ms\""],
    ),
    ("queue = \"20p\"", "queue = \"0p\"", "p.toml:12:37: `queue` is zero", &["a limit in packets"]),
    (
        "mtu     = 576",
        "mtu = 67",
        "p.toml:29:7: `mtu` is out of range",
        &["a whole number from 68 to 65535"],
    ),
    (
        "members = [\"modem0\", \"modem1\"]",
        "members = []",
        "p.toml:27:11: the bond has no members",
        &["at least one"],
    ),
    (
        "members = [\"modem0\", \"modem1\"]",
        "",
        "p.toml:25:7: `members` is missing",
        &["at least one"],
    ),
    (
        "mode    = \"eql\"",
        "mode = \"eqll\"",
        "p.toml:28:8: `mode` \"eqll\" is unknown",
        &["\"balance-rr\"", "did you mean `eql`?"],
    ),
    (
        "kind    = \"serial\"",
        "kind = \"cabel\"",
        "p.toml:7:8: `kind` \"cabel\" is unknown",
        &["\"udp\", \"ethernet\", \"device\", \"cable\"", "did you mean `cable`?"],
    ),
    (
        "lab     = { delay = \"50ms\", queue = \"20p\" }",
        "lab = { queue = { kind = \"step-ecn\", limit = \"20p\", mark = \"20p\" } }",
        "p.toml:12:26: the network has no queue of its own here",
        &["a udp link with lab.rate and without trunk", "`mark` is not below limit"],
    ),
    (
        "lab     = { delay = \"50ms\", queue = \"20p\" }",
        "lab = { queue = { kind = \"red\", min = \"5KB\", max = \"15p\", weight_log2 = 17 } }",
        "p.toml:12:26: the network has no queue of its own here",
        &["`min` has not the unit of `max`", "a whole number from 0 to 16"],
    ),
    (
        "cc = \"reno\"",
        "cc = \"bbr\"",
        "p.toml:52:15: `cc` \"bbr\" is not in this version",
        &["accepted: \"reno\", \"cubic\", \"vegas\", \"dctcp\""],
    ),
    (
        "cc = \"reno\"",
        "cc = \"vgeas\"",
        "p.toml:52:15: `cc` \"vgeas\" is unknown",
        &["accepted: \"reno\", \"cubic\", \"vegas\", \"dctcp\"", "did you mean `vegas`?"],
    ),
    (
        "cc = \"reno\"",
        "vegas = { alpha = 5, beta = 4 }",
        "p.toml:52:38: `beta` is below alpha",
        &["at least 5"],
    ),
    (
        "cc = \"reno\"",
        "dctcp = { shift_g = 11 }",
        "p.toml:52:30: `shift_g` is out of range",
        &["a whole number from 0 to 10"],
    ),
    ("cc = \"reno\"", "abe = \"on\"", "p.toml:52:16: `abe` is", &["true or false"]),
    (
        "cc = \"reno\"",
        "mss = 40",
        "p.toml:52:16: `mss` is out of range",
        &["a whole number from 48 to 65495"],
    ),
    (
        "cc = \"reno\"",
        "backlog = 0",
        "p.toml:52:20: `backlog` is out of range",
        &["a whole number from 1 to 65535"],
    ),
    (
        "cc = \"reno\"",
        "keepalive = { cuont = 3 }",
        "p.toml:52:24: unknown key `cuont`",
        &["accepted: idle, interval, count", "did you mean `count`?"],
    ),
    (
        "cc = \"reno\"",
        "pmtu_probing = \"blakhole\"",
        "p.toml:52:25: `pmtu_probing` \"blakhole\" is unknown",
        &["accepted: \"off\", \"blackhole\", \"on\"", "did you mean `blackhole`?"],
    ),
    (
        "cc = \"reno\"",
        "pmtu_probing = \"on\"",
        "p.toml:52:25: `pmtu_probing` does not go with this profile",
        &["accepted: \"off\""],
    ),
    (
        "cc = \"reno\"",
        "dctcp = { alpha_on_init = 1025 }",
        "p.toml:52:36: `alpha_on_init` is out of range",
        &["a whole number from 0 to 1024"],
    ),
    (
        "cc = \"reno\"",
        "ecn = \"yes\"",
        "p.toml:52:16: `ecn` \"yes\" is unknown",
        &["accepted: \"off\", \"on-request\", \"on\""],
    ),
    (
        "cc = \"reno\"",
        "dscp = 64",
        "p.toml:52:17: `dscp` is out of range",
        &["a whole number from 0 to 63"],
    ),
    (
        "reorder = \"off\"",
        "repair = \"once\"",
        "p.toml:30:1: `repair` is not in this version",
        &["accepted: ends, members"],
    ),
    (
        "reorder = \"off\"",
        "max_slaves = 1",
        "p.toml:25:7: 2 members, but EQL takes 1",
        &["max_slaves = 2"],
    ),
    (
        "reorder = \"off\"",
        "at.house.mode = \"eql\"",
        "p.toml:30:4: `house` is not an end",
        &["did you mean `home`?"],
    ),
    (
        "at.isp ",
        "at.ips ",
        "p.toml:14:4: `ips` is not an end of bond `eql0`",
        &["did you mean `isp`?"],
    ),
    (
        "from = \"home\"",
        "from = \"hom\"",
        "p.toml:49:8: `from` \"hom\" is no end of a bond",
        &["did you mean `home`?"],
    ),
    (
        "from = \"home\"",
        "from = \"isp\"",
        "p.toml:50:8: no bond joins `isp` and `isp`",
        &["home and isp"],
    ),
    (
        "app  = { kind = \"bulk\", bytes = \"256KiB\" }",
        "",
        "p.toml:47:1: `app` is missing",
        &["kind = \"bulk\""],
    ),
    (
        "kind = \"bulk\", bytes = \"256KiB\"",
        "kind = \"ping\"",
        "p.toml:52:8: a ping has no `tcp`",
        &[],
    ),
    ("seed     = 1995", "runs = 5", "p.toml:43:1: `runs` without randomness", &["lab.loss"]),
    (
        "warmup   = \"5s\"",
        "warmup = \"300s\"",
        "p.toml:45:10: `warmup` is not shorter than `duration`",
        &[],
    ),
    ("[0.7, 1.3]", "[1.7, 1.3]", "p.toml:54:1: the lower bound is above", &[]),
    ("ftp.goodput", "ftpp.goodput", "p.toml:55:9: `what` names `ftpp`", &["did you mean `ftp`?"]),
    (
        "\"256KiB\"",
        "\"{size}\"",
        "p.toml:51:33: nothing is called `size` here",
        &["{{ for a brace"],
    ),
    (
        "10.1.1.2/30",
        "10.1.1.1/30",
        "p.toml:40:11: `address` holds 10.1.1.1, which another end has",
        &[],
    ),
    (
        "ftp.goodput",
        "ftp.rtt_mean",
        "p.toml:55:9: `what` names `rtt_mean`, which is no metric of the bulk flow `ftp`",
        &["accepted: bytes, complete, broken"],
    ),
    (
        "modem0.rate\"",
        "modem0.goodput\"",
        "p.toml:56:9: `of` names `goodput`, which is no metric of the link `modem0`",
        &["accepted: rate, share, utilisation"],
    ),
    (
        "modem0.rate\"",
        "modem0.rat\"",
        "p.toml:56:9: `of` names `rat`, which is no metric of the link `modem0`",
        &["did you mean `rate`?"],
    ),
    (
        "modem0.rate\"",
        "eql0.rate\"",
        "p.toml:56:9: `of` names the bond `eql0`, which has no metrics",
        &["accepted: modem0.METRIC, modem1.METRIC, ftp.METRIC"],
    ),
    (
        "ftp.goodput",
        "ftp.x.goodput",
        "p.toml:55:9: `what` names `x.goodput`, which is no metric",
        &["did you mean `goodput`?"],
    ),
    (
        "[[lab.expect]]",
        "[[lab.flow]]\nname = \"ping\"\nfrom = \"isp\"\nto = \"home\"\napp = { kind = \"ping\", size = \"549B\" }\n[[lab.expect]]",
        "p.toml:58:31: `size` is out of range",
        &["a size from 0B to 548B"],
    ),
    ("10.1.1.2/30", "10.1.1.2", "p.toml:40:11: `address` holds `10.1.1.2`", &["prefix length"]),
    ("[end.isp]", "[end.ips]", "p.toml:37:6: `ips` is not an end", &["did you mean `isp`?"]),
    ("name = \"eql-two-modems\"", "name = \"eql-two-modems", "p.toml:3:23: is not TOML", &[]),
    (
        "name = \"eql-two-modems\"",
        "include = [\"x.toml\"]",
        "p.toml:3:12: `x.toml` cannot be read: no such file",
        &[],
    ),
    ("name = \"eql-two-modems\"", "", "p.toml:1:1: `name` is missing", &["name = "]),
    (
        "[bond.eql0]",
        "[bond.b]\nends = [\"home\", \"isp\"]\nmembers = [\"modem1\"]\n[bond.eql0]",
        "p.toml:30:11: link `modem1` is a member of `b` too",
        &["each link in one bond"],
    ),
];

#[test]
fn every_kind_of_mistake_has_its_place_caret_and_accepted_form() {
    let mut wrong = String::new();
    for (from, to, first, parts) in CASES {
        let text = changed(from, to);
        let complete = ["^"].iter().chain(*parts).all(|part| text.contains(part));
        if !text.starts_with(first) || !complete {
            wrong += &format!("{from} -> {to}\nwanted {first} {parts:?}\n{text}\n");
        }
    }
    assert_eq!(wrong, "");
}

#[test]
fn an_echo_that_fits_its_bond_is_taken() {
    let ping = |mtu: &str, size: &str| {
        let flow = format!(
            "[[lab.flow]]\nname = \"ping\"\nfrom = \"isp\"\nto = \"home\"\napp = {{ kind = \"ping\"{size} }}\n{LAST}"
        );
        errors(GOOD.replace("mtu     = 576", mtu).replace(LAST, &flow)).to_string()
    };
    assert_eq!(ping("mtu = 576", ", size = \"548B\""), "");
    assert_eq!(ping("mtu = 84", ""), "");
    assert_eq!(ping("mtu = 68", ", size = \"40B\""), "");
    let text = ping("mtu = 68", "");
    assert!(text.starts_with("p.toml:58:7: an echo of 56B, the default, does not fit"), "{text}");
    assert!(text.contains("accepted: a `size` from 0B to 40B"), "{text}");
}

const LAST: &str = "[[lab.expect]]";

/// The errors of the good plan with these times down of `modem0` and, behind them, of `modem1`.
fn with_faults(times: &[&str]) -> String {
    let faults: String = times
        .iter()
        .map(|t| format!("[[lab.fault]]\nlink = \"modem0\"\n{t}\n"))
        .chain(["[[lab.fault]]\nlink = \"modem1\"\ndown_at = \"20s\"\n".to_owned()])
        .collect();
    errors(GOOD.replace(LAST, &format!("{faults}{LAST}"))).to_string()
}

#[test]
fn faults_of_one_link_come_one_after_the_other() {
    let early = "down_at = \"10s\"\nup_after = \"5s\"";
    assert_eq!(with_faults(&[early, "down_at = \"15001ms\""]), "");
    assert_eq!(with_faults(&["down_at = \"15001ms\"", early]), "");
    let expected = "\
p.toml:60:11: the fault overlaps the fault at 10s of link `modem0`
 60 | down_at = \"12s\"
    |           ^^^^^
    = accepted: after 15s, when the link is up again
";
    assert_eq!(with_faults(&[early, "down_at = \"12s\""]), expected);
    let touching = with_faults(&[early, "down_at = \"15s\""]);
    assert!(touching.contains("overlaps the fault at 10s"), "{touching}");
    let for_good = with_faults(&["down_at = \"1s\"", "down_at = \"99s\"\nup_after = \"1s\""]);
    assert!(for_good.contains("59:11: the fault overlaps the fault at 1s"), "{for_good}");
    assert!(for_good.contains("accepted: an `up_after` for the fault before it"), "{for_good}");
    let inside = [
        "down_at = \"1s\"\nup_after = \"60s\"",
        "down_at = \"2s\"\nup_after = \"1s\"",
        "down_at = \"9s\"",
    ];
    assert_eq!(with_faults(&inside).matches("overlaps the fault at 1s").count(), 2);
}

#[test]
fn an_end_of_too_many_bonds_is_told_at_the_first_that_is_too_much() {
    let star = |bonds: usize| {
        let mut text = format!(
            "name = \"x\"\n[[link]]\nname = \"l\"\ncount = {bonds}\nkind = \"serial\"\nrate = \"1kbit\"\n"
        );
        for i in 0..bonds {
            text += &format!("[bond.b{i}]\nends = [\"hub\", \"e{i}\"]\nmembers = [\"l{i}\"]\n");
        }
        errors(text).to_string()
    };
    assert_eq!(star(64), "");
    let text = star(66);
    assert!(text.starts_with("p.toml:199:7: `hub` is an end of too many bonds"), "{text}");
    assert!(
        text.contains("accepted: at most 64") && text.matches("too many").count() == 1,
        "{text}"
    );
}

#[test]
fn a_table_with_too_many_rows_is_refused_and_not_cut() {
    let rows = |n: usize| {
        let list = vec!["{a=1}"; n].join(",");
        errors(format!("{GOOD}\n[lab.rows]\nlist = [{list}]\n")).to_string()
    };
    assert_eq!(rows(2), "");
    let text = rows(10_001);
    assert!(
        text.contains("the table has too many rows") && text.contains("at most 10000"),
        "{text}"
    );
}

#[test]
fn a_plan_without_a_flow_is_in_order_and_cannot_be_run() {
    let start = GOOD.find("[[lab.flow]]").expect("a flow");
    let document = Document::parse("p.toml", &GOOD[..start], &no_files).expect("it parses");
    assert_eq!(document.check().to_string(), "");
    let text = document.check_for(Purpose::Lab).to_string();
    assert!(text.starts_with("p.toml:42:2: the plan has no [[lab.flow]]\n"), "{text}");
    assert!(text.contains("^^^") && text.contains("accepted: [[lab.flow]] with"), "{text}");
}

#[test]
fn all_errors_are_told_at_once_in_the_order_of_the_text() {
    let text =
        GOOD.replace("rate    = \"28.8kbit\"", "rate = 1").replace("mtu     = 576", "mtu = 1");
    let errors = errors(text).errors;
    let keys: Vec<(&str, usize)> = errors.iter().map(|e| (e.key.as_str(), e.line)).collect();
    assert_eq!(keys, [("link.modem0.rate", 8), ("bond.eql0.mtu", 29)]);
    assert_eq!(errors[0].found, "1");
}

#[test]
fn files_that_are_no_plan_are_told_so() {
    let first =
        |bytes: &[u8]| errors(bytes).to_string().lines().next().unwrap_or_default().to_owned();
    assert_eq!(first(b""), "p.toml:1:1: the plan is empty");
    assert_eq!(first(b"# nothing\n"), "p.toml:1:1: the plan is empty");
    assert_eq!(first(&[b'a', b'\n', 0, 159, 146]), "p.toml:2:2: the file is not UTF-8 text");
    assert!(first(b"\x00\x01 = junk").starts_with("p.toml:1:1: is not TOML"));
    assert_eq!(first(b"name = \"x\""), "p.toml:1:1: the plan has no bond");
    assert_eq!(first(b"name = \"x\"\nlink = 3\n[bond]\n"), "p.toml:2:8: `link` is a number");
    assert_eq!(first(b"name = \"x\"\n[bond]\n"), "p.toml:2:2: the plan has no bond");
    assert_eq!(first(b"name = \"x\"\n[lab]\nhost = []\n"), "p.toml:1:1: the plan has no bond");
    let large = vec![b'#'; (1 << 20) + 1];
    assert_eq!(first(&large), "p.toml:1:1: the file is too large for a plan");
}

#[test]
fn what_needs_sack_is_refused_without() {
    let tcp = |text: &str| set("lab.flow.ftp.tcp", text);
    assert_eq!(
        tcp("{ recovery = \"sack\", tlp = true, prr = true, frto = true, dsack = true }"),
        ""
    );
    assert_eq!(tcp("{ recovery = \"reno\", limited_transmit = true }"), "");
    let refused = tcp("{ recovery = \"newreno\", tlp = true }");
    assert!(refused.contains("needs SACK"), "{refused}");
    let unknown = tcp("{ recovery = \"rak\" }");
    assert!(unknown.contains("did you mean") && unknown.contains("rack"), "{unknown}");
    let old = tcp("{ profile = \"linux-2.2\", dsack = true }");
    assert_eq!(old, "");
}

#[test]
fn nothing_from_the_plan_can_drive_the_terminal() {
    let text = errors("name = \"x\"\n\"\\u001b[31m\" = 1\n").to_string();
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}

#[test]
fn what_is_set_wrongly_points_at_the_set() {
    let expected = "\
--set:1:1: unknown key `mod`
 1 | bond.eql0.mod=eql
   | ^^^^^^^^^^^^^
   = accepted: ends, members, mode, at, reorder, monitor, cipher, mtu, max_slaves
   = did you mean `mode`?
";
    assert_eq!(set("bond.eql0.mod", "eql"), expected);
    assert!(
        set("link.modem9.rate", "1kbit").starts_with("--set:1:1: there is no `modem9` in `link`")
    );
    let by_number = set("lab.expect.x.min", "1");
    assert!(by_number.contains("no `x` in `lab.expect`") && !by_number.contains("did you mean"));
    assert!(!set("lab.expect.10.min", "1").contains("did you mean"));
    assert!(set("lnk.modem0.rate", "1kbit").contains("did you mean `link`?"));
    assert!(set("link.modem0.rate", "10000").starts_with("--set:1:18: `rate` has no unit"));
    assert!(set("link..rate", "1kbit").starts_with("--set:1:1: is not a dotted key"));
    assert!(set("", "").starts_with("--set:1:1: is not a dotted key"));
    assert_eq!(set("link.*.rate", "10kbit"), "");
    assert_eq!(set("lab.flow.ftp.app.bytes", "\"1MB\""), "");
}

#[test]
fn plans_of_later_versions_are_refused_with_what_exists() {
    let later: [(&str, &str, &[&str]); 3] = [
        (
            "dsl",
            include_str!("later/dsl-lte-tunnel.toml"),
            &["\"auto\" is not in", "`repair` is not in"],
        ),
        ("hub", include_str!("later/hub-many-clients.toml"), &["`peer` is not in"]),
        ("lacp", include_str!("later/lacp-2xgbe.toml"), &["\"802.3ad\" is not in", "\"earliest\""]),
    ];
    for (name, text, parts) in later {
        let text = errors(text).to_string();
        for part in parts {
            assert!(text.contains(part), "{name}: no {part} in\n{text}");
        }
    }
    let load = |path: &str| match path {
        "dsl-lte-tunnel.toml" => Ok(include_str!("later/dsl-lte-tunnel.toml").to_owned()),
        _ => Err("no such file".into()),
    };
    let sweep = include_str!("later/bond-skew-sweep.toml");
    let sweep = Document::parse("bond-skew-sweep.toml", sweep, &load).expect("it parses");
    let text = sweep.check().to_string();
    assert!(text.contains("bond-skew-sweep.toml:19:2: `output` is not in this version"), "{text}");
    assert!(text.contains("dsl-lte-tunnel.toml:8:13: `rate` \"auto\" is not"), "{text}");
}

#[test]
fn includes_merge_by_key_and_by_name_and_never_go_round() {
    let load = |path: &str| match path {
        "base.toml" => Ok(GOOD.to_owned()),
        "round.toml" => Ok("include = [\"round.toml\"]".to_owned()),
        _ => Err("no such file".into()),
    };
    let text = "name = \"b\"\ninclude = [\"base.toml\"]\n[[link]]\nname = \"modem1\"\nrate = \"9.6kbit\"\n[bond.eql0]\nmtu = 296\n";
    let document = Document::parse("p.toml", text, &load).expect("it parses");
    let plan = document.experiment().and_then(|e| e.plan(0, None)).expect("a plan");
    assert_eq!((plan.name.as_str(), plan.bonds[0].mtu), ("b", 296));
    let rates: Vec<u64> = plan.links.iter().map(|l| l.rate.up.as_bps()).collect();
    assert_eq!(rates, [28_800, 9_600]);
    let round = Document::parse("p.toml", "include = [\"round.toml\"]", &load);
    assert!(round.expect_err("endless").to_string().contains("the file includes itself"));
}

#[test]
fn of_very_many_errors_the_first_hundred_are_told_and_the_rest_counted() {
    let keys: String = (0..5_000).map(|i| format!("k{i} = 1\n")).collect();
    let found = errors(format!("{keys}{GOOD}"));
    assert_eq!((found.errors.len(), found.left_out), (100, 4_900));
    assert_eq!(found.errors[99].line, 100);
    assert!(found.to_string().ends_with("\nand 4900 more errors\n"));
}
