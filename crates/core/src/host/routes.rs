//! Which way a packet goes: networks, the longest prefix first (RFC 1812, 5.2.4.3), and whether one came the
//! way its answer would go (RFC 3704).

use super::InterfaceId;
use super::broadcast::Subnet;
use std::net::Ipv4Addr;

/// Routes of one host.
pub const ROUTES_MAX: usize = 256;

/// A way to a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// Whom it leads to; a prefix of no bits is the default route.
    pub to: Subnet,
    /// The router, an address that is reached without one; none where the network is on this very link.
    pub gateway: Option<Ipv4Addr>,
    /// The way out.
    pub interface: InterfaceId,
    /// How many routers are on the way; the plan's and the links' own have 0. The fewest win.
    pub metric: u32,
}

/// Why a route was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RouteError {
    /// There is one to this network that is as short.
    Taken,
    /// There is no room for more.
    Full,
}

/// Whether a packet is taken whose answer would not go back the way it came (RFC 3704).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum ReversePath {
    /// It is, whatever its source.
    #[default]
    Off,
    /// If there is any way to its source (2.3).
    Loose,
    /// Only if the best way to its source is the one it came (2.2).
    Strict,
}

/// The routes of a host.
#[derive(Clone, Default, Debug)]
pub(super) struct Routes {
    /// The longest prefix first.
    routes: Vec<Route>,
}

impl Routes {
    /// Adds a route, or puts it in the place of a longer one to the same network.
    pub fn add(&mut self, route: Route) -> Result<(), RouteError> {
        let same = |known: &Route| {
            known.to.prefix() == route.to.prefix() && known.to.network() == route.to.network()
        };
        match self.routes.iter().position(same) {
            Some(at) if self.routes[at].metric > route.metric => self.routes[at] = route,
            Some(_) => return Err(RouteError::Taken),
            None if self.routes.len() >= ROUTES_MAX => return Err(RouteError::Full),
            None => {
                let at = self.routes.partition_point(|r| r.to.prefix() >= route.to.prefix());
                self.routes.insert(at, route);
            }
        }
        Ok(())
    }

    /// The way to an address.
    pub fn find(&self, to: Ipv4Addr) -> Option<&Route> {
        self.routes.iter().find(|route| route.to.contains(to))
    }

    /// All of them.
    pub fn all(&self) -> &[Route] {
        &self.routes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(address: [u8; 4], prefix: u8, interface: usize, metric: u32) -> Route {
        let to = Subnet::new(address.into(), prefix).expect("a prefix");
        Route { to, gateway: None, interface: InterfaceId(interface), metric }
    }

    #[test]
    fn the_longest_prefix_wins_in_any_order() {
        let routes = [
            route([0; 4], 0, 0, 0),
            route([10, 1, 0, 0], 16, 1, 0),
            route([10, 1, 2, 0], 24, 2, 0),
            route([10, 0, 0, 0], 8, 3, 0),
        ];
        for turn in 0..routes.len() {
            let mut table = Routes::default();
            let mut turned = routes;
            turned.rotate_left(turn);
            turned.iter().for_each(|route| assert_eq!(table.add(*route), Ok(())));
            for (to, interface) in
                [([10, 1, 2, 9], 2), ([10, 1, 3, 9], 1), ([10, 2, 0, 1], 3), ([11, 0, 0, 1], 0)]
            {
                let found = table.find(to.into()).expect("a default route");
                assert_eq!(found.interface, InterfaceId(interface));
            }
        }
    }

    #[test]
    fn there_is_one_route_to_a_network_the_shortest() {
        let mut table = Routes::default();
        assert_eq!(table.add(route([0; 4], 0, 0, 2)), Ok(()));
        assert_eq!(table.add(route([9; 4], 0, 1, 2)), Err(RouteError::Taken));
        assert_eq!(table.add(route([0; 4], 0, 2, 1)), Ok(()));
        assert_eq!(table.find([1; 4].into()).map(|r| r.interface), Some(InterfaceId(2)));
        for i in 0..ROUTES_MAX as u32 - 1 {
            let to = Ipv4Addr::from_bits(i << 8).octets();
            assert_eq!(table.add(route(to, 24, 0, 0)), Ok(()));
        }
        assert_eq!(table.add(route([99; 4], 32, 0, 0)), Err(RouteError::Full));
        assert_eq!(table.all().len(), ROUTES_MAX);
    }
}
