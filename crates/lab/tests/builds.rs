//! Whatever a check accepts is built and begins to run without a panic: the plans of the program, changed at random.

use std::panic::{AssertUnwindSafe, catch_unwind};
use trunkline_core::rng::Rng;
use trunkline_core::time::Duration;
use trunkline_lab::build::world;
use trunkline_lab::library::{READY, data};
use trunkline_plan::Document;
use trunkline_plan::model::Plan;

/// Switches, segments, routers, gateways, bonds and processors in one plan, which changes make a mess of.
const NETWORK: &str = include_str!("../../plan/tests/network.toml");
/// Changed plans for each.
const RUNS: u64 = 60;
const RUNS_OF_NETWORK: u64 = 1500;
/// How long what is accepted runs.
const SPAN: Duration = Duration::from_millis(2);

/// The plan of the first row and variant, if it is in order.
fn accepted(text: &str) -> Option<Plan> {
    let load = |file: &str| data(file).map(str::to_owned).ok_or_else(|| "no file".to_owned());
    let document = Document::parse("p.toml", text, &load).ok()?;
    let experiment = document.experiment().ok()?;
    experiment.plan(0, experiment.variants().next()).ok()
}

/// One of a list.
fn pick<'t, T>(rng: &mut Rng, list: &'t [T]) -> Option<&'t T> {
    (!list.is_empty()).then(|| &list[rng.below(list.len() as u64) as usize])
}

/// The tables of a text, each with its head.
fn tables(text: &str) -> Vec<Vec<String>> {
    let mut tables: Vec<Vec<String>> = vec![Vec::new()];
    for line in text.lines() {
        if line.starts_with('[') {
            tables.push(Vec::new());
        }
        tables.last_mut().expect("the first").push(line.to_owned());
    }
    tables
}

/// What a line gives a value to, and the value.
fn entry(line: &str) -> Option<(&str, &str)> {
    line.split_once('=').map(|(key, value)| (key.trim(), value.trim()))
}

fn words(text: &str) -> Vec<&str> {
    text.split(['"', ' ', '=', '[', ']', ',']).filter(|word| !word.is_empty()).collect()
}

/// A plan of which a table or a line is lost or there twice, or a value is that of another line with its key, or a
/// word is another of its words.
fn changed(rng: &mut Rng, text: &str) -> Option<String> {
    let mut tables = tables(text);
    let at = rng.below(tables.len() as u64) as usize;
    let line = rng.below(tables[at].len().max(1) as u64) as usize;
    match rng.below(8) {
        0 => drop(tables.remove(at)),
        1 => {
            let copy = tables[at].clone();
            tables.push(copy);
            let twin = tables.last_mut()?.iter_mut().find(|line| line.starts_with("name"))?;
            *twin = format!("name = \"twin{}\"", rng.below(1 << 20));
        }
        2 => drop((line < tables[at].len()).then(|| tables[at].remove(line))),
        3 => {
            let old = tables[at].get(line)?.clone();
            let word = *pick(rng, &words(&old))?;
            tables[at][line] = old.replacen(word, pick(rng, &words(text))?, 1);
        }
        _ => {
            let key = entry(tables[at].get(line)?)?.0.to_owned();
            let same: Vec<&str> =
                text.lines().filter(|line| entry(line).is_some_and(|e| e.0 == key)).collect();
            let value = entry(pick(rng, &same)?)?.1;
            tables[at][line] = format!("{key} = {value}");
        }
    }
    Some(tables.concat().join("\n"))
}

/// How many of the changed plans are accepted; each of them is built and begins to run.
fn build_changed(name: &str, text: &str, runs: u64) -> u64 {
    let mut taken = 0;
    for run in 0..runs {
        let mut rng = Rng::new(run).fork(name);
        let mut mutant = text.to_owned();
        for _ in 0..=rng.below(3) {
            mutant = changed(&mut rng, &mutant).unwrap_or(mutant);
        }
        let Some(plan) = accepted(&mutant) else { continue };
        taken += 1;
        let ran = catch_unwind(AssertUnwindSafe(|| world(&plan, 1).run(SPAN)));
        assert!(ran.is_ok(), "{name}, change {run}:\n{mutant}");
    }
    taken
}

/// Segments that routers of `of_one` cards join in a row, a host at each end, and a ping.
fn row(segments: usize, of_one: usize) -> String {
    let last = segments - 1;
    let mut text = format!(
        "name = \"n\"\n[[lab.segment]]\nname = \"t\"\ncount = {segments}\nrate = \"10mbit\"\narp = true\n\
         [[lab.host]]\nname = \"a\"\nlink = {{ to = \"t0\" }}\n\
         [[lab.host]]\nname = \"z\"\nlink = {{ to = \"t{last}\" }}\n\
         [[lab.flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"z\"\napp = {{ kind = \"ping\" }}\n"
    );
    for first in (0..last).step_by(of_one - 1) {
        let list: Vec<String> =
            (first..(first + of_one).min(segments)).map(|i| format!("t{i}")).collect();
        text += &format!("[[lab.router]]\nname = \"r{first}\"\nsegments = {list:?}\n");
    }
    text
}

/// A host at a switch that is an end of this many bonds, too.
fn hub(bonds: usize) -> String {
    let mut text = format!(
        "name = \"n\"\n[[link]]\nname = \"l\"\ncount = {bonds}\nkind = \"ethernet\"\nrate = \"1gbit\"\n\
         [[lab.switch]]\nname = \"s\"\n\
         [[lab.host]]\nname = \"hub\"\nlink = {{ to = \"s\", rate = \"1gbit\" }}\n"
    );
    for bond in 0..bonds {
        text +=
            &format!("[bond.b{bond}]\nends = [\"hub\", \"e{bond}\"]\nmembers = [\"l{bond}\"]\n");
    }
    text
}

#[test]
fn what_just_fits_is_built_and_what_does_not_is_refused() {
    for (fits, beyond) in
        [(row(64, 64), row(65, 65)), (row(256, 52), row(257, 52)), (hub(63), hub(64))]
    {
        let plan = accepted(&fits).unwrap_or_else(|| panic!("refused:\n{fits}"));
        world(&plan, 1).run(SPAN);
        assert!(accepted(&beyond).is_none(), "accepted:\n{beyond}");
    }
}

#[test]
fn a_network_that_is_accepted_is_built() {
    assert!(accepted(NETWORK).is_some());
    let taken = build_changed("network", NETWORK, RUNS_OF_NETWORK);
    assert!(taken > RUNS_OF_NETWORK / 20, "{taken} of {RUNS_OF_NETWORK} taken");
}

#[test]
fn a_ready_plan_that_is_accepted_is_built() {
    for ready in READY {
        let taken = build_changed(ready.name, ready.text, RUNS);
        assert!(taken > RUNS / 20, "{}: {taken} of {RUNS} taken", ready.name);
    }
}
