//! A link in real time between two interfaces: what the tests and scripts put into a middle namespace.
//! Not for users; see [`trunkline_live::emulate`].

use std::process::ExitCode;
use trunkline_live::emulate::{Emulator, Options, USAGE};

const EXIT_USAGE: u8 = 2;
const EXIT_PRIVILEGE: u8 = 4;
const EXIT_ENVIRONMENT: u8 = 5;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        return tell(&mut std::io::stdout(), USAGE, 0);
    }
    let options = match Options::parse(arguments.into_iter()) {
        Ok(options) => options,
        Err(error) => {
            return tell(&mut std::io::stderr(), &format!("{error}\n\n{USAGE}"), EXIT_USAGE);
        }
    };
    match Emulator::open(options).and_then(|mut emulator| emulator.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let text = format!("trunkline-emulate: {error}");
            let code = match error.kind() {
                std::io::ErrorKind::PermissionDenied => EXIT_PRIVILEGE,
                _ => EXIT_ENVIRONMENT,
            };
            tell(&mut std::io::stderr(), &text, code)
        }
    }
}

/// A reader that has gone changes nothing about the code.
fn tell(stream: &mut dyn std::io::Write, text: &str, code: u8) -> ExitCode {
    let _ = writeln!(stream, "{text}");
    ExitCode::from(code)
}
