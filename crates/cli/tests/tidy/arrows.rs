//! Which way the arrows point: between crates, between the modules of the core, and no cycle between
//! the top-level modules of any crate.

use std::collections::{BTreeMap, BTreeSet};

use crate::lex;
use crate::tree::{Source, expect_clean, expect_one, manifests, sources};

/// Package, and the packages of this workspace it may use.
const CRATES: &[(&str, &[&str])] = &[
    ("crates/core", &[]),
    ("crates/plan", &["core"]),
    ("crates/lab", &["plan", "core"]),
    ("crates/live", &["plan", "core"]),
    ("crates/cli", &["lab", "live", "plan", "core"]),
    ("crates/packetdrill", &["core"]),
    ("benches", &["lab", "plan", "core"]),
    ("fuzz", &["lab", "live", "plan", "core"]),
];

/// The modules of the core everyone may use; they use only each other.
const BASICS: &[&str] = &["time", "seq", "units", "rng", "frame", "work", "trace", "deadlines"];

/// Module of the core, and the modules besides the basics it may use.
const CORE: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("queue", &["wire"]),
    ("link", &["queue", "wire"]),
    ("offload", &["wire"]),
    ("cc", &[]),
    ("tcp", &["cc", "wire"]),
    ("session", &["wire"]),
    // The bond counts what framing adds to a frame, hence `link`.
    ("bond", &["cc", "queue", "link", "session", "wire"]),
    ("host", &["wire", "queue", "link", "cc", "tcp", "session", "bond"]),
];

/// What a sans-I/O core has no business with.
const OUTSIDE_CORE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::process",
    "std::thread",
    "std::time",
    "std::io",
    "TcpListener",
    "TcpStream",
    "UdpSocket",
    "serde",
];

fn crate_arrows(packages: &[(String, String)], sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut check = |package: &str, used: &str, place: String| {
        let row = CRATES.iter().find(|(name, _)| *name == package);
        let Some((_, allowed)) = row else {
            complaints
                .push(format!("{place}: package {package} is not in the table of arrows, add it"));
            return;
        };
        let own = package.rsplit('/').next() == Some(used);
        if !own && !allowed.contains(&used) {
            complaints.push(format!(
                "{place}: {package} may not use trunkline-{used} (arrows: cli → {{lab, live}} → plan → core); \
                 move what both need down, or the code that needs it up"
            ));
        }
    };
    for (package, manifest) in packages {
        for (line, used) in dependencies(manifest) {
            check(package, &used, format!("{package}/Cargo.toml:{line}"));
        }
    }
    for source in sources {
        for path in lex::paths(&source.live) {
            if let Some(used) = path.segments[0].strip_prefix("trunkline_") {
                check(source.package(), used, source.complain(path.line, path.segments.join("::")));
            }
        }
    }
    complaints
}

/// The crates of this workspace a manifest names outside its dev-dependencies, with the line.
fn dependencies(manifest: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut section = "";
    for (index, line) in manifest.lines().map(str::trim).enumerate() {
        let mut entry = line;
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            entry = section.rsplit_once("dependencies.").map_or("", |(_, name)| name);
        }
        let ships = section.contains("dependencies") && !section.contains("dev-dependencies");
        if let Some(rest) = entry.strip_prefix("trunkline-").filter(|_| ships) {
            let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            found.push((index + 1, rest[..end].to_owned()));
        }
    }
    found
}

fn core_arrows(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    let core: Vec<_> = sources.iter().filter(|source| source.package() == "crates/core").collect();
    for edge in edges(&core) {
        let allowed = if BASICS.contains(&&*edge.from) {
            Some(&[][..])
        } else {
            CORE.iter().find(|(name, _)| *name == edge.from).map(|(_, allowed)| *allowed)
        };
        let (from, to) = (&edge.from, &edge.to);
        match allowed {
            None => complaints.push(format!(
                "{}: core::{from} is not in the table of arrows, add it",
                edge.place
            )),
            Some(allowed) if allowed.contains(&&**to) || BASICS.contains(&&**to) => {}
            Some(allowed) => complaints.push(format!(
                "{}: core::{from} may not use core::{to}, only the basics and {allowed:?}; \
                 pass in the value, or move the shared type down",
                edge.place
            )),
        }
    }
    complaints
}

fn core_reaches_out(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources.iter().filter(|source| source.package() == "crates/core") {
        for outside in OUTSIDE_CORE {
            for at in lex::find(&source.live, outside) {
                let what = format!("`{outside}`: the core is sans-I/O; take it as an argument");
                complaints.push(source.complain_at(at, what));
            }
        }
    }
    complaints
}

fn cycles(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    let packages: BTreeSet<_> = sources.iter().map(Source::package).collect();
    for package in packages {
        let own: Vec<_> = sources.iter().filter(|source| source.package() == package).collect();
        let edges = edges(&own);
        let mut uses: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
        for edge in &edges {
            uses.entry(&edge.from).or_default().entry(&edge.to).or_insert(&edge.place);
        }
        for edge in &edges {
            // A cycle is told once, from its first module by name.
            if let Some(back) = way(&uses, &edge.to, &edge.from)
                && back.iter().all(|module| *module >= edge.from.as_str())
            {
                let round = back.join(" → ");
                complaints.push(format!(
                    "{}: cycle {} → {round}; move what both need down",
                    edge.place, edge.from
                ));
            }
        }
    }
    complaints.sort();
    complaints.dedup();
    complaints
}

/// The shortest way along the edges, both ends included.
fn way<'a>(
    uses: &BTreeMap<&'a str, BTreeMap<&'a str, &str>>,
    from: &'a str,
    to: &str,
) -> Option<Vec<&'a str>> {
    let mut ways = std::collections::VecDeque::from([vec![from]]);
    let mut seen = BTreeSet::from([from]);
    while let Some(way) = ways.pop_front() {
        let last = *way.last()?;
        if last == to {
            return Some(way);
        }
        for &next in uses.get(last).into_iter().flat_map(|next| next.keys()) {
            if seen.insert(next) {
                ways.push_back(way.iter().copied().chain([next]).collect());
            }
        }
    }
    None
}

/// One top-level module of a crate uses another.
struct Edge {
    from: String,
    to: String,
    place: String,
}

fn edges(package: &[&Source]) -> Vec<Edge> {
    let top = |source: &&Source| source.module().and_then(|module| module.first().cloned());
    let modules: BTreeSet<String> = package.iter().filter_map(top).collect();
    let exports = exports(package, &modules);
    let mut found = Vec::new();
    for source in package {
        let Some(module) = source.module().filter(|module| !module.is_empty()) else {
            continue;
        };
        let (_, inline) = lex::modules(&source.live);
        for path in lex::paths(&source.live) {
            let depth = inline.iter().filter(|body| body.contains(&path.at)).count();
            let Some(to) = resolve(&module, depth, &path.segments) else {
                continue;
            };
            let to = exports.get(&to).unwrap_or(&to).clone();
            if to == "*" || modules.contains(&to) && to != module[0] {
                let place = format!("{}:{}", source.path, path.line);
                found.push(Edge { from: module[0].clone(), to, place });
            }
        }
    }
    found
}

/// Names the crate root re-exports, and the module each comes from.
fn exports(package: &[&Source], modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    let roots =
        package.iter().filter(|source| source.module().is_some_and(|module| module.is_empty()));
    for root in roots {
        for (at, _) in root.live.match_indices("use ") {
            let tree = root.live[at + 4..].split(';').next().unwrap_or("");
            let local = tree.trim_start_matches("self::").trim_start_matches("crate::");
            for path in lex::paths(&format!("crate::{local}")) {
                if let [_, module, .., name] = &path.segments[..]
                    && modules.contains(module)
                    && name != module
                {
                    exports.insert(name.clone(), module.clone());
                }
            }
        }
    }
    exports
}

/// The top-level module or root item a path leads to; `depth` inline modules surround it.
fn resolve(module: &[String], depth: usize, segments: &[String]) -> Option<String> {
    let mut at: Vec<&str> = module.iter().map(String::as_str).collect();
    at.extend(std::iter::repeat_n("(inline)", depth));
    for segment in segments {
        match segment.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => drop(at.pop()),
            other if other.starts_with("trunkline_") => return None,
            other => at.push(other),
        }
    }
    at.first().map(|first| (*first).to_owned())
}

#[test]
fn crates_use_only_what_lies_below() {
    expect_clean(crate_arrows(&manifests(), &sources()));
}

#[test]
fn a_crate_that_looks_up_is_found() {
    let manifest =
        "[dependencies]\ntrunkline-plan.workspace = true\n[dev-dependencies]\ntrunkline-lab = {}\n";
    let manifests = [("crates/core".to_owned(), manifest.to_owned())];
    expect_one(
        crate_arrows(&manifests, &[]),
        "crates/core/Cargo.toml:2: crates/core may not use trunkline-plan",
    );
    let table = "[dependencies.trunkline-lab]\nworkspace = true\n";
    expect_one(crate_arrows(&[("crates/plan".to_owned(), table.to_owned())], &[]), "trunkline-lab");
    let source = Source::new("crates/live/src/a.rs", "use trunkline_lab::engine;");
    expect_one(crate_arrows(&[], &[source]), "crates/live may not use trunkline-lab");
    let source = Source::new(
        "crates/lab/src/a.rs",
        "use trunkline_core::{bond, tcp};\nuse trunkline_lab::engine;",
    );
    assert!(crate_arrows(&[], &[source]).is_empty());
}

#[test]
fn modules_of_the_core_use_only_what_lies_below() {
    expect_clean(core_arrows(&sources()));
}

#[test]
fn a_module_of_the_core_that_looks_up_is_found() {
    let lib = "pub mod bond; pub mod cc; pub mod tcp; pub mod time; pub use tcp::Segment;";
    let check = |path: &str, text: &str| {
        let empty = ["bond/mod.rs", "cc/mod.rs", "tcp/mod.rs", "time.rs", "odd.rs"];
        let mut sources: Vec<_> =
            empty.map(|name| Source::new(&format!("crates/core/src/{name}"), "")).into();
        sources.push(Source::new("crates/core/src/lib.rs", lib));
        sources.push(Source::new(&format!("crates/core/src/{path}"), text));
        core_arrows(&sources)
    };
    expect_one(
        check("bond/eql.rs", "use crate::{tcp::Connection, time::Instant};"),
        "bond may not use core::tcp",
    );
    expect_one(check("time.rs", "let x = crate::cc::reno();"), "time may not use core::cc");
    expect_one(check("cc/reno.rs", "use super::super::tcp;"), "cc may not use core::tcp");
    expect_one(check("cc/reno.rs", "use crate::Segment;"), "cc may not use core::tcp");
    expect_one(check("cc/reno.rs", "use crate::*;"), "cc may not use core::*");
    expect_one(check("odd.rs", "use crate::time;"), "core::odd is not in the table");
    assert!(check("tcp/a.rs", "mod field { use super::super::b; }\nuse crate::cc::Cc;").is_empty());
    assert!(check("cc/a.rs", "#[cfg(test)]\nmod tests { use crate::tcp; }").is_empty());
}

#[test]
fn the_core_is_sans_io() {
    expect_clean(core_reaches_out(&sources()));
}

#[test]
fn a_core_that_reaches_out_is_found() {
    let source = |path| Source::new(path, "fn f() { std::fs::read(name) }");
    expect_one(core_reaches_out(&[source("crates/core/src/a.rs")]), "`std::fs`");
    assert!(core_reaches_out(&[source("crates/cli/src/a.rs")]).is_empty());
}

#[test]
fn modules_form_no_cycle() {
    expect_clean(cycles(&sources()));
}

#[test]
fn a_cycle_is_found_once() {
    let sources = [
        Source::new("crates/lab/src/a.rs", "use crate::b::B;"),
        Source::new("crates/lab/src/b/mod.rs", "mod d;"),
        Source::new("crates/lab/src/b/d.rs", "use super::super::c::C;"),
        Source::new("crates/lab/src/c.rs", "use crate::a::A;"),
        Source::new("crates/plan/src/b.rs", "use crate::a::A;"),
        Source::new("crates/plan/src/a.rs", "#[cfg(test)]\nuse crate::b;"),
    ];
    expect_one(cycles(&sources), "crates/lab/src/a.rs:1: cycle a → b → c → a");
}
