//! Commands for a running bond: each is one request to its control socket.

use crate::args::{Emancipate, Enslave, Get, Set};
use crate::exit::{Ended, Exit};
use crate::output::{Output, reason};
use serde::Serialize;
use serde_json::Value;
use std::io::{ErrorKind, copy, sink};
use std::os::unix::net::UnixStream;
use trunkline_live::Error;
use trunkline_live::control::{Request, ask};
use trunkline_live::state::{self, Found};
use trunkline_plan::nearest;

/// The document of a command that shows or changes settings.
#[derive(Serialize)]
struct Settings {
    schema: &'static str,
    of: String,
    settings: Value,
}

/// Asks a bond and waits; what went wrong is told and answered as an exit code.
pub(crate) fn request(bond: &str, request: &Request, output: &Output) -> Result<Value, Exit> {
    let (response, _) =
        ask(&state::control_path(bond), request).map_err(|error| unasked(bond, &error, output))?;
    match response.error {
        None => Ok(response.result),
        Some(text) => {
            output.error(text.trim_end());
            Err(Exit::from_code(response.code))
        }
    }
}

/// Whether a bond has a folder and no process that listens.
pub(crate) fn is_deaf(bond: &str) -> bool {
    let deaf = [ErrorKind::NotFound, ErrorKind::ConnectionRefused];
    UnixStream::connect(state::control_path(bond)).is_err_and(|error| deaf.contains(&error.kind()))
}

/// Tells why a bond could not be asked.
fn unasked(bond: &str, error: &std::io::Error, output: &Output) -> Exit {
    let (text, exit) = match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => (not_up(bond), Exit::Environment),
        ErrorKind::PermissionDenied => (not_allowed(bond), Exit::Privilege),
        _ => (format!("bond {bond}: {}", reason(error)), Exit::Environment),
    };
    output.error(&text);
    exit
}

/// Who may ask a bond.
fn not_allowed(bond: &str) -> String {
    format!("bond {bond}: permission denied; only the user who brought it up and root may ask it")
}

pub(crate) fn not_up(bond: &str) -> String {
    let names = state::names();
    if names.iter().any(|name| name == bond) {
        let mend = format!("`trunkline down {bond}` removes what it left");
        return format!("bond {bond} is not up: it is starting, or was killed, and then {mend}");
    }
    let mut text = format!("bond {bond} is not up");
    if let Some(near) = nearest(bond, &names).filter(|near| near != bond) {
        text += &format!("; did you mean {near}?");
    }
    text
}

/// `down NAME`
pub(crate) fn down(bond: &str, output: &Output) -> Ended {
    let found = state::find(bond).map_err(|error| {
        output.error(&match error {
            Error::Privilege(_) => not_allowed(bond),
            _ => error.to_string(),
        });
        Exit::from_code(error.code())
    })?;
    match found {
        Found::Nothing => {
            output.error(&not_up(bond));
            return Err(Exit::Environment);
        }
        Found::Left(left) => {
            drop(left);
            return output.done(&format!("bond {bond} had died; what it left behind is gone"));
        }
        Found::Running(_) => {}
    }
    let (_, mut rest) = ask(&state::control_path(bond), &Request::Down {})
        .map_err(|error| unasked(bond, &error, output))?;
    // The bond lets its clients go when everything else has gone.
    let _ended = copy(&mut rest, &mut sink());
    output.done(&format!("bond {bond} is down"))
}

/// `reload NAME`
pub(crate) fn reload(bond: &str, output: &Output) -> Ended {
    request(bond, &Request::Reload {}, output)?;
    output.done(&format!("bond {bond} follows its plan"))
}

/// `enslave BOND LINK [RATE]`
pub(crate) fn enslave(args: &Enslave, output: &Output) -> Ended {
    let Enslave { bond, link, rate } = args;
    request(bond, &Request::Enslave { link: link.clone(), rate: rate.clone() }, output)?;
    output.done(&format!("{link} is a member of {bond}"))
}

/// `emancipate BOND LINK`
pub(crate) fn emancipate(args: &Emancipate, output: &Output) -> Ended {
    let Emancipate { bond, link } = args;
    request(bond, &Request::Emancipate { link: link.clone() }, output)?;
    output.done(&format!("{link} is no longer a member of {bond}"))
}

/// `BOND` or `BOND.LINK`
fn split(of: &str) -> (&str, Option<String>) {
    match of.split_once('.') {
        Some((bond, link)) => (bond, Some(link.to_owned())),
        None => (of, None),
    }
}

/// `get BOND[.LINK] [KEY]`
pub(crate) fn settings(args: &Get, output: &Output) -> Ended {
    let (bond, link) = split(&args.of);
    let found = request(bond, &Request::Get { link, key: args.key.clone() }, output)?;
    if output.is_json() {
        let settings = match &args.key {
            Some(key) => Value::from_iter([(key.clone(), found)]),
            None => found,
        };
        let of = args.of.clone();
        return output.document(&Settings { schema: "trunkline.settings/1", of, settings });
    }
    let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
    match found.as_object() {
        Some(map) => {
            let lines = map.iter().map(|(key, value)| format!("{key} = {}\n", text(value)));
            output.data(&lines.collect::<String>())
        }
        None => output.data(&format!("{}\n", text(&found))),
    }
}

/// `set BOND[.LINK] KEY VALUE`
pub(crate) fn set(args: &Set, output: &Output) -> Ended {
    let (bond, link) = split(&args.of);
    let Set { of, key, value } = args;
    request(bond, &Request::Set { link, key: key.clone(), value: value.clone() }, output)?;
    output.done(&format!("{of}: {key} = {value}"))
}
