//! The sockets of one end. Paths that listen at one address over one device share a socket; a socket
//! is closed when its last path has gone.

use crate::error::Error;
use crate::setup::{BondSetup, LinkSetup};
use crate::sys::device_index;
use crate::sys::udp::UdpSocket;
use std::net::SocketAddr;

/// Sockets by position; a position stays the socket's own until that is closed.
#[derive(Debug, Default)]
pub struct Sockets {
    slots: Vec<Option<Slot>>,
}

#[derive(Debug)]
struct Slot {
    socket: UdpSocket,
    device: Option<String>,
    /// Which device had the name when the socket was bound.
    index: Option<u32>,
    local: SocketAddr,
    paths: u32,
    /// Whether somebody has been told of it.
    is_new: bool,
}

impl Sockets {
    /// A socket for a link: one that is open at the same place, or a new one.
    ///
    /// # Errors
    /// A missing device, an address in use or not on this machine.
    pub fn open(&mut self, bond: &BondSetup, link: &LinkSetup) -> Result<usize, Error> {
        let local = bond.local(link);
        let same = |slot: &Slot| slot.device == link.device && slot.local == local;
        let mut used = self.slots.iter_mut().enumerate();
        if local.port() != 0
            && let Some((index, slot)) =
                used.find_map(|(i, slot)| slot.as_mut().filter(|s| same(s)).map(|s| (i, s)))
        {
            slot.paths += 1;
            return Ok(index);
        }
        let socket = UdpSocket::open(link.device.as_deref(), local).map_err(|error| {
            let over = link.device.as_ref().map_or(String::new(), |d| format!(" over {d}"));
            Error::while_doing(format!("link {}: UDP at {local}{over}", link.name), &error)
        })?;
        let index = link.device.as_deref().and_then(device_index);
        let device = link.device.clone();
        let slot = Slot { socket, device, index, local, paths: 1, is_new: true };
        let free = self.slots.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[index] = Some(slot);
        Ok(index)
    }

    /// A path lets its socket go.
    pub fn release(&mut self, index: usize) {
        let Some(entry) = self.slots.get_mut(index) else {
            return;
        };
        if let Some(slot) = entry {
            slot.paths -= 1;
            if slot.paths == 0 {
                *entry = None;
            }
        }
    }

    /// The socket at a position.
    pub fn at(&self, index: usize) -> Option<&UdpSocket> {
        self.slots.get(index)?.as_ref().map(|slot| &slot.socket)
    }

    /// A socket nobody waits for yet.
    pub fn take_new(&mut self) -> Option<(usize, &UdpSocket)> {
        let mut slots = self.slots.iter_mut().enumerate();
        slots.find_map(|(index, slot)| {
            let slot = slot.as_mut().filter(|slot| slot.is_new)?;
            slot.is_new = false;
            Some((index, &slot.socket))
        })
    }

    /// Opens the sockets of a device anew when that is another one of the same name now: a socket stays
    /// bound to the device that is gone. What cannot be opened yet is tried again at the next change.
    pub fn rebind(&mut self, device: &str, index: u32) {
        let slots = self.slots.iter_mut().flatten();
        for slot in slots.filter(|slot| slot.device.as_deref() == Some(device)) {
            if slot.index == Some(index) {
                continue;
            }
            if let Ok(socket) = UdpSocket::open(slot.device.as_deref(), slot.local) {
                slot.socket = socket;
                slot.index = Some(index);
                slot.is_new = true;
            }
        }
    }
}
