//! Serial lines with PPP and modems, and Ethernet segments: what a plan may say of them and what not.

use trunkline_core::link::framing::{Header, HeaderCompression, LineCoding};
use trunkline_core::link::modem::Blocks;
use trunkline_core::time::Duration;
use trunkline_core::wire::ppp::{Agreed, Field};
use trunkline_plan::Document;
use trunkline_plan::model::Plan;

const LINK: &str = "name = \"line\"\nkind = \"serial\"\nrate = \"28.8kbit\"\n";

fn document(link: &str, more: &str) -> Document {
    let text = format!(
        "name = \"p\"\n[bond.b]\nends = [\"x\", \"y\"]\nmembers = [\"line\"]\n{more}\n[[link]]\n{link}"
    );
    Document::parse("p.toml", &text, &|_| Err("no files".into())).expect("TOML")
}

fn plan(link: &str, more: &str) -> Plan {
    let experiment = document(link, more).experiment();
    experiment.and_then(|e| e.plan(0, None)).unwrap_or_else(|errors| panic!("{errors}"))
}

#[track_caller]
fn refused(link: &str, more: &str, parts: &[&str]) {
    let text = document(link, more).check().to_string();
    for part in parts {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}

#[test]
fn ppp_has_what_both_ends_agreed_on() {
    let framing = |keys: &str| {
        let link = format!("{LINK}framing = {{ header = \"ppp\"{keys} }}\n");
        plan(&link, "").links[0].framing
    };
    let short = Agreed { accm: 0, address: Field::Compressed, protocol: Field::Compressed };
    assert_eq!(framing("").header, Header::Ppp(short));
    assert_eq!(framing("").compression, HeaderCompression::Off);
    let full = framing(", accm = 0xffffffff, fields = \"full\", vj = true");
    assert_eq!(full.header, Header::Ppp(Agreed::DEFAULT));
    assert_eq!(full.compression, HeaderCompression::VanJacobson);
}

#[test]
fn what_only_ppp_has_is_refused_elsewhere() {
    let slip = format!("{LINK}framing = {{ header = \"slip\", accm = 0, fields = \"full\" }}\n");
    refused(&slip, "", &["`accm` is PPP's alone", "`fields` is PPP's alone", "header = \"ppp\""]);
    let bare = format!("{LINK}framing = {{ header = \"none\", vj = true }}\n");
    refused(&bare, "", &["`vj` needs a header that tells what a packet is"]);
    let wide = format!("{LINK}framing = {{ header = \"ppp\", accm = 4294967296 }}\n");
    refused(&wide, "", &["`accm` is out of range", "0 to 4294967295"]);
}

#[test]
fn compressed_headers_need_a_line_that_keeps_its_order() {
    let vj = "framing = { header = \"ppp\", vj = true }\n";
    for mixing in ["duplicate = \"1%\"", "reorder = { ratio = \"1%\", delay = \"1ms\" }"] {
        let mixed = format!("{LINK}{vj}lab = {{ {mixing} }}\n");
        refused(&mixed, "", &["needs a line that keeps its order", "vj = false"]);
    }
    let link = format!("{LINK}count = 2\n{vj}");
    let two = |mode: &str| {
        let text = format!(
            "name = \"p\"\n[bond.b]\nends = [\"x\", \"y\"]\nmembers = [\"line*\"]\nmode = \"{mode}\"\n\
             [[link]]\n{link}"
        );
        Document::parse("p.toml", &text, &|_| Err("no files".into()))
            .expect("TOML")
            .check()
            .to_string()
    };
    for mode in ["eql", "earliest", "balance-rr"] {
        let text = two(mode);
        assert!(text.contains("packets must keep their order: a bond spreads them"), "{text}");
    }
    assert_eq!(two("active-backup"), "");
}

#[test]
fn a_modem_has_defaults_and_says_what_its_line_is() {
    let link = format!("{LINK}framing = {{ header = \"ppp\" }}\n");
    let modem = |keys: &str| {
        plan(&format!("{link}lab = {{ modem = {{ {keys} }} }}\n"), "").links[0].clone()
    };
    let config = modem("").modem_config().expect("a modem");
    assert_eq!(config.dte.as_bps(), 115_200);
    assert_eq!(
        (config.line, config.payload_ppm, config.buffer),
        (LineCoding::Sync, 1_000_000, 2048)
    );
    assert_eq!(config.blocks, Some(Blocks { data: 128, overhead: 7 }));
    let gzip =
        modem("block = \"64B\", block_overhead = \"8B\", expansion = \"3%\", compression = 2");
    assert_eq!(gzip.modem_config().expect("a modem").payload_ppm, 1_030_000);
    let text = format!("{link}payload = \"text\"\nlab = {{ modem = {{ compression = 2.5 }} }}\n");
    assert_eq!(plan(&text, "").links[0].modem_config().expect("a modem").payload_ppm, 400_000);
    let plain = modem("line = \"async-8n1\", dte = \"57.6kbit\"").modem_config().expect("a modem");
    assert_eq!((plain.line, plain.blocks), (LineCoding::Async8n1, None));
}

#[test]
fn what_a_modem_cannot_do_is_refused() {
    let modem = |keys: &str| format!("{LINK}lab = {{ modem = {{ {keys} }} }}\n");
    let parts =
        ["`block` = 64B needs modems that correct errors", "`compression` = 2 needs modems"];
    refused(&modem("line = \"async-8n1\", block = \"64B\", compression = 2"), "", &parts);
    refused(&modem("compression = 0.5"), "", &["`compression` is no ratio", "1 to 100"]);
    refused(&modem("block = \"0B\""), "", &["`block` is out of range", "a size from 1B to 4096B"]);
    refused(&modem("bufer = \"1KB\""), "", &["unknown key `bufer`", "did you mean `buffer`?"]);
    let gap = format!("{LINK}framing = {{ gap = \"2B\" }}\nlab = {{ modem = {{}} }}\n");
    refused(&gap, "", &["a modem's line has no `gap`"]);
    let chip = "[[lab.chip]]\nname = \"uart\"\nlinks = [\"line\"]\n";
    refused(&modem(""), chip, &["link `line` has a modem's line"]);
}

/// What a bulk transfer's segments leave of a line: MTU 384 without compressed headers, and with.
#[test]
fn the_ceiling_counts_everything_around_a_segment() {
    let ceiling = |framing: &str, modem: &str| {
        let link = format!(
            "{LINK}payload = \"text\"\nframing = {{ header = \"ppp\"{framing} }}\nlab = {{ modem = {{ {modem} }} }}\n"
        );
        let link = &plan(&link, "").links[0];
        let millibits = link.mean_segment_millibits(link.rate.up, 344, 40);
        28_800.0 * 344.0 / (millibits as f64 / 1000.0)
    };
    let near = |got: f64, bytes: f64| assert!((got / bytes - 1.0).abs() < 0.001, "{got} {bytes}");
    near(ceiling("", "line = \"async-8n1\""), 2880.0 * 344.0 / 388.0);
    near(ceiling(", vj = true", "line = \"async-8n1\""), 2880.0 * 344.0 / 351.0);
    near(
        ceiling(", vj = true", "block = \"64B\", block_overhead = \"8B\""),
        3200.0 * 344.0 / 351.0,
    );
    near(
        ceiling(", vj = true", "block = \"64B\", block_overhead = \"8B\", compression = 2"),
        3200.0 * 344.0 / (172.0 + 7.0),
    );
    near(ceiling(", vj = true", "compression = 50"), 11_520.0 * 344.0 / 351.0);
}

#[test]
fn ethernet_links_share_a_segment() {
    let link = "name = \"line\"\nkind = \"ethernet\"\nrate = \"10mbit\"\n";
    let segment = "[[lab.segment]]\nname = \"cable\"\nlinks = [\"line\"]\n";
    let shared = plan(link, segment);
    assert_eq!((shared.links[0].framing.header, shared.bonds[0].mtu), (Header::Ethernet, 1500));
    let cable = &shared.lab.segments[0];
    assert_eq!(
        (cable.rate.as_bps(), cable.layout.propagation()),
        (10_000_000, Duration::from_nanos(12_800))
    );
    assert!(shared.has_randomness());
    refused(LINK, segment, &["link `line` is no Ethernet", "links of kind \"ethernet\""]);
    let long = format!("{segment}propagation = \"26us\"\n");
    refused(link, &long, &["is longer than half the slot time", "at most 25600ns"]);
    refused(
        &format!("{link}framing = {{ line = \"sync\" }}\n"),
        "",
        &["an ethernet link has no `framing`"],
    );
    refused(&format!("{link}trunk = true\n"), "", &["not in this version for an ethernet link"]);
}
