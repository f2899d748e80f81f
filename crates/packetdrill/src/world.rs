//! One host of the core in virtual time, with descriptors of sockets on it and the packets that have left it.
//!
//! Its line takes everything at once, so a packet leaves at the very time the connection sends it.

use crate::settings::Settings;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_int;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use trunkline_core::Context;
use trunkline_core::bond::{Bond, BondConfig, MemberConfig, Mode, Ways};
use trunkline_core::frame::{Burst, LinkId};
use trunkline_core::host::{ConnectionId, Event, Host};
use trunkline_core::link::Framing;
use trunkline_core::queue::Limit;
use trunkline_core::rng::Rng;
use trunkline_core::tcp::{self, Config, Data};
use trunkline_core::time::{Duration, Instant};
use trunkline_core::units::BitRate;

/// The first descriptor of ours: no process has that many of the kernel's.
pub const FD_FIRST: c_int = 0x4000_0000;
const LINK: LinkId = LinkId(0);
/// What the scheduler is told of a line that has no rate.
const RATE: BitRate = BitRate::from_bps(100_000_000_000);
const QUEUE_PACKETS: u32 = 1024;
/// Packets nobody has fetched; those beyond are lost.
const DEPARTED_MAX: usize = 65_536;

/// What a descriptor stands for.
#[derive(Debug)]
pub enum Socket {
    /// Neither connected nor listening.
    Fresh(Fresh),
    /// Connections that were accepted by the stack and not yet by the program.
    Listener { port: u16, waiting: VecDeque<ConnectionId> },
    /// A connection.
    Stream(Stream),
}

/// A socket that may become either.
#[derive(Clone, Debug)]
pub struct Fresh {
    pub config: Config,
    pub port: u16,
    pub is_blocking: bool,
}

/// A connection's side of the program.
#[derive(Debug)]
pub struct Stream {
    pub id: ConnectionId,
    pub is_blocking: bool,
    pub is_connected: bool,
    pub peer_closed: bool,
    /// What ended it, until the program has been told.
    pub error: Option<c_int>,
    /// What a blocking write has not handed over yet.
    pub unsent: VecDeque<u8>,
}

impl Stream {
    pub fn new(id: ConnectionId, is_blocking: bool) -> Stream {
        Stream {
            id,
            is_blocking,
            is_connected: false,
            peer_closed: false,
            error: None,
            unsent: VecDeque::new(),
        }
    }
}

/// Everything.
pub struct World {
    pub now: Instant,
    pub host: Host,
    pub cx: Context,
    pub settings: Settings,
    pub sockets: BTreeMap<c_int, Socket>,
    /// Packets that have left, with when they did.
    pub departed: VecDeque<(Instant, Vec<u8>)>,
    /// What was told of connections that no descriptor stands for yet.
    early: BTreeMap<ConnectionId, Vec<tcp::Event>>,
    next_fd: c_int,
}

impl World {
    pub fn new(settings: Settings) -> World {
        let (now, mut cx) = (Instant::from_nanos(1_000_000_000), Context::new());
        let member = MemberConfig {
            link: LINK,
            rate: RATE,
            weight: RATE,
            direction: Ways::Both,
            delay: Duration::ZERO,
            queue: Limit::Packets(QUEUE_PACKETS),
            priority: 0,
            framing: Framing::PLAIN,
        };
        let mut bond = Bond::new(now, BondConfig::new(Mode::ActiveBackup, settings.config.mtu));
        let enslaved = bond.enslave(now, &mut cx, member);
        assert!(enslaved.is_ok(), "a bond takes its only member");
        let mut host = Host::new(Rng::new(1));
        // Every peer is behind the default route; the link's other end is never spoken to.
        let nobody: IpAddr = match settings.local {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let interface = host.attach(bond, settings.local, nobody, &[LINK]);
        host.set_default_route(interface);
        World {
            now,
            host,
            cx,
            settings,
            sockets: BTreeMap::new(),
            departed: VecDeque::new(),
            early: BTreeMap::new(),
            next_fd: FD_FIRST,
        }
    }

    /// Takes a descriptor for a socket.
    pub fn open(&mut self, socket: Socket) -> c_int {
        let fd = self.next_fd;
        self.next_fd += 1;
        self.sockets.insert(fd, socket);
        fd
    }

    /// A packet arrives.
    pub fn arrive(&mut self, packet: &[u8]) {
        let frame = self.cx.frames.insert(packet, 0);
        self.host.handle_frame(self.now, &mut self.cx, LINK, frame);
        self.settle();
    }

    /// Lets time pass until `then`, with all that falls due on the way at its own time.
    pub fn pass_until(&mut self, then: Instant) {
        while let Some(due) = self.host.next_deadline().filter(|due| *due <= then) {
            self.now = self.now.max(due);
            self.host.handle_timeout(self.now, &mut self.cx);
            self.settle();
        }
        self.now = self.now.max(then);
    }

    /// Lets time pass until something falls due; whether anything will.
    pub fn pass_to_deadline(&mut self) -> bool {
        let due = self.host.next_deadline();
        due.into_iter().for_each(|due| self.pass_until(due));
        due.is_some()
    }

    /// Sends what may be sent and hears what happened, until nothing more does.
    pub fn settle(&mut self) {
        let mut burst = Burst::new();
        loop {
            burst.clear();
            self.host.poll_transmit(self.now, &mut self.cx, LINK, &mut burst);
            let sent = burst.bytes;
            for frame in burst.frames.drain(..) {
                if self.departed.len() < DEPARTED_MAX {
                    let len = self.cx.frames.len(frame);
                    let mut packet = self.cx.frames.bytes(frame).to_vec();
                    packet.resize(len, 0);
                    self.departed.push_back((self.now, packet));
                }
                self.cx.frames.remove(frame);
            }
            if sent > 0 {
                self.host.handle_transmitted(self.now, &mut self.cx, LINK, sent);
            }
            let heard = self.hear();
            if sent == 0 && !heard {
                return;
            }
        }
    }

    fn hear(&mut self) -> bool {
        let mut heard = false;
        while let Some(event) = self.host.poll_event() {
            heard = true;
            match event {
                Event::Accepted(id) => drop(self.early.insert(id, Vec::new())),
                Event::Tcp(id, event) => self.hear_tcp(id, event),
                Event::EchoReply(_) | Event::Datagram(_) => {}
            }
        }
        heard
    }

    fn hear_tcp(&mut self, id: ConnectionId, event: tcp::Event) {
        if let Some(events) = self.early.get_mut(&id) {
            events.push(event);
            if event == tcp::Event::Connected {
                self.offer(id);
            }
            return;
        }
        let World { now, host, cx, sockets, .. } = self;
        let streams = sockets.values_mut().filter_map(|socket| match socket {
            Socket::Stream(stream) if stream.id == id => Some(stream),
            _ => None,
        });
        let mut is_known = false;
        for stream in streams {
            is_known = true;
            note(stream, event);
            send_unsent(*now, host, cx, stream);
        }
        let is_over = matches!(event, tcp::Event::Reset | tcp::Event::TimedOut);
        if !is_known && is_over {
            host.forget(cx, id);
        }
    }

    /// Puts a connection whose handshake is complete into its listener's queue.
    fn offer(&mut self, id: ConnectionId) {
        let port = self.host.connection(id).map(|c| c.tuple().local.port());
        for socket in self.sockets.values_mut() {
            if let Socket::Listener { port: own, waiting } = socket
                && Some(*own) == port
            {
                waiting.push_back(id);
                return;
            }
        }
    }

    /// A stream for a connection out of a listener's queue, with what was told of it meanwhile.
    pub fn take_offered(&mut self, id: ConnectionId, is_blocking: bool) -> Stream {
        let mut stream = Stream::new(id, is_blocking);
        let events = self.early.remove(&id).unwrap_or_default();
        events.into_iter().for_each(|event| note(&mut stream, event));
        stream
    }
}

fn note(stream: &mut Stream, event: tcp::Event) {
    match event {
        tcp::Event::Connected => stream.is_connected = true,
        tcp::Event::PeerClosed => stream.peer_closed = true,
        tcp::Event::Reset if !stream.is_connected => stream.error = Some(libc::ECONNREFUSED),
        tcp::Event::Reset => stream.error = Some(libc::ECONNRESET),
        tcp::Event::TimedOut => stream.error = Some(libc::ETIMEDOUT),
        tcp::Event::Readable | tcp::Event::Writable | tcp::Event::Closed => {}
    }
    if stream.error.is_some() {
        stream.unsent.clear();
    }
}

fn send_unsent(now: Instant, host: &mut Host, cx: &mut Context, stream: &mut Stream) {
    if !stream.unsent.is_empty() {
        let bytes = stream.unsent.make_contiguous();
        let taken = host.write(now, cx, stream.id, Data::Bytes(bytes));
        stream.unsent.drain(..taken);
    }
}
