//! Draws a plan from a seed: links of any rate and temper, a bond of any mode, flows both ways, cuts; and
//! with some seeds hosts at switches beside them.

mod draft;
mod etiquette;
mod groups;
mod network;
mod one_way;
mod segments;
mod slow;
pub(super) mod themes;

use trunkline_core::bond::Mode;
use trunkline_core::bond::trunk::{Monitor, Reorder as Order};
use trunkline_core::host::ReversePath;
use trunkline_core::link::framing::{Framing, Header, HeaderCompression, LineCoding, Payload};
use trunkline_core::queue::Limit;
use trunkline_core::queue::red::Above;
use trunkline_core::rng::Rng;
use trunkline_core::tcp::config::{Algorithm, Config, EcnMode, Profile, Recovery};
use trunkline_core::time::Duration;
use trunkline_core::units::{BitRate, Ratio};
use trunkline_plan::model::{
    App, Bond, Bulk, Chip, Clock, Content, Direction, Discipline, End, EndKind, Fault, FaultKind,
    Flow, Lab, Link, LinkKind, LinkLab, Ping, Plan, Rates, Reorder, Route, Trunk,
};

/// The headers of IPv4 and of ICMP echo.
const ECHO_HEADERS: u16 = 28;
/// Faults happen in this time from the start; whatever was cut is back soon after.
const FAULT_SECONDS: u64 = 120;
/// The longest cut: shorter than TCP gives up.
const CUT_SECONDS_MAX: u64 = 40;

/// Members at most: one more than EQL takes; the last then stays outside until another is buried.
const MEMBERS_MAX: u64 = 5;
const MAX_SLAVES: u16 = 4;

/// The plan of a seed.
pub(super) fn plan(seed: u64) -> Plan {
    let mut rng = Rng::new(seed).fork("swarm");
    let members = rng.between(1, MEMBERS_MAX) as usize;
    let mut links: Vec<Link> = (0..members).map(|i| link(&mut rng, i)).collect();
    let mode = Mode::ALL[rng.below(Mode::ALL.len() as u64) as usize];
    let other = Mode::ALL[rng.below(Mode::ALL.len() as u64) as usize];
    let mtu = [68, 296, 576, 1006, 1500][rng.below(5) as usize];
    let mut flows = flows(&mut rng, mtu);
    let mut chips = if rng.below(4) == 0 { vec![chip(&mut rng, &links)] } else { Vec::new() };
    congestion_control(&mut Rng::new(seed).fork("congestion control"), &mut flows);
    let mut faults: Vec<Fault> = (0..members).flat_map(|i| faults(&mut rng, i)).collect();
    let mut rng = rng.fork("trunk");
    let trunk = [Trunk::Off, Trunk::On][rng.below(2) as usize];
    if trunk == Trunk::On {
        links.iter_mut().for_each(|link| tunnel(&mut rng, link, trunk));
        // A chip drives serial lines.
        chips.clear();
        faults.iter_mut().for_each(|fault| fault.kind = fault_kind(&mut rng));
    }
    let mut queues = Rng::new(seed).fork("queues");
    if trunk == Trunk::Off && queues.below(2) == 0 {
        links.iter_mut().for_each(|link| tunnel(&mut queues, link, trunk));
        links.iter_mut().for_each(|link| link.lab.discipline = discipline(&mut queues));
        chips.clear();
    }
    let mut rng = Rng::new(seed).fork("headers");
    if members == 1 && links[0].kind == LinkKind::Serial && rng.below(2) == 0 {
        compress_headers(&mut links[0]);
    }
    let mut plan = Plan {
        name: format!("swarm-{seed}"),
        links,
        bonds: vec![Bond {
            name: "bond".into(),
            ends: ["a".into(), "b".into()],
            members: (0..members).collect(),
            mode: [mode, other],
            mtu,
            max_slaves: MAX_SLAVES,
            trunk,
            reorder: order(&mut rng, trunk),
            monitor: monitor(&mut rng),
            traffic: None,
        }],
        ends: ["a", "b"].map(end).to_vec(),
        lab: Lab {
            seed,
            duration: Duration::from_secs(6 * 3600),
            warmup: Duration::ZERO,
            runs: 1,
            flows,
            chips,
            segments: Vec::new(),
            faults,
            switches: Vec::new(),
            machines: Vec::new(),
            routers: Vec::new(),
            slow: Vec::new(),
            groups: Vec::new(),
            expects: Vec::new(),
        },
    };
    let mut rng = Rng::new(seed).fork("switches");
    if rng.below(2) == 0 {
        network::add(&mut rng, &mut plan.lab);
    }
    plan
}

/// Files over the bond, and perhaps a ping.
fn flows(rng: &mut Rng, mtu: u16) -> Vec<Flow> {
    let mut flows: Vec<Flow> = (0..rng.between(1, 3)).map(|i| flow(rng, i, mtu)).collect();
    if rng.below(3) == 0 {
        flows.push(ping(rng, mtu));
    }
    flows
}

fn end(name: &str) -> End {
    End {
        name: name.into(),
        device: None,
        kind: EndKind::Tun,
        address: Vec::new(),
        routes: Vec::new(),
        rp_filter: ReversePath::Off,
        listen: None,
    }
}

/// Makes a link a tunnel, whose network may carry another rate than it is told.
fn tunnel(rng: &mut Rng, link: &mut Link, trunk: Trunk) {
    link.kind = LinkKind::Udp;
    link.trunk = trunk;
    link.framing = Framing { header: Header::UdpIpv4, ..Framing::PLAIN };
    if rng.below(3) == 0 {
        let mut real =
            |told: BitRate| BitRate::from_bps(told.as_bps() / 2 + rng.below(told.as_bps()));
        link.lab.rate = Some(Rates { up: real(link.rate.up), down: real(link.rate.down) });
    }
}

/// Compressed headers want a line that keeps its order, whatever it loses.
fn compress_headers(link: &mut Link) {
    link.framing.compression = HeaderCompression::VanJacobson;
    link.lab.duplicate = Ratio::ZERO;
    link.lab.reorder.ratio = Ratio::ZERO;
}

/// What a network does in front of its line.
fn discipline(rng: &mut Rng) -> Discipline {
    let min = rng.between(1, 10) as u32;
    match rng.below(4) {
        0 => Discipline::DropTail,
        1 => Discipline::StepEcn { mark: Limit::Packets(min) },
        2 => Discipline::FqCodel,
        _ => Discipline::Red {
            min: Limit::Packets(min),
            max: Limit::Packets(min + rng.between(1, 20) as u32),
            probability_max: ratio(rng, 30),
            weight_log2: rng.between(0, 10) as u8,
            above: [Above::Gentle, Above::DropAll][rng.below(2) as usize],
        },
    }
}

fn fault_kind(rng: &mut Rng) -> FaultKind {
    [FaultKind::Carrier, FaultKind::Blackhole][rng.below(2) as usize]
}

fn order(rng: &mut Rng, trunk: Trunk) -> Order {
    match (trunk, rng.below(4)) {
        (Trunk::Off, _) | (_, 0) => Order::Off,
        _ => Order::PerFlow { max: Duration::from_millis(rng.between(5, 500)) },
    }
}

fn monitor(rng: &mut Rng) -> Monitor {
    let probe = Duration::from_millis(rng.between(20, 500));
    Monitor { probe, down_after: probe * rng.between(2, 6), up_after: probe * rng.below(20) }
}

/// Nothing half of the time, else up to `percent_max`.
fn ratio(rng: &mut Rng, percent_max: u64) -> Ratio {
    match rng.below(2) {
        0 => Ratio::ZERO,
        _ => Ratio::from_ppb(rng.below(percent_max * 10_000_000) as u32),
    }
}

fn link(rng: &mut Rng, index: usize) -> Link {
    let rates = [9_600, 14_400, 28_800, 57_600, 115_200, 1_000_000, 10_000_000];
    let rate = |rng: &mut Rng| BitRate::from_bps(rates[rng.below(rates.len() as u64) as usize]);
    let rates = Rates { up: rate(rng), down: rate(rng) };
    let line = [LineCoding::Async8n1, LineCoding::Sync][rng.below(2) as usize];
    Link {
        name: format!("link{index}"),
        kind: LinkKind::Serial,
        rate: rates,
        weight: rate(rng),
        mtu: None,
        direction: None,
        trunk: Trunk::Off,
        framing: Framing { line, header: Header::Slip, payload: Payload::Random, ..Framing::PLAIN },
        lab: LinkLab {
            delay: Duration::from_millis(rng.below(300)),
            jitter: Duration::from_millis(rng.below(2) * rng.below(50)),
            queue: Limit::Packets(rng.between(2, 40) as u32),
            discipline: Discipline::DropTail,
            loss: ratio(rng, 3),
            duplicate: ratio(rng, 2),
            reorder: Reorder {
                ratio: ratio(rng, 3),
                delay: Duration::from_millis(rng.between(1, 200)),
            },
            corrupt: ratio(rng, 1),
            rate: None,
            modem: None,
        },
        cable: None,
        ring: None,
        at: Vec::new(),
    }
}

fn flow(rng: &mut Rng, index: u64, mtu: u16) -> Flow {
    let profile = Profile::ALL[rng.below(Profile::ALL.len() as u64) as usize];
    let mut tcp = Config::new(profile, mtu);
    // Cuts in a row may swallow every SYN of a program's usual patience; that is no fault to find.
    tcp.syn_retries = tcp.retries;
    if profile == Profile::Modern {
        const RECOVERIES: [Recovery; 4] =
            [Recovery::Rack, Recovery::Rack, Recovery::Sack, Recovery::NewReno];
        tcp.recovery = RECOVERIES[rng.below(4) as usize];
        tcp.timestamps = rng.below(4) > 0;
        tcp.receive_buffer = [4_000, 20_000, 200_000][rng.below(3) as usize];
    }
    let (from, to, direction) = way(rng);
    // A small MTU has little payload per packet: keep the number of packets alike.
    let bytes = rng.between(1, 40) * u64::from(mtu);
    Flow {
        name: format!("flow{index}"),
        from: from.into(),
        to: to.into(),
        route: Route::Bond { bond: 0, direction },
        start: Duration::from_millis(rng.below(5_000)),
        start_jitter: Duration::ZERO,
        stagger: Duration::ZERO,
        app: App::Bulk(Bulk {
            bytes: Some(bytes),
            lasts: None,
            write: [1, 512, 4096, 65_536][rng.below(4) as usize],
            content: [Content::Pattern, Content::Zeros][rng.below(2) as usize],
            clock: Clock::FirstToLastByte,
            start_cost: Duration::ZERO,
        }),
        tcp,
    }
}

fn way(rng: &mut Rng) -> (&'static str, &'static str, Direction) {
    match rng.below(2) {
        0 => ("a", "b", Direction::Up),
        _ => ("b", "a", Direction::Down),
    }
}

/// Echo requests that fit the MTU.
fn ping(rng: &mut Rng, mtu: u16) -> Flow {
    let (from, to, direction) = way(rng);
    Flow {
        name: "ping".into(),
        from: from.into(),
        to: to.into(),
        route: Route::Bond { bond: 0, direction },
        start: Duration::from_millis(rng.below(5_000)),
        start_jitter: Duration::ZERO,
        stagger: Duration::ZERO,
        app: App::Ping(Ping {
            interval: Duration::from_millis(rng.between(50, 2_000)),
            size: rng.below(u64::from(mtu - ECHO_HEADERS) + 1) as u16,
            count: Some(rng.between(1, 40) as u32),
            tos: 0,
        }),
        tcp: Config::new(Profile::Modern, mtu),
    }
}

/// A chip that some of the lines share, at a rate between one and all of them want.
fn chip(rng: &mut Rng, links: &[Link]) -> Chip {
    let shared: Vec<usize> = (0..links.len()).filter(|_| rng.below(3) > 0).collect();
    let rates = [19_200, 115_200, 240_000];
    let rate = BitRate::from_bps(rates[rng.below(rates.len() as u64) as usize]);
    Chip { name: "chip".into(), rate: (rng.below(4) > 0).then_some(rate), links: shared }
}

/// Any algorithm for a modern flow, with ECN asked for or not, paced or not; the others have those of their
/// time.
fn congestion_control(rng: &mut Rng, flows: &mut [Flow]) {
    for flow in flows.iter_mut().filter(|flow| flow.tcp.profile == Profile::Modern) {
        flow.tcp.algorithm = Algorithm::ALL[rng.below(Algorithm::ALL.len() as u64) as usize];
        flow.tcp.ecn = [EcnMode::OnRequest, EcnMode::On][rng.below(2) as usize];
        flow.tcp.pacing = rng.below(4) == 0;
    }
}

fn faults(rng: &mut Rng, link: usize) -> Vec<Fault> {
    let mut at = Duration::ZERO;
    let mut faults = Vec::new();
    for _ in 0..rng.below(4) {
        let down_at = at + Duration::from_millis(rng.below(FAULT_SECONDS * 1000 / 4));
        let down_for = Duration::from_millis(rng.between(1, CUT_SECONDS_MAX * 1000));
        let kind = FaultKind::Carrier;
        faults.push(Fault { link, down_at, kind, up_after: Some(down_for) });
        at = down_at + down_for + Duration::from_millis(1);
    }
    faults
}

/// The plan in one line, for a failure's report.
pub(super) fn describe(plan: &Plan) -> String {
    let links: Vec<String> = plan
        .links
        .iter()
        .map(|l| format!("{}/{} {} loss {:?}", l.rate.up, l.rate.down, l.lab.delay, l.lab.loss))
        .collect();
    let flows: Vec<String> = plan
        .lab
        .flows
        .iter()
        .map(|f| match &f.app {
            App::Bulk(_) => {
                let (profile, cc) = (f.tcp.profile.name(), f.tcp.algorithm.name());
                format!("{}→{} {profile} {cc}", f.from, f.to)
            }
            App::Ping(_) => format!("{}→{} ping", f.from, f.to),
            app => {
                let (profile, cc) = (f.tcp.profile.name(), f.tcp.algorithm.name());
                format!("{}→{} {profile} {cc} {app:?}", f.from, f.to)
            }
        })
        .collect();
    let bond = &plan.bonds[0];
    format!(
        "{} ↔ {}{}, MTU {}; links [{}]; flows [{}]; {} cuts, {} on a chip, {} hosts at {:?}",
        bond.mode[0].name(),
        bond.mode[1].name(),
        if bond.trunk == Trunk::On { " trunk" } else { "" },
        bond.mtu,
        links.join(", "),
        flows.join(", "),
        plan.lab.faults.len(),
        plan.lab.chips.iter().map(|c| c.links.len()).sum::<usize>(),
        plan.lab.machines.len(),
        plan.lab.switches
    )
}
