//! Metrics of hosts that take time for what they do.

use super::Metrics;
use crate::world::World;
use trunkline_core::time::{Duration, Instant};

/// The metrics of a host, if it is one that takes time.
pub(super) fn metrics(world: &World, warmup: Duration, name: &str) -> Option<Metrics> {
    let machine = world.machine_named(name)?;
    let from = Instant::ZERO + warmup;
    let span = if world.now > from { world.now - from } else { Duration::ZERO };
    let share = |time: Duration| {
        (!span.is_zero()).then(|| (time.as_secs_f64() / span.as_secs_f64()).min(1.0))
    };
    let spent = machine.ledger.spent();
    let fixed = (spent.protocols + spent.rest).as_secs_f64();
    let totals = machine.totals();
    Some(Metrics::from([
        ("cpu".into(), share(machine.processor.busy())),
        ("bus".into(), share(machine.processor.bus())),
        ("protocol_share".into(), (fixed > 0.0).then(|| spent.protocols.as_secs_f64() / fixed)),
        ("interrupts".into(), Some(totals.interrupts as f64)),
        ("wakeups".into(), Some(totals.wakeups as f64)),
        ("overruns".into(), Some(totals.overruns as f64)),
    ]))
}
