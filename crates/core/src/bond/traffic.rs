//! Whether a member that only receives works: it does while traffic comes.
//!
//! Nothing can be sent over it, so nobody can be asked and no echo comes back; a carrier, where the device has
//! one, may be there though nothing is sent at the other end. So silence is all there is to go by. A member that
//! was just taken in, or whose carrier has just come back, is given the same time to be heard.
//!
//! Nothing is scheduled by it: a member without a transmitter is never picked. It is what the user is told,
//! and what a one-way path has instead of a probe.

use super::Bond;
use super::member::Member;
use crate::time::{Duration, Instant};

/// What is known of a member's traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ear {
    heard_at: Instant,
    silent_since: Option<Instant>,
    /// Time of silences that are over.
    silent: Duration,
    silences: u64,
}

impl Ear {
    pub(super) const NEW: Ear =
        Ear { heard_at: Instant::ZERO, silent_since: None, silent: Duration::ZERO, silences: 0 };

    pub(super) const fn is_silent(&self) -> bool {
        self.silent_since.is_some()
    }

    /// Something has come, or there is reason to wait anew.
    pub(super) fn hear(&mut self, now: Instant) {
        self.heard_at = now;
        if let Some(since) = self.silent_since.take() {
            self.silent += now - since;
        }
    }

    fn fall_silent(&mut self, now: Instant) {
        self.silent_since = Some(now);
        self.silences += 1;
    }

    /// How long it has been held for silent in all.
    pub(super) fn silence(&self, now: Instant) -> Duration {
        self.silent + self.silent_since.map_or(Duration::ZERO, |since| now - since)
    }

    /// How often it fell silent.
    pub(super) const fn silences(&self) -> u64 {
        self.silences
    }
}

impl Bond {
    /// When a member that only receives has been silent for too long, unless it is heard before.
    pub(super) fn silent_at(&self) -> Option<Instant> {
        let patience = self.config.traffic?;
        let listened = |m: &&Member| !m.sends() && m.has_carrier() && !m.ear.is_silent();
        self.members.iter().filter(listened).map(|m| m.ear.heard_at + patience).min()
    }

    /// Holds members for silent that have been for too long.
    pub(super) fn judge_silence(&mut self, now: Instant) {
        let Some(patience) = self.config.traffic else {
            return;
        };
        for member in self.members.iter_mut().filter(|m| !m.sends() && m.has_carrier()) {
            if !member.ear.is_silent() && member.ear.heard_at + patience <= now {
                member.ear.fall_silent(now);
            }
        }
    }
}
