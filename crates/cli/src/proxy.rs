//! `trunkline proxy --listen ADDR --to ADDR --cc NAME`
//!
//! People get a line when it is ready, one per connection that did not end in order (with `-v` one per
//! connection), and a summary; with `--json` each of these is a document on a line of its own.

use crate::args::Proxy as Args;
use crate::exit::{Ended, Exit};
use crate::output::{Output, reason};
use crate::up::told;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use trunkline_core::tcp::{Config, Profile};
use trunkline_core::time::Duration;
use trunkline_live::host::Neighbourhood;
use trunkline_live::proxy::{Carried, Counters, Ending, Proxy, ProxySetup};
use trunkline_plan::model::Address;

const SCHEMA: &str = "trunkline.proxy/1";

/// The first document: connections are accepted from now on.
#[derive(Serialize)]
struct Ready<'a> {
    schema: &'static str,
    event: &'static str,
    listen: SocketAddr,
    to: SocketAddrV4,
    cc: &'static str,
    device: &'a str,
    address: Ipv4Addr,
    remarks: &'a [String],
}

/// One connection that has ended. The words are those of `ss -ti`, the units SI.
#[derive(Serialize)]
struct Connection {
    schema: &'static str,
    event: &'static str,
    client: SocketAddr,
    ended: &'static str,
    seconds: f64,
    bytes_acked: u64,
    bytes_received: u64,
    data_segs_out: u64,
    retrans: u64,
    timeouts: u64,
    rtt: Option<f64>,
    mss: Option<u32>,
    cwnd: Option<u32>,
    cc: Option<String>,
}

/// The last document.
#[derive(Serialize)]
struct Summary {
    schema: &'static str,
    event: &'static str,
    accepted: u64,
    ended: BTreeMap<&'static str, u64>,
    bytes_to_server: u64,
    bytes_to_client: u64,
}

/// Carries connections until a signal ends it.
pub(crate) fn run(args: &Args, output: &Output) -> Ended {
    let setup = setup(args).map_err(|text| {
        output.error(&text);
        Exit::Usage
    })?;
    let proxy = Proxy::new(setup.clone()).map_err(|error| told(&error, output))?;
    tell_ready(&setup, &proxy, output)?;
    let mut hear = |carried: &Carried| tell_connection(carried, output);
    let counters = proxy.run(&mut hear).map_err(|error| {
        output.error(&format!("{}: {}", setup.network.device, reason(&error)));
        Exit::Environment
    })?;
    tell_summary(&counters, output)
}

fn setup(args: &Args) -> Result<ProxySetup, String> {
    let SocketAddr::V4(to) = args.to else {
        return Err(format!("--to {}: our TCP speaks IPv4 only in this version", args.to));
    };
    let (address, prefix) = network(&args.address)?;
    let kernel = args.gateway.map_or_else(|| first_other(address, prefix), Ok)?;
    if kernel == address || masked(kernel, prefix) != masked(address, prefix) {
        return Err(format!("--gateway {kernel} is not another address in {}", args.address));
    }
    if *to.ip() == address {
        return Err(format!("--to {to} is the proxy's own address: nobody listens there"));
    }
    let config = Config { algorithm: args.cc, ..Config::new(Profile::Modern, args.mtu) };
    let kernel = Address { ip: IpAddr::V4(kernel), prefix };
    let network = Neighbourhood { device: args.device.clone(), kernel, address, mtu: args.mtu };
    Ok(ProxySetup { listen: args.listen, to, network, config })
}

fn network(text: &str) -> Result<(Ipv4Addr, u8), String> {
    let expected = || {
        format!("--address {text}: expected an address and a prefix of 8 to 31 bits: 10.78.0.2/30")
    };
    let (ip, prefix) = text.split_once('/').ok_or_else(expected)?;
    let prefix = prefix.parse().ok().filter(|bits| (8..=31).contains(bits));
    let parsed = ip.parse().ok().zip(prefix);
    parsed.ok_or_else(expected)
}

fn masked(ip: Ipv4Addr, prefix: u8) -> u32 {
    u32::from(ip) & (u32::MAX << (32 - u32::from(prefix)))
}

/// The first address of the network that can be a machine's and is not this one.
fn first_other(address: Ipv4Addr, prefix: u8) -> Result<Ipv4Addr, String> {
    let (first, size) = (masked(address, prefix), 1u32 << (32 - prefix));
    let machines = match size {
        2 => first..first + 2,
        _ => first + 1..first + size - 1,
    };
    if !machines.contains(&u32::from(address)) {
        return Err(format!("--address {address}/{prefix} is no machine's: take the next one"));
    }
    let mut others = machines.filter(|ip| *ip != u32::from(address));
    others.next().map(Ipv4Addr::from).ok_or_else(|| format!("no other address in /{prefix}"))
}

fn tell_ready(setup: &ProxySetup, proxy: &Proxy, output: &Output) -> Ended {
    let ProxySetup { to, network, config, .. } = setup;
    let (listen, cc) = (proxy.local_addr(), config.algorithm.name());
    if output.is_json() {
        return output.line(&Ready {
            schema: SCHEMA,
            event: "ready",
            listen,
            to: *to,
            cc,
            device: &network.device,
            address: network.address,
            remarks: proxy.remarks(),
        });
    }
    let Neighbourhood { device, address, .. } = network;
    output.remark(&format!("{listen} is carried to {to} by {cc}, from {address} on {device}"));
    proxy.remarks().iter().for_each(|remark| output.remark(&format!("note: {remark}")));
    Ok(())
}

fn tell_connection(carried: &Carried, output: &Output) {
    let Carried { client, ending, took, tcp } = carried;
    if output.is_json() {
        // A reader that has gone does not end the connections.
        let _closed = output.line(&document(carried));
        return;
    }
    let in_order = matches!(ending, Ending::Closed | Ending::GivenUp);
    if !in_order || output.is_verbose() {
        let stats = tcp.as_ref().map(|(stats, ..)| *stats).unwrap_or_default();
        let words = ending.name().replace('_', " ");
        output.remark(&format!(
            "{client}: {words} after {:.3} s, {} bytes to the server, {} back, {} segments resent",
            took.as_secs_f64(),
            stats.bytes_acked,
            stats.bytes_received,
            stats.retransmissions
        ));
    }
}

fn document(carried: &Carried) -> Connection {
    let stats = carried.tcp.as_ref().map(|(stats, ..)| *stats).unwrap_or_default();
    let snapshot = carried.tcp.as_ref().map(|(_, snapshot, _)| *snapshot);
    Connection {
        schema: SCHEMA,
        event: "connection",
        client: carried.client,
        ended: carried.ending.name(),
        seconds: carried.took.as_secs_f64(),
        bytes_acked: stats.bytes_acked,
        bytes_received: stats.bytes_received,
        data_segs_out: stats.data_segments_sent,
        retrans: stats.retransmissions,
        timeouts: stats.timeouts,
        rtt: snapshot.and_then(|s| s.srtt).map(Duration::as_secs_f64),
        mss: snapshot.map(|s| s.mss),
        cwnd: snapshot.map(|s| s.cwnd),
        cc: carried.tcp.as_ref().map(|(.., cc)| cc.to_string()),
    }
}

fn tell_summary(counters: &Counters, output: &Output) -> Ended {
    let Counters { accepted, ended, bytes_to_server, bytes_to_client } = counters;
    let count = |ending: Ending| (ending.name(), ended.get(&ending).copied().unwrap_or(0));
    let counts = Ending::ALL.map(count);
    if output.is_json() {
        return output.line(&Summary {
            schema: SCHEMA,
            event: "end",
            accepted: *accepted,
            ended: counts.into(),
            bytes_to_server: *bytes_to_server,
            bytes_to_client: *bytes_to_client,
        });
    }
    let some = counts.iter().filter(|(_, count)| *count > 0);
    let words = some.map(|(name, count)| format!(", {count} {}", name.replace('_', " ")));
    output.remark(&format!(
        "{accepted} connections{}; {bytes_to_server} bytes to the server, {bytes_to_client} back",
        words.collect::<String>()
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other(text: &str) -> Result<String, String> {
        let (address, prefix) = network(text)?;
        first_other(address, prefix).map(|ip| ip.to_string())
    }

    #[test]
    fn the_kernel_gets_the_first_address_that_is_free() {
        assert_eq!(other("10.78.0.2/30").as_deref(), Ok("10.78.0.1"));
        assert_eq!(other("10.78.0.1/30").as_deref(), Ok("10.78.0.2"));
        assert_eq!(other("192.0.2.9/24").as_deref(), Ok("192.0.2.1"));
        assert_eq!(other("10.0.0.1/31").as_deref(), Ok("10.0.0.0"));
        for no_machine in ["10.78.0.0/30", "10.78.0.3/30", "10.0.0.255/24"] {
            assert!(other(no_machine).is_err(), "{no_machine}");
        }
        for wrong in ["10.78.0.2", "10.78.0.2/32", "10.78.0.2/7", "fd00::2/64", "/", "10.78/30"] {
            assert!(network(wrong).is_err(), "{wrong}");
        }
    }
}
