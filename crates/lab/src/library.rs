//! The plans that come with the program: embedded, so that a name is enough.

use trunkline_plan::{Diagnostics, Document};

/// A ready plan.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// What `lab run` and `lab show` call it.
    pub name: &'static str,
    /// One line on what it shows.
    pub about: &'static str,
    /// The plan's text.
    pub text: &'static str,
    /// Whether it reproduces a published measurement; `lab verify` runs those.
    pub is_published: bool,
}

macro_rules! plan {
    ($name:literal, $path:literal, $published:literal, $about:literal) => {
        Ready {
            name: $name,
            about: $about,
            text: include_str!(concat!("../../../plans/", $path)),
            is_published: $published,
        }
    };
}

/// Every ready plan, in the order users see them.
pub const READY: &[Ready] = &[
    plan!(
        "eql-bentson",
        "published/eql-bentson.toml",
        true,
        "1 to 4 SLIP lines, 52 measured transfers of 1995"
    ),
    plan!(
        "eql-healey",
        "published/eql-healey.toml",
        true,
        "twin null-modem lines beat one 48 kbit/s line"
    ),
    plan!(
        "eql-unequal",
        "published/eql-unequal.toml",
        true,
        "unequal lines: eql, its earlier scheduler, and earliest"
    ),
    plan!(
        "eql-latency",
        "published/eql-latency.toml",
        true,
        "ping idle and loaded, 1 to 4 lines, MTU 68 to 1500"
    ),
    plan!(
        "dctcp-incast",
        "published/dctcp-incast.toml",
        true,
        "19 senders to one at 10 Gbit/s: CUBIC and DCTCP, buffers and RTO floors"
    ),
    plan!(
        "dctcp-latency",
        "published/dctcp-latency.toml",
        true,
        "ping beside 19 flows: CUBIC's queue and DCTCP's, both MTUs"
    ),
    plan!(
        "dctcp-convergence",
        "published/dctcp-convergence.toml",
        true,
        "a second flow joins and leaves: who shares how soon"
    ),
    plan!(
        "dctcp-syn-ect",
        "published/dctcp-syn-ect.toml",
        true,
        "connecting beside 1 to 16 flows, SYN with and without ECT"
    ),
    plan!(
        "dctcp-workload",
        "published/dctcp-workload.toml",
        true,
        "queries, short and long messages: DCTCP's three requirements"
    ),
    plan!(
        "dctcp-vs-cubic",
        "published/dctcp-vs-cubic.toml",
        true,
        "DCTCP and CUBIC on one port: when not to use it"
    ),
    plan!(
        "vegas-modem",
        "published/vegas-modem.toml",
        true,
        "a download over a 28.8 kbit/s modem: Vegas beside Reno"
    ),
    plan!(
        "vegas-lan",
        "published/vegas-lan.toml",
        true,
        "web pages over an overloaded half-duplex Ethernet"
    ),
    plan!(
        "vegas-vs-reno",
        "published/vegas-vs-reno.toml",
        true,
        "where not to use Vegas: beside Reno in one queue"
    ),
    plan!(
        "crs4-bonding",
        "published/crs4-bonding.toml",
        true,
        "1 to 6 clients and a server with one card or two bonded ones"
    ),
    plan!(
        "crs4-backup",
        "published/crs4-backup.toml",
        true,
        "one copy between two bonded servers: what each mode and hash gives"
    ),
    plan!(
        "broadcast-storm",
        "published/broadcast-storm.toml",
        true,
        "what one datagram to everybody does to hosts with another broadcast address"
    ),
    plan!(
        "nfs-load",
        "published/nfs-load.toml",
        true,
        "seven diskless workstations load a cable, a hundred with disks less"
    ),
    plan!(
        "vax-cluster",
        "published/vax-cluster.toml",
        true,
        "a cluster in a broadcast storm, with more patience, and behind a router"
    ),
    plan!(
        "sb1000",
        "published/sb1000.toml",
        true,
        "a one-way cable modem with a telephone return path: its limits and its common problems"
    ),
    plan!(
        "jacobson-sun3",
        "published/jacobson-sun3.toml",
        true,
        "TCP between two Suns of 1988: what each change to copies, drivers and switches brought"
    ),
    plan!(
        "shared-ethernet",
        "shared-ethernet.toml",
        false,
        "100 stations on one 10 Mbit/s Ethernet at 40 % of its load"
    ),
    plan!(
        "eql-two-modems",
        "eql-two-modems.toml",
        false,
        "two unequal modems: the plan to start from"
    ),
    plan!(
        "udp-two-paths",
        "udp-two-paths.toml",
        false,
        "two UDP paths in clear: the first plan for a real wire"
    ),
];

/// Files that ready plans name as their data or include.
const DATA: &[(&str, &str)] = &[
    ("published/eql-bentson.toml", include_str!("../../../published/eql-bentson.toml")),
    ("published/crs4.toml", include_str!("../../../published/crs4.toml")),
    ("published/jacobson-sun3.toml", include_str!("../../../published/jacobson-sun3.toml")),
];

/// The ready plan of this name.
pub fn find(name: &str) -> Option<&'static Ready> {
    READY.iter().find(|ready| ready.name == name)
}

impl Ready {
    /// The plan, parsed with its data.
    ///
    /// # Errors
    /// None for a plan that comes with the program: its tests see to that.
    pub fn document(&self) -> Result<Document, Diagnostics> {
        let loader = |file: &str| data(file).map(str::to_owned).ok_or_else(|| NO_DATA.to_owned());
        Document::parse(&format!("{}.toml", self.name), self.text, &loader)
    }
}

/// Why a file cannot be loaded that is not part of the program.
const NO_DATA: &str = "no such file in the program";

/// The text of a file that ready plans name.
pub fn data(path: &str) -> Option<&'static str> {
    DATA.iter().find(|(known, _)| *known == path).map(|(_, text)| *text)
}
