//! Calls, words and names that are not used here, each with what to do instead. The lists are written
//! in halves where the whole word would be found in this very file.

use crate::lex;
use crate::tree::{Source, expect_clean, expect_one, files, read, sources};

/// Where a banned call is looked for.
enum Scope {
    /// All text, comments and tests too.
    Text,
    /// All code, tests too, except in packages under these paths.
    Code { except: &'static [&'static str] },
    /// Code that ships, except under these paths.
    Live { except: &'static [&'static str] },
    /// Code that ships under these paths.
    LiveOnly { places: &'static [&'static str] },
}

const PURE: &[&str] = &["crates/core/", "crates/lab/"];
const PRINTS: &[&str] = &["crates/cli/", "benches/"];
const UNSAFE: &[&str] =
    &["crates/live/", "crates/packetdrill/", "crates/core/src/wire/checksum/simd.rs"];
const CLOCKS: &[&str] =
    &["crates/live/", "crates/cli/", "benches/src/versus.rs", "benches/src/machine.rs"];

const LEFT_OVER: &str = "finish it or leave it out";
const NO_CLOCK: &str = "time is an argument: take `now`";
const NO_RNG: &str = "take a seeded `Rng` and fork it by a label";
const NO_HASH: &str = "its order differs from run to run: use a BTreeMap, a Vec or a slab";
const NO_FLOAT: &str = "differs between platforms: use integers or `libm`";
const NO_PRINT: &str = "return the value or record it in the trace; only the program prints";
const NO_UNSAFE: &str =
    "unsafe stands only in crates/live, crates/packetdrill and core's wire/checksum/simd.rs";

const BANNED: &[(&str, Scope, &str)] = &[
    (concat!("to", "do!("), Scope::Text, LEFT_OVER),
    (concat!("unimple", "mented!("), Scope::Text, LEFT_OVER),
    (concat!("db", "g!("), Scope::Text, "take it out"),
    (concat!("FIX", "ME"), Scope::Text, LEFT_OVER),
    (concat!("XX", "X"), Scope::Text, LEFT_OVER),
    (concat!("allow(dead", "_code)"), Scope::Text, "delete what nobody uses"),
    (concat!("#[ign", "ore"), Scope::Text, "a test runs or does not exist"),
    ("thread::sleep", Scope::Code { except: &[] }, "wait for the event, or move virtual time"),
    ("SystemTime::now", Scope::Code { except: CLOCKS }, NO_CLOCK),
    ("Instant::now(", Scope::Code { except: CLOCKS }, NO_CLOCK),
    ("thread_rng", Scope::Code { except: &[] }, NO_RNG),
    ("rand::rng", Scope::Code { except: &[] }, NO_RNG),
    ("HashMap", Scope::LiveOnly { places: PURE }, NO_HASH),
    ("HashSet", Scope::LiveOnly { places: PURE }, NO_HASH),
    (".exp(", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    (".exp2(", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    (".exp_m1(", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    (".ln(", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    (".ln_1p(", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    (".log2(", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    (".log10(", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    (".powf(", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    (".powi(", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    (".cbrt(", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    (".hypot(", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    (".sin(", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    (".cos(", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    (".tan(", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    (".tanh(", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    ("f64::exp", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    ("f64::ln", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    ("f64::powf", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    ("f64::powi", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    ("f64::cbrt", Scope::LiveOnly { places: PURE }, NO_FLOAT),
    ("println!", Scope::Live { except: PRINTS }, NO_PRINT),
    ("print!", Scope::Live { except: PRINTS }, NO_PRINT),
    ("eprintln!", Scope::Live { except: PRINTS }, NO_PRINT),
    ("eprint!", Scope::Live { except: PRINTS }, NO_PRINT),
    ("unsafe", Scope::Code { except: UNSAFE }, NO_UNSAFE),
    ("allow(unsafe_code)", Scope::Code { except: UNSAFE }, NO_UNSAFE),
];

/// Words that say nothing in a name, with what to do.
const EMPTY_WORDS: &[&str] = &["manager", "util", "utils", "helper", "helpers", "common"];
const EMPTY_PREFIXES: &[&str] = &["get", "process"];

/// Names of the field that would be refused, each with its source.
const TERMS: &[(&str, &str)] = &[];

/// Places on one developer's machine.
const MACHINE_PATHS: &[&str] = &[
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("/t", "mp/"),
];
/// What is read for them, besides the sources.
const TEXT_PLACES: &[&str] =
    &[".ci", "crates", "benches", "fuzz", "docs", "plans", "published", "scripts"];

fn banned(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        for (word, scope, instead) in BANNED {
            let text = match scope {
                Scope::Text => &source.text,
                Scope::Code { except } if !source.is_under(except) => &source.code,
                Scope::Live { except } if !source.is_under(except) => &source.live,
                Scope::LiveOnly { places } if source.is_under(places) => &source.live,
                _ => continue,
            };
            let found = lex::find(text, word);
            complaints
                .extend(found.map(|at| source.complain_at(at, format!("`{word}`: {instead}"))));
        }
    }
    complaints
}

fn empty_names(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        for declared in
            lex::declared(&source.live, &["fn", "struct", "enum", "trait", "type", "mod"])
        {
            if TERMS.iter().any(|(term, _)| *term == declared.name) {
                continue;
            }
            let words = name_words(&declared.name);
            let empty = words.iter().find(|word| EMPTY_WORDS.contains(&word.as_str()));
            let prefix = words.first().filter(|_| words.len() > 1);
            let prefix = prefix.filter(|word| EMPTY_PREFIXES.contains(&word.as_str()));
            if let Some(word) = empty.or(prefix) {
                let what =
                    format!("`{}`: `{word}` says nothing, name what it is or does", declared.name);
                complaints.push(source.complain(declared.line, what));
            }
        }
    }
    complaints
}

/// `snake_case` and `CamelCase` names in lower-case words.
fn name_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_uppercase() && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if c != '_' {
            words.last_mut().unwrap().extend(c.to_lowercase());
        }
    }
    words
}

fn machine_paths<'a>(texts: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in texts {
        let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
        for place in MACHINE_PATHS.iter().filter(|place| !(is_test && place.starts_with("/t"))) {
            for (at, _) in text.match_indices(place) {
                let before = text[..at].chars().next_back();
                if before.is_none_or(|c| !c.is_alphanumeric() && !".-_}/".contains(c)) {
                    let line = lex::line_of(text, at);
                    complaints.push(format!(
                        "{path}:{line}: `{place}…` is a place on one machine: use a relative path"
                    ));
                }
            }
        }
    }
    complaints
}

#[test]
fn banned_calls_are_not_used() {
    expect_clean(banned(&sources()));
}

#[test]
fn each_banned_call_is_found() {
    for (word, scope, _) in BANNED {
        let (path, elsewhere) = match scope {
            Scope::LiveOnly { places } => (places[0], Some("crates/cli/")),
            Scope::Code { except } | Scope::Live { except } => {
                ("crates/plan/", except.first().copied())
            }
            Scope::Text => ("crates/plan/", None),
        };
        let text = format!("//! Header.\nfn f() {{ x {word} y }}\n");
        let one = |path: &str| {
            let complaints = banned(&[Source::new(&format!("{path}src/a.rs"), &text)]);
            complaints
                .into_iter()
                .filter(|complaint| complaint.contains(&format!("`{word}`")))
                .collect()
        };
        expect_one(one(path), "a.rs:2");
        if let Some(elsewhere) = elsewhere {
            assert!(one(elsewhere).is_empty(), "{word} is allowed in {elsewhere}");
        }
    }
    let spared = Source::new(
        "crates/core/src/a.rs",
        "//! HashMap\nlet a = \"unsafe\"; let hashmap_is = x.ilog2();",
    );
    assert!(banned(&[spared]).is_empty());
}

#[test]
fn names_say_something() {
    expect_clean(empty_names(&sources()));
}

#[test]
fn an_empty_name_is_found() {
    let check = |text| empty_names(&[Source::new("crates/core/src/a.rs", text)]);
    expect_one(check("struct LinkManager;"), "`manager` says nothing");
    expect_one(check("pub mod util;"), "`util`");
    expect_one(check("fn get_rate() {}"), "`get`");
    expect_one(check("fn process_segment() {}"), "`process`");
    assert!(
        check("fn get() {} fn utility() {} fn target_process() {} struct Gettysburg;").is_empty()
    );
}

#[test]
fn no_path_of_one_machine_is_mentioned() {
    let mut paths: Vec<_> = TEXT_PLACES.iter().flat_map(|place| files(place)).collect();
    paths.retain(|path| !path.starts_with("fuzz/corpus/"));
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "Cargo.toml",
        "deny.toml",
    ] {
        paths.extend(files(name));
    }
    let texts: Vec<_> = paths.iter().map(|path| (path.as_str(), read(path))).collect();
    expect_clean(machine_paths(texts.iter().map(|(path, text)| (*path, text.as_str()))));
}

#[test]
fn a_path_of_one_machine_is_found() {
    let text = ["See ", "/ho", "me/ann/trunkline and https://a.example/ho", "me/."].concat();
    expect_one(machine_paths([("README.md", &*text)].into_iter()), "README.md:1");
    let text = ["cd /t", "mp/x"].concat();
    assert!(machine_paths([("crates/cli/tests/a.rs", &*text)].into_iter()).is_empty());
    expect_one(machine_paths([("scripts/a", &*text)].into_iter()), "scripts/a:1");
}
