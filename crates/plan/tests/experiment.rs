//! Rows, variants, parameters and figures: one plan as a template.

use trunkline_core::bond::Mode;
use trunkline_core::tcp::config::Profile;
use trunkline_core::time::Duration;
use trunkline_plan::model::App;
use trunkline_plan::{Document, Experiment, Scalar};

const PLAN: &str = r#"
name = "eql-bentson"

[published]
source = "EQL-driver manual, 1995"
section = "table of the second test"
table = "published/eql-bentson.toml"

[[link]]
name    = "sl"
count   = "{lines}"
kind    = "serial"
rate    = "{bps}bit"
lab     = { queue = "20p" }

[bond.eql]
ends    = ["home", "isp"]
members = ["sl*"]
mode    = "eql"
mtu     = "{mtu}"

[lab]
seed     = 1995
duration = "600s"

[[lab.chip]]
name  = "uart"
rate  = "{chip}"
links = ["sl*"]

[[lab.flow]]
name = "ftp"
from = "home"
to   = "isp"
app  = { kind = "bulk", bytes = "289284B", clock = "last-write", start_cost = "{start_cost}s" }
tcp  = { profile = "linux-1.1" }

[lab.parameters.start_cost]
value  = 4.8
unit   = "s"
origin = "fitted on MTU 600"

[lab.parameters.chip]
value  = "220kbit"
origin = "fitted on MTU 600"

[lab.rows]
from  = "published/eql-bentson.toml"
where = { measured = true }

[lab.variant.reproduced]

[lab.variant.trunkline]
"bond.eql.mode"         = "earliest"
"lab.flow.ftp.app.clock" = "first-to-last-byte"
"lab.parameters.start_cost" = 0
lab.flow.ftp.tcp = { profile = "modern" }

[[lab.figure]]
id        = "goodput lines={lines} bps={bps} mtu={mtu}"
what      = "ftp.goodput"
unit      = "line-bit/s"
published = "{actual}"
within    = 0.05
scale     = 1.25
held_out  = { mtu = [400, 900] }
note      = "{note?}"
notes     = [{ where = { lines = 3, bps = 115200 }, text = "the printed outlier" }]
trunkline = "ftp.goodput"
ceiling   = "ftp.ceiling"

[[lab.expect]]
what    = "ftp.goodput"
of      = "sl0.rate"
where   = { lines = 1, bps = [9600, 19200] }
variant = "reproduced"
min     = 0.6
"#;

/// Fifty-seven rows, five of them not measured, as the published table has.
fn table() -> String {
    let mut text = String::new();
    for i in 0..57 {
        let (lines, bps) = (i % 4 + 1, [9600, 19_200, 38_400, 57_600, 115_200][i / 12]);
        let mtu = [400, 600, 900][i / 4 % 3];
        let measured = i % 12 != 7;
        text +=
            &format!("[[row]]\nlines = {lines}\nbps = {bps}\nmtu = {mtu}\nmeasured = {measured}\n");
        if measured {
            text += &format!("actual = {}.5\n", 9000 * lines);
        }
        if i == 0 {
            text += "note = \"a noisy line\"\n";
        }
    }
    text
}

fn load(path: &str) -> Result<String, String> {
    match path {
        "published/eql-bentson.toml" => Ok(table()),
        _ => Err("no such file".into()),
    }
}

fn document() -> Document {
    Document::parse("plans/published/eql-bentson.toml", PLAN, &load).expect("it parses")
}

fn experiment() -> Experiment {
    document().experiment().expect("an experiment")
}

#[test]
fn all_rows_and_variants_are_in_order() {
    assert_eq!(document().check().to_string(), "");
    assert_eq!(experiment().rows().len(), 52);
}

#[test]
fn a_row_fills_the_template() {
    let experiment = experiment();
    let row =
        experiment.rows().iter().position(|r| r.text("lines").as_deref() == Some("4")).unwrap();
    let plan = experiment.plan(row, Some("reproduced")).expect("a plan");
    let names: Vec<&str> = plan.links.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(names, ["sl0", "sl1", "sl2", "sl3"]);
    assert_eq!(plan.links[3].rate.up.as_bps(), 9600);
    assert_eq!(plan.bonds[0].members, [0, 1, 2, 3]);
    assert_eq!(plan.bonds[0].mtu, 400);
    assert_eq!(plan.lab.chips[0].links, [0, 1, 2, 3]);
    assert_eq!(plan.lab.chips[0].rate.map(|r| r.as_bps()), Some(220_000));
    assert!(plan.lab.expects.is_empty());
    let App::Bulk(bulk) = plan.lab.flows[0].app else { panic!("bulk") };
    assert_eq!(bulk.bytes, Some(289_284));
    assert_eq!(bulk.start_cost, Duration::from_millis(4800));
    assert_eq!(plan.lab.flows[0].tcp.profile, Profile::Linux11);
    assert_eq!(plan.lab.flows[0].tcp.mtu, 400);
}

#[test]
fn a_variant_changes_keys_and_parameters() {
    let plan = experiment().plan(0, Some("trunkline")).expect("a plan");
    assert_eq!(plan.bonds[0].mode, [Mode::Earliest; 2]);
    assert_eq!(plan.lab.flows[0].tcp.profile, Profile::Modern);
    let App::Bulk(bulk) = plan.lab.flows[0].app else { panic!("bulk") };
    assert_eq!(bulk.start_cost, Duration::ZERO);
    assert!(experiment().plan(0, Some("trunklin")).is_err());
    assert!(experiment().plan(52, None).is_err());
}

#[test]
fn a_variant_may_be_written_with_dots_quotes_or_headers() {
    let changed = |variant: &str| {
        let text = format!("{PLAN}\n[lab.variant.other]\n{variant}\n");
        let document = Document::parse("p.toml", text, &load).expect("it parses");
        let plan = document.experiment().and_then(|e| e.plan(0, Some("other"))).expect("a plan");
        let tcp = &plan.lab.flows[0].tcp;
        (plan.bonds[0].mode[0], plan.bonds[0].mtu, tcp.profile)
    };
    let expected = (Mode::Earliest, 1000, Profile::Linux11);
    assert_eq!(changed("\"bond.eql.mode\" = \"earliest\"\n\"bond.eql.mtu\" = 1000"), expected);
    assert_eq!(changed("bond.eql.mode = \"earliest\"\nbond.eql.mtu = 1000"), expected);
    assert_eq!(changed("[lab.variant.other.bond.eql]\nmode = \"earliest\"\nmtu = 1000"), expected);
    let replaced = changed("lab.flow.ftp.tcp = { nagle = false }");
    assert_eq!(replaced, (Mode::Eql, 400, Profile::Modern));
}

#[test]
fn expectations_hold_for_their_rows_and_variants() {
    let experiment = experiment();
    assert_eq!(experiment.plan(0, Some("reproduced")).expect("a plan").lab.expects.len(), 1);
    assert_eq!(experiment.plan(0, Some("trunkline")).expect("a plan").lab.expects.len(), 0);
}

#[test]
fn figures_take_the_row_s_values() {
    let experiment = experiment();
    let figures = experiment.figures(0).expect("figures");
    let [figure] = figures.as_slice() else { panic!("one figure") };
    assert_eq!(figure.id, "goodput lines=1 bps=9600 mtu=400");
    assert_eq!(figure.published, Some(9000.5));
    assert_eq!(figure.variant.as_deref(), Some("reproduced"));
    assert_eq!(figure.note.as_deref(), Some("a noisy line"));
    assert!(figure.held_out);
    let fitted = experiment.rows().iter().position(|r| r.number("mtu") == Some(600.0)).unwrap();
    assert!(!experiment.figures(fitted).expect("figures")[0].held_out);
    let outlier = |r: &&trunkline_plan::Row| r.label().starts_with("lines=3 bps=115200");
    let outlier = experiment.rows().iter().position(|r| outlier(&r)).unwrap();
    let note = experiment.figures(outlier).expect("figures")[0].note.clone();
    assert_eq!(note.as_deref(), Some("the printed outlier"));
}

#[test]
fn parameters_are_listed_with_origin_and_can_be_set() {
    let mut document = document();
    document.set("start_cost", "6.2").expect("a parameter");
    document.set("lab.parameters.chip", "200kbit").expect("a parameter");
    let experiment = document.experiment().expect("an experiment");
    assert_eq!(experiment.parameters()[0].value, Scalar::Number(6.2));
    assert_eq!(experiment.parameters()[0].unit.as_deref(), Some("s"));
    assert_eq!(experiment.parameters()[1].value, Scalar::Text("200kbit".into()));
    let plan = experiment.plan(0, None).expect("a plan");
    let App::Bulk(bulk) = plan.lab.flows[0].app else { panic!("bulk") };
    assert_eq!(bulk.start_cost, Duration::from_millis(6200));
    assert!(document.set("lab.parameters.chp", "1").is_err());
}

#[test]
fn what_is_set_wins_over_a_variant() {
    let mut document = document();
    document.set("bond.eql.mode", "balance-rr").expect("set");
    document.set("lab.rows.where.mtu", "900").expect("set");
    let experiment = document.experiment().expect("an experiment");
    let plan = experiment.plan(0, Some("trunkline")).expect("a plan");
    assert_eq!(plan.bonds[0].mode, [Mode::BalanceRr; 2]);
    assert_eq!(plan.bonds[0].mtu, 900);
}

#[test]
fn an_error_in_one_row_names_the_row() {
    let text = PLAN.replace("mtu     = \"{mtu}\"", "mtu = \"{mtus[0]}\"");
    let text = text.replace("from  = \"published/eql-bentson.toml\"\nwhere = { measured = true }",
        "list = [{ lines = 1, bps = 9600, mtu = 600, actual = 1, mtus = [600] }, { lines = 2, bps = 9600, mtu = 60, actual = 1, mtus = [60] }]");
    let document = Document::parse("p.toml", text, &load).expect("it parses");
    let errors = document.check();
    assert_eq!(errors.errors.len(), 1, "{errors}");
    assert_eq!(errors.errors[0].key, "bond.eql.mtu");
    assert_eq!(errors.errors[0].found, "60");
    assert!(errors.errors[0].context.as_deref().unwrap().starts_with("row lines=2"), "{errors}");
}

#[test]
fn a_grid_multiplies_and_zip_goes_along() {
    let rows = "[lab.rows]\ngrid = { lines = [1, 2], bps = [9600, 19200], mtu = [400, 600], actual = [1, 2] }\nzip = [[\"mtu\", \"actual\"]]\n";
    let text = PLAN.replace(
        "[lab.rows]\nfrom  = \"published/eql-bentson.toml\"\nwhere = { measured = true }\n",
        rows,
    );
    let document = Document::parse("p.toml", text, &load).expect("it parses");
    assert_eq!(document.check().to_string(), "");
    let experiment = document.experiment().expect("an experiment");
    let labels: Vec<String> = experiment.rows().iter().map(|r| r.label()).collect();
    assert_eq!(labels.len(), 8);
    assert_eq!(labels[0], "lines=1 bps=9600 mtu=400 actual=1");
    assert_eq!(labels[1], "lines=1 bps=9600 mtu=600 actual=2");
    assert_eq!(labels[7], "lines=2 bps=19200 mtu=600 actual=2");
}

#[test]
fn labels_are_made_of_the_keys_that_are_wanted() {
    let grid = "grid = { mtu = [400, 600], lines = [1, 2], bps = [9600], actual = [1] }\n";
    let told = |label: &str| {
        let text = PLAN.replace(
            "from  = \"published/eql-bentson.toml\"\nwhere = { measured = true }\n",
            &format!("{grid}label = {label}\n"),
        );
        Document::parse("p.toml", &text, &load).expect("it parses")
    };
    let document = told("[\"lines\", \"mtu\"]");
    assert_eq!(document.check().to_string(), "");
    let experiment = document.experiment().expect("an experiment");
    assert_eq!(experiment.rows()[1].label(), "lines=2 mtu=400");
    for (label, message) in [
        ("[\"line\", \"mtu\"]", "no row has a `line`"),
        ("[\"lines\"]", "two rows have the label `lines=1`"),
        ("[]", "two rows have the label ``"),
        ("\"mtu\"", "an array of names"),
    ] {
        let errors = told(label).check().to_string();
        assert!(errors.contains(message), "{label}: {errors}");
    }
}

#[test]
fn mistakes_in_an_experiment_are_told_like_others() {
    let told = |from: &str, to: &str| {
        assert!(PLAN.contains(from), "`{from}` is in the plan");
        match Document::parse("p.toml", PLAN.replacen(from, to, 1), &load) {
            Ok(document) => document.check().to_string(),
            Err(diagnostics) => diagnostics.to_string(),
        }
    };
    let cases = [
        ("{lines}", "{line}", "nothing is called `line` here"),
        ("from  = \"published", "from  = \"publishd", "cannot be read: no such file"),
        ("measured = true", "mesured = true", "did you mean `measured`?"),
        ("unit   = \"s\"", "", "parameter `start_cost` has no unit"),
        ("origin = \"fitted", "orign = \"fitted", "did you mean `origin`?"),
        ("\"bond.eql.mode\"", "\"bond.eqll.mode\"", "there is no `eqll` in `bond`"),
        (
            "what      = \"ftp.",
            "what      = \"ftpp.",
            "`what` names `ftpp`, which is no flow or link",
        ),
        ("variant = \"reproduced\"", "variant = \"reproducd\"", "did you mean `reproduced`?"),
        ("lines={lines} bps={bps} mtu={mtu}", "x", "two rows give a figure the id `goodput x`"),
        ("within    = 0.05", "within    = 0", "is not above zero"),
        ("held_out  = { mtu", "held_out  = { mtuu", "did you mean `mtu`?"),
        ("count   = \"{lines}\"", "count = 5000", "`count` is out of range"),
        ("[lab.variant.reproduced]", "[lab.variants.reproduced]", "unknown key `variants`"),
    ];
    for (from, to, expected) in cases {
        let text = told(from, to);
        assert!(text.contains(expected) && text.contains('^'), "{from} -> {to}:\n{text}");
    }
}

#[test]
fn errors_of_the_experiment_and_of_its_plans_are_told_together() {
    let text = PLAN.replace("unit   = \"s\"", "").replace("ends    =", "ens    =");
    let document = Document::parse("p.toml", text, &load).expect("it parses");
    let keys: Vec<String> = document.check().errors.into_iter().map(|e| e.key).collect();
    assert_eq!(keys, ["lab.parameters.start_cost.unit", "bond.eql.ens"]);
    assert!(document.experiment().is_err());
}
