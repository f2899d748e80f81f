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
mod proxy;
mod running;
mod table;
mod toggles;
mod up;

use args::{Command, LabCommand};
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use exit::Exit;
use output::Output;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => return unread(&error),
    };
    let output = Output::new(&args.global);
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
        Command::Proxy(proxy) => proxy::run(proxy, &output),
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

/// Tells why the command line cannot be read; help and version come here too and are no errors.
fn unread(error: &clap::Error) -> ExitCode {
    let output = Output::of_arguments(std::env::args_os());
    if !error.use_stderr() {
        // Nothing is left to tell when the terminal itself is gone.
        let _closed = error.print();
        return ExitCode::SUCCESS;
    }
    match output.is_json() {
        true => output.error_near(&sentence(error), &suggestions(error), ""),
        false => {
            let _closed = error.print();
        }
    }
    Exit::Usage.into()
}

/// What is wrong with the command line in one sentence, without the usage.
fn sentence(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "a command is missing".to_owned();
    }
    let text = error.render().to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = first.trim_start_matches("error:").split_whitespace().collect();
    words.join(" ")
}

/// The commands, options or values that were probably meant.
fn suggestions(error: &clap::Error) -> Vec<String> {
    let kinds =
        [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let found = kinds.iter().filter_map(|kind| error.get(*kind));
    let names = found.flat_map(|value| match value {
        ContextValue::String(name) => vec![name.clone()],
        ContextValue::Strings(names) => names.clone(),
        _ => Vec::new(),
    });
    names.collect()
}
