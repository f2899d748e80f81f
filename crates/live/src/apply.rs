//! From a setup to a running bond, all or nothing: every step that fails takes back those before it.
//!
//! Everything made is owned by the process (the device is not persistent), so taking back is dropping,
//! and a kill does the same.

use crate::clock;
use crate::control::Control;
use crate::driver::Driver;
use crate::error::Error;
use crate::netlink::Netlink;
use crate::networks;
use crate::running::{PlanReader, Running, describe};
use crate::setup::{BondSetup, Role};
use crate::state::RunDir;
use crate::sys::{device_index, privilege, tun::Tun};
use std::io::ErrorKind;

/// What [`up`] would do, one line each.
pub fn steps(setup: &BondSetup) -> Vec<String> {
    let mut steps = vec![format!("lock {}", crate::state::base().join(&setup.name).display())];
    let BondSetup { device, bond, .. } = setup;
    steps.push(format!("create TUN device {device}, MTU {}", bond.mtu));
    for address in &setup.addresses {
        steps.push(format!("give {device} the address {}/{}", address.ip, address.prefix));
    }
    for route in &setup.routes {
        steps.push(format!("route {}/{} over {device}", route.ip, route.prefix));
    }
    for link in setup.links.iter().filter(|link| link.role == Role::Member) {
        steps.push(format!("open UDP {}", describe(setup, link)));
        let rate = link.member.rate;
        steps.push(format!("enslave {} at {rate} to {}", link.name, setup.name));
    }
    steps.push(format!("listen at {}", crate::state::control_path(&setup.name).display()));
    steps
}

/// Brings one end of a bond up.
///
/// # Errors
/// [`Error::Privilege`] without `CAP_NET_ADMIN`; [`Error::Environment`] when the bond is up, a device
/// is busy or missing, or an address is in use. Nothing is left behind.
pub fn up(setup: BondSetup, plan: String, read_plan: PlanReader) -> Result<Running, Error> {
    if !privilege::can_change_network() {
        return Err(Error::Privilege(no_privilege("up PLAN")));
    }
    let run_dir = RunDir::create(&setup.name)?;
    let mut netlink = Netlink::open().map_err(|error| Error::while_doing("netlink", &error))?;
    check_devices(&setup, &mut netlink)?;
    let BondSetup { device, bond, .. } = &setup;
    let (tun, index) = create_device(&mut netlink, device, bond.mtu)?;
    tun.offload().map_err(|error| Error::while_doing(format!("offloads of {device}"), &error))?;
    networks::change(&mut netlink, index, None, &setup)?;
    let mut driver = Driver::new(clock::now(), setup, tun)?;
    let links = netlink.links().map_err(|error| Error::while_doing("netlink", &error))?;
    for link in links {
        driver.handle_carrier(clock::now(), &link);
    }
    let path = run_dir.control();
    let control =
        Control::listen(&path).map_err(|error| Error::while_doing(path.display(), &error))?;
    let running = Running { driver, run_dir, control, plan, read_plan };
    running.run_dir.write(&running.state())?;
    Ok(running)
}

/// What to do about a missing capability, for who calls the program with these words.
pub(crate) fn no_privilege(words: &str) -> String {
    let program = std::env::current_exe();
    let program = program.map_or("trunkline".into(), |path| path.display().to_string());
    format!(
        "CAP_NET_ADMIN is missing, it is needed for the TUN device, addresses and routes\n  \
         either run it as root: sudo trunkline {words}\n  \
         or give the program the capability: sudo setcap cap_net_admin+ep {program}"
    )
}

/// Names and addresses must be free before anything is made.
fn check_devices(setup: &BondSetup, netlink: &mut Netlink) -> Result<(), Error> {
    if device_index(&setup.device).is_some() {
        return Err(Error::Environment(format!("there is a device {} already", setup.device)));
    }
    for device in setup.links.iter().filter_map(|link| link.device.as_ref()) {
        if device_index(device).is_none() {
            return Err(Error::Environment(format!("there is no device {device}")));
        }
    }
    for address in &setup.addresses {
        let owner = netlink.owner(address.ip);
        let owner = owner.map_err(|error| Error::while_doing(address.ip, &error))?;
        if owner.is_some() {
            let text = format!("the address {} is in use on another device", address.ip);
            return Err(Error::Environment(text));
        }
    }
    Ok(())
}

/// Makes a TUN device that is up; answers its index too. Dropping it takes it back, with what was added.
pub(crate) fn create_device(
    netlink: &mut Netlink,
    device: &str,
    mtu: u16,
) -> Result<(Tun, u32), Error> {
    let tun = Tun::create(device).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::Environment("this kernel has no TUN: no /dev/net/tun".into()),
        _ => Error::while_doing(format!("TUN device {device}"), &error),
    })?;
    let index = device_index(device)
        .ok_or_else(|| Error::Environment(format!("TUN device {device} is gone again")))?;
    let up = netlink.take_up(index, mtu);
    up.map_err(|error| Error::while_doing(format!("{device} up"), &error))?;
    Ok((tun, index))
}
