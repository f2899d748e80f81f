//! The command line, as clap reads it.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use trunkline_core::cc::Algorithm;
use trunkline_core::tcp::config::EcnMode;

/// Several network links as one: see before you deploy how well it will go.
#[derive(Parser, Debug)]
#[command(name = "trunkline", version, about, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(ClapArgs, Debug)]
pub(crate) struct Global {
    /// Print one JSON document instead of tables
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// No progress and no remarks
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Every flow and link, also where the plan has figures
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// When to use colour; auto is on a terminal without NO_COLOR
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub(crate) color: Color,
}

/// When to use colour; NO_COLOR is honoured by `auto`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Color {
    // No rustdoc here: clap would spread the help over many lines for it.
    Auto,
    Always,
    Never,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Simulate in virtual time
    #[command(subcommand)]
    Lab(LabCommand),
    /// Check a plan and explain what is wrong with it
    Check(Check),
    /// Bring up the bonds of a plan at one end
    Up(Up),
    /// Take a bond down, or clean up what a kill left behind
    Down(Name),
    /// Read the plan of a running bond again; a bad one changes nothing
    Reload(Name),
    /// Show running bonds, their links or the paths of trunks
    Show(ShowRunning),
    /// Take a link of the plan into a running bond
    Enslave(Enslave),
    /// Let a link of a running bond go
    Emancipate(Emancipate),
    /// Show settings of a running bond or link
    Get(Get),
    /// Change a setting of a running bond or link
    Set(Set),
    /// Carry connections of other programs over a TCP of our own
    Proxy(Proxy),
}

/// `up PLAN`
#[derive(ClapArgs, Debug)]
pub(crate) struct Up {
    /// A file (with `/` or ending in .toml) or the name of a ready plan
    pub(crate) plan: String,
    /// Change a key of the plan, such as link.a.rate=20mbit
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Which end of the plan this machine is [default: the one with the host's name]
    #[arg(long = "as", value_name = "END")]
    pub(crate) end: Option<String>,
    /// Stay in the terminal instead of going to the background
    #[arg(long)]
    pub(crate) foreground: bool,
    /// Print what would be done and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `down NAME`, `reload NAME`
#[derive(ClapArgs, Debug)]
pub(crate) struct Name {
    /// The bond
    pub(crate) name: String,
}

/// `show [bond|link|path] [NAME]`
#[derive(ClapArgs, Debug)]
pub(crate) struct ShowRunning {
    /// What to show
    #[arg(value_enum, default_value_t = What::Bond)]
    pub(crate) what: What,
    /// The bond, or BOND.LINK [default: all]
    pub(crate) name: Option<String>,
    /// With counters
    #[arg(short, long)]
    pub(crate) statistics: bool,
}

/// What `show` shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum What {
    // No rustdoc here: clap would spread the help over many lines for it.
    Bond,
    Link,
    Path,
}

/// `enslave BOND LINK [RATE]`
#[derive(ClapArgs, Debug)]
pub(crate) struct Enslave {
    /// The bond
    pub(crate) bond: String,
    /// A link of its plan
    pub(crate) link: String,
    /// Its rate, such as 20mbit, instead of the plan's
    pub(crate) rate: Option<String>,
}

/// `emancipate BOND LINK`
#[derive(ClapArgs, Debug)]
pub(crate) struct Emancipate {
    /// The bond
    pub(crate) bond: String,
    /// One of its members
    pub(crate) link: String,
}

/// `get BOND[.LINK] [KEY]`
#[derive(ClapArgs, Debug)]
pub(crate) struct Get {
    /// The bond, or a member as BOND.LINK
    pub(crate) of: String,
    /// The setting [default: all]
    pub(crate) key: Option<String>,
}

/// `set BOND[.LINK] KEY VALUE`
#[derive(ClapArgs, Debug)]
pub(crate) struct Set {
    /// The bond, or a member as BOND.LINK
    pub(crate) of: String,
    /// The setting, such as rate
    pub(crate) key: String,
    /// Its value, as a plan has it
    pub(crate) value: String,
}

/// `proxy --listen ADDR --to ADDR --cc NAME`
#[derive(ClapArgs, Debug)]
pub(crate) struct Proxy {
    /// Where connections are accepted, such as 127.0.0.1:8080; port 0 takes any that is free
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: SocketAddr,
    /// Where they are carried: a server on this machine, or one it forwards to
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) to: SocketAddr,
    /// The congestion control
    #[arg(long, value_name = "NAME", default_value = "cubic", value_parser = algorithms())]
    pub(crate) cc: Algorithm,
    /// ECN with the server: off, on-request (where it asks for it), or on
    #[arg(long, value_name = "MODE", default_value = "on-request", value_parser = ecn_modes())]
    pub(crate) ecn: EcnMode,
    /// The TUN device that is made for it
    #[arg(long, value_name = "NAME", default_value = "tlproxy0")]
    pub(crate) device: String,
    /// The address of our TCP on that device, and the length of the network's prefix [default:
    /// 10.78.0.2/30, or fd78::2/126 for IPv6]
    #[arg(long, value_name = "ADDR/LEN")]
    pub(crate) address: Option<String>,
    /// The kernel's address there [default: the first other one of the network]
    #[arg(long, value_name = "ADDR")]
    pub(crate) gateway: Option<IpAddr>,
    /// The longest packet, in bytes; 1280 at least for IPv6
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    #[arg(value_parser = clap::value_parser!(u16).range(576..))]
    pub(crate) mtu: u16,
}

/// Every congestion control by its name.
fn algorithms() -> impl TypedValueParser<Value = Algorithm> {
    let names = Algorithm::ALL.map(Algorithm::name);
    let named = |name: String| Algorithm::ALL.into_iter().find(|a| a.name() == name);
    PossibleValuesParser::new(names).try_map(move |name| named(name).ok_or("no such algorithm"))
}

/// Every mode of ECN by its name.
fn ecn_modes() -> impl TypedValueParser<Value = EcnMode> {
    let names = EcnMode::ALL.map(EcnMode::name);
    let named = |name: String| EcnMode::ALL.into_iter().find(|mode| mode.name() == name);
    PossibleValuesParser::new(names).try_map(move |name| named(name).ok_or("no such mode"))
}

/// What to do in virtual time.
#[derive(Subcommand, Debug)]
pub(crate) enum LabCommand {
    /// List the plans that come with the program
    List,
    /// Print a ready plan, to change it
    Show(Show),
    /// Run a plan and print its figures
    Run(Run),
    /// Run published plans and print one table
    Verify(Verify),
    /// Run random plans with faults and check that nothing is lost
    Swarm(Swarm),
}

/// `check PLAN`
#[derive(ClapArgs, Debug)]
pub(crate) struct Check {
    /// A file (with `/` or ending in .toml) or the name of a ready plan
    pub(crate) plan: String,
    /// Change a key of the plan, such as link.modem0.rate=33.6kbit
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// `lab show NAME`
#[derive(ClapArgs, Debug)]
pub(crate) struct Show {
    /// The name of a ready plan
    pub(crate) name: String,
}

/// `lab run PLAN`
#[derive(ClapArgs, Debug)]
pub(crate) struct Run {
    /// A file (with `/` or ending in .toml) or the name of a ready plan
    pub(crate) plan: String,
    /// Change a key of the plan, such as link.modem0.rate=33.6kbit
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Where all randomness comes from, instead of the plan's seed
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Runs with different seeds, of which the median counts
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) runs: Option<u32>,
    /// Simulations at a time [default: all cores]
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Features of the plan ([lab.toggle.NAME], separated by commas, or all) to run alone, left out and
    /// in pairs, instead of the plan's figures
    #[arg(long, value_name = "LIST|all", conflicts_with_all = ["pcap", "out"])]
    pub(crate) toggle: Option<String>,
    /// Write a capture of every run into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) pcap: Option<PathBuf>,
    /// Write result.json and flows.csv into this directory
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// `lab verify [NAME…]`
#[derive(ClapArgs, Debug)]
pub(crate) struct Verify {
    /// Names of published plans [default: all]
    pub(crate) names: Vec<String>,
    /// Simulations at a time [default: all cores]
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

/// `lab swarm`
#[derive(ClapArgs, Debug)]
pub(crate) struct Swarm {
    /// How many random plans
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) runs: u32,
    /// The seed of the first
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Simulations at a time [default: all cores]
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}
