//! The names of the metrics a run has, by what they are of. What they mean stands in `docs/plan.md`; the
//! lab takes them.

use crate::diagnostic::nearest;
use crate::model::{App, Flow, Route};
use crate::reader::{Taken, Unfit};

/// Metrics of a flow whose app is `bulk`.
pub const BULK: [&str; 19] = [
    "bytes",
    "complete",
    "broken",
    "wrong",
    "goodput",
    "put_rate",
    "seconds",
    "ceiling",
    "of_ceiling",
    "overhead",
    "unused",
    "retransmitted",
    "timeouts",
    "undos",
    "reordered",
    "reorder_places",
    "longest_gap",
    "fast_path_share",
    "payload",
];
/// Metrics of a flow whose app is `ping`.
pub const PING: [&str; 5] = ["rtt_min", "rtt_median", "rtt_mean", "rtt_max", "loss"];
/// Metrics of a flow whose app is `bulk`, between hosts at switches.
pub const STREAMS: [&str; 22] = [
    "bytes",
    "complete",
    "broken",
    "wrong",
    "goodput",
    "goodput_mean",
    "goodput_median",
    "goodput_min",
    "goodput_max",
    "goodput_stddev",
    "put_rate",
    "put_rate_mean",
    "jain",
    "seconds",
    "ceiling",
    "of_ceiling",
    "retransmitted",
    "retransmitted_share",
    "timeouts",
    "timeouts_max",
    "longest_gap",
    "payload",
];
/// Metrics of a flow whose app is `request-response`.
pub const REQUESTS: [&str; 11] = [
    "rounds",
    "round_mean",
    "round_p50",
    "round_p99",
    "round_max",
    "goodput",
    "jain",
    "broken",
    "retransmitted",
    "retransmitted_share",
    "timeouts",
];
/// Metrics of a flow whose app is `connect`.
pub const ATTEMPTS: [&str; 4] = ["attempts", "connected", "probability", "connect_median"];
/// Metrics of a flow whose app is `messages`.
pub const MESSAGES: [&str; 10] = [
    "messages",
    "unfinished",
    "goodput",
    "time_mean",
    "time_p50",
    "time_p99",
    "broken",
    "retransmitted",
    "retransmitted_share",
    "timeouts",
];
/// Metrics of a flow whose app is `web`.
pub const WEB: [&str; 10] = [
    "pages",
    "page_mean",
    "page_p50",
    "page_p99",
    "page_max",
    "goodput",
    "broken",
    "retransmitted",
    "retransmitted_share",
    "timeouts",
];
/// Metrics of a flow whose app is `rpc`.
pub const RPC: [&str; 9] = [
    "calls",
    "rate",
    "goodput",
    "time_mean",
    "time_p50",
    "time_p99",
    "retransmitted",
    "retransmitted_share",
    "unanswered",
];
/// Metrics of a flow whose app is `rip`.
pub const RIP: [&str; 2] = ["sent", "heard"];
/// Metrics of a flow whose app is `heartbeat`.
pub const HEARTBEAT: [&str; 5] = ["sent", "heard", "silence_max", "crashes", "members"];
/// Metrics of a router.
pub const ROUTER: [&str; 6] =
    ["broadcasts", "arp_requests", "arp_replies", "forwarded", "icmp_errors", "reassembled"];
/// Metrics of a flow whose app is `datagrams`.
pub const DATAGRAMS: [&str; 9] = [
    "sent",
    "received",
    "lost",
    "loss",
    "goodput",
    "delay_mean",
    "delay_p50",
    "delay_p99",
    "delay_max",
];
/// Metrics of a group of flows.
pub const GROUP: [&str; 8] = [
    "goodput",
    "jain",
    "jain_mean",
    "jain_min",
    "fair_after",
    "recovered_after",
    "timeouts",
    "retransmitted",
];
/// Metrics of a switch's port.
pub const PORT: [&str; 6] = ["rate", "utilisation", "dropped", "marked", "queue_mean", "queue_max"];
/// Metrics of a host or router with a cost table.
pub const HOST: [&str; 6] = ["cpu", "bus", "protocol_share", "interrupts", "wakeups", "overruns"];
/// Metrics of a segment.
pub const SEGMENT: [&str; 11] = [
    "rate",
    "utilisation",
    "busy",
    "busy_since_first",
    "sent",
    "collisions",
    "deferred",
    "attempts_mean",
    "given_up",
    "missed",
    "arp_requests",
];
/// Metrics of a link.
pub const LINK: [&str; 4] = ["rate", "share", "utilisation", "dropped"];
/// Further metrics of a link that carries one way.
pub const ONE_WAY: [&str; 6] = ["up", "refused", "overruns", "reading", "strays", "filtered"];

/// What a metric can be asked of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    Link,
    Bond,
    Chip,
    Switch,
    /// A switch of which not every port is known: errors of those are told already.
    Ports,
    Machine,
    /// A host with a cost table.
    Slow,
    Port,
    Group,
    Segment,
    Router,
    /// A router with a cost table.
    SlowRouter,
    Rpc,
    Rip,
    Heartbeat,
    Bulk,
    Streams,
    Ping,
    Requests,
    Attempts,
    Messages,
    Web,
    Datagrams,
    /// A flow of which it is not known what it does: its own errors are told already.
    Flow,
}

impl Owner {
    /// A flow by what it does.
    pub(crate) const fn of(flow: &Flow) -> Owner {
        match (&flow.app, &flow.route) {
            (App::Bulk(_), Route::Bond { .. }) => Owner::Bulk,
            (App::Bulk(_), Route::Switches { .. } | Route::Segment { .. }) => Owner::Streams,
            (App::Ping(_), _) => Owner::Ping,
            (App::Requests(_), _) => Owner::Requests,
            (App::Attempts(_), _) => Owner::Attempts,
            (App::Messages(_), _) => Owner::Messages,
            (App::Rpc(_), _) => Owner::Rpc,
            (App::Rip(_), _) => Owner::Rip,
            (App::Heartbeat(_), _) => Owner::Heartbeat,
            (App::Web(_), _) => Owner::Web,
            (App::Datagrams(_), _) => Owner::Datagrams,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Owner::Link => "link",
            Owner::Bond => "bond",
            Owner::Chip => "chip",
            Owner::Switch | Owner::Ports => "switch",
            Owner::Machine | Owner::Slow => "host",
            Owner::Port => "port",
            Owner::Group => "group",
            Owner::Bulk | Owner::Streams => "bulk flow",
            Owner::Segment => "segment",
            Owner::Router | Owner::SlowRouter => "router",
            Owner::Rpc => "rpc flow",
            Owner::Rip => "rip flow",
            Owner::Heartbeat => "heartbeat flow",
            Owner::Ping => "ping flow",
            Owner::Requests => "request-response flow",
            Owner::Attempts => "connect flow",
            Owner::Messages => "messages flow",
            Owner::Web => "web flow",
            Owner::Datagrams => "datagrams flow",
            Owner::Flow => "flow",
        }
    }

    fn metrics(self) -> Vec<&'static str> {
        match self {
            Owner::Link => [&LINK[..], &ONE_WAY].concat(),
            Owner::Slow => HOST.to_vec(),
            Owner::Bond | Owner::Chip | Owner::Switch | Owner::Machine => Vec::new(),
            Owner::Segment => SEGMENT.to_vec(),
            Owner::Router => ROUTER.to_vec(),
            Owner::SlowRouter => [&ROUTER[..], &HOST].concat(),
            Owner::Rpc => RPC.to_vec(),
            Owner::Rip => RIP.to_vec(),
            Owner::Heartbeat => HEARTBEAT.to_vec(),
            Owner::Port | Owner::Ports => PORT.to_vec(),
            Owner::Group => GROUP.to_vec(),
            Owner::Bulk => BULK.to_vec(),
            Owner::Streams => STREAMS.to_vec(),
            Owner::Ping => PING.to_vec(),
            Owner::Requests => REQUESTS.to_vec(),
            Owner::Attempts => ATTEMPTS.to_vec(),
            Owner::Messages => MESSAGES.to_vec(),
            Owner::Web => WEB.to_vec(),
            Owner::Datagrams => DATAGRAMS.to_vec(),
            Owner::Flow => {
                let over_tcp = [&BULK[..], &STREAMS, &REQUESTS, &ATTEMPTS, &MESSAGES, &WEB];
                let others = [&PING[..], &DATAGRAMS, &RPC, &RIP, &HEARTBEAT];
                [over_tcp.concat(), others.concat()].concat()
            }
        }
    }
}

/// The owner and the metric. A port's name has a dot of its own.
fn split<'t>(text: &'t str, owners: &[(&str, Owner)]) -> Option<(&'t str, &'t str)> {
    let behind = |name: &str| text.strip_prefix(name)?.strip_prefix('.').map(|_| name.len());
    let known = owners.iter().filter_map(|(name, _)| behind(name)).max();
    match known {
        Some(at) => Some((&text[..at], &text[at + 1..])),
        None => text.split_once('.'),
    }
}

/// Nothing of this name is behind a switch.
fn no_port(switch: &str, host: &str, owners: &[(&str, Owner)]) -> Unfit {
    let written = format!("{switch}.{host}");
    let is_there = |name: &str| name.strip_prefix(switch).is_some_and(|rest| rest.starts_with('.'));
    let ports = owners.iter().filter(|(name, owner)| *owner == Owner::Port && is_there(name));
    let names: Vec<&str> = ports.map(|(name, _)| *name).collect();
    Unfit {
        message: format!("names `{written}`, which is no port of the switch `{switch}`"),
        accepted: names.iter().map(|name| format!("{name}.METRIC")).collect(),
        nearest: nearest(&written, &names),
    }
}

/// Checks that `NAME.METRIC` is the name of one of `owners` and a metric it has.
pub(crate) fn check(text: &str, owners: &[(&str, Owner)]) -> Taken<()> {
    let Some((name, metric)) = split(text, owners).filter(|(_, metric)| !metric.is_empty()) else {
        return Err(Unfit::new("is not a metric", "NAME.METRIC such as \"ftp.goodput\""));
    };
    let having = || owners.iter().filter(|(_, owner)| !owner.metrics().is_empty());
    let Some((_, owner)) = owners.iter().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = having().map(|(name, _)| *name).collect();
        return Err(Unfit {
            message: format!("names `{name}`, which is no flow or link"),
            accepted: names.iter().map(|n| format!("{n}.METRIC")).collect(),
            nearest: nearest(name, &names),
        });
    };
    if *owner == Owner::Ports {
        return Ok(());
    }
    if let (Owner::Switch, Some((host, _))) = (owner, metric.rsplit_once('.')) {
        return Err(no_port(name, host, owners));
    }
    let (kind, metrics) = (owner.name(), owner.metrics());
    if metrics.is_empty() {
        return Err(Unfit {
            message: format!("names the {kind} `{name}`, which has no metrics"),
            accepted: having().map(|(name, _)| format!("{name}.METRIC")).collect(),
            nearest: None,
        });
    }
    if !metrics.contains(&metric) {
        return Err(Unfit {
            message: format!("names `{metric}`, which is no metric of the {kind} `{name}`"),
            accepted: metrics.iter().map(|&m| m.to_owned()).collect(),
            nearest: nearest(metric, &metrics),
        });
    }
    Ok(())
}
