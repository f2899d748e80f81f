//! `trunkline up PLAN`

use crate::args::Up;
use crate::diagnostics;
use crate::exit::{Ended, Exit};
use crate::load;
use crate::output::{Output, reason};
use serde::Serialize;
use std::fs::File;
use std::io::{Read, Write};
use trunkline_live::apply;
use trunkline_live::reactor::Reactor;
use trunkline_live::running::{PlanReader, Running};
use trunkline_live::setup::BondSetup;
use trunkline_live::sys::process::{Forked, fork_background, leave_terminal};
use trunkline_live::{Error, plan};
use trunkline_plan::Document;
use trunkline_plan::model::Plan;

/// The document of `--dry-run`.
#[derive(Serialize)]
struct DryRun<'a> {
    schema: &'static str,
    bonds: Vec<DryBond<'a>>,
}

/// What would be done for one bond.
#[derive(Serialize)]
struct DryBond<'a> {
    bond: &'a str,
    end: &'a str,
    steps: Vec<String>,
}

/// Brings the bonds of a plan up and, in the foreground, runs them.
pub(crate) fn run(args: &Up, output: &Output) -> Ended {
    let document = load::document(&args.plan, &args.set, output)?;
    let plan = checked(&document).map_err(|found| diagnostics::report(&found, output))?;
    let end = end(args, &plan, output)?;
    let setups = plan::setups(&plan, &end).map_err(|error| told(&error, output))?;
    if args.dry_run {
        return dry_run(&setups, output);
    }
    if args.foreground {
        let running = bring_up(args, setups).map_err(|error| told(&error, output))?;
        output.done(&up_text(&running))?;
        return work(running).map_err(|error| told(&error, output));
    }
    let forked = fork_background().map_err(|error| {
        output.error(&format!("the background: {}", reason(&error)));
        Exit::Environment
    })?;
    match forked {
        Forked::Parent(pipe) => hear_background(pipe, output),
        Forked::Child(pipe) => background(args, setups, pipe),
    }
}

/// The one plan of a document: what is brought up has no rows.
fn checked(document: &Document) -> Result<Plan, trunkline_plan::Diagnostics> {
    let found = document.check();
    if !found.is_empty() {
        return Err(found);
    }
    document.experiment()?.plan(0, None)
}

/// Which end this machine is.
fn end(args: &Up, plan: &Plan, output: &Output) -> Result<String, Exit> {
    let ends = plan::ends(plan);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let named = args.end.as_deref().unwrap_or(host.trim());
    if let Some(end) = ends.iter().find(|end| **end == named) {
        return Ok((*end).to_owned());
    }
    output.error(&match &args.end {
        Some(end) => format!("the plan has no end {end} (it has {})", ends.join(", ")),
        None => format!("which end is this? say --as {}", ends.join(" or --as ")),
    });
    Err(Exit::Usage)
}

/// Tells what went wrong on this machine.
pub(crate) fn told(error: &Error, output: &Output) -> Exit {
    output.error(&error.to_string());
    Exit::from_code(error.code())
}

fn dry_run(setups: &[BondSetup], output: &Output) -> Ended {
    let bonds: Vec<DryBond<'_>> = setups
        .iter()
        .map(|setup| DryBond { bond: &setup.name, end: &setup.end, steps: apply::steps(setup) })
        .collect();
    if output.is_json() {
        return output.document(&DryRun { schema: "trunkline.dry-run/1", bonds });
    }
    let mut text = String::new();
    for DryBond { bond, end, steps } in bonds {
        text += &format!("bond {bond}, as {end}, would\n");
        steps.iter().for_each(|step| text += &format!("  {step}\n"));
    }
    output.data(&text)
}

/// Brings all bonds up, or none.
fn bring_up(args: &Up, setups: Vec<BondSetup>) -> Result<Vec<Running>, Error> {
    let file = std::path::absolute(&args.plan).ok().filter(|file| file.is_file());
    let source = file.map_or(args.plan.clone(), |file| file.display().to_string());
    let mut running = Vec::new();
    for setup in setups {
        let reader = plan_reader(source.clone(), args.set.clone(), &setup);
        running.push(apply::up(setup, source.clone(), reader)?);
    }
    Ok(running)
}

/// Reads the plan again, for a bond that is up.
fn plan_reader(source: String, set: Vec<String>, setup: &BondSetup) -> PlanReader {
    let (bond, end) = (setup.name.clone(), setup.end.clone());
    Box::new(move || {
        let found = |found: trunkline_plan::Diagnostics| Error::Plan(found.to_string());
        let document = load::again(&source, &set)?;
        let plan = checked(&document).map_err(found)?;
        let setups = plan::setups(&plan, &end)?;
        let own = setups.into_iter().find(|setup| setup.name == bond);
        own.ok_or_else(|| Error::Plan(format!("the plan has no bond {bond} at {end} now")))
    })
}

fn up_text(running: &[Running]) -> String {
    let line = |running: &Running| {
        let state = running.state();
        format!("bond {} is up as {}, device {}", state.bond, state.end, state.device)
    };
    running.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn work(running: Vec<Running>) -> Result<(), Error> {
    let broken = |error: std::io::Error| Error::Environment(format!("the bond broke: {error}"));
    Reactor::new(running).map_err(broken)?.run().map_err(broken)
}

/// In the background: tells the caller how it went, then works.
fn background(args: &Up, setups: Vec<BondSetup>, mut pipe: File) -> Ended {
    let running = bring_up(args, setups).and_then(|running| {
        let log = running.first().map(|running| running.run_dir().log()).transpose();
        let left = log.and_then(|log| log.as_ref().map_or(Ok(()), leave_terminal));
        left.map_err(|error| Error::Environment(format!("the log: {error}")))?;
        Ok(running)
    });
    let (code, text) = match &running {
        Ok(running) => (0, up_text(running)),
        Err(error) => (error.code(), error.to_string()),
    };
    // The caller may have been killed meanwhile: the bond is up all the same.
    let _gone = pipe.write_all(&[&[code], text.as_bytes()].concat());
    drop(pipe);
    let Ok(running) = running else {
        return Err(Exit::from_code(code));
    };
    work(running).map_err(|error| {
        // Standard error is the log by now, which goes with the folder: nobody is left to tell.
        Exit::from_code(error.code())
    })
}

/// At the terminal: what the background says is what the command says.
fn hear_background(mut pipe: File, output: &Output) -> Ended {
    let mut said = Vec::new();
    let heard = pipe.read_to_end(&mut said);
    match (heard, said.split_first()) {
        (Ok(_), Some((0, text))) => output.done(&String::from_utf8_lossy(text)),
        (Ok(_), Some((code, text))) => {
            output.error(&String::from_utf8_lossy(text));
            Err(Exit::from_code(*code))
        }
        _ => {
            output.error("the background process ended without a word");
            Err(Exit::Environment)
        }
    }
}
