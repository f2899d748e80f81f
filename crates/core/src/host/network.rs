//! What a host has besides connections when it is one of many on a network: rules, routes, cards that speak
//! Ethernet, UDP sockets, and packets in pieces.
//!
//! A host without any of it knows everybody from the start and takes only what is for its own address; most
//! hosts need no more. [`Host::join`] makes it one of many.

use super::broadcast::{Form, Rules, Subnet};
use super::card::{ArpReplies, Card};
use super::neighbours::Asking;
use super::reassembly::Reassembly;
use super::routes::{Route, RouteError, Routes};
use super::udp::Sockets;
use super::{DEADLINE_NETWORK, Host, InterfaceId};
use crate::Context;
use crate::time::{Duration, Instant};
use crate::wire::ethernet;
use crate::wire::icmp_error;
use crate::wire::mac::MacAddress;
use std::net::Ipv4Addr;

#[cfg(test)]
mod tests;

/// Whether a host passes on packets that are not for it (RFC 1122, 3.1: off unless asked for).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Forwarding {
    /// They are given up.
    #[default]
    Off,
    /// It is a router.
    On,
}

/// How a host behaves on a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetworkConfig {
    /// What it does about broadcasts.
    pub rules: Rules,
    /// What it writes, and without [`super::Rule::BothForms`] all it understands.
    pub form: Form,
    /// Whether it is a router.
    pub forwarding: Forwarding,
    /// How long it waits for the rest of a packet (RFC 1122, 3.3.2: one to two minutes; 4.2BSD: 30 s).
    pub reassembly: Duration,
}

impl Default for NetworkConfig {
    fn default() -> NetworkConfig {
        NetworkConfig {
            rules: Rules::RFC_1122,
            form: Form::Ones,
            forwarding: Forwarding::Off,
            reassembly: Duration::from_secs(60),
        }
    }
}

/// A card on an Ethernet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CardConfig {
    /// Its station address.
    pub mac: MacAddress,
    /// Its IPv4 address with the prefix of the network on the cable.
    pub subnet: Subnet,
    /// How it asks for the addresses of others.
    pub asking: Asking,
    /// For whom it answers.
    pub replies: ArpReplies,
}

/// What a host has seen of its network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NetworkStats {
    /// Frames to everybody that came in.
    pub broadcasts_received: u64,
    /// Questions for addresses that it has sent.
    pub arp_requests_sent: u64,
    /// Answers to such that it has sent.
    pub arp_replies_sent: u64,
    /// Packets passed on.
    pub forwarded: u64,
    /// ICMP errors sent.
    pub errors_sent: u64,
    /// ICMP errors received, except that a packet was too big.
    pub errors_received: u64,
    /// Packets put together from fragments.
    pub reassembled: u64,
    /// Packets cut into fragments.
    pub fragmented: u64,
}

pub(super) struct Network {
    pub config: NetworkConfig,
    pub routes: Routes,
    pub reassembly: Reassembly,
    pub sockets: Sockets,
    pub stats: NetworkStats,
}

impl Host {
    /// Makes the host one of many: it goes by rules, has routes, may be a router, and has UDP sockets.
    pub fn join(&mut self, config: NetworkConfig) {
        self.network = Some(Box::new(Network {
            config,
            routes: Routes::default(),
            reassembly: Reassembly::new(config.reassembly),
            sockets: Sockets::default(),
            stats: NetworkStats::default(),
        }));
    }

    fn network_mut(&mut self) -> &mut Network {
        self.network.as_mut().expect("the host has joined a network")
    }

    /// Makes an interface a card on an Ethernet: its frames begin with an Ethernet header, which the bond's
    /// MTU has to leave room for, and it finds its neighbours by asking.
    ///
    /// # Panics
    /// When the host has not joined a network, or too many others.
    pub fn plug(&mut self, id: InterfaceId, config: CardConfig) {
        let rules = self.network_mut().config.rules;
        let (to, interface) = (config.subnet, id);
        let added = self.add_route(Route { to, gateway: None, interface, metric: 0 });
        assert!(added.is_ok(), "a card is alone on its network");
        let form = self.network_mut().config.form;
        self.interfaces[id.0].card = Some(Box::new(Card::new(config, rules, form)));
        self.set_addresses(id, config.subnet.address(), Ipv4Addr::UNSPECIFIED);
    }

    /// Adds a route, which goes before the one set by [`Host::set_default_route`] and behind an interface's
    /// own peer.
    ///
    /// # Errors
    /// [`RouteError`] when there is one already that is as short, or no room.
    ///
    /// # Panics
    /// When the host has not joined a network.
    pub fn add_route(&mut self, route: Route) -> Result<(), RouteError> {
        self.network_mut().routes.add(route)
    }

    /// The routes of a host that has joined a network.
    pub fn routes(&self) -> &[Route] {
        self.network.as_ref().map_or(&[], |network| network.routes.all())
    }

    /// What the host has seen of its network; zeros when it has joined none.
    pub fn network_stats(&self) -> NetworkStats {
        self.network.as_ref().map_or_else(NetworkStats::default, |network| network.stats)
    }

    /// Everybody on the network of an interface, as the host writes it.
    pub fn broadcast_address(&self, id: InterfaceId) -> Option<Ipv4Addr> {
        let network = self.network.as_ref()?;
        let card = self.interfaces.get(id.0)?.card.as_ref()?;
        Some(card.subnet().broadcast(network.config.form))
    }

    /// The longest packet of an interface.
    pub(super) fn mtu(&self, id: InterfaceId) -> u16 {
        let interface = &self.interfaces[id.0];
        let frame = interface.bond.config().mtu;
        match interface.card {
            Some(_) => frame.saturating_sub(ethernet::HEADER_LEN as u16),
            None => frame,
        }
    }

    /// Lets what is due in the network happen: questions again, and packets that stay in pieces.
    pub(super) fn network_due(&mut self, now: Instant, cx: &mut Context) {
        for index in 0..self.interfaces.len() {
            if let Some(card) = &mut self.interfaces[index].card {
                let asked = card.handle_timeout(now, cx);
                self.network_mut().stats.arp_requests_sent += asked;
                self.pump(now, cx, InterfaceId(index));
            }
        }
        loop {
            let mut first = None;
            let network = self.network_mut();
            let told = |cx: &mut Context, frame| first = Some(cx.frames.duplicate(frame));
            if network.reassembly.expire(now, cx, told).is_none() {
                break;
            }
            if let Some(first) = first {
                self.complain(now, cx, icmp_error::Kind::ReassemblyExceeded, first);
                cx.frames.remove(first);
            }
        }
        self.rearm_network();
    }

    pub(super) fn rearm_network(&mut self) {
        let Some(network) = &self.network else { return };
        let cards = self.interfaces.iter().filter_map(|i| i.card.as_ref());
        let questions = cards.filter_map(|card| card.next_deadline());
        let next = questions.chain(network.reassembly.next_deadline()).min();
        self.deadlines.set(DEADLINE_NETWORK, next);
    }

    /// Frames that wait for addresses, for other fragments, or in sockets.
    pub(super) fn network_frames(&self) -> usize {
        let cards = self.interfaces.iter().filter_map(|i| i.card.as_ref());
        let on_cards: usize = cards.map(|card| card.held_frames()).sum();
        let of_network = |n: &Network| n.reassembly.held_frames() + n.sockets.held_frames();
        on_cards + self.network.as_deref().map_or(0, of_network)
    }
}
