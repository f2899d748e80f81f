//! Applications: what opens connections, writes, reads and asks. They are driven by events of their
//! hosts and by their own schedule, never polled.

pub(crate) mod bulk;
pub(crate) mod ping;

use trunkline_core::Context;
use trunkline_core::host::{Event, Host};
use trunkline_core::time::Instant;

/// What an application may use while it is called.
pub(crate) struct Call<'a> {
    pub(crate) now: Instant,
    pub(crate) cx: &'a mut Context,
    pub(crate) hosts: &'a mut [Host],
}

/// One application of a plan's flow.
pub(crate) enum App {
    Bulk(Box<bulk::Bulk>),
    Ping(ping::Ping),
}

impl App {
    /// Takes an event that is meant for it. Answers whether it was.
    pub(crate) fn handle_event(&mut self, call: &mut Call<'_>, host: usize, event: &Event) -> bool {
        match self {
            App::Bulk(bulk) => bulk.handle_event(call, host, event),
            App::Ping(ping) => ping.handle_event(call, host, event),
        }
    }

    /// Its own deadline has come.
    pub(crate) fn handle_timeout(&mut self, call: &mut Call<'_>) {
        match self {
            App::Bulk(bulk) => bulk.handle_timeout(call),
            App::Ping(ping) => ping.handle_timeout(call),
        }
    }

    /// When it wants to be called.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            App::Bulk(bulk) => bulk.poll_timeout(),
            App::Ping(ping) => ping.poll_timeout(),
        }
    }

    /// Whether it will ever finish by itself.
    pub(crate) fn is_finite(&self) -> bool {
        match self {
            App::Bulk(bulk) => bulk.is_finite(),
            App::Ping(ping) => ping.is_finite(),
        }
    }

    /// Whether nothing more is expected of it: finished, or without an end of its own.
    pub(crate) fn is_done(&self) -> bool {
        match self {
            App::Bulk(bulk) => bulk.is_done(),
            App::Ping(ping) => ping.is_done(),
        }
    }

    /// How much of it is done, where it has an end of its own.
    pub(crate) fn share_done(&self) -> Option<f64> {
        match self {
            App::Bulk(bulk) => bulk.share_done(),
            App::Ping(ping) => ping.share_done(),
        }
    }

    /// The hosts a call may have touched.
    pub(crate) fn hosts(&self) -> [usize; 2] {
        match self {
            App::Bulk(bulk) => bulk.hosts(),
            App::Ping(ping) => ping.hosts(),
        }
    }
}
