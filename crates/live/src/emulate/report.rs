//! What the emulator did and how well, as JSON: seconds, bytes and counts.

use super::clock::Scheduling;
use super::direction::Totals;
use super::lateness::Lateness;
use super::port::PortDrops;
use serde_json::{Value, json};
use std::path::Path;
use std::{fs, io};
use trunkline_core::time::Duration;

/// Everything since the start or the last reset.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// How long that is.
    pub elapsed: Duration,
    pub(super) scheduling: Scheduling,
    /// How late frames left.
    pub lateness: Lateness,
    /// What went from the first interface to the second, and back.
    pub totals: [Totals; 2],
    /// What was given up at the interfaces.
    pub drops: [PortDrops; 2],
}

impl Report {
    /// Frames the emulator gave up without meaning to, at both interfaces.
    pub fn own_drops(&self) -> u64 {
        self.drops.iter().map(PortDrops::own).sum()
    }

    /// The report as a document.
    pub fn to_json(&self) -> Value {
        let late = |per_mille| seconds(self.lateness.quantile(per_mille));
        let [up, down] = self.totals.map(totals_json);
        let sum = |pick: fn(&PortDrops) -> u64| self.drops.iter().map(pick).sum::<u64>();
        json!({
            "schema": "trunkline.emulate/1",
            "elapsed": seconds(self.elapsed),
            "scheduling": match self.scheduling {
                Scheduling::RealTime => "realtime",
                Scheduling::Ordinary => "ordinary",
            },
            "lateness": {
                "frames": self.lateness.frames(),
                "p50": late(500),
                "p99": late(990),
                "max": seconds(self.lateness.max()),
            },
            "own_drops": self.own_drops(),
            "own_drops_by_reason": {
                "ring": sum(|drops| drops.ring),
                "oversize": sum(|drops| drops.oversize),
                "refused": sum(|drops| drops.refused),
            },
            "device_down_drops": sum(|drops| drops.device_down),
            "up": up,
            "down": down,
        })
    }

    /// Writes the document to a file, whole or not at all, or to standard output.
    pub fn write(&self, path: Option<&Path>) -> io::Result<()> {
        let text = format!("{:#}\n", self.to_json());
        let Some(path) = path else {
            return io::Write::write_all(&mut io::stdout().lock(), text.as_bytes());
        };
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(".part");
        fs::write(&unfinished, text)?;
        fs::rename(unfinished, path)
    }
}

fn seconds(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e9
}

fn totals_json(totals: Totals) -> Value {
    json!({
        "frames_in": totals.frames_in,
        "bytes_in": totals.bytes_in,
        "frames_out": totals.frames_out,
        "bytes_out": totals.bytes_out,
        "queue_drops": totals.queue_drops,
        "marks": totals.marks,
        "wire_losses": totals.wire_losses,
        "cut_losses": totals.cut_losses,
        "idle": seconds(totals.idle),
    })
}
