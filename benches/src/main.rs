//! Instruction-count benchmarks: `trunkline-bench NAME N` runs N units of a workload and nothing else,
//! `trunkline-bench` alone lists the workloads. Counted under callgrind for N and 2N units, the
//! difference is the cost of N units without start-up: `scripts/bench-gate.sh` does that and compares
//! with `benches/baseline.tsv`.

mod lab;
mod pick;
mod tcp;
mod wire;

use std::process::ExitCode;

/// One row of the gate.
struct Workload {
    name: &'static str,
    /// What one unit is.
    unit: &'static str,
    /// Instructions per unit we want to stay under; told, not enforced.
    goal: u64,
    /// Units that make the count steady to well under a percent.
    units: usize,
    run: fn(usize),
    /// Count only inside this function; all of the program when empty.
    within: &'static str,
}

#[rustfmt::skip]
const WORKLOADS: &[Workload] = &[
    Workload { name: "checksum", unit: "1448 bytes", goal: 400, units: 2000, run: wire::checksum, within: "" },
    Workload { name: "pick-earliest", unit: "frame", goal: 100, units: 2000, run: pick::earliest, within: "" },
    Workload { name: "pick-eql", unit: "frame", goal: 100, units: 2000, run: pick::eql, within: "" },
    Workload { name: "pick-eql-early", unit: "frame", goal: 100, units: 2000, run: pick::eql_early, within: "" },
    Workload { name: "pick-balance-rr", unit: "frame", goal: 100, units: 2000, run: pick::balance_rr, within: "" },
    Workload { name: "pick-active-backup", unit: "frame", goal: 100, units: 2000, run: pick::active_backup, within: "" },
    Workload { name: "tcp-segment", unit: "segment", goal: 1800, units: 4000, run: tcp::segment, within: "" },
    Workload { name: "tcp-predicted", unit: "segment", goal: 200, units: 4000, run: tcp::predicted, within: "*take_predicted*" },
    Workload { name: "lab-packet-hop", unit: "packet-hop", goal: 1000, units: 20000, run: lab::packet_hop, within: "" },
];

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => {
            for workload in WORKLOADS {
                let Workload {
                    name,
                    unit,
                    goal,
                    units,
                    within,
                    ..
                } = workload;
                println!("{name}\t{unit}\t{goal}\t{units}\t{within}");
            }
            ExitCode::SUCCESS
        }
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
        _ => refuse("usage: trunkline-bench [NAME UNITS]"),
    }
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::from(2)
}
