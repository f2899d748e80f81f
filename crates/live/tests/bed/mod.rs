//! Two namespaces joined by pairs of veth, for one test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, JoinHandle};
use trunkline_live::sys::namespace;

/// Two namespaces; they and all in them are gone when this is dropped.
pub struct Bed {
    name: String,
}

impl Bed {
    /// Namespaces `NAME-home` and `NAME-server` with `paths` pairs `wan0`, `wan1` … between them,
    /// 10.77.i.1/24 and 10.77.i.2/24. `None`, with the reason printed, where the kernel refuses.
    pub fn new(name: &str, paths: usize) -> Option<Bed> {
        let bed = Bed { name: format!("tl-{name}-{}", std::process::id()) };
        for side in ["home", "server"] {
            if let Err(reason) = ip(&format!("netns add {}", bed.namespace(side))) {
                println!("not run: {}", reason.trim());
                return None;
            }
            bed.ip(side, "link set lo up");
        }
        for i in 0..paths {
            let peer = bed.namespace("server");
            bed.ip("home", &format!("link add wan{i} type veth peer name wan{i} netns {peer}"));
            for (side, host) in [("home", 1), ("server", 2)] {
                bed.ip(side, &format!("addr add 10.77.{i}.{host}/24 dev wan{i}"));
                bed.ip(side, &format!("addr add fd77:{i}::{host}/64 dev wan{i} nodad"));
                bed.ip(side, &format!("link set wan{i} up"));
            }
        }
        Some(bed)
    }

    /// The name of one side's namespace.
    pub fn namespace(&self, side: &str) -> String {
        format!("{}-{side}", self.name)
    }

    /// Where that is.
    pub fn path(&self, side: &str) -> PathBuf {
        Path::new(namespace::NAMED).join(self.namespace(side))
    }

    /// Runs `ip` on one side.
    pub fn ip(&self, side: &str, words: &str) -> String {
        ip(&format!("-n {} {words}", self.namespace(side))).expect("ip does it")
    }

    /// Runs something on one side, in a thread of its own.
    pub fn on<T: Send + 'static>(
        &self,
        side: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let path = self.path(side);
        thread::spawn(move || {
            namespace::enter(&path).expect("the namespace is there");
            work()
        })
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        for side in ["home", "server"] {
            let _gone = ip(&format!("netns del {}", self.namespace(side)));
        }
    }
}

fn ip(words: &str) -> Result<String, String> {
    let output = Command::new("ip").args(words.split(' ')).output().map_err(|e| e.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("ip {words}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}
