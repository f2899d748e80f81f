//! Instruction-count benchmarks: `trunkline-bench NAME N` runs N units of a workload and nothing else,
//! `trunkline-bench` alone lists the workloads. Counted under callgrind for N and 2N units, the
//! difference is the cost of N units without start-up: `scripts/bench-gate.sh` does that and compares
//! with `benches/baseline.tsv`. `trunkline-bench versus ROUNDS` times our TCP and smoltcp in turns,
//! `trunkline-bench machine` this machine, as a cost table for a plan.

mod lab;
mod machine;
mod pick;
mod smoltcp;
mod tcp;
mod versus;
mod wire;

use std::process::ExitCode;

/// One row of the gate.
struct Workload {
    name: &'static str,
    /// What one unit is.
    unit: &'static str,
    /// Instructions per unit to get under, where there is a budget; told, not enforced.
    goal: Option<u64>,
    /// Units that make the count steady to well under a percent.
    units: usize,
    run: fn(usize),
    /// Count only inside this function; all of the program when none.
    within: Option<&'static str>,
    /// The row it is set in relation to.
    beside: Option<&'static str>,
}

/// A row of the table.
const fn row(
    name: &'static str,
    unit: &'static str,
    goal: Option<u64>,
    units: usize,
    run: fn(usize),
) -> Workload {
    Workload { name, unit, goal, units, run, within: None, beside: None }
}

#[rustfmt::skip]
const WORKLOADS: &[Workload] = &[
    row("checksum", "1448 bytes", None, 2000, wire::checksum),
    Workload {
        beside: Some("memcpy"),
        ..row("copy-checksum", "1448 bytes", None, 2000, wire::copy_checksum)
    },
    row("memcpy", "1448 bytes", None, 2000, wire::memcpy),
    row("pick-earliest", "frame", None, 2000, pick::earliest),
    row("pick-eql", "frame", None, 2000, pick::eql),
    row("pick-eql-early", "frame", None, 2000, pick::eql_early),
    row("pick-balance-rr", "frame", None, 2000, pick::balance_rr),
    row("pick-active-backup", "frame", None, 2000, pick::active_backup),
    row("tcp-segment", "segment", Some(1800), 4000, tcp::segment),
    Workload {
        within: Some("*take_predicted*"),
        ..row("tcp-predicted", "segment", Some(200), 4000, tcp::predicted)
    },
    Workload {
        beside: Some("tcp-segment"),
        ..row("smoltcp-segment", "segment", None, 4000, smoltcp::segment)
    },
    row("lab-packet-hop", "packet-hop", Some(1000), 20000, lab::packet_hop),
    Workload {
        beside: Some("lab-event-floor"),
        ..row("lab-incast-hop", "packet-hop", Some(1000), 20000, lab::incast)
    },
    Workload {
        beside: Some("lab-event-floor"),
        ..row("lab-line-hop", "packet-hop", Some(1000), 20000, lab::line)
    },
    row("lab-ethernet-hop", "packet-hop", None, 20000, lab::ethernet),
    row("lab-event-floor", "packet-hop", None, 20000, lab::event_floor),
    row("lab-window-64k", "packet-hop", None, 60000, lab::window_64k),
    Workload {
        beside: Some("lab-window-64k"),
        ..row("lab-window-8m", "packet-hop", None, 60000, lab::window_8m)
    },
];

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => {
            for workload in WORKLOADS {
                let Workload { name, unit, goal, units, within, beside, .. } = workload;
                let goal = goal.map_or("-".to_owned(), |goal| goal.to_string());
                let (within, beside) = (within.unwrap_or("-"), beside.unwrap_or("-"));
                println!("{name}\t{unit}\t{goal}\t{units}\t{within}\t{beside}");
            }
            ExitCode::SUCCESS
        }
        ["machine"] => {
            machine::run();
            ExitCode::SUCCESS
        }
        ["versus", rounds] => match rounds.parse() {
            Ok(rounds) => {
                versus::run(rounds);
                ExitCode::SUCCESS
            }
            Err(_) => refuse(&format!("{rounds:?} is not a number of rounds")),
        },
        [name, units] => {
            let workload = WORKLOADS.iter().find(|workload| workload.name == name);
            match (workload, units.parse()) {
                (Some(workload), Ok(units)) => {
                    (workload.run)(units);
                    ExitCode::SUCCESS
                }
                (None, _) => refuse(&format!("no workload is named {name:?}")),
                (_, Err(_)) => refuse(&format!("{units:?} is not a number of units")),
            }
        }
        _ => refuse("usage: trunkline-bench [NAME UNITS | versus ROUNDS | machine]"),
    }
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::from(2)
}
