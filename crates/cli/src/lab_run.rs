//! `trunkline lab list | show | run | verify`

use crate::args::{Run, Show, Verify};
use crate::diagnostics;
use crate::exit::Exit;
use crate::load;
use crate::output::Output;
use crate::progress::Progress;
use crate::table;
use serde::Serialize;
use std::path::Path;
use trunkline_lab::experiment::{self, Options, Outcome};
use trunkline_lab::library::{self, READY};
use trunkline_lab::result::VerifyDocument;

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

/// Lists the ready plans.
pub(crate) fn list(output: &Output) -> Exit {
    if output.is_json() {
        let row = |r: &library::Ready| ListRow {
            name: r.name,
            published: r.is_published,
            about: r.about,
        };
        output.document(&ListDocument {
            schema: LIST_SCHEMA,
            plans: READY.iter().map(row).collect(),
        });
    } else {
        output.data(&table::list(READY, output));
    }
    Exit::Ok
}

/// Prints a ready plan as it is written.
pub(crate) fn show(args: &Show, output: &Output) -> Exit {
    match load::ready(&args.name, output) {
        Ok(ready) => {
            output.data(ready.text);
            Exit::Ok
        }
        Err(exit) => exit,
    }
}

/// Runs one plan.
pub(crate) fn run(args: &Run, output: &Output) -> Exit {
    let options = Options {
        seed: args.seed,
        runs: args.runs,
        jobs: args.jobs.map_or(0, usize::from),
        capture: args.pcap.is_some(),
    };
    let outcome = match simulate(&args.plan, &args.set, options, output) {
        Ok(outcome) => outcome,
        Err(exit) => return exit,
    };
    if let Err(exit) = write_files(args, &outcome, output) {
        return exit;
    }
    if output.is_json() {
        output.document(&outcome.document);
    } else {
        output.data(&table::result(&outcome.document, output));
    }
    match outcome.document.has_failed() {
        true => Exit::Expectation,
        false => Exit::Ok,
    }
}

fn simulate(
    plan: &str,
    set: &[String],
    options: Options,
    output: &Output,
) -> Result<Outcome, Exit> {
    let document = load::document(plan, set, output)?;
    let found = document.check();
    if !found.is_empty() {
        return Err(diagnostics::report(&found, output));
    }
    let progress = Progress::new(output, plan);
    let experiment = document
        .experiment()
        .map_err(|d| diagnostics::report(&d, output))?;
    experiment::run(&experiment, options, &|total| progress.advance(total))
        .map_err(|d| diagnostics::report(&d, output))
}

/// Runs published plans and prints one table.
pub(crate) fn verify(args: &Verify, output: &Output) -> Exit {
    let names: Vec<&str> = match args.names.is_empty() {
        true => READY
            .iter()
            .filter(|r| r.is_published)
            .map(|r| r.name)
            .collect(),
        false => args.names.iter().map(String::as_str).collect(),
    };
    let options = Options {
        seed: None,
        runs: None,
        jobs: args.jobs.map_or(0, usize::from),
        capture: false,
    };
    let mut results = Vec::new();
    for name in names {
        match simulate(name, &[], options, output) {
            Ok(outcome) => results.push(outcome.document),
            Err(exit) => return exit,
        }
    }
    let document = VerifyDocument::new(results);
    if output.is_json() {
        output.document(&document);
    } else {
        output.data(&table::verify(&document, output));
    }
    if document.summary.failed > 0 {
        Exit::Expectation
    } else {
        Exit::Ok
    }
}

fn write_files(args: &Run, outcome: &Outcome, output: &Output) -> Result<(), Exit> {
    if let Some(folder) = &args.pcap {
        for capture in &outcome.captures {
            write(
                folder,
                &format!("{}.pcapng", capture.name),
                &capture.bytes,
                output,
            )?;
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

fn write(folder: &Path, name: &str, bytes: &[u8], output: &Output) -> Result<(), Exit> {
    let path = folder.join(name);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, bytes))
        .map_err(|error| {
            output.error(&format!("{}: {error}", path.display()));
            Exit::Environment
        })
}
