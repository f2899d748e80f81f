//! Runs the program as a user does.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What one call of the program gave.
pub struct Ran {
    /// The exit code.
    pub code: Option<i32>,
    /// The data.
    pub stdout: String,
    /// The rest.
    pub stderr: String,
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ran { code, stdout, stderr } = self;
        write!(f, "exit {code:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

/// Runs the program in a folder.
pub fn trunkline<S: AsRef<std::ffi::OsStr>>(folder: &Path, args: &[S]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_trunkline"))
        .args(args)
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .output()
        .expect("the program runs");
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
    }
}

/// An empty folder for one test.
pub fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if path.exists() {
        std::fs::remove_dir_all(&path).expect("the old folder can go");
    }
    std::fs::create_dir_all(&path).expect("a folder");
    path
}
