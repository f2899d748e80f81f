//! One mistake, one diagnostic: what only follows from it is not told.

use trunkline_plan::Document;

/// Switches, segments, routers, processors, toggles and rows in one plan.
const GOOD: &str = r#"name = "n"
[[link]]
name = "p"
count = 2
kind = "ethernet"
rate = "1gbit"
[bond.bond0]
ends = ["server", "tor"]
members = ["p*"]
mode = "balance-rr"
[[lab.switch]]
name = "core"
port = { queue = { kind = "step-ecn", limit = "200p", mark = "20p" } }
[[lab.switch]]
name = "tor"
link = { to = "core", rate = "10gbit" }
trunk = { members = ["p*"], hash = "layer3+4" }
[[lab.segment]]
name = "s"
count = 2
rate = "10mbit"
arp = true
[[lab.router]]
name = "r"
segments = ["s0", "s1"]
[[lab.host]]
name = "server"
mac = "00:0e:0c:00:00:20"
[[lab.host]]
name = "client"
cpu = "sun-3/60"
link = { to = "core", rate = "1gbit" }
[[lab.host]]
name = "sun"
link = { to = "s0" }
network = { gateway = "r" }
[[lab.host]]
name = "far"
link = { to = "s1", mtu = 1400 }
[[lab.flow]]
name = "file"
from = "client"
to = "server"
app = { kind = "bulk", bytes = "1MB" }
[[lab.flow]]
name = "nfs"
from = "sun"
to = "far"
app = { kind = "rpc" }
[[lab.flow]]
name = "rip"
from = "sun"
to = "s0"
app = { kind = "rip" }
[[lab.group]]
name = "all"
flows = ["file"]
[lab.toggle.small]
on = { "lab.flow.file.tcp.nagle" = true }
off = { "lab.flow.file.tcp.nagle" = false }
[lab.rows]
list = [{ n = 1 }, { n = 2 }]
where = { n = [1, 2] }
[[lab.figure]]
id = "goodput n={n}"
what = "file.goodput"
unit = "bit/s"
[[lab.expect]]
what = "core.client.queue_max"
min = 0
[[lab.expect]]
what = "client.cpu"
min = 0
[[lab.expect]]
what = "nfs.rate"
min = 0
[[lab.expect]]
what = "r.forwarded"
min = 0
where = { n = 1 }
"#;

fn errors(text: &str) -> Vec<String> {
    let document = Document::parse("p.toml", text, &|_| Err(String::new())).expect("TOML");
    document.check().errors.iter().map(ToString::to_string).collect()
}

#[test]
fn the_plan_is_in_order() {
    assert_eq!(errors(GOOD), Vec::<String>::new());
}

/// What replaces what, and the parts of the only diagnostic.
const CASES: &[(&str, &str, &[&str])] = &[
    // Switches.
    (
        "to = \"core\", rate = \"10gbit\"",
        "to = \"cores\", rate = \"10gbit\"",
        &["`to` \"cores\" is no switch", "did you mean `core`?"],
    ),
    ("to = \"core\", rate = \"10gbit\"", "to = \"core\"", &["`rate` is missing"]),
    (
        "to = \"core\", rate = \"10gbit\"",
        "to = \"s0\"",
        &[
            "`to` \"s0\" is a segment: the `link` of a switch leads to a switch",
            "accepted: core, tor",
        ],
    ),
    (
        "to = \"core\", rate = \"1gbit\"",
        "to = \"tor2\"",
        &["`to` \"tor2\" is no switch and no segment", "did you mean `tor`?"],
    ),
    (
        "to = \"core\", rate = \"1gbit\"",
        "too = \"core\", rate = \"1gbit\"",
        &["unknown key `too`", "did you mean `to`?"],
    ),
    ("name = \"tor\"", "name = \"t o r\"", &["`name` is not a name"]),
    (
        "limit = \"200p\", mark = \"20p\"",
        "limit = \"20p\", mark = \"30p\"",
        &["`mark` is not below limit"],
    ),
    (
        "limit = \"200p\", mark = \"20p\"",
        "limit = \"200p\", mrk = \"30p\"",
        &["did you mean `mark`?"],
    ),
    ("kind = \"step-ecn\"", "kind = \"step-enc\"", &["did you mean `step-ecn`?"]),
    ("trunk = { members", "trnk = { members", &["did you mean `trunk`?"]),
    ("hash = \"layer3+4\"", "hash = \"layer3\"", &["\"layer3\" is unknown"]),
    ("balance-rr", "balanc-rr", &["did you mean `balance-rr`?"]),
    ("kind = \"ethernet\"", "kind = \"ethernt\"", &["did you mean `ethernet`?"]),
    ("rate = \"1gbit\"\n[bond", "rate = \"1gbt\"\n[bond", &["`rate`"]),
    (
        "ends = [\"server\", \"tor\"]",
        "ends = [\"server\", \"to\"]",
        &["the links of bond `bond0` are ports of `tor`", "ends = [\"HOST\", \"tor\"]"],
    ),
    ("members = [\"p*\"]\nmode", "members = [\"x*\"]\nmode", &["there is no link `x*`"]),
    ("members = [\"p*\"]\nmode", "members = []\nmode", &["the bond has no members"]),
    ("members = [\"p*\"], hash", "members = [\"x*\"], hash", &["there is no link `x*`"]),
    (
        "members = [\"p*\"], hash",
        "members = [\"p0\"], hash",
        &["not those of one bond that leads there"],
    ),
    ("ends = [\"server\", \"tor\"]", "ends = \"server\"", &["`ends` is not an array"]),
    (
        "ends = [\"server\", \"tor\"]",
        "ends = [\"tor\", \"core\"]",
        &["a second way between the switches"],
    ),
    ("ends = [\"server\", \"tor\"]", "ends = [\"s0\", \"tor\"]", &["`s0` is a segment"]),
    ("name = \"tor\"\n", "", &["`name` is missing"]),
    ("name = \"tor\"\n", "name = \"core\"\n", &["duplicate name `core`"]),
    (
        "[[lab.switch]]\nname = \"tor\"\n",
        "[[lab.swich]]\nname = \"tor\"\n",
        &["unknown key `swich`"],
    ),
    ("[[lab.router]]", "[[lab.ruter]]", &["unknown key `ruter`", "did you mean `router`?"]),
    ("to = \"core\", rate = \"1gbit\"", "to = \"core\", rate = 1", &["`rate` has no unit"]),
    (
        "to = \"core\", rate = \"1gbit\"",
        "to = \"core\", rte = \"1gbit\"",
        &["did you mean `rate`?"],
    ),
    // Segments and routers.
    ("rate = \"10mbit\"", "rate = \"10mbt\"", &["`rate`"]),
    ("arp = true", "arp = \"yes\"", &["true or false"]),
    (
        "link = { to = \"s0\" }",
        "link = { to = \"s9\" }",
        &["`to` \"s9\" is no switch and no segment", "accepted: core, tor, s0, s1"],
    ),
    ("to = \"s1\", mtu = 1400", "to = \"s1\", mtu = 14000", &["`mtu` is out of range"]),
    (
        "to = \"s1\", mtu = 1400",
        "to = \"s7\", receiver = { loss = \"1%\" }",
        &["\"s7\" is no switch"],
    ),
    (
        "segments = [\"s0\", \"s1\"]",
        "segments = [\"s0\", \"s2\"]",
        &["names \"s2\", which is no segment"],
    ),
    ("segments = [\"s0\", \"s1\"]", "segmnts = [\"s0\", \"s1\"]", &["unknown key `segmnts`"]),
    ("gateway = \"r\"", "gateway = \"q\"", &["\"q\" is no router", "accepted: r"]),
    ("gateway = \"r\"", "gatway = \"r\"", &["did you mean `gateway`?"]),
    ("segments = [\"s0\", \"s1\"]", "segments = [\"s0\"]", &["does not name two segments"]),
    ("gateway = \"r\"", "gateway = \"r\", rules = \"bsd\"", &["`rules` \"bsd\" is unknown"]),
    // Processors.
    ("cpu = \"sun-3/60\"", "cpu = \"sun-3/6\"", &["is no cost table", "did you mean `sun-3/60`?"]),
    (
        "cpu = \"sun-3/60\"",
        "cpu = { base = \"sun-3/60\", chunk = \"0B\" }",
        &["`chunk` is out of range"],
    ),
    ("cpu = \"sun-3/60\"", "cpu = { base = \"sun-3/6\" }", &["is no cost table"]),
    (
        "cpu = \"sun-3/60\"",
        "cpu = 60",
        &["`lab.host.client.cpu` is a number", "the name of a cost table such as \"sun-3/60\""],
    ),
    // Flows and what is measured.
    ("from = \"sun\"\nto = \"far\"", "from = \"sun\"\nto = \"fr\"", &["did you mean `far`?"]),
    ("kind = \"rpc\"", "kind = \"rcp\"", &["did you mean `rpc`?"]),
    ("kind = \"bulk\", bytes = \"1MB\"", "kind = \"bulk\", bytes = \"1M\"", &["`bytes`"]),
    ("what = \"file.goodput\"", "what = \"file.godput\"", &["did you mean `goodput`?"]),
    ("to = \"server\"", "to = \"servr\"", &["did you mean `server`?"]),
    ("from = \"client\"", "from = \"clint\"", &["did you mean `client`?"]),
    ("flows = [\"file\"]", "flows = [\"fil\"]", &["there is no bulk flow `fil`"]),
    ("core.client.queue_max", "core.client.queue_mx", &["did you mean `queue_max`?"]),
    (
        "core.client.queue_max",
        "core.clint.queue_max",
        &[
            "names `core.clint`, which is no port of the switch `core`",
            "did you mean `core.client`?",
        ],
    ),
    // Toggles and rows.
    (
        "on = { \"lab.flow.file.tcp.nagle\" = true }",
        "onn = { \"lab.flow.file.tcp.nagle\" = true }",
        &["did you mean `on`?"],
    ),
    (
        "lab.flow.file.tcp.nagle\" = true",
        "lab.flow.fil.tcp.nagle\" = true",
        &["there is no `fil` in `lab.flow`"],
    ),
    (
        "lab.flow.file.tcp.nagle\" = true",
        "lab.flow.file.tcp.nagel\" = true",
        &["did you mean `nagle`?"],
    ),
    ("where = { n = [1, 2] }", "where = { n = [3] }", &["no row has `n` = [3]", "accepted: 1, 2"]),
    ("where = { n = [1, 2] }", "where = { m = [1] }", &["no row has a `m`", "accepted: n"]),
    (
        "unit = \"bit/s\"",
        "unit = \"bit/s\"\nwhere = { n = 9 }",
        &["no row has `n` = 9", "accepted: 1, 2"],
    ),
    ("where = { n = 1 }\n", "where = { n = 7 }\n", &["no row has `n` = 7", "accepted: 1, 2"]),
];

#[test]
fn one_mistake_is_one_diagnostic() {
    let mut wrong = String::new();
    for (from, to, parts) in CASES {
        assert!(GOOD.contains(from), "`{from}` is in the plan");
        let told = errors(&GOOD.replacen(from, to, 1));
        if told.len() != 1 || !parts.iter().all(|part| told[0].contains(part)) {
            wrong += &format!("{to}: {parts:?}, but {} told:\n{}\n", told.len(), told.join("\n"));
        }
    }
    assert_eq!(wrong, "", "\n{wrong}");
}
