//! A plan seen from one of its ends.

use crate::error::Error;
use crate::setup::{BondSetup, LinkSetup, Remote, Role};
use std::fs::File;
use std::io::Read;
use trunkline_core::queue::Limit;
use trunkline_plan::model::{Bond, EndKind, LinkKind, Plan};

/// Packets that wait before the scheduler of a bond that is no trunk; beyond that the TUN is not read.
const INGRESS: Limit = Limit::Packets(64);
/// Packets that wait for a member that is no trunk.
const MEMBER_PACKETS: Limit = Limit::Packets(128);

/// The names of the ends a plan has.
pub fn ends(plan: &Plan) -> Vec<&str> {
    plan.ends.iter().map(|end| end.name.as_str()).collect()
}

/// What every bond of a plan needs at one end.
///
/// # Errors
/// The plan has no such end, or there is something this version cannot bring up.
pub fn setups(plan: &Plan, end: &str) -> Result<Vec<BondSetup>, Error> {
    let here = |bond: &&Bond| bond.ends.iter().any(|name| name == end);
    let bonds: Vec<&Bond> = plan.bonds.iter().filter(here).collect();
    if bonds.is_empty() {
        let list = ends(plan).join(", ");
        return Err(Error::Plan(format!("the plan has no end {end} (it has {list})")));
    }
    bonds.into_iter().map(|bond| setup(plan, bond, end)).collect()
}

/// What one bond needs at one end.
///
/// # Errors
/// As [`setups`].
fn setup(plan: &Plan, bond: &Bond, end: &str) -> Result<BondSetup, Error> {
    let side = usize::from(bond.ends[0] != end);
    let described = plan.ends.iter().find(|known| known.name == end);
    let Some(described) = described.filter(|known| known.kind == EndKind::Tun) else {
        return Err(Error::Plan(format!("end.{end}.type: only \"tun\" can be brought up")));
    };
    let position = plan.bonds.iter().position(|other| other.name == bond.name).unwrap_or(0);
    let others = |index: &usize| {
        let elsewhere = plan.bonds.iter().filter(|other| other.name != bond.name);
        !elsewhere.flat_map(|other| &other.members).any(|member| member == index)
    };
    let links = (0..plan.links.len()).filter(others).filter_map(|index| {
        let role = if bond.members.contains(&index) { Role::Member } else { Role::Spare };
        link(plan, position, index, side, role).transpose()
    });
    Ok(BondSetup {
        name: bond.name.clone(),
        end: end.to_owned(),
        device: described.device.clone().unwrap_or_else(|| bond.name.clone()),
        addresses: described.address.clone(),
        routes: described.routes.clone(),
        listen: described.listen,
        bond: plan.bond_config(position, side, epoch()?, INGRESS),
        links: links.collect::<Result<_, Error>>()?,
    })
}

/// A link at one end; `None` for a spare that has no place there.
fn link(
    plan: &Plan,
    position: usize,
    index: usize,
    side: usize,
    role: Role,
) -> Result<Option<LinkSetup>, Error> {
    let (link, bond) = (&plan.links[index], &plan.bonds[position]);
    let at = link.at.iter().find(|at| at.end == bond.ends[side]);
    let remote = at.and_then(|at| at.remote);
    let (Some(remote), LinkKind::Udp) = (remote, link.kind) else {
        return match role {
            Role::Spare => Ok(None),
            Role::Member => {
                let text = format!("link {}: only kind \"udp\" can be brought up", link.name);
                Err(Error::Plan(text))
            }
        };
    };
    let member = plan.member_config(position, index, side, MEMBER_PACKETS);
    Ok(Some(LinkSetup {
        name: link.name.clone(),
        member,
        device: at.and_then(|at| at.device.clone()),
        remote: Remote { ip: remote.ip, port: remote.port },
        role,
    }))
}

/// A number no earlier start had, in all likelihood.
fn epoch() -> Result<u32, Error> {
    let mut bytes = [0; 4];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| Error::while_doing("/dev/urandom", &error))?;
    Ok(u32::from_ne_bytes(bytes))
}
