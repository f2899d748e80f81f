//! The machine's devices, addresses and routes over netlink (rtnetlink(7)): a request each, carried out
//! when the call returns. What changes at the links is heard by [`LinkWatch`].

mod message;
mod watch;

pub use watch::{LinkNews, LinkWatch};

use crate::sys::netlink::{NetlinkSocket, Use};
use message::{Message, Received, messages};
use std::io;
use std::net::IpAddr;
use trunkline_plan::model::Address;

/// Room for one answer of the kernel (its own limit for a part of a dump is 32 KiB).
const ANSWER_BYTES: usize = 32 << 10;

const REQUEST: u16 = libc::NLM_F_REQUEST as u16;
const ACKNOWLEDGED: u16 = REQUEST | libc::NLM_F_ACK as u16;
const CREATE: u16 = ACKNOWLEDGED | (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;
const DUMP: u16 = REQUEST | libc::NLM_F_DUMP as u16;

/// A connection to the kernel's tables.
#[derive(Debug)]
pub struct Netlink {
    socket: NetlinkSocket,
    sequence: u32,
}

impl Netlink {
    /// Opens the connection, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// Out of descriptors.
    pub fn open() -> io::Result<Netlink> {
        Ok(Netlink { socket: NetlinkSocket::open(Use::Requests)?, sequence: 0 })
    }

    /// Sets a device's MTU and takes it up.
    ///
    /// # Errors
    /// The kernel's: no such device, an MTU out of its range, no privilege.
    pub fn take_up(&mut self, index: u32, mtu: u16) -> io::Result<()> {
        let mut message = Message::new(libc::RTM_NEWLINK, ACKNOWLEDGED);
        let up = libc::IFF_UP as u32;
        message.link(index, up, up);
        message.attribute(libc::IFLA_MTU, &u32::from(mtu).to_ne_bytes());
        self.request(message)
    }

    /// Gives a device an address; duplicates are not looked for on the wire, there is only one neighbour.
    ///
    /// # Errors
    /// The kernel's: the device has it already, IPv6 is switched off.
    pub fn add_address(&mut self, index: u32, address: Address) -> io::Result<()> {
        self.change_address(libc::RTM_NEWADDR, CREATE, index, address)
    }

    /// Takes an address from a device.
    ///
    /// # Errors
    /// The kernel's: the device does not have it.
    pub fn remove_address(&mut self, index: u32, address: Address) -> io::Result<()> {
        self.change_address(libc::RTM_DELADDR, ACKNOWLEDGED, index, address)
    }

    fn change_address(
        &mut self,
        kind: u16,
        flags: u16,
        index: u32,
        address: Address,
    ) -> io::Result<()> {
        let mut message = Message::new(kind, flags);
        message.address(family(address.ip), address.prefix, libc::IFA_F_NODAD as u8, index);
        message.ip(libc::IFA_LOCAL, address.ip);
        message.ip(libc::IFA_ADDRESS, address.ip);
        self.request(message)
    }

    /// Adds a route over a device.
    ///
    /// # Errors
    /// The kernel's: there is such a route already.
    pub fn add_route(&mut self, index: u32, to: Address) -> io::Result<()> {
        self.change_route(libc::RTM_NEWROUTE, CREATE, index, to)
    }

    /// Removes a route over a device.
    ///
    /// # Errors
    /// The kernel's: there is no such route.
    pub fn remove_route(&mut self, index: u32, to: Address) -> io::Result<()> {
        self.change_route(libc::RTM_DELROUTE, ACKNOWLEDGED, index, to)
    }

    fn change_route(&mut self, kind: u16, flags: u16, index: u32, to: Address) -> io::Result<()> {
        let mut message = Message::new(kind, flags);
        message.route(family(to.ip), to.prefix);
        message.ip(libc::RTA_DST, to.ip);
        message.attribute(libc::RTA_OIF, &index.to_ne_bytes());
        self.request(message)
    }

    /// The index of the device that has this address, if one has.
    ///
    /// # Errors
    /// The kernel's.
    pub fn owner(&mut self, ip: IpAddr) -> io::Result<Option<u32>> {
        let mut message = Message::new(libc::RTM_GETADDR, DUMP);
        message.address(family(ip), 0, 0, 0);
        let mut owner = None;
        self.dump(message, |received| {
            if received.kind == libc::RTM_NEWADDR && received.address_ip() == Some(ip) {
                owner = received.address_device();
            }
        })?;
        Ok(owner)
    }

    /// Every device as if its state had just changed.
    ///
    /// # Errors
    /// The kernel's.
    pub fn links(&mut self) -> io::Result<Vec<LinkNews>> {
        let mut message = Message::new(libc::RTM_GETLINK, DUMP);
        message.link(0, 0, 0);
        let mut links = Vec::new();
        self.dump(message, |received| links.extend(watch::news(received)))?;
        Ok(links)
    }

    /// Sends a request and waits for the kernel's yes or no.
    fn request(&mut self, message: Message) -> io::Result<()> {
        self.dump(message, |_| ())
    }

    /// Sends a request and hands its answers out until the last.
    fn dump(&mut self, message: Message, mut take: impl FnMut(&Received<'_>)) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        self.socket.send(&message.finish(self.sequence))?;
        let mut buffer = vec![0; ANSWER_BYTES];
        loop {
            // The kernel has answered by the time it has taken the request.
            let Some(len) = self.socket.receive(&mut buffer)? else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            for received in messages(&buffer[..len]) {
                if received.sequence != self.sequence {
                    continue;
                }
                if let Some(verdict) = received.verdict() {
                    return verdict;
                }
                take(&received);
            }
        }
    }
}

fn family(ip: IpAddr) -> u8 {
    match ip {
        IpAddr::V4(_) => libc::AF_INET as u8,
        IpAddr::V6(_) => libc::AF_INET6 as u8,
    }
}
