//! What runs on hosts by datagrams: calls, routes told to everybody, signs of life.

use super::App;
use trunkline_core::time::Duration;

impl App {
    /// Whether it runs over connections.
    pub const fn is_tcp(&self) -> bool {
        match self {
            App::Bulk(_) | App::Requests(_) | App::Attempts(_) => true,
            App::Messages(_) | App::Web(_) => true,
            App::Ping(_) | App::Datagrams(_) | App::Rpc(_) | App::Rip(_) | App::Heartbeat(_) => {
                false
            }
        }
    }
}

/// Calls of a server by datagrams, as NFS makes them: each client has one under way, and asks again with a
/// patience that doubles (RFC 1094; SunOS).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rpc {
    /// Bytes of a call.
    pub request: u32,
    /// Bytes of its answer.
    pub response: u32,
    /// From an answer to the next call, in the mean: evenly drawn from half of it to one and a half.
    pub think: Duration,
    /// What the server needs for each, one after the other.
    pub service: Duration,
    /// How long a client waits the first time.
    pub timeout: Duration,
    /// How many calls each client makes; `None` goes on.
    pub count: Option<u32>,
}

/// Routes told to everybody on a segment (RFC 1058).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rip {
    /// From one time to the next. Each host begins at a time of its own within the first.
    pub interval: Duration,
    /// How many are told.
    pub routes: u16,
}

/// Signs of life that the members of a cluster send each other. One that hears nothing from another for too
/// long leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heartbeat {
    /// From one sign to the next.
    pub interval: Duration,
    /// How long a member does without.
    pub patience: Duration,
    /// Bytes of each.
    pub size: u32,
}
