//! Draws hosts at a tree of switches, with every kind of queue before the ports, and flows between them.

use super::discipline;
use trunkline_core::queue::shared::Alpha;
use trunkline_core::queue::{Limit, Sharing};
use trunkline_core::rng::Rng;
use trunkline_core::tcp::config::{Algorithm, Config, EcnMode, Profile};
use trunkline_core::time::Duration;
use trunkline_core::units::BitRate;
use trunkline_plan::model::{App, Attempts, Bulk, Clock, Content, Flow, Lab, Requests, Route, Web};
use trunkline_plan::network::{Cable, HostNetwork, Learning, Machine, Memory};
use trunkline_plan::network::{Plug, PortClass, PortQueue, Switch, Waiting};

/// The codepoint of the packets that have a class of their own.
const DSCP: u8 = 10;

/// Adds switches, hosts and flows to what is drawn already.
pub(super) fn add(rng: &mut Rng, lab: &mut Lab) {
    let mtu = [576, 1500, 9000][rng.below(3) as usize];
    let switches = rng.between(1, 3) as usize;
    lab.switches = (0..switches).map(|i| switch(rng, i, mtu)).collect();
    // Two at least that can talk.
    let machines = rng.between(2, 7) as usize;
    lab.machines = (0..machines).map(|i| machine(rng, i, switches, mtu)).collect();
    for i in 0..rng.between(1, 3) {
        let flow = flow(rng, i, machines, mtu);
        lab.flows.push(flow);
    }
}

fn cable(rng: &mut Rng, to: usize, mtu: u16) -> Cable {
    let rates = [1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
    Cable {
        to,
        rate: BitRate::from_bps(rates[rng.below(rates.len() as u64) as usize]),
        delay: Duration::from_micros(rng.below(20_000)),
        jitter: Duration::from_micros(rng.below(2) * rng.below(500)),
        mtu,
    }
}

/// Each but the first hangs below one before it.
fn switch(rng: &mut Rng, index: usize, mtu: u16) -> Switch {
    let uplink = (index > 0).then(|| {
        let above = rng.below(index as u64) as usize;
        cable(rng, above, mtu)
    });
    let memory = (rng.below(2) == 0).then(|| Memory {
        bytes: u64::from(mtu) * rng.between(10, 200),
        alpha: Alpha::new(rng.between(1, 16) as u32, 4).expect("neither is zero"),
    });
    let queue = match rng.below(3) {
        0 => PortQueue::Classes {
            classes: vec![
                PortClass { dscps: vec![DSCP], quantum: quantum(rng), queue: waiting(rng) },
                PortClass { dscps: Vec::new(), quantum: quantum(rng), queue: waiting(rng) },
            ],
            // Strict priority may starve a class for as long as another sends, which is no fault.
            sharing: [Sharing::Drr, Sharing::Strict][rng.below(2) as usize],
        },
        _ => PortQueue::One(waiting(rng)),
    };
    let learning = [Learning::Known, Learning::Learns][rng.below(2) as usize];
    Switch { name: format!("switch{index}"), memory, queue, uplink, learning, groups: Vec::new() }
}

fn quantum(rng: &mut Rng) -> u32 {
    rng.between(64, 20_000) as u32
}

fn waiting(rng: &mut Rng) -> Waiting {
    let limit = Limit::Packets(rng.between(2, 60) as u32);
    Waiting { limit, discipline: discipline(rng) }
}

fn machine(rng: &mut Rng, index: usize, switches: usize, mtu: u16) -> Machine {
    let to = rng.below(switches as u64) as usize;
    let plug = Plug::Cable(cable(rng, to, mtu));
    let network = HostNetwork::default();
    Machine { name: format!("host{index}"), plug, bond: None, mac: None, network }
}

fn flow(rng: &mut Rng, index: u64, machines: usize, mtu: u16) -> Flow {
    let to = rng.below(machines as u64) as usize;
    let others: Vec<usize> = (0..machines).filter(|machine| *machine != to).collect();
    let profile = Profile::ALL[rng.below(Profile::ALL.len() as u64) as usize];
    let mut tcp = Config::new(profile, mtu);
    tcp.syn_retries = tcp.retries;
    tcp.dscp = [0, DSCP][rng.below(2) as usize];
    if profile == Profile::Modern {
        tcp.algorithm = Algorithm::ALL[rng.below(Algorithm::ALL.len() as u64) as usize];
        tcp.ecn = EcnMode::ALL[rng.below(EcnMode::ALL.len() as u64) as usize];
        tcp.tuning.abe = rng.below(2) == 0;
        tcp.prr = rng.below(4) > 0;
    }
    let app = app(rng, mtu);
    let from = match app {
        App::Web(_) => vec![others[rng.below(others.len() as u64) as usize]],
        _ => others,
    };
    Flow {
        name: format!("switched{index}"),
        from: "hosts".into(),
        to: format!("host{to}"),
        route: Route::Switches { from, to },
        start: Duration::from_millis(rng.below(2_000)),
        start_jitter: Duration::from_micros(rng.below(1_000)),
        stagger: Duration::ZERO,
        app,
        tcp,
    }
}

fn app(rng: &mut Rng, mtu: u16) -> App {
    let some = |rng: &mut Rng| rng.between(1, 60) * u64::from(mtu);
    let request = rng.between(1, 2_000) as u32;
    match rng.below(6) {
        0 => App::Requests(Requests {
            request,
            response: some(rng),
            barrier: rng.below(2) == 0,
            interval: (rng.below(2) == 0).then(|| Duration::from_millis(rng.between(1, 500))),
            count: Some(rng.between(1, 10) as u32),
        }),
        1 => App::Web(Web {
            page: some(rng),
            objects: rng.below(12) as u32,
            object: some(rng),
            connections: rng.between(1, 8) as u32,
            request,
            think: Duration::from_millis(rng.below(500)),
            count: Some(rng.between(1, 5) as u32),
        }),
        2 => App::Attempts(Attempts {
            interval: Duration::from_millis(rng.between(1, 50)),
            patience: Duration::from_millis(rng.between(100, 1_000)),
            count: Some(rng.between(1, 60) as u32),
        }),
        _ => App::Bulk(Bulk {
            bytes: Some(some(rng)),
            lasts: None,
            write: [512, 4096, 65_536][rng.below(3) as usize],
            content: [Content::Pattern, Content::Zeros][rng.below(2) as usize],
            clock: Clock::FirstToLastByte,
            start_cost: Duration::ZERO,
        }),
    }
}
