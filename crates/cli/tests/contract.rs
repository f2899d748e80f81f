//! The contract of the drivers: a bond in virtual time and a bond over sockets that are given the same at
//! the same times hand out the same frames, byte by byte, over the same links and at the same times.
//!
//! The lab runs a script between two bonds and records what reaches the near one and what that hands out.
//! Then the live driver gets the same: packets through a socket pair in place of its TUN, datagrams
//! through UDP over loopback, and the script's times in place of a clock.

use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration as Wait, Instant as Watch};
use trunkline_core::bond::trunk::{self, MEMBER_QUEUE, Monitor, Reorder};
use trunkline_core::bond::{BondConfig, IngressConfig, MemberConfig, Mode, Ways};
use trunkline_core::frame::{LinkChange, LinkId};
use trunkline_core::link::{Framing, Header, WireConfig};
use trunkline_core::queue::{FqCodelConfig, Limit};
use trunkline_core::rng::Rng;
use trunkline_core::time::{Duration, Instant};
use trunkline_core::units::{BitRate, Ratio};
use trunkline_lab::pair::{End, Offered, Pair, Passed};
use trunkline_live::driver::{Driver, Source};
use trunkline_live::setup::{BondSetup, LinkSetup, Remote, Role};
use trunkline_live::sys::tun::{Tun, VNET_HEADER_BYTES};

/// Two equal lines, whose frames end at the same moment, and one that is slower.
const RATES: [u64; 3] = [20_000_000, 20_000_000, 3_000_000];
const MTU: u16 = 1456;
const STEPS: usize = 500;
const DROP_TAIL: IngressConfig = IngressConfig::DropTail(Limit::Packets(64));
const PER_FLOW: Option<Reorder> = Some(Reorder::PerFlow { max: Duration::from_millis(100) });
/// What a loaded machine may take to carry a datagram over loopback.
const PATIENCE: Wait = Wait::from_secs(20);

/// Something that is done to the two bonds from outside.
#[derive(Clone, Debug)]
enum Step {
    Packets(End, Vec<Vec<u8>>),
    Carrier(LinkId, LinkChange),
}

/// What the near end is given.
#[derive(Debug)]
enum Input {
    Step(Step),
    Arrival(Passed),
}

/// A packet of UDP over IPv4 between others, so that no host answers it.
fn packet(len: usize, flow: u16, number: u32) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let header = [0x45, 0, (len >> 8) as u8, len as u8, 0, 0, 0, 0, 64, 17, 0, 0];
    bytes[..12].copy_from_slice(&header);
    bytes[12..20].copy_from_slice(&[192, 0, 2, 1, 192, 0, 2, 2]);
    bytes[20..22].copy_from_slice(&(4000 + flow).to_be_bytes());
    bytes[22..24].copy_from_slice(&9u16.to_be_bytes());
    bytes[28..32].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// Trains of packets both ways, pauses, and links that lose and regain their carrier.
fn script(seed: u64) -> Vec<(Instant, Step)> {
    let mut rng = Rng::new(seed).fork("script");
    let mut at = Instant::ZERO;
    let mut number = 0;
    let mut up = [true; RATES.len()];
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        at += Duration::from_nanos(match rng.below(50) {
            0 => rng.between(50_000_000, 700_000_000),
            _ => rng.between(1, 4_000_000),
        });
        let step = match rng.below(40) {
            0 => {
                let link = rng.below(RATES.len() as u64) as usize;
                up[link] = !up[link];
                let change = if up[link] { LinkChange::Up } else { LinkChange::Down };
                Step::Carrier(LinkId(link as u16), change)
            }
            which => {
                let end = if which % 3 == 0 { End::Far } else { End::Near };
                let equal = rng.below(2) == 0;
                let mut train = Vec::new();
                for _ in 0..rng.between(1, 24) {
                    let most = u64::from(MTU);
                    let len = if equal { most } else { rng.between(32, most) };
                    train.push(packet(len as usize, rng.below(5) as u16, number));
                    number += 1;
                }
                Step::Packets(end, train)
            }
        };
        steps.push((at, step));
    }
    steps
}

fn members(trunk: Option<trunk::Config>) -> Vec<MemberConfig> {
    let member = |(index, rate): (usize, &u64)| MemberConfig {
        link: LinkId(index as u16),
        rate: BitRate::from_bps(*rate),
        weight: BitRate::from_bps(*rate),
        direction: Ways::Both,
        delay: Duration::ZERO,
        queue: if trunk.is_some() { MEMBER_QUEUE } else { Limit::Packets(32) },
        priority: -(index as i32),
        framing: Framing { header: Header::UdpIpv4, ..Framing::PLAIN },
    };
    RATES.iter().enumerate().map(member).collect()
}

fn wire() -> WireConfig {
    WireConfig {
        delay: Duration::from_millis(10),
        jitter: Duration::from_millis(3),
        loss: Ratio::from_ppb(10_000_000),
        duplication: Ratio::from_ppb(5_000_000),
        reorder: Ratio::from_ppb(20_000_000),
        reorder_delay: Duration::from_millis(4),
        ..WireConfig::default()
    }
}

/// The same script in virtual time: what the near bond was given, refused and handed out.
struct Lab {
    pair: Pair,
    inputs: VecDeque<(Instant, Input)>,
    offered: Vec<Offered>,
    end: Instant,
}

fn lab(bonds: [BondConfig; 2], members: &[MemberConfig], seed: u64) -> Lab {
    let mut pair = Pair::new(bonds, members, wire(), seed);
    let (mut inputs, mut offered, mut seen) = (VecDeque::new(), Vec::new(), 0);
    let mut end = Instant::ZERO;
    for (at, step) in script(seed) {
        pair.run_until(at);
        end = at;
        let arrived = pair.arrived()[seen..].iter().cloned();
        inputs.extend(arrived.map(|passed| (passed.at, Input::Arrival(passed))));
        seen = pair.arrived().len();
        match &step {
            Step::Packets(end, train) => {
                let taken = pair.send(*end, train.iter().map(Vec::as_slice));
                if *end == End::Far {
                    continue;
                }
                offered.extend(taken);
            }
            Step::Carrier(link, change) => pair.set_link(*link, *change),
        }
        inputs.push_back((at, Input::Step(step)));
    }
    Lab { pair, inputs, offered, end }
}

/// The live driver with the far ends of everything it holds.
struct Live {
    driver: Driver,
    now: Instant,
    programs: Tun,
    peers: Vec<UdpSocket>,
    listen: SocketAddr,
    /// Datagrams taken from each peer so far.
    taken: Vec<u64>,
    offered: Vec<Offered>,
    handed_out: Vec<Passed>,
}

impl Live {
    fn new(bond: BondConfig, members: &[MemberConfig]) -> Live {
        let socket = || UdpSocket::bind("127.0.0.1:0").expect("a port on loopback");
        let listen = socket().local_addr().expect("bound");
        let peers: Vec<UdpSocket> = members.iter().map(|_| socket()).collect();
        let link = |(member, peer): (&MemberConfig, &UdpSocket)| {
            peer.set_read_timeout(Some(PATIENCE)).expect("a time above zero");
            let address = peer.local_addr().expect("bound");
            LinkSetup {
                name: format!("path{}", member.link.0),
                member: *member,
                device: None,
                remote: Remote { ip: address.ip(), port: Some(address.port()) },
                role: Role::Member,
            }
        };
        let setup = BondSetup {
            name: "tl0".into(),
            end: "near".into(),
            device: "tl0".into(),
            addresses: Vec::new(),
            routes: Vec::new(),
            listen: Some(listen),
            bond,
            links: members.iter().zip(&peers).map(link).collect(),
        };
        let (device, programs) = Tun::pair().expect("two descriptors");
        let driver = Driver::new(Instant::ZERO, setup, device).expect("sockets");
        let taken = vec![0; peers.len()];
        let mut live = Live {
            driver,
            now: Instant::ZERO,
            programs,
            peers,
            listen,
            taken,
            offered: Vec::new(),
            handed_out: Vec::new(),
        };
        live.turn();
        live
    }

    /// One turn, and what has left by it.
    fn turn(&mut self) {
        self.driver.turn(self.now);
        let mut buffer = [0; 2048];
        for (index, path) in self.driver.paths().iter().enumerate() {
            assert_eq!(path.stats.tx_errors, 0, "{:?}", path.last_error);
            while self.taken[index] < path.stats.tx_datagrams {
                let len = self.peers[index].recv(&mut buffer).expect("a datagram");
                let bytes = buffer[..len].to_vec();
                self.handed_out.push(Passed { at: self.now, link: LinkId(index as u16), bytes });
                self.taken[index] += 1;
            }
        }
        while let Ok(Some(len)) = self.programs.read(&mut buffer) {
            assert!(len > VNET_HEADER_BYTES);
        }
    }

    /// Lets everything happen that is due until a time, that time included.
    fn run_until(&mut self, at: Instant) {
        while let Some(due) = self.driver.deadline().filter(|due| *due <= at) {
            self.now = self.now.max(due);
            self.turn();
        }
        self.now = at;
    }

    fn give(&mut self, input: &Input) {
        match input {
            Input::Step(Step::Packets(_, train)) => {
                for packet in train {
                    if !self.driver.wants_packets() {
                        self.offered.push(Offered::Refused);
                        continue;
                    }
                    self.programs.write(packet).expect("room for a packet");
                    self.driver.handle_ready(self.now, Source::Tun).expect("an open pair");
                    self.offered.push(Offered::Taken);
                }
            }
            Input::Step(Step::Carrier(link, change)) => {
                self.driver.handle_link(self.now, *link, *change);
            }
            Input::Arrival(passed) => self.arrive(passed),
        }
        self.turn();
    }

    fn arrive(&mut self, passed: &Passed) {
        let index = usize::from(passed.link.0);
        self.peers[index].send_to(&passed.bytes, self.listen).expect("loopback takes it");
        let before = self.driver.paths()[index].stats.rx_datagrams;
        let sent = Watch::now();
        while self.driver.paths()[index].stats.rx_datagrams == before {
            self.driver.handle_ready(self.now, Source::Socket(0)).expect("an open socket");
            assert!(sent.elapsed() < PATIENCE, "loopback has lost a datagram");
        }
    }
}

fn of_link(passed: &[Passed], link: u16) -> Vec<&Passed> {
    passed.iter().filter(|passed| passed.link == LinkId(link)).collect()
}

fn compare(name: &str, bonds: [BondConfig; 2], seed: u64) -> usize {
    let members = members(bonds[0].trunk);
    let mut lab = lab(bonds, &members, seed);
    let mut live = Live::new(bonds[0], &members);
    for (at, input) in lab.inputs.drain(..) {
        live.run_until(at);
        live.give(&input);
    }
    live.run_until(lab.end);
    assert_eq!(live.offered, lab.offered, "{name}: packets taken and refused");
    for link in 0..RATES.len() as u16 {
        let (ours, theirs) =
            (of_link(&live.handed_out, link), of_link(lab.pair.handed_out(), link));
        for (nth, (live, lab)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(live, lab, "{name}: frame {nth} of link {link}");
        }
        assert_eq!(ours.len(), theirs.len(), "{name}: frames of link {link}");
        let (one, other) = (&live.driver.bond, lab.pair.bond());
        let link = LinkId(link);
        let stats = |bond: &trunkline_core::bond::Bond| bond.member(link).map(|m| *m.stats());
        assert_eq!(stats(one), stats(other), "{name}: counters of {link:?}");
        let path = |bond: &trunkline_core::bond::Bond| format!("{:?}", bond.path(link));
        assert_eq!(path(one), path(other), "{name}: state of {link:?}");
    }
    assert_eq!(live.driver.bond.stats(), lab.pair.bond().stats(), "{name}: totals");
    let held = live.driver.bond.resequencer_stats();
    assert_eq!(held, lab.pair.bond().resequencer_stats(), "{name}: resequencer");
    live.handed_out.len()
}

/// The two ends of a bond, trunks or not.
fn bonds(
    mode: Mode,
    reorder: Option<Reorder>,
    ingress: IngressConfig,
    seed: u64,
) -> [BondConfig; 2] {
    [0, 1].map(|end: u32| {
        let trunk = |reorder| trunk::Config {
            local_index: 1 + end,
            peer_index: 2 - end,
            epoch: (seed as u32).wrapping_mul(0x9e37_79b9) + end,
            reorder,
            monitor: Monitor::default(),
        };
        BondConfig { trunk: reorder.map(trunk), ingress, ..BondConfig::new(mode, MTU) }
    })
}

fn holds_for(reorder: Option<Reorder>, ingress: IngressConfig) {
    for mode in Mode::ALL {
        for seed in 1..=3 {
            let name = format!("{} {reorder:?} {ingress:?} seed {seed}", mode.name());
            let frames = compare(&name, bonds(mode, reorder, ingress, seed), seed);
            assert!(frames > 500, "{name}: only {frames} frames to compare");
        }
    }
}

#[test]
fn plain_members_carry_the_same_in_both_worlds() {
    holds_for(None, DROP_TAIL);
}

#[test]
fn trunks_carry_the_same_in_both_worlds() {
    holds_for(PER_FLOW, DROP_TAIL);
}

#[test]
fn trunks_that_keep_no_order_carry_the_same_in_both_worlds() {
    holds_for(Some(Reorder::Off), DROP_TAIL);
}

#[test]
fn trunks_behind_fq_codel_carry_the_same_in_both_worlds() {
    holds_for(PER_FLOW, IngressConfig::FqCodel(FqCodelConfig::new(MTU)));
}
