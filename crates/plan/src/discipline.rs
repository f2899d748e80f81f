//! What becomes of what waits in a queue, as a value: of links and of switches alike.

use trunkline_core::queue::Limit;
use trunkline_core::queue::red::Above;
use trunkline_core::units::Ratio;

/// The discipline of a queue; anything but drop-tail only where the network has a queue of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discipline {
    /// First in, first out; what does not fit is dropped.
    DropTail,
    /// What arrives at or beyond `mark` is marked, or dropped where it cannot be.
    StepEcn {
        /// K.
        mark: Limit,
    },
    /// A queue per flow, served in turns, with CoDel.
    FqCodel,
    /// Random early detection.
    Red {
        /// The lower threshold of the average queue.
        min: Limit,
        /// The upper one, in the unit of the lower.
        max: Limit,
        /// The probability there.
        probability_max: Ratio,
        /// An arrival's weight in the average is 2 to the power of minus this.
        weight_log2: u8,
        /// What happens above the upper threshold.
        above: Above,
    },
}
