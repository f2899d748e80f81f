//! The same transfer through smoltcp: what our TCP is compared with. Two of its interfaces hand each other
//! packets of 1500 bytes over memory, checksums on, and carry the same bytes as [`crate::tcp`] does.
//!
//! It is asked as it asks to be: one `poll` per turn takes what has arrived and sends what may leave. Its
//! packets live in buffers that are used again, as our frames do. It is left as it comes: without
//! timestamps, SACK recovery and congestion control, which ours has, so it has less to do.

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Checksum, ChecksumCapabilities, Device, DeviceCapabilities, Medium};
use smoltcp::phy::{RxToken, TxToken};
use smoltcp::socket::tcp;
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::hint::black_box;

const MTU: usize = 1500;
/// Bytes handed over per turn, as in [`crate::tcp`].
const BATCH: usize = 1448 * 64;
/// Socket buffers in bytes: more than a batch, so that no turn finds them full.
const BUFFER: usize = 128 << 10;
/// The time a packet takes from one end to the other.
const HOP: Duration = Duration::from_micros(10);
const PORT: u16 = 2000;

/// One end's side of the memory link.
#[derive(Default)]
struct Port {
    inbox: RefCell<VecDeque<Vec<u8>>>,
    outbox: RefCell<VecDeque<Vec<u8>>>,
    spare: RefCell<Vec<Vec<u8>>>,
}

struct Arrived<'a>(&'a Port, Vec<u8>);
struct Leaving<'a>(&'a Port);

impl RxToken for Arrived<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        let result = take(&self.1);
        self.0.spare.borrow_mut().push(self.1);
        result
    }
}

impl TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, fill: F) -> R {
        let mut packet = self.0.spare.borrow_mut().pop().unwrap_or_default();
        packet.resize(len, 0);
        let result = fill(&mut packet);
        self.0.outbox.borrow_mut().push_back(packet);
        result
    }
}

impl Device for Port {
    type RxToken<'a> = Arrived<'a>;
    type TxToken<'a> = Leaving<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(Arrived<'_>, Leaving<'_>)> {
        let packet = self.inbox.borrow_mut().pop_front()?;
        Some((Arrived(self, packet), Leaving(self)))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Leaving<'_>> {
        Some(Leaving(self))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = MTU;
        capabilities.checksum = ChecksumCapabilities::default();
        capabilities.checksum.ipv4 = Checksum::Both;
        capabilities.checksum.tcp = Checksum::Both;
        capabilities
    }
}

struct End {
    port: Port,
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
}

impl End {
    fn new(host: u8) -> End {
        let mut port = Port::default();
        let config = Config::new(HardwareAddress::Ip);
        let mut interface = Interface::new(config, &mut port, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            let address = IpCidr::new(IpAddress::v4(10, 0, 0, host), 24);
            addresses.push(address).expect("room for one address");
        });
        let buffer = || tcp::SocketBuffer::new(vec![0; BUFFER]);
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(tcp::Socket::new(buffer(), buffer()));
        End { port, interface, sockets, handle }
    }

    fn socket(&mut self) -> &mut tcp::Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    fn poll(&mut self, now: Instant) {
        self.interface.poll(now, &mut self.port, &mut self.sockets);
    }
}

/// Two ends that are connected.
pub struct Pair {
    now: Instant,
    ends: [End; 2],
    bytes: Vec<u8>,
}

impl Pair {
    /// Connected, with the first data carried.
    pub fn new() -> Pair {
        let [mut client, mut server] = [End::new(1), End::new(2)];
        server.socket().listen(PORT).expect("a port");
        let remote = (IpAddress::v4(10, 0, 0, 2), PORT);
        let socket = client.sockets.get_mut::<tcp::Socket<'_>>(client.handle);
        socket.connect(client.interface.context(), remote, 1000).expect("a connection");
        let mut pair =
            Pair { now: Instant::ZERO, ends: [client, server], bytes: vec![0x5a; BATCH] };
        for _ in 0..3 {
            pair.exchange(0);
            pair.exchange(1);
        }
        pair.carry(500);
        pair
    }

    /// Polls one end and moves what it sends to the other; returns the data segments moved.
    fn exchange(&mut self, from: usize) -> usize {
        self.now += HOP;
        self.ends[from].poll(self.now);
        let sent = std::mem::take(&mut *self.ends[from].port.outbox.borrow_mut());
        let data = sent.iter().filter(|packet| packet.len() > MTU / 2).count();
        self.ends[1 - from].port.inbox.borrow_mut().extend(sent);
        // Both ends take packets from the one pool that the data goes back to.
        let spare = std::mem::take(&mut *self.ends[1 - from].port.spare.borrow_mut());
        self.ends[from].port.spare.borrow_mut().extend(spare);
        data
    }

    /// Carries at least so many data segments from the first end to the second; returns their bytes.
    pub fn carry(&mut self, segments: usize) -> u64 {
        let (mut carried, mut bytes) = (0, 0);
        while carried < segments {
            let batch = &self.bytes;
            let end = &mut self.ends[0];
            let socket = end.sockets.get_mut::<tcp::Socket<'_>>(end.handle);
            socket.send_slice(batch).expect("an open connection");
            carried += self.exchange(0);
            self.ends[1].poll(self.now);
            let socket = self.ends[1].socket();
            while socket.can_recv() {
                bytes += socket
                    .recv(|chunk| (black_box(&*chunk).len(), chunk.len() as u64))
                    .expect("an open connection");
            }
            self.exchange(1);
        }
        bytes
    }
}

/// Both ends of one data segment and its share of an acknowledgment, real bytes, checksums on.
pub fn segment(units: usize) {
    Pair::new().carry(units);
}
