//! A progress bar for what takes longer than a moment.

use crate::output::Output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Once;

/// Counts what is done on stderr, when that is a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    is_wanted: bool,
    sized: Once,
}

impl Progress {
    /// A bar that learns its length from the first call, and is not to be seen before.
    pub(crate) fn new(output: &Output, what: &str) -> Self {
        let bar = ProgressBar::hidden();
        if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {percent:>3} % {eta}") {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        Progress { bar, is_wanted: output.wants_progress(), sized: Once::new() }
    }

    /// So much more of `total` is done.
    pub(crate) fn advance(&self, done: u64, total: u64) {
        if !self.is_wanted {
            return;
        }
        self.sized.call_once(|| {
            self.bar.set_length(total);
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        });
        self.bar.inc(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
