//! Captures: the packets of a run as pcapng, one interface per link or cable and direction. Our header is
//! left out, and so are the datagrams of a trunk's own.

use trunkline_core::frame::LinkId;
use trunkline_core::trace::pcapng::{self, LinkType};
use trunkline_core::trace::{Direction, Event, Record};
use trunkline_core::wire::trunk;
use trunkline_plan::model::Plan;

/// A file of every frame given to a transmitter, captured above the framing.
pub(crate) fn pcapng(plan: &Plan, records: &[Record]) -> Vec<u8> {
    let mut out = Vec::new();
    pcapng::section_header(&mut out);
    let links = plan.links.iter().map(|link| &link.name);
    let at_switches = plan.lab.machines.iter().filter(|machine| {
        let is_named = machine.bond.is_some();
        machine.cable().is_some() && !is_named
    });
    let cables = at_switches.map(|machine| &machine.name);
    let on_segments = plan.lab.machines.iter().filter(|machine| machine.station().is_some());
    let stations = on_segments.map(|machine| &machine.name);
    let uplinks = plan.lab.switches.iter().filter(|s| s.uplink.is_some()).map(|s| &s.name);
    for link in links.chain(cables).chain(uplinks).chain(stations) {
        for direction in ["up", "down"] {
            let name = format!("{link} {direction}");
            pcapng::interface_description(&mut out, &name, LinkType::RAW_IP);
        }
    }
    for record in records {
        if let Event::Frame { link: LinkId(link), direction, bytes, len } = &record.event {
            let interface = 2 * u32::from(*link) + u32::from(*direction == Direction::Down);
            let skip = plan.links.get(usize::from(*link)).map_or(0, |l| l.header_len()) as u32;
            let is_control = skip > 0 && !trunk::is_data(bytes);
            if let Some(packet) = bytes.get(skip as usize..).filter(|_| !is_control) {
                pcapng::enhanced_packet(&mut out, interface, record.at, packet, *len - skip);
            }
        }
    }
    out
}

/// A file name of letters, digits, dots and dashes.
pub(crate) fn file_name(plan: &str, label: &str, run: u64, runs: u64) -> String {
    let mut name = plan.to_owned();
    if !label.is_empty() {
        name = format!("{name}-{label}");
    }
    if runs > 1 {
        name = format!("{name}-run{run}");
    }
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '.' || c == '-' { c } else { '-' })
        .collect()
}
