use super::*;
use crate::bond::{Bond, BondConfig, MemberConfig, Mode, Ways};
use crate::frame::Burst;
use crate::link::Framing;
use crate::queue::Limit;
use crate::rng::Rng;
use crate::time::Duration;
use crate::units::BitRate;
use crate::wire::icmp;
use crate::wire::ipv4::{self, Ecn, Protocol};

const CABLE: LinkId = LinkId(0);
const PHONE: LinkId = LinkId(1);
const HOME: Ipv4Addr = Ipv4Addr::new(10, 20, 0, 2);
const HEADEND: Ipv4Addr = Ipv4Addr::new(10, 20, 0, 1);
const STRANGER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);

/// A host that receives over a cable and sends over a telephone line.
struct Bed {
    cx: Context,
    host: Host,
    id: InterfaceId,
}

impl Bed {
    fn new(mode: ReversePath) -> Bed {
        let mut cx = Context::new();
        let mut bond = Bond::new(Instant::ZERO, BondConfig::new(Mode::ActiveBackup, 1500));
        for (link, direction) in [(CABLE, Ways::ReceiveOnly), (PHONE, Ways::SendOnly)] {
            let rate = BitRate::from_bps(28_800);
            let member = MemberConfig {
                link,
                rate,
                weight: rate,
                direction,
                delay: Duration::ZERO,
                queue: Limit::Packets(10),
                priority: 0,
                framing: Framing::PLAIN,
            };
            bond.enslave(Instant::ZERO, &mut cx, member).expect("room");
        }
        let mut host = Host::new(Rng::new(1));
        let id = host.attach(bond, HOME, HEADEND, &[CABLE, PHONE]);
        host.set_reverse_path(id, mode);
        Bed { cx, host, id }
    }

    /// An echo request comes from `source`. Answers whether a reply leaves by the telephone.
    fn is_answered(&mut self, link: LinkId, source: Ipv4Addr) -> bool {
        let mut packet = [0; ipv4::HEADER_LEN + icmp::HEADER_LEN];
        let ip = ipv4::Repr {
            src: source,
            dst: HOME,
            protocol: Protocol::ICMP,
            dscp: 0,
            ecn: Ecn::NotEct,
            ident: 1,
            dont_fragment: false,
            ttl: 64,
            payload_len: icmp::HEADER_LEN as u16,
        };
        ip.emit(&mut packet);
        let echo = icmp::Repr { kind: icmp::Kind::EchoRequest, ident: 7, seq: 1 };
        echo.emit(&mut packet[ipv4::HEADER_LEN..], &[]);
        let frame = self.cx.frames.insert(&packet, 0);
        self.host.handle_frame(Instant::ZERO, &mut self.cx, link, frame);
        let mut burst = Burst::new();
        for link in [CABLE, PHONE] {
            self.host.poll_transmit(Instant::ZERO, &mut self.cx, link, &mut burst);
            assert!(link == PHONE || burst.is_empty(), "the cable has no transmitter");
        }
        for frame in &burst.frames {
            self.host.handle_transmitted(Instant::ZERO, &mut self.cx, PHONE, 28);
            self.cx.frames.remove(*frame);
        }
        !burst.is_empty()
    }
}

#[test]
fn sb_1_a_strict_filter_gives_up_what_comes_over_the_cable_and_off_takes_all() {
    let mut strict = Bed::new(ReversePath::Strict);
    let count = 5;
    for _ in 0..count {
        assert!(!strict.is_answered(CABLE, HEADEND));
    }
    assert_eq!(strict.host.refused(strict.id), count);
    assert_eq!(strict.cx.work.dropped(DropReason::ReversePath), count);
    assert_eq!(strict.cx.frames.live(), 0);
    // The card had them all the same.
    let member = strict.host.bond(strict.id).member(CABLE).expect("a member");
    assert_eq!(member.stats().rx_packets, count);
    assert!(strict.is_answered(PHONE, HEADEND), "that is the way out");
    for mode in [ReversePath::Off, ReversePath::Loose] {
        let mut bed = Bed::new(mode);
        assert!((0..count).all(|_| bed.is_answered(CABLE, HEADEND)), "{mode:?}");
        assert_eq!(bed.host.refused(bed.id), 0);
    }
}

#[test]
fn a_loose_filter_wants_some_way_back() {
    let mut bed = Bed::new(ReversePath::Loose);
    assert!(!bed.is_answered(CABLE, STRANGER));
    assert_eq!(bed.host.refused(bed.id), 1);
    bed.host.set_default_route(bed.id);
    assert!(bed.is_answered(CABLE, STRANGER));
    assert_eq!(bed.host.refused(bed.id), 1);
}

#[test]
fn what_is_no_packet_of_ipv4_is_not_asked_for_its_way() {
    let mut bed = Bed::new(ReversePath::Strict);
    for bytes in [&[][..], &[0x45; 3], &[0x60; 60], &[0; 60]] {
        let frame = bed.cx.frames.insert(bytes, 0);
        bed.host.handle_frame(Instant::ZERO, &mut bed.cx, CABLE, frame);
    }
    assert_eq!((bed.host.refused(bed.id), bed.cx.frames.live()), (0, 0));
}
