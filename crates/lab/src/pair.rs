//! Two bonds and the links between them, without anything above: packets are given to them from outside,
//! and what the first is given and hands out is recorded. So another driver of the same bond can be
//! fed the same and be compared.

pub use crate::tap::Passed;

use crate::tap::Tap;
use crate::world::{Lane, Link, Links, World};
use std::net::Ipv4Addr;
use trunkline_core::Context;
use trunkline_core::bond::{Bond, BondConfig, FrameMeta, MemberConfig};
use trunkline_core::frame::{LinkChange, LinkId};
use trunkline_core::host::{Host, InterfaceId};
use trunkline_core::link::channel::{Channel, ChannelConfig, Clocking};
use trunkline_core::link::{Pacer, WireConfig};
use trunkline_core::rng::Rng;
use trunkline_core::time::Instant;
use trunkline_core::trace::Direction;
use trunkline_core::wire::ip::flow_hash;

/// The addresses of the two ends: packets to others are nobody's and end where they arrive.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];

/// One end of a [`Pair`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The one that is recorded.
    Near,
    /// Its peer.
    Far,
}

/// Whether a bond took a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offered {
    /// It had room.
    Taken,
    /// It had none.
    Refused,
}

/// Two bonds in virtual time.
pub struct Pair {
    world: World,
    interfaces: [InterfaceId; 2],
}

impl Pair {
    /// Two bonds, the near one first, whose members are tunnels over wires of this kind, paced at the
    /// members' rates. Links are numbered from 0 in the order of the members.
    ///
    /// # Panics
    /// When a bond refuses a member.
    pub fn new(
        bonds: [BondConfig; 2],
        members: &[MemberConfig],
        wire: WireConfig,
        seed: u64,
    ) -> Pair {
        let rng = Rng::new(seed);
        let links: Vec<LinkId> = members.iter().map(|member| member.link).collect();
        let mut hosts = ["near", "far"].map(|name| Host::new(rng.fork(name)));
        let interfaces = [0, 1].map(|end| {
            let bond = Bond::new(Instant::ZERO, bonds[end]);
            hosts[end].attach(bond, ADDRESSES[end], ADDRESSES[1 - end], &links)
        });
        let link = |(index, member): (usize, &MemberConfig)| {
            let lanes = [0, 1].map(|lane| {
                let channel = channel(index, lane, member, wire, &rng);
                let pacer = Some(Pacer::new(member.rate, member.framing));
                Lane::new(channel, pacer, lane, 1 - lane, interfaces[lane], *member)
            });
            Link { lanes, medium: None, up: true, dark: false, skip: 0 }
        };
        let links = members.iter().enumerate().map(|member| Some(link(member)));
        let links = Links::new(links.collect());
        let mut world = World::new(hosts.into(), links, Vec::new(), Context::new());
        world.tap = Some(Tap::new(End::Near as usize));
        (0..members.len()).for_each(|link| world.enslave(link));
        world.start();
        let is_full = |host: &Host, id| host.bond(id).members().len() == members.len();
        let full = world.hosts.iter().zip(interfaces).all(|(host, id)| is_full(host, id));
        assert!(full, "a bond refused a member");
        Pair { world, interfaces }
    }

    /// Lets everything happen until a time, that time included.
    pub fn run_until(&mut self, at: Instant) {
        while self.world.step(at) {}
        self.world.check_invariants();
    }

    /// Offers packets to an end's bond, each as long as it has room, and lets it send.
    pub fn send<'p>(
        &mut self,
        end: End,
        packets: impl IntoIterator<Item = &'p [u8]>,
    ) -> Vec<Offered> {
        let host = end as usize;
        let world = &mut self.world;
        let offer = |packet: &[u8]| {
            let (now, meta) = (world.now, meta(packet));
            let id = self.interfaces[host];
            world.hosts[host].with_bond(now, &mut world.cx, id, |bond, cx| {
                if !bond.has_room() {
                    return Offered::Refused;
                }
                let frame = cx.frames.insert(packet, 0);
                bond.send(now, cx, frame, meta);
                Offered::Taken
            })
        };
        let offered = packets.into_iter().map(offer).collect();
        world.serve(host);
        offered
    }

    /// Cuts a link, or brings it back: both ends see it.
    pub fn set_link(&mut self, link: LinkId, change: LinkChange) {
        let link = usize::from(link.0);
        match (change, self.world.links[link].up) {
            (LinkChange::Down, true) => self.world.cut(link),
            (LinkChange::Up, false) => self.world.restore(link),
            _ => {}
        }
    }

    /// The near end's bond.
    pub fn bond(&self) -> &Bond {
        self.world.hosts[0].bond(self.interfaces[0])
    }

    /// What the near end has been given by its links so far.
    pub fn arrived(&self) -> &[Passed] {
        self.world.tap.as_ref().map_or(&[], |tap| &tap.arrived)
    }

    /// What the near end has handed out so far.
    pub fn handed_out(&self) -> &[Passed] {
        self.world.tap.as_ref().map_or(&[], |tap| &tap.handed_out)
    }
}

fn meta(packet: &[u8]) -> FrameMeta {
    FrameMeta { len: packet.len() as u32, flow: flow_hash(packet) }
}

fn channel(
    index: usize,
    lane: usize,
    member: &MemberConfig,
    wire: WireConfig,
    rng: &Rng,
) -> Channel {
    let config = ChannelConfig {
        link: LinkId(index as u16),
        direction: [Direction::Up, Direction::Down][lane],
        rate: member.rate,
        framing: member.framing,
        clocking: Clocking::Own,
        wire,
        queue: None,
    };
    Channel::new(config, rng.fork(["up", "down"][lane]).fork(&index.to_string()))
}
