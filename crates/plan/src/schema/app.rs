//! `app` of a flow: what it does.

use super::{datagrams, service};
use crate::diagnostic::{Problem, Problems};
use crate::model::{App, Attempts, Bulk, Clock, Content, Messages, Ping, Requests, Web};
use crate::quantity::SIZE_FORM;
use crate::reader::{self, Section, Taken, Unfit};
use crate::tree::Node;
use trunkline_core::time::Duration;

#[derive(Clone, Copy)]
enum Kind {
    Bulk,
    Ping,
    Requests,
    Attempts,
    Messages,
    Web,
    Rpc,
    Rip,
    Heartbeat,
    Datagrams,
}

const APPS: [(&str, Kind); 10] = [
    ("bulk", Kind::Bulk),
    ("ping", Kind::Ping),
    ("request-response", Kind::Requests),
    ("connect", Kind::Attempts),
    ("messages", Kind::Messages),
    ("web", Kind::Web),
    ("rpc", Kind::Rpc),
    ("rip", Kind::Rip),
    ("heartbeat", Kind::Heartbeat),
    ("datagrams", Kind::Datagrams),
];
const CONTENTS: [(&str, Content); 2] = [("zeros", Content::Zeros), ("pattern", Content::Pattern)];
const CLOCKS: [(&str, Clock); 2] =
    [("first-to-last-byte", Clock::FirstToLastByte), ("last-write", Clock::LastWrite)];

/// Headers of IPv4 and ICMP echo in bytes (RFC 791, RFC 792).
const ECHO_HEADERS: u16 = 28;
/// What `ping` sends unless told otherwise, in bytes.
const ECHO_SIZE: u16 = 56;
/// The longest message, file or answer.
const BYTES_MAX: u64 = 1 << 50;
/// A request without anything in it but what is wanted.
const REQUEST: u32 = 64;
/// Objects of one page.
const OBJECTS_MAX: i128 = 10_000;
/// Connections of a browser to one server: what browsers open by habit, and at most.
const CONNECTIONS: u32 = 6;
const CONNECTIONS_MAX: i128 = 64;

/// Which way a flow's packets go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Bond,
    Switches,
    Segment,
}

/// What a flow does over a path of this MTU.
pub(super) fn app(
    mut s: Section<'_>,
    mtu: u16,
    way: Option<Way>,
    problems: &mut Problems,
) -> Option<App> {
    let place = s.node("kind").map_or(s.place, |node| node.place);
    let kind = s.req(problems, "kind", "\"bulk\"", reader::choice(&APPS, &[]))?;
    let app = match kind {
        Kind::Bulk => Some(App::Bulk(bulk(&mut s, way, problems))),
        Kind::Ping => Some(App::Ping(Ping {
            interval: s.or(problems, "interval", Duration::from_secs(1), reader::some_time),
            size: echo_size(&mut s, mtu, problems),
            count: s.opt(problems, "count", reader::whole(1, i128::from(u32::MAX))),
            tos: s.or(problems, "tos", 0, reader::whole(0, 255)),
        })),
        Kind::Requests => requests(&mut s, problems).map(App::Requests),
        Kind::Attempts => Some(App::Attempts(Attempts {
            interval: s.or(problems, "interval", Duration::from_millis(10), reader::some_time),
            patience: s.or(problems, "timeout", Duration::from_millis(500), reader::some_time),
            count: s.opt(problems, "count", reader::whole(1, i128::from(u32::MAX))),
        })),
        Kind::Messages => messages(&mut s, problems).map(App::Messages),
        Kind::Web => web(&mut s, problems).map(App::Web),
        Kind::Rpc => Some(App::Rpc(service::rpc(&mut s, problems))),
        Kind::Rip => Some(App::Rip(service::rip(&mut s, problems))),
        Kind::Heartbeat => Some(App::Heartbeat(service::heartbeat(&mut s, problems))),
        Kind::Datagrams => datagrams::datagrams(&mut s, problems).map(App::Datagrams),
    };
    let tells_all = matches!(kind, Kind::Rip | Kind::Heartbeat);
    if way.is_some_and(|way| tells_all != (way == Way::Segment)) && way != Some(Way::Bond) {
        let (message, form) = match tells_all {
            true => ("such a flow goes to everybody on a segment", "`to` = \"SEGMENT\""),
            false => ("such a flow goes to one host, not to a segment", "`to` = \"HOST\""),
        };
        let problem = Problem::new(place, s.key("kind"), message);
        problems.push(problem.accepted([form]));
    }
    if way == Some(Way::Bond) && !matches!(kind, Kind::Bulk | Kind::Ping | Kind::Web) {
        let message = "such a flow runs between hosts, not over a bond";
        let problem = Problem::new(place, s.key("kind"), message);
        problems.push(problem.accepted(["\"bulk\"", "\"ping\"", "\"web\"", "[[lab.host]] tables"]));
    }
    s.finish(problems);
    app
}

fn bulk(s: &mut Section<'_>, way: Option<Way>, problems: &mut Problems) -> Bulk {
    let bytes = s.opt(problems, "bytes", reader::size(1, BYTES_MAX));
    let lasts = s.opt(problems, "duration", reader::some_time);
    if let Some(node) = s.node("duration").filter(|_| way == Some(Way::Bond) || bytes.is_some()) {
        let (message, form) = match bytes {
            Some(_) => ("a file of known `bytes` has no `duration`", "one of both"),
            None => ("`duration` is for flows between hosts at switches", "`bytes`, or neither"),
        };
        let problem = Problem::new(node.place, s.key("duration"), message);
        problems.push(problem.found(node.value.to_string()).accepted([form]));
    }
    Bulk {
        bytes,
        lasts,
        write: s.or(problems, "write", 8192, reader::size(1, 1 << 24)),
        content: s.or(problems, "content", Content::Zeros, reader::choice(&CONTENTS, &[])),
        clock: s.or(problems, "clock", Clock::FirstToLastByte, reader::choice(&CLOCKS, &[])),
        start_cost: s.or(problems, "start_cost", Duration::ZERO, reader::duration),
    }
}

fn requests(s: &mut Section<'_>, problems: &mut Problems) -> Option<Requests> {
    let response = s.req(problems, "response", "\"1MB\"", reader::size(1, BYTES_MAX));
    Some(Requests {
        request: s.or(problems, "request", REQUEST, reader::size(1, 1 << 20)),
        barrier: s.or(problems, "barrier", false, reader::flag),
        interval: s.opt(problems, "interval", reader::some_time),
        count: s.opt(problems, "count", reader::whole(1, i128::from(u32::MAX))),
        response: response?,
    })
}

fn messages(s: &mut Section<'_>, problems: &mut Problems) -> Option<Messages> {
    let bytes = s.req(problems, "bytes", "\"1MB\" or [\"50KB\", \"1MB\"]", sizes);
    let interval = s.req(problems, "interval", "\"10ms\"", reader::some_time);
    Some(Messages { bytes: bytes?, interval: interval? })
}

fn web(s: &mut Section<'_>, problems: &mut Problems) -> Option<Web> {
    let page = s.req(problems, "page", "\"20KB\"", reader::size(1, BYTES_MAX));
    let objects = s.or(problems, "objects", 0, reader::whole(0, OBJECTS_MAX));
    let size = reader::size(1, BYTES_MAX);
    let object = match objects {
        0 => s.opt(problems, "object", size).or(Some(1)),
        _ => s.req(problems, "object", "\"10KB\"", size),
    };
    Some(Web {
        page: page?,
        objects,
        object: object?,
        connections: s.or(problems, "connections", CONNECTIONS, reader::whole(1, CONNECTIONS_MAX)),
        request: s.or(problems, "request", REQUEST, reader::size(1, 1 << 20)),
        think: s.or(problems, "think", Duration::ZERO, reader::duration),
        count: s.opt(problems, "count", reader::whole(1, i128::from(u32::MAX))),
    })
}

/// One size, or the smallest and the largest.
fn sizes(node: &Node) -> Taken<[u64; 2]> {
    let one = reader::size::<u64>(1, 1 << 40);
    match node.as_array() {
        None => one(node).map(|size| [size, size]),
        Some([low, high]) => match [one(low)?, one(high)?] {
            [low, high] if low > high => {
                Err(Unfit::new("has its smallest above its largest", "[\"50KB\", \"1MB\"]"))
            }
            range => Ok(range),
        },
        Some(_) => Err(Unfit::new("is not two sizes", SIZE_FORM)),
    }
}

/// The payload of an echo; the packet must fit the path, which fragments nothing.
fn echo_size(s: &mut Section<'_>, mtu: u16, problems: &mut Problems) -> u16 {
    let most = mtu.saturating_sub(ECHO_HEADERS);
    if s.node("size").is_none() && ECHO_SIZE > most {
        let message = format!("an echo of {ECHO_SIZE}B, the default, does not fit the MTU {mtu}");
        let problem = Problem::new(s.place, s.key("size"), message);
        problems.push(problem.accepted([format!("a `size` from 0B to {most}B")]));
    }
    s.or(problems, "size", ECHO_SIZE, reader::size(0, u64::from(most)))
}
