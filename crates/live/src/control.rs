//! The control socket: a Unix socket on which every line is a JSON request and gets a line of JSON.
//!
//! What is no request gets an error and the connection stays; a line without an end, or a client that
//! does not read its answers, is let go.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

/// The longest line taken.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Clients at a time; one more takes the place of the one that has been silent longest.
const CLIENTS_MAX: usize = 32;
/// How long an answer is waited for: far longer than a reload takes.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// What may be asked of a running bond.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// All there is to know.
    Show {},
    /// Settings of the bond, or of a link: one, or all.
    Get {
        /// The link, or the bond itself.
        link: Option<String>,
        /// The setting, or all.
        key: Option<String>,
    },
    /// Changes a setting of the bond, or of a link.
    Set {
        /// The link, or the bond itself.
        link: Option<String>,
        /// The setting.
        key: String,
        /// Its value, as a plan would have it.
        value: String,
    },
    /// Takes a link of the plan in.
    Enslave {
        /// The link.
        link: String,
        /// Its rate, instead of the plan's.
        rate: Option<String>,
    },
    /// Lets a link go.
    Emancipate {
        /// The link.
        link: String,
    },
    /// Reads the plan again and changes what is different.
    Reload {},
    /// Ends.
    Down {},
}

/// What came of a request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Response {
    /// 0, or the exit code that tells what kind of error it is.
    pub code: u8,
    /// Why not, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What was asked for.
    #[serde(default)]
    pub result: Value,
}

impl Response {
    /// It is done.
    pub fn done(result: Value) -> Response {
        Response { code: 0, error: None, result }
    }
    /// It is not.
    pub fn refused(code: u8, error: impl Into<String>) -> Response {
        Response { code, error: Some(error.into()), result: Value::Null }
    }
}

/// Reads a line as a request.
///
/// # Errors
/// What is wrong with it, in words.
pub fn parse(line: &[u8]) -> Result<Request, String> {
    serde_json::from_slice(line).map_err(|error| format!("not a request: {error}"))
}

/// The listening side.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    clients: Vec<Option<Client>>,
    /// Counts who has connected or asked, to know who has been silent longest.
    turn: u64,
    /// A descriptor to give up when there is no other for a client, who must be taken to be sent away.
    spare: Option<UnixListener>,
}

#[derive(Debug)]
struct Client {
    stream: UnixStream,
    line: Vec<u8>,
    is_new: bool,
    /// The turn it was heard last.
    heard: u64,
}

impl Control {
    /// Listens at a path nobody else uses; only the owner may connect.
    ///
    /// # Errors
    /// The path cannot be made.
    pub fn listen(path: &Path) -> io::Result<Control> {
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let spare = listener.try_clone().ok();
        Ok(Control { listener, clients: Vec::new(), turn: 0, spare })
    }

    /// The listener, to wait for.
    pub fn listener(&self) -> &UnixListener {
        &self.listener
    }

    /// Takes who has connected.
    ///
    /// # Errors
    /// Only those of a broken listener.
    pub fn accept(&mut self) -> io::Result<()> {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if is_out_of_descriptors(&error) && self.spare.take().is_some() => {
                    // One that is left to wait would wake us again and again.
                    drop(self.listener.accept());
                    self.spare = self.listener.try_clone().ok();
                    continue;
                }
                // The client has gone again, or memory is short: neither is the bond's end.
                Err(_) => return Ok(()),
            };
            stream.set_nonblocking(true)?;
            self.turn += 1;
            let client = Client { stream, line: Vec::new(), is_new: true, heard: self.turn };
            if self.clients.len() < CLIENTS_MAX {
                self.clients.push(None);
            }
            // A place that is free comes first.
            let heard = |slot: &Option<Client>| slot.as_ref().map_or(0, |client| client.heard);
            if let Some(slot) = self.clients.iter_mut().min_by_key(|slot| heard(slot)) {
                *slot = Some(client);
            }
        }
    }

    /// A client nobody waits for yet.
    pub fn take_new(&mut self) -> Option<(usize, &UnixStream)> {
        self.clients.iter_mut().enumerate().find_map(|(index, slot)| {
            let client = slot.as_mut().filter(|client| client.is_new)?;
            client.is_new = false;
            Some((index, &client.stream))
        })
    }

    /// Whole lines a client has sent; a client that has gone is forgotten.
    pub fn read(&mut self, index: usize) -> Vec<Vec<u8>> {
        let Some(slot) = self.clients.get_mut(index) else {
            return Vec::new();
        };
        let Some(client) = slot else {
            return Vec::new();
        };
        self.turn += 1;
        client.heard = self.turn;
        let mut buffer = [0; 4096];
        let has_gone = loop {
            match client.stream.read(&mut buffer) {
                Ok(0) => break true,
                Ok(len) => client.line.extend_from_slice(&buffer[..len]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break false,
                Err(_) => break true,
            }
            if client.line.len() > LINE_BYTES_MAX {
                break true;
            }
        };
        let mut lines: Vec<Vec<u8>> = Vec::new();
        while let Some(end) = client.line.iter().position(|byte| *byte == b'\n') {
            let rest = client.line.split_off(end + 1);
            client.line.pop();
            lines.push(std::mem::replace(&mut client.line, rest));
        }
        if has_gone {
            *slot = None;
        }
        lines
    }

    /// Answers a client, if it is still there and reads.
    pub fn answer(&mut self, index: usize, response: &Response) {
        let Some(slot) = self.clients.get_mut(index) else {
            return;
        };
        let Some(client) = slot else {
            return;
        };
        let mut line = serde_json::to_vec(response).unwrap_or_default();
        line.push(b'\n');
        if client.stream.write_all(&line).is_err() {
            *slot = None;
        }
    }
}

fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Asks a running bond, and waits for its answer, but not for ever: its process may be stopped.
///
/// # Errors
/// Nobody listens, `TimedOut` when nobody answers, or what answered is no trunkline.
pub fn ask(path: &Path, request: &Request) -> io::Result<(Response, BufReader<UnixStream>)> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut reader = BufReader::new(stream);
    let mut answer = String::new();
    reader.read_line(&mut answer).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => io::Error::new(ErrorKind::TimedOut, "its process does not answer"),
        _ => error,
    })?;
    reader.get_ref().set_read_timeout(None)?;
    let response = serde_json::from_str(&answer)?;
    Ok((response, reader))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_survives_the_way_and_anything_else_is_told() {
        let request = Request::Set { link: None, key: "mtu".into(), value: "9".into() };
        let line = serde_json::to_vec(&request).unwrap();
        assert_eq!(parse(&line), Ok(request));
        for bad in [
            &b""[..],
            b"{}",
            b"[1]",
            b"{\"request\":\"dance\"}",
            b"{\"request\":\"show\",\"x\":1}",
            b"{\"request\":\"set\"}",
            b"\xff\xfe",
        ] {
            assert!(parse(bad).unwrap_err().starts_with("not a request"), "{bad:?}");
        }
    }
}
