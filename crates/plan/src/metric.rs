//! The names of the metrics a run has. What they mean stands in `docs/plan.md`; the lab takes them.

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

/// Every metric there is.
pub(crate) fn all() -> Vec<&'static str> {
    [&BULK[..], &PING, &LINK].concat()
}

/// Whether `NAME.METRIC` ends in a metric.
pub(crate) fn is_known(metric: &str) -> bool {
    all().contains(&last(metric))
}

/// What stands behind the last dot.
pub(crate) fn last(metric: &str) -> &str {
    metric.rsplit('.').next().unwrap_or_default()
}
