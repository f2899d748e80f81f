//! `trunkline show`: running bonds, their links and paths, with the words of `/proc/net/bonding`.

use crate::args::{ShowRunning, What};
use crate::ask::request;
use crate::exit::{Ended, Exit};
use crate::output::Output;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use std::fmt::Write;
use trunkline_core::units::BitRate;
use trunkline_live::control::Request;
use trunkline_live::report::{BondReport, LinkReport, PathReport};
use trunkline_live::state;

/// The document of `show bond`.
#[derive(Serialize)]
struct Bonds<'a> {
    schema: &'static str,
    bonds: &'a [BondReport],
}

/// The document of `show link`.
#[derive(Serialize)]
struct Links<'a> {
    schema: &'static str,
    links: &'a [Row<'a>],
}

/// The document of `show path`.
#[derive(Serialize)]
struct Paths<'a> {
    schema: &'static str,
    paths: Vec<PathRow<'a>>,
}

/// A path with its bond and link.
#[derive(Serialize)]
struct PathRow<'a> {
    bond: &'a str,
    link: &'a str,
    #[serde(flatten)]
    path: &'a PathReport,
}

/// A link and the bond it is a member of.
#[derive(Serialize)]
struct Row<'a> {
    bond: &'a str,
    #[serde(flatten)]
    link: &'a LinkReport,
}

/// `show [bond|link|path] [NAME] [-s]`
pub(crate) fn show(args: &ShowRunning, output: &Output) -> Ended {
    let (bond, link) = match args.name.as_deref() {
        Some(name) => match (args.what, name.split_once('.')) {
            (What::Link | What::Path, Some((bond, link))) => (Some(bond), Some(link)),
            _ => (Some(name), None),
        },
        None => (None, None),
    };
    let names = bond.map_or_else(state::names, |bond| vec![bond.to_owned()]);
    let mut bonds = Vec::new();
    for name in names {
        let found = request(&name, &Request::Show {}, output)?;
        let report: BondReport = serde_json::from_value(found).map_err(|error| {
            output.error(&format!("bond {name} is of another version: {error}"));
            Exit::Environment
        })?;
        bonds.push(report);
    }
    match args.what {
        What::Bond if output.is_json() => {
            output.document(&Bonds { schema: "trunkline.show-bond/1", bonds: &bonds })
        }
        What::Bond => {
            let texts: Vec<String> = bonds.iter().map(|bond| bond_text(bond, args)).collect();
            output.data(&texts.join("\n"))
        }
        What::Link => links(&rows(&bonds, link, output)?, args, output),
        What::Path => paths(&rows(&bonds, link, output)?, args, output),
    }
}

fn bond_text(bond: &BondReport, args: &ShowRunning) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut line = |label: &str, value: &str| {
        let _ = writeln!(text, "{label}: {value}");
    };
    line("Bond", &format!("{} ({}, process {})", bond.bond, bond.end, bond.pid));
    line("Bonding Mode", &bond.bonding_mode);
    line("MII Status", &bond.mii_status);
    line("Device", &format!("{}, MTU {}", bond.device, bond.mtu));
    line("Addresses", &bond.addresses.join(" "));
    if !bond.routes.is_empty() {
        line("Routes", &bond.routes.join(" "));
    }
    if args.statistics {
        line("Waiting", &format!("{} packets, {} bytes", bond.ingress_packets, bond.ingress_bytes));
        line("Marked", &format!("{} packets", bond.tx_marked));
        line("Sent", &format!("{} packets, {} bytes", bond.tx_packets, bond.tx_bytes));
        line("Delivered", &format!("{} packets", bond.tun_tx_packets));
        if let Some(r) = &bond.resequencer {
            line("Resequenced", &format!("{} packets, {} wait now", r.held, r.waiting));
            let gaps = format!("{} passed by, {} waited for in vain", r.passed, r.expired);
            line("Gaps", &format!("{gaps}; {} packets came too late", r.late));
        }
        for (reason, count) in &bond.drops {
            line("Dropped", &format!("{count} {reason}"));
        }
    }
    for slave in &bond.slaves {
        line("\nSlave Interface", &slave.slave_interface);
        line("MII Status", &slave.mii_status);
        line("Speed", &BitRate::from_bps(slave.rate).to_string());
        let over = slave.device.as_ref().map_or(String::new(), |device| format!(" over {device}"));
        line("Remote", &format!("{}{over}", slave.remote));
        if let Some(path) = &slave.path {
            let trip = path.srtt.map_or("unknown".into(), millis);
            line("Path", &format!("{}, round trip {trip}, loss {}", path.standing, percent(path)));
        }
        if args.statistics {
            line("Sent", &format!("{} packets, {} bytes", slave.tx_packets, slave.tx_bytes));
            line("Received", &format!("{} packets, {} bytes", slave.rx_packets, slave.rx_bytes));
            line("Lost here", &format!("{} packets", slave.tx_dropped + slave.tx_errors));
        }
    }
    text
}

fn millis(seconds: f64) -> String {
    format!("{:.1} ms", seconds * 1000.0)
}

fn percent(path: &PathReport) -> String {
    format!("{:.1} %", path.loss * 100.0)
}

/// The links of bonds, or the one that is wanted.
fn rows<'a>(
    bonds: &'a [BondReport],
    wanted: Option<&str>,
    output: &Output,
) -> Result<Vec<Row<'a>>, Exit> {
    let rows = bonds.iter().flat_map(|bond| {
        bond.slaves.iter().map(move |link| Row { bond: bond.bond.as_str(), link })
    });
    let fits = |row: &Row<'_>| wanted.is_none_or(|name| row.link.slave_interface == name);
    let rows: Vec<Row<'_>> = rows.filter(fits).collect();
    if let Some(name) = wanted.filter(|_| rows.is_empty()) {
        output.error(&format!("{name} is not a member now"));
        return Err(Exit::Environment);
    }
    Ok(rows)
}

/// A table whose columns from `numbers_from` on are numbers.
fn table(head: Vec<&str>, numbers_from: usize, rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(head);
    table.add_rows(rows);
    for column in table.column_iter_mut().skip(numbers_from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n", table.trim_fmt())
}

fn links(rows: &[Row<'_>], args: &ShowRunning, output: &Output) -> Ended {
    if output.is_json() {
        return output.document(&Links { schema: "trunkline.show-link/1", links: rows });
    }
    let mut head = vec!["bond", "link", "status", "rate", "remote"];
    if args.statistics {
        head.extend(["tx packets", "tx bytes", "rx packets", "rx bytes", "lost here"]);
    }
    let cells = |Row { bond, link }: &Row<'_>| {
        let rate = BitRate::from_bps(link.rate).to_string();
        let mut cells =
            vec![(*bond).to_owned(), link.slave_interface.clone(), link.mii_status.clone(), rate];
        cells.push(link.remote.clone());
        if args.statistics {
            let lost = link.tx_dropped + link.tx_errors;
            let counts = [link.tx_packets, link.tx_bytes, link.rx_packets, link.rx_bytes, lost];
            cells.extend(counts.map(|count| count.to_string()));
        }
        cells
    };
    output.data(&table(head, 5, rows.iter().map(cells).collect()))
}

fn paths(rows: &[Row<'_>], args: &ShowRunning, output: &Output) -> Ended {
    let paths = rows.iter().filter_map(|Row { bond, link }| {
        let path = link.path.as_ref()?;
        Some(PathRow { bond, link: &link.slave_interface, path })
    });
    let paths: Vec<PathRow<'_>> = paths.collect();
    if output.is_json() {
        return output.document(&Paths { schema: "trunkline.show-path/1", paths });
    }
    let mut head = vec!["bond", "link", "standing", "srtt", "rttvar", "delay", "loss"];
    if args.statistics {
        head.extend(["tx datagrams", "rx datagrams", "rx late", "rx again", "deaths"]);
    }
    let cells = |row: &PathRow<'_>| {
        let path = row.path;
        let mut cells = vec![row.bond.to_owned(), row.link.to_owned(), path.standing.clone()];
        cells.push(path.srtt.map_or("unknown".into(), millis));
        cells.extend([millis(path.rttvar), millis(path.delay), percent(path)]);
        if args.statistics {
            let counts = [path.tx_datagrams, path.rx_datagrams, path.rx_late, path.rx_duplicates];
            cells.extend(counts.map(|count| count.to_string()));
            cells.push(path.deaths.to_string());
        }
        cells
    };
    output.data(&table(head, 3, paths.iter().map(cells).collect()))
}
