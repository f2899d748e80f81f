//! `trunkline check PLAN`

use crate::args::Check;
use crate::diagnostics::{self, CheckDocument};
use crate::exit::Ended;
use crate::load;
use crate::output::Output;
use trunkline_plan::Diagnostics;

/// Checks a plan with all its rows and variants.
pub(crate) fn run(args: &Check, output: &Output) -> Ended {
    let document = load::document(&args.plan, &args.set, output)?;
    let found = document.check();
    if !found.is_empty() {
        return Err(diagnostics::report(&found, output));
    }
    match output.is_json() {
        true => output.document(&CheckDocument::new(&Diagnostics::default())),
        false => output.data(&format!("{}: ok\n", args.plan)),
    }
}
