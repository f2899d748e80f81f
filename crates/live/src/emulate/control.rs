//! Commands from a named pipe, one per line: what a test changes while the emulator runs.

use super::direction::DirectionConfig;
use super::options::{self, OptionError};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// What a line asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// Lose everything, silently.
    Cut,
    /// Carry again.
    Restore,
    /// Write a report.
    Report,
    /// Count from zero.
    Reset,
    /// Change options.
    Set(String),
}

/// Longest line that is kept while its end has not come.
const LINE_BYTES_MAX: usize = 4096;

/// The pipe and what of a line has come.
pub struct Control {
    pipe: Option<File>,
    pending: Vec<u8>,
}

impl Control {
    /// Opens the pipe; without one no command ever comes. It is opened for writing too, so that it does
    /// not end when a writer goes.
    pub fn open(path: Option<&Path>) -> io::Result<Self> {
        let open = |path| {
            OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path)
        };
        Ok(Control { pipe: path.map(open).transpose()?, pending: Vec::new() })
    }

    /// The descriptor to wait for; negative, which poll passes over, when there is none.
    pub fn descriptor(&self) -> i32 {
        self.pipe.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// The next whole line as a command, or what is wrong with it.
    pub fn poll(&mut self) -> Option<Result<Command, String>> {
        let mut chunk = [0; 512];
        while let Some(Ok(len @ 1..)) = self.pipe.as_mut().map(|pipe| pipe.read(&mut chunk)) {
            self.pending.extend_from_slice(&chunk[..len]);
            if self.pending.len() > LINE_BYTES_MAX {
                break;
            }
        }
        let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') else {
            if self.pending.len() > LINE_BYTES_MAX {
                self.pending.clear();
            }
            return None;
        };
        let line: Vec<u8> = self.pending.drain(..=end).collect();
        Some(parse(String::from_utf8_lossy(&line).trim()))
    }
}

fn parse(line: &str) -> Result<Command, String> {
    match line.split_once(' ').unwrap_or((line, "")) {
        ("cut", "") => Ok(Command::Cut),
        ("restore", "") => Ok(Command::Restore),
        ("report", "") => Ok(Command::Report),
        ("reset", "") => Ok(Command::Reset),
        ("set", words) => Ok(Command::Set(words.to_owned())),
        _ => Err(format!("not a command: {line}")),
    }
}

/// Applies the words of a [`Command::Set`].
pub fn change(directions: &mut [DirectionConfig; 2], words: &str) -> Result<(), OptionError> {
    options::apply(directions, words.split_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_commands() {
        assert_eq!(parse("cut"), Ok(Command::Cut));
        assert_eq!(parse("set --loss 1%"), Ok(Command::Set("--loss 1%".into())));
        assert!(parse("cut off").is_err() && parse("").is_err());
    }
}
