//! The run directory: one folder per bond that is up, with its lock, its state and its control socket.
//!
//! The lock is held by the process and let go by the kernel when that dies, however it dies; TUN
//! devices, their addresses and routes, and sockets go the same way. So a folder whose lock is free is
//! what a kill left behind, and whoever comes next, `up` or `down`, removes it.
//!
//! Bonds are named per network namespace, as devices are: outside the one of process 1 the folders stand
//! below `netns.INODE`.

use crate::control::{self, Request};
use crate::error::Error;
use crate::sys::process;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Where the folders are unless `TRUNKLINE_RUN_DIR` says otherwise.
const RUN_DIR: &str = "/run/trunkline";
/// The inode of the first network namespace (`NET_NS_INIT_INO`), for those who may not look at process 1.
const FIRST_NAMESPACE: u64 = 0xefff_fff9;
/// How long a process may take to die. One that is still starting has no control socket either, and is
/// taken for running when this is over.
const DYING_TIME_MAX: Duration = Duration::from_secs(5);
/// How the folder of a network namespace begins; its inode follows.
const NAMESPACE: &str = "netns.";
const LOCK: &str = "lock";
const STATE: &str = "state.json";
const CONTROL: &str = "control";
const LOG: &str = "log";

/// What a bond that is up has made of the machine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct State {
    /// The version of this document.
    pub schema: String,
    /// The process.
    pub pid: u32,
    /// The bond.
    pub bond: String,
    /// Which of its ends.
    pub end: String,
    /// The plan it was brought up from.
    pub plan: String,
    /// The device that was created.
    pub device: String,
    /// Its addresses, with prefix.
    pub addresses: Vec<String>,
    /// The routes over it.
    pub routes: Vec<String>,
    /// Local addresses of the sockets, with the device they are bound to.
    pub sockets: Vec<String>,
}

/// The name and version of [`State`].
pub const STATE_SCHEMA: &str = "trunkline.state/1";

/// The folder of one bond, locked by this process; it is removed when this is dropped.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    _lock: File,
}

/// What stands in a bond's folder.
#[derive(Debug)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// A process has the bond up.
    Running(Option<State>),
    /// A process died and left this; it is locked now and goes when dropped.
    Left(RunDir),
}

/// The folder all bonds of this network namespace have theirs in.
pub fn base() -> PathBuf {
    let base = std::env::var_os("TRUNKLINE_RUN_DIR").map_or(PathBuf::from(RUN_DIR), PathBuf::from);
    let inode = |process: &str| {
        let link = fs::read_link(format!("/proc/{process}/ns/net")).ok()?;
        link.to_str()?.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()
    };
    let first: u64 = inode("1").unwrap_or(FIRST_NAMESPACE);
    match inode("thread-self") {
        Some(own) if own != first => base.join(format!("{NAMESPACE}{own}")),
        _ => base,
    }
}

/// The names of bonds that have a folder, sorted.
pub fn names() -> Vec<String> {
    let entries = fs::read_dir(base()).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().join(LOCK).exists())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Where a bond's control socket is.
pub fn control_path(bond: &str) -> PathBuf {
    base().join(bond).join(CONTROL)
}

/// Looks at a bond's folder, and takes the lock when nobody has it. A process that is dying is waited
/// for: the kernel takes its time to remove a device, and lets the lock go last.
///
/// # Errors
/// The folder cannot be read.
pub fn find(bond: &str) -> Result<Found, Error> {
    // A name from a command line must not lead out of the folder of all bonds.
    if bond.contains('/') || bond.starts_with('.') {
        return Ok(Found::Nothing);
    }
    let path = base().join(bond);
    let told = |error: &io::Error| Error::while_doing(path.display(), error);
    let lock = match OpenOptions::new().write(true).open(path.join(LOCK)) {
        Ok(lock) => lock,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(told(&error)),
    };
    let locked = match process::lock(&lock) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            // One that is dying may still be connected to, but answers no more.
            if control::ask(&path.join(CONTROL), &Request::Show {}).is_ok() {
                return Ok(Found::Running(read(&path)));
            }
            wait_for_lock(&lock).map_err(|error| told(&error))?
        }
        Err(error) => return Err(told(&error)),
        Ok(()) => true,
    };
    Ok(match (locked, is_at(&lock, &path)) {
        (false, _) => Found::Running(read(&path)),
        (true, true) => Found::Left(RunDir { path, _lock: lock }),
        // It went down orderly while we waited, and took the folder along.
        (true, false) => Found::Nothing,
    })
}

/// Waits for the lock, but not for ever; whether it has been taken.
fn wait_for_lock(lock: &File) -> io::Result<bool> {
    let waiting = lock.try_clone()?;
    let (sender, taken) = mpsc::channel();
    thread::spawn(move || sender.send(process::wait_for_lock(&waiting)));
    taken.recv_timeout(DYING_TIME_MAX).unwrap_or(Ok(false))
}

/// Whether the open lock is still the one in the folder.
fn is_at(lock: &File, path: &Path) -> bool {
    let inode = |metadata: io::Result<Metadata>| metadata.map(|m| (m.dev(), m.ino())).ok();
    let open = inode(lock.metadata());
    open.is_some() && open == inode(fs::metadata(path.join(LOCK)))
}

fn read(path: &Path) -> Option<State> {
    serde_json::from_slice(&fs::read(path.join(STATE)).ok()?).ok()
}

impl RunDir {
    /// Makes and locks the folder of a bond; what a dead process left in it is removed first.
    ///
    /// # Errors
    /// The bond is up already, or the folder cannot be made.
    pub fn create(bond: &str) -> Result<RunDir, Error> {
        match find(bond)? {
            Found::Running(state) => {
                let who = state.map_or(String::new(), |s| format!(", by process {}", s.pid));
                return Err(Error::Environment(format!("bond {bond} is up already{who}")));
            }
            Found::Left(left) => drop(left),
            Found::Nothing => {}
        }
        let path = base().join(bond);
        let told = |error: &io::Error| Error::while_doing(path.display(), error);
        let mut folder = fs::DirBuilder::new();
        folder.recursive(true).mode(0o755).create(&path).map_err(|e| told(&e))?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let lock = options.open(path.join(LOCK)).map_err(|e| told(&e))?;
        let taken = || Error::Environment(format!("bond {bond} is up already"));
        process::lock(&lock).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => taken(),
            _ => told(&error),
        })?;
        if !is_at(&lock, &path) {
            return Err(taken());
        }
        Ok(RunDir { path, _lock: lock })
    }

    /// Where the control socket goes.
    pub fn control(&self) -> PathBuf {
        self.path.join(CONTROL)
    }

    /// Opens the file the process writes to when it has left the terminal.
    ///
    /// # Errors
    /// The disk's.
    pub fn log(&self) -> io::Result<File> {
        OpenOptions::new().append(true).create(true).mode(0o600).open(self.path.join(LOG))
    }

    /// Writes the state, whole or not at all.
    ///
    /// # Errors
    /// The disk's.
    pub fn write(&self, state: &State) -> Result<(), Error> {
        let file = self.path.join(STATE);
        let fresh = self.path.join("state.json.new");
        let text =
            serde_json::to_vec_pretty(state).map_err(|e| Error::Environment(e.to_string()))?;
        let written = fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, &file));
        written.map_err(|error| Error::while_doing(file.display(), &error))
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        // The lock goes last: until then nobody else takes the folder. What cannot be removed is
        // removed by the next to come.
        for file in [CONTROL, STATE, "state.json.new", LOG, LOCK] {
            let _missing = fs::remove_file(self.path.join(file));
        }
        let _others = fs::remove_dir(&self.path);
        // The folder of a namespace goes with the last bond in it.
        let namespace = self.path.parent().filter(|base| {
            base.file_name().is_some_and(|name| name.to_string_lossy().starts_with(NAMESPACE))
        });
        if let Some(base) = namespace {
            let _in_use = fs::remove_dir(base);
        }
    }
}
