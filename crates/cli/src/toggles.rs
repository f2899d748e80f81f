//! `trunkline lab run PLAN --toggle LIST|all`

use crate::args::Run;
use crate::diagnostics;
use crate::exit::{Ended, Exit};
use crate::load;
use crate::output::Output;
use crate::progress::Progress;
use crate::table;
use trunkline_lab::experiment::Options;
use trunkline_lab::toggles::{self, TOGGLES_MAX};
use trunkline_plan::{Experiment, Purpose, nearest};

/// Runs a plan with its features on and off.
pub(crate) fn run(args: &Run, list: &str, set: &[String], output: &Output) -> Ended {
    let document = load::document(&args.plan, set, output)?;
    let found = document.check_for(Purpose::Lab);
    if !found.is_empty() {
        return Err(diagnostics::report(&found, output));
    }
    let experiment = document.experiment().map_err(|d| diagnostics::report(&d, output))?;
    let chosen = chosen(&experiment, &args.plan, list, output)?;
    let jobs = args.jobs.map_or(0, usize::from);
    let options = Options { seed: args.seed, runs: None, jobs, capture: false };
    let progress = Progress::new(output, &args.plan);
    let advance = |step: trunkline_lab::experiment::Step| progress.advance(step.done, step.total);
    let effects = toggles::run(&experiment, &chosen, options, &advance)
        .map_err(|d| diagnostics::report(&d, output))?;
    drop(progress);
    match output.is_json() {
        true => output.document(&effects),
        false => output.data(&table::toggles::table(&effects, output)),
    }
}

/// The positions of the toggles that a list names, each once.
fn chosen(
    experiment: &Experiment,
    plan: &str,
    list: &str,
    output: &Output,
) -> Result<Vec<usize>, Exit> {
    let names: Vec<&str> = experiment.toggles().iter().map(|t| t.name.as_str()).collect();
    if names.is_empty() {
        let remarks = "\n  a feature is [lab.toggle.NAME] with `off` and `on`: docs/plan.md";
        output.error_near(&format!("--toggle: `{plan}` has no toggles"), &[], remarks);
        return Err(Exit::Usage);
    }
    let mut chosen = Vec::new();
    let wanted = match list {
        "all" => names.clone(),
        _ => list.split(',').map(str::trim).collect(),
    };
    for name in wanted {
        match names.iter().position(|known| *known == name) {
            Some(at) if chosen.contains(&at) => {}
            Some(at) => chosen.push(at),
            None => {
                let near = nearest(name, &names);
                let mut remarks = match &near {
                    Some(near) => format!("; did you mean `{near}`?"),
                    None => String::new(),
                };
                remarks += &format!("\n  toggles of this plan: {}", names.join(", "));
                let nearest: Vec<String> = near.into_iter().collect();
                let text = format!("--toggle: there is no toggle `{name}`");
                output.error_near(&text, &nearest, &remarks);
                return Err(Exit::Usage);
            }
        }
    }
    if chosen.len() > TOGGLES_MAX {
        output.error(&format!("--toggle: {} toggles, at most {TOGGLES_MAX}", chosen.len()));
        return Err(Exit::Usage);
    }
    Ok(chosen)
}
