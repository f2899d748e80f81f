//! From a plan's discipline to a queue, before a link's transmitter or a switch's port.

use trunkline_core::queue::{
    DropTail, FqCodel, FqCodelConfig, Limit, Queue, Red, RedConfig, StepEcn,
};
use trunkline_core::rng::Rng;
use trunkline_core::units::BitRate;
use trunkline_plan::model::Discipline;

/// The network's queue in front of a transmitter of this rate.
pub(crate) fn queue_of(
    discipline: Discipline,
    limit: Limit,
    rate: BitRate,
    mtu: u16,
    rng: &Rng,
) -> Queue {
    match discipline {
        Discipline::DropTail => Queue::DropTail(DropTail::new(limit)),
        Discipline::StepEcn { mark } => Queue::StepEcn(StepEcn::new(limit, mark.at_rate(rate))),
        Discipline::FqCodel => {
            Queue::FqCodel(FqCodel::new(FqCodelConfig { limit, ..FqCodelConfig::new(mtu) }))
        }
        Discipline::Red { min, max, probability_max, weight_log2, above } => {
            let config = RedConfig {
                limit,
                min: min.at_rate(rate),
                max: max.at_rate(rate),
                probability_max,
                weight_log2,
                above,
                packet_time: rate.time_for_bits(8 * u64::from(mtu)),
            };
            Queue::Red(Red::new(config, rng.fork("queue")))
        }
    }
}
