//! Virtual time: a deterministic packet simulator that runs plans.
//!
//! | room | what lives there |
//! |---|---|
//! | [`library`] | the plans that come with the program |
//! | [`experiment`] | rows and variants of a plan, run over the cores and put together |
//! | [`build`] | from a plan to a world |
//! | [`world`] | the engine: hosts, links, chips and faults on one time line |
//! | `cabling`, `fabric` | machines at switches and on segments: from the plan, and in the engine |
//! | `cpu` | hosts that take time for what they do |
//! | `queueing` | the queues of links and switches, from the plan |
//! | `apps` | what opens connections, writes, reads and asks |
//! | `observe`, `look`, `metrics`, `knee` | what is measured and what it is worth |
//! | [`pair`] | two bonds alone, fed from outside |
//! | [`result`] | documents, digests, sums |
//! | [`toggles`] | features on and off: what each does alone, left out and in pairs |
//! | [`swarm`] | random plans and faults, with invariants at every step |

mod apps;
pub mod build;
mod cabling;
mod capture;
mod card;
mod columns;
mod cpu;
mod etiquette;
pub mod experiment;
mod fabric;
mod knee;
pub mod library;
mod look;
pub mod metrics;
mod observe;
mod one_way;
pub mod pair;
mod queueing;
pub mod result;
mod services;
pub mod swarm;
mod tap;
pub mod toggles;
pub mod world;

/// Threads for `jobs` simulations at a time; 0 is one per core.
fn pool(jobs: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(jobs).build().expect("threads can be started")
}
