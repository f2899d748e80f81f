//! `trunkline show`: running bonds and their links, with the words of `/proc/net/bonding`.

use crate::args::{ShowRunning, What};
use crate::ask::request;
use crate::exit::{Ended, Exit};
use crate::output::Output;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use std::fmt::Write;
use trunkline_core::units::BitRate;
use trunkline_live::control::Request;
use trunkline_live::report::{BondReport, LinkReport};
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
    links: Vec<Row<'a>>,
}

/// A link and the bond it is a member of.
#[derive(Serialize)]
struct Row<'a> {
    bond: &'a str,
    #[serde(flatten)]
    link: &'a LinkReport,
}

/// `show [bond|link] [NAME] [-s]`
pub(crate) fn show(args: &ShowRunning, output: &Output) -> Ended {
    let (bond, link) = match args.name.as_deref() {
        Some(name) => match (args.what, name.split_once('.')) {
            (What::Link, Some((bond, link))) => (Some(bond), Some(link)),
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
        What::Link => links(&bonds, link, args, output),
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
    if args.statistics {
        line("Sent", &format!("{} packets, {} bytes", bond.tx_packets, bond.tx_bytes));
        line("Delivered", &format!("{} packets", bond.tun_tx_packets));
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
        if args.statistics {
            line("Sent", &format!("{} packets, {} bytes", slave.tx_packets, slave.tx_bytes));
            line("Received", &format!("{} packets, {} bytes", slave.rx_packets, slave.rx_bytes));
            line("Lost here", &format!("{} packets", slave.tx_dropped + slave.tx_errors));
        }
    }
    text
}

fn links(bonds: &[BondReport], wanted: Option<&str>, args: &ShowRunning, output: &Output) -> Ended {
    let rows = bonds.iter().flat_map(|bond| {
        bond.slaves.iter().map(move |link| Row { bond: bond.bond.as_str(), link })
    });
    let fits = |row: &Row<'_>| wanted.is_none_or(|name| row.link.slave_interface == name);
    let rows: Vec<Row<'_>> = rows.filter(fits).collect();
    if let Some(name) = wanted.filter(|_| rows.is_empty()) {
        output.error(&format!("{name} is not a member now"));
        return Err(Exit::Environment);
    }
    if output.is_json() {
        return output.document(&Links { schema: "trunkline.show-link/1", links: rows });
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut head = vec!["bond", "link", "status", "rate", "remote"];
    if args.statistics {
        head.extend(["tx packets", "tx bytes", "rx packets", "rx bytes", "lost here"]);
    }
    table.set_header(head);
    for Row { bond, link } in rows {
        let rate = BitRate::from_bps(link.rate).to_string();
        let mut cells =
            vec![bond.to_owned(), link.slave_interface.clone(), link.mii_status.clone(), rate];
        cells.push(link.remote.clone());
        if args.statistics {
            let lost = link.tx_dropped + link.tx_errors;
            let counts = [link.tx_packets, link.tx_bytes, link.rx_packets, link.rx_bytes, lost];
            cells.extend(counts.map(|count| count.to_string()));
        }
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(5) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    output.data(&format!("{}\n", table.trim_fmt()))
}
