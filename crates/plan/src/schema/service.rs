//! Apps that send datagrams: calls of a server, routes told to everybody, and the heartbeat of a cluster.

use crate::diagnostic::Problems;
use crate::model::{Heartbeat, Rip, Rpc};
use crate::reader::{self, Section};
use trunkline_core::time::Duration;
use trunkline_core::wire::rip;

/// From one telling of routes to the next (RFC 1058, 3.1).
const RIP_INTERVAL: Duration = Duration::from_secs(30);
/// From one sign of life to the next, and how long a member does without: RECNXINTERVAL of VMS.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(3);
const HEARTBEAT_PATIENCE: Duration = Duration::from_secs(20);
/// How long a call waits for its answer the first time: `timeo` of SunOS, seven tenths of a second.
const RPC_TIMEOUT: Duration = Duration::from_millis(700);
/// What identifies a call: below it a datagram is none.
const CALL_MIN: u64 = 8;
/// The longest payload of a datagram.
const CALL_MAX: u64 = 60_000;
/// Headers of a call without data.
const CALL: u32 = 160;

pub(super) fn rip(s: &mut Section<'_>, problems: &mut Problems) -> Rip {
    Rip {
        interval: s.or(problems, "interval", RIP_INTERVAL, reader::some_time),
        routes: s.or(problems, "routes", 1, reader::whole(1, rip::ENTRIES_MAX as i128)),
    }
}

pub(super) fn heartbeat(s: &mut Section<'_>, problems: &mut Problems) -> Heartbeat {
    Heartbeat {
        interval: s.or(problems, "interval", HEARTBEAT_INTERVAL, reader::some_time),
        patience: s.or(problems, "timeout", HEARTBEAT_PATIENCE, reader::some_time),
        size: s.or(problems, "size", 100, reader::size(CALL_MIN, CALL_MAX)),
    }
}

pub(super) fn rpc(s: &mut Section<'_>, problems: &mut Problems) -> Rpc {
    let size = reader::size(CALL_MIN, CALL_MAX);
    Rpc {
        request: s.or(problems, "request", CALL, &size),
        response: s.or(problems, "response", CALL, &size),
        think: s.or(problems, "think", Duration::ZERO, reader::duration),
        service: s.or(problems, "service", Duration::ZERO, reader::duration),
        timeout: s.or(problems, "timeout", RPC_TIMEOUT, reader::some_time),
        count: s.opt(problems, "count", reader::whole(1, i128::from(u32::MAX))),
    }
}
