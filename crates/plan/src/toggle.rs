//! `[lab.toggle.NAME]`: features that can be on or off, each as the keys it changes.

use crate::diagnostic::{Problem, Problems};
use crate::overlay::{self, Address};
use crate::reader::{self, Section};
use crate::source::Sources;
use crate::tree::Node;

/// Whether a feature is in a plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Setting {
    /// What `off` says is laid over the plan.
    Off,
    /// What `on` says is laid over the plan.
    On,
}

/// A feature.
#[derive(Clone, Debug)]
pub struct Toggle {
    /// Its name.
    pub name: String,
    /// What it is, in a few words.
    pub about: Option<String>,
    off: Vec<(Address, Node)>,
    on: Vec<(Address, Node)>,
}

impl Toggle {
    /// What a setting lays over the plan.
    pub(crate) fn changes(&self, setting: Setting) -> &[(Address, Node)] {
        match setting {
            Setting::Off => &self.off,
            Setting::On => &self.on,
        }
    }
}

/// The toggles of a plan.
pub(crate) fn toggles(
    section: Option<Section<'_>>,
    sources: &Sources,
    problems: &mut Problems,
) -> Vec<Toggle> {
    let sections = section.map(|section| section.named(problems)).unwrap_or_default();
    let one = |(name, mut s): (String, Section<'_>)| {
        reader::check_name(&name, &s, problems);
        let about = s.opt(problems, "about", reader::text);
        let [off, on] = ["off", "on"].map(|key| {
            let changes = s.section(problems, key);
            changes.map_or(Vec::new(), |changes| overlay::leaves(changes.table(), sources))
        });
        if off.is_empty() && on.is_empty() && problems.is_empty() {
            let message = format!("toggle `{name}` changes nothing");
            let problem = Problem::new(s.place, &s.path, message);
            let form = "off = { \"lab.flow.ftp.tcp.cc\" = \"reno\" } and on = { … }";
            problems.push(problem.accepted([form]));
        }
        s.finish(problems);
        Toggle { name, about, off, on }
    };
    sections.into_iter().map(one).collect()
}
