//! The way between the proxy's device and the server, which is the kernel's to route.
//!
//! A server on this machine is reached as it is, also at 127.0.0.1: the kernel takes packets of other
//! machines to its loopback addresses only where a device says `route_localnet`, and ours may, because only
//! our host is behind it. Anywhere else the kernel must forward; whether it may is the user's to say.

use super::ProxySetup;
use crate::error::Error;
use crate::netlink::Netlink;
use std::fs;
use std::net::IpAddr;

/// What says whether the kernel forwards, below /proc/sys.
const fn forwarding(ip: IpAddr) -> (&'static str, &'static str) {
    match ip {
        IpAddr::V4(_) => ("net/ipv4/ip_forward", "net.ipv4.ip_forward"),
        IpAddr::V6(_) => ("net/ipv6/conf/all/forwarding", "net.ipv6.conf.all.forwarding"),
    }
}

/// Opens the way to a server on this machine; tells what may be missing on the way to another.
///
/// # Errors
/// The kernel's, with what it was asked; [`Error::Environment`] for ::1, which the kernel lets nobody reach from
/// a device.
pub(super) fn open_the_way(setup: &ProxySetup) -> Result<Vec<String>, Error> {
    let ip = setup.to.ip();
    let device = &setup.network.device;
    if ip.is_loopback() {
        let IpAddr::V4(_) = ip else {
            return Err(Error::Environment(format!(
                "the kernel takes nothing to {ip} from {device}: let the server listen at {}",
                setup.network.kernel.ip
            )));
        };
        let path = format!("/proc/sys/net/ipv4/conf/{device}/route_localnet");
        fs::write(&path, "1").map_err(|error| Error::while_doing(&path, &error))?;
        return Ok(Vec::new());
    }
    let told = |error| Error::while_doing(ip, &error);
    let owner = Netlink::open().and_then(|mut netlink| netlink.owner(ip)).map_err(told)?;
    let (file, name) = forwarding(ip);
    let text = fs::read_to_string(format!("/proc/sys/{file}"));
    let forwards = text.is_ok_and(|text| text.trim() == "1");
    if owner.is_some() || forwards {
        return Ok(Vec::new());
    }
    Ok(vec![format!(
        "this machine does not forward, so {ip} cannot be reached from {device}: sysctl -w {name}=1"
    )])
}
