//! The bodies of the fuzz targets, so that a stable compiler can replay their corpora in every test run.
//! Each takes any bytes, must not panic on them, and asserts the laws that hold for whatever it accepts.

mod bond_receive;
mod control;
mod ethernet;
mod host_frames;
mod host_receive;
mod plan;
mod ppp;
mod script;
mod slip;
mod tcp;
mod trunk;
mod vj;

pub use bond_receive::bond_receive;
pub use control::control;
pub use ethernet::ethernet;
pub use host_receive::host_receive;
pub use plan::plan;
pub use ppp::ppp;
pub use slip::slip;
pub use tcp::tcp;
pub use trunk::trunk;
pub use vj::vj;
