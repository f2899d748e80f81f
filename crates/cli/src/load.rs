//! From the word on the command line to a document: a file, or the name of a ready plan.

use crate::diagnostics;
use crate::exit::Exit;
use crate::output::{Output, reason};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use trunkline_lab::library::{self, READY, Ready};
use trunkline_live::Error;
use trunkline_plan::{Diagnostics, Document, nearest};

/// Bytes of a file that are read: more than any plan has, so that a wrong file cannot fill the memory.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Loads a plan and applies `--set`; what goes wrong is told and answered as an exit code.
pub(crate) fn document(plan: &str, set: &[String], output: &Output) -> Result<Document, Exit> {
    let mut document = match is_file(plan) {
        true => from_file(plan, output)?,
        false => from_library(plan, output)?,
    };
    for change in set {
        let Some((key, value)) = change.split_once('=') else {
            output.error(&format!(
                "--set {change}: expected KEY=VALUE, such as link.modem0.rate=33.6kbit"
            ));
            return Err(Exit::Usage);
        };
        document.set(key.trim(), value.trim()).map_err(|d| diagnostics::report(&d, output))?;
    }
    Ok(document)
}

/// An argument with a slash or ending in .toml is a file, anything else a name.
fn is_file(plan: &str) -> bool {
    plan.contains('/') || plan.ends_with(".toml")
}

fn from_file(plan: &str, output: &Output) -> Result<Document, Exit> {
    let path = Path::new(plan);
    let bytes = read(path).map_err(|error| {
        let (nearest, remarks) = near_file(path);
        output.error_near(&format!("{plan}: {}", reason(&error)), &nearest, &remarks);
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory => Exit::Usage,
            _ => Exit::Environment,
        }
    })?;
    parse(plan, &bytes).map_err(|d| diagnostics::report(&d, output))
}

fn parse(plan: &str, bytes: &[u8]) -> Result<Document, Diagnostics> {
    let loader = |file: &str| {
        let text = read(Path::new(file))
            .map_err(|error| reason(&error))
            .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".into()));
        // A plan copied from a ready one finds the ready one's data too.
        text.or_else(|why| library::data(file).map(str::to_owned).ok_or(why))
    };
    Document::parse(plan, bytes, &loader)
}

/// Loads a plan again for a bond that is up: there is no terminal to tell what goes wrong.
pub(crate) fn again(plan: &str, set: &[String]) -> Result<Document, Error> {
    let found = |found: Diagnostics| Error::Plan(found.to_string());
    let mut document = match (is_file(plan), library::find(plan)) {
        (false, Some(ready)) => ready.document().map_err(found)?,
        _ => {
            let bytes = read(Path::new(plan))
                .map_err(|error| Error::Plan(format!("{plan}: {}", reason(&error))))?;
            parse(plan, &bytes).map_err(found)?
        }
    };
    for (key, value) in set.iter().filter_map(|change| change.split_once('=')) {
        document.set(key.trim(), value.trim()).map_err(found)?;
    }
    Ok(document)
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn from_library(plan: &str, output: &Output) -> Result<Document, Exit> {
    ready(plan, output)?.document().map_err(|d| diagnostics::report(&d, output))
}

/// The ready plan of a name; an unknown one is told with the nearest names.
pub(crate) fn ready(name: &str, output: &Output) -> Result<&'static Ready, Exit> {
    library::find(name).ok_or_else(|| {
        let names: Vec<&str> = READY.iter().map(|ready| ready.name).collect();
        let (near, own) = (nearest(name, &names), own_file(name));
        let mut remarks = match &near {
            Some(near) => format!("; did you mean `{near}`?"),
            None => String::new(),
        };
        remarks += &format!("\n  ready plans: {}", names.join(", "));
        remarks += &match &own {
            Some(file) => format!("\n  the file is written `{file}`"),
            None => "\n  a file is written with a / or ends in .toml".to_owned(),
        };
        let nearest: Vec<String> = near.into_iter().chain(own).collect();
        output.error_near(&format!("there is no ready plan `{name}`"), &nearest, &remarks);
        Exit::Usage
    })
}

/// The user's own file that a name without / and .toml was meant for.
fn own_file(name: &str) -> Option<String> {
    let candidates = [format!("{name}.toml"), format!("./{name}")];
    candidates.into_iter().find(|file| Path::new(file).is_file())
}

/// The plan file beside a missing one and the ready plan it may have been meant for, and both as
/// remarks. Names are compared without `.toml`, which all of them have.
fn near_file(path: &Path) -> (Vec<String>, String) {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let wanted =
        path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = wanted.trim_end_matches(".toml");
    let mut beside: Vec<String> = std::fs::read_dir(folder.unwrap_or(Path::new(".")))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".toml").map(str::to_owned))
        .filter(|name| name != stem)
        .collect();
    beside.sort();
    let ready: Vec<&str> = READY.iter().map(|r| r.name).collect();
    let mut near = Vec::new();
    let mut remarks = String::new();
    if let Some(name) = nearest(stem, &beside) {
        let file = folder.unwrap_or(Path::new("")).join(format!("{name}.toml"));
        remarks += &format!("\n  nearest file: {}", file.display());
        near.push(file.display().to_string());
    }
    if let Some(name) = nearest(stem, &ready) {
        remarks += &format!("\n  nearest ready plan: {name}");
        near.push(name);
    }
    if near.is_empty() {
        remarks += "\n  `trunkline lab list` names the ready plans";
    }
    (near, remarks)
}
