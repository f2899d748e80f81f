//! From the word on the command line to a document: a file, or the name of a ready plan.

use crate::diagnostics;
use crate::exit::Exit;
use crate::output::Output;
use std::path::Path;
use trunkline_lab::library::{self, READY};
use trunkline_plan::{Document, nearest};

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
        document
            .set(key.trim(), value.trim())
            .map_err(|d| diagnostics::report(&d, output))?;
    }
    Ok(document)
}

/// An argument with a slash or ending in .toml is a file, anything else a name.
fn is_file(plan: &str) -> bool {
    plan.contains('/') || plan.ends_with(".toml")
}

fn from_file(plan: &str, output: &Output) -> Result<Document, Exit> {
    let path = Path::new(plan);
    let bytes = std::fs::read(path).map_err(|error| {
        output.error(&format!("{plan}: {}", error_text(&error)));
        suggest_files(path, output);
        Exit::Usage
    })?;
    // A plan copied from a ready one finds the ready one's data too.
    let loader = |file: &str| match std::fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(error) => library::data(file)
            .map(str::to_owned)
            .ok_or_else(|| error_text(&error)),
    };
    Document::parse(plan, &bytes, &loader).map_err(|d| diagnostics::report(&d, output))
}

fn from_library(plan: &str, output: &Output) -> Result<Document, Exit> {
    ready(plan, output)?
        .document()
        .map_err(|d| diagnostics::report(&d, output))
}

/// The ready plan of a name; an unknown one is told with the nearest names.
pub(crate) fn ready(name: &str, output: &Output) -> Result<&'static library::Ready, Exit> {
    library::find(name).ok_or_else(|| {
        let names: Vec<&str> = READY.iter().map(|ready| ready.name).collect();
        let near = nearest(name, &names).map_or(String::new(), |near| format!("did you mean `{near}`? "));
        output.error(&format!(
            "there is no plan `{name}`. {near}Ready plans: {} (a file's name has a / or ends in .toml)",
            names.join(", ")
        ));
        Exit::Usage
    })
}

fn error_text(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

/// Names the plan files beside the missing one, and the ready plan it may have been meant for.
fn suggest_files(path: &Path, output: &Output) {
    let folder = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let wanted = path
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let mut beside: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".toml"))
        .collect();
    beside.sort();
    let stem = wanted.trim_end_matches(".toml");
    let ready: Vec<&str> = READY.iter().map(|r| r.name).collect();
    if let Some(near) = nearest(&wanted, &beside) {
        output.remark(&format!("nearest file: {}", folder.join(near).display()));
    }
    if let Some(near) = nearest(stem, &ready) {
        output.remark(&format!("nearest ready plan: {near}"));
    }
}
