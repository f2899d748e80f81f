//! The sockets of one end. Paths that listen at one address over one device share a socket; a socket
//! is closed when its last path has gone.

use crate::error::Error;
use crate::setup::{BondSetup, LinkSetup};
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
        let slot = Slot { socket, device: link.device.clone(), local, paths: 1, is_new: true };
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

    /// Opens the socket at a position anew, because its device is another one now.
    ///
    /// # Errors
    /// As [`Sockets::open`]; the old socket is kept.
    pub fn reopen(&mut self, index: usize) -> std::io::Result<()> {
        if let Some(slot) = self.slots.get_mut(index).and_then(Option::as_mut) {
            slot.socket = UdpSocket::open(slot.device.as_deref(), slot.local)?;
            slot.is_new = true;
        }
        Ok(())
    }
}
