//! One end of one bond on its machine: packets from the TUN go into the bond, what the bond hands out
//! leaves over the sockets, and back. The protocol is the core's; here are only the descriptors.
//!
//! Each turn takes at most one burst per path and pass, as long as a whole pass has something: emptying
//! one path before the next would reorder what they carry.

use crate::error::Error;
use crate::netlink::LinkNews;
use crate::path::Path;
use crate::setup::{BondSetup, LinkSetup, Role};
use crate::sockets::Sockets;
use crate::sys::tun::Tun;
use crate::sys::udp::{Datagram, Inbox};
use std::io::{self, IoSlice};
use trunkline_core::Context;
use trunkline_core::bond::{Bond, BondConfig, Event, FrameMeta, MemberConfig};
use trunkline_core::frame::{Burst, LinkChange, LinkId};
use trunkline_core::offload::{HEAD_BYTES_MAX, Joiner, PACKETS_MAX, Split};
use trunkline_core::time::Instant;
use trunkline_core::wire::ip::{Decapsulated, decapsulate, flow_hash};
use trunkline_core::wire::ipv4::Ecn;
use trunkline_core::wire::trunk::{HEADER_LEN, Repr, is_data};
use trunkline_core::wire::vnet;

/// Packets taken from the TUN in one turn, so that no side waits for the other.
const PACKETS_PER_TURN: u64 = 64;
/// Receive calls per socket in one turn.
const RECEIVES_PER_TURN: usize = 4;
/// The longest packet a TUN can hand out.
const PACKET_BYTES_MAX: usize = 65_536;

/// What came to this end and was not used, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DriverStats {
    /// Packets programs sent.
    pub tun_rx: u64,
    /// Packets handed to programs.
    pub tun_tx: u64,
    /// Packets the kernel did not take for one.
    pub tun_errors: u64,
    /// What the kernel handed out and did not describe as it is.
    pub tun_malformed: u64,
    /// Datagrams from nobody the plan names.
    pub foreign: u64,
    /// Datagrams that came in pieces only, or with nothing in them.
    pub truncated: u64,
    /// Datagrams with congestion marked around a packet that cannot say so (RFC 6040, 4.2).
    pub ce_unheard: u64,
}

/// A bond, its device and its sockets.
pub struct Driver {
    /// What it was set up as.
    pub setup: BondSetup,
    /// The bond itself.
    pub bond: Bond,
    /// Its frames, counters and records.
    pub cx: Context,
    /// Counters.
    pub stats: DriverStats,
    pub(crate) paths: Vec<Path>,
    pub(crate) sockets: Sockets,
    tun: Tun,
    /// Away while it is read.
    inbox: Option<Box<Inbox>>,
    burst: Burst,
    /// What was read from the TUN last, behind its header, and how far it has been cut.
    packet: Box<[u8]>,
    split: Option<Split>,
    joiner: Joiner,
}

/// Which of a driver's descriptors is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The TUN.
    Tun,
    /// The socket at this position.
    Socket(usize),
}

impl Driver {
    /// A driver for a device that is ready; its links are enslaved as the setup says.
    ///
    /// # Errors
    /// A socket cannot be opened or the bond refuses a link: nothing is left open then.
    pub fn new(now: Instant, setup: BondSetup, tun: Tun) -> Result<Driver, Error> {
        let mut driver = Driver {
            bond: Bond::new(now, setup.bond),
            cx: Context::new(),
            stats: DriverStats::default(),
            paths: Vec::new(),
            sockets: Sockets::default(),
            tun,
            inbox: Some(Box::new(Inbox::new())),
            burst: Burst::new(),
            packet: vec![0; vnet::HEADER_LEN + PACKET_BYTES_MAX].into(),
            split: None,
            joiner: Joiner::new(),
            setup,
        };
        let members = driver.setup.links.iter().filter(|link| link.role == Role::Member);
        for link in members.cloned().collect::<Vec<_>>() {
            driver.enslave(now, link)?;
        }
        Ok(driver)
    }

    /// Opens a link's socket and takes it into the bond.
    ///
    /// # Errors
    /// It is a member already, its socket cannot be opened, or the bond refuses it.
    pub fn enslave(&mut self, now: Instant, link: LinkSetup) -> Result<(), Error> {
        if self.path(link.member.link).is_some() {
            return Err(Error::Refused(format!("{} is a member already", link.name)));
        }
        let path = self.open_path(link)?;
        self.join(now, path)
    }

    /// Opens a link's socket; [`Driver::join`] or [`Driver::close_path`] comes next.
    pub(crate) fn open_path(&mut self, link: LinkSetup) -> Result<Path, Error> {
        let socket = self.sockets.open(&self.setup, &link)?;
        Ok(Path::new(link, socket))
    }

    /// Closes the socket of a path that has not joined.
    pub(crate) fn close_path(&mut self, path: Path) {
        self.sockets.release(path.socket);
    }

    /// Takes an open path into the bond.
    pub(crate) fn join(&mut self, now: Instant, path: Path) -> Result<(), Error> {
        let socket = path.socket;
        let (id, member) = (path.setup.member.link, path.setup.member);
        if let Err(refused) = self.bond.enslave(now, &mut self.cx, member) {
            self.sockets.release(socket);
            return Err(Error::Refused(format!("{}: {refused}", path.setup.name)));
        }
        let usable = path.is_usable();
        self.paths.push(path);
        if !usable {
            self.bond.handle_link(now, &mut self.cx, id, LinkChange::Down);
        }
        Ok(())
    }

    /// Lets a member go and closes its socket; what waited for it leaves over the others.
    ///
    /// # Errors
    /// The link is no member.
    pub fn emancipate(&mut self, now: Instant, link: LinkId) -> Result<(), Error> {
        let index = self.path_index(link);
        let index = index.ok_or_else(|| Error::Refused("the link is not a member".into()))?;
        let path = self.paths.remove(index);
        // A member the bond has buried is gone from it already; its path goes all the same.
        let _buried = self.bond.emancipate(now, &mut self.cx, link);
        self.sockets.release(path.socket);
        Ok(())
    }

    /// Tells the bond and the pacer what a member's line does now.
    ///
    /// # Errors
    /// The link is no member, or the bond refuses the values.
    pub fn reconfigure(&mut self, now: Instant, member: MemberConfig) -> Result<(), Error> {
        let index = self.path_index(member.link);
        let index = index.ok_or_else(|| Error::Refused("the link is not a member".into()))?;
        self.bond
            .enslave(now, &mut self.cx, member)
            .map_err(|refused| Error::Refused(refused.to_string()))?;
        let path = &mut self.paths[index];
        path.setup.member = member;
        path.pacer.set_rate(now, member.rate, member.framing);
        Ok(())
    }

    /// The path of a link.
    pub fn path(&self, link: LinkId) -> Option<&Path> {
        self.paths.iter().find(|path| path.setup.member.link == link)
    }

    fn path_index(&self, link: LinkId) -> Option<usize> {
        self.paths.iter().position(|path| path.setup.member.link == link)
    }

    /// The paths, in the order they were enslaved.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// The TUN, to wait for.
    pub fn tun(&self) -> &Tun {
        &self.tun
    }

    /// Whether the bond would take a packet from the TUN now.
    pub fn wants_packets(&self) -> bool {
        self.split.is_none() && self.bond.has_room()
    }

    /// When something is due though nothing arrives.
    pub fn deadline(&self) -> Option<Instant> {
        let pacers = self.paths.iter().filter_map(|path| path.pacer.deadline());
        pacers.chain(self.bond.next_deadline()).min()
    }

    /// Reads what is ready.
    ///
    /// # Errors
    /// The TUN or a socket is broken: the bond cannot go on.
    pub fn handle_ready(&mut self, now: Instant, source: Source) -> io::Result<()> {
        match source {
            Source::Tun => self.read_tun(now),
            Source::Socket(index) => self.read_socket(now, index),
        }
    }

    /// Does what is due, sends what may be sent, delivers what has arrived.
    pub fn turn(&mut self, now: Instant) {
        for path in &mut self.paths {
            if let Some(bytes) = path.pacer.finish(now) {
                let link = path.setup.member.link;
                self.bond.handle_transmitted(now, &mut self.cx, link, bytes);
            }
        }
        if self.bond.next_deadline().is_some_and(|at| at <= now) {
            self.bond.handle_timeout(now, &mut self.cx);
        }
        self.deliver();
        self.feed(now);
        while self.send_pass(now) {}
    }

    /// One burst for each path that has something and may send it; whether there was any.
    fn send_pass(&mut self, now: Instant) -> bool {
        let mut any = false;
        let packet_at = self.packet_at();
        for path in &mut self.paths {
            if !path.pacer.is_idle() || !path.is_usable() {
                continue;
            }
            self.bond.poll_transmit(now, &mut self.cx, path.setup.member.link, &mut self.burst);
            if self.burst.is_empty() {
                continue;
            }
            any = true;
            if let Some(socket) = self.sockets.at(path.socket) {
                path.send(socket, &self.cx.frames, &self.burst, packet_at);
            }
            let frames = &self.cx.frames;
            path.pacer.start(now, self.burst.frames.iter().map(|frame| frames.len(*frame)));
            for frame in self.burst.frames.drain(..) {
                self.cx.frames.remove(frame);
            }
            self.burst.clear();
        }
        any
    }

    /// Where in a datagram the packet begins.
    fn packet_at(&self) -> usize {
        if self.setup.bond.trunk.is_some() { HEADER_LEN } else { 0 }
    }

    /// Hands what has arrived to the programs.
    fn deliver(&mut self) {
        while let Some(event) = self.bond.poll_event() {
            match event {
                Event::Received(frame) => self.joiner.push(&self.cx.frames, frame),
            }
            if self.joiner.is_full() {
                self.write_runs();
            }
        }
        self.write_runs();
    }

    fn write_runs(&mut self) {
        for run in self.joiner.runs() {
            let mut head = [0; HEAD_BYTES_MAX];
            let head_len = run.emit_head(&self.cx.frames, &mut head);
            let mut parts = [IoSlice::new(&[]); 1 + PACKETS_MAX];
            parts[0] = IoSlice::new(&head[..head_len]);
            for (part, body) in parts[1..].iter_mut().zip(run.bodies(&self.cx.frames)) {
                *part = IoSlice::new(body);
            }
            let packets = run.frames().len();
            match self.tun.write_parts(&parts[..1 + packets]) {
                Ok(()) => self.stats.tun_tx += packets as u64,
                Err(_) => self.stats.tun_errors += packets as u64,
            }
            for frame in run.frames() {
                self.cx.frames.remove(*frame);
            }
        }
        self.joiner.clear();
    }

    fn read_tun(&mut self, now: Instant) -> io::Result<()> {
        let end = self.stats.tun_rx + PACKETS_PER_TURN;
        while self.wants_packets() && self.stats.tun_rx < end {
            let Some(len) = self.tun.read(&mut self.packet)? else {
                break;
            };
            let Some((told, packet)) = self.packet[..len].split_first_chunk_mut() else {
                continue;
            };
            match vnet::Repr::parse(told).and_then(|told| Split::new(packet, &told)) {
                Ok(split) => self.split = Some(split),
                Err(_) => self.stats.tun_malformed += 1,
            }
            self.feed(now);
        }
        Ok(())
    }

    /// Gives the bond what it has room for of the packet that is being cut.
    fn feed(&mut self, now: Instant) {
        let Some(split) = &mut self.split else {
            return;
        };
        let packet = &self.packet[vnet::HEADER_LEN..];
        // All pieces are of one flow.
        let flow = flow_hash(packet);
        while self.bond.has_room() {
            let Some((headers, payload)) = split.next(packet) else {
                break;
            };
            self.stats.tun_rx += 1;
            let meta = FrameMeta { len: (headers.len() + payload.len()) as u32, flow };
            let frame = self.cx.frames.insert_parts(headers, payload, 0);
            self.bond.send(now, &mut self.cx, frame, meta);
        }
        if split.is_done() {
            self.split = None;
        }
    }

    fn read_socket(&mut self, now: Instant, index: usize) -> io::Result<()> {
        let Some(mut inbox) = self.inbox.take() else {
            return Ok(());
        };
        let mut result = Ok(());
        for _ in 0..RECEIVES_PER_TURN {
            let Some(socket) = self.sockets.at(index) else {
                break;
            };
            let received = socket.receive(&mut inbox);
            for datagram in inbox.datagrams() {
                self.hear(now, index, datagram);
            }
            // While they are in the cache.
            self.deliver();
            match received {
                Ok(messages) if messages == inbox.room() => {}
                other => {
                    result = other.map(drop);
                    break;
                }
            }
        }
        self.inbox = Some(inbox);
        result
    }

    fn hear(&mut self, now: Instant, socket: usize, datagram: Datagram<'_>) {
        let packet_at = self.packet_at();
        let is_from = |path: &Path| path.socket == socket && path.setup.remote.is(datagram.from);
        let Some(path) = self.paths.iter_mut().find(|path| is_from(path)) else {
            self.stats.foreign += 1;
            return;
        };
        if datagram.is_truncated || datagram.payload.is_empty() {
            self.stats.truncated += 1;
            return;
        }
        let link = path.setup.member.link;
        // What is not the peer's says nothing of where the peer is.
        if is_of_bond(&self.setup.bond, &datagram) {
            if !path.is_usable() && path.has_carrier() {
                self.bond.handle_link(now, &mut self.cx, link, LinkChange::Up);
            }
            path.hear(datagram.from, datagram.to);
        }
        let outer = Ecn::from_bits(datagram.ecn);
        for payload in datagram.payload.chunks(datagram.segment_bytes) {
            path.stats.rx_datagrams += 1;
            let frame = self.cx.frames.insert(payload, 0);
            path.stats.rx_ce += u64::from(outer == Ecn::Ce);
            // A trunk's own datagrams carry no packet.
            if outer != Ecn::NotEct && (packet_at == 0 || is_data(payload)) {
                let packet = self.cx.frames.bytes_mut(frame).get_mut(packet_at..);
                if decapsulate(packet.unwrap_or_default(), outer) == Decapsulated::Unheard {
                    self.stats.ce_unheard += 1;
                    self.cx.frames.remove(frame);
                    continue;
                }
            }
            self.bond.handle_frame(now, &mut self.cx, link, frame);
        }
    }

    /// A device some paths use has changed: their members go down or come back.
    pub fn handle_carrier(&mut self, now: Instant, news: &LinkNews) {
        let (device, is_running) = (news.name.as_str(), news.is_running);
        if is_running {
            self.sockets.rebind(device, news.index);
        }
        let on_device = |path: &&Path| path.setup.device.as_deref() == Some(device);
        let links: Vec<LinkId> =
            self.paths.iter().filter(on_device).map(|path| path.setup.member.link).collect();
        let change = if is_running { LinkChange::Up } else { LinkChange::Down };
        for link in links {
            self.handle_link(now, link, change);
        }
    }

    /// The carrier of a path has gone or is back. Where the bond has buried the member, it is taken in
    /// again; a bond that is full by now goes on without it.
    pub fn handle_link(&mut self, now: Instant, link: LinkId, carrier: LinkChange) {
        let Some(index) = self.path_index(link) else {
            return;
        };
        let path = &mut self.paths[index];
        let was_usable = path.is_usable();
        path.set_carrier(carrier);
        let change = match (was_usable, path.is_usable()) {
            (true, false) => LinkChange::Down,
            (false, true) => LinkChange::Up,
            _ => return,
        };
        path.pacer.reset();
        let member = path.setup.member;
        self.bond.handle_link(now, &mut self.cx, link, change);
        if change == LinkChange::Up && self.bond.member(link).is_none() {
            let _full = self.bond.enslave(now, &mut self.cx, member);
        }
    }
}

/// Whether what came is from the bond's peer, as far as a header tells; without a trunk there is none.
fn is_of_bond(bond: &BondConfig, datagram: &Datagram<'_>) -> bool {
    let first = &datagram.payload[..datagram.segment_bytes.min(datagram.payload.len())];
    let is_for = |index| Repr::parse(first).is_ok_and(|repr| repr.receiver == index);
    bond.trunk.is_none_or(|trunk| is_for(trunk.local_index))
}
