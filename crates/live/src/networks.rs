//! The addresses of a bond's device and the routes over it, from what they are to what a setup says.

use crate::error::Error;
use crate::netlink::Netlink;
use crate::setup::BondSetup;
use std::fmt;
use std::io;
use trunkline_plan::model::Address;

/// One entry of the kernel's tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entry {
    Address(Address),
    Route(Address),
}

impl Entry {
    fn add(self, netlink: &mut Netlink, index: u32) -> io::Result<()> {
        match self {
            Entry::Address(address) => netlink.add_address(index, address),
            Entry::Route(to) => netlink.add_route(index, to),
        }
    }

    fn remove(self, netlink: &mut Netlink, index: u32) -> io::Result<()> {
        match self {
            Entry::Address(address) => netlink.remove_address(index, address),
            Entry::Route(to) => netlink.remove_route(index, to),
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, Address { ip, prefix }) = match self {
            Entry::Address(address) => ("address", address),
            Entry::Route(to) => ("route to", to),
        };
        write!(f, "{what} {ip}/{prefix}")
    }
}

/// Addresses first: routes may need them.
fn entries(setup: &BondSetup) -> Vec<Entry> {
    let addresses = setup.addresses.iter().copied().map(Entry::Address);
    addresses.chain(setup.routes.iter().copied().map(Entry::Route)).collect()
}

/// Adds what is new and then removes what is no longer wanted; takes back what was added when one fails.
/// A device that is new has nothing `old`.
///
/// # Errors
/// The kernel's, with the entry: it is in use, or IPv6 is switched off.
pub(crate) fn change(
    netlink: &mut Netlink,
    index: u32,
    old: Option<&BondSetup>,
    new: &BondSetup,
) -> Result<(), Error> {
    let (have, want) = (old.map(entries).unwrap_or_default(), entries(new));
    let mut added = Vec::new();
    for entry in want.iter().filter(|entry| !have.contains(entry)) {
        if let Err(error) = entry.add(netlink, index) {
            for entry in added.into_iter().rev() {
                let _gone = Entry::remove(entry, netlink, index);
            }
            return Err(Error::while_doing(format!("{entry} on {}", new.device), &error));
        }
        added.push(*entry);
    }
    for entry in have.iter().rev().filter(|entry| !want.contains(entry)) {
        // Somebody else may have removed it already: that is what was wanted.
        let _gone = entry.remove(netlink, index);
    }
    Ok(())
}

/// Adds again what a device has lost; what it still has stays.
pub(crate) fn restore(netlink: &mut Netlink, index: u32, setup: &BondSetup) {
    for entry in entries(setup) {
        // It is there, or cannot be had: either way there is nobody to tell.
        let _there = entry.add(netlink, index);
    }
}
