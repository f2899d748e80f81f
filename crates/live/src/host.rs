//! A host of the core as a neighbour of the kernel: what it sends comes out of a TUN device as packets
//! of another machine, to be answered by programs here or forwarded.
//!
//! The host, its connections and its bond are the core's. The TUN is the bond's only member: a line that
//! takes every packet at once, so nothing waits in front of it.

use crate::apply::create_device;
use crate::clock;
use crate::error::Error;
use crate::netlink::Netlink;
use crate::sys::epoll::{Epoll, Interest};
use crate::sys::tun::{Tun, VNET_HEADER_BYTES};
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use trunkline_core::Context;
use trunkline_core::bond::{Bond, BondConfig, MemberConfig, Mode, Ways};
use trunkline_core::frame::{Burst, Frame, Frames, LinkId};
use trunkline_core::host::Host;
use trunkline_core::link::Framing;
use trunkline_core::queue::Limit;
use trunkline_core::rng::Rng;
use trunkline_core::time::{Duration, Instant};
use trunkline_core::units::BitRate;
use trunkline_plan::model::Address;

/// The host's only link.
const LINK: LinkId = LinkId(0);
/// What the scheduler is told of a line that has no rate of its own.
const RATE: BitRate = BitRate::from_bps(100_000_000_000);
/// Packets moved each way in one step, so that no side waits for the other.
const PACKETS_PER_STEP: usize = 64;
/// The longest packet a TUN can hand out.
const PACKET_BYTES_MAX: usize = 65_536;
/// The token of the TUN; those of the caller are below.
const TUN: u64 = u64::MAX;

/// The network between the kernel and the host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Neighbourhood {
    /// The name of the device.
    pub device: String,
    /// The kernel's address on it, with the length of the network's prefix.
    pub kernel: Address,
    /// The host's address, in the same network: IPv4 or IPv6.
    pub address: IpAddr,
    /// The longest packet, in bytes.
    pub mtu: u16,
}

/// What the device did beside what the core counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TunHostStats {
    /// Packets from the kernel.
    pub rx_packets: u64,
    /// Packets to the kernel.
    pub tx_packets: u64,
    /// Packets the kernel did not take.
    pub tx_errors: u64,
}

/// A host, its device, and the wait for both. The device is gone when this is dropped.
pub struct TunHost {
    /// The host: connect, listen, read, write, close.
    pub host: Host,
    /// Its frames and counters, which every call of the host wants.
    pub cx: Context,
    /// Counters of the device.
    pub stats: TunHostStats,
    tun: Tun,
    epoll: Epoll,
    tokens: Vec<u64>,
    burst: Burst,
    packet: Box<[u8]>,
    /// The last step left something to do at once.
    is_behind: bool,
}

impl TunHost {
    /// Makes the device, takes it up and puts a host behind it. `rng` gives initial sequence numbers.
    ///
    /// # Errors
    /// [`Error::Privilege`] without `CAP_NET_ADMIN`; [`Error::Environment`] when the device or the address is
    /// taken or the kernel has no TUN.
    pub fn create(network: &Neighbourhood, rng: Rng) -> Result<TunHost, Error> {
        let told = |error| Error::while_doing(&network.device, &error);
        let mut netlink = Netlink::open().map_err(told)?;
        let Neighbourhood { device, kernel, mtu, .. } = network;
        for ip in [kernel.ip, network.address] {
            if netlink.owner(ip).map_err(told)?.is_some() {
                let text = format!("the address {ip} is in use on another device");
                return Err(Error::Environment(text));
            }
        }
        let (tun, index) = create_device(&mut netlink, device, *mtu)?;
        netlink.add_address(index, *kernel).map_err(told)?;
        let epoll = Epoll::new().map_err(told)?;
        epoll.add(&tun, TUN, Interest::Read).map_err(told)?;
        let mut cx = Context::new();
        let host = host(clock::now(), &mut cx, network, rng);
        Ok(TunHost {
            host: host?,
            cx,
            stats: TunHostStats::default(),
            tun,
            epoll,
            tokens: Vec::new(),
            burst: Burst::new(),
            packet: vec![0; PACKET_BYTES_MAX + VNET_HEADER_BYTES].into(),
            is_behind: false,
        })
    }

    /// Waits for a descriptor of the caller's too, until it is closed. `token` is any number but the largest.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn watch(&self, fd: &impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        self.epoll.add(fd, token, interest)
    }

    /// Sends what may be sent at once, without waiting for anything: what a host does last.
    pub fn flush(&mut self) {
        self.is_behind = true;
        while self.is_behind {
            self.transmit(clock::now());
        }
    }

    /// Sends what may be sent, waits until something happens, and lets it happen: packets come in and
    /// deadlines pass. What applications should know is then told by [`Host::poll_event`]. Answers
    /// what time it is; the tokens of the caller's descriptors that are ready are appended.
    ///
    /// # Errors
    /// The device is broken.
    pub fn step(&mut self, ready: &mut Vec<u64>) -> io::Result<Instant> {
        let now = clock::now();
        self.transmit(now);
        let deadline = self.host.poll_timeout().map(|(at, _)| at - now);
        let wait = if self.is_behind { Some(Duration::ZERO) } else { deadline };
        self.tokens.clear();
        self.epoll.wait(wait.map(Duration::as_nanos), &mut self.tokens)?;
        let now = clock::now();
        if self.tokens.contains(&TUN) {
            self.receive(now)?;
        }
        ready.extend(self.tokens.iter().filter(|token| **token != TUN));
        self.host.handle_timeout(now, &mut self.cx);
        Ok(now)
    }

    fn transmit(&mut self, now: Instant) {
        let mut left = PACKETS_PER_STEP;
        loop {
            self.burst.clear();
            self.host.poll_transmit(now, &mut self.cx, LINK, &mut self.burst);
            self.is_behind = !self.burst.is_empty();
            for frame in self.burst.frames.drain(..) {
                match self.tun.write(whole(&self.cx.frames, frame, &mut self.packet)) {
                    Ok(()) => self.stats.tx_packets += 1,
                    Err(_) => self.stats.tx_errors += 1,
                }
                self.cx.frames.remove(frame);
                left = left.saturating_sub(1);
            }
            if !self.is_behind {
                return;
            }
            self.host.handle_transmitted(now, &mut self.cx, LINK, self.burst.bytes);
            if left == 0 {
                return;
            }
        }
    }

    fn receive(&mut self, now: Instant) -> io::Result<()> {
        for _ in 0..PACKETS_PER_STEP {
            let Some(len) = self.tun.read(&mut self.packet)? else {
                break;
            };
            let Some(packet) = self.packet.get(VNET_HEADER_BYTES..len) else {
                continue;
            };
            self.stats.rx_packets += 1;
            let frame = self.cx.frames.insert(packet, 0);
            self.host.handle_frame(now, &mut self.cx, LINK, frame);
        }
        Ok(())
    }
}

/// All bytes of a packet; zeros that exist in length only are made real in the buffer.
fn whole<'a>(frames: &'a Frames, frame: Frame, buffer: &'a mut [u8]) -> &'a [u8] {
    let bytes = frames.bytes(frame);
    let Some(packet) = buffer.get_mut(..frames.len(frame)) else {
        return bytes;
    };
    if frames.elided(frame) == 0 {
        return bytes;
    }
    let (real, zeros) = packet.split_at_mut(bytes.len());
    real.copy_from_slice(bytes);
    zeros.fill(0);
    packet
}

/// A host whose only interface leads to the kernel and on to everybody else.
fn host(now: Instant, cx: &mut Context, network: &Neighbourhood, rng: Rng) -> Result<Host, Error> {
    let kernel = network.kernel.ip;
    if kernel.is_ipv4() != network.address.is_ipv4() {
        let told = format!("{kernel} and {} are of different versions of IP", network.address);
        return Err(Error::Refused(told));
    }
    let member = MemberConfig {
        link: LINK,
        rate: RATE,
        weight: RATE,
        direction: Ways::Both,
        delay: Duration::ZERO,
        queue: Limit::Packets(PACKETS_PER_STEP as u32),
        priority: 0,
        framing: Framing::PLAIN,
    };
    let mut bond = Bond::new(now, BondConfig::new(Mode::ActiveBackup, network.mtu));
    bond.enslave(now, cx, member).map_err(|refused| Error::Refused(refused.to_string()))?;
    let mut host = Host::new(rng);
    let interface = host.attach(bond, network.address, kernel, &[LINK]);
    host.set_default_route(interface);
    Ok(host)
}
