//! Whether what was sent has arrived, in order and equal.

use super::Case;
use crate::apps::App;
use crate::apps::bulk::Record;
use crate::world::{Ended, World};
use trunkline_plan::model::{Flow, Plan};

/// What a world has done, if all of it has arrived.
pub(super) fn check_delivery(plan: &Plan, world: &World, ended: Ended) -> Result<Case, String> {
    let case = check_content(plan, world)?;
    for (flow, record) in records(plan, world) {
        if let Some(why) = record.broken {
            return Err(format!("{}: {why} at {}", flow.name, world.now));
        }
        if !record.complete {
            return Err(format!(
                "{}: {} bytes after {}, still {} missing",
                flow.name,
                record.received,
                world.now,
                record.written.saturating_sub(record.received)
            ));
        }
    }
    for (flow, app) in plan.lab.flows.iter().zip(&world.apps) {
        let broken = match app {
            App::Requests(requests) => requests.broken,
            App::Web(web) => web.broken,
            _ => None,
        };
        if let Some(why) = broken {
            return Err(format!("{}: {why} at {}", flow.name, world.now));
        }
    }
    match ended {
        Ended::Complete => world.check_frames().map(|()| case),
        Ended::Duration => Err(format!("not finished after {}", world.now)),
    }
}

/// What a world has done, if nothing of what has arrived is wrong.
pub(super) fn check_content(plan: &Plan, world: &World) -> Result<Case, String> {
    let mut case = Case {
        bytes: 0,
        packet_hops: world.packet_hops,
        cuts: plan.lab.faults.len() as u64,
        nanos: world.now.as_nanos(),
    };
    for (flow, record) in records(plan, world) {
        if record.wrong > 0 {
            return Err(format!("{}: {} bytes are not what was sent", flow.name, record.wrong));
        }
        case.bytes += record.received;
    }
    Ok(case)
}

/// The transfers of all flows, each with its flow.
fn records<'a>(plan: &'a Plan, world: &'a World) -> impl Iterator<Item = (&'a Flow, &'a Record)> {
    plan.lab.flows.iter().zip(&world.apps).flat_map(|(flow, app)| {
        let bulks = match app {
            App::Bulk(bulk) => std::slice::from_ref(&**bulk),
            App::Streams(streams) => &streams.bulks,
            _ => &[],
        };
        bulks.iter().map(move |bulk| (flow, &bulk.record))
    })
}
