//! A card on an Ethernet: headers around packets, and who is where (RFC 894, RFC 826).

use super::broadcast::{Form, Rule, Rules, Subnet};
use super::internet::Cast;
use super::neighbours::{Learn, Neighbours, Resolved};
use super::network::CardConfig;
use super::{DEADLINE_CONNECTIONS, Host, InterfaceId, Stage};
use crate::Context;
use crate::bond::FrameMeta;
use crate::frame::Frame;
use crate::time::Instant;
use crate::wire::ethernet::{self, EtherType};
use crate::wire::mac::MacAddress;
use crate::wire::{arp, ipv4};
use crate::work::DropReason;
use std::collections::VecDeque;
use std::net::Ipv4Addr;

/// For which addresses a card answers questions (RFC 826).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum ArpReplies {
    /// Its own.
    #[default]
    Own,
    /// Its own, and for that of everybody, of which it says that everybody has it: a fault.
    Everybody,
}

/// Frames with headers that wait for the bond: answers and what has been resolved. What a flood would pile up
/// beyond them is dropped.
const READY_FRAMES: usize = 256;

/// Where a packet goes next.
enum Next {
    Everybody,
    Station(Ipv4Addr),
    /// There is no way.
    Nobody,
}

pub(super) struct Card {
    config: CardConfig,
    rules: Rules,
    form: Form,
    neighbours: Neighbours,
    ready: VecDeque<Frame>,
}

impl Card {
    pub fn new(config: CardConfig, rules: Rules, form: Form) -> Card {
        let neighbours = Neighbours::new(config.asking);
        Card { config, rules, form, neighbours, ready: VecDeque::new() }
    }

    pub fn subnet(&self) -> Subnet {
        self.config.subnet
    }

    /// Whether the host takes an address for that of everybody here.
    pub fn is_everybody(&self, address: Ipv4Addr) -> bool {
        match self.config.subnet.form_of(address) {
            None => false,
            Some(form) => form == self.form || self.rules.has(Rule::BothForms),
        }
    }

    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub fn pop_ready(&mut self) -> Option<Frame> {
        self.ready.pop_front()
    }

    fn push_ready(&mut self, cx: &mut Context, frame: Frame) {
        match self.ready.len() < READY_FRAMES {
            true => self.ready.push_back(frame),
            false => cx.drop_frame(frame, DropReason::QueueFull),
        }
    }

    pub fn next_deadline(&self) -> Option<Instant> {
        self.neighbours.next_deadline()
    }

    pub fn held_frames(&self) -> usize {
        self.ready.len() + self.neighbours.held_frames()
    }

    /// Asks again. Answers how many questions were asked.
    pub fn handle_timeout(&mut self, now: Instant, cx: &mut Context) -> u64 {
        let Card { config, neighbours, ready, .. } = self;
        let mut asked = 0;
        neighbours.handle_timeout(now, cx, |cx, ip| {
            asked += 1;
            ready.push_back(question(cx, config, ip));
        });
        asked
    }

    /// Puts the header in front of a packet, if it is known. Else the packet waits, and a question may
    /// leave in its place. Answers what leaves. `gateway` tells the router towards what is not here.
    pub fn dress(
        &mut self,
        now: Instant,
        cx: &mut Context,
        frame: Frame,
        gateway: impl FnOnce(Ipv4Addr) -> Option<Ipv4Addr>,
    ) -> Dressed {
        let mac = match self.next(cx, frame, gateway) {
            Next::Everybody => MacAddress::BROADCAST,
            Next::Nobody => {
                cx.drop_frame(frame, DropReason::NotForUs);
                return Dressed::Nothing;
            }
            Next::Station(ip) => match self.neighbours.resolve(now, cx, ip, frame) {
                Resolved::Known(mac) => mac,
                Resolved::Wait => return Dressed::Nothing,
                Resolved::Ask => return Dressed::Question(question(cx, &self.config, ip)),
            },
        };
        put_header(cx, frame, (self.config.mac, mac), EtherType::IPV4);
        Dressed::Packet(frame)
    }

    fn next(
        &self,
        cx: &Context,
        frame: Frame,
        gateway: impl FnOnce(Ipv4Addr) -> Option<Ipv4Addr>,
    ) -> Next {
        let Ok(packet) = ipv4::Packet::new_checked(cx.frames.bytes(frame), cx.frames.elided(frame))
        else {
            return Next::Nobody;
        };
        let dst = packet.dst();
        if self.is_everybody(dst) {
            Next::Everybody
        } else if self.config.subnet.contains(dst) {
            Next::Station(dst)
        } else {
            gateway(dst).map_or(Next::Nobody, Next::Station)
        }
    }

    /// Takes the header off a frame, and tells whether it was for everybody. None when the frame is no
    /// packet for us.
    fn undress(&mut self, cx: &mut Context, frame: Frame) -> Result<(Cast, EtherType), DropReason> {
        let view = ethernet::View::new_checked(cx.frames.bytes(frame));
        let view = view.map_err(super::input::reason)?;
        let (dst, kind, header_len) = (view.dst(), view.ether_type(), view.header_len());
        // We are in no VLAN.
        if view.tag().is_some() {
            return Err(DropReason::Foreign);
        }
        let cast = if dst.is_broadcast() {
            Cast::Everybody
        } else if dst == self.config.mac {
            Cast::One
        } else {
            return Err(DropReason::NotForUs);
        };
        cx.frames.strip_front(frame, header_len);
        Ok((cast, kind))
    }

    /// A question or an answer has come in. Answers whether we answered.
    fn handle_arp(&mut self, now: Instant, cx: &mut Context, said: &arp::Repr) -> u64 {
        let own = self.config.subnet.address();
        let (mac, ip) = said.sender;
        let is_doubtful = mac.is_group() && self.rules.has(Rule::ArpDoubt);
        if is_doubtful || ip == own || mac == self.config.mac {
            return 0;
        }
        let target = said.target.1;
        let learn = if target == own { Learn::Insert } else { Learn::Update };
        for frame in self.neighbours.learn(now, cx, (mac, ip), learn) {
            put_header(cx, frame, (self.config.mac, mac), EtherType::IPV4);
            self.push_ready(cx, frame);
        }
        let is_everybody = self.config.subnet.form_of(target).is_some();
        let answer = match (said.operation, self.config.replies) {
            (arp::Operation::Reply, _) => return 0,
            (_, ArpReplies::Everybody) if is_everybody => MacAddress::BROADCAST,
            _ if target == own => self.config.mac,
            _ => return 0,
        };
        let (operation, sender) = (arp::Operation::Reply, (answer, target));
        let reply = arp::Repr { operation, sender, target: said.sender };
        let frame = arp_frame(cx, &reply, (self.config.mac, mac));
        self.push_ready(cx, frame);
        1
    }
}

/// What leaves when a packet is given to a card.
pub(super) enum Dressed {
    /// The packet with its header.
    Packet(Frame),
    /// Who has the address that the packet goes to?
    Question(Frame),
    /// Nothing now.
    Nothing,
}

fn put_header(
    cx: &mut Context,
    frame: Frame,
    (src, dst): (MacAddress, MacAddress),
    ether_type: EtherType,
) {
    let mut header = [0; ethernet::HEADER_LEN];
    ethernet::Repr { dst, src, tag: None, ether_type }.emit(&mut header);
    cx.frames.prepend(frame, &header);
}

fn arp_frame(cx: &mut Context, said: &arp::Repr, ends: (MacAddress, MacAddress)) -> Frame {
    let mut bytes = [0; arp::LEN];
    said.emit(&mut bytes);
    let frame = cx.frames.insert(&bytes, 0);
    put_header(cx, frame, ends, EtherType::ARP);
    frame
}

/// Who has this address?
fn question(cx: &mut Context, config: &CardConfig, ip: Ipv4Addr) -> Frame {
    let asked = arp::Repr {
        operation: arp::Operation::Request,
        sender: (config.mac, config.subnet.address()),
        target: (MacAddress::UNKNOWN, ip),
    };
    arp_frame(cx, &asked, (config.mac, MacAddress::BROADCAST))
}

impl Host {
    /// A frame has come in at a card: on with the packet in it. None when there is nothing more to do.
    pub(super) fn undress(
        &mut self,
        now: Instant,
        cx: &mut Context,
        id: InterfaceId,
        frame: Frame,
    ) -> Option<Cast> {
        let Some(card) = &mut self.interfaces[id.0].card else {
            return Some(Cast::One);
        };
        let read = card.undress(cx, frame);
        let network = self.network.as_mut()?;
        network.stats.broadcasts_received += u64::from(matches!(read, Ok((Cast::Everybody, _))));
        match read {
            Ok((cast, EtherType::IPV4)) => return Some(cast),
            Ok((_, EtherType::ARP)) => {
                let said = arp::Packet::new_checked(cx.frames.bytes(frame));
                match said.map(|packet| arp::Repr::parse(&packet)) {
                    Err(error) => cx.drop_frame(frame, super::input::reason(error)),
                    Ok(_) if cx.frames.is_corrupt(frame) => {
                        cx.drop_frame(frame, DropReason::Checksum);
                    }
                    Ok(said) => {
                        cx.frames.remove(frame);
                        network.stats.arp_replies_sent += card.handle_arp(now, cx, &said);
                    }
                }
            }
            Ok(_) => cx.drop_frame(frame, DropReason::NotForUs),
            Err(reason) => cx.drop_frame(frame, reason),
        }
        None
    }

    /// Gives a packet to the card of an interface; what leaves may be a question. None when nothing does.
    pub(super) fn dress(
        &mut self,
        now: Instant,
        cx: &mut Context,
        id: InterfaceId,
        frame: Frame,
    ) -> Option<Frame> {
        let Some(card) = &mut self.interfaces[id.0].card else {
            return Some(frame);
        };
        let network = self.network.as_mut()?;
        let routes = &network.routes;
        let gateway = |to| routes.find(to).filter(|r| r.interface == id)?.gateway;
        match card.dress(now, cx, frame, gateway) {
            Dressed::Packet(frame) => Some(frame),
            Dressed::Question(frame) => {
                network.stats.arp_requests_sent += 1;
                Some(frame)
            }
            Dressed::Nothing => None,
        }
    }
    /// What `fill_bond` is where packets get headers: what has them already first, then our own packets, then
    /// one of each connection in turn.
    #[inline(never)]
    pub(super) fn fill_card(&mut self, now: Instant, cx: &mut Context, id: InterfaceId) {
        while self.interfaces[id.0].bond.has_room() {
            let ready = self.interfaces[id.0].card.as_mut().and_then(|card| card.pop_ready());
            let (frame, flow) = match ready {
                Some(frame) => (Some(frame), 0),
                None => match self.next_packet(now, cx, id) {
                    Some((frame, flow)) => (self.dress(now, cx, id, frame), flow),
                    None => break,
                },
            };
            if let Some(frame) = frame {
                let meta = FrameMeta { len: cx.frames.len(frame) as u32, flow };
                self.interfaces[id.0].bond.send(now, cx, frame, meta);
            }
        }
        self.rearm_network();
    }

    /// The next packet of ours or of a connection for an interface, and its flow.
    fn next_packet(
        &mut self,
        now: Instant,
        cx: &mut Context,
        id: InterfaceId,
    ) -> Option<(Frame, u32)> {
        let interface = &mut self.interfaces[id.0];
        if let Some(frame) = interface.outbox.pop_front() {
            return Some((frame, 0));
        }
        while let Some(id) = interface.runnable.pop_front() {
            let Some(slot) = self.connections.get_mut(id.index()).and_then(Option::as_mut) else {
                continue;
            };
            let sent = slot.connection.poll_transmit(now, cx);
            slot.runnable = sent.is_some() && !slot.connection.is_idle();
            if slot.runnable {
                interface.runnable.push_back(id);
            }
            if sent.is_none() && slot.stage == Stage::Stillborn {
                self.stillborn.push(id);
            }
            let next = slot.connection.next_deadline();
            self.deadlines.set(DEADLINE_CONNECTIONS + id.0, next);
            if let Some(frame) = sent {
                return Some((frame, slot.flow));
            }
        }
        None
    }
}
