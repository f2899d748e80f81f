//! The decision of each scheduler over four unequal members, some of them with frames in hand.

use std::hint::black_box;
use trunkline_core::Context;
use trunkline_core::bond::{Bond, BondConfig, FrameMeta, MemberConfig, Mode, Scheduler, Ways};
use trunkline_core::frame::{Burst, LinkId};
use trunkline_core::link::{Framing, Header, LineCoding, Payload};
use trunkline_core::queue::Limit;
use trunkline_core::time::{Duration, Instant};
use trunkline_core::units::BitRate;

/// Line rates of the members in bit/s.
const RATES: [u64; 4] = [115_200, 57_600, 28_800, 14_400];
/// SLIP on an asynchronous line.
const FRAMING: Framing = Framing {
    line: LineCoding::Async8n1,
    header: Header::Slip,
    payload: Payload::Random,
    ..Framing::PLAIN
};
const MTU: u16 = 1500;
const META: FrameMeta = FrameMeta { len: MTU as u32, flow: 1 };

/// Picks of [`Mode::Earliest`].
pub fn earliest(units: usize) {
    pick(Mode::Earliest, units);
}

/// Picks of [`Mode::Eql`].
pub fn eql(units: usize) {
    pick(Mode::Eql, units);
}

/// Picks of [`Mode::EqlEarly`].
pub fn eql_early(units: usize) {
    pick(Mode::EqlEarly, units);
}

/// Picks of [`Mode::BalanceRr`].
pub fn balance_rr(units: usize) {
    pick(Mode::BalanceRr, units);
}

/// Picks of [`Mode::ActiveBackup`].
pub fn active_backup(units: usize) {
    pick(Mode::ActiveBackup, units);
}

/// One pick per unit.
fn pick(mode: Mode, units: usize) {
    let mut cx = Context::new();
    let now = Instant::ZERO;
    let mut bond = Bond::new(now, BondConfig::new(mode, MTU));
    for (index, rate) in RATES.into_iter().enumerate() {
        let config = MemberConfig {
            link: LinkId(index as u16),
            rate: BitRate::from_bps(rate),
            weight: BitRate::from_bps(rate),
            direction: Ways::Both,
            delay: Duration::from_millis(50),
            queue: Limit::Packets(16),
            priority: 0,
            framing: FRAMING,
        };
        bond.enslave(now, &mut cx, config).expect("there is room for four");
    }
    for _ in 0..4 {
        let frame = cx.frames.insert(&[], META.len);
        bond.send(now, &mut cx, frame, META);
    }
    let mut burst = Burst::new();
    bond.poll_transmit(now, &mut cx, LinkId(0), &mut burst);

    let scheduler = Scheduler::new(mode);
    for _ in 0..units {
        black_box(black_box(&scheduler).pick(
            black_box(now),
            black_box(bond.members()),
            black_box(META),
        ));
    }
}
