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
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use trunkline_core::tcp::{Config, Profile};
use trunkline_core::time::Duration;
use trunkline_live::host::Neighbourhood;
use trunkline_live::proxy::{Carried, Counters, Ending, Proxy, ProxySetup};
use trunkline_plan::model::Address;

const SCHEMA: &str = "trunkline.proxy/1";
/// The least a link must carry whole (RFC 8200, 5).
const IPV6_MTU_MIN: u16 = 1280;

/// The first document: connections are accepted from now on.
#[derive(Serialize)]
struct Ready<'a> {
    schema: &'static str,
    event: &'static str,
    listen: SocketAddr,
    to: SocketAddr,
    cc: &'static str,
    ecn: &'static str,
    device: &'a str,
    address: IpAddr,
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
        output.error(&format!("{} is gone: {}", setup.network.device, reason(&error)));
        Exit::Environment
    })?;
    tell_summary(&counters, output)
}

fn setup(args: &Args) -> Result<ProxySetup, String> {
    let (to, mtu) = (args.to, args.mtu);
    let default = if to.is_ipv4() { "10.78.0.2/30" } else { "fd78::2/126" };
    let told = args.address.as_deref().unwrap_or(default);
    let own = network(told)?;
    let kernel = args.gateway.map_or_else(|| first_other(own), Ok)?;
    if kernel == own.ip || !shares(own, kernel) {
        return Err(format!("--gateway {kernel} is not another address in {told}"));
    }
    if to.ip() == own.ip {
        return Err(format!("--to {to} is the proxy's own address: nobody listens there"));
    }
    if to.is_ipv4() != own.ip.is_ipv4() {
        return Err(format!("--to {to} cannot be reached from --address {told}: one is IPv6"));
    }
    if !to.is_ipv4() && mtu < IPV6_MTU_MIN {
        return Err(format!("--mtu {mtu} is too small for IPv6, which needs {IPV6_MTU_MIN}"));
    }
    let (algorithm, ecn) = (args.cc, args.ecn);
    let config = Config { algorithm, ecn, ..Config::new(Profile::Modern, mtu) };
    let kernel = Address { ip: kernel, prefix: own.prefix };
    let network = Neighbourhood { device: args.device.clone(), kernel, address: own.ip, mtu };
    Ok(ProxySetup { listen: args.listen, to, network, config })
}

fn bits(ip: IpAddr) -> u32 {
    if ip.is_ipv4() { 32 } else { 128 }
}

fn number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u128::from(ip.to_bits()),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

fn network(text: &str) -> Result<Address, String> {
    let parsed = text.split_once('/').and_then(|(ip, prefix)| {
        let ip: IpAddr = ip.parse().ok()?;
        let prefix: u8 = prefix.parse().ok()?;
        (8..bits(ip)).contains(&u32::from(prefix)).then_some(Address { ip, prefix })
    });
    parsed.ok_or_else(|| {
        format!("--address {text}: expected an address and a prefix, such as 10.78.0.2/30")
    })
}

/// The first number of a network and how many it has, less one.
fn range(of: Address) -> (u128, u128) {
    let host = bits(of.ip) - u32::from(of.prefix);
    let last = (1 << host) - 1;
    (number(of.ip) & !last, last)
}

fn shares(own: Address, other: IpAddr) -> bool {
    own.ip.is_ipv4() == other.is_ipv4() && range(own).0 == range(Address { ip: other, ..own }).0
}

/// The first address of the network that can be a machine's and is not this one. Of an IPv4 network with
/// more than two addresses the first and the last are not (RFC 1122, 3.2.1.3), of IPv6 only the first
/// (RFC 4291, 2.6.1).
fn first_other(own: Address) -> Result<IpAddr, String> {
    let (first, last) = range(own);
    let place = number(own.ip) - first;
    let is_first = place == 0 && last > 1;
    let is_last = place == last && last > 1 && own.ip.is_ipv4();
    if is_first || is_last {
        let Address { ip, prefix } = own;
        return Err(format!("--address {ip}/{prefix} is no machine's: take another"));
    }
    let lowest = u128::from(last > 1);
    let other = first + if place == lowest { lowest + 1 } else { lowest };
    Ok(match own.ip {
        IpAddr::V4(_) => Ipv4Addr::from_bits(other as u32).into(),
        IpAddr::V6(_) => Ipv6Addr::from_bits(other).into(),
    })
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
            ecn: config.ecn.name(),
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
        network(text).and_then(first_other).map(|ip| ip.to_string())
    }

    #[test]
    fn the_kernel_gets_the_first_address_that_is_free() {
        assert_eq!(other("10.78.0.2/30").as_deref(), Ok("10.78.0.1"));
        assert_eq!(other("10.78.0.1/30").as_deref(), Ok("10.78.0.2"));
        assert_eq!(other("192.0.2.9/24").as_deref(), Ok("192.0.2.1"));
        assert_eq!(other("10.0.0.1/31").as_deref(), Ok("10.0.0.0"));
        assert_eq!(other("fd78::2/126").as_deref(), Ok("fd78::1"));
        assert_eq!(other("fd78::1/64").as_deref(), Ok("fd78::2"));
        assert_eq!(other("fd78::/127").as_deref(), Ok("fd78::1"));
        for no_machine in ["10.78.0.0/30", "10.78.0.3/30", "10.0.0.255/24", "fd78::/64"] {
            assert!(other(no_machine).is_err(), "{no_machine}");
        }
        for wrong in ["10.78.0.2", "10.78.0.2/32", "10.78.0.2/7", "fd00::2/128", "/", "10.78/30"] {
            assert!(network(wrong).is_err(), "{wrong}");
        }
    }
}
