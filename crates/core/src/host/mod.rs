//! A host: bonds as its interfaces, TCP connections and listeners, ICMP echo.
//!
//! The host pulls: a connection is asked for its next packet only while the bond it leaves by has
//! room, so the only standing queue is the one the bond keeps.

mod broadcast;
mod card;
mod cookie;
mod demux;
mod echo;
mod forward;
mod fragment;
mod input;
mod internet;
mod label;
mod listen;
mod neighbours;
mod network;
mod reassembly;
mod routes;
mod rp_filter;
mod siphash;
mod sockets;
#[cfg(test)]
mod tests;
mod too_big;
mod udp;

use crate::Context;
use crate::bond::{Bond, FrameMeta};
use crate::deadlines::Deadlines;
use crate::frame::{Burst, Frame, LinkChange, LinkId};
use crate::rng::Rng;
use crate::tcp::{self, Connection};
use crate::time::{Instant, Reason};
use crate::work::DropReason;
use card::Card;
use cookie::Jar;
use demux::Demux;
use label::Labels;
use listen::Listener;
use network::Network;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub use broadcast::{Form, Rule, Rules, Subnet};
pub use card::ArpReplies;
pub use echo::Echo;
pub use listen::ListenStats;
pub use neighbours::Asking;
pub use network::{CardConfig, Forwarding, NetworkConfig, NetworkStats};
pub use routes::{ROUTES_MAX, ReversePath, Route, RouteError};
pub use sockets::ConnectError;
pub use udp::{BindError, Received, SendError};

/// A connection of one host. Given to another only after it was forgotten.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct ConnectionId(u32);

impl ConnectionId {
    /// Its number: they count from 0 on each host.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One of a host's bonds, in the order they were attached.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct InterfaceId(usize);

/// What the applications of a host should know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Something happened on a connection.
    Tcp(ConnectionId, tcp::Event),
    /// A connection to a listener is established; its own events follow.
    Accepted(ConnectionId),
    /// An answer to [`Host::send_echo`].
    EchoReply(Echo),
    /// One more datagram waits at this port for [`Host::receive_datagram`].
    Datagram(u16),
}

impl Event {
    /// Whose it is, if a connection's.
    pub fn connection(&self) -> Option<ConnectionId> {
        match self {
            Event::Tcp(id, _) | Event::Accepted(id) => Some(*id),
            Event::EchoReply(_) | Event::Datagram(_) => None,
        }
    }
}

/// The two ends of a point-to-point link.
#[derive(Clone, Copy)]
struct Ends<A> {
    local: A,
    peer: A,
}

struct Interface {
    bond: Bond,
    v4: Option<Ends<Ipv4Addr>>,
    v6: Option<Ends<Ipv6Addr>>,
    filter: rp_filter::Filter,
    /// What puts packets into Ethernet frames; without it the bond's frames are packets.
    card: Option<Box<Card>>,
    /// Packets of our own that are no connection's: echoes and resets.
    outbox: VecDeque<Frame>,
    /// Connections that may have something to send, in turn.
    runnable: VecDeque<ConnectionId>,
}

struct Slot {
    connection: Connection,
    interface: InterfaceId,
    flow: u32,
    runnable: bool,
    stage: Stage,
}

/// What the application knows of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Nothing: it was opened to a listener and its handshake goes on.
    HalfOpen,
    /// Nothing, and never will: the handshake came to nothing.
    Stillborn,
    /// That it is there.
    Open,
}

impl Interface {
    /// Our address of the version of `to`.
    fn local_for(&self, to: IpAddr) -> Option<IpAddr> {
        match to {
            IpAddr::V4(_) => self.v4.map(|ends| ends.local.into()),
            IpAddr::V6(_) => self.v6.map(|ends| ends.local.into()),
        }
    }

    fn leads_to(&self, peer: IpAddr) -> bool {
        match peer {
            IpAddr::V4(peer) => self.v4.is_some_and(|ends| ends.peer == peer),
            IpAddr::V6(peer) => self.v6.is_some_and(|ends| ends.peer == peer),
        }
    }
}

/// Packets of our own that may wait in front of a bond.
const OUTBOX_PACKETS: usize = 256;

/// Source of deadlines 0.. are the interfaces, then the network; the connections come after them.
const DEADLINE_NETWORK: u32 = 64;
const DEADLINE_CONNECTIONS: u32 = DEADLINE_NETWORK + 1;
/// The first port given to a connection of our own (RFC 6335, dynamic ports).
const EPHEMERAL_PORT_FIRST: u16 = 49_152;

/// One machine with an IPv4 address, an IPv6 address or both per bond.
pub struct Host {
    interfaces: Vec<Interface>,
    /// Which interface a link belongs to, by the link's number.
    links: Vec<Option<InterfaceId>>,
    /// By number; none where one was forgotten.
    connections: Vec<Option<Slot>>,
    /// Numbers of connections that are free again.
    forgotten: Vec<ConnectionId>,
    demux: Demux,
    listeners: Vec<Listener>,
    listen_stats: ListenStats,
    cookies: Jar,
    labels: Labels,
    /// Reaches every address that is no interface's peer.
    default_route: Option<InterfaceId>,
    /// What it takes to be one of many; none where everybody is known from the start.
    network: Option<Box<Network>>,
    events: VecDeque<Event>,
    /// Connections that nobody was told of and that are over.
    stillborn: Vec<ConnectionId>,
    deadlines: Deadlines,
    rng: Rng,
    next_port: u16,
    next_ident: u16,
}

impl Host {
    /// A host with no interfaces. `rng` gives initial sequence numbers and the keys of SYN cookies and
    /// flow labels.
    pub fn new(rng: Rng) -> Self {
        Host {
            interfaces: Vec::new(),
            links: Vec::new(),
            connections: Vec::new(),
            forgotten: Vec::new(),
            demux: Demux::default(),
            listeners: Vec::new(),
            listen_stats: ListenStats::default(),
            cookies: Jar::new(&rng),
            labels: Labels::new(&rng),
            default_route: None,
            network: None,
            events: VecDeque::new(),
            stillborn: Vec::new(),
            deadlines: Deadlines::new(),
            rng,
            next_port: EPHEMERAL_PORT_FIRST,
            next_ident: 1,
        }
    }

    /// Adds a bond as an interface between two addresses of one version of IP. Its links must be known
    /// beforehand, so that frames of a link that is not enslaved at the moment still find their way.
    ///
    /// # Panics
    /// When the addresses are of different versions.
    pub fn attach(
        &mut self,
        bond: Bond,
        address: impl Into<IpAddr>,
        peer: impl Into<IpAddr>,
        links: &[LinkId],
    ) -> InterfaceId {
        let id = InterfaceId(self.interfaces.len());
        assert!((id.0 as u32) < DEADLINE_NETWORK, "too many interfaces");
        for link in links {
            let index = usize::from(link.0);
            if index >= self.links.len() {
                self.links.resize(index + 1, None);
            }
            self.links[index] = Some(id);
        }
        self.interfaces.push(Interface {
            bond,
            v4: None,
            v6: None,
            filter: rp_filter::Filter::default(),
            card: None,
            outbox: VecDeque::new(),
            runnable: VecDeque::new(),
        });
        self.set_addresses(id, address, peer);
        self.rearm_interface(id);
        id
    }

    /// Gives an interface its address of one version of IP, and tells the peer's. The other version stays
    /// as it is.
    ///
    /// # Panics
    /// When the addresses are of different versions.
    pub fn set_addresses(
        &mut self,
        id: InterfaceId,
        address: impl Into<IpAddr>,
        peer: impl Into<IpAddr>,
    ) {
        let interface = &mut self.interfaces[id.0];
        match (address.into(), peer.into()) {
            (IpAddr::V4(local), IpAddr::V4(peer)) => interface.v4 = Some(Ends { local, peer }),
            (IpAddr::V6(local), IpAddr::V6(peer)) => interface.v6 = Some(Ends { local, peer }),
            (local, peer) => panic!("{local} and {peer} are of different versions of IP"),
        }
    }

    /// The bond behind an interface.
    pub fn bond(&self, id: InterfaceId) -> &Bond {
        &self.interfaces[id.0].bond
    }

    /// Changes a bond (enslave, emancipate, set) and lets what follows from it happen.
    pub fn with_bond<R>(
        &mut self,
        now: Instant,
        cx: &mut Context,
        id: InterfaceId,
        change: impl FnOnce(&mut Bond, &mut Context) -> R,
    ) -> R {
        let result = change(&mut self.interfaces[id.0].bond, cx);
        self.run(now, cx, id);
        result
    }

    /// Whether an address is one of the host's own.
    pub fn has_address(&self, address: IpAddr) -> bool {
        self.interfaces.iter().any(|interface| interface.local_for(address) == Some(address))
    }

    /// The interface a link belongs to.
    pub fn interface_of(&self, link: LinkId) -> Option<InterfaceId> {
        self.links.get(usize::from(link.0)).copied().flatten()
    }

    /// Sends what is for no interface's peer over this one, whose peer forwards it.
    pub fn set_default_route(&mut self, id: InterfaceId) {
        self.default_route = Some(id);
    }

    /// The interface that reaches an address.
    pub fn route(&self, to: impl Into<IpAddr>) -> Option<InterfaceId> {
        let to = to.into();
        let direct = self.interfaces.iter().position(|i| i.leads_to(to)).map(InterfaceId);
        let speaks = |id: &InterfaceId| self.interfaces[id.0].local_for(to).is_some();
        let routed = || match (to, &self.network) {
            (IpAddr::V4(to), Some(network)) => network.routes.find(to).map(|r| r.interface),
            _ => None,
        };
        direct.or_else(routed).or(self.default_route.filter(speaks))
    }

    /// A frame arrived from a link.
    #[inline]
    pub fn handle_frame(&mut self, now: Instant, cx: &mut Context, link: LinkId, frame: Frame) {
        cx.work.frames_received += 1;
        let Some(id) = self.interface_of(link) else {
            return cx.drop_frame(frame, DropReason::NotForUs);
        };
        if self.interfaces[id.0].filter.mode != ReversePath::Off && self.network.is_none() {
            return self.handle_asked(now, cx, (id, link), frame);
        }
        self.interfaces[id.0].bond.handle_frame(now, cx, link, frame);
        self.run(now, cx, id);
    }

    /// A link's wire has taken `bytes` of what `poll_transmit` handed out.
    #[inline]
    pub fn handle_transmitted(&mut self, now: Instant, cx: &mut Context, link: LinkId, bytes: u64) {
        if let Some(id) = self.interface_of(link) {
            self.interfaces[id.0].bond.handle_transmitted(now, cx, link, bytes);
            self.pump(now, cx, id);
        }
    }

    /// A link came up or went down.
    pub fn handle_link(
        &mut self,
        now: Instant,
        cx: &mut Context,
        link: LinkId,
        change: LinkChange,
    ) {
        if let Some(id) = self.interface_of(link) {
            self.interfaces[id.0].bond.handle_link(now, cx, link, change);
            self.run(now, cx, id);
        }
    }

    /// Lets everything happen whose deadline has passed.
    pub fn handle_timeout(&mut self, now: Instant, cx: &mut Context) {
        while let Some((_, source)) = self.deadlines.pop(now) {
            if source < DEADLINE_CONNECTIONS {
                if source == DEADLINE_NETWORK {
                    self.network_due(now, cx);
                    continue;
                }
                let id = InterfaceId(source as usize);
                self.interfaces[id.0].bond.handle_timeout(now, cx);
                self.run(now, cx, id);
                continue;
            }
            let id = ConnectionId(source - DEADLINE_CONNECTIONS);
            if let Some(slot) = self.slot_mut(id) {
                slot.connection.handle_timeout(now, cx);
                self.serve(now, cx, id);
            }
        }
    }

    /// What may be sent on a link now.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        cx: &mut Context,
        link: LinkId,
        burst: &mut Burst,
    ) {
        let Some(id) = self.interface_of(link) else {
            return;
        };
        self.interfaces[id.0].bond.poll_transmit(now, cx, link, burst);
        if !burst.is_empty() {
            self.pump(now, cx, id);
        }
    }

    /// When to call [`Host::handle_timeout`] at the latest: at the next deadline, or at one that has been
    /// moved since, when nothing is due. Costs less than [`Host::next_deadline`].
    #[inline]
    pub fn wake_at(&mut self) -> Option<Instant> {
        self.deadlines.bound()
    }

    /// The next deadline, without its reason.
    #[inline]
    pub fn next_deadline(&mut self) -> Option<Instant> {
        self.deadlines.earliest().map(|(at, _)| at)
    }

    /// The next deadline and why it was set.
    pub fn poll_timeout(&mut self) -> Option<(Instant, Reason)> {
        let (at, source) = self.deadlines.earliest()?;
        let owner = match source.checked_sub(DEADLINE_CONNECTIONS) {
            None if source == DEADLINE_NETWORK => Some((at, Reason::Network)),
            None => self.interfaces[source as usize].bond.poll_timeout(),
            Some(id) => self.slot(ConnectionId(id)).and_then(|slot| slot.connection.poll_timeout()),
        };
        Some((at, owner.map_or(Reason::App, |(_, reason)| reason)))
    }

    /// What the applications should know next.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        self.note_told(&event);
        Some(event)
    }

    /// A connection changed: pass its events on and let it send when its interface is pumped.
    fn touched(&mut self, id: ConnectionId) -> Option<InterfaceId> {
        let slot = self.connections.get_mut(id.0 as usize)?.as_mut()?;
        while let Some(event) = slot.connection.poll_event() {
            if slot.stage == Stage::HalfOpen {
                let is_open = event == tcp::Event::Connected;
                slot.stage = if is_open { Stage::Open } else { Stage::Stillborn };
                let port = slot.connection.tuple().local.port();
                Host::leave_half_open(&mut self.listeners, port, slot.stage);
                if is_open {
                    self.events.push_back(Event::Accepted(id));
                }
            }
            if slot.stage == Stage::Stillborn {
                continue;
            }
            self.events.push_back(Event::Tcp(id, event));
        }
        if !slot.runnable && !slot.connection.is_idle() {
            slot.runnable = true;
            self.interfaces[slot.interface.0].runnable.push_back(id);
        }
        Some(slot.interface)
    }

    /// A connection changed by itself or by its application: let what follows happen.
    fn serve(&mut self, now: Instant, cx: &mut Context, id: ConnectionId) {
        if let Some(interface) = self.touched(id) {
            self.pump(now, cx, interface);
            self.rearm_connection(id);
        }
    }

    /// An interface changed: take in what it received, give it what it has room for.
    #[inline]
    fn run(&mut self, now: Instant, cx: &mut Context, id: InterfaceId) {
        while let Some(event) = self.interfaces[id.0].bond.poll_event() {
            match event {
                crate::bond::Event::Received(frame) if self.network.is_some() => {
                    self.receive(now, cx, id, frame);
                }
                crate::bond::Event::Received(frame) => self.input(now, cx, id, frame),
            }
        }
        self.pump(now, cx, id);
    }

    /// Moves packets into the bond while it has room.
    #[inline(always)]
    fn pump(&mut self, now: Instant, cx: &mut Context, id: InterfaceId) {
        let interface = &self.interfaces[id.0];
        let has_work = !interface.runnable.is_empty()
            || !interface.outbox.is_empty()
            || interface.card.as_ref().is_some_and(|card| card.has_ready());
        if has_work && interface.bond.has_room() {
            self.fill(now, cx, id);
        }
        self.rearm_interface(id);
    }

    #[inline(never)]
    fn fill(&mut self, now: Instant, cx: &mut Context, id: InterfaceId) {
        match self.interfaces[id.0].card {
            None => self.fill_bond(now, cx, id),
            Some(_) => self.fill_card(now, cx, id),
        }
        while let Some(id) = self.stillborn.pop() {
            self.forget(cx, id);
        }
    }

    /// Our own packets first, then one of each connection in turn.
    #[inline]
    fn fill_bond(&mut self, now: Instant, cx: &mut Context, id: InterfaceId) {
        let interface = &mut self.interfaces[id.0];
        while interface.bond.has_room() {
            if let Some(frame) = interface.outbox.pop_front() {
                let meta = FrameMeta { len: cx.frames.len(frame) as u32, flow: 0 };
                interface.bond.send(now, cx, frame, meta);
                continue;
            }
            let Some(id) = interface.runnable.pop_front() else {
                break;
            };
            let slot = self.connections.get_mut(id.0 as usize);
            let Some(slot) = slot.and_then(Option::as_mut) else {
                continue;
            };
            match slot.connection.poll_transmit(now, cx) {
                Some(frame) => {
                    let meta = FrameMeta { len: cx.frames.len(frame) as u32, flow: slot.flow };
                    interface.bond.send(now, cx, frame, meta);
                    slot.runnable = !slot.connection.is_idle();
                    if slot.runnable {
                        interface.runnable.push_back(id);
                    }
                }
                None if slot.stage == Stage::Stillborn => {
                    self.stillborn.push(id);
                    slot.runnable = false;
                }
                None => slot.runnable = false,
            }
            self.deadlines.set(DEADLINE_CONNECTIONS + id.0, slot.connection.next_deadline());
        }
    }

    /// Queues a packet of our own; what a flood would pile up is dropped.
    fn post(&mut self, cx: &mut Context, id: InterfaceId, frame: Frame) {
        let outbox = &mut self.interfaces[id.0].outbox;
        match outbox.len() < OUTBOX_PACKETS {
            true => outbox.push_back(frame),
            false => cx.drop_frame(frame, DropReason::QueueFull),
        }
    }

    fn slot(&self, id: ConnectionId) -> Option<&Slot> {
        self.connections.get(id.0 as usize)?.as_ref()
    }

    fn slot_mut(&mut self, id: ConnectionId) -> Option<&mut Slot> {
        self.connections.get_mut(id.0 as usize)?.as_mut()
    }

    #[inline(always)]
    fn rearm_connection(&mut self, id: ConnectionId) {
        let deadline = self.slot(id).and_then(|slot| slot.connection.next_deadline());
        self.deadlines.set(DEADLINE_CONNECTIONS + id.0, deadline);
    }

    #[inline]
    fn rearm_interface(&mut self, id: InterfaceId) {
        let deadline = self.interfaces[id.0].bond.next_deadline();
        self.deadlines.set(id.0 as u32, deadline);
    }

    /// Frames this host holds: those no link has taken, and segments that arrived before their turn.
    pub fn held_frames(&self) -> usize {
        let held = |i: &Interface| i.outbox.len() + i.bond.held_frames();
        let early = self.connections.iter().flatten().map(|slot| slot.connection.held_frames());
        let on_interfaces = self.interfaces.iter().map(held).sum::<usize>();
        on_interfaces + early.sum::<usize>() + self.network_frames()
    }

    /// Asserts what must always hold, in every layer below too.
    pub fn check_invariants(&self) {
        for interface in &self.interfaces {
            interface.bond.check_invariants();
        }
        for slot in self.connections.iter().flatten() {
            slot.connection.check_invariants();
        }
    }
}
