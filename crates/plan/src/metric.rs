//! The names of the metrics a run has, by what they are of. What they mean stands in `docs/plan.md`; the
//! lab takes them.

use crate::diagnostic::nearest;
use crate::model::App;
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
/// Metrics of a link.
pub const LINK: [&str; 4] = ["rate", "share", "utilisation", "dropped"];

/// What a metric can be asked of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    Link,
    Bond,
    Chip,
    Segment,
    Bulk,
    Ping,
    /// A flow of which it is not known what it does: its own errors are told already.
    Flow,
}

impl Owner {
    /// A flow by what it does.
    pub(crate) fn of(app: &App) -> Owner {
        match app {
            App::Bulk(_) => Owner::Bulk,
            App::Ping(_) => Owner::Ping,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Owner::Link => "link",
            Owner::Bond => "bond",
            Owner::Chip => "chip",
            Owner::Segment => "segment",
            Owner::Bulk => "bulk flow",
            Owner::Ping => "ping flow",
            Owner::Flow => "flow",
        }
    }

    fn metrics(self) -> Vec<&'static str> {
        match self {
            Owner::Link => LINK.to_vec(),
            Owner::Bond | Owner::Chip | Owner::Segment => Vec::new(),
            Owner::Bulk => BULK.to_vec(),
            Owner::Ping => PING.to_vec(),
            Owner::Flow => [&BULK[..], &PING].concat(),
        }
    }
}

/// Checks that `NAME.METRIC` is the name of one of `owners` and a metric it has.
pub(crate) fn check(text: &str, owners: &[(&str, Owner)]) -> Taken<()> {
    let Some((name, metric)) = text.split_once('.').filter(|(_, metric)| !metric.is_empty()) else {
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
