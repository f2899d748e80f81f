//! Where output goes: data to stdout, progress and remarks to stderr.

use crate::args::{Color, Global};
use crate::exit::{Ended, Exit};
use serde::Serialize;
use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal, Write};

/// The version of the document an error is told in with `--json`.
const ERROR_SCHEMA: &str = "trunkline.error/1";

/// The version of the document that says what a command has done, with `--json`.
const DONE_SCHEMA: &str = "trunkline.done/1";

/// What a command without data has done.
#[derive(Serialize)]
struct DoneDocument<'a> {
    schema: &'static str,
    done: &'a str,
}

/// What went wrong beside the text of a plan: usage and environment.
#[derive(Serialize)]
struct ErrorDocument<'a> {
    schema: &'static str,
    error: &'a str,
    nearest: &'a [String],
}

/// How the user wants to be told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    json: bool,
    quiet: bool,
    verbose: bool,
    color: Color,
}

impl Output {
    /// As the options say.
    pub(crate) fn new(global: &Global) -> Self {
        Output {
            json: global.json,
            quiet: global.quiet,
            verbose: global.verbose,
            color: global.color,
        }
    }

    /// For a command line that could not be read: its arguments are only searched for `--json`.
    pub(crate) fn of_arguments(arguments: impl Iterator<Item = OsString>) -> Self {
        let json = arguments.take_while(|word| word != "--").any(|word| word == "--json");
        Output { json, quiet: false, verbose: false, color: Color::Auto }
    }

    /// Whether one JSON document is wanted.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether more detail is wanted.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Whether a progress bar helps anybody.
    pub(crate) fn wants_progress(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }

    /// Whether stdout takes colour.
    pub(crate) fn colors_stdout(&self) -> bool {
        self.colors(std::io::stdout().is_terminal())
    }

    /// Whether stderr takes colour.
    pub(crate) fn colors_stderr(&self) -> bool {
        self.colors(std::io::stderr().is_terminal())
    }

    fn colors(&self, is_terminal: bool) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        }
    }

    /// Prints data. A reader that has gone away (a closed pipe) is no error; a full disk is one.
    pub(crate) fn data(&self, text: &str) -> Ended {
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                self.report(&format!("error: standard output: {}\n", reason(&error)));
                Err(Exit::Environment)
            }
            _ => Ok(()),
        }
    }

    /// Prints one JSON document.
    pub(crate) fn document<T: Serialize>(&self, document: &T) -> Ended {
        match serde_json::to_string_pretty(document) {
            Ok(text) => self.data(&format!("{text}\n")),
            Err(error) => {
                self.report(&format!("error: the result cannot be written as JSON: {error}\n"));
                Err(Exit::Environment)
            }
        }
    }

    /// Prints one JSON document on a line of its own: one of many.
    pub(crate) fn line<T: Serialize>(&self, document: &T) -> Ended {
        match serde_json::to_string(document) {
            Ok(text) => self.data(&format!("{text}\n")),
            Err(error) => {
                self.report(&format!("error: the result cannot be written as JSON: {error}\n"));
                Err(Exit::Environment)
            }
        }
    }

    /// Prints what went wrong.
    pub(crate) fn error(&self, text: &str) {
        self.error_near(text, &[], "");
    }

    /// Prints what went wrong and the names that were probably meant; `remarks` are for people only:
    /// further lines, each after a line break.
    pub(crate) fn error_near(&self, text: &str, nearest: &[String], remarks: &str) {
        match self.json {
            true => {
                let document = ErrorDocument { schema: ERROR_SCHEMA, error: text, nearest };
                // What cannot be printed has been told, and the command fails all the same.
                let _told = self.document(&document);
            }
            false => self.report(&format!("error: {text}{remarks}\n")),
        }
    }

    /// Prints a remark, unless quiet.
    pub(crate) fn remark(&self, text: &str) {
        if !self.quiet {
            self.report(&format!("{text}\n"));
        }
    }

    /// Says what was done: a document, or a remark to people.
    pub(crate) fn done(&self, text: &str) -> Ended {
        if self.json {
            return self.document(&DoneDocument { schema: DONE_SCHEMA, done: text });
        }
        self.remark(text);
        Ok(())
    }

    /// Prints to stderr as it is. Nothing is left to tell when that is gone.
    pub(crate) fn report(&self, text: &str) {
        let _closed = std::io::stderr().lock().write_all(text.as_bytes());
    }
}

/// What the machine says, in our words where it is common.
pub(crate) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::IsADirectory => "is a directory".to_owned(),
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => "is not a directory".to_owned(),
        ErrorKind::StorageFull => "no space left".to_owned(),
        _ => error.to_string(),
    }
}
