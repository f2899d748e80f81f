//! `trunkline lab list | show | run | verify`

use crate::args::{Run, Show, Verify};
use crate::diagnostics;
use crate::exit::{Ended, Exit};
use crate::load;
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::table;
use crate::toggles;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;
use trunkline_lab::experiment::{self, Options, Outcome};
use trunkline_lab::library::{self, READY};
use trunkline_lab::result::{ResultDocument, VerifyDocument};
use trunkline_plan::Purpose;

/// The version of the document `lab list --json` prints.
const LIST_SCHEMA: &str = "trunkline.list/1";

#[derive(Serialize)]
struct ListRow {
    name: &'static str,
    published: bool,
    about: &'static str,
}

#[derive(Serialize)]
struct ListDocument {
    schema: &'static str,
    plans: Vec<ListRow>,
}

/// The version of the document `lab show --json` prints.
const PLAN_SCHEMA: &str = "trunkline.plan/1";

#[derive(Serialize)]
struct PlanDocument {
    schema: &'static str,
    #[serde(flatten)]
    row: ListRow,
    text: &'static str,
}

impl From<&library::Ready> for ListRow {
    fn from(ready: &library::Ready) -> Self {
        ListRow { name: ready.name, published: ready.is_published, about: ready.about }
    }
}

/// Lists the ready plans.
pub(crate) fn list(output: &Output) -> Ended {
    match output.is_json() {
        true => output.document(&ListDocument {
            schema: LIST_SCHEMA,
            plans: READY.iter().map(ListRow::from).collect(),
        }),
        false => output.data(&table::list(READY, output)),
    }
}

/// Prints a ready plan as it is written.
pub(crate) fn show(args: &Show, output: &Output) -> Ended {
    let ready = load::ready(&args.name, output)?;
    match output.is_json() {
        true => output.document(&PlanDocument {
            schema: PLAN_SCHEMA,
            row: ListRow::from(ready),
            text: ready.text,
        }),
        false => output.data(ready.text),
    }
}

/// Runs one plan.
pub(crate) fn run(args: &Run, output: &Output) -> Ended {
    let options = Options {
        seed: args.seed,
        runs: None,
        jobs: args.jobs.map_or(0, usize::from),
        capture: args.pcap.is_some(),
    };
    // As a key of the plan, so that runs that would all be the same are refused with its words.
    let runs = args.runs.map(|runs| format!("lab.runs={runs}"));
    let set: Vec<String> = args.set.iter().cloned().chain(runs).collect();
    if let Some(list) = &args.toggle {
        return toggles::run(args, list, &set, output);
    }
    let folders: Vec<&Path> =
        [&args.pcap, &args.out].into_iter().flatten().map(PathBuf::as_path).collect();
    let outcome = simulate(&args.plan, &set, options, &folders, output)?;
    write_files(args, &outcome, output)?;
    match output.is_json() {
        true => output.document(&outcome.document)?,
        false => output.data(&table::result(&outcome.document, output))?,
    }
    verdict([&outcome.document])
}

/// Runs a plan; the folders for what comes out are made once the plan is known to be good.
fn simulate(
    plan: &str,
    set: &[String],
    options: Options,
    folders: &[&Path],
    output: &Output,
) -> Result<Outcome, Exit> {
    let document = load::document(plan, set, output)?;
    let found = document.check_for(Purpose::Lab);
    if !found.is_empty() {
        return Err(diagnostics::report(&found, output));
    }
    let experiment = document.experiment().map_err(|d| diagnostics::report(&d, output))?;
    for folder in folders {
        make(folder, output)?;
    }
    let progress = Progress::new(output, plan);
    let began = Instant::now();
    let mut outcome =
        experiment::run(&experiment, options, &|step| progress.advance(step.done, step.total))
            .map_err(|d| diagnostics::report(&d, output))?;
    outcome.document.timing.wall_seconds = Some(began.elapsed().as_secs_f64());
    Ok(outcome)
}

/// Runs published plans and prints one table.
pub(crate) fn verify(args: &Verify, output: &Output) -> Ended {
    let names: Vec<&str> = match args.names.is_empty() {
        true => READY.iter().filter(|r| r.is_published).map(|r| r.name).collect(),
        false => args.names.iter().map(String::as_str).collect(),
    };
    let options =
        Options { seed: None, runs: None, jobs: args.jobs.map_or(0, usize::from), capture: false };
    let mut results = Vec::new();
    for name in names {
        results.push(simulate(name, &[], options, &[], output)?.document);
    }
    let document = VerifyDocument::new(results);
    match output.is_json() {
        true => output.document(&document)?,
        false => output.data(&table::verify(&document, output))?,
    }
    verdict(&document.plans)
}

/// What the exit code says of figures, expectations and the runs themselves.
fn verdict<'a>(documents: impl IntoIterator<Item = &'a ResultDocument>) -> Ended {
    match documents.into_iter().all(ResultDocument::holds) {
        true => Ok(()),
        false => Err(Exit::Expectation),
    }
}

fn write_files(args: &Run, outcome: &Outcome, output: &Output) -> Ended {
    if let Some(folder) = &args.pcap {
        for capture in &outcome.captures {
            write(folder, &format!("{}.pcapng", capture.name), &capture.bytes, output)?;
        }
    }
    if let Some(folder) = &args.out {
        let json = serde_json::to_vec_pretty(&outcome.document).unwrap_or_default();
        write(folder, "result.json", &json, output)?;
        let csv = outcome.document.flows_csv();
        write(folder, "flows.csv", csv.as_bytes(), output)?;
    }
    Ok(())
}

/// Makes a folder for what a run gives; a long run is not to end at one that cannot be made.
fn make(folder: &Path, output: &Output) -> Ended {
    std::fs::create_dir_all(folder).map_err(|error| refused(folder, &error, output))
}

fn write(folder: &Path, name: &str, bytes: &[u8], output: &Output) -> Ended {
    let path = folder.join(name);
    std::fs::write(&path, bytes).map_err(|error| refused(&path, &error, output))
}

fn refused(path: &Path, error: &std::io::Error, output: &Output) -> Exit {
    output.error(&format!("{}: {}", path.display(), output::reason(error)));
    Exit::Environment
}
