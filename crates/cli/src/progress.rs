//! A progress bar for what takes longer than a moment.

use crate::output::Output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::atomic::{AtomicBool, Ordering};

/// Counts finished simulations on stderr, when that is a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    sized: AtomicBool,
}

impl Progress {
    /// A bar that learns its length from the first call.
    pub(crate) fn new(output: &Output, what: &str) -> Self {
        let target = match output.wants_progress() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} {eta}") {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        Progress { bar, sized: AtomicBool::new(false) }
    }

    /// One more of `total` is done.
    pub(crate) fn advance(&self, total: u64) {
        if !self.sized.swap(true, Ordering::Relaxed) {
            self.bar.set_length(total);
        }
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
