//! No text makes the reader panic, and every error points into its text.

use proptest::prelude::*;
use trunkline_plan::{Diagnostics, Document};

const PLANS: [&str; 5] = [
    include_str!("../../../plans/eql-two-modems.toml"),
    include_str!("incast-1g.toml"),
    include_str!("cable-oneway.toml"),
    include_str!("network.toml"),
    TEMPLATE,
];

const TEMPLATE: &str = r#"
name = "t"
link = [{ name = "a{i}", count = "{n}", kind = "serial", rate = "{rates[i]}" }]
bond.b = { ends = ["x", "y"], members = ["a[*]"], mode = "eql" }
[lab.rows]
grid = { n = [1, 2], rates = [["1kbit", "2kbit"]] }
zip = [["n"]]
where = { n = 2 }
[lab.parameters.p]
value = 1
unit = "1"
origin = "assumed"
[lab.variant.v]
"bond.b.mode" = "earliest"
[[lab.flow]]
name = "f"
from = "x"
to = "y"
app = { kind = "ping", interval = "{p}s" }
[[lab.figure]]
id = "i {n}"
what = "f.rtt_median"
unit = "s"
notes = [{ where = { n = 1 }, text = "{{}}" }]
[sweep.vars]
"link.*.weight" = ["1kbit"]
"#;

/// Reads everything there is to read and looks at every error.
fn exercise(bytes: &[u8], sets: &[(String, String)]) {
    let load = |path: &str| match path {
        "dsl-lte-tunnel.toml" => Ok(PLANS[0].to_owned()),
        _ => Err("no such file".to_owned()),
    };
    match Document::parse("dir/p.toml", bytes, &load) {
        Ok(mut document) => {
            for (key, value) in sets {
                document.set(key, value).err().iter().for_each(well_formed);
            }
            let told = document.check();
            well_formed(&told);
            if let Ok(experiment) = document.experiment() {
                let plan = experiment.plan(0, experiment.variants().next());
                // What is in order can be had, and what cannot says why.
                assert!(plan.is_ok() || !told.is_empty(), "{plan:?}");
                plan.err().iter().for_each(well_formed);
            }
        }
        Err(diagnostics) => {
            assert!(!diagnostics.is_empty());
            well_formed(&diagnostics);
        }
    }
}

fn well_formed(diagnostics: &Diagnostics) {
    for error in &diagnostics.errors {
        assert!(error.line >= 1 && error.column >= 1 && !error.message.is_empty());
        assert!(error.span.start <= error.span.end);
        assert!(error.to_string().contains('^'));
    }
}

#[test]
fn the_template_is_in_order() {
    let document = Document::parse("t.toml", TEMPLATE, &|_| Err(String::new())).expect("it parses");
    assert_eq!(document.check().to_string(), "");
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    exercise("a = ".bytes().chain([b'['; 5000]).collect::<Vec<_>>().as_slice(), &[]);
    exercise("a = ".bytes().chain(b"{a=".repeat(5000)).collect::<Vec<_>>().as_slice(), &[]);
    exercise(vec!["a"; 5000].join(".").as_bytes(), &[]);
    let deep = (vec!["a"; 5000].join("."), "[".repeat(5000));
    exercise(PLANS[0].as_bytes(), &[deep]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        exercise(&bytes, &[]);
    }

    #[test]
    fn arbitrary_lines_never_panic(text in "([a-z.\\[\\]{}=\"',0-9 \n#]|name|link|bond|lab|rate){0,80}") {
        exercise(text.as_bytes(), &[]);
    }

    #[test]
    fn mutated_plans_never_panic(
        plan in 0..PLANS.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, "[ -~\n]{0,6}"), 1..6),
    ) {
        let mut bytes = PLANS[plan].as_bytes().to_vec();
        for (at, cut, insert) in edits {
            let start = at.index(bytes.len() + 1);
            let end = (start + cut).min(bytes.len());
            bytes.splice(start..end, insert.bytes());
        }
        exercise(&bytes, &[]);
    }

    #[test]
    fn lines_taken_from_plans_never_panic(
        plan in 0..PLANS.len(),
        drop in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        twice in any::<prop::sample::Index>(),
    ) {
        let mut lines: Vec<&str> = PLANS[plan].lines().collect();
        for at in drop {
            let at = at.index(lines.len());
            lines.remove(at);
        }
        let line = lines[twice.index(lines.len())];
        lines.push(line);
        exercise(lines.join("\n").as_bytes(), &[]);
    }

    #[test]
    fn any_set_never_panics(
        plan in 0..PLANS.len(),
        key in "(link|bond|lab|end|sweep|name|p)(\\.(\\*|b|eql0|modem0|flow|ftp|rows|variant|v|parameters|p|where|figure|expect|0|vars|grid|n|at|rate)){0,5}",
        value in "[ -~]{0,12}|\\[\\]|\\{\\}|\\{ a = 1 \\}|0|true",
    ) {
        exercise(PLANS[plan].as_bytes(), &[(key, value)]);
    }
}
