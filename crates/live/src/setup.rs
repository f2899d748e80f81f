//! What one end of a bond needs on its machine: a plan seen from that end.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use trunkline_core::bond::{BondConfig, MemberConfig};
use trunkline_plan::model::Address;

/// One end of one bond.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BondSetup {
    /// The bond's name.
    pub name: String,
    /// Which of its ends this is.
    pub end: String,
    /// The device programs see.
    pub device: String,
    /// Addresses of the device.
    pub addresses: Vec<Address>,
    /// Networks that are reached over the device.
    pub routes: Vec<Address>,
    /// Where datagrams are expected; each path has a port of its own when `None`.
    pub listen: Option<SocketAddr>,
    /// The bond.
    pub bond: BondConfig,
    /// The links that have a place at this end, in the order of the plan.
    pub links: Vec<LinkSetup>,
}

/// One link at this end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkSetup {
    /// The link's name.
    pub name: String,
    /// What the bond is told of it.
    pub member: MemberConfig,
    /// The device its datagrams leave and come in by; any when `None`.
    pub device: Option<String>,
    /// The far end.
    pub remote: Remote,
    /// Whether it is a member from the start.
    pub role: Role,
}

/// Whose a link is when the bond starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The bond's.
    Member,
    /// Nobody's: it may be enslaved.
    Spare,
}

/// The far end of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remote {
    /// Its address: nobody else is heard.
    pub ip: IpAddr,
    /// Its port; when `None` it is learned from the first datagram.
    pub port: Option<u16>,
}

impl Remote {
    /// Whether a datagram is from this far end.
    pub fn is(&self, from: SocketAddr) -> bool {
        from.ip() == self.ip && self.port.is_none_or(|port| from.port() == port)
    }
}

impl BondSetup {
    /// A link by its name.
    pub fn link(&self, name: &str) -> Option<&LinkSetup> {
        self.links.iter().find(|link| link.name == name)
    }

    /// The local address of a link's socket: where the end listens, in the remote's family.
    pub fn local(&self, link: &LinkSetup) -> SocketAddr {
        let any: IpAddr = match link.remote.ip {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        match self.listen {
            Some(listen) if listen.ip().is_unspecified() => SocketAddr::new(any, listen.port()),
            Some(listen) => listen,
            None => SocketAddr::new(any, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_without_a_port_is_heard_from_any() {
        let ip = "10.0.0.1".parse().unwrap();
        let any = Remote { ip, port: None };
        let one = Remote { ip, port: Some(4500) };
        let from = |text: &str| text.parse::<SocketAddr>().unwrap();
        assert!(any.is(from("10.0.0.1:9")) && !any.is(from("10.0.0.2:9")));
        assert!(one.is(from("10.0.0.1:4500")) && !one.is(from("10.0.0.1:4501")));
    }
}
