//! The `trunkline` program: arguments in, tables or JSON out.
//!
//! Exit codes: 0 ok, 1 an expectation failed, 2 usage, 3 plan invalid, 4 privilege missing,
//! 5 environment, 6 peer, 7 refused by the running bond.

mod args;
mod ask;
mod check;
mod diagnostics;
mod exit;
mod lab_run;
mod lab_swarm;
mod load;
mod output;
mod progress;
mod running;
mod table;
mod up;

use args::{Command, LabCommand};
use clap::Parser;
use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Nothing is left to tell when the terminal itself is gone.
            let _closed = error.print();
            return match error.use_stderr() {
                true => Exit::Usage.into(),
                false => ExitCode::SUCCESS,
            };
        }
    };
    let output = output::Output::new(&args.global);
    let ended = match &args.command {
        Command::Check(check) => check::run(check, &output),
        Command::Up(up) => up::run(up, &output),
        Command::Down(name) => ask::down(&name.name, &output),
        Command::Reload(name) => ask::reload(&name.name, &output),
        Command::Show(show) => running::show(show, &output),
        Command::Enslave(enslave) => ask::enslave(enslave, &output),
        Command::Emancipate(emancipate) => ask::emancipate(emancipate, &output),
        Command::Get(get) => ask::settings(get, &output),
        Command::Set(set) => ask::set(set, &output),
        Command::Lab(LabCommand::List) => lab_run::list(&output),
        Command::Lab(LabCommand::Show(show)) => lab_run::show(show, &output),
        Command::Lab(LabCommand::Run(run)) => lab_run::run(run, &output),
        Command::Lab(LabCommand::Verify(verify)) => lab_run::verify(verify, &output),
        Command::Lab(LabCommand::Swarm(swarm)) => lab_swarm::run(swarm, &output),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(exit) => exit.into(),
    }
}
