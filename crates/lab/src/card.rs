//! A machine's card: a bond of one member.

use std::net::Ipv4Addr;
use trunkline_core::Context;
use trunkline_core::bond::{Bond, BondConfig, IngressConfig, MemberConfig, Mode, Ways};
use trunkline_core::frame::LinkId;
use trunkline_core::host::{Host, InterfaceId};
use trunkline_core::link::Framing;
use trunkline_core::queue::Limit;
use trunkline_core::time::{Duration, Instant};
use trunkline_core::units::BitRate;

/// Packets that wait in a machine before its card; its connections are asked for more only while there
/// is room.
pub(crate) const BEFORE_CARD: Limit = Limit::Packets(4);
/// Packets the card has been given and not sent.
pub(crate) const CARD: Limit = Limit::Packets(4);

/// What a machine has to know of its card.
pub(crate) struct Card {
    pub(crate) link: LinkId,
    pub(crate) rate: BitRate,
    pub(crate) delay: Duration,
    /// Of a packet.
    pub(crate) mtu: u16,
    pub(crate) framing: Framing,
}

impl Card {
    /// The bond of one member behind a card whose frames have at most `mtu` bytes.
    pub(crate) fn attach(
        &self,
        host: &mut Host,
        mtu: u16,
        address: Ipv4Addr,
        cx: &mut Context,
    ) -> InterfaceId {
        let ingress = IngressConfig::DropTail(BEFORE_CARD);
        let config = BondConfig { ingress, ..BondConfig::new(Mode::ActiveBackup, mtu) };
        let bond = Bond::new(Instant::ZERO, config);
        let id = host.attach(bond, address, Ipv4Addr::UNSPECIFIED, &[self.link]);
        let member = MemberConfig {
            link: self.link,
            rate: self.rate,
            weight: self.rate,
            direction: Ways::Both,
            delay: self.delay,
            queue: CARD,
            priority: 0,
            framing: self.framing,
        };
        let enslave = |bond: &mut Bond, cx: &mut Context| bond.enslave(Instant::ZERO, cx, member);
        let enslaved = host.with_bond(Instant::ZERO, cx, id, enslave);
        assert!(enslaved.is_ok(), "a card has a rate, and room for it");
        id
    }
}
