//! Cost tables of hosts and toggles in plans: what is taken, and how mistakes are told.

use trunkline_plan::cpu::{Item, Unit};
use trunkline_plan::model::Plan;
use trunkline_plan::{Document, Setting};

const HEAD: &str = "name = \"x\"\n[[link]]\nname = \"l\"\nkind = \"ethernet\"\nrate = \"10mbit\"\n\
    [bond.b]\nends = [\"a\", \"z\"]\nmembers = [\"l\"]\n\
    [[lab.flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"z\"\napp = { kind = \"bulk\" }\n";

fn document(more: &str) -> Document {
    Document::parse("x.toml", format!("{HEAD}{more}"), &|_| Err(String::new())).expect("TOML")
}

fn plan(more: &str) -> Plan {
    let experiment = document(more).experiment().unwrap_or_else(|errors| panic!("{errors}"));
    experiment.plan(0, None).unwrap_or_else(|errors| panic!("{errors}"))
}

fn errors(more: &str) -> String {
    document(more).check().to_string()
}

fn host(cpu: &str) -> String {
    format!("[[lab.host]]\nname = \"a\"\ncpu = {cpu}\n")
}

#[test]
fn a_ready_table_is_taken_by_its_name_and_changed_where_the_plan_says() {
    let named = plan(&host("\"sun-3/60\""));
    let changed = plan(&host(
        "{ base = \"sun-3/60\", checksum = \"490us/KiB\", combined = true, driver_queue = \"1p\" }",
    ));
    let of = |plan: &Plan, item| plan.lab.slow[0].costs.value(item);
    assert_eq!(named.lab.slow[0].name, "a");
    assert_eq!(of(&named, Item::Copy), of(&changed, Item::Copy));
    assert_eq!(of(&changed, Item::Checksum), 490_000_000 / 1024);
    assert_eq!(of(&changed, Item::Combined), 1);
    assert_eq!((of(&named, Item::DriverQueue), of(&changed, Item::DriverQueue)), (50, 1));
}

#[test]
fn hosts_at_switches_have_processors_too() {
    let more = "[[lab.switch]]\nname = \"s\"\n[[lab.host]]\nname = \"h\"\ncpu = \"modern\"\n\
        link = { to = \"s\", rate = \"1gbit\" }\n";
    assert_eq!(plan(more).lab.slow[0].name, "h");
}

#[test]
fn unknown_tables_and_missing_entries_are_named() {
    let unknown = errors(&host("\"sun-3/6\""));
    assert!(unknown.contains("is no cost table") && unknown.contains("486dx2-66"), "{unknown}");
    assert!(unknown.contains("did you mean `sun-3/60`?"), "{unknown}");
    let missing = errors(&host("{ copy = \"1us/KiB\" }"));
    assert!(missing.contains("`checksum`, ") && missing.contains("`driver_queue`"), "{missing}");
    assert!(missing.contains(" and `receive_ring` are missing"), "{missing}");
    assert!(!missing.contains("`copy`") && missing.contains("or base = "), "{missing}");
    assert_eq!(missing.matches("x.toml:").count(), 1, "{missing}");
}

/// A table of the plan's own with every entry but one.
fn table_without(left_out: Item) -> String {
    let value = |item: Item| match item.unit() {
        Unit::Time => "\"1us\"",
        Unit::PerByte => "\"1us/KiB\"",
        Unit::Bytes => "\"1KiB\"",
        Unit::Frames => "\"8p\"",
        Unit::Switch => "true",
    };
    let items = Item::ALL.into_iter().filter(|item| *item != left_out);
    let entries: Vec<String> =
        items.map(|item| format!("{} = {}", item.key(), value(item))).collect();
    host(&format!("{{ {} }}", entries.join(", ")))
}

#[test]
fn the_only_entry_that_is_missing_is_named_whichever_it_is() {
    for item in Item::ALL {
        let check = document(&table_without(item)).check();
        let messages: Vec<&str> = check.errors.iter().map(|e| e.message.as_str()).collect();
        assert_eq!(messages, [format!("`{}` is missing", item.key())]);
        assert_eq!(check.errors[0].key, format!("lab.host.a.cpu.{}", item.key()));
        assert!(check.to_string().contains(&format!("accepted: {} = ", item.key())), "{check}");
    }
    let misspelt = table_without(Item::Wakeup).replace("copy = ", "wakup = \"1us\", copy = ");
    let told = errors(&misspelt);
    assert!(
        told.contains("unknown key `wakup`") && told.contains("did you mean `wakeup`?"),
        "{told}"
    );
    assert!(!told.contains("is missing"), "{told}");
}

#[test]
fn a_wrong_table_is_told_once_with_what_there_is() {
    let expected = "\
x.toml:16:7: `cpu` \"486dx2-67\" is no cost table
 16 | cpu = \"486dx2-67\"
    |       ^^^^^^^^^^^
    = accepted: \"sun-3/50\", \"sun-3/60\", \"486slc-40\", \"486dx2-66\", \"ppro-200\", \"dual-xeon-3.0\", \"opteron-246\", \"modern\"
    = did you mean `486dx2-66`?
";
    let measured = "[[lab.expect]]\nwhat = \"a.cpu\"\nmin = 0\n";
    assert_eq!(errors(&format!("{}{measured}", host("\"486dx2-67\""))), expected);
    let base = errors(&host("{ base = \"486dx2-67\", copy = \"1us/KiB\" }"));
    assert!(base.contains("is no cost table") && !base.contains("is missing"), "{base}");
    let list = errors(&host("[\"modern\"]"));
    assert!(list.contains("`lab.host.a.cpu` is an array") && list.contains("{ base = "), "{list}");
}

#[test]
fn wrong_values_say_what_is_accepted() {
    for (entry, told) in [
        ("checksum = 130", "`checksum` has no unit"),
        ("checksum = \"130us\"", "`checksum` has no unit"),
        ("stall = \"2s\"", "from \"0us\" to \"1s\""),
        ("stall = \"1us/KiB\"", "`stall`"),
        ("copy = \"64KiB\"", "`copy`"),
        ("chunk = \"1us\"", "`chunk`"),
        ("first_buffer = true", "`first_buffer` is "),
        ("receive_ring = \"0p\"", "`receive_ring` is zero"),
        ("receive_ring = \"65537p\"", "from \"1p\" to \"65536p\""),
        ("copy = \"2ms/B\"", "from \"0ns/B\" to \"1ms/B\""),
        ("driver_queue = \"0p\"", "`driver_queue` is zero"),
        ("driver_queue = \"3KB\"", "`driver_queue` is not a whole number of frames"),
        ("combined = \"yes\"", "true or false"),
        ("chunk = \"0B\"", "from \"1B\" to \"1MiB\""),
        ("checksums = \"1us/KiB\"", "did you mean `checksum`?"),
    ] {
        let told_is = errors(&host(&format!("{{ base = \"sun-3/60\", {entry} }}")));
        assert!(told_is.contains(told), "{entry}: {told_is}");
        assert_eq!(told_is.matches(" = accepted: ").count(), 1, "{entry}: {told_is}");
    }
}

#[test]
fn an_end_that_is_described_has_a_processor_and_ethernet_cards() {
    let without = errors("[[lab.host]]\nname = \"a\"\n");
    assert!(without.contains("`cpu` is missing"), "{without}");
    let more = format!(
        "[[link]]\nname = \"m\"\nkind = \"serial\"\nrate = \"9600bit\"\n\
         [bond.c]\nends = [\"a\", \"y\"]\nmembers = [\"m\"]\n{}",
        host("\"sun-3/60\"")
    );
    let serial = errors(&more);
    assert!(serial.contains("link `m` of `a` has no card"), "{serial}");
}

#[test]
fn metrics_of_a_host_need_a_processor() {
    let expect = "[[lab.expect]]\nwhat = \"a.cpu\"\nmin = 0\n";
    assert_eq!(errors(&format!("{}{expect}", host("\"sun-3/60\""))), "");
    let without = errors(expect);
    assert!(without.contains("which is no flow or link"), "{without}");
}

#[test]
fn toggles_lay_their_keys_over_the_plan() {
    let more = "[lab.toggle.small]\nabout = \"a small buffer\"\n\
        off = { \"lab.flow.f.tcp.send_buffer\" = \"64KiB\" }\n\
        on = { \"lab.flow.f.tcp.send_buffer\" = \"4KiB\" }\n";
    let experiment = document(more).experiment().unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(experiment.toggles()[0].name, "small");
    let with = |settings: &[(usize, Setting)]| {
        let plan = experiment.plan_with(0, None, settings);
        plan.unwrap_or_else(|errors| panic!("{errors}")).lab.flows[0].tcp.send_buffer
    };
    assert_eq!(with(&[(0, Setting::On)]), 4 << 10);
    assert_eq!(with(&[(0, Setting::Off)]), 64 << 10);
    assert_eq!(with(&[]), plan("").lab.flows[0].tcp.send_buffer);
}

#[test]
fn mistakes_in_toggles_are_told_by_check() {
    let unknown = errors("[lab.toggle.x]\non = { \"lab.flow.g.tcp.nagle\" = false }\n");
    assert!(unknown.contains("there is no `g` in `lab.flow`"), "{unknown}");
    assert!(unknown.contains("every toggle on"), "{unknown}");
    let empty = errors("[lab.toggle.x]\nabout = \"nothing\"\n");
    assert!(empty.contains("toggle `x` changes nothing"), "{empty}");
    let key = errors("[lab.toggle.x]\nof = { \"lab.seed\" = 1 }\n");
    assert!(key.contains("unknown key `of`"), "{key}");
}

/// Two segments and a router between them, with this `cpu`.
fn router(cpu: &str) -> String {
    format!(
        "name = \"x\"\n[[lab.segment]]\nname = \"s\"\ncount = 2\nrate = \"10mbit\"\narp = true\n\
         [[lab.host]]\nname = \"h\"\ncount = 2\nlink = {{ to = \"s{{i}}\" }}\n\
         [[lab.router]]\nname = \"r\"\nsegments = [\"s0\", \"s1\"]\n{cpu}\n"
    )
}

fn router_errors(cpu: &str) -> String {
    let document = Document::parse("x.toml", router(cpu), &|_| Err(String::new()));
    document.expect("TOML").check().to_string()
}

#[test]
fn routers_have_processors_as_hosts_do() {
    let text = router("cpu = { base = \"sun-3/60\", packet = \"100us\" }");
    let document = Document::parse("x.toml", text, &|_| Err(String::new()));
    let plan = document.and_then(|d| d.experiment()).and_then(|e| e.plan(0, None));
    let slow = plan.unwrap_or_else(|errors| panic!("{errors}")).lab.slow;
    assert_eq!((slow.len(), slow[0].name.as_str()), (1, "r"));
    assert_eq!(slow[0].costs.value(Item::Packet), 100_000);
    let unknown = router_errors("cpu = \"sun-3/6\"");
    assert!(unknown.contains("did you mean `sun-3/60`?"), "{unknown}");
    let missing = router_errors("cpu = { packet = \"100us\" }");
    assert!(missing.contains("`driver_queue`") && !missing.contains("`packet`"), "{missing}");
}

#[test]
fn metrics_of_a_routers_processor_need_one() {
    let expect = "[[lab.expect]]\nwhat = \"r.cpu\"\nmin = 0\n";
    assert_eq!(router_errors(&format!("cpu = \"modern\"\n{expect}")), "");
    let without = router_errors(expect);
    assert!(without.contains("names `cpu`, which is no metric of the router `r`"), "{without}");
    let forwarded = expect.replace("r.cpu", "r.forwarded");
    assert_eq!(router_errors(&format!("cpu = \"modern\"\n{forwarded}")), "");
}
